/** The end of the loop: everything is done, or a person decides how it goes on. */
import { assign, emit } from 'xstate';
import { backlogSetup, blockedOf } from './setup.ts';
import type { BacklogContext } from './types.ts';
import { doneText } from './validation.ts';

const leftOf = ({ outcomes }: BacklogContext): readonly string[] =>
  Object.entries(outcomes).flatMap(([item, { status, reason }]) =>
    status === 'done' ? [] : [`${item} is ${status}: ${reason}`],
  );

/** Nothing is left, or a person is asked. */
export const stopping = backlogSetup.createStateConfig({
  meta: { status: 'running', stage: 'implementation' },
  always: [
    {
      guard: ({ context }) => context.stopped?.kind === 'iterations' || blockedOf(context).length > 0,
      target: 'awaitingDecision',
      actions: emit(({ context }) => ({
        type: 'BACKLOG_STOPPED',
        kind: context.stopped?.kind === 'iterations' ? 'iterations' : 'blocked',
        summary: summaryOf(context),
      })),
    },
    {
      guard: ({ context }) => context.isChanged === true,
      target: 'validation',
      actions: emit(({ context }) => ({ type: 'BACKLOG_STOPPED', kind: 'done', summary: doneText(context) })),
    },
    {
      target: '#backlog.completed',
      actions: emit(({ context }) => ({ type: 'BACKLOG_STOPPED', kind: 'done', summary: doneText(context) })),
    },
  ],
});

function summaryOf(context: BacklogContext): string {
  const { stopped, iterations, outcomes } = context;
  if (stopped?.kind === 'iterations') return `${iterations} attempts are used up, and items are still queued`;
  const [first = '', ...rest] = blockedOf(context);
  const others = rest.length === 0 ? '' : `, and ${rest.length} more`;
  return `${first} is blocked${others}: ${(outcomes[first]?.reason ?? '').slice(0, 600).toWellFormed()}`;
}

/** An item is blocked, or the attempts are used up. */
export const awaitingDecision = backlogSetup.createStateConfig({
  meta: {
    status: 'awaiting_approval',
    stage: 'implementation',
    gate: {
      kind: 'backlog_stopped',
      decisions: ['retry', 'accept'],
      summary: summaryOf,
      facts: (context) => ({
        details: {
          // The summary names the only one.
          ...(leftOf(context).length > 1 ? { left: leftOf(context) } : {}),
          ...(context.stopped?.kind === 'iterations' ? { attempts: context.iterations } : {}),
        },
      }),
    },
  },
  on: {
    // A retry at a gate that offers to accept, too, is a decision about what failed.
    FIX_DECIDED: [
      {
        guard: ({ event }) => event.decision === 'retry',
        target: 'choosing',
        actions: { type: 'tryAgain', params: ({ event }) => ({ notes: event.reason ?? '' }) },
      },
      {
        guard: ({ context, event }) => event.decision === 'accept' && context.isChanged === true,
        target: 'validation',
        actions: assign({ stopped: { kind: 'done' } }),
      },
      { guard: ({ event }) => event.decision === 'accept', target: '#backlog.completed' },
    ],
  },
});
