/** Progress of a running activity. */

/** The command or step that an activity is at. A type, not an interface, so that it is a JSON value. */
export type AtWork = {
  readonly activity: string;
  readonly what: string;
  readonly elapsedMs: number;
  readonly lastLine?: string;
  readonly bytes?: number;
  readonly files?: number;
};
