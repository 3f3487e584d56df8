/** The data of the build workflow: its input, its context, and what its activities take and give. All plain JSON. */
import type {
  BaselineInput,
  Checked,
  CheckInput,
  Checkpoint,
  CommittedCode,
  Cost,
  Note,
  ProjectCommand,
  Published,
  Recorded,
  RunHeader,
} from '../../activities/types.ts';
import type { AnswerInput } from '../../activities/pull-request/answer-reviewers.ts';
import type { CommitCodeInput } from '../../activities/git/code-commits.ts';
import type { Followed, FollowInput } from '../../activities/pull-request/follow-pull-request.ts';
import type { Integrated, IntegrateInput, TakeInInput, TakenIn } from '../../activities/git/integrate-base.ts';
import type { Merged, MergeInput } from '../../activities/git/merge-into-base.ts';
import type { ClosedPullRequest, ClosePullRequestInput } from '../../activities/pull-request/close-pull-request.ts';
import type { MergedPullRequest, MergePullRequestInput } from '../../activities/pull-request/merge-pull-request.ts';
import type { PushInput } from '../../activities/git/push-branch.ts';
import type { Prepared, PrepareInput } from '../../activities/prepare.ts';
import type { MemoryAddition } from '../../documents/memory/memory-concern.ts';
import type { Solution } from '../../documents/memory/solution-memory.ts';
import type { ClarifyingContext } from '../parts/clarification.ts';
import type { PausableContext } from '../parts/pausing.ts';
import type { FollowingContext } from '../parts/pull-request.ts';
import type {
  ActivityError,
  Baseline,
  Concern,
  ConstraintFinding,
  FilesTaken,
  JsonValue,
  Question,
  RunConfig,
  RunConfigRequest,
  RunDecision,
  RunStart,
  TrustLevel,
} from '@autonomous/shared';

/** Stages with a clock. */
export const TIMED_STAGES = ['planning', 'implementation', 'validation'] as const;
export type TimedStage = (typeof TIMED_STAGES)[number];

/** The run's configuration with everything that this workflow asks of it: its roles, stages and trust modes are set. */
export type BuildConfig = RunConfig & {
  readonly modelRouting: Readonly<Record<'planner' | 'implementer' | 'validator', string>>;
  /** Minutes. */
  readonly timeoutMinutes: Readonly<Record<TimedStage, number>>;
  readonly trustMode: Readonly<Record<'planning' | 'implementation' | 'fixes', TrustLevel>>;
};

export interface BuildInput extends Omit<RunStart, 'config'> {
  readonly config: BuildConfig;
  readonly runId: string;
  readonly startedAt: string;
}

export interface PlanDraft {
  readonly title: string;
  readonly plan: string;
  readonly decisions: readonly RunDecision[];
  readonly techStack: readonly string[];
  readonly patterns: readonly string[];
  readonly constraints: JsonValue;
  /** Id of the model that wrote it. */
  readonly model: string;
  readonly scripted: boolean;
}

export type Planned =
  | { readonly kind: 'plan'; readonly draft: PlanDraft; readonly cost: Cost }
  | { readonly kind: 'invalid'; readonly draft: PlanDraft; readonly message: string; readonly cost: Cost }
  | { readonly kind: 'question'; readonly question: Question; readonly cost: Cost };

/** A plan as committed on the run's branch. */
export interface CommittedPlan {
  readonly title: string;
  readonly path: string;
  readonly artifactHash: string;
  readonly commit: string;
  readonly codeTree: string;
  readonly constraints: JsonValue;
  /** Models that wrote it, and `person` where one edited it. */
  readonly models: readonly string[];
  readonly scripted: boolean;
  /** The planner's additions to the project's memory, as a concern. Absent: there are none. */
  readonly memory?: Concern;
}

export type Revised =
  | { readonly ok: true; readonly plan: CommittedPlan }
  | { readonly ok: false; readonly message: string };

export type Implemented =
  | {
      readonly kind: 'implemented';
      readonly tree: string;
      readonly summary: string;
      readonly decisions: readonly RunDecision[];
      /** Problems that it met and solved. None: absent. */
      readonly solutions?: readonly Solution[];
      readonly refused: readonly string[];
      readonly cost: Cost;
    }
  | {
      readonly kind: 'question';
      readonly tree: string;
      readonly question: Question;
      readonly refused: readonly string[];
      readonly cost: Cost;
    };

export interface Reviewed {
  readonly verdict: 'pass' | 'fail';
  readonly severity: 'minor' | 'major';
  readonly summary: string;
  readonly feedback: string;
  readonly cost: Cost;
}

export interface Reported {
  readonly path: string;
  readonly hash: string;
  readonly commit: string;
  /** Absent in reports that are older than this field. */
  readonly findings?: readonly ConstraintFinding[];
  /** Concerns about the result, accepted or not. Absent in reports that are older than this field. */
  readonly concerns?: readonly Concern[];
  /** Concerns that nobody has accepted. */
  readonly openConcerns?: readonly Concern[];
}

/** Where in the validation a result failed. */
export type Failure = {
  readonly from: 'checks' | 'base_tests' | 'review' | 'constraints';
  readonly severity: 'minor' | 'major';
  readonly summary: string;
  readonly feedback: string;
  /** The checks failed in the same way before the run: there is nothing for an agent to mend. */
  readonly failsAsBefore?: true;
};

export interface BuildContext extends ClarifyingContext, PausableContext, FollowingContext {
  readonly config: BuildConfig;
  readonly requestedConfig: RunConfigRequest;
  readonly excludePaths: readonly string[];
  readonly setup: ProjectCommand | null;
  readonly setupDone: boolean;
  /** `null` before it is known. An empty command says that the project has none. */
  readonly test: ProjectCommand | null;
  readonly autoRetry: boolean;
  /** Ended calls by role. */
  readonly calls: {
    readonly planner: number;
    readonly implementer: number;
    readonly validator: number;
    readonly 'plan-reply': number;
  };
  readonly question: { readonly asked: Question; readonly from: 'planning' | 'implementation' | 'validation' } | null;
  readonly personAsks: string | null;
  readonly draft: PlanDraft | null;
  readonly parserRetried: boolean;
  readonly parserMessage: string | null;
  /** A plan that a person edited at a gate, before it is committed. */
  readonly edited: string | null;
  readonly plan: CommittedPlan | null;
  readonly planVersion: number;
  readonly codeVersion: number;
  readonly reportVersion: number;
  readonly implemented: Extract<Implemented, { kind: 'implemented' }> | null;
  /** Files of another run that are being taken; absent where none are. */
  readonly taking?: FilesTaken | undefined;
  /** A tree that an agent left when it asked or was interrupted, before it is committed as a checkpoint. */
  readonly unsaved: string | null;
  readonly evidence: readonly Checked[];
  /** Latest notice about new dependencies; absent if there was none. */
  readonly dependencyNotice?: string;
  /** Latest notice about changed tests; absent if there was none. */
  readonly testsNotice?: string;
  readonly review: Reviewed | null;
  readonly failure: Failure | null;
  readonly report: Reported | null;
  readonly fixAttempts: number;
  /** A person accepted this code tree although its validation failed. */
  readonly accepted: {
    readonly by: string;
    readonly reason: string;
    readonly codeTree: string;
    readonly failures: readonly string[];
  } | null;
  readonly decisions: readonly RunDecision[];
  readonly techStack: readonly string[];
  readonly patterns: readonly string[];
  /** Problems that the implementer met and solved, as it reported them. None: absent. */
  readonly solutions?: readonly Solution[];
  /** State of the baseline; `none` if the project has no check command. */
  readonly baseline: 'none' | 'running' | 'known';
  /** Of the latest report. */
  readonly concerns: readonly Concern[];
  /** Those that nobody has accepted. */
  readonly openConcerns: readonly Concern[];
  /** No file of the project differs from the base. */
  readonly isEmpty?: boolean;
  /** Number of times that the implementer was sent back because it had changed nothing. */
  readonly emptyResults: number;
  /** Files with conflict markers, which the implementer resolves; absent where there are none. */
  readonly conflicts?: readonly string[] | undefined;
}

/** Input of each call of an agent. */
export type AgentInput = RunHeader & {
  readonly config: BuildConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
};
/** Input of a validation report. */
export type ReportInput = RunHeader & {
  readonly head: string;
  readonly plan: CommittedPlan | null;
  readonly evidence: readonly Checked[];
  readonly review: Reviewed | null;
  readonly failure: Failure | null;
  readonly codeTree: string;
};

export type BuildActivities = {
  prepare: { input: PrepareInput; output: Prepared<BuildConfig> };
  plan: { input: AgentInput; output: Planned };
  commitPlan: {
    input: RunHeader & { head: string; draft: PlanDraft; existing: CommittedPlan | null };
    output: CommittedPlan;
  };
  revisePlan: {
    input: RunHeader & {
      head: string;
      text: string;
      existing: CommittedPlan | null;
      title: string;
      models: readonly string[];
      scripted: boolean;
    };
    output: Revised;
  };
  replyToPerson: {
    input: AgentInput & { plan: CommittedPlan | null; question: string };
    output: { reply: string; cost: Cost };
  };
  pushBranch: { input: PushInput; output: Published };
  takeIn: { input: TakeInInput; output: TakenIn };
  setUp: {
    input: RunHeader & { head: string; setup: ProjectCommand; excludePaths: readonly string[] };
    output: { ran: boolean };
  };
  implement: {
    input: AgentInput & { plan: CommittedPlan; setup: ProjectCommand | null; test: ProjectCommand | null };
    output: Implemented;
  };
  commitCode: {
    input: CommitCodeInput;
    output: CommittedCode;
  };
  takeFiles: {
    input: RunHeader & { head: string; baseCommit: string; take: FilesTaken };
    output: CommittedCode;
  };
  checkpoint: {
    input: RunHeader & { head: string; baseCommit: string; stage: string; excludePaths: readonly string[] };
    output: Checkpoint;
  };
  /** `null`: nothing can be said. It never fails the run. */
  baseline: { input: BaselineInput; output: Baseline | null };
  check: { input: CheckInput; output: Checked };
  review: { input: AgentInput & { plan: CommittedPlan; evidence: readonly Checked[] }; output: Reviewed };
  report: { input: ReportInput & { readonly memory: MemoryAddition; readonly version: number }; output: Reported };
  integrate: { input: IntegrateInput; output: Integrated };
  copyRecord: {
    input: ReportInput & {
      accepted: boolean;
      title: string;
      decisions: BuildContext['decisions'];
      techStack: readonly string[];
      patterns: readonly string[];
      /** None: absent. */
      solutions?: readonly Solution[];
    };
    output: Recorded;
  };
  merge: { input: MergeInput; output: Merged };
  followPullRequest: { input: FollowInput; output: Followed };
  mergePullRequest: { input: MergePullRequestInput; output: MergedPullRequest };
  closePullRequest: { input: ClosePullRequestInput; output: ClosedPullRequest };
  answerReviewers: { input: AnswerInput; output: { readonly answered: number } };
};

export type { ClosedPullRequest, Followed, MergedPullRequest };
export type { ActivityError, Checkpoint, CommittedCode, Integrated, Merged, Published, Recorded, TakenIn };
