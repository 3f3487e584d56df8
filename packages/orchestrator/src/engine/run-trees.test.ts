import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { RunTrees } from './run-trees.ts';

function aRun(id: string, costUsd: number, more: Partial<RunView> = {}): RunView {
  return { id, cost: { inputTokens: 1, outputTokens: 1, calls: 1, costUsd }, ...more } as RunView;
}

const ORIGIN = aRun('a', 1);
const FORK = aRun('b', 3, {
  treeId: 'a',
  forkedFrom: { runId: 'a', at: 5, spent: { inputTokens: 1, outputTokens: 0, toolCalls: 0, costUsd: 0.5 } },
});

it('sums what each run has added, a fork without what it has of the run before it', async () => {
  const trees = new RunTrees({ stored: async () => [ORIGIN, FORK], live: () => undefined });
  const tree = await trees.of(FORK);
  expect(tree()).toEqual({ id: 'a', runs: 2, inputTokens: 1, outputTokens: 2, toolCalls: 0, costUsd: 3.5 });
});

it('knows of what is not stored yet, before it is read, meanwhile and afterwards', async () => {
  const reading = Promise.withResolvers<readonly RunView[]>();
  const live = new Map([['a', aRun('a', 10)]]);
  const trees = new RunTrees({ stored: () => reading.promise, live: (id) => live.get(id) });
  const asked = trees.of(ORIGIN);
  trees.note({ ...FORK, cost: { ...FORK.cost, costUsd: 4.5 } });
  reading.resolve([ORIGIN, FORK]);
  const tree = await asked;
  expect(tree().costUsd).toBe(14);
  trees.note(aRun('a', 20));
  trees.note(aRun('c', 1, { treeId: 'a' }));
  trees.note(aRun('d', 100));
  expect(tree()).toMatchObject({ costUsd: 25, runs: 3 });
});

it('is read again after it could not be read', async () => {
  let fails = true;
  const stored = async (): Promise<readonly RunView[]> => {
    if (fails) throw new Error('disk');
    return [ORIGIN];
  };
  const trees = new RunTrees({ stored, live: () => undefined });
  await expect(trees.of(ORIGIN)).rejects.toThrow('disk');
  fails = false;
  expect((await trees.of(ORIGIN))().costUsd).toBe(1);
});
