/** The run of a project beside its own work: its context, its activities, its first state, and the actions on them. */
import type { Concern, RunConfig, RunConfigRequest, RunStart } from '@autonomous/shared';
import { assign, type EventObject, type MachineContext } from 'xstate';
import type { FindConcernsInput } from '../../activities/evidence/find-concerns.ts';
import type { IntegratedBase, IntegrateInput, TakeInInput, TakenIn } from '../../activities/git/integrate-base.ts';
import type { ChildIntegrated, ChildMerged, MergeChildInput } from '../../activities/git/merge-child.ts';
import type { Merged, MergeInput } from '../../activities/git/merge-into-base.ts';
import type { RecordRunInput } from '../../activities/git/record-run.ts';
import type { Prepared, PrepareInput } from '../../activities/prepare.ts';
import type {
  Checked,
  CheckInput,
  Note,
  ProjectCommand,
  Published,
  Recorded,
  RunHeader,
} from '../../activities/types.ts';
import { actingOn } from './acting.ts';
import { changeOf } from './change.ts';
import { type CheckingContext, evidenceActions } from './evidence.ts';
import { budgetActions, notingActions } from './notes.ts';
import { type PausableContext, pausingActions, pausingDelays, pausingGuards } from './pausing.ts';
import { publishingActions, publishingGuards, type PublishingContext, takingInActions } from './publishing.ts';
import { headerOf } from './run-context.ts';
import { decisionsOf } from './signals.ts';
import { clockActions } from './stage-clock.ts';
import { wholeCheckActions } from './whole-check.ts';

/** Input of the machine. `Config` has all that the workflow asks of the run's configuration. */
export interface ProjectRunInput<Config extends RunConfig> extends Omit<RunStart, 'config'> {
  readonly config: Config;
  readonly runId: string;
  readonly startedAt: string;
}

/** Context of the run of a project. `Values` are those of the workflow's input. */
export interface ProjectRunContext<Config extends RunConfig, Values>
  extends RunHeader, PausableContext, Pick<PublishingContext, 'leftAsBranch' | 'publishedNote' | 'chosenCommit'> {
  readonly input: Values;
  readonly config: Config;
  readonly requestedConfig: RunConfigRequest;
  readonly baseCommit: string;
  /** Head of the run's branch in the mirror; empty before it exists. */
  readonly head: string;
  /** Tree of the code at `head`; `null` before it is known. */
  readonly codeTree: string | null;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  /** Why a person must look at the result; `null` without a reason. */
  readonly failure: string | null;
  readonly concerns: readonly Concern[];
  readonly published: Published | null;
  readonly merged: boolean;
}

/** Configuration of a run whose result the project's own commands check, which have a time limit. */
export type CheckedRunConfig = RunConfig & CheckingContext['config'];

interface Commands {
  /** Command that installs what the checks need; `null`: there is none. */
  readonly setup: ProjectCommand | null;
  /** Command of the tests; `null` before it is known. An empty command says that the project has none. */
  readonly test: ProjectCommand | null;
}

/** Context of a run whose result the project's own commands check. */
export interface CheckedRunContext<Config extends CheckedRunConfig, Values>
  extends ProjectRunContext<Config, Values>, Commands {}

/** The context at the run's start. */
export function projectRunContext<Config extends RunConfig, Values>(
  { runId, projectId, request, branch, startedAt, config, requestedConfig }: ProjectRunInput<Config>,
  input: Values,
): ProjectRunContext<Config, Values> {
  return {
    runId,
    projectId,
    request,
    branch,
    startedAt,
    input,
    config,
    requestedConfig,
    baseCommit: '',
    head: '',
    codeTree: null,
    excludePaths: [],
    notes: [],
    failure: null,
    concerns: [],
    published: null,
    merged: false,
    paused: null,
  };
}

export function checkedRunContext<Config extends CheckedRunConfig, Values>(
  input: ProjectRunInput<Config>,
  values: Values,
): CheckedRunContext<Config, Values> {
  return { ...projectRunContext(input, values), setup: null, test: null };
}

/** Types of the activities of a run of a project. */
export type ProjectRunActivities<Config extends RunConfig> = {
  prepare: { input: PrepareInput; output: Prepared<Config> };
  findConcerns: { input: FindConcernsInput; output: { readonly concerns: readonly Concern[] } };
  integrate: { input: IntegrateInput; output: IntegratedBase };
  recordRun: { input: RecordRunInput; output: Recorded };
  pushBranch: { input: RunHeader & { readonly commit: string; readonly beside?: true }; output: Published };
  merge: { input: MergeInput; output: Merged };
};
/** Names of those activities, for the machine. */
export const PROJECT_RUN = ['prepare', 'findConcerns', 'integrate', 'recordRun', 'pushBranch', 'merge'] as const;

/** Types of the activities of a run whose result the project's commands check. */
export type CheckedRunActivities<Config extends RunConfig> = ProjectRunActivities<Config> & {
  check: { input: CheckInput; output: Checked };
  takeIn: { input: TakeInInput; output: TakenIn };
};
export const CHECKED_RUN = [...PROJECT_RUN, 'check', 'takeIn'] as const;

/** Types of the activities that merge a child run into the run's branch. */
export type ChildMergeActivities = {
  integrateChild: { input: MergeChildInput; output: ChildIntegrated };
  mergeChild: { input: MergeChildInput; output: ChildMerged };
};
export const CHILD_MERGE = ['integrateChild', 'mergeChild'] as const;

/** Signals that every run of a project takes. */
export const projectRunSignals = decisionsOf(
  'APPROVAL_GRANTED',
  'CLARIFICATION_ANSWERED',
  'RETRY_REQUESTED',
  'STAGE_EXTENDED',
  'BUDGET_CHANGED',
  'MESSAGE_SENT',
  'RUN_CANCELLED',
);
export const projectRunDelays = pausingDelays;
export const projectRunGuards = { ...pausingGuards, ...publishingGuards };

/** Actions of a run of a project. */
export function projectRunActions<
  Context extends MachineContext & ProjectRunContext<RunConfig, unknown>,
  Event extends EventObject,
>() {
  return {
    ...budgetActions<Context, Event>(),
    ...clockActions<Context, Event>(),
    ...notingActions<Context, Event>(),
    ...pausingActions<Context, Event>(),
    ...publishingActions<Context, Event>(),
    keepPrepared: keepingPrepared<Context, Event>(preparedChange),
    keepConcerns: assign<Context, Event, { concerns: readonly Concern[] }, Event, never>((_, { concerns }) =>
      changeOf<Context, ProjectRunContext<RunConfig, unknown>>({ concerns }),
    ),
  };
}

/** Actions of a run whose result the project's commands check. */
export function checkedRunActions<
  Context extends MachineContext & CheckedRunContext<CheckedRunConfig, unknown>,
  Event extends EventObject,
>() {
  return {
    ...projectRunActions<Context, Event>(),
    ...evidenceActions<Context, Event>(),
    ...takingInActions<Context, Event>(),
    ...wholeCheckActions<Context, Event>(),
    keepPrepared: keepingPrepared<Context, Event>((prepared) => ({
      ...preparedChange<Context>(prepared),
      ...changeOf<Context, Commands>({ setup: prepared.setup, test: prepared.test }),
    })),
  };
}

type PreparedRun = Prepared<RunConfig>;

const preparedChange = <Context extends ProjectRunContext<RunConfig, unknown>>({
  config,
  baseCommit,
  excludePaths,
}: PreparedRun): Partial<Context> =>
  changeOf<Context, ProjectRunContext<RunConfig, unknown>>({ config, baseCommit, head: baseCommit, excludePaths });

/** @param keep change of the context */
function keepingPrepared<Context extends MachineContext, Event extends EventObject>(
  keep: (prepared: PreparedRun) => Partial<Context>,
) {
  return actingOn<Context, Event>()((_, { output }: { output: PreparedRun }) => {
    const { config, baseCommit, notices } = output;
    return { change: keep(output), facts: [{ type: 'RUN_CONFIGURED', config, baseCommit, notices }] };
  });
}

/**
 * The first state of a run: its base commit, its configuration and its commands become known.
 * @param failedAt transition of a failure in a stage, as `pausesAt` makes it
 */
export function preparingState<const Next extends string, const Stage extends string, const OnError>(
  next: Next,
  stage: Stage,
  failedAt: (stage: Stage) => OnError,
) {
  return {
    meta: { status: 'running', stage },
    invoke: {
      id: 'prepare',
      src: 'prepare',
      input: ({ context }: { readonly context: PrepareInput }) => ({
        ...headerOf(context),
        requestedConfig: context.requestedConfig,
      }),
      onDone: {
        target: next,
        actions: {
          type: 'keepPrepared',
          params: ({ event }: { readonly event: { readonly output: PreparedRun } }) => ({ output: event.output }),
        },
      },
      onError: failedAt(stage),
    },
  } as const;
}
