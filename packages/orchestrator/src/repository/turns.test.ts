import { setImmediate as soon } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from './turns.ts';

it('carries out work of one name one at a time, in the order of the calls, after a failure too', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      log.push(`${name} begins`);
      await soon();
      log.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    };
  const done = await Promise.allSettled([turns.take('x', work('a', true)), turns.take('x', work('b'))]);
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  expect(done.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
});

it('lets work of other names begin at once', async () => {
  const turns = new Turns();
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = turns.take('x', () => promise);
  expect(await turns.take('y', async () => 'y')).toBe('y');
  resolve('x');
  expect(await waiting).toBe('x');
});

it('ends the wait at an abort, and carries the work out all the same', async () => {
  const turns = new Turns();
  const cancelled = new AbortController();
  const { promise, resolve } = Promise.withResolvers<string>();
  const before = turns.take('x', () => promise);
  let isDone = false;
  const waiting = turns.take(
    'x',
    async () => {
      isDone = true;
    },
    cancelled.signal,
  );
  cancelled.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  expect(isDone).toBe(false);
  resolve('first');
  await before;
  await turns.take('x', async () => undefined);
  expect(isDone).toBe(true);
  await expect(turns.take('x', async () => undefined, cancelled.signal)).rejects.toThrow('cancelled');
});
