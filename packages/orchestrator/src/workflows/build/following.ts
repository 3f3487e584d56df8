/**
 * The pull request of a run: a gate beside the wait for what people do at the forge, the merge there, and answers to reviewers.
 * Since version 3.
 */
import type { MergedThere } from '../../activities/follow-pull-request.ts';
import type { SeenAtForge } from '../../activities/review-remarks.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { headerOf } from '../parts/run-context.ts';
import { dependenciesAtGate } from './checks.ts';
import { shownResult } from './inputs.ts';
import { failed } from './pausing.ts';
import { followingOf, mayReview, numberOf, whyHeld } from './pull-request.ts';
import { buildSetup } from './setup.ts';
import type { Asked, BuildContext, ClosedPullRequest, Followed, MergedPullRequest } from './types.ts';

/** After the push: follows the pull request, merges, or ends where a person merges. */
export const choosingToFollow = buildSetup.createStateConfig({
  always: [
    { guard: 'follows', target: 'following' },
    { guard: 'merges', target: 'merging' },
    { target: '#build.completed' },
  ],
});

const answering = buildSetup.createStateConfig({
  always: {
    guard: ({ context }) => followingOf(context).answering === null || context.published?.pullRequest === undefined,
    target: 'choosing',
  },
  invoke: {
    id: 'answerReviewers',
    src: 'answerReviewers',
    input: ({ context }) => ({
      ...headerOf(context),
      number: numberOf(context),
      published: context.published?.commit ?? '',
      answering: followingOf(context).answering ?? { threads: [], others: [], commit: null, summary: '' },
    }),
    onDone: { target: 'choosing', actions: 'forgetAnswering' },
    onError: failed('publishing'),
  },
});

type Asks = { readonly asked: Asked; readonly seen: SeenAtForge };
const NOBODY: Asked = { remarks: [], unheard: 0, checks: [] };

/** What reviewers ask, of the outcome that has it. */
const asksOf = ({ output }: { readonly output: Followed }, context: BuildContext): Asks =>
  output.kind === 'asked'
    ? output
    : { asked: NOBODY, seen: output.kind === 'reading' ? output.seen : followingOf(context).seen };

/** A fork has the pull request of its source behind it, and opens its own. */
const openedFirst = { guard: 'lacksPullRequest', target: 'pushing' } as const;

const following = buildSetup.createStateConfig({
  meta: approvalGate<BuildContext>({
    stage: 'publishing',
    kind: 'pull_request',
    decisions: ['approve', 'reject', 'accept', 'close'],
    summary: summaryOf,
    shows: shownResult,
    details: (context) => ({
      url: context.published?.pullRequest?.url,
      refused: followingOf(context).refused ?? undefined,
      waiting: heldLines(context),
      newDependencies: dependenciesAtGate(context),
      unread: followingOf(context).seen.unread,
      report: context.report?.path,
    }),
  }),
  invoke: {
    id: 'followPullRequest',
    src: 'followPullRequest',
    input: ({ context }) => ({
      ...headerOf(context),
      number: numberOf(context),
      commit: context.published?.commit ?? '',
      seen: followingOf(context).seen,
    }),
    onDone: [
      { guard: ({ event }) => event.output.kind === 'none', target: 'pushing' },
      {
        guard: ({ event }) => event.output.kind === 'merged',
        target: '#build.completed',
        actions: { type: 'keepMergedThere', params: ({ event }) => ({ merged: mergedOf(event.output) }) },
      },
      { guard: ({ event }) => event.output.kind === 'closed', target: '#build.completed', actions: 'keepClosed' },
      {
        guard: ({ event }) => event.output.kind === 'moved',
        target: 'following',
        reenter: true,
        actions: {
          type: 'keepMoved',
          params: ({ context, event: { output } }) =>
            output.kind === 'moved' ? output : { head: '', seen: followingOf(context).seen },
        },
      },
      {
        guard: ({ event }) => event.output.kind === 'reading',
        target: 'following',
        reenter: true,
        actions: { type: 'keepReading', params: ({ context, event }) => ({ seen: asksOf(event, context).seen }) },
      },
      {
        guard: 'mayReview',
        target: '#build.active.implementation.work.implementing',
        actions: { type: 'sendBack', params: ({ context, event }) => asksOf(event, context) },
      },
      {
        target: 'following',
        reenter: true,
        actions: { type: 'holdAsked', params: ({ context, event }) => asksOf(event, context) },
      },
    ],
    onError: failed('publishing'),
  },
  on: {
    APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'mergingPullRequest', actions: 'forgetRefused' },
    APPROVAL_REJECTED: {
      guard: ({ event }) => event.take === undefined,
      target: '#build.active.implementation.work.implementing',
      actions: ['takeHeld', noteFeedback],
    },
    FIX_DECIDED: [
      openedFirst,
      {
        guard: ({ event }) => event.decision === 'accept',
        target: '#build.completed',
        actions: { type: 'keepLeft', params: ({ event }) => ({ by: event.by, reason: event.reason ?? '' }) },
      },
      { guard: ({ event }) => event.decision === 'close', target: 'closingPullRequest' },
    ],
  },
});

const mergingPullRequest = buildSetup.createStateConfig({
  always: openedFirst,
  invoke: {
    id: 'mergePullRequest',
    src: 'mergePullRequest',
    input: ({ context }) => ({
      ...headerOf(context),
      number: numberOf(context),
      head: context.published?.commit ?? '',
      baseCommit: context.baseCommit,
      codeTree: context.codeTree ?? '',
      strategy: context.config.git.mergeStrategy,
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.kind === 'merged',
        target: '#build.completed',
        actions: { type: 'keepMergedThere', params: ({ event }) => ({ merged: mergedOf(event.output) }) },
      },
      { guard: ({ event }) => event.output.kind === 'closed', target: '#build.completed', actions: 'keepClosed' },
      {
        guard: ({ event }) => event.output.kind === 'outdated',
        target: 'integrating',
        actions: { type: 'saySo', params: ({ event }) => ({ message: messageOf(event.output) }) },
      },
      {
        target: 'following',
        actions: [
          { type: 'keepRefused', params: ({ event }) => ({ message: messageOf(event.output) }) },
          { type: 'saySo', params: ({ event }) => ({ message: messageOf(event.output) }) },
        ],
      },
    ],
    onError: failed('publishing'),
  },
});

const closingPullRequest = buildSetup.createStateConfig({
  always: openedFirst,
  invoke: {
    id: 'closePullRequest',
    src: 'closePullRequest',
    input: ({ context }) => ({ ...headerOf(context), number: numberOf(context) }),
    onDone: [
      {
        guard: ({ event }) => event.output.kind === 'merged',
        target: '#build.completed',
        actions: { type: 'keepMergedThere', params: ({ event }) => ({ merged: mergedOf(event.output) }) },
      },
      { target: '#build.completed', actions: 'keepClosed' },
    ],
    onError: failed('publishing'),
  },
});

export const followingStates = { answering, following, mergingPullRequest, closingPullRequest };

function summaryOf(context: BuildContext): string {
  const { held, seen } = followingOf(context);
  const open = `Pull request ${numberOf(context)} is open`;
  const unread =
    seen.unread === true ? '. It has so many remarks that not all are read yet: look for requests at the forge' : '';
  if (held === null) return `${open}: merge it, send it back, leave it open or close it${unread}`;
  const waiting = held.remarks.length + held.checks.length;
  return `${open}: ${waiting} ${waiting === 1 ? 'remark waits' : 'remarks wait'} for you, since ${whyHeld(context)}${unread}`;
}

/** What waits for a person, one line each; `undefined` for nothing. */
function heldLines(context: BuildContext): readonly string[] | undefined {
  const { held } = followingOf(context);
  if (held === null || mayReview(context)) return undefined;
  return [
    ...held.remarks.map(({ login, path, line, text }) => {
      const place = path === null ? '' : ` at ${path}${line === null ? '' : `:${line}`}`;
      return `github:${login}${place}: ${text.slice(0, 500)}`;
    }),
    ...held.checks.map(({ name, conclusion }) => `${name}: ${conclusion}`),
  ];
}

function mergedOf(output: Followed | MergedPullRequest | ClosedPullRequest): MergedThere {
  if (output.kind !== 'merged') throw new Error(`'${output.kind}' is no merge`);
  return output;
}

function messageOf(output: MergedPullRequest): string {
  return 'message' in output ? output.message : '';
}
