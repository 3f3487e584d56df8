/**
 * Event types of the log. Stored events are kept for ever: new fields are optional, and meanings never change.
 * `input` events come from outside and drive the machine; `emitted` events are computed from them and checked on replay.
 */
import type { Concern } from './gates/concerns.ts';
import type { RunConfig, RunConfigRequest } from './config.ts';
import type { AtWork } from './at-work.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ReviewNote } from './review/review-notes.ts';
import type {
  AllowedFiles,
  Artifact,
  AttemptOfRun,
  Baseline,
  Decision,
  Evidence,
  OwnedFiles,
  ParentOfRun,
  PauseReason,
  Question,
  RaisedConcerns,
  RunDecision,
  RunProgress,
  RunStatus,
  Stage,
  WayOn,
} from './run.ts';
import type { BudgetChange, BudgetName } from './budgets.ts';

/** Start data of a run. Also in the payload of RUN_QUEUED when no run slot was free. */
export interface RunStart {
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: { readonly name: string; readonly version: number; readonly fingerprint: string };
  readonly request: string;
  /** The server's defaults with the request's changes. RUN_CONFIGURED adds the project's own defaults. */
  readonly config: RunConfig;
  /** Configuration of the request, which takes precedence over the project's defaults. */
  readonly requestedConfig: RunConfigRequest;
  readonly branch: string;
  readonly explorationId?: string;
  /** The run that starts this one as its child. */
  readonly parent?: ParentOfRun;
  /** For a child run that its parent may start again. Absent: it may not. */
  readonly attempt?: AttemptOfRun;
  /** The run tree of the parent, whose budgets a child run shares. See `treeOf`. */
  readonly treeId?: string;
  /** Input of the workflow, as parsed by its input schema. Absent: the workflow has none. */
  readonly input?: JsonObject;
  /** Absent: neither the run nor a run above it has any. */
  readonly ownedFiles?: OwnedFiles;
  /**
   * Agents of the run may change only files that each of these allows: what its parent asked for, and what the runs above the parent
   * were given. Absent: all files.
   */
  readonly allowedFiles?: readonly AllowedFiles[];
}

/** Failure of an activity, with the kind of actor that can resolve it. */
export interface ActivityError {
  readonly kind: 'retryable' | 'needs_human' | 'terminal' | 'bug';
  readonly reason: PauseReason;
  readonly message: string;
  /** The budget that is used up, for reason `budget`. */
  readonly budget?: BudgetName;
  /** The run above this one whose budget is used up. Absent: the run's own, or that of its run family. */
  readonly budgetOf?: string;
  /** Milliseconds until a retry may succeed. Absent: the other side named no time. */
  readonly retryAfterMs?: number;
  /** Concerns that a person must accept before the work can be done. Absent: there are none. */
  readonly raised?: RaisedConcerns;
  /** Ways on that a person may choose beside a retry. Absent: there is none. */
  readonly ways?: readonly WayOn[];
  /** The thrown error, for `bug`. */
  readonly error?: ThrownError;
}

/** Thrown error as JSON. Its stack is in the server's log. */
export interface ThrownError {
  /** Name of its class. */
  readonly name: string;
  readonly message: string;
  /** Such as `ECONNRESET`. */
  readonly code?: string | number;
  readonly cause?: ThrownError;
}

/** Facts of a gate that the machine emits. Its id and time come from the event that opens it. */
export interface GateOpening {
  readonly gate: string;
  readonly stage: Stage | null;
  readonly decisions: readonly Decision[];
  readonly summary: string;
  readonly artifactHash?: string;
  readonly codeTree?: string;
  readonly concerns?: readonly Concern[];
  readonly details: JsonObject;
}

/** Files of another run's result that a person takes into this one. */
export interface FilesTaken {
  readonly runId: string;
  /** Commit of that run's result when the files were chosen. */
  readonly commit: string;
  /** Paths that the other run changed; one that it deleted is deleted here too. */
  readonly paths: readonly string[];
  /** True if a scripted model took part in the other run. */
  readonly scripted?: boolean;
  /** Next step with the files in place: run the checks, or call the implementer first. */
  readonly andThen: 'check' | 'implement';
}

/** Stage, role and model to which a model request is charged. */
export interface CallCharge {
  /** `<activation key>#<attempt>.<number>` */
  readonly call: string;
  readonly stage: Stage | null;
  readonly role: string;
  /** `provider:model` */
  readonly model: string;
}

export interface CallCost {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of the input tokens. */
  readonly cachedInputTokens?: number;
  /** Part of the output tokens. */
  readonly reasoningTokens?: number;
  /** US dollars; `null` if the model's price is unknown. */
  readonly costUsd: number | null;
}

export interface EventPayloads {
  RUN_QUEUED: { readonly position: number; readonly start?: RunStart };
  RUN_STARTED: RunStart;
  /** A queued run got a run slot. The time in the queue is added to its open timers. */
  RUN_ADMITTED: { readonly waitedMs: number };
  /** Configuration with the project's own defaults, and notices about ignored parts. */
  RUN_CONFIGURED: { readonly config: RunConfig; readonly baseCommit: string; readonly notices: readonly string[] };
  STAGE_STARTED: { readonly stage: Stage };
  STAGE_COMPLETED: { readonly stage: Stage };
  STATE_CHANGED: {
    readonly status: RunStatus;
    readonly stage: Stage | null;
    readonly state: JsonValue;
    readonly gate: string | null;
  };
  APPROVAL_REQUESTED: GateOpening;
  APPROVAL_GRANTED: {
    readonly by: string;
    readonly gateId?: string;
    readonly artifactHash?: string;
    readonly codeTree?: string;
    readonly notes?: string;
    readonly editedPlan?: string;
  };
  APPROVAL_REJECTED: {
    readonly by: string;
    readonly gateId?: string;
    readonly feedback: string;
    readonly take?: FilesTaken;
  };
  CLARIFICATION_REQUESTED: GateOpening & { readonly question: Question; readonly attemptNumber: number };
  CLARIFICATION_ANSWERED: {
    readonly by: string;
    readonly gateId?: string;
    readonly response: string;
    readonly choices?: readonly string[];
    readonly uploads?: readonly { readonly id: string; readonly name: string }[];
  };
  CLARIFICATION_IGNORED: { readonly by: string; readonly gateId?: string };
  /** A person asks the planner a question at the plan gate. QUESTION_REPLIED has the answer; the same gate opens again. */
  QUESTION_ASKED: { readonly by: string; readonly gateId?: string; readonly question: string };
  QUESTION_REPLIED: { readonly question: string; readonly reply: string };
  ARTIFACT_CREATED: {
    readonly artifact: Omit<
      Artifact,
      'id' | 'workflowRunId' | 'createdAt' | 'approvedBy' | 'approvedAt' | 'approvalNotes'
    >;
  };
  IMPLEMENTATION_SUCCEEDED: {
    readonly commit: string;
    readonly codeTree: string;
    readonly summary: string;
    readonly filesChanged: readonly string[];
  };
  IMPLEMENTATION_FAILED: { readonly message: string; readonly reason: PauseReason };
  EVIDENCE_RECORDED: Omit<Evidence, 'recordedAt'>;
  /** `timeoutMinutes`: limits of stages that follow from its duration. Absent: they stay. */
  BASELINE_RECORDED: Baseline & { readonly timeoutMinutes?: Readonly<Record<string, number>> };
  VALIDATION_PASSED: { readonly codeTree: string; readonly summary: string };
  VALIDATION_FAILED: {
    readonly codeTree: string;
    readonly severity: 'minor' | 'major';
    readonly summary: string;
    readonly feedback: string;
  };
  /** `by` is `policy` if the trust mode or the number of attempts decided. */
  FIX_DECIDED: {
    readonly by: string;
    readonly gateId?: string;
    readonly decision: 'retry' | 'accept' | 'close';
    readonly reason?: string;
    readonly attempt?: number;
    readonly accepted?: readonly string[];
    readonly take?: FilesTaken;
  };
  DECISION_RECORDED: RunDecision;
  /** How far a run came, in steps that its workflow counts. */
  PROGRESS_CHANGED: RunProgress;
  RUN_PAUSED: GateOpening & {
    readonly reason: PauseReason;
    readonly message: string;
    readonly budget?: BudgetName;
    /** The run above this one whose budget is used up. Absent: the run's own, or that of its run family. */
    readonly budgetOf?: string;
    /** The ways on as options. Absent: there is none beside the decisions. */
    readonly question?: Question;
    readonly rebuilt?: true;
  };
  /** `accepts`: digest of the concerns that the gate showed and the person accepts; `notes` says why. */
  RETRY_REQUESTED: {
    readonly by: string;
    readonly gateId?: string;
    readonly notes?: string;
    readonly accepts?: string;
    /** Milliseconds for which a person had paused the run: its timers are moved by them. Absent: the pause was another one. */
    readonly waitedMs?: number;
  };
  RUN_RESUMED: { readonly stage: Stage | null };
  STAGE_EXTENDED: { readonly by: string; readonly minutes: number };
  MESSAGE_SENT: { readonly by: string; readonly text: string };
  /** Comment on a line of the result that a gate shows. The next decision with text sends it. */
  REVIEW_COMMENT_ADDED: { readonly by: string; readonly gateId: string } & ReviewNote;
  /** `comment` is the sequence of its REVIEW_COMMENT_ADDED, in this event and the next. */
  REVIEW_COMMENT_EDITED: { readonly by: string; readonly comment: number; readonly text: string };
  REVIEW_COMMENT_DELETED: { readonly by: string; readonly comment: number };
  /** Usage of a finished agent call. */
  COST_RECORDED: {
    readonly role: string;
    readonly model: string;
    readonly scripted: boolean;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly calls: number;
    /** True if its requests were already counted by CALL_BOOKED and CALL_SETTLED. */
    readonly metered?: boolean;
  };
  /** Reserves the maximum cost of a model request before it is sent. CALL_SETTLED replaces it. */
  CALL_BOOKED: CallCharge & CallCost;
  /** Settles a reserved request at its real cost. */
  CALL_SETTLED: CallCharge &
    CallCost & {
      /** Reservation of CALL_BOOKED, which no longer counts. */
      readonly booked: CallCost;
      /** Number of tool calls of the answer that are performed. */
      readonly toolCalls: number;
    };
  /** New budgets; `null` removes one. */
  BUDGET_CHANGED: { readonly by: string; readonly gateId?: string } & BudgetChange;
  /** `rebuilt`, in this event and others: what the run has so far comes from a record that anybody who can push could have written. */
  NOTICE: { readonly message: string; readonly rebuilt?: true };
  /** The base branch had moved. Its changes were merged into the run's branch, and the checks run again. */
  BASE_INTEGRATED: {
    readonly baseBranch: string;
    readonly baseCommit: string;
    readonly commit: string;
    readonly codeTree: string;
  };
  /** Engine-owned files were committed by the server. `refused`: why the base branch did not take the push. */
  OWNED_FILES_COMMITTED: {
    readonly to: OwnedFiles['to'];
    /** Name of that branch. */
    readonly branch: string;
    readonly commit: string;
    readonly paths: readonly string[];
    /** Why they are not committed to the base. Absent: they are. */
    readonly why?: string;
    readonly refused?: true;
  };
  CHANGES_PUBLISHED: {
    readonly branch: string;
    readonly commit: string;
    readonly pushed: boolean;
    readonly note?: string;
    /** Absent: none was opened. */
    readonly pullRequest?: { readonly number: number; readonly url: string };
  };
  RUN_MERGED: { readonly baseBranch: string; readonly commit: string; readonly strategy: string };
  ACTIVITY_COMPLETED: { readonly key: string; readonly activity: string; readonly output: JsonValue };
  ACTIVITY_FAILED: { readonly key: string; readonly activity: string; readonly error: ActivityError };
  TIMER_FIRED: {
    readonly key: string;
    readonly event: string;
    /** The activities that were under way, longest first. Absent: none was. */
    readonly during?: readonly AtWork[];
  };
  RUN_COMPLETED: {
    readonly summary?: string;
    /** Parts of the work that came to nothing, one sentence each. Absent: none. */
    readonly failures?: readonly string[];
  };
  RUN_FAILED: { readonly message: string };
  /** `cause`: why the run came to nothing, where its parent goes on without it. Absent: it was cancelled for another reason. */
  RUN_CANCELLED: { readonly by: string; readonly reason?: string; readonly cause?: string };
  /**
   * The run moves to another version of its workflow. Either its whole history replays identically under that version, or
   * that version's migration converted its state.
   */
  RUN_MIGRATED: {
    readonly from: number;
    readonly to: number;
    readonly fingerprint: string;
    readonly by: string;
    readonly how: 'replayed' | 'converted';
  };
  /** The run continues from another run's state after its event `at`. All earlier events were copied from there. */
  RUN_FORKED: {
    readonly from: string;
    readonly at: number;
    /** Id of its run family. */
    readonly tree: string;
    readonly by: string;
    readonly branch: string;
    /** Milliseconds between that event and the fork, added to the open timers. */
    readonly waitedMs: number;
    /** Configuration from here on. Absent: unchanged. */
    readonly config?: RunConfig;
    /** Requested configuration so far. It takes precedence over project defaults that are still to be read. */
    readonly requestedConfig?: RunConfigRequest;
    readonly notices?: readonly string[];
    readonly rebuilt?: true;
  };
}

export type WorkflowEventType = keyof EventPayloads;

/** Review comments of people. They do not change the state of the run. */
export type ReviewFact = {
  [Type in 'REVIEW_COMMENT_ADDED' | 'REVIEW_COMMENT_EDITED' | 'REVIEW_COMMENT_DELETED']: {
    readonly type: Type;
    readonly payload: EventPayloads[Type];
  };
}['REVIEW_COMMENT_ADDED' | 'REVIEW_COMMENT_EDITED' | 'REVIEW_COMMENT_DELETED'];
export type EventOrigin = 'input' | 'emitted';

/** Spending that an activity writes to the log of its run while it is open. It does not change the state of the run. */
export type SpendingFact = {
  [Type in 'CALL_BOOKED' | 'CALL_SETTLED']: { readonly type: Type; readonly payload: EventPayloads[Type] };
}['CALL_BOOKED' | 'CALL_SETTLED'];

/** A stored event. `sequence` counts from 1 within its run, `position` over all runs of one database. */
export interface WorkflowEvent<Type extends string = string> {
  readonly id: string;
  readonly position: number;
  readonly workflowRunId: string;
  readonly sequence: number;
  readonly type: Type;
  readonly origin: EventOrigin;
  readonly payload: Type extends WorkflowEventType ? EventPayloads[Type] : JsonObject;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
}

/** Narrows an event to one type of the vocabulary. */
export function isEvent<Type extends WorkflowEventType>(
  event: WorkflowEvent,
  type: Type,
): event is WorkflowEvent<Type> {
  return event.type === type;
}

/** Input of a run's workflow, from the run's first event; `undefined` where it has none. */
export function inputOfRun(first: WorkflowEvent | undefined): JsonObject | undefined {
  if (first === undefined) return undefined;
  if (isEvent(first, 'RUN_STARTED')) return first.payload.input;
  return isEvent(first, 'RUN_QUEUED') ? first.payload.start?.input : undefined;
}
