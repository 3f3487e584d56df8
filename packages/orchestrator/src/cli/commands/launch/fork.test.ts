import type { WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../exit.ts';
import { configFrom, decisionFrom } from './fork.ts';
import { historyLine } from '../history.ts';

describe('the settings of a fork', () => {
  it('are paths and values, with models beside them', () => {
    expect(
      configFrom(['trustMode.fixes=manual', 'maxFixAttempts=0', 'commands.test=npm test', 'git.autoMerge=false'], {
        planner: 'a:b',
      }),
    ).toEqual({
      modelRouting: { planner: 'a:b' },
      trustMode: { fixes: 'manual' },
      maxFixAttempts: 0,
      commands: { test: 'npm test' },
      git: { autoMerge: false },
    });
    expect(configFrom([], {})).toEqual({});
  });

  it.each(['trustMode', 'trustMode.fixes=maybe', 'maxFixAttempts=many', 'nothing=1', 'git.force=true', '=1'])(
    'are refused when they are none: %s',
    (setting) => {
      expect(() => configFrom([setting], {})).toThrow(UsageError);
    },
  );
});

it.each([
  ['approve', { decision: 'approve' }],
  ['retry', { decision: 'retry' }],
  ['reject=Keep it = small', { decision: 'reject', feedback: 'Keep it = small' }],
  ['accept=It is fine', { decision: 'accept', reason: 'It is fine' }],
  ['ask=Why?', { decision: 'ask', question: 'Why?' }],
  ['extend=30', { decision: 'extend', minutes: 30 }],
  ['answer=approve', { decision: 'answer', response: 'approve' }],
  ['Use Supabase', { decision: 'answer', response: 'Use Supabase' }],
])('takes %s for a decision', (text, decision) => {
  expect(decisionFrom(text)).toEqual(decision);
});

it('shows an event in one line', () => {
  const event: WorkflowEvent = {
    id: 'e',
    position: 9,
    workflowRunId: 'r',
    sequence: 7,
    type: 'INVOICE_WRITTEN',
    origin: 'emitted',
    payload: { file: 'x'.repeat(300) },
    timestamp: '2026-03-01T12:00:00.000Z',
  };
  expect(historyLine(event, 3)).toMatch(/^ {2}7 {2}2026-03-01 12:00:00 {2}INVOICE_WRITTEN {11}file x+…$/);
  expect(historyLine(event, 1).length).toBeLessThan(180);
});
