/**
 * A pull request with which a run stays open: what the run knows of it, and the actions and guards on it. The states are those
 * of `following.ts`.
 */
import { MAX_REVIEW_ROUNDS } from '@autonomous/shared';
import { assign, emit, type EventObject, type MachineContext } from 'xstate';
import type { Answering } from '../../activities/pull-request/answer-reviewers.ts';
import type { MergedThere } from '../../activities/pull-request/follow-pull-request.ts';
import {
  type Asked,
  askedInShort,
  askedText,
  fitting,
  keyOfCheck,
  NOTHING_SEEN,
  type SeenAtForge,
} from '../../activities/pull-request/review-remarks.ts';
import { actingOn } from './acting.ts';
import { changeOf } from './change.ts';
import type { PublishingContext } from './publishing.ts';
import type { RunFact } from './signals.ts';

/** What the run knows of its pull request. A type, so that it is a JSON value. */
export type Following = {
  /** In a fork: number of the pull request of its source. Absent: none. */
  readonly inherited?: number;
  readonly seen: SeenAtForge;
  /** Times that remarks or failed checks went back by themselves. */
  readonly rounds: number;
  /** What waits for a person, since these times are used up; `null`: nothing. */
  readonly held: Asked | null;
  /** Reviewers who are answered after the next push; `null`: none. */
  readonly answering: Answering | null;
  /** Why the forge did not merge it the last time; `null`: it was not tried. */
  readonly refused: string | null;
  /** How it ended without a merge; `null`: it did not. */
  readonly end: 'closed' | 'left' | null;
  /** Branch into which people merged it in place of the run's base. Absent: they did not. */
  readonly mergedElsewhere?: string;
};

export interface FollowingContext extends PublishingContext {
  /** Absent: no pull request was followed yet. */
  readonly following?: Following;
}

export const NOTHING_FOLLOWED: Following = {
  seen: NOTHING_SEEN,
  rounds: 0,
  held: null,
  answering: null,
  refused: null,
  end: null,
};

export const followingOf = ({ following }: Pick<FollowingContext, 'following'>): Following =>
  following ?? NOTHING_FOLLOWED;

export const numberOf = ({ published }: Pick<FollowingContext, 'published'>): number =>
  published?.pullRequest?.number ?? 0;

export const roundsOf = ({ config }: Pick<FollowingContext, 'config'>): number =>
  config.git.maxReviewRounds ?? MAX_REVIEW_ROUNDS;

/** Is there a pull request with which the run stays open? */
const follows = ({ published, config, leftAsBranch }: FollowingContext): boolean =>
  published?.pullRequest !== undefined && config.git.followPR !== false && leftAsBranch !== true;

/** In a fork: the pull request that the run knows is its source's. It is not acted on, and nobody there is answered. */
export function withInherited(context: FollowingContext): Pick<FollowingContext, 'following'> {
  const inherited = numberOf(context);
  if (inherited === 0) return {};
  const { held } = followingOf(context);
  const unanswered = held?.remarks.map((remark) => ({ ...remark, threadId: null }));
  return withFollowing(context, {
    answering: null,
    inherited,
    ...(held === null || unanswered === undefined ? {} : { held: { ...held, remarks: unanswered } }),
  });
}

const lacksPullRequest = (context: FollowingContext): boolean =>
  numberOf(context) === 0 || numberOf(context) === followingOf(context).inherited;

/** May remarks go back to the implementer by themselves once more? */
export const mayReview = (context: FollowingContext): boolean => followingOf(context).rounds < roundsOf(context);

/** Why remarks wait for a person, to be read after `since`. */
export function whyHeld(context: FollowingContext): string {
  const rounds = roundsOf(context);
  if (rounds === 0) return 'git.maxReviewRounds is 0';
  return rounds === 1 ? '1 round of review is done' : `${rounds} rounds of review are done`;
}

/** The result of a completed run in one line. */
export function outcomeOf(context: FollowingContext): string {
  if (context.merged) return `Merged into ${context.config.git.baseBranch}`;
  const { end = null, mergedElsewhere } = context.following ?? {};
  if (mergedElsewhere !== undefined)
    return `Pull request ${numberOf(context)} was merged into ${mergedElsewhere}, not into ${context.config.git.baseBranch}`;
  if (end === 'closed') return `Pull request ${numberOf(context)} was closed without a merge`;
  if (end === 'left') return `Pull request ${numberOf(context)} is left open`;
  return `Branch ${context.branch} ${context.published?.pushed === false ? 'is ready' : 'is pushed'}`;
}

export const pullRequestGuards = {
  lacksPullRequest: ({ context }: { readonly context: FollowingContext }) => lacksPullRequest(context),
  follows: ({ context }: { readonly context: FollowingContext }) => follows(context),
  mayReview: ({ context }: { readonly context: FollowingContext }) => mayReview(context),
};

type MergedHere = MergedThere & { readonly method?: string; readonly notices?: readonly string[] };

/** Actions on the pull request. */
export function pullRequestActions<Context extends MachineContext & FollowingContext, Event extends EventObject>() {
  const changed = (context: Context, change: Partial<Following>) =>
    changeOf<Context, FollowingContext>(withFollowing(context, change));
  const acting = actingOn<Context, Event>();
  return {
    keepMergedThere: acting((context, { merged }: { merged: MergedHere }) => {
      const { commit, baseBranch, method } = merged;
      const isElsewhere = baseBranch !== context.config.git.baseBranch;
      return {
        change: isElsewhere
          ? changed(context, { mergedElsewhere: baseBranch.slice(0, 300) })
          : changeOf<Context, FollowingContext>({ merged: true }),
        facts: [
          ...mergeNotices(context, merged).map(notice),
          { type: 'RUN_MERGED', baseBranch, commit, strategy: method ?? 'pull request' },
        ],
      };
    }),
    keepClosed: acting((context) => ({
      change: changed(context, { end: 'closed' }),
      facts: [
        notice(
          `Pull request ${numberOf(context)} was closed at the forge without a merge. This run left the branch ${context.published?.branch ?? context.branch} as it is.`,
        ),
      ],
    })),
    keepLeft: acting((context, { by, reason }: { by: string; reason: string }) => ({
      change: changed(context, { end: 'left' }),
      facts: [notice(`${by} left pull request ${numberOf(context)} open: ${reason}`)],
    })),
    keepMoved: acting((context, { head, seen }: { head: string; seen: SeenAtForge }) => ({
      change: changed(context, { seen }),
      facts: [
        notice(
          `Somebody pushed to the branch of pull request ${numberOf(context)}: it is at ${head.slice(0, 10)}, which this run did not check. Merge it here to be asked whether it is taken in, or merge it at the forge.`,
        ),
      ],
    })),
    keepReading: acting((context, { seen }: { seen: SeenAtForge }) => {
      const { held, passed } = withoutPassed(context, seen);
      return { change: changed(context, { seen, held }), facts: passedNotices(context, passed) };
    }),
    /** Counts a round: remarks and failed checks go to an agent, which the workflow tells of them. */
    sendBack: acting((context, { asked, seen }: { asked: Asked; seen: SeenAtForge }) => {
      const rounds = followingOf(context).rounds + 1;
      return {
        change: changed(context, { ...answeringTo(context, asked), seen, rounds, refused: null }),
        facts: [
          notice(
            `Round ${rounds} of ${roundsOf(context)} of pull request ${numberOf(context)}: ${askedInShort(asked)}`,
          ),
        ],
      };
    }),
    /** The same waits for a person. */
    holdAsked: acting((context, { asked, seen }: { asked: Asked; seen: SeenAtForge }) => {
      const { held, passed } = withoutPassed(context, seen);
      return {
        change: changed(context, { seen, held: joined(held, asked) }),
        facts: [
          ...passedNotices(context, passed),
          notice(
            `Pull request ${numberOf(context)}: ${askedInShort(asked)} This waits until a person sends the result back, since ${whyHeld(context)}.`,
          ),
        ],
      };
    }),
    /** A person sends the result back, with as much of what waits as an agent is given at once: {@link heldText}. */
    takeHeld: acting((context) => {
      const held = heldOf(context);
      if (held === null) return { change: changed(context, { held: null, refused: null }) };
      const { now, later, left } = divided(held);
      return {
        change: changed(context, { ...answeringTo(context, now), held: later, refused: null }),
        facts:
          later === null
            ? []
            : [
                notice(
                  `Pull request ${numberOf(context)}: ${left} were left out, since an agent is given 20,000 characters of remarks at once. They wait at the gate for the next time that you send the result back.`,
                ),
              ],
      };
    }),
    forgetAnswering: assign<Context, Event, undefined, Event, never>(({ context }) =>
      changed(context, { answering: null }),
    ),
    keepRefused: assign<Context, Event, { message: string }, Event, never>(({ context }, { message }) =>
      changed(context, { refused: message.slice(0, 2_000) }),
    ),
    forgetRefused: assign<Context, Event, undefined, Event, never>(({ context }) =>
      changed(context, { refused: null }),
    ),
    saySo: emit<Context, Event, { message: string }, Event, RunFact>((_, { message }) => ({
      type: 'NOTICE',
      message: message.slice(0, 2_000),
    })),
  };
}

/** Tells where a merge at the forge is another one than the run prepared, and who made it. */
function mergeNotices(
  context: FollowingContext,
  { by, baseBranch, head, notices = [] }: MergedHere,
): readonly string[] {
  const number = numberOf(context);
  const wanted = context.config.git.baseBranch;
  return [
    baseBranch !== wanted &&
      `Pull request ${number} led to ${baseBranch} and was merged there. Nothing was merged into ${wanted}, for which this run was.`,
    by !== null && `github:${by} merged pull request ${number}.`,
    head !== context.published?.commit &&
      `Pull request ${number} was merged with commit ${head.slice(0, 10)} of its branch, which this run did not check.`,
    ...notices,
  ].filter((message) => message !== false);
}

/** The change of a context that changes something of its pull request. */
export function withFollowing(
  context: FollowingContext,
  change: Partial<Following>,
): Required<Pick<FollowingContext, 'following'>> {
  return { following: { ...followingOf(context), ...change } };
}

/** Remarks and checks that wait for a person; `null`: there are none. Checks of an older commit than the published one do not. */
export function heldOf(context: FollowingContext): Asked | null {
  const { held, seen } = followingOf(context);
  return held === null || seen.checksOf === context.published?.commit ? held : asked({ ...held, checks: [] });
}

function asked(what: Asked): Asked | null {
  return what.remarks.length + what.checks.length === 0 ? null : what;
}

/** The same without the checks that have passed since. */
function withoutPassed(
  context: FollowingContext,
  { checksOf, failed }: SeenAtForge,
): { readonly held: Asked | null; readonly passed: readonly string[] } {
  const { held, seen } = followingOf(context);
  if (held === null || checksOf !== seen.checksOf) return { held, passed: [] };
  const passed = new Set((seen.failed ?? []).filter((key) => failed?.includes(key) === false));
  const [gone, checks] = [true, false].map((isGone) =>
    held.checks.filter((check) => passed.has(keyOfCheck(check)) === isGone),
  );
  return { held: asked({ ...held, checks: checks ?? [] }), passed: gone?.map(({ name }) => name) ?? [] };
}

/** None where no check has passed. */
function passedNotices(context: FollowingContext, passed: readonly string[]) {
  if (passed.length === 0) return [];
  const names = passed.map((name) => `\`${name}\``).join(', ');
  const what = passed.length === 1 ? 'a check that failed has' : 'checks that failed have';
  return [notice(`Pull request ${numberOf(context)}: ${what} passed since: ${names}.`.slice(0, 2_000))];
}

const notice = (message: string): RunFact => ({ type: 'NOTICE', message });

/** What waits for a person, as a text for an agent; empty for nothing. */
export function heldText(context: FollowingContext): string {
  const held = heldOf(context);
  if (held === null) return '';
  const { now, later, left } = divided(held);
  const text = askedText(numberOf(context), now);
  return later === null ? text : `${text}\n\nNot all remarks fit in here: ${left} are left out and come later.`;
}

/** @returns `left`: what an agent is not given yet, in words */
function divided(held: Asked) {
  const { now, later, characters } = fitting(held);
  const count = later?.remarks.length ?? 0;
  return { now, later, left: `${count} ${count === 1 ? 'remark' : 'remarks'} of ${characters} characters` };
}

/** Whom to answer after the next push. */
function answeringTo(context: FollowingContext, asked: Asked): Pick<Following, 'answering'> {
  const { answering } = followingOf(context);
  const threads = asked.remarks.flatMap(({ threadId }) => threadId ?? []);
  const others = asked.remarks.flatMap(({ threadId, login }) => (threadId === null ? [login] : []));
  return {
    answering: {
      threads: [...new Set([...(answering?.threads ?? []), ...threads])],
      others: [...new Set([...(answering?.others ?? []), ...others])],
      commit: answering?.commit ?? null,
      summary: answering?.summary ?? '',
      number: numberOf(context),
    },
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
