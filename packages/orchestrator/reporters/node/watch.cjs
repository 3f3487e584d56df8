/**
 * Notices functions that code under test has put others in the place of. It looks as often as it is asked to and keeps what it
 * found: what is changed for the time of a test and put back after it has been seen. Needs nothing of Node, so that it works in
 * the contexts that runners give to test files, with the functions that are built in there.
 */
'use strict';

// As they were before any code of the project ran.
const { create, defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, getPrototypeOf } =
  Object;

/** What comparisons are made of, and tests do not put doubles in the place of; `[name, object, keys]`. */
const BUILT_IN = [
  ['Object', Object, ['is', 'keys', 'entries', 'getPrototypeOf', 'getOwnPropertyNames', 'getOwnPropertyDescriptor']],
  ['Object', Object, ['getOwnPropertySymbols', 'defineProperty', 'assign']],
  ['Object.prototype', Object.prototype, ['hasOwnProperty', 'toString', 'valueOf', 'propertyIsEnumerable']],
  ['Function.prototype', Function.prototype, ['call', 'apply', 'bind']],
  ['Reflect', Reflect, ['apply', 'get', 'ownKeys', 'getPrototypeOf']],
  ['Array', Array, ['isArray', 'from']],
  ['Array.prototype', Array.prototype, ['every', 'some', 'includes', 'indexOf', 'filter', 'forEach', 'map', 'push']],
  ['String.prototype', String.prototype, ['includes', 'indexOf', 'startsWith', 'endsWith', 'match']],
  ['RegExp.prototype', RegExp.prototype, ['test', 'exec']],
  ['Number', Number, ['isNaN', 'isFinite']],
  ['Map.prototype', Map.prototype, ['get', 'has', 'set']],
  ['Set.prototype', Set.prototype, ['has', 'add']],
  ['Promise', Promise, ['all', 'race', 'resolve', 'reject']],
  ['Promise.prototype', Promise.prototype, ['then']],
];

exports.createWatch = () => {
  const watched = [];
  const trapped = [];
  const found = [];
  const known = create(null);
  const symbols = new Map();

  const note = (what) => {
    if (known[what]) return;
    known[what] = true;
    found[found.length] = what;
  };

  /** Keys that are functions or accessors, by name or symbol. */
  const keysOf = (target) => [...getOwnPropertyNames(target), ...getOwnPropertySymbols(target)];
  const labelOf = (name, key) =>
    typeof key === 'symbol' ? `${name}[${symbols.get(key) ?? 'symbol'}]` : `${name}.${key}`;
  const remember = (name, target, key) => {
    if (typeof key === 'symbol') symbols.set(key, key.description ?? 'symbol');
    const known = getOwnPropertyDescriptor(target, key);
    if (
      known !== undefined &&
      (typeof known.value === 'function' || known.get !== undefined || known.set !== undefined)
    )
      watched[watched.length] = { label: labelOf(name, key), target, key, known };
  };

  /** Remembers an object as it is now, also which keys it has not: a new one can hide what it inherits. */
  const watch = (name, target, keys) => {
    for (const key of keys ?? keysOf(target)) if (key !== 'constructor') remember(name, target, key);
    if (keys !== undefined) return;
    const inherited = create(null);
    for (let each = getPrototypeOf(target); each !== null && each !== Object.prototype; each = getPrototypeOf(each))
      for (const key of getOwnPropertyNames(each))
        if (
          key !== 'constructor' &&
          getOwnPropertyDescriptor(target, key) === undefined &&
          !(key in Function.prototype)
        )
          inherited[key] = true;
    const hidden = getOwnPropertyNames(inherited);
    if (hidden.length > 0) watched[watched.length] = { label: name, target, hidden };
  };

  /** Remembers an object, and notices each assignment to its functions at once, also one that is undone in the same breath. */
  const trap = (name, target) => {
    for (const key of getOwnPropertyNames(target)) {
      const { value, configurable, enumerable, writable } = getOwnPropertyDescriptor(target, key);
      if (typeof value !== 'function' || !configurable || !writable || key === 'constructor') continue;
      let now = value;
      const label = `${name}.${key}`;
      trapped[trapped.length] = {
        target,
        key,
        label,
        plain: () => ({ value: now, configurable, enumerable, writable }),
      };
      defineProperty(target, key, {
        configurable,
        enumerable,
        get: () => now,
        set(next) {
          if (this !== target) {
            defineProperty(this, key, { value: next, configurable, enumerable, writable });
            return;
          }
          if (next !== value) note(label);
          now = next;
        },
      });
    }
    watch(name, target);
  };

  /** Makes a trapped function a plain one again, for a library of doubles that takes nothing else. */
  const release = (object, name) => {
    for (let index = 0; index < trapped.length; index += 1) {
      const { target, key, label, plain } = trapped[index];
      if (target !== object || key !== name) continue;
      note(label);
      defineProperty(target, key, plain());
    }
  };

  const look = () => {
    for (let index = 0; index < watched.length; index += 1) {
      const { label, target, key, known: was, hidden } = watched[index];
      if (hidden !== undefined) {
        for (let each = 0; each < hidden.length; each += 1)
          if (getOwnPropertyDescriptor(target, hidden[each]) !== undefined) note(`${label}.${hidden[each]}`);
        continue;
      }
      const now = getOwnPropertyDescriptor(target, key);
      if (now === undefined || now.value !== was.value || now.get !== was.get || now.set !== was.set) note(label);
    }
    return found;
  };

  return {
    watch,
    trap,
    release,
    look,
    note,
    found,
    watchBuiltIns: () => {
      for (const [name, target, keys] of BUILT_IN) watch(name, target, keys);
    },
  };
};

/** The first of these checks that has to throw and does not, or `null`. */
exports.firstThatPasses = (checks) => {
  for (let index = 0; index < checks.length; index += 1) {
    try {
      checks[index]();
    } catch {
      continue;
    }
    return checks[index];
  }
  return null;
};
