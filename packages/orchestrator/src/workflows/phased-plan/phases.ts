/** The waves of a plan: the child runs of each, and what happens where one of them did not complete. */
import { assign, enqueueActions } from 'xstate';
import { failed, fanOut, succeeded, verdictOf } from '../parts/fan-out.ts';
import { endedActor, messageOf } from '../parts/children.ts';
import { actorOf, AT_ONCE, nextMerge, numberOf, planSetup, waiting } from './setup.ts';
import type { PlanContext } from './types.ts';

/** Chooses the next wave. */
export const dispatching = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    { guard: ({ context }) => context.wave >= context.waves.length, target: 'validation' },
    {
      guard: ({ context }) => waiting(context).length === 0,
      target: 'dispatching',
      reenter: true,
      actions: assign({ wave: ({ context }) => context.wave + 1, children: null }),
    },
    {
      guard: ({ context }) => context.iterations >= context.iterationLimit,
      target: '#phased-plan.paused',
      actions: {
        type: 'stopPhases',
        params: ({ context }) => ({
          reason: 'agent_failed',
          phases: Object.fromEntries(
            waiting(context).map((number) => [number, `the limit of ${context.iterationLimit} iterations is reached`]),
          ),
        }),
      },
    },
    {
      target: 'phases',
      actions: assign(({ context }) => {
        const numbers = waiting(context);
        const starts = {
          ...context.starts,
          ...Object.fromEntries(numbers.map((number) => [number, (context.starts[number] ?? 0) + 1])),
        };
        const ids = numbers.map((number) => actorOf({ ...context, starts }, number));
        return { starts, children: fanOut(ids, Math.min(AT_ONCE, context.config.maxConcurrency), 'collect') };
      }),
    },
  ],
});

/** The child runs of a wave. */
export const phases = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  entry: 'startPhases',
  always: {
    guard: ({ context }) => context.children === null || verdictOf(context.children) !== 'running',
    target: 'judging',
  },
  on: {
    'xstate.done.actor.*': {
      target: 'phases',
      reenter: true,
      actions: enqueueActions(({ enqueue, context, event }) => {
        const id = endedActor(event.type);
        const { output, runId, headCommit } = event.output;
        if (context.children === null) return;
        enqueue.assign({
          children: succeeded(context.children, id, null),
          iterations: context.iterations + output.iterations,
          finished: {
            ...context.finished,
            [numberOf(id)]: { childId: runId, commit: headCommit ?? '', summary: output.summary },
          },
        });
        enqueue.stopChild(id);
      }),
    },
    'xstate.error.actor.*': {
      target: 'phases',
      reenter: true,
      actions: enqueueActions(({ enqueue, context, event }) => {
        const id = endedActor(event.type);
        if (context.children === null) return;
        enqueue.assign({ children: failed(context.children, id, messageOf(event.error)) });
        enqueue.stopChild(id);
      }),
    },
  },
});

export const judging = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    // Finished phases are merged first: a phase that is started again then has their changes.
    { guard: ({ context }) => nextMerge(context) !== undefined, target: 'merging' },
    {
      guard: ({ context }) => waiting(context).length > 0,
      target: '#phased-plan.paused',
      actions: {
        type: 'stopPhases',
        params: ({ context }) => ({ reason: 'agent_failed', phases: failuresOf(context) }),
      },
    },
    { target: 'dispatching' },
  ],
});

function failuresOf({ children }: PlanContext): Record<string, string> {
  return Object.fromEntries(
    Object.entries(children?.outcomes ?? {}).flatMap(([id, outcome]) =>
      outcome.ok ? [] : [[numberOf(id), String(outcome.error)]],
    ),
  );
}
