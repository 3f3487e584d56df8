/** What a run knows of its pull request, and the actions and guards on it. Since version 3. */
import { MAX_REVIEW_ROUNDS } from '@autonomous/shared';
import { assign, emit, enqueueActions, type EventObject } from 'xstate';
import type { MergedThere } from '../../activities/follow-pull-request.ts';
import { askedInShort, askedText, fitting, NOTHING_SEEN, type SeenAtForge } from '../../activities/review-remarks.ts';
import type { Note } from '../../activities/types.ts';
import type { RunFact } from '../parts/signals.ts';
import type { Asked, BuildContext, CommittedCode, Following } from './types.ts';

export const NOTHING_FOLLOWED: Following = {
  seen: NOTHING_SEEN,
  rounds: 0,
  held: null,
  answering: null,
  refused: null,
  end: null,
};

export const followingOf = ({ following }: BuildContext): Following => following ?? NOTHING_FOLLOWED;

export const numberOf = ({ published }: BuildContext): number => published?.pullRequest?.number ?? 0;

export const roundsOf = ({ config }: BuildContext): number => config.git.maxReviewRounds ?? MAX_REVIEW_ROUNDS;

/** Is there a pull request with which the run stays open? */
const follows = ({ published, config, leftAsBranch }: BuildContext): boolean =>
  published?.pullRequest !== undefined && config.git.followPR !== false && leftAsBranch !== true;

/** In a fork: the pull request that the run knows is its source's. It is not acted on, and nobody there is answered. */
export function withInherited(context: BuildContext): Partial<BuildContext> {
  const inherited = numberOf(context);
  return inherited === 0 ? {} : changed(context, { answering: null, inherited });
}

const lacksPullRequest = (context: BuildContext): boolean =>
  numberOf(context) === 0 || numberOf(context) === followingOf(context).inherited;

/** May remarks go back to the implementer by themselves once more? */
export const mayReview = (context: BuildContext): boolean => followingOf(context).rounds < roundsOf(context);

/** Why remarks wait for a person, to be read after `since`. */
export function whyHeld(context: BuildContext): string {
  const rounds = roundsOf(context);
  if (rounds === 0) return 'git.maxReviewRounds is 0';
  return rounds === 1 ? '1 round of review is done' : `${rounds} rounds of review are done`;
}

/** The result of a completed run in one line. */
export function outcomeOf(context: BuildContext): string {
  if (context.merged) return `Merged into ${context.config.git.baseBranch}`;
  const { end = null, mergedElsewhere } = context.following ?? {};
  if (mergedElsewhere !== undefined)
    return `Pull request ${numberOf(context)} was merged into ${mergedElsewhere}, not into ${context.config.git.baseBranch}`;
  if (end === 'closed') return `Pull request ${numberOf(context)} was closed without a merge`;
  if (end === 'left') return `Pull request ${numberOf(context)} is left open`;
  return `Branch ${context.branch} ${context.published?.pushed === false ? 'is ready' : 'is pushed'}`;
}

/** The commit that answers reviewers, once the implementer has ended; nothing where nobody is to be answered. */
export function answeredBy(context: BuildContext, { commit, codeTree }: CommittedCode): Partial<BuildContext> {
  const { answering } = followingOf(context);
  if (answering === null) return {};
  const [summary = ''] = (context.implemented?.summary ?? '').trim().split('\n');
  const isChanged = codeTree !== context.codeTree;
  return changed(context, {
    answering: { ...answering, summary: summary.slice(0, 300), commit: isChanged ? commit : answering.commit },
  });
}

export const pullRequestGuards = {
  lacksPullRequest: ({ context }: { readonly context: BuildContext }) => lacksPullRequest(context),
  follows: ({ context }: { readonly context: BuildContext }) => follows(context),
  mayReview: ({ context }: { readonly context: BuildContext }) => mayReview(context),
};

/** Actions on the pull request. */
export function pullRequestActions<Event extends EventObject>() {
  return {
    keepMergedThere: enqueueActions<
      BuildContext,
      Event,
      { merged: MergedThere & { readonly method?: string; readonly notices?: readonly string[] } },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { merged: { commit, by, baseBranch, head, method, notices = [] } }) => {
      const number = numberOf(context);
      const wanted = context.config.git.baseBranch;
      enqueue.assign(
        baseBranch === wanted ? { merged: true } : changed(context, { mergedElsewhere: baseBranch.slice(0, 300) }),
      );
      if (baseBranch !== wanted)
        enqueue.emit({
          type: 'NOTICE',
          message: `Pull request ${number} led to ${baseBranch} and was merged there. Nothing was merged into ${wanted}, for which this run was.`,
        });
      if (by !== null) enqueue.emit({ type: 'NOTICE', message: `github:${by} merged pull request ${number}.` });
      if (head !== context.published?.commit)
        enqueue.emit({
          type: 'NOTICE',
          message: `Pull request ${number} was merged with commit ${head.slice(0, 10)} of its branch, which this run did not check.`,
        });
      for (const message of notices) enqueue.emit({ type: 'NOTICE', message });
      enqueue.emit({ type: 'RUN_MERGED', baseBranch, commit, strategy: method ?? 'pull request' });
    }),
    keepClosed: enqueueActions<BuildContext, Event, undefined, Event, never, never, never, never, RunFact>(
      ({ enqueue, context }) => {
        enqueue.assign(changed(context, { end: 'closed' }));
        enqueue.emit({
          type: 'NOTICE',
          message: `Pull request ${numberOf(context)} was closed at the forge without a merge. This run left the branch ${context.published?.branch ?? context.branch} as it is.`,
        });
      },
    ),
    keepLeft: enqueueActions<
      BuildContext,
      Event,
      { by: string; reason: string },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { by, reason }) => {
      enqueue.assign(changed(context, { end: 'left' }));
      enqueue.emit({ type: 'NOTICE', message: `${by} left pull request ${numberOf(context)} open: ${reason}` });
    }),
    keepMoved: enqueueActions<
      BuildContext,
      Event,
      { head: string; seen: SeenAtForge },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { head, seen }) => {
      enqueue.assign(changed(context, { seen }));
      enqueue.emit({
        type: 'NOTICE',
        message: `Somebody pushed to the branch of pull request ${numberOf(context)}: it is at ${head.slice(0, 10)}, which this run did not check. Merge it here to be asked whether it is taken in, or merge it at the forge.`,
      });
    }),
    keepReading: assign<BuildContext, Event, { seen: SeenAtForge }, Event, never>(({ context }, { seen }) =>
      changed(context, { seen }),
    ),
    /** Remarks and failed checks go to the implementer. */
    sendBack: enqueueActions<
      BuildContext,
      Event,
      { asked: Asked; seen: SeenAtForge },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { asked, seen }) => {
      const rounds = followingOf(context).rounds + 1;
      enqueue.assign({ ...withAsked(context, asked, { seen, rounds, refused: null }), fixAttempts: 0 });
      enqueue.emit({
        type: 'NOTICE',
        message: `Round ${rounds} of ${roundsOf(context)} of pull request ${numberOf(context)}: ${askedInShort(asked)}`,
      });
    }),
    /** The same waits for a person. */
    holdAsked: enqueueActions<
      BuildContext,
      Event,
      { asked: Asked; seen: SeenAtForge },
      Event,
      never,
      never,
      never,
      never,
      RunFact
    >(({ enqueue, context }, { asked, seen }) => {
      const { held } = followingOf(context);
      enqueue.assign(changed(context, { seen, held: joined(held, asked) }));
      enqueue.emit({
        type: 'NOTICE',
        message: `Pull request ${numberOf(context)}: ${askedInShort(asked)} This waits until a person sends the result back, since ${whyHeld(context)}.`,
      });
    }),
    /** A person sends the result back, with as much of what waits as an agent is given at once. */
    takeHeld: enqueueActions<BuildContext, Event, undefined, Event, never, never, never, never, RunFact>(
      ({ enqueue, context }) => {
        const { held } = followingOf(context);
        if (held === null) return enqueue.assign(changed(context, { held: null, refused: null }));
        const { now, later, characters } = fitting(held);
        const count = later?.remarks.length ?? 0;
        const left = `${count} ${count === 1 ? 'remark' : 'remarks'} of ${characters} characters`;
        const rest = later === null ? '' : `Not all remarks fit in here: ${left} are left out and come later.`;
        enqueue.assign(withAsked(context, now, { held: later, refused: null }, rest));
        if (later !== null)
          enqueue.emit({
            type: 'NOTICE',
            message: `Pull request ${numberOf(context)}: ${left} were left out, since an agent is given 20,000 characters of remarks at once. They wait at the gate for the next time that you send the result back.`,
          });
      },
    ),
    forgetAnswering: assign<BuildContext, Event, undefined, Event, never>(({ context }) =>
      changed(context, { answering: null }),
    ),
    keepRefused: assign<BuildContext, Event, { message: string }, Event, never>(({ context }, { message }) =>
      changed(context, { refused: message.slice(0, 2_000) }),
    ),
    forgetRefused: assign<BuildContext, Event, undefined, Event, never>(({ context }) =>
      changed(context, { refused: null }),
    ),
    saySo: emit<BuildContext, Event, { message: string }, Event, RunFact>((_, { message }) => ({
      type: 'NOTICE',
      message: message.slice(0, 2_000),
    })),
  };
}

function changed(context: BuildContext, change: Partial<Following>): Pick<BuildContext, 'following'> {
  return { following: { ...followingOf(context), ...change } };
}

/** A note to the implementer, and whom to answer after the next push. */
function withAsked(context: BuildContext, asked: Asked, change: Partial<Following>, rest = ''): Partial<BuildContext> {
  const { answering } = followingOf(context);
  const text = askedText(numberOf(context), asked);
  const note: Note = { kind: 'feedback', text: rest === '' ? text : `${text}\n\n${rest}` };
  const threads = asked.remarks.flatMap(({ threadId }) => threadId ?? []);
  const others = asked.remarks.flatMap(({ threadId, login }) => (threadId === null ? [login] : []));
  return {
    notes: [...context.notes, note],
    ...changed(context, {
      ...change,
      answering: {
        threads: [...new Set([...(answering?.threads ?? []), ...threads])],
        others: [...new Set([...(answering?.others ?? []), ...others])],
        commit: answering?.commit ?? null,
        summary: answering?.summary ?? '',
      },
    }),
  };
}

/** Most remarks and checks that wait for a person; the oldest give way. */
const MAX_HELD = 50;

function joined(held: Asked | null, asked: Asked): Asked {
  if (held === null) return asked;
  return {
    remarks: [...held.remarks, ...asked.remarks].slice(-MAX_HELD),
    unheard: held.unheard + asked.unheard,
    // Those of an older commit say nothing of this one.
    checks: asked.checks.length === 0 ? held.checks : asked.checks,
  };
}
