import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { NO_SUMMARY, type RunSummary, summarize } from './run-summary.ts';
import { calls, opens, type Told } from './sqlite/stored-run.fixture.ts';

const at = (time: string): number => Date.parse(time);

function events(told: readonly Told[], first = 1): WorkflowEvent[] {
  return told.map(([time, type, payload = {}], index) => ({
    id: `r.${first + index}`,
    position: first + index,
    workflowRunId: 'r',
    sequence: first + index,
    type,
    origin: 'input',
    payload,
    timestamp: new Date(time).toISOString(),
  }));
}

const summaryOf = (told: readonly Told[]): RunSummary => summarize(NO_SUMMARY, events(told));

describe('The summary of a run', () => {
  it('sums calls by quarter of an hour, stage and model, at what they came to', () => {
    const { spent, booked } = summaryOf([
      ...calls('2026-03-01T10:01Z', 'planning', 'a:x', 0.5),
      ...calls('2026-03-01T10:14:59Z', 'planning', 'a:x', 0.25),
      ...calls('2026-03-01T10:15Z', 'planning', 'a:x', 1),
      ...calls('2026-03-01T10:16Z', 'planning', 'b:y', null),
    ]);
    const common = { stage: 'planning', unpricedCalls: 0 };
    expect(spent).toEqual([
      {
        ...common,
        at: at('2026-03-01T10:00Z'),
        model: 'a:x',
        calls: 2,
        inputTokens: 200,
        outputTokens: 20,
        costUsd: 0.75,
      },
      {
        ...common,
        at: at('2026-03-01T10:15Z'),
        model: 'a:x',
        calls: 1,
        inputTokens: 100,
        outputTokens: 10,
        costUsd: 1,
      },
      {
        ...common,
        at: at('2026-03-01T10:15Z'),
        model: 'b:y',
        calls: 1,
        inputTokens: 100,
        outputTokens: 10,
        costUsd: 0,
        unpricedCalls: 1,
      },
    ]);
    expect(booked).toEqual({});
  });

  it('counts a call whose answer is not known at what it can come to at most', () => {
    const [booking] = calls('2026-03-01T10:01Z', 'planning', 'a:x', 0.5);
    const { spent, booked } = summaryOf(booking === undefined ? [] : [booking]);
    expect(spent).toEqual([]);
    expect(Object.values(booked)).toMatchObject([{ at: at('2026-03-01T10:01Z'), costUsd: 9, inputTokens: 5_000 }]);
  });

  it('says whether the run completed with failures', () => {
    const completed = (payload: JsonObject) => summaryOf([['2026-03-01T10:00Z', 'RUN_COMPLETED', payload]]);
    expect(completed({ failures: ['a'] }).withFailures).toBe(true);
    expect(completed({}).withFailures).toBe(NO_SUMMARY.withFailures);
  });

  it('counts calls that nobody booked as ones without a price, and those that were booked once', () => {
    const cost = { role: 'planner', model: 'acp:x', scripted: false, inputTokens: 7, outputTokens: 3, calls: 2 };
    const { spent } = summaryOf([
      ['2026-03-01T10:00Z', 'STAGE_STARTED', { stage: 'implementation' }],
      ['2026-03-01T10:01Z', 'COST_RECORDED', cost],
      ['2026-03-01T10:02Z', 'COST_RECORDED', { ...cost, metered: true }],
    ]);
    expect(spent).toMatchObject([{ stage: 'implementation', calls: 2, unpricedCalls: 2, costUsd: 0, inputTokens: 7 }]);
  });

  it.each([
    ['APPROVAL_GRANTED', { by: 'ada' }],
    ['APPROVAL_REJECTED', { by: 'ada', feedback: 'no' }],
    ['QUESTION_ASKED', { by: 'ada', question: 'why' }],
    ['STATE_CHANGED', { status: 'running', stage: null, state: 'x', gate: null }],
    ['FIX_DECIDED', { by: 'ada', decision: 'retry' }],
    ['RUN_CANCELLED', { by: 'ada' }],
    ['RUN_FAILED', { message: 'x' }],
  ] as const)('has waited at a gate until %s', (type, payload) => {
    const told = [opens('2026-03-01T10:00Z', 'plan'), ['2026-03-03T10:00Z', type, payload] as const];
    expect(summaryOf(told)).toMatchObject({
      waits: [{ gate: 'plan', from: at('2026-03-01T10:00Z'), to: at('2026-03-03T10:00Z') }],
      open: null,
    });
  });

  it('tells pauses apart by their reason, and waits on where something else happens', () => {
    const pause = {
      gate: 'pause',
      stage: null,
      decisions: [],
      summary: '',
      details: {},
      reason: 'budget',
      message: '',
    };
    const summary = summaryOf([
      ['2026-03-01T10:00Z', 'RUN_PAUSED', pause],
      ['2026-03-01T10:10Z', 'FIX_DECIDED', { by: 'policy', decision: 'retry' }],
      ['2026-03-01T10:20Z', 'NOTICE', { message: 'x' }],
    ]);
    expect(summary).toMatchObject({
      waits: [],
      open: { gate: 'pause', reason: 'budget', from: at('2026-03-01T10:00Z') },
    });
    const raised = summarize(summary, events([['2026-03-01T11:00Z', 'BUDGET_CHANGED', { by: 'ada', maxCostUsd: 9 }]]));
    expect(raised.waits).toEqual([
      { gate: 'pause', reason: 'budget', from: at('2026-03-01T10:00Z'), to: at('2026-03-01T11:00Z') },
    ]);
  });

  it('has two waits where a gate takes the place of another', () => {
    const { waits, open } = summaryOf([opens('2026-03-01T10:00Z', 'plan'), opens('2026-03-01T10:30Z', 'plan')]);
    expect(waits).toMatchObject([{ to: at('2026-03-01T10:30Z') }]);
    expect(open).toMatchObject({ from: at('2026-03-01T10:30Z') });
  });

  it('begins anew at a fork: what was before is the source’s, and an open gate waits from then on', () => {
    const { spent, booked, waits, open } = summaryOf([
      ...calls('2026-03-01T10:00Z', 'planning', 'a:x', 3).slice(0, 2),
      ...calls('2026-03-01T10:00Z', 'planning', 'b:y', 3).slice(0, 1),
      opens('2026-03-01T10:00Z', 'plan'),
      ['2026-03-01T11:00Z', 'APPROVAL_REJECTED', { by: 'ada', feedback: 'no' }],
      opens('2026-03-01T12:00Z', 'plan'),
      ['2026-03-09T12:00Z', 'RUN_FORKED', { from: 's', at: 5, by: 'ada', branch: 'b', waitedMs: 0 }],
      ...calls('2026-03-09T13:00Z', 'planning', 'a:x', 1),
      ['2026-03-09T14:00Z', 'APPROVAL_GRANTED', { by: 'ada' }],
    ]);
    expect(spent).toMatchObject([{ at: at('2026-03-09T13:00Z'), costUsd: 1 }]);
    expect(booked).toEqual({});
    expect(waits).toEqual([{ gate: 'plan', from: at('2026-03-09T12:00Z'), to: at('2026-03-09T14:00Z') }]);
    expect(open).toBeNull();
  });

  it('is the same in one go and event by event', () => {
    const told = [
      ...calls('2026-03-01T10:00Z', 'planning', 'a:x', 3),
      opens('2026-03-01T10:00Z', 'plan'),
      ['2026-03-01T11:00Z', 'APPROVAL_GRANTED', { by: 'ada' }] as const,
      ...calls('2026-03-01T12:00Z', 'implementation', 'a:x', 3).slice(0, 1),
    ];
    let stepwise = NO_SUMMARY;
    for (const event of events(told)) stepwise = summarize(JSON.parse(JSON.stringify(stepwise)) as RunSummary, [event]);
    expect(stepwise).toEqual(summaryOf(told));
  });
});
