/**
 * The port to storage: an append-only log of all runs' events with the read model, activities, timers and snapshots
 * that follow from it. Asynchronous and in terms of positions, leases and epochs, never of files.
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
import type { ContextHashes } from '../core/context-hash.ts';
import type { RunSummary } from './run-summary.ts';

export interface NewEvent {
  readonly type: string;
  readonly origin: EventOrigin;
  readonly payload: JsonObject;
  /** The payload as `JSON.stringify` writes it: what is stored, hashed and measured. */
  readonly json: string;
  /** ISO 8601. */
  readonly timestamp: string;
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
  /** The newest attempt that is booked, from 1: it has begun or is about to. */
  readonly attempt: number;
  /** Attempts that failed; those that a crash cut off do not count. */
  readonly failures: number;
  /** Not to be attempted before; `null` when at once. */
  readonly notBefore: string | null;
  /** What the activity last said of its progress, for its next attempt; `null` when nothing. */
  readonly heartbeat: JsonValue;
  /** Epoch of the server that booked the attempt: another one has replaced it where the store's is newer. */
  readonly epoch: number;
}

/** What an activity is when the step that starts it is stored; its first attempt is booked with it. */
export interface NewActivity extends Omit<
  StoredActivity,
  'attempt' | 'failures' | 'notBefore' | 'heartbeat' | 'epoch'
> {
  /** It cannot begin yet. Absent: its first attempt is booked with it. */
  readonly waits?: boolean;
}

export interface StoredTimer {
  readonly key: string;
  readonly runId: string;
  /** The delayed event that the machine gets. */
  readonly event: string;
  readonly dueAt: string;
}

export interface StoredSnapshot {
  readonly sequence: number;
  readonly data: JsonValue;
}

/** An attempt that is about to begin, or the wait before the next one. */
export type AttemptBooking = Pick<StoredActivity, 'attempt' | 'failures' | 'notBefore'>;

/** Everything that is needed to go on with a run, read at one moment. */
export interface StoredRun {
  readonly view: RunView;
  readonly snapshot: StoredSnapshot | null;
  /** Events after the snapshot, or all. */
  readonly events: readonly WorkflowEvent[];
  readonly activities: readonly StoredActivity[];
  readonly timers: readonly StoredTimer[];
  /** By sequence of a step's last event: hashes of what it changed in the context. Steps that no machine took have none. */
  readonly contexts: ReadonlyMap<number, ContextHashes>;
}

/** What the store knows of a run without reading its history. */
export interface RunHead {
  readonly id: string;
  readonly projectId: string;
  readonly userId: string;
  readonly status: RunStatus;
  readonly updatedAt: string;
}

/** A request with an idempotency key that asked for a step. */
export interface StepRequest extends RequestKey {
  /** Id of the gate that it decides; `null` when it decides none. */
  readonly gate: string | null;
}

/** The step that a request made. */
export interface RequestedStep {
  readonly requestHash: string;
  readonly runId: string;
  /** Of the step's last event. */
  readonly sequence: number;
  readonly gate: string | null;
}

/** A browser that is signed in. What it shows is kept nowhere, only a hash of it. */
export interface StoredSession {
  readonly hash: string;
  readonly userId: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/** What figures of a time are made of. */
export interface SummaryFilter {
  readonly projectId?: string | undefined;
  /** Runs that ended before this time are left out. ISO 8601. */
  readonly endedSince: string;
  /** Runs that ended and were made at or after this time are left out. ISO 8601. */
  readonly madeBefore: string;
}

/** A run as figures see it. */
export interface SummarizedRun {
  readonly id: string;
  readonly status: RunStatus;
  readonly createdAt: string;
  /** `null` while it is open. */
  readonly completedAt: string | null;
  /** It was cancelled as a variant of an exploration of which another variant was not. */
  readonly isSuperseded: boolean;
  readonly summary: RunSummary;
}

/** Last event of a run, as the hash chain has it. */
export interface RunTip {
  readonly sequence: number;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
}

/** A run whose stored events are not what was written. */
export interface IntegrityFault {
  readonly runId: string;
  /** The first event that is wrong or missing. */
  readonly sequence: number;
  readonly message: string;
}

/** Everything that one step of a run writes, in one transaction. */
export interface RunCommit {
  readonly runId: string;
  /** Sequence of the run's last event before these; 0 for a new run. */
  readonly expectedSequence: number;
  readonly events: readonly NewEvent[];
  readonly startActivities: readonly NewActivity[];
  /** Keys that are no longer open; one that this step starts as well does not stay, unknown ones are passed over. */
  readonly endActivities: readonly string[];
  /** New timers, and open ones that move to another time. */
  readonly setTimers: readonly StoredTimer[];
  /** Keys of timers to remove; one that this step sets as well does not stay, unknown ones are passed over. */
  readonly clearTimers: readonly string[];
  /** The read model after these events. Only its small fields are stored at each step; readers fold the rest. */
  readonly view: RunView;
  /** Clarifications that these events opened or settled. */
  readonly clarifications: readonly Clarification[];
  /** Hashes of what the step changed in the context. Absent: no machine took it. */
  readonly context?: ContextHashes;
  /** The request that asked for the step: {@link EventStore.recallStep} finds it, also after a crash. Absent: none has a key. */
  readonly request?: StepRequest;
  /** Now and then: the machine's state after these events. The whole view is stored beside it. */
  readonly snapshot?: JsonValue;
}

export interface EventStore {
  /** Changes when the database is made anew or restored: clients then start afresh. */
  readonly feedId: string;
  /** Counts the servers that opened this store: one that was replaced can write no more. */
  readonly epoch: number;

  /** Why nothing can be stored now; `null` while it can. Where the disk had no room, a small write is tried. */
  whyNothingIsStored(): Promise<Error | null>;

  /**
   * Stores one step of a run. Steps of many runs that wait at the same time share one commit to disk; a step that fails
   * takes no other down, but what was appended to the same run after it fails too. Resolves only after the disk has it.
   * The step is taken as it is at the call: nothing of it may change later.
   * @returns the stored events, whose payloads are those that were given
   * @throws {Conflict} when the run's last sequence is not `expectedSequence`, or its request has made a step already
   * @throws {StorageFull} when the disk is full; nothing of the step is stored
   */
  append(commit: RunCommit): Promise<readonly WorkflowEvent[]>;

  /**
   * Events of a run after `sequence`, oldest first, at most `limit` (default all). One whose payload was erased has the
   * type `ERASED` and tells which it had.
   * @throws {Unprocessable} when one of them cannot be read
   */
  readRun(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** As {@link readRun}; instead of events that cannot be read stand ones of the type `UNREADABLE`, which fold to nothing. */
  readHistory(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /**
   * Events of all runs after `position`, oldest first, at most `limit` (default 500); a shorter list means the end was
   * reached. One run's damage is no other's: what cannot be read is `UNREADABLE`.
   */
  readAll(after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** Position of the newest event; 0 when there is none. */
  lastPosition(): Promise<number>;

  /** One consistent read; events that serve both the view and the state are parsed once. `null` when there is no such run. */
  loadRun(runId: string): Promise<StoredRun | null>;
  /** Folded from the last view that was stored whole and the events after it. */
  loadView(runId: string): Promise<RunView | null>;
  /** Newest first. */
  listRuns(filter: RunFilter): Promise<Page<RunView>>;
  /**
   * Open runs, and those that ended in a time, with what they spent and where they waited. Reads of each run only what
   * came since the last call; of one that cannot be read, what can.
   */
  summarizeRuns(filter: SummaryFilter): Promise<readonly SummarizedRun[]>;
  /** Cheap, whatever its history. `null` when there is no such run. */
  loadHead(runId: string): Promise<RunHead | null>;
  /** Runs that are not final, oldest first: cheap, whatever their histories. */
  listOpenRuns(status?: RunStatus): Promise<readonly RunHead[]>;
  /**
   * The child runs of a run, oldest first, whatever their status; without a parent all open child runs. Cheap, whatever their
   * histories.
   */
  listChildren(parentId?: string): Promise<readonly RunHead[]>;
  /** Gates that wait for a person, oldest run first. */
  listGates(): Promise<readonly Gate[]>;
  listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]>;

  /** Ids of the runs that have open activities, oldest activity first; whether they can be read shows when a run is loaded. */
  runsWithActivities(): Promise<readonly string[]>;
  /** What a run has open, by key alone. */
  openKeys(runId: string): Promise<{ readonly activities: readonly string[]; readonly timers: readonly string[] }>;
  openActivities(runId?: string): Promise<readonly StoredActivity[]>;
  openTimers(runId?: string): Promise<readonly StoredTimer[]>;
  /** Timers due at or before `now`, soonest first; those due at once in the order in which they were armed. */
  dueTimers(now: string): Promise<readonly StoredTimer[]>;
  /** Due time of the soonest timer, or of the soonest that is due after a time; `null` when there is none. */
  nextTimer(after?: string): Promise<string | null>;
  /**
   * Books an attempt before it begins, or the wait before the next one.
   * @throws {Conflict} when the activity is no longer open
   */
  updateAttempt(key: string, booking: AttemptBooking): Promise<void>;
  /** Keeps what an activity says of its progress. One that is no longer open, or is at another attempt, is passed over. */
  heartbeat(key: string, attempt: number, details: JsonValue): Promise<void>;

  /** @throws {Conflict} when another project has this repository and name */
  saveProject(project: Project): Promise<void>;
  getProject(id: string): Promise<Project | null>;
  findProject(repository: string, name: string): Promise<Project | null>;
  /** Newest first. */
  listProjects(cursor: string | undefined, limit: number): Promise<Page<Project>>;

  /** A stored answer for an idempotency key; `requestHash` tells a repetition from a different request under the same key. */
  recall(key: string): Promise<{ readonly requestHash: string; readonly status: number; readonly body: string } | null>;
  /** The step that was stored for a request; `null` when there is none. It is kept for seven days at least. */
  recallStep(key: string): Promise<RequestedStep | null>;
  /** The first answer under a key stays. It is kept for seven days at least. */
  remember(
    key: string,
    answer: { readonly requestHash: string; readonly status: number; readonly body: string },
    at: string,
  ): Promise<void>;

  /** Whether it has expired is for the caller to see. `null` when there is none, or it was ended. */
  findSession(hash: string): Promise<StoredSession | null>;
  /**
   * Removes what has expired as well, and of this user's sessions all but those that expire last.
   * @param at ISO 8601
   * @param atMost how many sessions the user may have with this one
   */
  beginSession(session: StoredSession, at: string, atMost: number): Promise<void>;
  /** Lets it last until another time. One that has expired or was ended meanwhile stays so. */
  renewSession(session: Pick<StoredSession, 'hash' | 'expiresAt'>, at: string): Promise<void>;
  /**
   * @param hash absent: all of the user's
   * @returns how many there were
   */
  endSessions(userId: string, hash?: string): Promise<number>;

  /**
   * The run's last event; `null` when there is no such run.
   * @param at the event of this sequence instead; `null` where no step of the run ends with it
   */
  tipOf(runId: string, at?: number): Promise<RunTip | null>;
  /** Checks the last step of every open run against its tip. For the start: quick, and finds what a torn file lost. */
  verifyTips(): Promise<readonly IntegrityFault[]>;
  /** Checks every stored event of a run, archived ones too. @returns the first fault; `null` when there is none */
  verifyRun(runId: string): Promise<IntegrityFault | null>;
  /**
   * Packs the events of runs that ended before a time, at most `limit` runs: they are read as before, and only the feed
   * has them no more.
   * @returns how many runs were packed
   */
  archive(endedBefore: string, limit: number): Promise<number>;
  /** Position up to which events may be missing in `readAll` since they were archived; 0 when none is. */
  archivedPosition(): Promise<number>;
  /** Everything that can still be read of a run, row by row, for a person who wants to know what is wrong with it. */
  exportRun(runId: string): Promise<JsonObject>;

  /** Small values of the engine by name, such as the position up to which the record in git is written. */
  getMark(name: string): Promise<string | null>;
  setMark(name: string, value: string): Promise<void>;

  /** Stores what is still to be stored, then gives the storage free; later calls are refused with `Unavailable`. */
  close(): Promise<void>;
}
