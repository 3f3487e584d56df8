/** Loaded before a program (`node --import`), it puts the wall clock of that program three days ahead. */
const AHEAD_MS = 3 * 24 * 60 * 60_000;

const now = (): number => RealDate.now() + AHEAD_MS;
const RealDate = Date;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: unknown[], constructed) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, constructed) as Date,
  get: (target, name, receiver): unknown => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});
