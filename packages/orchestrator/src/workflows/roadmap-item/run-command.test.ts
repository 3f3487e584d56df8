import type { WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { mayHaveRun } from './run-command.ts';

describe('a release', () => {
  const event = (type: string, payload: object = {}) => ({ type, payload }) as Pick<WorkflowEvent, 'type' | 'payload'>;
  const approved = event('APPROVAL_GRANTED');
  const rebuilt = event('RUN_PAUSED', { reason: 'rebuilt' });
  const retried = event('RETRY_REQUESTED');

  it.each([
    ['was rebuilt', rebuilt],
    ['was rebuilt without its workflow', event('RUN_PAUSED', { reason: 'poisoned', rebuilt: true })],
    ['was forked from one that was', event('RUN_FORKED', { rebuilt: true })],
  ])('may have run before where the run %s since the approval', (_, since) => {
    expect(mayHaveRun([approved, since, retried])).toBe(true);
  });

  it.each([
    ['it was approved after that', [rebuilt, retried, approved]],
    ['a person has it run again', [approved, rebuilt, retried, event('FIX_DECIDED', { decision: 'retry' })]],
    ['the run was paused for another reason', [approved, event('RUN_PAUSED', { reason: 'storage_full' }), retried]],
  ])('has not run where %s', (_, events) => {
    expect(mayHaveRun(events)).toBe(false);
  });
});
