import { aRun } from '@autonomous/shared/a-run.fixture';
import { type RunFilter, type RunView, treeOf } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { listTrees } from './list-trees.ts';

let clock = 0;
const at = (): string => new Date(Date.UTC(2030, 0, 1) + ++clock * 1_000).toISOString();
const top = (id: string): RunView => aRun({ id, createdAt: at() });
const child = (id: string, runId: string): RunView =>
  aRun({ id, createdAt: at(), parent: { runId, key: id, depth: 1 }, treeId: 'plan' });

/** A server with these runs, oldest first, in pages of two. */
function aClient(runs: readonly RunView[]) {
  const asked: RunFilter[] = [];
  return {
    asked,
    getRun: async (id: string): Promise<RunView> => {
      const run = runs.find((each) => each.id === id);
      if (run === undefined) throw new Error(`no run ${id}`);
      return run;
    },
    listRuns: async (filter: RunFilter = {}) => {
      asked.push(filter);
      const all = runs.toReversed().filter((run) => filter.treeId === undefined || treeOf(run) === filter.treeId);
      const from = Number(filter.cursor ?? 0);
      return { items: all.slice(from, from + 2), nextCursor: from + 2 < all.length ? String(from + 2) : null };
    },
  };
}

const idsOf = (runs: readonly RunView[]) => runs.map(({ id }) => id);

it('counts top runs, and lists all child runs of each', async () => {
  const runs = [
    top('old'),
    top('plan'),
    child('1', 'plan'),
    child('2', 'plan'),
    child('3', 'plan'),
    child('4', '3'),
    top('new'),
  ];
  expect(idsOf(await listTrees(aClient(runs), 2))).toEqual(['new', '4', '3', '2', '1', 'plan']);
  expect(idsOf(await listTrees(aClient(runs), 20))).toEqual(['new', '4', '3', '2', '1', 'plan', 'old']);
  expect(idsOf(await listTrees(aClient([]), 20))).toEqual([]);
});

it('gives an old run its place by the newest run below it, with all of its child runs', async () => {
  const runs = [top('plan'), child('1', 'plan'), top('a'), top('b'), top('c'), child('2', 'plan')];
  const client = aClient(runs);
  expect(idsOf(await listTrees(client, 2))).toEqual(['2', 'c', '1', 'plan']);
});

it('ends where runs say that each is below the other', { timeout: 5_000 }, async () => {
  const runs = [child('c', 'c'), child('b', 'a'), child('a', 'b')];
  expect(idsOf(await listTrees(aClient(runs), 20))).toEqual(['a', 'b', 'c']);
});
