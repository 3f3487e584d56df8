import { foldRun, type RunView, type WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { RunFamilies } from './run-families.ts';

function aRun(id: string, costUsd: number, more: Partial<RunView> = {}): RunView {
  return { id, config: {}, cost: { inputTokens: 1, outputTokens: 1, calls: 1, costUsd }, ...more } as RunView;
}

const ORIGIN = aRun('a', 1);
const FORK = aRun('b', 3, {
  treeId: 'a',
  forkedFrom: { runId: 'a', at: 5, spent: { inputTokens: 1, outputTokens: 0, toolCalls: 0, costUsd: 0.5 } },
});

it('sums what each run has added, a fork without what it has of the run before it', async () => {
  const families = new RunFamilies({ stored: async () => [ORIGIN, FORK], live: () => undefined });
  const family = await families.of(FORK);
  expect(family.all).toEqual({
    id: 'a',
    runs: 2,
    budgets: {},
    inputTokens: 1,
    outputTokens: 2,
    toolCalls: 0,
    costUsd: 3.5,
  });
});

it('knows of what is not stored yet, before it is read, meanwhile and afterwards', async () => {
  const reading = Promise.withResolvers<readonly RunView[]>();
  const live = new Map([['a', aRun('a', 10)]]);
  const families = new RunFamilies({ stored: () => reading.promise, live: (id) => live.get(id) });
  const asked = families.of(ORIGIN);
  families.note({ ...FORK, cost: { ...FORK.cost, costUsd: 4.5 } });
  reading.resolve([ORIGIN, FORK]);
  const family = await asked;
  expect(family.all.costUsd).toBe(14);
  families.note(aRun('a', 20));
  families.note(aRun('c', 1, { treeId: 'a' }));
  families.note(aRun('d', 100));
  expect(family.all).toMatchObject({ costUsd: 25, runs: 3 });
});

it('has the budgets of its first run, whatever an older run of a record or its changes say', async () => {
  const budgeted = (run: RunView, maxTreeTokens: number) => ({ ...run, config: { ...run.config, maxTreeTokens } });
  const first = budgeted(ORIGIN, 10);
  const forged = foldRun(
    budgeted(
      { ...FORK, lastSequence: 4, evidence: [], gates: [], notices: [], treeBudgetsAt: '2099-01-01T00:00:00.000Z' },
      1_000,
    ),
    {
      type: 'NOTICE',
      payload: { message: 'Rebuilt.', rebuilt: true },
      sequence: 5,
      timestamp: '2026-03-01T12:00:00.000Z',
    } as unknown as WorkflowEvent,
  ); // Nothing else of it is read.
  // Newest first, by the times that each says.
  const families = new RunFamilies({ stored: async () => [first, forged ?? FORK], live: () => undefined });
  expect((await families.of(first)).all.budgets).toEqual({ maxTreeTokens: 10 });
});

it('has the smallest budgets of its runs where the first stands in a record of others', async () => {
  const budgeted = (run: RunView, config: object) => ({ ...run, config: { ...run.config, ...config } });
  const origin = budgeted({ ...ORIGIN, rebuiltUpTo: 9 }, { maxTreeTokens: 1_000 });
  const fork = budgeted(FORK, { maxTreeTokens: 10, maxTreeToolCalls: 2 });
  const families = new RunFamilies({ stored: async () => [fork, origin], live: () => undefined });
  expect((await families.of(fork)).all.budgets).toEqual({ maxTreeTokens: 10, maxTreeToolCalls: 2 });
});

it('is read again after it could not be read', async () => {
  let fails = true;
  const stored = async (): Promise<readonly RunView[]> => {
    if (fails) throw new Error('disk');
    return [ORIGIN];
  };
  const families = new RunFamilies({ stored, live: () => undefined });
  await expect(families.of(ORIGIN)).rejects.toThrow('disk');
  fails = false;
  expect((await families.of(ORIGIN)).all.costUsd).toBe(1);
});

const BOOKED = { inputTokens: 10, outputTokens: 20, costUsd: 2 };
const CALL = { call: 'b/1/x#1.1', stage: null, role: 'planner', model: 'a:b' };
const booking = { type: 'CALL_BOOKED', payload: { ...CALL, ...BOOKED } } as const;
const settling = {
  type: 'CALL_SETTLED',
  payload: { ...CALL, inputTokens: 10, outputTokens: 1, costUsd: 0.5, booked: BOOKED, toolCalls: 0 },
} as const;

it('tells what calls of other runs can come to from what is known', async () => {
  const families = new RunFamilies({ stored: async () => [FORK, ORIGIN], live: () => undefined });
  const family = await families.of(ORIGIN);
  family.noteCall('b', booking);
  expect(family.look('a').underWay).toMatchObject({ costUsd: 2, outputTokens: 20 });
  expect(family.look('b').underWay.costUsd).toBe(0);
  family.noteCall('b', settling);
  expect(family.look('a').underWay.costUsd).toBe(0);
  family.noteCall('b', booking);
  expect(family.callsOf('b/1/y')).toEqual([]);
  expect(family.look('a').underWay.costUsd).toBe(2);
  const moved = family.nextMove();
  family.endCalls(family.callsOf('b/1/x'));
  await moved;
  expect(family.look('a').underWay.costUsd).toBe(0);
});

const PARENT = aRun('p', 1, { config: { maxCostUsd: 9 } as RunView['config'] });
const childOf = (id: string, runId: string, costUsd: number): RunView =>
  aRun(id, costUsd, { treeId: 'p', parent: { runId, key: `${runId}/1/x`, depth: 1 } });

it('limits a run by the budgets of the runs above it, each with all child runs below', async () => {
  const beside = aRun('f', 100, { treeId: 'p' });
  const stored = [childOf('c', 'b', 4), childOf('b', 'p', 2), childOf('a', 'p', 3), beside, PARENT];
  const trees = new RunFamilies({ stored: async () => stored, live: () => undefined });
  const tree = await trees.of(PARENT);
  expect(tree.bounds('c')).toMatchObject([
    { runId: 'c', childRuns: 0, costUsd: 4, budgets: {} },
    { runId: 'p', childRuns: 3, costUsd: 10, budgets: { maxCostUsd: 9 } },
  ]);
  // A run without budgets limits nothing but itself, with its child runs.
  expect(tree.bounds('b')).toMatchObject([{ runId: 'b', childRuns: 1, costUsd: 6 }, { runId: 'p' }]);
  expect(tree.bounds('f')).toMatchObject([{ runId: 'f', childRuns: 0, costUsd: 100 }]);
});

it('tells of calls under way below the run that a budget limits', async () => {
  const stored = [childOf('b', 'p', 2), childOf('a', 'p', 3), aRun('f', 0, { treeId: 'p' }), PARENT];
  const trees = new RunFamilies({ stored: async () => stored, live: () => undefined });
  const tree = await trees.of(PARENT);
  tree.noteCall('f', booking);
  expect(tree.look('a').bounds.at(-1)?.underWay.costUsd).toBe(0);
  tree.noteCall('b', { ...booking, payload: { ...booking.payload, call: 'b/1/x#1.2' } });
  expect(tree.look('a').bounds.at(-1)).toMatchObject({ runId: 'p', underWay: { costUsd: 2 } });
  expect(tree.look('b').bounds.at(-1)?.underWay.costUsd).toBe(0);
});

it('is new to a run when the budgets of a run above it have changed', async () => {
  const child = childOf('a', 'p', 3);
  const trees = new RunFamilies({ stored: async () => [child, PARENT], live: () => undefined });
  const tree = await trees.of(child);
  tree.look('a');
  trees.note({ ...PARENT, cost: { ...PARENT.cost, costUsd: 2 } });
  expect(tree.isNewTo('a')).toBe(false);
  trees.note({ ...PARENT, config: { maxCostUsd: 20 } as RunView['config'] }, 'ada');
  expect([tree.isNewTo('a'), tree.changedBy]).toEqual([true, 'ada']);
});

it('has the budgets that were set last at any of its runs, and before that those it began with', async () => {
  const config = (maxTreeCostUsd: number) => ({ config: { maxTreeCostUsd } }) as unknown as Partial<RunView>;
  const first = { ...ORIGIN, ...config(1) };
  const families = new RunFamilies({ stored: async () => [{ ...FORK, ...config(1) }, first], live: () => undefined });
  const family = await families.of(ORIGIN);
  expect(family.look('a').budgets).toEqual({ maxTreeCostUsd: 1 });
  families.note({ ...FORK, ...config(5), treeBudgetsAt: '2026-01-02T00:00:00.000Z' }, 'ada');
  families.note({ ...first, ...config(3), treeBudgetsAt: '2026-01-01T00:00:00.000Z' });
  expect(family.all.budgets).toEqual({ maxTreeCostUsd: 5 });
  expect(family.changedBy).toBe('ada');
  expect(family.isNewTo('a')).toBe(true);
  family.look('a');
  expect(family.isNewTo('a')).toBe(false);
});

it('ends where a run says that it is its own parent, or two that each is below the other', async () => {
  const own = aRun('a', 1, { treeId: 'a', parent: { runId: 'a', key: 'a/1/x', depth: 1 } });
  const [one, two] = [
    aRun('b', 1, { treeId: 'a', parent: { runId: 'c', key: 'c/1/x', depth: 1 } }),
    aRun('c', 1, { treeId: 'a', parent: { runId: 'b', key: 'b/1/x', depth: 1 } }),
  ];
  const families = new RunFamilies({ stored: async () => [two, one, own], live: () => undefined });
  const family = await families.of(own);
  expect(family.look('a').bounds.map(({ runId }) => runId)).toEqual(['a']);
  expect(family.look('b').bounds.map(({ runId, childRuns }) => [runId, childRuns])).toEqual([['b', 1]]);
});
