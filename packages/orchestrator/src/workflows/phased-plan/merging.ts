/** Merges the finished phases of a wave, one after the other; each merged tree is verified before the branch moves. */
import { assign } from 'xstate';
import { childMergeStates, toChecks } from '../parts/child-merge.ts';
import { checkInput, failedAt, hasCommands, nextMerge, planSetup } from './setup.ts';
import type { PlanContext } from './types.ts';

export const mergingPhases = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        {
          guard: ({ context }) => nextMerge(context) !== undefined,
          target: 'integrating',
          actions: assign(({ context }) => ({ merging: { phase: nextMerge(context) ?? 0, integrated: null } })),
        },
        { target: '#phased-plan.active.judging', actions: assign({ merging: null }) },
      ],
    },
    ...childMergeStates({
      childOf: ({ finished, merging }: PlanContext) => finished[merging?.phase ?? 0]?.childId ?? '',
      mergeOf: ({ merging }) => merging?.integrated ?? null,
      checkInputOf: checkInput,
      units: 'phases',
      onIntegrated: toChecks(hasCommands),
      failed: '#phased-plan.paused',
      passed: 'choosing',
      onError: failedAt('implementation'),
      onCheckError: failedAt('validation'),
    }),
  },
});
