import { describe, expect, it } from 'vitest';
import type { EventPayloads, WorkflowEvent } from './events.ts';
import { foldRun, viewAtStart } from './fold.ts';
import type { RunView } from './run.ts';
import {
  howToRaise,
  dollars,
  isTreeBudget,
  missingBudgetOf,
  moneyText,
  totalSpending,
  usedUpBudget,
  usedUpTreeBudget,
  withBudgets,
} from './spending.ts';

const charge = { call: 'r/1/planner#1.1', stage: 'planning', role: 'planner', model: 'a:b' };
const booked = { inputTokens: 300, outputTokens: 8_000, costUsd: 0.1 };

/** A run's view after these events. */
function after(...events: readonly (readonly [type: string, payload: object])[]): RunView {
  // Nothing else of its start is looked at.
  const start = { workflow: { name: 'build', version: 1 }, config: { maxCostUsd: 1 } } as EventPayloads['RUN_STARTED'];
  let view: RunView = viewAtStart('r', start, '2026-03-01T12:00:00.000Z');
  for (const [index, [type, payload]] of events.entries()) {
    const event = { id: '', position: 0, workflowRunId: 'r', origin: 'input', timestamp: '2026-03-01T12:00:00.000Z' };
    view = foldRun(view, { ...event, sequence: index + 1, type, payload } as WorkflowEvent) ?? view;
  }
  return view;
}

describe('what a run has spent', () => {
  it('counts a booked call at most, and what it came to in its place', () => {
    const waiting = after(['CALL_BOOKED', { ...charge, ...booked }]);
    expect(waiting.cost).toEqual({
      inputTokens: 300,
      outputTokens: 8_000,
      calls: 1,
      costUsd: 0.1,
      booked: { calls: 1, costUsd: 0.1 },
      parts: [{ ...withoutCall(charge), inputTokens: 300, outputTokens: 8_000, calls: 1, costUsd: 0.1 }],
    });
    const settled = after(
      ['CALL_BOOKED', { ...charge, ...booked }],
      [
        'CALL_SETTLED',
        {
          ...charge,
          inputTokens: 250,
          outputTokens: 40,
          cachedInputTokens: 200,
          reasoningTokens: 30,
          costUsd: 0.02,
          toolCalls: 2,
          booked,
        },
      ],
    );
    const sums = {
      inputTokens: 250,
      outputTokens: 40,
      calls: 1,
      costUsd: 0.02,
      cachedInputTokens: 200,
      reasoningTokens: 30,
      toolCalls: 2,
    };
    expect(settled.cost).toEqual({ ...sums, parts: [{ ...withoutCall(charge), ...sums }] });
  });

  it('leaves no trace of a call that cost nothing in the end, however many there were', () => {
    const free = { inputTokens: 0, outputTokens: 0, costUsd: 0, toolCalls: 0 };
    const refused = Array.from({ length: 100 }, (_, index) => {
      const of = { ...booked, costUsd: 0.1 + index / 7 };
      return [
        ['CALL_BOOKED', { ...charge, ...of }],
        ['CALL_SETTLED', { ...charge, ...free, booked: of }],
      ] as const;
    });
    expect(after(...refused.flat()).cost).toMatchObject({ inputTokens: 0, outputTokens: 0, calls: 100, costUsd: 0 });
    expect(after(...refused.flat()).cost.booked).toBeUndefined();
  });

  it('counts calls of unknown price as such', () => {
    const { cost } = after(['CALL_BOOKED', { ...charge, ...booked, costUsd: null }]);
    expect(cost).toMatchObject({ unpricedCalls: 1, booked: { calls: 1, costUsd: 0 } });
    expect(cost.costUsd).toBeUndefined();
  });

  it('counts a finished call of an agent once: by its requests where they were booked, else as a whole', () => {
    const finished = { role: 'planner', model: 'a:b', scripted: true, inputTokens: 7, outputTokens: 5, calls: 2 };
    const counted = after(['CALL_BOOKED', { ...charge, ...booked }], ['COST_RECORDED', { ...finished, metered: true }]);
    expect(counted.cost).toMatchObject({ inputTokens: 300, calls: 1 });
    expect(counted.scriptedModels).toEqual(['a:b']);
    expect(after(['COST_RECORDED', finished]).cost).toEqual({
      inputTokens: 7,
      outputTokens: 5,
      calls: 2,
      parts: [{ stage: null, role: 'planner', model: 'a:b', inputTokens: 7, outputTokens: 5, calls: 2 }],
    });
  });
});

describe('a budget', () => {
  const spent = { inputTokens: 900, outputTokens: 100, calls: 3, toolCalls: 4, costUsd: 0.5 };

  it.each([
    [{}, 0, null],
    [{ maxCostUsd: 0.51, maxTokens: 1_001, maxToolCalls: 5 }, 1, null],
    [{ maxCostUsd: 0.5 }, 0, 'it has spent $0.50 of $0.50 (maxCostUsd)'],
    [{ maxTokens: 1_000 }, 0, 'it has used 1000 of 1000 tokens (maxTokens)'],
    [{ maxToolCalls: 4 }, 0, 'it has made 4 of 4 tool calls (maxToolCalls)'],
    [{ maxToolCalls: 5 }, 2, 'it has made 4 of 5 tool calls and wants 2 more (maxToolCalls)'],
  ])('%j with %i tool calls to come', (budgets, toolCalls, why) => {
    const budget = /\((\w+)\)$/.exec(why ?? '')?.[1];
    expect(usedUpBudget({ ...spent, budgets, childRuns: 0 }, toolCalls)).toEqual(why === null ? null : { budget, why });
  });

  it.each([
    [{ maxCostUsd: 0.5 }, 1, 0, 'it and its 1 child run have spent $0.50 of $0.50 (maxCostUsd)'],
    [
      { maxToolCalls: 5 },
      2,
      2,
      'it and its 2 child runs have made 4 of 5 tool calls and 2 more are wanted (maxToolCalls)',
    ],
  ])('of a run with child runs: %j', (budgets, childRuns, toolCalls, why) => {
    const [budget] = Object.keys(budgets);
    expect(usedUpBudget({ ...spent, budgets, childRuns }, toolCalls)).toEqual({ budget, why });
  });

  it('of another run is raised by a command with its id', () => {
    expect(howToRaise('r-1', 'maxCostUsd')).toContain('the command "extend r-1 --max-cost-usd DOLLARS"');
    expect(howToRaise('r-1', 'maxToolCalls')).toContain('the command "extend r-1 --max-tool-calls COUNT"');
  });

  it.each([
    [{ maxTreeCostUsd: 0.5 }, 0, 'its 3 runs have spent $0.50 of $0.50 (maxTreeCostUsd)'],
    [{ maxTreeTokens: 1_000 }, 0, 'its 3 runs have used 1000 of 1000 tokens (maxTreeTokens)'],
    [{ maxTreeToolCalls: 5 }, 2, 'its 3 runs have made 4 of 5 tool calls and this one wants 2 more (maxTreeToolCalls)'],
  ])('of a tree: %j with %i tool calls to come', (budgets, toolCalls, why) => {
    const [budget] = Object.keys(budgets);
    expect(usedUpTreeBudget({ ...spent, id: 'a', runs: 3, budgets }, toolCalls)).toEqual({ budget, why });
  });

  it('is set, kept or taken away', () => {
    const config = { maxCostUsd: 1, maxTokens: 2, other: 'x' };
    expect(withBudgets(config, { maxCostUsd: 3, maxTokens: null, maxToolCalls: 4 })).toEqual({
      maxCostUsd: 3,
      maxToolCalls: 4,
      other: 'x',
    });
    expect(withBudgets(config, {})).toEqual(config);
  });
});
describe('the budget for which a run waits', () => {
  const opening = {
    gate: 'pause',
    stage: 'planning',
    decisions: ['retry', 'extend'],
    reason: 'budget',
    message: 'spent',
    details: {},
  };
  const gateAfter = (payload: object) => after(['RUN_PAUSED', { ...opening, ...payload }]).gate!;

  it('is the one that the pause names, whatever its words are', () => {
    const gate = gateAfter({ budget: 'maxTreeTokens', summary: 'Nothing is left of it (maxCostUsd).' });
    expect(gate.budget).toBe('maxTreeTokens');
    expect(missingBudgetOf(gate)).toBe('maxTreeTokens');
  });

  it('is none where the pause names none, or the run waits for something else', () => {
    expect(missingBudgetOf(gateAfter({ summary: 'All is spent (maxTreeCostUsd)' }))).toBeNull();
    expect(missingBudgetOf(gateAfter({ reason: 'timeout', summary: 'Too long (maxTreeCostUsd)' }))).toBeNull();
  });

  it('may be shared by a tree', () => {
    expect(isTreeBudget('maxTreeToolCalls')).toBe(true);
    expect(isTreeBudget('maxToolCalls')).toBe(false);
  });
});

it.each([
  [0, '$0.00'],
  [0.000_000_4, '$0.0000004'],
  [0.0123, '$0.012'],
  [0.02, '$0.02'],
  [0.1, '$0.10'],
  [12.345, '$12.35'],
])('%d dollars are %s', (usd, text) => {
  expect(dollars(usd)).toBe(text);
});

function withoutCall({ call: _call, ...key }: typeof charge) {
  return key;
}

it('sums up what several runs have cost, without a price where none has one', () => {
  const one = { inputTokens: 10, outputTokens: 2, calls: 1 };
  const other = { inputTokens: 5, outputTokens: 1, calls: 2, toolCalls: 4, costUsd: 0.1 };
  expect(totalSpending([one, one])).toEqual({ inputTokens: 20, outputTokens: 4, calls: 2 });
  expect(totalSpending([one, other, { ...other, costUsd: 0.2 }])).toEqual({
    inputTokens: 20,
    outputTokens: 4,
    calls: 5,
    toolCalls: 8,
    costUsd: 0.3,
  });
  expect(totalSpending([])).toEqual({ inputTokens: 0, outputTokens: 0, calls: 0 });
});

describe('The money of a run', () => {
  it.each([
    [{}, undefined, '$0.00'],
    [{ costUsd: 1.2, unpricedCalls: 1 }, undefined, '$1.20, 1 call of unknown price'],
    [{ unpricedCalls: 1_500 }, undefined, '1,500 calls of unknown price'],
    [{ costUsd: 0, unpricedCalls: 2, booked: { calls: 1, costUsd: 0 } }, undefined, '2 calls of unknown price'],
    [{ unpricedCalls: 2 }, 5, '$0.00 of $5.00, 2 calls of unknown price'],
    [
      { costUsd: 0.5, booked: { calls: 1, costUsd: 0.2 } },
      5,
      '$0.50 of $5.00, at most $0.20 of it for calls without an answer',
    ],
  ])('of %j with the budget %j is %j: calls of unknown price are not free', (cost, budget, text) => {
    expect(moneyText(cost, budget)).toBe(text);
  });
});
