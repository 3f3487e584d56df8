import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createRunLog } from './run-log.ts';

const step = (fields: object, ...events: readonly (readonly [type: string, payload?: object])[]) => ({
  view: { id: 'r-1', projectId: 'p-1', gate: null, ...fields } as unknown as RunView,
  events: events.map(([type, payload = {}]) => ({ type, payload }) as unknown as WorkflowEvent),
});

function logged(open: Parameters<typeof createRunLog>[1] = [], level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    const { time: _time, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(line) as Record<string, unknown>;
    lines.push(rest);
  };
  return { lines, tell: createRunLog(pino({ level }, { write }), open) };
}

const of = { runId: 'r-1', project: 'p-1' };
const [DEBUG, INFO, WARN] = [20, 30, 40];

it('has a line for each change of status, with gate or reason, and a warning for a pause', () => {
  const { lines, tell } = logged();
  tell(step({ status: 'running' }, ['RUN_STARTED']));
  tell(step({ status: 'running' }, ['STAGE_STARTED']));
  tell(step({ status: 'awaiting_approval', gate: { kind: 'plan', summary: 'Review the plan' } }));
  tell(step({ status: 'paused', gate: { kind: 'pause', reason: 'budget', summary: 'All is spent' } }));
  tell(step({ status: 'failed', failure: 'The base is gone' }));
  expect(lines).toEqual([
    { level: INFO, ...of, from: null, to: 'running', msg: 'a run changed its status' },
    {
      level: INFO,
      ...of,
      from: 'running',
      to: 'awaiting_approval',
      gate: 'plan',
      what: 'Review the plan',
      msg: 'a run changed its status',
    },
    {
      level: WARN,
      ...of,
      from: 'awaiting_approval',
      to: 'paused',
      gate: 'pause',
      reason: 'budget',
      what: 'All is spent',
      msg: 'a run paused',
    },
    { level: INFO, ...of, from: 'paused', to: 'failed', what: 'The base is gone', msg: 'a run changed its status' },
  ]);
});

it('names who decided, and begins with what the open runs were', () => {
  const { lines, tell } = logged([{ id: 'r-1', status: 'awaiting_approval' }]);
  tell(step({ status: 'awaiting_approval' }, ['MESSAGE_SENT', { by: 'local', text: 'secret words' }]));
  tell(step({ status: 'running' }, ['APPROVAL_GRANTED', { by: 'local' }], ['STAGE_STARTED']));
  expect(lines).toEqual([
    { level: INFO, ...of, by: 'local', type: 'MESSAGE_SENT', msg: 'a run was told something' },
    { level: INFO, ...of, by: 'local', type: 'APPROVAL_GRANTED', msg: 'a run was told something' },
    { level: INFO, ...of, from: 'awaiting_approval', to: 'running', msg: 'a run changed its status' },
  ]);
});

it('names the events of each step at debug', () => {
  const { lines, tell } = logged([{ id: 'r-1', status: 'running' }], 'debug');
  tell(step({ status: 'running' }, ['STAGE_STARTED'], ['CALL_BOOKED']));
  expect(lines).toEqual([{ level: DEBUG, ...of, events: ['STAGE_STARTED', 'CALL_BOOKED'], msg: 'a step of a run' }]);
});
