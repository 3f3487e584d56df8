/** Decisions at gates, with doubles of the engine and of the log. */
import { type BoundedSpending, Conflict, InvalidRequest, NotFound, type RunView } from '@autonomous/shared';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { GateDecisions, type GateDecisionsOptions } from './gate-decisions.ts';

const CALLER = { userId: 'me' };
const spent = { toolCalls: 0, inputTokens: 0, outputTokens: 0, costUsd: 3, budgets: { maxCostUsd: 2 }, childRuns: 0 };

/** Decisions about a run, and the signals that came of them. */
function deciding(view: RunView, engine: object = {}) {
  const signals: unknown[] = [];
  const signal = async (...sent: unknown[]) => {
    signals.push(sent.slice(0, 3));
    return view;
  };
  const types = ['RUN_STARTED', 'RUN_PAUSED', 'STATE_CHANGED'];
  const decisions = new GateDecisions({
    engine: { view: async () => view, signal, ...engine },
    store: {
      listGates: async () => (view.gate === null ? [] : [view.gate]),
      readHistory: async (_: string, after: number, limit: number) =>
        types.slice(after, after + limit).map((type) => ({ type })),
    },
    workflows: { latest: () => undefined, find: () => undefined },
    runConfig: { budgetFaults: () => [] },
    // The other ports have no part in it.
  } as unknown as GateDecisionsOptions);
  return { decisions, signals };
}

it('says of a gate whether the run has gone on without it or never had it', async () => {
  const { decisions } = deciding(aRun());
  const refused = (id: string) => decisions.decide(CALLER, id, { decision: 'retry' }).catch((error: unknown) => error);
  expect(await refused('r-1.2')).toBeInstanceOf(Conflict);
  for (const id of ['r-1.1', 'r-1.3', 'r-1.9', 'r-1.0', 'r-1.x', 'r-1'])
    expect(await refused(id), id).toBeInstanceOf(NotFound);
});

it('retries at each of several gates, also where another refuses, and stops at a fault of the server', async () => {
  const gate = aGate({ kind: 'pause', decisions: ['retry'] });
  const { decisions, signals } = deciding(aRun({ gate }));
  expect(await decisions.retryAll(CALLER, ['r-1.9', gate.id])).toMatchObject([
    { gateId: 'r-1.9', retried: false, detail: "Run r-1 has no gate 'r-1.9'; it is running." },
    { gateId: gate.id, retried: true },
  ]);
  await decisions.decideOpen(CALLER, 'r-1', { decision: 'retry' });
  const rebuilt = deciding(aRun({ gate: { ...gate, reason: 'rebuilt' } }));
  expect(await rebuilt.decisions.retryAll(CALLER, [gate.id])).toMatchObject([
    { retried: false, detail: expect.stringContaining('retry this run by itself') },
  ]);
  expect(rebuilt.signals).toEqual([]);
  const retried = ['r-1', 'RETRY_REQUESTED', { gateId: gate.id, by: 'me' }];
  expect(signals).toEqual([retried, retried]);
  const broken = deciding(aRun(), { view: () => Promise.reject(new Error('The disk is full.')) });
  await expect(broken.decisions.retryAll(CALLER, [gate.id])).rejects.toThrow('The disk is full.');
});

it.each([
  ['resumes it, or finds it resumed with others', new Conflict('It has resumed.'), null],
  ['says why it could not', new InvalidRequest('No.'), 'No.'],
])('raises the budget of the run above for which a run waits, and %s', async (_, refusal, told) => {
  const gate = aGate({ kind: 'pause', reason: 'budget', budgetOf: 'r-0', decisions: ['extend'] });
  const sent: unknown[] = [];
  const { decisions } = deciding(aRun({ gate }), {
    bounds: async () => [{ ...spent, runId: 'r-0' }],
    tree: async () => ({ budgets: {} }),
    signal: async (runId: string, ...signal: unknown[]) => {
      sent.push([runId, ...signal.slice(0, 2)]);
      if (runId === 'r-1') throw refusal;
    },
  });
  const decided = decisions.decide(CALLER, gate.id, { decision: 'extend', maxCostUsd: 4 });
  if (told === null) expect(await decided).toMatchObject({ id: 'r-1' });
  else await expect(decided).rejects.toThrow(told);
  expect(sent).toEqual([
    ['r-0', 'BUDGET_CHANGED', { maxCostUsd: 4, by: 'me' }],
    ['r-1', 'BUDGET_CHANGED', { by: 'me' }],
  ]);
});

it.each<[string, readonly BoundedSpending[], string]>([
  ['its own', [{ ...spent, runId: 'r-1' }], ': it has spent $3.00 of $2.50 (maxCostUsd). Set a higher budget.'],
  [
    'that of the run above it',
    [
      { ...spent, costUsd: 0, runId: 'r-1' },
      { ...spent, runId: 'r-0' },
    ],
    ' of run r-0, for which it works: it has spent $3.00 of $2.00 (maxCostUsd). Raise it with the command "extend r-0 --max-cost-usd DOLLARS" to resume.',
  ],
])('refuses a budget with which the run would stop again, where %s is used up', async (_, bounds, why) => {
  const gate = aGate({ kind: 'pause', reason: 'budget', decisions: ['extend'] });
  const { decisions, signals } = deciding(aRun({ gate }), {
    bounds: async () => bounds,
    tree: async () => ({ budgets: {} }),
  });
  await expect(decisions.decide(CALLER, gate.id, { decision: 'extend', maxCostUsd: 2.5 })).rejects.toThrow(
    `Run r-1 cannot resume with these budgets${why}`,
  );
  expect(signals).toEqual([]);
});
