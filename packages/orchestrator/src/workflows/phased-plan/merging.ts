/** Merges the finished phases of a wave, one after the other; each merged tree is verified before the branch moves. */
import type { ActivityError } from '@autonomous/shared';
import { assign, enqueueActions } from 'xstate';
import { causeIn, messageOf } from '../parts/children.ts';
import { redText } from '../parts/evidence.ts';
import { followingOf, withFollowing } from '../parts/pull-request.ts';
import {
  checkInput,
  failedAt,
  hasCommands,
  merging,
  nameOf,
  nextMerge,
  phaseOf,
  planSetup,
  progress,
  said,
  without,
} from './setup.ts';
import type { PlanContext } from './types.ts';

/** Merges the finished phases of a wave, one after the other; each merged tree is verified before the branch moves. */
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
    integrating: {
      invoke: {
        id: 'integrateChild',
        src: 'integrateChild',
        input: ({ context }) => merging(context),
        onDone: [
          {
            // The child has evidence for exactly this code.
            guard: ({ context, event }) => event.output.fastForward || !hasCommands(context),
            target: 'moving',
            actions: assign(({ context, event }) => ({
              merging: { phase: context.merging?.phase ?? 0, integrated: event.output },
            })),
          },
          {
            target: 'checking',
            actions: assign(({ context, event }) => ({
              merging: { phase: context.merging?.phase ?? 0, integrated: event.output },
            })),
          },
        ],
        onError: [
          {
            guard: ({ event }) => (event.error as ActivityError).reason === 'merge_conflict',
            target: '#phased-plan.paused',
            actions: {
              type: 'stopPhases',
              params: ({ context, event }) => ({
                reason: 'merge_conflict',
                phases: { [context.merging?.phase ?? 0]: messageOf(event.error) },
              }),
            },
          },
          failedAt('implementation'),
        ],
      },
    },
    checking: {
      invoke: {
        id: 'checkMerge',
        src: 'check',
        input: ({ context }) => checkInput(context, context.merging?.integrated?.commit ?? context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'moving',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: '#phased-plan.paused',
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              {
                type: 'stopPhases',
                params: ({ context, event }) => {
                  const hint = `merged with the phases before it, ${redText(event.output)}`;
                  return { reason: 'agent_failed', phases: { [context.merging?.phase ?? 0]: causeIn(hint) }, hint };
                },
              },
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    moving: {
      invoke: {
        id: 'mergeChild',
        src: 'mergeChild',
        input: ({ context }) => merging(context),
        onDone: {
          target: 'choosing',
          actions: enqueueActions(({ enqueue, context, event }) => {
            const phase = context.merging?.phase ?? 0;
            const { commit, codeTree } = event.output;
            const mergedPhases = [...context.mergedPhases, phase];
            const done = context.finished[phase];
            enqueue.assign({
              ...answeredBy(context, { phase, commit: done?.commit ?? commit, codeTree }),
              head: commit,
              codeTree,
              mergedPhases,
              finished: without(context.finished, [String(phase)]),
              hints: without(context.hints, [String(phase)]),
            });
            enqueue.emit({
              type: 'PHASE_COMMITTED',
              phase,
              hash: done?.commit ?? commit,
              message: nameOf(phaseOf(context, phase)),
            });
            enqueue.emit(said(phase, 'completed', null));
            enqueue.emit(progress({ ...context, mergedPhases }));
          }),
        },
        onError: failedAt('implementation'),
      },
    },
  },
});

/** The answer to reviewers once a phase is merged; nothing where nobody is to be answered. */
function answeredBy(
  context: PlanContext,
  { phase, commit, codeTree }: { readonly phase: number; readonly commit: string; readonly codeTree: string },
): Partial<PlanContext> {
  const { answering } = followingOf(context);
  if (answering === null) return {};
  const isChanged = codeTree !== context.codeTree;
  if (phase === context.askedPhase) {
    const summary = context.finished[phase]?.summary ?? '';
    return withFollowing(context, {
      answering: { ...answering, summary, commit: isChanged ? commit : answering.commit },
    });
  }
  // Another phase does not answer them; it may also take back what they got.
  if (!isChanged || context.conflicts?.[phase] !== undefined) return {};
  const summary = `${answering.summary} A person then asked for a change, which is in ${commit.slice(0, 10)}.`.trim();
  return withFollowing(context, { answering: { ...answering, summary } });
}
