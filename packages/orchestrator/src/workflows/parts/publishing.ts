/**
 * Publishing: the latest base comes into the run's branch, the record is committed, the branch is pushed, and merged where
 * the configuration says so. A base that moves in between is integrated once more.
 */
import type { ActivityError, RunConfig } from '@autonomous/shared';
import { assign, emit, type EventObject, type MachineContext } from 'xstate';
import type { IntegratedBase, TakeInInput, TakenIn } from '../../activities/git/integrate-base.ts';
import type { Merged } from '../../activities/git/merge-into-base.ts';
import type { Published, Recorded, RunHeader } from '../../activities/types.ts';
import { TAKING_IN, WAYS } from '../../activities/git/ways.ts';
import { actingOn } from './acting.ts';
import { changeOf } from './change.ts';
import { choosingCommit, leaving, type PausableContext } from './pausing.ts';
import { headerOf } from './run-context.ts';
import type { RunFact } from './signals.ts';

export interface PublishingContext extends RunHeader {
  readonly config: { readonly git: RunConfig['git'] };
  readonly baseCommit: string;
  /** Head of the run's branch in the mirror; empty before it exists. */
  readonly head: string;
  /** `null` before there is a result. */
  readonly codeTree: string | null;
  readonly published: Published | null;
  readonly merged: boolean;
  /** A person chose at a pause that the branch is the result: nothing is merged. Here and below: absent otherwise. */
  readonly leftAsBranch?: true;
  /** Note about the published branch in that case. */
  readonly publishedNote?: string;
  /** Commit of others on the run's branch that a person chose to take in. */
  readonly chosenCommit?: string | undefined;
}

type Has = { readonly context: PublishingContext };

/** Input of the activity that pushes the run's branch. */
export const pushInput = ({ context }: Has) => ({ ...headerOf(context), commit: context.head });

/** Input of the activity that takes in what a person chose at a pause. */
export const takeInInput = (
  context: PublishingContext,
  { from, planPath }: Pick<TakeInInput, 'from' | 'planPath'>,
): TakeInInput => ({
  ...headerOf(context),
  head: context.head,
  baseCommit: context.baseCommit,
  baseBranch: context.config.git.baseBranch,
  planPath,
  from,
  ...(from === 'base' || context.chosenCommit === undefined ? {} : { named: context.chosenCommit }),
});

function noteOfPullRequest({ config }: PublishingContext, { note, pullRequest }: Published) {
  if (pullRequest !== undefined) return { pullRequest, ...(note === undefined ? {} : { note }) };
  if (!config.git.createPR) return {};
  return { note: 'No forge is configured: the branch is pushed; open the pull request from it by hand.' };
}

/** Words for what was taken in. */
export const takenFrom = (context: PublishingContext, from: TakeInInput['from']): string =>
  from === 'base'
    ? context.config.git.baseBranch
    : context.chosenCommit === undefined
      ? `what was pushed to ${context.branch}`
      : `commit ${context.chosenCommit.slice(0, 10)}, which was pushed to ${context.branch}`;

/** Words for an agent that resolves conflicts. */
export const conflictsText = (conflicts: readonly string[]): string =>
  `The newest changes of others were merged in, and these files have conflict markers of git (<<<<<<<, =======, >>>>>>>): ${conflicts.join(', ')}. Resolve all of them so that both sides' intentions hold, and leave no marker. Change nothing else.`;

/** Actions of publishing. */
export function publishingActions<Context extends MachineContext & PublishingContext, Event extends EventObject>() {
  const changed = changeOf<Context, PublishingContext>;
  const acting = actingOn<Context, Event>();
  return {
    keepPublished: assign<Context, Event, { published: Published }, Event, never>((_, { published }) =>
      changed({ published }),
    ),
    reportPublished: emit<Context, Event, { published: Published }, Event, RunFact>(({ context }, { published }) => ({
      type: 'CHANGES_PUBLISHED',
      branch: published.branch ?? context.branch,
      commit: published.commit,
      pushed: published.pushed,
      ...(context.publishedNote === undefined ? {} : { note: context.publishedNote }),
      ...noteOfPullRequest(context, published),
    })),
    /** The branch that is pushed already is the result. */
    reportLeft: emit<Context, Event, undefined, Event, RunFact>(({ context }) => ({
      type: 'CHANGES_PUBLISHED',
      branch: context.published?.branch ?? context.branch,
      commit: context.published?.commit ?? context.head,
      pushed: context.published?.pushed ?? false,
      ...(context.publishedNote === undefined ? {} : { note: context.publishedNote }),
    })),
    sayTakenIn: emit<Context, Event, { taken: TakenIn; from: string }, Event, RunFact>((_, { taken, from }) => ({
      type: 'NOTICE',
      message: `Taken in: ${from}, as commit ${taken.commit.slice(0, 8)}${taken.conflicts.length === 0 ? '' : `, with conflicts in ${taken.conflicts.join(', ')}`}. The result is checked again.`,
    })),
    leaveAsBranch: assign<Context, Event, { note: string | undefined }, Event, never>((_, { note }) =>
      changed({ leftAsBranch: true, ...(note === undefined ? {} : { publishedNote: note }) }),
    ),
    keepChosenCommit: assign<Context, Event, { commit: string | undefined }, Event, never>(({ context }, { commit }) =>
      commit === context.chosenCommit ? {} : changed({ chosenCommit: commit }),
    ),
    keepMerged: acting((context, { output }: { output: Merged }) => {
      if (!output.merged) return null;
      const { commit, strategy } = output;
      return {
        change: changed({ merged: true }),
        facts: [{ type: 'RUN_MERGED', baseBranch: context.config.git.baseBranch, commit, strategy }],
      };
    }),
    keepIntegrated: acting((context, { output }: { output: IntegratedBase }) => {
      if (!output.moved) return null;
      const { baseCommit, commit, codeTree } = output;
      const { baseBranch } = context.config.git;
      return {
        change: changed({ head: commit, baseCommit, codeTree }),
        facts: [{ type: 'BASE_INTEGRATED', baseBranch, baseCommit, commit, codeTree }],
      };
    }),
    keepRecord: acting((_, { output }: { output: Recorded }) => ({
      change: changed({ head: output.commit }),
      facts: output.notices.map((message) => ({ type: 'NOTICE', message })),
    })),
  };
}

export const publishingGuards = {
  /** A pull request is merged by people. */
  merges: ({ context }: Has) =>
    context.config.git.autoMerge && !context.config.git.createPR && context.leftAsBranch !== true,
};

const published = ({ event }: { readonly event: { readonly output: Published } }) => ({ published: event.output });

/**
 * Pushes the run's branch. Sets `published` and emits CHANGES_PUBLISHED.
 * @param push name of the invocation, and whether the commits go to a branch beside the run's own
 */
export function pushingState<const Next extends string, const OnError>(
  next: Next,
  onError: OnError,
  { id, beside }: { readonly id: string; readonly beside?: true } = { id: 'pushBranch' },
) {
  return {
    invoke: {
      id,
      src: 'pushBranch',
      input: beside === undefined ? pushInput : (has: Has) => ({ ...pushInput(has), beside }),
      onDone: {
        target: next,
        actions: [
          { type: 'keepPublished', params: published },
          { type: 'reportPublished', params: published },
        ],
      },
      onError,
    },
  } as const;
}

/** After the push: merges, or ends where a person merges. */
export function choosingState<const Merge extends string, const Done extends string>(merge: Merge, done: Done) {
  return { always: [{ guard: 'merges', target: merge }, { target: done }] } as const;
}

/**
 * The run's branch has an edit of others in an engine-owned file. What they correct in the base has to be taken in before the retry.
 * For `onError`, with an `askingState` beside it.
 */
export const askingAgain = <const Stage extends string>(stage: Stage) =>
  ({
    guard: ({ event }: { readonly event: { readonly error: unknown } }) =>
      (event.error as ActivityError).reason === 'merge_conflict', // The engine gives every failed activity an error of this shape.
    target: 'asking',
    actions: {
      type: 'rememberFailure',
      params: ({ event }: { readonly event: { readonly error: unknown } }) => ({ stage, error: event.error }),
    },
  }) as const;

/** Pauses the run; afterwards the base is taken in again. */
export function askingState<const Paused extends string>(paused: Paused) {
  return {
    always: [
      { guard: ({ context }: { readonly context: PausableContext }) => context.paused !== null, target: paused },
      { target: 'choosingBase' },
    ],
  } as const;
}

interface Merging<Context, Done extends string, Again extends string, OnError> {
  /** Title of the merge commit. */
  readonly title: (context: Context) => string;
  readonly done: Done;
  /** State that integrates the base, which has moved since. */
  readonly again: Again;
  readonly onError: OnError;
}

/** Merges the run's branch into the base. Sets `merged` and emits RUN_MERGED. */
export function mergingState<
  Context extends PublishingContext,
  const Done extends string,
  const Again extends string,
  const OnError,
>({ title, done, again, onError }: Merging<Context, Done, Again, OnError>) {
  return {
    invoke: {
      id: 'merge',
      src: 'merge',
      input: ({ context }: { readonly context: Context }) => ({
        ...headerOf(context),
        head: context.head,
        baseCommit: context.baseCommit,
        baseBranch: context.config.git.baseBranch,
        strategy: context.config.git.mergeStrategy,
        codeTree: context.codeTree ?? '',
        title: title(context),
      }),
      onDone: [
        {
          guard: ({ event }: { readonly event: { readonly output: Merged } }) => event.output.merged,
          target: done,
          actions: {
            type: 'keepMerged',
            params: ({ event }: { readonly event: { readonly output: Merged } }) => ({ output: event.output }),
          },
        },
        { target: again },
      ],
      onError,
    },
  } as const;
}

interface Integrating<Unmoved extends string, Moved extends string, OnError> {
  /** State for a result that is the code that was checked: the base has not moved, or by engine-owned files alone. */
  readonly unmoved: Unmoved;
  /** State that checks the result with the base's new code. */
  readonly moved: Moved;
  readonly onError: OnError;
}

type Integrated = { readonly event: { readonly output: IntegratedBase } };
const keepIntegrated = {
  type: 'keepIntegrated',
  params: ({ event }: Integrated) => ({ output: event.output }),
} as const;

/** Input of the activity that takes the latest base into the run's branch, of a workflow without a plan document. */
export const integrateInput = ({ context }: Has) => ({
  ...headerOf(context),
  head: context.head,
  baseCommit: context.baseCommit,
  baseBranch: context.config.git.baseBranch,
  planPath: '',
});

/** Takes the latest base into the run's branch, of a workflow without a plan document. Sets `head`, `baseCommit` and `codeTree`. */
export function integratingState<const Unmoved extends string, const Moved extends string, const OnError>({
  unmoved,
  moved,
  onError,
}: Integrating<Unmoved, Moved, OnError>) {
  return {
    invoke: {
      id: 'integrate',
      src: 'integrate',
      input: integrateInput,
      onDone: [
        {
          guard: ({ context, event }: Has & Integrated) =>
            !event.output.moved || event.output.codeTree === context.codeTree,
          target: unmoved,
          actions: keepIntegrated,
        },
        { target: moved, actions: keepIntegrated },
      ],
      onError,
    },
  } as const;
}

/** Writes the run's record into its branch, then `pushing` follows. */
export function recordingState<Context extends PublishingContext, const OnError>(
  title: (context: Context) => string,
  onError: OnError,
) {
  return {
    invoke: {
      id: 'recordRun',
      src: 'recordRun',
      input: ({ context }: { readonly context: Context }) => ({
        ...headerOf(context),
        head: context.head,
        baseCommit: context.baseCommit,
        codeTree: context.codeTree ?? '',
        title: title(context),
      }),
      onDone: {
        target: 'pushing',
        actions: {
          type: 'keepRecord',
          params: ({ event }: { readonly event: { readonly output: Recorded } }) => ({ output: event.output }),
        },
      },
      onError,
    },
  } as const;
}

/** Action for {@link takingInState}. */
export function takingInActions<Context extends MachineContext & PublishingContext, Event extends EventObject>() {
  return {
    keepTakenIn: assign<Context, Event, { taken: TakenIn }, Event, never>((_, { taken }) =>
      changeOf<Context, PublishingContext>({
        head: taken.commit,
        baseCommit: taken.baseCommit,
        codeTree: taken.codeTree,
      }),
    ),
  };
}

type Taken = { readonly event: { readonly output: TakenIn } };

/** Takes in the commits of others on the run's branch, of a workflow without a plan document. */
export function takingInState<const Next extends string, const OnError>(next: Next, onError: OnError) {
  return {
    invoke: {
      // The commit is recognised by this name.
      id: TAKING_IN.branch,
      src: 'takeIn',
      input: ({ context }: Has) => takeInInput(context, { from: 'branch', planPath: '' }),
      onDone: {
        target: next,
        actions: [
          { type: 'keepTakenIn', params: ({ event }: Taken) => ({ taken: event.output }) },
          {
            type: 'sayTakenIn',
            params: ({ context, event }: Has & Taken) => ({ taken: event.output, from: takenFrom(context, 'branch') }),
          },
        ],
      },
      onError,
    },
  } as const;
}

/** Ways on from a stopped publication that {@link publishingWays} takes. */
export const PUBLISHING_WAYS = [
  WAYS.leavePushed,
  WAYS.pullRequest,
  WAYS.leaveBranch,
  WAYS.takeIn,
  WAYS.pushBeside,
] as const;

interface PublishingStates<End extends string, Place extends string, Beside extends string, TakingIn extends string> {
  /** The branch that is pushed already is the result. */
  readonly end: End;
  /** The branch is the result, and is recorded and pushed. */
  readonly place: Place;
  readonly beside: Beside;
  readonly takingIn: TakingIn;
}

/** Transitions of the pause that go on from a stopped publication. For `on` of `pausedState`, with {@link PUBLISHING_WAYS}. */
export function publishingWays<
  const End extends string,
  const Place extends string,
  const Beside extends string,
  const TakingIn extends string,
>({ end, place, beside, takingIn }: PublishingStates<End, Place, Beside, TakingIn>) {
  return {
    CLARIFICATION_ANSWERED: [
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.leavePushed, WAYS.pullRequest] } },
        target: end,
        actions: [leaving, 'reportLeft', 'endPause'],
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.leaveBranch] } },
        target: place,
        actions: [leaving, 'endPause'],
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.pushBeside] } },
        target: beside,
        actions: 'endPause',
      },
      {
        guard: { type: 'takesWay', params: { ways: [WAYS.takeIn] } },
        target: takingIn,
        actions: [choosingCommit, 'endPause'],
      },
    ],
  } as const;
}

export interface Publishing<Context, Check extends string, Done extends string, First extends string, OnError> {
  /** Title of the commits. */
  readonly title: (context: Context) => string;
  /** State that checks the result again, after a base with other code was taken in. */
  readonly check: Check;
  readonly done: Done;
  /** State that follows the base: `recording`, or one before it. */
  readonly first: First;
  readonly onError: OnError;
}

/** States that take the base in where the run merges, record the run, push its branch and merge it. `choosingBase` is the first. */
export function publishingStates<
  Context extends PublishingContext,
  const Check extends string,
  const Done extends string,
  const First extends string,
  const OnError,
>({ title, check, done, first, onError }: Publishing<Context, Check, Done, First, OnError>) {
  return {
    choosingBase: { always: [{ guard: 'merges', target: 'integrating' }, { target: first }] },
    integrating: integratingState({ unmoved: first, moved: check, onError }),
    recording: recordingState(title, onError),
    pushing: pushingState('choosing', onError),
    choosing: choosingState('merging', done),
    pushingBeside: pushingState('choosing', onError, { id: 'pushBeside', beside: true }),
    merging: mergingState({ title, done, again: 'integrating', onError }),
  } as const;
}
