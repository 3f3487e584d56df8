/**
 * Run view: status, stage, gate, artifacts and evidence of a run. Clients and server fold the same view from events.
 */
import type { AcceptedConcern, Concern } from './gates/concerns.ts';
import type { RunConfig } from './config.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ReviewNote } from './review/review-notes.ts';
import type { BudgetName, Budgets } from './budgets.ts';

/** Ids of runs, gates, comments and projects, as addresses have them. */
export const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

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

/** Reasons of a pause: the run waits for a person and asks neither for an approval nor for an answer. */
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
  'missing_at_remote',
  'record_differs',
  'repository_replaced',
  'sandbox_unavailable',
  'storage_full',
  'secret_found',
  'review_needed',
  'definition_missing',
  'poisoned',
  'rebuilt',
  'held',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Way on from a pause that a person may choose. A type, not an interface, so that it is a JSON value. */
export type WayOn = {
  /** Name by which the workflow knows it. */
  readonly way: string;
  /** For the person: what happens then. */
  readonly text: string;
  /** Said of the run's result when it completes this way. */
  readonly note?: string;
  /** Commit that is taken in this way, and no other. Absent: none is named. */
  readonly commit?: string;
};

/** All decisions. A gate's `decisions` lists those that it accepts. */
export const DECISIONS = [
  'approve',
  'reject',
  'answer',
  'ignore',
  'ask',
  'retry',
  'accept',
  'extend',
  'close',
] as const;
export type Decision = (typeof DECISIONS)[number];

export const RESPONSE_TYPES = ['text', 'single_choice', 'multiple_choice', 'file_upload'] as const;
export type ResponseType = (typeof RESPONSE_TYPES)[number];

/** A point where a run waits for a person: approval, question, fix decision or pause. */
export interface Gate {
  /** `<run>.<sequence of the event that opened it>`; a gate that opens again has another id. */
  readonly id: string;
  readonly runId: string;
  /** Key of the workflow's `gates`, or of `COMMON_GATES`. */
  readonly kind: string;
  readonly stage: Stage | null;
  readonly openedAt: string;
  readonly decisions: readonly Decision[];
  /** One line for a person with the question of the gate. */
  readonly summary: string;
  /** SHA-256 of the artifact, which an approval must name. Absent: the gate shows no artifact. */
  readonly artifactHash?: string;
  /** Code tree, which an approval must name. Absent: there is no code yet. */
  readonly codeTree?: string;
  /** The question, for kind `clarification`. */
  readonly question?: Question;
  /** Reason of the pause, for kind `pause`. */
  readonly reason?: PauseReason;
  /** The budget that is used up, for reason `budget`. */
  readonly budget?: BudgetName;
  /**
   * The run above this one whose budget is used up: `extend` at this gate raises it there. Absent: the run's own, or that of its
   * run family.
   */
  readonly budgetOf?: string;
  /** Concerns about the result. `approve` or `accept` at this gate accepts them. Absent if there are none. */
  readonly concerns?: readonly Concern[];
  /** SHA-256 of the concerns as shown, which an approval or acceptance must name. Absent: there are none. */
  readonly concernsHash?: string;
  /** Further facts that a panel shows, such as plan path, evidence, earlier answers, and faults that `accept` would accept. */
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
  /** For validation reports: constraints that were looked for in the code. */
  readonly findings?: readonly ConstraintFinding[];
  readonly approvedBy?: string;
  readonly approvedAt?: string;
  readonly approvalNotes?: string;
  /** True when a scripted model made it. */
  readonly scripted?: boolean;
}

/** Result of the search for one constraint in the code, by its name. A type, not an interface, so that it is a JSON value. */
export type ConstraintFinding = {
  readonly kind: 'route' | 'component' | 'entity' | 'branch';
  readonly name: string;
  /** Whether the code that the run changed mentions the name. Neither result is a proof. */
  readonly result: 'mentioned' | 'undecided';
  /** `path` or `path:line` of the mention. */
  readonly where?: string;
};

/** Comment on a line of a result that was not sent to the agent yet. */
export interface ReviewComment extends ReviewNote {
  /** `<run>.<sequence of REVIEW_COMMENT_ADDED>` */
  readonly id: string;
  /** Gate that was open when it was written. If it is not the open gate, that gate was decided without the comment. */
  readonly gateId: string;
  /** Author of the latest version. */
  readonly by: string;
  /** Time of the latest version, ISO 8601. */
  readonly at: string;
}

/** Question of a person to the planner at the plan gate, and the answer. */
export interface PlannerReply {
  readonly question: string;
  readonly reply: string;
  readonly at: string;
}

/** Command that the engine itself ran in a fresh sandbox, with its outcome. */
export interface CommandEvidence {
  readonly command: string;
  /** `null` when the command was killed (time limit, lost sandbox). */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /** End of stdout and stderr together, without secrets, at most 20,000 characters. */
  readonly output: string;
}

/** Package version that the result depends on and its base did not. */
export interface NewDependency {
  readonly name: string;
  /** As in the file; `any` if the file names none. */
  readonly version: string;
  /** The lockfile or manifest that names it. */
  readonly file: string;
  /** Versions that the base had. Absent: the name itself is new. */
  readonly was?: string;
  /** The package runs code when it is installed. Absent: it does not, or the file does not state it. */
  readonly hasInstallScript?: boolean;
  /** Address or description of an unusual source, or of a source or checksum that differs from the base's. Absent: none. */
  readonly source?: string;
  /** Whole days from the publication of this version to the check. Absent: unknown. */
  readonly ageDays?: number;
}

/** Tests that a runner reported. */
export interface TestCount {
  /** Such as `node:test`, `pytest`. */
  readonly runner: string;
  /** Number of tests that ran to an end with any outcome. */
  readonly executed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The runner wrote its own summary at the end. */
  readonly finished: boolean;
  /** Runners, test files and workers that did not end, by kind, such as `node:test file`. Absent: all ended. */
  readonly unfinished?: readonly string[];
  /** Functions of the runner or of its assertions that code under test replaced. Absent: none. */
  readonly replaced?: readonly string[];
  /** Paths of tests and their configuration that were changed during the run, at most 20. Absent: none. */
  readonly rewritten?: readonly string[];
  /**
   * Names of tests that ran on the base commit and did not run here, at most 20. Absent: all ran. For `as_is` it leaves out
   * tests that ran in another file, and tests of files in which as many tests ran.
   */
  readonly notRun?: readonly string[];
  /** Failed tests by file and name, at most 20; evidence of earlier versions has `0` for digits and random words. Absent: none failed. */
  readonly failedNames?: readonly string[];
  /** Those that did not fail on the base commit, at most 20, those that passed there first; empty: all did. Absent: they were not compared. */
  readonly failedAnew?: readonly string[];
  /** How many those are. Absent: fewer than 20, or not known. */
  readonly failedAnewCount?: number;
}

/** Outcome of the project's checks on the base commit, which run once in parallel with planning. */
export interface Baseline {
  readonly commit: string;
  readonly codeTree: string;
  readonly passed: boolean;
  readonly command: CommandEvidence;
  /** Name of the sandbox that ran it. */
  readonly sandbox: string;
  /** Milliseconds that the checkout with its dependencies took before the command. Absent: the checks have no outcome. */
  readonly preparedMs?: number;
  /** Absent: the runner is unknown or wrote no report. */
  readonly tests?: TestCount;
  /** Program that the command needs and the sandbox does not have. Absent: none. */
  readonly missingTool?: string;
  /** True if the evidence is from an earlier run for the same tree. */
  readonly isFromEarlierRun?: boolean;
  /** Reason why there is no outcome, such as a failed install step. `passed` is false then. Absent: there is one. */
  readonly failure?: string;
}

/** Test file that the run changed, added or deleted. A type, so that it is a JSON value. */
export type ChangedTests = {
  readonly path: string;
  /** True if the result does not have the file. */
  readonly isDeleted?: true;
  /** Number of lines of the base commit that were removed. */
  readonly linesRemoved: number;
  /** Number of assertion calls on the base commit; `assertions` is the number in the result. */
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
  /** Name of the sandbox that ran it. `none` occurs only in the bundled demo and is shown. */
  readonly sandbox: string;
  /** For `base_tests`: tests, test configuration and scripts that differ from the base. */
  readonly restored?: readonly string[];
  /** Absent: the runner is unknown or wrote no report. */
  readonly tests?: TestCount;
  /** For `base_tests`: files of the check command that the run changed and that were not put back. */
  readonly doubtful?: readonly string[];
  /** The run for which the server made these checks of the same code tree before. Absent: they were made for this evidence. */
  readonly reusedFrom?: string;
  /** ISO 8601: the run was rebuilt then from a record that has this, and that anybody who can push could have written. Absent: it was not. */
  readonly rebuiltAt?: string;
  /** Baseline of the comparison, for `base_tests` and for a failed `as_is`. Absent: it is unknown. */
  readonly baseline?: Baseline;
  /** True if the check failed in the same way on the base commit. */
  readonly failsAsBefore?: true;
  /** For `as_is`: test files that the run changed, and new ones, at most 200. Absent: none lost a line. */
  readonly changedTests?: readonly ChangedTests[];
  /** For `as_is`. Absent: there are none. */
  readonly newDependencies?: readonly NewDependency[];
  readonly recordedAt: string;
}

/** Concerns that stop an activity, and their digest, which a decision must name. */
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
  /** For `accept`: failures that were accepted, one entry each. */
  readonly accepted?: readonly string[];
  /** ISO 8601: the run was rebuilt then from a record that has this, and that anybody who can push could have written. Absent: it was not. */
  readonly rebuiltAt?: string;
}

export interface StageVisit {
  readonly stage: Stage;
  readonly startedAt: string;
  readonly completedAt?: string;
}

/** Sums over model calls. An absent field is 0, or was not counted when the run was made. */
export interface Spending {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Number of requests to models, including repeated ones and those without an answer. */
  readonly calls: number;
  /** Part of the input tokens that came from the provider's cache. */
  readonly cachedInputTokens?: number;
  /** Part of the output tokens that is reasoning and not shown. */
  readonly reasoningTokens?: number;
  readonly toolCalls?: number;
  /** US dollars by list prices. Calls of models without a known price count as 0. */
  readonly costUsd?: number;
  /** Number of calls of models without a known price. */
  readonly unpricedCalls?: number;
}

export interface SpendingPart extends Spending {
  readonly stage: Stage | null;
  readonly role: string;
  /** `provider:model` */
  readonly model: string;
}

export interface RunCost extends Spending {
  /** Reserved part of the sums: calls that are under way or were lost with a process, at their maximum cost. */
  readonly booked?: { readonly calls: number; readonly costUsd: number };
  /** The same sums by stage, role and model, in order of their first call. */
  readonly parts?: readonly SpendingPart[];
}

export interface TreeBudgets {
  readonly maxTreeCostUsd?: number;
  readonly maxTreeTokens?: number;
  readonly maxTreeToolCalls?: number;
}

/** Amounts that count against the budgets of a run family. */
export interface TreeShare {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly toolCalls: number;
  /** US dollars. */
  readonly costUsd: number;
}

/** Run family: runs that share budgets. A run with all its forks and theirs, or the runs of an exploration with theirs. */
export interface RunFamily extends TreeShare {
  readonly id: string;
  /** Number of its runs. */
  readonly runs: number;
  /** Current budgets of the family, from the latest change made through any of its runs. */
  readonly budgets: TreeBudgets;
}

/** Spending of a run together with all child runs below it, and the budgets that limit it. */
export interface BoundedSpending extends TreeShare {
  readonly runId: string;
  /** Number of child runs below it, of all generations. */
  readonly childRuns: number;
  readonly budgets: Budgets;
}

/** The run that started another one as its child, and the activity by which it did. */
export interface ParentOfRun {
  readonly runId: string;
  /** Key of the activity: `<parent>/<sequence>/<id>`. */
  readonly key: string;
  /** Number of runs above: 1 for a child of a run that is not a child run. At most 5. */
  readonly depth: number;
}

/** Number of a child run among the attempts of its parent at one piece of work. A type, so that it is a JSON value. */
export type AttemptOfRun = {
  /** From 1. */
  readonly number: number;
  /** Attempts that the parent makes at most. Absent: that depends on how they end. */
  readonly of?: number;
};

/** Engine-owned files of a run: the server alone writes them, no agent changes them, and the code tree does not contain them. */
export interface OwnedFiles {
  /** Repository paths and patterns that the run's workflow declares. Empty: it owns only what the runs above it own. */
  readonly paths: readonly string[];
  /** Those of the runs above it. Absent: none. */
  readonly inherited?: readonly string[];
  /** Branch that gets their commits: the base branch, or that of the run. */
  readonly to: 'base' | 'branch';
  /** Why they are not committed to the base. Absent: they are, or all of them are the result. */
  readonly why?: string;
  /** Those of `paths` that are the result of the run, wholly or in part: they go to its branch and are published with it. Absent: none. */
  readonly results?: readonly string[];
  /** The base branch refused a push of this run, or of an earlier run of the project. Absent: neither is known. */
  readonly refused?: true;
  /** The latest commit of them by this run. Absent: none yet. */
  readonly commit?: string;
}

/**
 * The only files of a repository that agents of a run may change: those that `changes` or `newFiles` matches and `forbidden` does not. They may be changed, removed or
 * made. A pattern is a path from the root; `*` stands for any characters of one name, and one name may be `**`, any number of folders.
 */
export interface AllowedFiles {
  readonly changes: readonly string[];
  /** Those that are expected to be new. Agents are told so. */
  readonly newFiles: readonly string[];
  /** Absent: none. */
  readonly forbidden?: readonly string[];
}

/** How far a run came, in steps that its workflow counts. */
export interface RunProgress {
  readonly done: number;
  readonly total: number;
}

/**
 * Where a run can be found when the data folder of the server is lost. `remote`: in the record on the remote of its project.
 * `pending`: nowhere yet, its record is being written or waits for the remote. `server`: nowhere, its record stays on the
 * server, or it belongs to no project and has none.
 */
export const RECORD_PLACES = ['remote', 'pending', 'server'] as const;
export type RecordPlace = (typeof RECORD_PLACES)[number];

/** Read model of a run: a fold of its events, the same on the server and in every client. */
export interface RunView {
  readonly id: string;
  /** Empty if the workflow needs no project. */
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: { readonly name: string; readonly version: number };
  readonly explorationId?: string;
  /** Absent for a run that a person or a program started. */
  readonly parent?: ParentOfRun;
  /** For a child run that its parent may start again. Absent: it may not. */
  readonly attempt?: AttemptOfRun;
  /** Absent: neither the run nor a run above it has any. */
  readonly ownedFiles?: OwnedFiles;
  /** Agents of the run may change only files that each of these allows. Absent: all files. */
  readonly allowedFiles?: readonly AllowedFiles[];
  /** Absent where the workflow does not say how far a run came. */
  readonly progress?: RunProgress;
  /** Source of a fork, and the sequence of the last event that was copied from it. Absent: not a fork. */
  readonly forkedFrom?: {
    readonly runId: string;
    readonly at: number;
    /** Spending that was copied from that run. It is part of `cost` but was spent only once. */
    readonly spent: TreeShare;
  };
  /** The run tree of a fork or of a child run: that of the run it was forked from, or of its parent. See `treeOf`. */
  readonly treeId?: string;
  /** ISO 8601 time of the last change of the family's budgets through this run. Within the family the latest change wins. */
  readonly treeBudgetsAt?: string;
  readonly originalRequest: string;
  readonly status: RunStatus;
  readonly currentStage: Stage | null;
  /** State value of the machine, in XState's form. */
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
  /** Position in the queue, from 1, while `queued`. */
  readonly queuePosition?: number;
  readonly clarificationCount: number;
  readonly fixAttempts: number;
  readonly gate: Gate | null;
  readonly gates: readonly GateOutcome[];
  readonly clarifications: readonly Clarification[];
  readonly artifacts: readonly Artifact[];
  readonly evidence: readonly Evidence[];
  /** Absent: the checks were not run on the base commit. */
  readonly baseline?: Baseline;
  /** Last event that comes from a record that anybody who can push could have written. Absent: the server made all of them. */
  readonly rebuiltUpTo?: number;
  /** Concerns that people accepted, oldest first; what a record has of them does not count. Absent: none. */
  readonly acceptedConcerns?: readonly AcceptedConcern[];
  /** Concerns that an activity raised. The pause that follows shows them. */
  readonly raisedConcerns?: RaisedConcerns;
  readonly decisions: readonly RunDecision[];
  /** Comments that no decision has sent yet, oldest first. Absent: none. */
  readonly comments?: readonly ReviewComment[];
  /** Oldest first. Absent: no question was asked. */
  readonly replies?: readonly PlannerReply[];
  readonly stages: readonly StageVisit[];
  readonly cost: RunCost;
  /** Ids of scripted models whose output is part of this run. */
  readonly scriptedModels: readonly string[];
  readonly published?: {
    readonly branch: string;
    readonly commit: string;
    readonly pushed: boolean;
    readonly note?: string;
    readonly pullRequest?: { readonly number: number; readonly url: string };
  };
  readonly merged?: { readonly baseBranch: string; readonly commit: string; readonly strategy: string };
  /** Why the run failed, or why an attempt that its parent ended came to nothing. Absent: neither. */
  readonly failure?: string;
  /** Parts of the work that came to nothing though the run completed, one sentence each: it is no success. Absent: none. */
  readonly failures?: readonly string[];
  readonly notices: readonly string[];
  readonly lastSequence: number;
  readonly updatedAt: string;
  /**
   * As the server knows it when it answers a launch, a fork or a request for this run. No event tells it. Absent: everywhere
   * else, and in a run as it was.
   */
  readonly recordPlace?: RecordPlace;
}
