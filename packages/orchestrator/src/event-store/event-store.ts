/**
 * Port to storage: an append-only log of all runs' events with the read model, activities, timers and snapshots that follow
 * from it. The interface is asynchronous and uses positions and epochs, never files.
 */
import type {
  EventOrigin,
  Gate,
  JsonObject,
  JsonValue,
  Page,
  Project,
  RequestKey,
  RunFilter,
  RunStatus,
  RunView,
  WorkflowEvent,
  Clarification,
} from '@autonomous/shared';
import type { ChainedStep } from '../documents/event-log.ts';
import type { ContextHashes } from '../core/context-hash.ts';
import type { RunSummary } from './run-summary.ts';

export interface NewEvent {
  readonly type: string;
  readonly origin: EventOrigin;
  readonly payload: JsonObject;
  /** The payload as `JSON.stringify` writes it. This text is stored, hashed and measured. */
  readonly json: string;
  /** ISO 8601. */
  readonly timestamp: string;
  /**
   * Hash of the payload as it was stored first, for an event that comes from a record without its secrets or was erased: it is
   * what the chain covers. Absent: the payload is whole.
   */
  readonly withheld?: { readonly why: 'redacted' | 'erased'; readonly payloadHash: string };
}

export interface StoredActivity {
  readonly key: string;
  readonly runId: string;
  /** XState id. */
  readonly activity: string;
  /** Name of the implementation. */
  readonly src: string;
  readonly input: JsonValue;
  readonly startedAt: string;
  /** Number of the newest attempt, from 1. It has started or is about to. */
  readonly attempt: number;
  /** Number of failed attempts. Attempts that a crash cut off do not count. */
  readonly failures: number;
  /** Earliest time of the attempt, ISO 8601; `null`: at once. */
  readonly notBefore: string | null;
  /** Details of the last heartbeat, for the next attempt; `null` if there were none. */
  readonly heartbeat: JsonValue;
  /** Epoch of the server that stored the attempt. A newer epoch of the store means that another server replaced it. */
  readonly epoch: number;
}

/** Activity that a step starts. Its first attempt is stored with it. */
export interface NewActivity extends Omit<
  StoredActivity,
  'attempt' | 'failures' | 'notBefore' | 'heartbeat' | 'epoch'
> {
  /** It cannot start yet, so no attempt is stored. Absent: the first attempt is stored. */
  readonly waits?: boolean;
}

export interface StoredTimer {
  readonly key: string;
  readonly runId: string;
  /** Delayed event that is sent to the machine. */
  readonly event: string;
  readonly dueAt: string;
}

export interface StoredSnapshot {
  readonly sequence: number;
  readonly data: JsonValue;
}

/** Attempt that is about to start, or the wait before the next one. */
export type AttemptBooking = Pick<StoredActivity, 'attempt' | 'failures' | 'notBefore'>;

/** All stored data of a run that the engine needs to continue it, from one consistent read. */
export interface StoredRun {
  readonly view: RunView;
  readonly snapshot: StoredSnapshot | null;
  /** Events after the snapshot; all events if there is none. */
  readonly events: readonly WorkflowEvent[];
  readonly activities: readonly StoredActivity[];
  readonly timers: readonly StoredTimer[];
  /** By sequence of a step's last event: hashes of what it changed in the context. Steps that no machine took have none. */
  readonly contexts: ReadonlyMap<number, ContextHashes>;
}

/** Columns of a run that are read without its history. */
export interface RunHead {
  readonly id: string;
  readonly projectId: string;
  readonly userId: string;
  readonly status: RunStatus;
  readonly updatedAt: string;
}

/** Request with an idempotency key that causes a step. */
export interface StepRequest extends RequestKey {
  /** Id of the gate that it decides; `null` if it decides none. */
  readonly gate: string | null;
}

/** Step that a request caused. */
export interface RequestedStep {
  readonly requestHash: string;
  readonly runId: string;
  /** Of the step's last event. */
  readonly sequence: number;
  readonly gate: string | null;
}

/** Session of a signed-in browser. Only a hash of its secret is stored. */
export interface StoredSession {
  readonly hash: string;
  readonly userId: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** Selects the runs of a metrics period. */
export interface SummaryFilter {
  readonly projectId?: string | undefined;
  /** Name of a workflow. Absent: runs of all workflows. */
  readonly workflow?: string | undefined;
  /** Excludes runs that ended before this time. ISO 8601. */
  readonly endedSince: string;
  /** Excludes ended runs that were created at or after this time. ISO 8601. */
  readonly madeBefore: string;
}

/** Summary of a run for metrics. */
export interface SummarizedRun {
  readonly id: string;
  /** Name of its workflow. */
  readonly workflow: string;
  readonly status: RunStatus;
  readonly createdAt: string;
  /** ISO 8601; `null` while the run is open. */
  readonly completedAt: string | null;
  /** True if it was cancelled as a variant of an exploration while another variant was not. */
  readonly isSuperseded: boolean;
  /** Of a child run: the run that started it. `null` for any other run. */
  readonly parentId: string | null;
  /** True if the filter excludes it, and it stands below a run that the filter has. */
  readonly isBelow: boolean;
  readonly summary: RunSummary;
}

/** Last event of a run in the hash chain. */
export interface RunTip {
  readonly sequence: number;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

/** Damage of a run: its stored events differ from those that were written. */
export interface IntegrityFault {
  readonly runId: string;
  /** Sequence of the first event that is wrong or missing. */
  readonly sequence: number;
  readonly message: string;
  /** The message says what to do. Default: a newer copy of the data folder helps. */
  readonly namesWay?: true;
}

/** All writes of one step of a run, in one transaction. */
export interface RunCommit {
  readonly runId: string;
  /** Sequence of the run's last event before these; 0 for a new run. */
  readonly expectedSequence: number;
  readonly events: readonly NewEvent[];
  readonly startActivities: readonly NewActivity[];
  /** Keys to close. A key that this step also starts is not stored; unknown keys are ignored. */
  readonly endActivities: readonly string[];
  /** Timers to add, and open ones with a new due time. */
  readonly setTimers: readonly StoredTimer[];
  /** Keys of timers to remove. A timer that this step also sets is not stored; unknown keys are ignored. */
  readonly clearTimers: readonly string[];
  /** The run view after these events. Each step stores only its small fields; readers fold the rest. */
  readonly view: RunView;
  /** Clarifications that these events opened or settled. */
  readonly clarifications: readonly Clarification[];
  /** Hashes of what the step changed in the context. Absent: no machine took it. */
  readonly context?: ContextHashes;
  /** The request that caused the step, for {@link EventStore.recallStep}, also after a crash. Absent: it has no key. */
  readonly request?: StepRequest;
  /** The machine's state after these events; the whole view is stored with it. Absent in most steps. */
  readonly snapshot?: JsonValue;
}

export interface EventStore {
  /** Id of the feed. It changes when the database is recreated or restored; clients then start from position 0. */
  readonly feedId: string;
  /** Number of times that servers opened this store. A server with an older epoch was replaced and cannot write. */
  readonly epoch: number;

  /** Returns the reason why writes fail now; `null` if they work. After a full disk it tries a small write. */
  whyNothingIsStored(): Promise<Error | null>;

  /**
   * Stores one step of a run and resolves when it is on disk. Steps of several runs that wait at the same time share one
   * commit. A failed step does not affect other runs; later steps of the same run that are already queued fail too.
   * The caller must not change the step after the call.
   * @returns the stored events, with the given payload objects
   * @throws {Conflict} when the run's last sequence is not `expectedSequence`, or its request has already caused a step
   * @throws {StorageFull} when the disk is full; nothing of the step is stored
   */
  append(commit: RunCommit): Promise<readonly WorkflowEvent[]>;
  /**
   * Stores steps of one run that follow each other, in one transaction: all of them or none. An empty list stores nothing.
   * @throws {Conflict} when the run's last sequence is not the first step's `expectedSequence`
   * @throws {StorageFull} when the disk is full; nothing of the steps is stored
   */
  appendAll(commits: readonly RunCommit[]): Promise<void>;

  /**
   * Reads events of a run after `sequence`, oldest first, at most `limit` (default: all). An event with an erased payload has
   * the type `ERASED` and names its former type.
   * @throws {Unprocessable} when one of them cannot be read
   */
  readRun(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** Reads like {@link readRun}, but returns unreadable events with the type `UNREADABLE`, which folds ignore. */
  readHistory(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /**
   * Reads all steps of a run as the hash chain has them, oldest first; empty if there is no such run.
   * @throws {Unprocessable} when one of them cannot be read
   */
  readSteps(runId: string): Promise<readonly ChainedStep[]>;
  /**
   * Reads events of all runs after `position`, oldest first, at most `limit` (default 500). A shorter list means that the end
   * was reached. Damage of a run does not affect others: unreadable events have the type `UNREADABLE`.
   */
  readAll(after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** Returns the position of the newest event; 0 if there is none. */
  lastPosition(): Promise<number>;

  /** Loads a run in one consistent read. `null` if there is no such run. */
  loadRun(runId: string): Promise<StoredRun | null>;
  /** Loads a run's view: the last one that was stored whole, with newer events folded. `null` if there is no such run. */
  loadView(runId: string): Promise<RunView | null>;
  /** Lists runs, newest first. */
  listRuns(filter: RunFilter): Promise<Page<RunView>>;
  /**
   * Summarises spending and waiting of open runs and of those that ended in a period. Reads only events since the last call;
   * of a damaged run it uses the readable ones.
   */
  summarizeRuns(filter: SummaryFilter): Promise<readonly SummarizedRun[]>;
  /** Loads the head of a run; the cost does not depend on its history. `null` if there is no such run. */
  loadHead(runId: string): Promise<RunHead | null>;
  /** Lists runs that have not ended, oldest first; the cost does not depend on their histories. */
  listOpenRuns(status?: RunStatus): Promise<readonly RunHead[]>;
  /**
   * The child runs of a run, oldest first, whatever their status; without a parent all open child runs. Cheap, whatever their
   * histories.
   */
  listChildren(parentId?: string): Promise<readonly RunHead[]>;
  /** Lists open gates, oldest run first. */
  listGates(): Promise<readonly Gate[]>;
  listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]>;

  /** Lists ids of runs with open activities, oldest activity first. Such a run can still be damaged. */
  runsWithActivities(): Promise<readonly string[]>;
  /** Lists the keys of a run's open activities and timers. */
  openKeys(runId: string): Promise<{ readonly activities: readonly string[]; readonly timers: readonly string[] }>;
  openActivities(runId?: string): Promise<readonly StoredActivity[]>;
  openTimers(runId?: string): Promise<readonly StoredTimer[]>;
  /** Lists timers due at or before `now`, soonest first; timers of the same time in the order in which they were set. */
  dueTimers(now: string): Promise<readonly StoredTimer[]>;
  /** Returns the due time of the soonest timer, or of the soonest after a time; `null` if there is none. */
  nextTimer(after?: string): Promise<string | null>;
  /**
   * Stores an attempt before it starts, or the wait before the next one.
   * @throws {Conflict} when the activity is no longer open
   */
  updateAttempt(key: string, booking: AttemptBooking): Promise<void>;
  /** Stores a heartbeat's details. Ignored if the activity is no longer open or is at another attempt. */
  heartbeat(key: string, attempt: number, details: JsonValue): Promise<void>;

  /** Stores a project. @throws {Conflict} when another project has this repository and name */
  saveProject(project: Project): Promise<void>;
  /** Removes a project that has no runs; one that has some stays. */
  removeProject(id: string): Promise<void>;
  getProject(id: string): Promise<Project | null>;
  findProject(repository: string, name: string): Promise<Project | null>;
  /** Lists projects, newest first. */
  listProjects(cursor: string | undefined, limit: number): Promise<Page<Project>>;

  /** Finds the stored answer for an idempotency key. `requestHash` distinguishes a repetition from another request. */
  recall(key: string): Promise<{ readonly requestHash: string; readonly status: number; readonly body: string } | null>;
  /** Finds the step that a request caused; `null` if there is none. Kept for at least seven days. */
  recallStep(key: string): Promise<RequestedStep | null>;
  /** Stores the answer for an idempotency key, unless it has one. Kept for at least seven days. */
  remember(
    key: string,
    answer: { readonly requestHash: string; readonly status: number; readonly body: string },
    at: string,
  ): Promise<void>;

  /** Finds a session, also an expired one. `null` if there is none or it was ended. */
  findSession(hash: string): Promise<StoredSession | null>;
  /**
   * Stores a session. Also removes expired sessions, and this user's sessions that expire first beyond `atMost`.
   * @param at current time, ISO 8601
   * @param atMost maximum number of the user's sessions, including this one
   */
  beginSession(session: StoredSession, at: string, atMost: number): Promise<void>;
  /** Sets a session's expiry. Ignored if it has expired or was ended. */
  renewSession(session: Pick<StoredSession, 'hash' | 'expiresAt'>, at: string): Promise<void>;
  /**
   * Ends sessions of a user.
   * @param hash the session to end. Absent: all sessions of the user
   * @returns the number of ended sessions
   */
  endSessions(userId: string, hash?: string): Promise<number>;

  /**
   * Returns the hash-chain entry of a run's last event; `null` if there is no such run.
   * @param at sequence of another event; the result is `null` if no step of the run ends with it. Default: the last event
   */
  tipOf(runId: string, at?: number): Promise<RunTip | null>;
  /** Checks the last step of every open run against its tip. Quick; used at the start to find losses of a torn file. */
  verifyTips(): Promise<readonly IntegrityFault[]>;
  /** Checks every stored event of a run, archived ones too. @returns the first fault; `null` when there is none */
  verifyRun(runId: string): Promise<IntegrityFault | null>;
  /**
   * Archives runs that ended before a time, at most `limit` runs. Their events are packed and can still be read by run; the
   * feed no longer contains them.
   * @returns the number of archived runs
   */
  archive(endedBefore: string, limit: number): Promise<number>;
  /** Returns the position up to which `readAll` may lack archived events; 0 if none were archived. */
  archivedPosition(): Promise<number>;
  /** Exports all readable rows of a run, for the diagnosis of damage. */
  exportRun(runId: string): Promise<JsonObject>;

  /** Reads a small named value of the engine, such as the position of the record in git. `null` if it was never set. */
  getMark(name: string): Promise<string | null>;
  setMark(name: string, value: string): Promise<void>;

  /** Finishes pending writes and closes the storage. Later calls throw `Unavailable`. */
  close(): Promise<void>;
}
