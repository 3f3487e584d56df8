import type { RunStatus } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { factsBetween, restatedFacts, type StateView, viewOf } from './view.ts';

const at = (status: RunStatus, stage: string | null, more: Partial<StateView> = {}): StateView => ({
  status,
  stage,
  state: `${status} ${stage}`,
  gate: null,
  message: null,
  ...more,
});
const gate = { gate: 'plan', stage: 'a', decisions: ['approve'], summary: 'A plan', details: {} } as const;

it.each<[what: string, before: StateView | null, after: StateView, types: readonly string[]]>([
  ['the start', null, at('running', 'plan'), ['STAGE_STARTED', 'STATE_CHANGED']],
  ['nothing new', at('running', 'plan'), at('running', 'plan'), []],
  ['a stage', at('running', 'a'), at('running', 'b'), ['STAGE_COMPLETED', 'STAGE_STARTED', 'STATE_CHANGED']],
  ['a gate', at('running', 'a'), at('awaiting_approval', 'a', { gate }), ['STATE_CHANGED', 'APPROVAL_REQUESTED']],
  [
    'a question',
    at('running', 'a'),
    at('awaiting_clarification', 'a', { gate }),
    ['STATE_CHANGED', 'CLARIFICATION_REQUESTED'],
  ],
  ['a pause', at('running', 'a'), at('paused', 'a', { gate }), ['STATE_CHANGED', 'RUN_PAUSED']],
  ['what ends a pause', at('paused', 'a'), at('running', 'a'), ['RUN_RESUMED', 'STATE_CHANGED']],
  ['the end of a paused run', at('paused', 'a'), at('cancelled', null), ['STATE_CHANGED']],
  ['a failure', at('running', 'a'), at('failed', null), ['STATE_CHANGED', 'RUN_FAILED']],
  ['a completion', at('running', 'a'), at('completed', null), ['STAGE_COMPLETED', 'STATE_CHANGED', 'RUN_COMPLETED']],
])('%s has its facts', (_what, before, after, types) => {
  expect(factsBetween(before, after).map(({ type }) => type)).toEqual(types);
});

it('an end says what came of it', () => {
  const last = (after: StateView) => factsBetween(null, after).at(-1)?.payload;
  expect(last(at('completed', null))).toEqual({});
  expect(last(at('completed', null, { message: 'Done.', failures: ['b'] }))).toEqual({
    summary: 'Done.',
    failures: ['b'],
  });
  expect([last(at('failed', null)), last(at('failed', null, { message: 'No.' }))]).toEqual([
    { message: 'failed' },
    { message: 'No.' },
  ]);
});

it('a gate is opened again where it was decided or shows something else, and not otherwise', () => {
  const open = at('awaiting_approval', 'a', { gate });
  const types = (before: StateView | null, after: StateView, input: string, leftQueue = false) =>
    restatedFacts(before, after, input, leftQueue).map(({ type }) => type);
  expect(types(open, open, 'ACTIVITY_COMPLETED')).toEqual([]);
  expect(types(open, open, 'APPROVAL_REJECTED')).toEqual(['APPROVAL_REQUESTED']);
  expect(types(open, { ...open, gate: { ...gate, summary: 'Another' } }, 'ACTIVITY_COMPLETED')).toEqual([
    'APPROVAL_REQUESTED',
  ]);
  expect(types(open, open, 'RUN_CANCELLED')).toEqual(['STATE_CHANGED', 'APPROVAL_REQUESTED']);
  expect([
    types(null, open, 'RUN_CANCELLED'),
    types(at('completed', null), at('completed', null), 'RUN_CANCELLED'),
  ]).toEqual([[], []]);
});

it('a view takes what the deepest state says, its gate while the run goes on, and the parts that came to nothing', () => {
  const view = (meta: object) => {
    const b = { meta };
    const machine = createMachine({
      initial: 'a',
      states: { a: { meta: { status: 'running', stage: 'outer' }, initial: 'b', states: { b } } },
    });
    return viewOf(createActor(machine).getSnapshot());
  };
  const asks = { kind: 'plan', decisions: () => ['approve'], summary: () => 'A plan', facts: () => ({ version: 1 }) };
  expect(view({})).toEqual({ status: 'running', stage: 'outer', state: { a: 'b' }, gate: null, message: null });
  expect(view({ stage: () => 'inner', failures: () => ['x'], message: () => 'm' })).toMatchObject({
    stage: 'inner',
    failures: ['x'],
    message: 'm',
  });
  expect(view({ failures: () => [] })).not.toHaveProperty('failures');
  expect(view({ status: 'awaiting_approval', gate: asks }).gate).toEqual({ ...gate, stage: 'outer', version: 1 });
  expect(view({ status: 'cancelled', gate: asks }).gate).toBeNull();
  expect(() => view({ gate: { ...asks, summary: () => 1 } })).toThrow('a text as its summary');
  expect(() => view({ status: 'awaiting_clarification', gate: asks })).toThrow('awaits an answer');
});
