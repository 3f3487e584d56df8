/** The history of a run as agents are told of it. */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { notTaken } from '../workflows/parts/costs.ts';
import { historyOf } from './run-history.ts';

it('tells once of each file that was not taken from an agent, and of no other notice', () => {
  const refused = 'ai/backlog.md (it is engine-owned: the server alone writes it)';
  const notices: readonly JsonObject[] = [notTaken(refused), notTaken(refused), { type: 'NOTICE', message: 'Other.' }];
  const events = notices.map(
    ({ type, ...payload }, index): WorkflowEvent =>
      ({
        workflowRunId: 'r',
        sequence: index + 1,
        timestamp: '2026-03-01T12:00:00.000Z',
        type: String(type),
        origin: 'emitted',
        payload,
      }) as WorkflowEvent,
  );
  expect(historyOf(events, 9)).toEqual([`- not taken from the agent's folder: ${refused}`]);
});
