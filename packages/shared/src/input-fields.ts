/**
 * Form fields of a workflow's own input, generated from its JSON Schema: texts, numbers, choices, switches and lists. Anything
 * deeper is one field of JSON. The server checks what comes of it against the schema; here only what it cannot be made of is refused.
 */
import type { Fault } from './errors.ts';
import type { JsonObject, JsonValue } from './json.ts';

interface FieldBase {
  /** Key of the input; empty for an input that is no object of known fields. */
  readonly name: string;
  readonly title: string;
  /** Absent: the schema says no more than the title. */
  readonly description?: string;
  readonly isRequired: boolean;
  /** Taken where the field stays empty; absent: none. */
  readonly fallback?: JsonValue;
}
export type InputField =
  | (FieldBase & {
      readonly kind: 'text';
      readonly isLong: boolean;
      readonly maxLength?: number;
      /** Media type of the file of the repository whose path the text is: `text/markdown`. Absent: it is no path. */
      readonly repositoryFile?: string;
    })
  | (FieldBase & {
      readonly kind: 'number';
      readonly isInteger: boolean;
      readonly minimum?: number;
      readonly maximum?: number;
    })
  | (FieldBase & { readonly kind: 'switch' })
  /** One value of several. */
  | (FieldBase & { readonly kind: 'choice'; readonly options: readonly (string | number)[] })
  /** Texts, one a line. */
  | (FieldBase & { readonly kind: 'list' })
  /** Any of several values. */
  | (FieldBase & { readonly kind: 'choices'; readonly options: readonly string[] })
  | (FieldBase & { readonly kind: 'json' });

/** Fields as a person filled them in: text, `true` or `false` for a switch, values of choices as a JSON array. Absent: untouched. */
export type InputTexts = Readonly<Record<string, string>>;

/** Texts that may be longer than this have several lines. */
const LONG_TEXT = 500;

/** @param schema `null` for a workflow that takes no input: it has no fields */
export function fieldsOf(schema: JsonObject | null): readonly InputField[] {
  if (schema === null) return [];
  const properties = objectIn(schema['properties']);
  const isFlat = schema['type'] === 'object' && properties !== null;
  // Keys that nobody can name beforehand need a field in which they can be written.
  const isOpen = typeof schema['additionalProperties'] === 'object' && Object.keys(properties ?? {}).length === 0;
  if (!isFlat || isOpen) return [{ kind: 'json', name: '', title: 'Input', isRequired: true, ...describedBy(schema) }];
  const required = arrayIn(schema['required']);
  return Object.entries(properties).map(([name, property]) => fieldOf(name, property, required.includes(name)));
}

function fieldOf(name: string, given: JsonValue | undefined, isRequired: boolean): InputField {
  const outer = objectIn(given) ?? {};
  const schema = withoutNull(outer);
  const base = {
    name,
    title: textIn(outer['title']) ?? textIn(schema['title']) ?? titleOf(name),
    isRequired: isRequired && outer['default'] === undefined,
    ...describedBy(schema),
    ...describedBy(outer),
    ...(outer['default'] === undefined ? {} : { fallback: outer['default'] }),
  };
  const options = optionsIn(schema);
  if (options !== null) return { ...base, kind: 'choice', options };
  switch (schema['type']) {
    case 'string': {
      const maxLength = numberIn(schema['maxLength']);
      const repositoryFile = textIn(outer['repositoryFile']) ?? textIn(schema['repositoryFile']);
      return {
        ...base,
        kind: 'text',
        isLong: repositoryFile === undefined && isLong(schema, maxLength),
        ...(maxLength === undefined ? {} : { maxLength }),
        ...(repositoryFile === undefined ? {} : { repositoryFile }),
      };
    }
    case 'integer':
    case 'number': {
      const minimum = boundIn(schema, 'minimum', 'exclusiveMinimum', 1);
      const maximum = boundIn(schema, 'maximum', 'exclusiveMaximum', -1);
      return {
        ...base,
        kind: 'number',
        isInteger: schema['type'] === 'integer',
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
      };
    }
    case 'boolean':
      return { ...base, kind: 'switch' };
    case 'array': {
      const items = objectIn(schema['items']) ?? {};
      const texts = optionsIn(items)?.filter((option) => typeof option === 'string');
      if (texts !== undefined && texts.length > 0) return { ...base, kind: 'choices', options: texts };
      return items['type'] === 'string' ? { ...base, kind: 'list' } : { ...base, kind: 'json' };
    }
    default:
      return { ...base, kind: 'json' };
  }
}

/**
 * The input that the fields make.
 * @returns `input` is `undefined` for a workflow without fields. Faults are those of fields that are required and empty, or whose
 * text is no number or no JSON, by `input.<field>`
 */
export function inputOf(
  fields: readonly InputField[],
  texts: InputTexts,
): { readonly input: JsonObject | undefined; readonly faults: readonly Fault[] } {
  if (fields.length === 0) return { input: undefined, faults: [] };
  const faults: Fault[] = [];
  const values: Record<string, JsonValue> = {};
  for (const field of fields) {
    const read = valueOf(field, texts[field.name]);
    if ('fault' in read) faults.push({ path: pathOf(field), message: read.fault });
    else if (read.value !== undefined) values[field.name] = read.value;
  }
  const whole = fields.some(({ name }) => name === '') ? values[''] : values;
  return { input: objectIn(whole) ?? {}, faults };
}

/** The input that the fields make, with what is taken for those that are empty. What cannot be read is left out. */
export function filledInput(fields: readonly InputField[], texts: InputTexts): JsonObject {
  const fallbacks = fields.flatMap(({ name, fallback }) => (fallback === undefined ? [] : [[name, fallback] as const]));
  return { ...Object.fromEntries(fallbacks), ...inputOf(fields, texts).input };
}

/** The first field that takes the path of a file of the repository with this media type; `undefined` where none does. */
export function fileFieldOf(schema: JsonObject | null, mediaType: string): InputField | undefined {
  return fieldsOf(schema).find((field) => field.kind === 'text' && field.repositoryFile === mediaType);
}

/** Path of a field in the server's faults: `input.customer`. */
export function pathOf({ name }: Pick<InputField, 'name'>): string {
  return name === '' ? 'input' : `input.${name}`;
}

type Read = { readonly value: JsonValue | undefined } | { readonly fault: string };

function valueOf(field: InputField, text: string | undefined): Read {
  if (field.kind === 'switch') {
    if (text === undefined) return { value: field.isRequired ? false : undefined };
    return { value: text === 'true' };
  }
  const given = field.kind === 'text' ? (text ?? '') : (text ?? '').trim();
  if (given.trim() === '' || (field.kind === 'choices' && given === '[]'))
    return field.isRequired ? emptyOf(field) : { value: undefined };
  switch (field.kind) {
    case 'text': {
      const fault = field.repositoryFile === undefined ? null : pathFault(given.trim());
      return fault === null ? { value: given } : { fault };
    }
    case 'choice': {
      const option = field.options.find((each) => String(each) === given);
      return option === undefined ? { fault: `'${given}' is not one of the choices.` } : { value: option };
    }
    case 'number': {
      const number = Number(given);
      if (!Number.isFinite(number)) return { fault: `'${given}' is not a number.` };
      if (field.isInteger && !Number.isInteger(number)) return { fault: 'A whole number is needed.' };
      if (field.minimum !== undefined && number < field.minimum)
        return { fault: `At least ${field.minimum} is needed.` };
      if (field.maximum !== undefined && number > field.maximum)
        return { fault: `At most ${field.maximum} is possible.` };
      return { value: number };
    }
    case 'list':
      return {
        value: given
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      };
    case 'choices':
    case 'json':
      return jsonOf(given, field.name === '');
    default:
      return field satisfies never;
  }
}

/** Says why a text cannot be the path of a file of a repository; `null` where it can. */
function pathFault(path: string): string | null {
  if (/^(?:\/|[A-Za-z]:[\\/])/.test(path))
    return `'${path}' is an absolute path. Give the path from the root of the repository, such as plans/feature.md.`;
  if (path.split(/[\\/]/).includes('..'))
    return `'${path}' leaves the repository. Give the path from its root, without '..'.`;
  return null;
}

/** Some lists may be empty although they are required: the server says where they may not. */
function emptyOf({ kind }: InputField): Read {
  return kind === 'list' || kind === 'choices' ? { value: [] } : { fault: 'This is needed.' };
}

function jsonOf(text: string, isWhole: boolean): Read {
  try {
    const value = JSON.parse(text) as JsonValue;
    if (isWhole && objectIn(value) === null) return { fault: 'A JSON object is needed, such as {"name": "value"}.' };
    return { value };
  } catch (error) {
    return { fault: `This is not JSON: ${error instanceof Error ? error.message : String(error)}.` };
  }
}

/** Values of an `enum`, or of alternatives that are one constant each; `null` where there are others. */
function optionsIn(schema: JsonObject): readonly (string | number)[] | null {
  const alternatives = arrayIn(schema['anyOf'] ?? schema['oneOf']);
  const values =
    schema['enum'] === undefined
      ? alternatives.map((each) => objectIn(each)?.['const'] ?? null)
      : arrayIn(schema['enum']).filter((each) => each !== null);
  const options = values.filter((each) => typeof each === 'string' || typeof each === 'number');
  return options.length > 0 && options.length === values.length ? options : null;
}

/** A schema that allows `null` besides, as if it did not: an empty field is left out. */
function withoutNull(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (Array.isArray(type)) {
    const types = arrayIn(type).filter((each) => each !== 'null');
    return types.length === 1 ? { ...schema, type: types[0] ?? null } : schema;
  }
  const alternatives = arrayIn(schema['anyOf']).filter((each) => objectIn(each)?.['type'] !== 'null');
  const [only] = alternatives;
  return alternatives.length === 1 ? (objectIn(only) ?? schema) : schema;
}

function isLong(schema: JsonObject, maxLength: number | undefined): boolean {
  const media = textIn(schema['contentMediaType']);
  return media?.startsWith('text/') === true || schema['format'] === 'multiline' || (maxLength ?? 0) > LONG_TEXT;
}

function boundIn(schema: JsonObject, key: string, exclusive: string, step: 1 | -1): number | undefined {
  const bound = numberIn(schema[key]);
  const open = numberIn(schema[exclusive]);
  if (open !== undefined && schema['type'] === 'integer') return open + step;
  // Zod writes the limits of safe integers, which say nothing to a person.
  return bound === undefined || Math.abs(bound) === Number.MAX_SAFE_INTEGER ? undefined : bound;
}

/** `remindAfterMs` as `Remind after ms`. */
function titleOf(name: string): string {
  const words = name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toLowerCase();
  return words === '' ? name : `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

function describedBy(schema: JsonObject): { readonly description?: string } {
  const description = textIn(schema['description']);
  return description === undefined ? {} : { description };
}

function objectIn(value: JsonValue | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null; // No array.
}
function arrayIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []; // An array of JSON holds JSON.
}
const textIn = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
const numberIn = (value: JsonValue | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
