/** Runs that are driven by hand: their start, and what they notice that a restart would change. */
import { assign, setup } from 'xstate';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { activity, defineWorkflow, type StateMeta } from '../core/definition.ts';
import { THREE_TRIES } from '../core/activity.ts';
import type { WorkflowValue } from './complete-workflow.ts';
import { driveRun } from './driven-run.ts';

/** @param count called by a step: what a pure machine may call gives the same each time */
function counting(count: () => number): WorkflowValue {
  const machine = setup({
    types: {
      context: {} as { calls: number; name: string },
      input: {} as { input: { name: string } },
      meta: {} as StateMeta<{ calls: number }>,
    },
    actors: { write: activity<{ name: string }, string>() },
    delays: { pause: 60_000 },
  }).createMachine({
    id: 'counting',
    initial: 'writing',
    context: ({ input }) => ({ calls: 0, name: input.input.name }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      writing: {
        meta: { status: 'running', stage: 'writing' },
        invoke: {
          id: 'write',
          src: 'write',
          input: ({ context }) => ({ name: context.name }),
          onDone: { target: 'asking', actions: assign({ calls: count }) },
          onError: 'failed',
        },
      },
      asking: {
        meta: {
          status: 'awaiting_approval',
          stage: 'writing',
          gate: { kind: 'greeting', decisions: ['approve'], summary: ({ calls }) => `Call ${calls}?` },
        },
        after: { pause: 'failed' },
        on: { APPROVAL_GRANTED: 'done' },
      },
      done: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
  return {
    definition: defineWorkflow({
      name: 'counting',
      version: 1,
      description: 'for tests',
      machine,
      input: z.strictObject({ name: z.string().default('Ada') }),
      signals: { APPROVAL_GRANTED: z.looseObject({}), RUN_CANCELLED: z.looseObject({}) },
    }),
    trustModes: [{ name: 'writing', title: 'Writing', description: 'for tests', default: 'auto' }],
    activities: { write: { retry: THREE_TRIES, perform: async () => 'Hello' } },
  };
}

const pure = counting(() => 1);

it('starts with the input as the schema gives it and the default settings of the workflow', () => {
  const run = driveRun(pure);
  expect([run.open, run.inputOf('write')]).toEqual([['write'], { name: 'Ada' }]);
  expect(run.view?.config.trustMode).toEqual({ writing: 'auto' });
  const other = driveRun(pure, { input: { name: 'Grace' }, config: { trustMode: { writing: 'manual' } } });
  expect([other.context['name'], other.view?.config.trustMode]).toEqual(['Grace', { writing: 'manual' }]);
});

it('shows the gate, the context and the events of each step', () => {
  const run = driveRun(pure).ended('write', 'Hello');
  expect([run.gate, run.view?.gate?.summary, run.context]).toEqual(['greeting', 'Call 1?', { calls: 1, name: 'Ada' }]);
  run.send('APPROVAL_GRANTED', { by: 'me' });
  expect([run.view?.status, run.types.at(-1)]).toEqual(['completed', 'RUN_COMPLETED']);
});

it('fails activities, and fires timers when they are due', () => {
  expect(driveRun(pure).fail('write').view?.status).toBe('failed');
  const waiting = driveRun(pure).ended('write', 'Hello');
  const { now } = waiting;
  expect([waiting.fire().view?.status, waiting.now - now]).toEqual(['failed', 61_000]);
});

it('refuses a workflow with its faults, and an input that its schema refuses', () => {
  expect(() => driveRun({ ...pure, stages: [] })).toThrow(/stage 'writing'/);
  expect(() => driveRun(pure, { input: { nam: 'Ada' } })).toThrow(/input of workflow 'counting'.*nam/);
  expect(() => driveRun(pure, { config: { trustMode: { wrting: 'manual' } } })).toThrow(/wrting.*writing/);
});

it('refuses what the run does not take, and names what is open', () => {
  expect(() => driveRun(pure).ended('read', '')).toThrow("activity 'read' is not open; open are write");
});

it('names what a restart would change', () => {
  let calls = 0;
  const impure = counting(() => (calls += 1));
  expect(() => driveRun(impure).ended('write', 'Hello')).toThrow(
    /^ACTIVITY_COMPLETED gives another 'snapshot\.context\.calls' when the run is reopened/,
  );
});

it('refuses a signal as a server does: one that there is none of, one that the state does not take, and a payload that does not fit', () => {
  const run = driveRun(
    counting(() => 1),
    { input: { name: 'Ada' } },
  );
  expect(() => run.send('NOPE')).toThrow(
    "does not accept the signal 'NOPE'. It accepts APPROVAL_GRANTED, RUN_CANCELLED.",
  );
  expect(() => run.send('APPROVAL_GRANTED', { by: 'me' })).toThrow(
    `The run does not take the signal 'APPROVAL_GRANTED' in its state "writing".`,
  );
});
