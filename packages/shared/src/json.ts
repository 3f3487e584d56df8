/** Values that survive a round trip through JSON unchanged: what contexts, inputs, outputs and payloads consist of. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}
