/** The loop over the phases of a plan: each attempt is a child run, and one with a result is merged into the run's branch. */
import { judgingState } from '../parts/attempts.ts';
import { childMergeStates, toChecks } from '../parts/child-merge.ts';
import { checkInput, failedAt, hasCommands, nextToStart, planSetup } from './setup.ts';
import type { PlanContext } from './types.ts';

export const phases = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.ended.length > 0, target: 'judging' },
        {
          guard: ({ context }) => nextToStart(context) !== undefined,
          target: 'choosing',
          reenter: true,
          actions: 'beginAttempt',
        },
        { guard: ({ context }) => Object.keys(context.open).length > 0, target: 'working' },
        {
          guard: ({ context }) => context.mergedPhases.length === context.phases.length,
          target: '#phased-plan.active.validation',
        },
        { target: '#phased-plan.paused', actions: 'stopPhases' },
      ],
    },
    /** A phase that needs a person asks at its own gate. */
    working: { always: { guard: ({ context }) => context.ended.length > 0, target: 'judging' } },
    judging: judgingState({ failed: 'choosing', merging: 'integrating' }),
    ...childMergeStates({
      childOf: ({ judged }: PlanContext) => judged?.childId ?? '',
      mergeOf: ({ judged }) => judged?.integrated ?? null,
      checkInputOf: checkInput,
      units: 'phases',
      onIntegrated: toChecks(hasCommands),
      failed: 'choosing',
      passed: 'choosing',
      onError: failedAt('implementation'),
      onCheckError: failedAt('validation'),
    }),
  },
});
