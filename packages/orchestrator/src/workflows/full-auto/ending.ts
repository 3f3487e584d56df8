/** The end of the loop: the whole is checked, and a result with failures is merged only where a person says so. */
import { enqueueActions } from 'xstate';
import { checkInputOf } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { publishingGuards, publishingStates, takingInState } from '../parts/publishing.ts';
import { isResultAsked, shownResult, validationState } from '../parts/result.ts';
import { failuresOf, named, passing, passText, unreachable } from './features.ts';
import { filesInput } from './listing.ts';
import { doneText, failedAt, fullAutoSetup, isAtLimit } from './setup.ts';
import type { FullAutoContext } from './types.ts';

/** Says how the loop ended. Without a feature that passes there is nothing to check and to publish. */
export const ending = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  initial: 'choosing',
  entry: enqueueActions(({ enqueue, context }) => {
    const failures = failuresOf(context);
    for (const [id, dependsOn] of unreachable(context)) {
      const name = context.features.find((feature) => feature.id === id)?.name ?? '';
      enqueue.emit({ type: 'FEATURE_UNREACHABLE', feature: id, name, dependsOn });
    }
    const isCutOff = failures.length > 0 && isAtLimit(context);
    const words = [
      `${passText(context)}.`,
      ...(isCutOff ? [`The ${context.iterations} iterations are used up.`] : []),
      ...failures,
    ];
    const kind = failures.length === 0 ? 'all' : isCutOff ? 'iterations' : 'failures';
    enqueue.emit({ type: 'FEATURES_ENDED', kind, summary: words.join(' ').slice(0, 2_000).toWellFormed() });
  }),
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => passing(context) === 0, target: '#full-auto.completed' },
        { target: '#full-auto.active.validation' },
      ],
    },
  },
});

/** A result with failures goes into the base by a person's word alone. */
const needsAPerson = (context: FullAutoContext): boolean =>
  isResultAsked(context) || (failuresOf(context).length > 0 && publishingGuards.merges({ context }));

const whole = validationState({
  checkInputOf,
  isAsked: needsAPerson,
  asked: '#full-auto.active.awaitingResult',
  publishing: '#full-auto.active.publishing',
  onError: failedAt('validation'),
});

export const validation = fullAutoSetup.createStateConfig({
  ...whole,
  // Where the project names no test command, the list of the features does.
  states: { ...whole.states, choosing: { always: 'checkingAsIs' } },
});

/** A person publishes the result, leaves it as its branch, or has what failed tried again. */
export const awaitingResult = fullAutoSetup.createStateConfig({
  meta: approvalGate<FullAutoContext>({
    stage: 'validation',
    kind: 'full_auto_result',
    decisions: ['approve', 'accept', 'retry'],
    summary: (context) => context.failure ?? `${doneText(context)} ${questionOf(context)}`,
    shows: shownResult,
    details: (context) => {
      const failures = failuresOf(context);
      return {
        ...(failures.length === 0 ? {} : { failures }),
        ...(context.failure === null ? {} : { failure: context.failure }),
        ...(failures.length > 0 && isAtLimit(context) ? { iterations: context.iterations } : {}),
      };
    },
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'publishing' },
    // A retry at a gate that offers to accept, too, is a decision about what failed.
    FIX_DECIDED: [
      {
        guard: ({ event }) => event.decision === 'accept',
        target: 'publishing',
        actions: { type: 'leaveAsBranch', params: ({ event }) => ({ note: event.reason }) },
      },
      {
        guard: ({ context, event }) => event.decision === 'retry' && failuresOf(context).length > 0,
        target: 'implementing',
        actions: ['tryAgain', noteReason()],
      },
      { guard: ({ event }) => event.decision === 'retry', target: 'validation' },
    ],
  },
});

function noteReason() {
  return {
    type: 'note',
    params: ({ event }: { readonly event: { readonly reason?: string } }) => ({
      kind: 'message' as const,
      text: event.reason,
    }),
  } as const;
}

function questionOf(context: FullAutoContext): string {
  const { createPR, baseBranch } = context.config.git;
  if (publishingGuards.merges({ context })) return `Merge it into ${baseBranch}?`;
  return createPR ? 'Open a pull request for it?' : 'Push its branch?';
}

/** The features that fail are in the title, so that nobody takes the result for the whole. */
function title(context: FullAutoContext): string {
  const { topic } = context.input;
  const missing = context.features.filter(({ passes }) => !passes);
  if (missing.length === 0) return topic.slice(0, 80).toWellFormed();
  const without = `completed with failures, without ${missing.map((feature) => named(feature)).join(', ')}`;
  return `${topic}: ${without}`.slice(0, 120).toWellFormed();
}

export const publishing = fullAutoSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  initial: 'choosingBase',
  states: {
    ...publishingStates({
      title,
      check: '#full-auto.active.validation',
      done: '#full-auto.completed',
      first: 'keepingFiles',
      onError: failedAt('publishing'),
    }),
    /** Others may have changed the files in the base, or on the run's branch: no word but the server's says what passes. */
    keepingFiles: {
      invoke: {
        id: 'keepFiles',
        src: 'writeFiles',
        input: ({ context }) => filesInput(context),
        onDone: {
          target: 'recording',
          actions: [
            { type: 'keepOwnedFiles', params: ({ event }) => ({ output: event.output }) },
            { type: 'sayKept', params: ({ event }) => ({ output: event.output }) },
          ],
        },
        onError: failedAt('publishing'),
      },
    },
    takingIn: takingInState('#full-auto.active.validation', failedAt('publishing')),
  },
});
