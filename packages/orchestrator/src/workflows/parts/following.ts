/**
 * States of a run that stays open with its pull request: a gate beside the wait for what people do at the forge, the merge there,
 * and answers to reviewers.
 */
import type { JsonObject } from '@autonomous/shared';
import type { Answering } from '../../activities/pull-request/answer-reviewers.ts';
import type { ClosedPullRequest } from '../../activities/pull-request/close-pull-request.ts';
import type { Followed, MergedThere } from '../../activities/pull-request/follow-pull-request.ts';
import type { MergedPullRequest } from '../../activities/pull-request/merge-pull-request.ts';
import type { Asked, SeenAtForge } from '../../activities/pull-request/review-remarks.ts';
import { approvalGate, type Shown } from './gate.ts';
import { type FollowingContext, followingOf, heldOf, mayReview, numberOf, whyHeld } from './pull-request.ts';
import { headerOf } from './run-context.ts';

/** After the push: follows the pull request, merges, or ends where a person merges. */
export function choosingToFollow<const Done extends string>(done: Done) {
  return {
    always: [{ guard: 'follows', target: 'following' }, { guard: 'merges', target: 'merging' }, { target: done }],
  } as const;
}

type Asks = { readonly asked: Asked; readonly seen: SeenAtForge };
const NOBODY: Asked = { remarks: [], unheard: 0, checks: [] };

type Has<Output> = { readonly context: FollowingContext; readonly event: { readonly output: Output } };

/** What reviewers ask, of the outcome that has it. */
const asksOf = ({ context, event: { output } }: Has<Followed>): Asks =>
  output.kind === 'asked'
    ? output
    : { asked: NOBODY, seen: output.kind === 'reading' ? output.seen : followingOf(context).seen };

/** A fork has the pull request of its source behind it, and opens its own. */
const openedFirst = { guard: 'lacksPullRequest', target: 'pushing' } as const;

const keepingMerge = {
  type: 'keepMergedThere',
  params: ({ event }: Has<Followed | MergedPullRequest | ClosedPullRequest>) => ({ merged: mergedOf(event.output) }),
} as const;

interface FollowingStates<
  Context,
  Stage extends string,
  Done extends string,
  Again extends string,
  Back extends string,
  OnAsked,
  OnRejected,
  OnError,
> {
  readonly stage: Stage;
  /** Content of the gate. */
  readonly shows: (context: Context) => Shown;
  /** Details of the gate beside those of the pull request. */
  readonly details: (context: Context) => JsonObject;
  readonly done: Done;
  /** State that integrates the base, which has moved since. */
  readonly again: Again;
  /** State in which an agent does what is asked. It leads back to the push. */
  readonly back: Back;
  /** Actions that tell the agent what reviewers ask: name of an action with the parameter `asked`. */
  readonly onAsked: OnAsked;
  /** Actions of a rejection at the gate, before what waited is taken from it: they tell the agent both. */
  readonly onRejected: OnRejected;
  readonly onError: OnError;
}

const NOBODY_ANSWERED: Answering = { threads: [], others: [], commit: null, summary: '', number: 0 };

/**
 * The states `answering`, `following`, `mergingPullRequest` and `closingPullRequest`, beside the states `pushing` and `choosing`.
 * The workflow has the signals APPROVAL_GRANTED, APPROVAL_REJECTED and FIX_DECIDED, and the guard `namesTheResult`.
 */
export function followingStates<
  Context extends FollowingContext,
  const Stage extends string,
  const Done extends string,
  const Again extends string,
  const Back extends string,
  const OnAsked extends string,
  const OnRejected extends readonly unknown[],
  const OnError,
>({
  stage,
  shows,
  details,
  done,
  again,
  back,
  onAsked,
  onRejected,
  onError,
}: FollowingStates<Context, Stage, Done, Again, Back, OnAsked, OnRejected, OnError>) {
  return {
    answering: answeringState<Context, OnError>(onError),
    following: {
      meta: approvalGate<Context>({
        stage,
        kind: 'pull_request',
        decisions: ['approve', 'reject', 'accept', 'close'],
        summary: summaryOf,
        shows,
        details: (context) => ({
          url: context.published?.pullRequest?.url,
          refused: followingOf(context).refused ?? undefined,
          waiting: heldLines(context),
          unread: followingOf(context).seen.unread,
          ...details(context),
        }),
      }),
      invoke: {
        id: 'followPullRequest',
        src: 'followPullRequest',
        input: ({ context }: { readonly context: Context }) => ({
          ...headerOf(context),
          number: numberOf(context),
          commit: context.published?.commit ?? '',
          seen: followingOf(context).seen,
        }),
        onDone: [
          { guard: ({ event }: Has<Followed>) => event.output.kind === 'none', target: 'pushing' },
          {
            guard: ({ event }: Has<Followed>) => event.output.kind === 'merged',
            target: done,
            actions: keepingMerge,
          },
          { guard: ({ event }: Has<Followed>) => event.output.kind === 'closed', target: done, actions: 'keepClosed' },
          {
            guard: ({ event }: Has<Followed>) => event.output.kind === 'moved',
            target: 'following',
            reenter: true,
            actions: {
              type: 'keepMoved',
              params: ({ context, event: { output } }: Has<Followed>) =>
                output.kind === 'moved' ? output : { head: '', seen: followingOf(context).seen },
            },
          },
          {
            guard: ({ event }: Has<Followed>) => event.output.kind === 'reading',
            target: 'following',
            reenter: true,
            actions: { type: 'keepReading', params: (has: Has<Followed>) => ({ seen: asksOf(has).seen }) },
          },
          {
            guard: 'mayReview',
            target: back,
            actions: [
              { type: onAsked, params: asksOf },
              { type: 'sendBack', params: asksOf },
            ],
          },
          { target: 'following', reenter: true, actions: { type: 'holdAsked', params: asksOf } },
        ],
        onError,
      },
      on: {
        APPROVAL_GRANTED: { guard: 'namesTheResult', target: 'mergingPullRequest', actions: 'forgetRefused' },
        APPROVAL_REJECTED: {
          guard: ({ event }: { readonly event: { readonly take?: unknown } }) => event.take === undefined,
          target: back,
          actions: [...onRejected, 'takeHeld'],
        },
        FIX_DECIDED: [
          openedFirst,
          {
            guard: ({ event }: { readonly event: FixDecided }) => event.decision === 'accept',
            target: done,
            actions: {
              type: 'keepLeft',
              params: ({ event }: { readonly event: FixDecided }) => ({ by: event.by, reason: event.reason ?? '' }),
            },
          },
          {
            guard: ({ event }: { readonly event: FixDecided }) => event.decision === 'close',
            target: 'closingPullRequest',
          },
        ],
      },
    },
    mergingPullRequest: mergingState<Context, Done, Again, OnError>({ done, again, onError }),
    closingPullRequest: closingState<Context, Done, OnError>({ done, onError }),
  } as const;
}

/** Answers the reviewers whose remarks the last push settles. */
function answeringState<Context extends FollowingContext, const OnError>(onError: OnError) {
  return {
    always: {
      guard: ({ context }: { readonly context: Context }) =>
        followingOf(context).answering === null || context.published?.pullRequest === undefined,
      target: 'choosing',
    },
    invoke: {
      id: 'answerReviewers',
      src: 'answerReviewers',
      input: ({ context }: { readonly context: Context }) => ({
        ...headerOf(context),
        number: numberOf(context),
        published: context.published?.commit ?? '',
        answering: followingOf(context).answering ?? NOBODY_ANSWERED,
      }),
      onDone: { target: 'choosing', actions: 'forgetAnswering' },
      onError,
    },
  } as const;
}

type Ends<Done, OnError> = { readonly done: Done; readonly onError: OnError };

/** Merges at the forge, where the approved result is still what the pull request has. */
function mergingState<
  Context extends FollowingContext,
  const Done extends string,
  const Again extends string,
  const OnError,
>({ done, again, onError }: Ends<Done, OnError> & { readonly again: Again }) {
  return {
    always: openedFirst,
    invoke: {
      id: 'mergePullRequest',
      src: 'mergePullRequest',
      input: ({ context }: { readonly context: Context }) => ({
        ...headerOf(context),
        number: numberOf(context),
        head: context.published?.commit ?? '',
        baseCommit: context.baseCommit,
        codeTree: context.codeTree ?? '',
        strategy: context.config.git.mergeStrategy,
      }),
      onDone: [
        {
          guard: ({ event }: Has<MergedPullRequest>) => event.output.kind === 'merged',
          target: done,
          actions: keepingMerge,
        },
        {
          guard: ({ event }: Has<MergedPullRequest>) => event.output.kind === 'closed',
          target: done,
          actions: 'keepClosed',
        },
        {
          guard: ({ event }: Has<MergedPullRequest>) => event.output.kind === 'outdated',
          target: again,
          actions: { type: 'saySo', params: sayingWhy },
        },
        {
          target: 'following',
          actions: [
            { type: 'keepRefused', params: sayingWhy },
            { type: 'saySo', params: sayingWhy },
          ],
        },
      ],
      onError,
    },
  } as const;
}

/** Closes the pull request, unless it is merged by then. */
function closingState<Context extends FollowingContext, const Done extends string, const OnError>({
  done,
  onError,
}: Ends<Done, OnError>) {
  return {
    always: openedFirst,
    invoke: {
      id: 'closePullRequest',
      src: 'closePullRequest',
      input: ({ context }: { readonly context: Context }) => ({ ...headerOf(context), number: numberOf(context) }),
      onDone: [
        {
          guard: ({ event }: Has<ClosedPullRequest>) => event.output.kind === 'merged',
          target: done,
          actions: keepingMerge,
        },
        { target: done, actions: 'keepClosed' },
      ],
      onError,
    },
  } as const;
}

/** The fields of FIX_DECIDED that are read here. */
export interface FixDecided {
  readonly decision: string;
  readonly by: string;
  readonly reason?: string;
}

const sayingWhy = ({ event }: Has<MergedPullRequest>) => ({ message: messageOf(event.output) });

function summaryOf(context: FollowingContext): string {
  const { refused, seen } = followingOf(context);
  const held = heldOf(context);
  const name = `Pull request ${numberOf(context)}`;
  const unread =
    seen.unread === true ? '. It has so many remarks that not all are read yet: look for requests at the forge' : '';
  const waiting = [
    ...(refused === null ? [] : [`it was not merged: ${refused.replace(/\.$/, '')}`]),
    ...(held === null ? [] : [`${waitingText(held)} for you, since ${whyHeld(context)}`]),
  ];
  if (waiting.length > 0) return `${name}: ${waiting.join('. ')}${unread}`;
  return `${name} is open: merge it, send it back, leave it open or close it${unread}`;
}

function waitingText({ remarks, checks }: Asked): string {
  const parts = [counted(remarks.length, 'remark'), counted(checks.length, 'failed check')].flatMap(
    (part) => part ?? [],
  );
  return `${parts.join(' and ')} ${remarks.length + checks.length === 1 ? 'waits' : 'wait'}`;
}

function counted(count: number, thing: string): string | null {
  return count === 0 ? null : `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** What waits for a person, one line each; `undefined` for nothing. */
function heldLines(context: FollowingContext): readonly string[] | undefined {
  const held = heldOf(context);
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
