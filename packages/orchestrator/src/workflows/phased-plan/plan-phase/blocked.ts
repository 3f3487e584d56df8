/** Beyond the budget a person decides: fixed by hand, or guidance for the next attempt. */
import { assign, emit, enqueueActions } from 'xstate';
import { headerOf } from '../../parts/run-context.ts';
import { escalationLine, escalationText } from '../escalation.ts';
import { errorOf, paused, phaseSetup, says } from './setup.ts';
import type { PhaseContext } from './types.ts';

const escalation = (context: PhaseContext) => ({
  phase: context.input.number,
  planPath: context.input.planPath,
  attempts: context.attempts,
  branch: context.isShared ? context.branch : null,
  ...(context.isRefused === true ? { isHandFixOffered: false } : {}),
  ...(context.attempts.length <= context.input.maxRetries
    ? { limit: `the limit of ${context.iterationLimit} iterations is reached` }
    : {}),
});

const notPushed = (why: string) =>
  ({
    type: 'NOTICE',
    message: `The branch of the phase could not be pushed, so that it cannot be fixed by hand there: ${why}`,
  }) as const;

export const escalationStates = {
  // A person who fixes it by hand needs the work; where it cannot be pushed, guidance is the way on.
  sharing: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'phase-review' },
    entry: says('blocked'),
    invoke: {
      id: 'shareBranch',
      src: 'shareBranch',
      input: ({ context }) => ({ ...headerOf(context), commit: context.head }),
      onDone: {
        target: 'blocked',
        actions: enqueueActions(({ enqueue, context, event }) => {
          const { pushed, refusal } = event.output;
          enqueue.assign({ isShared: pushed });
          if (context.isRefused === true) enqueue.assign({ isRefused: undefined });
          if (refusal === undefined) return;
          enqueue.assign({ isRefused: true });
          enqueue.emit(notPushed(refusal));
        }),
      },
      onError: {
        target: 'blocked',
        actions: [assign({ isShared: false }), emit(({ event }) => notPushed(errorOf(event).message))],
      },
    },
  }),
  blocked: phaseSetup.createStateConfig({
    meta: {
      status: 'paused',
      stage: 'phase-review',
      gate: {
        kind: 'phase_blocked',
        decisions: ['retry', 'reject'],
        summary: (context) => escalationLine(escalation(context)),
        facts: (context) => ({
          reason: 'agent_failed',
          message: escalationText(escalation(context)),
          details: {
            phase: context.input.number,
            lastError: context.lastError,
            attempts: context.attempts.map((attempt) => ({ ...attempt })),
            ...(context.isShared ? { branch: context.branch, commit: context.head } : {}),
          },
        }),
      },
    },
    on: {
      RETRY_REQUESTED: { target: 'takingHandFix', actions: 'beginAnew' },
      APPROVAL_REJECTED: {
        target: 'working',
        actions: [
          'beginAnew',
          assign(({ context, event }) => ({
            guidance: event.feedback,
            // A review without a result gives a fixer nothing to go by but the guidance.
            ...(context.next === 'review' ? { next: 'fix' as const, issues: event.feedback } : {}),
          })),
        ],
      },
    },
  }),
  // Fixed by hand: whatever the person did is verified before any agent is called.
  takingHandFix: phaseSetup.createStateConfig({
    meta: { status: 'running', stage: 'validation' },
    invoke: {
      id: 'takeHandFix',
      src: 'takeHandFix',
      input: ({ context }) => ({
        ...headerOf(context),
        head: context.head,
        baseCommit: context.baseCommit,
        message: `Phase ${context.input.number}, fixed by hand`,
      }),
      onDone: {
        target: 'verifying',
        actions: enqueueActions(({ enqueue, context, event }) => {
          const { output } = event;
          enqueue.assign({ next: 'verify', summary: '' });
          if (output.commit === null) return;
          const { commit, codeTree, filesChanged } = output;
          const version = context.codeVersion + 1;
          enqueue.assign({ head: commit, codeTree, codeVersion: version, checked: null });
          enqueue.emit({
            type: 'IMPLEMENTATION_SUCCEEDED',
            commit,
            codeTree,
            summary: 'Fixed by hand.',
            filesChanged,
          });
        }),
      },
      onError: paused('validation'),
    },
  }),
};
