import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { LiveRuns } from './live-runs.ts';

it.each(['is stored', 'fails'])(
  'writes to a run from outside once its last step %s, and one write after the other',
  async (how) => {
    const runs = new LiveRuns({
      read: () => Promise.reject(new Error('not opened here')),
      beginRecovery: () => undefined,
      quarantine: () => Promise.reject(new Error('not quarantined here')),
    });
    const tail = Promise.withResolvers<void>();
    const first = Promise.withResolvers<void>();
    const began: string[] = [];
    const write = (name: string, until: Promise<void>) => () => {
      began.push(name);
      return until;
    };
    const writing = [
      runs.withExclusiveAccess('r', write('first', first.promise), tail.promise),
      runs.withExclusiveAccess('r', write('second', Promise.resolve())),
    ];
    await nextTurn();
    expect(began).toEqual([]);
    if (how === 'fails') tail.reject(new Error('the disk is full'));
    else tail.resolve();
    await nextTurn();
    expect(began).toEqual(['first']);
    first.resolve();
    await Promise.all(writing);
    expect(began).toEqual(['first', 'second']);
  },
);
