/**
 * Run view: status, stage, gate, artifacts and evidence of a run. Clients and server fold the same view from events.
 */
import type { AcceptedConcern, Concern } from './concerns.ts';
import type { RunConfig } from './config.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ReviewNote } from './review-notes.ts';
import type { BudgetName } from './budgets.ts';

export const RUN_STATUSES = [
  'queued',
  'running',
  'awaiting_children',
  'awaiting_approval',
  'awaiting_clarification',
  'paused',
  'completed',
  'failed',
  'cancelled',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const FINAL_STATUSES: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled']);

/** `planning`, `implementation`, `validation` and `publishing` in the build workflow; others name their own. */
export type Stage = string;

/** Why a run waits for a person although it asks neither for an approval nor for an answer. */
export const PAUSE_REASONS = [
  'timeout',
  'agent_failed',
  'setup_failed',
  'stalled',
  'model_unavailable',
  'rate_limited',
  'budget',
  'merge_conflict',
  'auth_expired',
  'push_rejected',
  'remote_unavailable',
  'sandbox_unavailable',
  'storage_full',
  'secret_found',
  'review_needed',
  'definition_missing',
  'poisoned',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Every way of deciding a gate. Which of them a gate takes is in its `decisions`. */
export const DECISIONS = ['approve', 'reject', 'answer', 'ignore', 'ask', 'retry', 'accept', 'extend'] as const;
export type Decision = (typeof DECISIONS)[number];

export const RESPONSE_TYPES = ['text', 'single_choice', 'multiple_choice', 'file_upload'] as const;
export type ResponseType = (typeof RESPONSE_TYPES)[number];

/** A point where a run waits for a person: approval, question, fix decision or pause. */
export interface Gate {
  /** `<run>.<sequence of the event that opened it>`; a gate that opens again has another id. */
  readonly id: string;
  readonly runId: string;
  /** `plan`, `invalid_plan`, `implementation`, `fix`, `escalation`, `clarification`, `pause` in the build workflow. */
  readonly kind: string;
  readonly stage: Stage | null;
  readonly openedAt: string;
  readonly decisions: readonly Decision[];
  /** One line for a person: what is asked of them. */
  readonly summary: string;
  /** SHA-256 of the artifact that an approval must name; absent where nothing is approved. */
  readonly artifactHash?: string;
  /** Git tree that an approval must name; absent before there is code. */
  readonly codeTree?: string;
  /** The question, for kind `clarification`. */
  readonly question?: Question;
  /** Why the run pauses, for kind `pause`. */
  readonly reason?: PauseReason;
  /** The budget that is used up, for reason `budget`. Older logs do not name it: see `missingBudgetOf`. */
  readonly budget?: BudgetName;
  /** Concerns about the result. `approve` or `accept` at this gate accepts them. Absent if there are none. */
  readonly concerns?: readonly Concern[];
  /** SHA-256 over the concerns as they are shown, which an approval or acceptance must name; absent where there is none. */
  readonly concernsHash?: string;
  /** Further facts that a panel shows: plan path, evidence, earlier answers, what an override would accept. */
  readonly details: JsonObject;
}

export interface Question {
  readonly question: string;
  readonly context: string;
  readonly options?: readonly string[];
  readonly responseType: ResponseType;
}

export interface Clarification extends Question {
  /** Same as the gate's id. */
  readonly id: string;
  readonly workflowRunId: string;
  readonly stage: Stage;
  readonly status: 'pending' | 'answered' | 'ignored';
  readonly response?: string;
  readonly answeredBy?: string;
  readonly answeredAt?: string;
  readonly attemptNumber: number;
  readonly createdAt: string;
}

/** A type of document that the workflow declares; `code` stands for the run's changes in any workflow. */
export type ArtifactType = string;

export interface Artifact {
  /** `<run>.<sequence of ARTIFACT_CREATED>` */
  readonly id: string;
  readonly workflowRunId: string;
  readonly stage: Stage;
  readonly type: ArtifactType;
  readonly gitPath?: string;
  readonly commitSha?: string;
  /** SHA-256 of the content for documents; the code tree for code. */
  readonly hash: string;
  readonly version: number;
  readonly createdAt: string;
  readonly filesChanged?: readonly string[];
  readonly parsedConstraints?: JsonValue;
  /** For validation reports: what was looked for in the code, and found or not. Absent where an earlier program wrote it. */
  readonly findings?: readonly ConstraintFinding[];
  readonly approvedBy?: string;
  readonly approvedAt?: string;
  readonly approvalNotes?: string;
  /** True when a scripted model made it. */
  readonly scripted?: boolean;
}

/** One constraint of the plan, looked for in the code by its name. A type and no interface, so that it is a JSON value. */
export type ConstraintFinding = {
  readonly kind: 'route' | 'component' | 'entity' | 'branch';
  readonly name: string;
  /** Neither proves anything: the name is mentioned in the code that the run changed, or it was not found there. `satisfied` is the word of older logs for `mentioned`. */
  readonly result: 'mentioned' | 'satisfied' | 'undecided';
  /** `path` or `path:line` where the name is mentioned. */
  readonly where?: string;
};

/** A comment beside a line of a result that was not sent to the agent yet. */
export interface ReviewComment extends ReviewNote {
  /** `<run>.<sequence of REVIEW_COMMENT_ADDED>` */
  readonly id: string;
  /** The gate that was open when it was written. An earlier gate than the open one was decided without the comment. */
  readonly gateId: string;
  /** Author of the latest version. */
  readonly by: string;
  /** Time of the latest version, ISO 8601. */
  readonly at: string;
}

/** Question of a person to the planner at the plan's gate, and the answer. */
export interface PlannerReply {
  readonly question: string;
  readonly reply: string;
  readonly at: string;
}

/** One command that the engine itself ran in a fresh sandbox, and its outcome. */
export interface CommandEvidence {
  readonly command: string;
  /** `null` when the command was killed (time limit, lost sandbox). */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /** Last part of stdout and stderr together, scrubbed, at most 20,000 characters. */
  readonly output: string;
}

/** A package, in a version, that the result depends on and its base did not. */
export interface NewDependency {
  readonly name: string;
  /** As the file has it; `any` where it says none. */
  readonly version: string;
  /** The lockfile or manifest that names it. */
  readonly file: string;
  /** Versions that the base had; absent where the name itself is new. */
  readonly was?: string;
  /** The package wants to run code when it is installed. Absent: it does not, or the file does not tell. */
  readonly hasInstallScript?: boolean;
  /** Address or words; where it comes from a place of its own, or the base had this version from elsewhere or with another checksum. */
  readonly source?: string;
  /** Whole days since this version was published, when it was looked at; absent where that is not known. */
  readonly ageDays?: number;
}

/** Tests that a runner reported. */
export interface TestCount {
  /** Such as `node:test`, `pytest`. */
  readonly runner: string;
  /** Tests that ran to an end, whatever it was. */
  readonly executed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The runner wrote its own summary at the end. */
  readonly finished: boolean;
  /** Runners, test files and workers without an end, by kind, such as `node:test file`; absent where all came to theirs. */
  readonly unfinished?: readonly string[];
  /** Functions of the runner or of its assertions that code under test put others in the place of; absent where none. */
  readonly replaced?: readonly string[];
  /** Tests and their configuration that were changed while they ran, at most 20 paths; absent where none. */
  readonly rewritten?: readonly string[];
  /**
   * Tests that ran on the base commit and did not run here, at most 20 names; absent where all ran. For `as_is` without those
   * that ran in another file, and without those of files in which as many tests ran.
   */
  readonly notRun?: readonly string[];
  /** Tests that failed, by file and name with digits and random words as `0`, at most 20; absent where none failed. */
  readonly failedNames?: readonly string[];
}

/** The project's checks on the base commit, run once beside planning. */
export interface Baseline {
  readonly commit: string;
  readonly codeTree: string;
  readonly passed: boolean;
  readonly command: CommandEvidence;
  /** Name of the sandbox that ran it. */
  readonly sandbox: string;
  /** Absent where the runner is not known or wrote no report. */
  readonly tests?: TestCount;
  /** The program that the command needs and the sandbox does not have. */
  readonly missingTool?: string;
  /** Evidence of an earlier run for the same tree. */
  readonly isFromEarlierRun?: boolean;
  /** Why there is no outcome: the install step failed, no sandbox. `passed` is false then. */
  readonly failure?: string;
}

/** A file with tests that the run changed, added or deleted. A type, so that it is a JSON value. */
export type ChangedTests = {
  readonly path: string;
  /** The result has no such file. */
  readonly isDeleted?: true;
  /** Lines of the base commit that are gone. */
  readonly linesRemoved: number;
  /** Calls of assertions on the base commit and in the result. */
  readonly assertionsBefore: number;
  readonly assertions: number;
};

export interface Evidence {
  /** `as_is`: the result itself. `base_tests`: the result with the base commit's tests, test configuration and scripts put back. */
  readonly mode: 'as_is' | 'base_tests';
  readonly codeTree: string;
  readonly commit: string;
  readonly passed: boolean;
  readonly commands: readonly CommandEvidence[];
  /** Name of the sandbox that ran it; `none` is only possible in the bundled demo and is shown as such. */
  readonly sandbox: string;
  /** For `base_tests`: paths that differ from the base among tests, test configuration and scripts. */
  readonly restored?: readonly string[];
  /** Absent where the runner is not known or wrote no report. */
  readonly tests?: TestCount;
  /** For `base_tests`: files that the check command runs or is made of, which the run changed and which are as it left them. */
  readonly doubtful?: readonly string[];
  /** For `base_tests`, and for `as_is` that failed: what it was compared with. Absent in older logs, and where it is not known. */
  readonly baseline?: Baseline;
  /** The check failed on the base commit already and fails in the same way here. Absent where it did not. */
  readonly failsAsBefore?: true;
  /** For `as_is`: files with tests of the base commit that the run changed, and new ones, at most 200. Absent where none lost a line. */
  readonly changedTests?: readonly ChangedTests[];
  /** For `as_is`: absent where nothing is new. */
  readonly newDependencies?: readonly NewDependency[];
  readonly recordedAt: string;
}

/** Concerns that stop an activity, and the digest that a decision about them names. */
export type RaisedConcerns = { readonly hash: string; readonly concerns: readonly Concern[] };

export interface RunDecision {
  readonly topic: string;
  readonly choice: string;
  readonly rationale: string;
}

export interface GateOutcome {
  readonly gateId: string;
  readonly kind: string;
  readonly decision: Decision | 'cancel';
  readonly by: string;
  readonly at: string;
  readonly notes?: string;
  /** For `accept`: what had failed and was accepted anyway, one entry each. */
  readonly accepted?: readonly string[];
}

export interface StageVisit {
  readonly stage: Stage;
  readonly startedAt: string;
  readonly completedAt?: string;
}

/** What calls to models came to. What is absent is none, or was not counted when the run was made. */
export interface Spending {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Requests to models, repeated ones and those without an answer included. */
  readonly calls: number;
  /** Of the input tokens: those that the provider had kept from an earlier call. */
  readonly cachedInputTokens?: number;
  /** Of the output tokens: those of which nothing is shown. */
  readonly reasoningTokens?: number;
  readonly toolCalls?: number;
  /** US dollars, by list prices; calls of models without a known price count as nothing. */
  readonly costUsd?: number;
  /** Calls of models without a known price. */
  readonly unpricedCalls?: number;
}

export interface SpendingPart extends Spending {
  readonly stage: Stage | null;
  readonly role: string;
  /** `provider:model` */
  readonly model: string;
}

export interface RunCost extends Spending {
  /** The share of calls whose answer is not known: under way, or lost with a process. They count at what they can cost at most. */
  readonly booked?: { readonly calls: number; readonly costUsd: number };
  /** The same sums by stage, role and model, in the order in which each was first called. */
  readonly parts?: readonly SpendingPart[];
}

export interface TreeBudgets {
  readonly maxTreeCostUsd?: number;
  readonly maxTreeTokens?: number;
  readonly maxTreeToolCalls?: number;
}

/** What counts against the budgets of a run tree. */
export interface TreeShare {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolCalls: number;
  /** US dollars. */
  readonly costUsd: number;
}

/** Runs that share budgets: a run with all its forks and theirs, or the runs of an exploration with theirs. */
export interface RunFamily extends TreeShare {
  readonly id: string;
  /** How many runs it has. */
  readonly runs: number;
  /** What holds for all of them now, whichever of them it was said at. */
  readonly budgets: TreeBudgets;
}

/** The run that started another one as its child, and the activity by which it did. */
export interface ParentOfRun {
  readonly runId: string;
  /** Key of the activity: `<parent>/<sequence>/<id>`. */
  readonly key: string;
  /** Number of runs above: 1 for a child of a run that nobody started as a child. At most 5. */
  readonly depth: number;
}

/** How far a run came, in steps that its workflow counts. */
export interface RunProgress {
  readonly done: number;
  readonly total: number;
}

/** The read model of a run: a fold of its events, the same on the server and in every client. */
export interface RunView {
  readonly id: string;
  /** Empty for a run of a workflow that needs no project. */
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: { readonly name: string; readonly version: number };
  readonly explorationId?: string;
  /** Absent for a run that a person or a program started. */
  readonly parent?: ParentOfRun;
  /** Absent where the workflow does not say how far a run came. */
  readonly progress?: RunProgress;
  /** The run that this one was forked from, and the last event that it has of it. */
  readonly forkedFrom?: {
    readonly runId: string;
    readonly at: number;
    /** What it has of that run's spending: the sums in `cost` have it too, and it was spent once. Absent in older runs. */
    readonly spent?: TreeShare;
  };
  /** The run tree of a fork or of a child run: that of the run it was forked from, or of its parent. See `treeOf`. */
  readonly treeId?: string;
  /** When the budgets of its tree were last changed at this run, ISO 8601: the newest of all its runs holds for the tree. */
  readonly treeBudgetsAt?: string;
  readonly originalRequest: string;
  readonly status: RunStatus;
  readonly currentStage: Stage | null;
  /** Where the statechart is, as XState writes state values. */
  readonly state: JsonValue;
  readonly config: RunConfig;
  readonly branch: string;
  readonly baseCommit?: string;
  readonly headCommit?: string;
  readonly codeTree?: string;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly pausedAt?: string;
  readonly resumedAt?: string;
  readonly completedAt?: string;
  /** Place in the queue, from 1, while `queued`. */
  readonly queuePosition?: number;
  readonly clarificationCount: number;
  readonly fixAttempts: number;
  readonly gate: Gate | null;
  readonly gates: readonly GateOutcome[];
  readonly clarifications: readonly Clarification[];
  readonly artifacts: readonly Artifact[];
  readonly evidence: readonly Evidence[];
  /** Absent where the checks were not run on the base commit. */
  readonly baseline?: Baseline;
  /** Concerns that people accepted, oldest first; absent where there was none. */
  readonly acceptedConcerns?: readonly AcceptedConcern[];
  /** Concerns with which an activity of the run ended; they stand at the pause that follows. */
  readonly raisedConcerns?: RaisedConcerns;
  readonly decisions: readonly RunDecision[];
  /** Comments that no decision has sent yet, oldest first; absent where there are none. */
  readonly comments?: readonly ReviewComment[];
  /** Oldest first; absent where nothing was asked. */
  readonly replies?: readonly PlannerReply[];
  readonly stages: readonly StageVisit[];
  readonly cost: RunCost;
  /** Model ids whose output is part of this run and that only play a script. */
  readonly scriptedModels: readonly string[];
  readonly published?: {
    readonly branch: string;
    readonly commit: string;
    readonly pushed: boolean;
    readonly note?: string;
  };
  readonly merged?: { readonly baseBranch: string; readonly commit: string; readonly strategy: string };
  readonly failure?: string;
  readonly notices: readonly string[];
  readonly lastSequence: number;
  readonly updatedAt: string;
}
