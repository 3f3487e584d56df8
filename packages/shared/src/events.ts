/**
 * The vocabulary of the event log. Stored events are for ever: fields are added as optional, meanings never change.
 * `input` events came from outside and drive the statechart; `emitted` events follow from them and are checked on replay.
 */
import type { Concern } from './concerns.ts';
import type { RunConfig, RunConfigRequest } from './config.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ReviewNote } from './review-notes.ts';
import type {
  Artifact,
  Baseline,
  Decision,
  Evidence,
  ParentOfRun,
  PauseReason,
  Question,
  RaisedConcerns,
  RunDecision,
  RunProgress,
  RunStatus,
  Stage,
} from './run.ts';
import type { BudgetChange, BudgetName } from './budgets.ts';

/** Everything a run starts from; also the payload of RUN_QUEUED when no place was free. */
export interface RunStart {
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: { readonly name: string; readonly version: number; readonly fingerprint: string };
  readonly request: string;
  /** The server's defaults under what the request asked; the project's own defaults come in with RUN_CONFIGURED. */
  readonly config: RunConfig;
  /** What the request itself asked for: it wins over the project's defaults. */
  readonly requestedConfig: RunConfigRequest;
  readonly branch: string;
  readonly explorationId?: string;
  /** The run that starts this one as its child. */
  readonly parent?: ParentOfRun;
  /** The run tree of the parent, whose budgets a child run shares. See `treeOf`. */
  readonly treeId?: string;
  /** What a workflow of one's own starts from, as its input schema gives it. */
  readonly input?: JsonObject;
}

/** What went wrong with an activity, and who can do something about it. */
export interface ActivityError {
  readonly kind: 'retryable' | 'needs_human' | 'terminal' | 'bug';
  readonly reason: PauseReason;
  readonly message: string;
  /** The budget that is used up, for reason `budget`. Absent in older logs. */
  readonly budget?: BudgetName;
  /** Milliseconds until it may work, where the other side named a time. */
  readonly retryAfterMs?: number;
  /** Concerns that a person has to accept before the work can be done. Absent in older logs. */
  readonly raised?: RaisedConcerns;
  /** The thrown error, for `bug`. Absent in older logs. */
  readonly error?: ThrownError;
}

/** An error as JSON; its stack is in the log of the server. */
export interface ThrownError {
  /** Of its class. */
  readonly name: string;
  readonly message: string;
  /** Such as `ECONNRESET`. */
  readonly code?: string | number;
  readonly cause?: ThrownError;
}

/** The facts of a gate that its statechart gives; id and time come from the event that opens it. */
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

/** Files of another run's result that a person wants in this one. */
export interface FilesTaken {
  readonly runId: string;
  /** What that run's result was when they were chosen. */
  readonly commit: string;
  /** Paths that the other run changed; one that it deleted is deleted here too. */
  readonly paths: readonly string[];
  /** True when a scripted model had part in the other run. */
  readonly scripted?: boolean;
  /** What happens with them in place: they are checked, or the implementer goes on from there first. */
  readonly andThen: 'check' | 'implement';
}

/** Whom a request to a model is charged to. */
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
  /** Of the input tokens. */
  readonly cachedInputTokens?: number;
  /** Of the output tokens. */
  readonly reasoningTokens?: number;
  /** US dollars; `null` where the model's price is not known. */
  readonly costUsd: number | null;
}

export interface EventPayloads {
  RUN_QUEUED: { readonly position: number; readonly start?: RunStart };
  RUN_STARTED: RunStart;
  /** A waiting run got its place back; what time passed in the queue is added to its open timers. */
  RUN_ADMITTED: { readonly waitedMs: number };
  /** The configuration after the project's own, and what of it was ignored. */
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
  /** A person asks the planner something at the plan gate; QUESTION_REPLIED brings the answer back to the same gate. */
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
  BASELINE_RECORDED: Baseline;
  VALIDATION_PASSED: { readonly codeTree: string; readonly summary: string };
  VALIDATION_FAILED: {
    readonly codeTree: string;
    readonly severity: 'minor' | 'major';
    readonly summary: string;
    readonly feedback: string;
  };
  /** `by` is `policy` when trust mode or attempts decided. */
  FIX_DECIDED: {
    readonly by: string;
    readonly gateId?: string;
    readonly decision: 'retry' | 'accept';
    readonly reason?: string;
    readonly attempt?: number;
    readonly accepted?: readonly string[];
    readonly take?: FilesTaken;
  };
  DECISION_RECORDED: RunDecision;
  /** How far a run came, in steps that its workflow counts. */
  PROGRESS_CHANGED: RunProgress;
  /** `budget` is absent in older logs, whose message names it. */
  RUN_PAUSED: GateOpening & {
    readonly reason: PauseReason;
    readonly message: string;
    readonly budget?: BudgetName;
  };
  /** `accepts`: digest of the concerns that the gate showed and the person accepts; `notes` says why. */
  RETRY_REQUESTED: {
    readonly by: string;
    readonly gateId?: string;
    readonly notes?: string;
    readonly accepts?: string;
  };
  RUN_RESUMED: { readonly stage: Stage | null };
  STAGE_EXTENDED: { readonly by: string; readonly minutes: number };
  MESSAGE_SENT: { readonly by: string; readonly text: string };
  /** A comment beside a line of the result that a gate shows. It is sent with the next decision that carries words. */
  REVIEW_COMMENT_ADDED: { readonly by: string; readonly gateId: string } & ReviewNote;
  /** `comment` is the sequence of its REVIEW_COMMENT_ADDED, in this event and the next. */
  REVIEW_COMMENT_EDITED: { readonly by: string; readonly comment: number; readonly text: string };
  REVIEW_COMMENT_DELETED: { readonly by: string; readonly comment: number };
  /** What a finished call of an agent came to. */
  COST_RECORDED: {
    readonly role: string;
    readonly model: string;
    readonly scripted: boolean;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly calls: number;
    /** Each request of it was booked by CALL_BOOKED and is counted already. */
    readonly metered?: boolean;
  };
  /** A request is about to go to a model. It counts at what it can come to at most, until CALL_SETTLED says what it did. */
  CALL_BOOKED: CallCharge & CallCost;
  /** What a booked request came to. */
  CALL_SETTLED: CallCharge &
    CallCost & {
      /** What CALL_BOOKED counted, which counts no more. */
      readonly booked: CallCost;
      /** Tool calls of the answer that are carried out. */
      readonly toolCalls: number;
    };
  /** Others than before; `null` takes a budget away. */
  BUDGET_CHANGED: { readonly by: string; readonly gateId?: string } & BudgetChange;
  NOTICE: { readonly message: string };
  /** The base branch had moved: its changes are in the run's branch now, and what is proven is proven anew. */
  BASE_INTEGRATED: {
    readonly baseBranch: string;
    readonly baseCommit: string;
    readonly commit: string;
    readonly codeTree: string;
  };
  CHANGES_PUBLISHED: {
    readonly branch: string;
    readonly commit: string;
    readonly pushed: boolean;
    readonly note?: string;
  };
  RUN_MERGED: { readonly baseBranch: string; readonly commit: string; readonly strategy: string };
  ACTIVITY_COMPLETED: { readonly key: string; readonly activity: string; readonly output: JsonValue };
  ACTIVITY_FAILED: { readonly key: string; readonly activity: string; readonly error: ActivityError };
  TIMER_FIRED: { readonly key: string; readonly event: string };
  RUN_COMPLETED: { readonly summary?: string };
  RUN_FAILED: { readonly message: string };
  RUN_CANCELLED: { readonly by: string; readonly reason?: string };
  /**
   * The run goes on with another version of its workflow: its whole history was replayed identically under it, or its
   * state was converted by that version's own migration.
   */
  RUN_MIGRATED: {
    readonly from: number;
    readonly to: number;
    readonly fingerprint: string;
    readonly by: string;
    readonly how: 'replayed' | 'converted';
  };
  /** The run goes on where another was after its event `at`: what stands before was copied from there. */
  RUN_FORKED: {
    readonly from: string;
    readonly at: number;
    /** The run tree that it belongs to. Absent in older logs. */
    readonly tree?: string;
    readonly by: string;
    readonly branch: string;
    /** Time between that event and now, added to the open timers. */
    readonly waitedMs: number;
    /** The configuration from here on, where it is another one. */
    readonly config?: RunConfig;
    /** What requests asked for so far and this one: it wins over the project's defaults where those are still to be read. */
    readonly requestedConfig?: RunConfigRequest;
    readonly notices?: readonly string[];
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
