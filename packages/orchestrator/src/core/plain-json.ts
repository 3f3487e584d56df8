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

/** A value as it was stored, or its first part that JSON does not keep. */
export type Stored = { readonly value: unknown } | NonJson;

/**
 * A value as it is read back after it was stored: keys that are `undefined` are absent, `-0` is `0`, and an object that stands
 * in two places is two objects. The copy is frozen.
 * @param before a value that this function or `JSON.parse` gave: parts of `value` that are the very same, in the same place,
 *   are kept, neither looked at nor copied
 */
export function asStored(value: unknown, before?: unknown): Stored {
  const stored = copyOf(value, before, 0);
  return stored === NOT_PLAIN ? (findNonJson(value, before) ?? found('is not what JSON keeps')) : { value: stored };
}

/**
 * The number of items with which both lists begin, as far as it is known: what {@link asStored} found when it copied `after`.
 * @param before the list in whose place `after` was
 */
export function sharedStart(before: readonly unknown[], after: readonly unknown[]): number {
  const start = sharedStarts.get(after);
  return start?.before === before ? start.items : 0;
}

/** Items from which on a list's start is remembered. */
const LONG_LIST = 64;
const sharedStarts = new WeakMap<readonly unknown[], { readonly before: readonly unknown[]; readonly items: number }>();

/** Stands for a copy of what JSON does not keep; `findNonJson` says what it is. */
const NOT_PLAIN = Symbol('not plain');

function copyOf(value: unknown, before: unknown, depth: number): unknown {
  if (value === 0) return 0;
  if (value === before || value === null) return value;
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : NOT_PLAIN;
    case 'object':
      if (depth > MAX_DEPTH) return NOT_PLAIN;
      return Array.isArray(value) ? copyOfList(value, before, depth) : copyOfObject(value, before, depth);
    default:
      return NOT_PLAIN;
  }
}

function copyOfList(list: readonly unknown[], before: unknown, depth: number): unknown {
  const former: readonly unknown[] = Array.isArray(before) ? before : [];
  // V8 reads the items of a frozen list several times slower than it copies them.
  const known = [...former];
  const copy = [...list];
  let same = -1;
  for (let index = 0; index < copy.length; index += 1) {
    const item = copy[index];
    if (item === known[index] && item !== 0 && item !== undefined) continue;
    if (same < 0) same = index;
    const stored = item === undefined ? NOT_PLAIN : copyOf(item, known[index], depth + 1);
    if (stored === NOT_PLAIN) return NOT_PLAIN;
    copy[index] = stored;
  }
  if (copy.length >= LONG_LIST) sharedStarts.set(copy, { before: former, items: same < 0 ? copy.length : same });
  return Object.freeze(copy);
}

function copyOfObject(object: object, before: unknown, depth: number): unknown {
  if (!isPlainObject(object)) return NOT_PLAIN;
  const known = asRecord(before);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item === undefined) continue;
    const value = item === known[key] && item !== 0 ? item : copyOf(item, known[key], depth + 1);
    if (value === NOT_PLAIN) return NOT_PLAIN;
    if (key !== '__proto__') copy[key] = value;
    else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return Object.freeze(copy);
}

function isPlainObject(object: object): object is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
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
  if (!isPlainObject(object)) return found(describeInstance(object));
  const known = asRecord(before);
  for (const key of Object.keys(object)) {
    const item = object[key];
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
