/** Finds what JSON would not keep: such a value works while a run is in memory and is another one when it is read back. */

export interface NonJson {
  /** Where it stands, such as `.user.since` or `.items[2]`; empty for the value itself. */
  readonly path: string;
  /** The fault and its remedy, such as `is a Date; keep an ISO 8601 string`. */
  readonly what: string;
}

/** Deeper than any context; what is nested further contains itself. */
const MAX_DEPTH = 200;

/**
 * The first value within `value` that a round trip through JSON changes; `null` when there is none. A key whose value is
 * `undefined` is taken for one that is not there. What was looked at is frozen: it cannot become another value afterwards
 * without being looked at again.
 * @param before a value that was found to be plain: parts of `value` that are the very same are not looked at again
 */
export function findNonJson(value: unknown, before?: unknown): NonJson | null {
  return value === before ? null : find(value, before, 0);
}

/** Freezes what came from JSON, with all its parts. */
export function freezeJson<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) freezeJson(item);
  else for (const key in value) freezeJson(value[key]);
  return Object.freeze(value);
}

/**
 * A plain value as it is read back after it was stored: keys that are `undefined` are absent, `-0` is `0`, and an object that
 * stands in two places is two objects. The copy is frozen.
 * @param value {@link findNonJson} finds nothing in it
 * @param before a value that this function or `JSON.parse` gave: parts of `value` that are the very same, in the same place,
 *   are kept instead of copied
 */
export function asStored<Value>(value: Value, before?: unknown): Value {
  if (value === 0) return 0 as Value;
  if (value === before || typeof value !== 'object' || value === null) return value;
  // Each branch gives what the value is as JSON.
  return (Array.isArray(value) ? storedList(value, before) : storedObject(value, before)) as Value;
}

function storedList(list: readonly unknown[], before: unknown): readonly unknown[] {
  const known: readonly unknown[] = Array.isArray(before) ? before : [];
  return Object.freeze(Array.from(list, (item, index) => asStored(item, known[index])));
}

function storedObject(object: object, before: unknown): object {
  const known = asRecord(before);
  const stored: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    const item = (object as Readonly<Record<string, unknown>>)[key];
    if (item === undefined) continue;
    const value = item === known[key] && item !== 0 ? item : asStored(item, known[key]);
    if (key !== '__proto__') stored[key] = value;
    else Object.defineProperty(stored, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return Object.freeze(stored);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function find(value: unknown, before: unknown, depth: number): NonJson | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return null;
    case 'number':
      return Number.isFinite(value) ? null : found(`is ${value}; keep a finite number or null`);
    case 'object':
      if (value === null) return null;
      if (depth > MAX_DEPTH) return found(`is nested deeper than ${MAX_DEPTH} levels or contains itself`);
      return Array.isArray(value) ? findInList(value, before, depth) : findInObject(value, before, depth);
    case 'bigint':
      return found('is a bigint; keep a string');
    case 'function':
      return found('is a function; keep its name and look it up where it is used');
    case 'symbol':
      return found('is a symbol; keep a string');
    default:
      return null;
  }
}

function findInList(list: readonly unknown[], before: unknown, depth: number): NonJson | null {
  const known: readonly unknown[] = Array.isArray(before) ? before : [];
  for (let index = 0; index < list.length; index += 1) {
    const item = list[index];
    if (item === undefined)
      return { path: `[${index}]`, what: 'is undefined, which JSON has not in a list; keep null' };
    if (item === known[index]) continue;
    const inner = find(item, known[index], depth + 1);
    if (inner) return { path: `[${index}]${inner.path}`, what: inner.what };
  }
  Object.freeze(list);
  return null;
}

function findInObject(object: object, before: unknown, depth: number): NonJson | null {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return found(describeInstance(object));
  const known = asRecord(before);
  for (const key of Object.keys(object)) {
    const item = (object as Readonly<Record<string, unknown>>)[key];
    if (item === known[key]) continue;
    const inner = find(item, known[key], depth + 1);
    if (inner) return { path: `${keyPath(key)}${inner.path}`, what: inner.what };
  }
  Object.freeze(object);
  return null;
}

function describeInstance(object: object): string {
  const name = object.constructor.name || 'class';
  switch (name) {
    case 'Date':
      return 'is a Date; keep an ISO 8601 string or a number';
    case 'Map':
    case 'Set':
      return `is a ${name}; keep an object or a list`;
    case 'Actor':
      return 'is a reference to an actor; keep its id';
    default:
      return `is an instance of ${name}; keep a plain object`;
  }
}

function found(what: string): NonJson {
  return { path: '', what };
}

function keyPath(key: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
