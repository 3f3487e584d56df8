import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AnyMachineSnapshot, assign, emit, initialTransition, setup, transition } from 'xstate';
import { activity } from './definition.ts';
import { initialStep, nextStep } from './pure-transition.ts';

/** Uses what machines of workflows use: parallel regions, deep history, invoked work, time, facts, guards. */
const machine = setup({
  types: { context: {} as { count: number; from: string }, input: {} as { from: string } },
  actors: { work: activity<{ count: number }, string>() },
}).createMachine({
  id: 'all',
  initial: 'busy',
  context: ({ input }) => ({ count: 0, from: input.from }),
  on: { STOP: '.stopped', PAUSE: '.paused' },
  states: {
    busy: {
      type: 'parallel',
      states: {
        work: {
          initial: 'first',
          states: {
            first: {
              entry: [emit({ type: 'BEGAN' }), assign({ count: ({ context }) => context.count + 1 })],
              invoke: {
                id: 'worker',
                src: 'work',
                input: ({ context }) => ({ count: context.count }),
                onDone: [{ guard: ({ context }) => context.count < 3, target: 'second' }, { target: '#all.stopped' }],
                onError: 'first',
              },
            },
            second: { always: { guard: ({ context }) => context.count > 5, target: 'first' }, on: { AGAIN: 'first' } },
          },
        },
        clock: { initial: 'on', states: { on: { after: { 1_000: 'late' } }, late: { on: { EXTEND: 'on' } } } },
        memory: { type: 'history', history: 'deep' },
      },
    },
    paused: { on: { RESUME: 'busy.memory' } },
    stopped: { type: 'final' },
  },
});

const EVENTS = ['STOP', 'PAUSE', 'RESUME', 'AGAIN', 'EXTEND', 'UNKNOWN', 'xstate.after.1000.all.busy.clock.on'];
const outcomes = ['xstate.done.actor.worker', 'xstate.error.actor.worker'];

it('gives what the library gives, for every sequence of events', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS, ...outcomes), { maxLength: 25 }), (types) => {
      let ours = initialStep(machine, { from: 'here' });
      let theirs = initialTransition(machine, { from: 'here' }) as unknown as typeof ours;
      expect(readable(ours)).toEqual(readable(theirs));
      for (const type of types) {
        const event = { type, output: 'done', actorId: 'worker' };
        ours = nextStep(machine, ours[0], event);
        const next: unknown = transition(machine, theirs[0], event as never);
        theirs = next as typeof theirs;
        expect(readable(ours)).toEqual(readable(theirs));
      }
    }),
    { numRuns: 300 },
  );
});

/** Everything of a step but the actors that stand for activities, which are never started. */
function readable([snapshot, actions]: readonly [AnyMachineSnapshot, readonly { type: string; params?: unknown }[]]) {
  const { children: _children, ...persisted } = machine.getPersistedSnapshot(snapshot) as unknown as {
    readonly children: unknown;
  };
  return {
    persisted,
    children: Object.keys(snapshot.children),
    actions: actions.map(({ type, params }) => JSON.stringify({ type, params })),
  };
}
