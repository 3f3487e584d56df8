/**
 * The port to storage: an append-only log of all runs' events with the read model, activities, timers and snapshots
 * that follow from it. Asynchronous and in terms of positions, leases and epochs, never of files.
 */
import type {
  EventOrigin,
  JsonObject,
  JsonValue,
  Page,
  Project,
  RunFilter,
  RunView,
  WorkflowEvent,
  Clarification,
} from '@autonomous/shared';

export interface NewEvent {
  readonly type: string;
  readonly origin: EventOrigin;
  readonly payload: JsonObject;
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
  /** Attempts begun so far. */
  readonly attempt: number;
  /** Not to be attempted before; `null` when at once. */
  readonly notBefore: string | null;
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

/** Everything that one step of a run writes, in one transaction. */
export interface RunCommit {
  readonly runId: string;
  /** Sequence of the run's last event before these; 0 for a new run. */
  readonly expectedSequence: number;
  readonly events: readonly NewEvent[];
  readonly startActivities: readonly Omit<StoredActivity, 'attempt' | 'notBefore'>[];
  /** Keys that are no longer open; one that this step starts as well does not stay, unknown ones are passed over. */
  readonly endActivities: readonly string[];
  /** New timers, and open ones that move to another time. */
  readonly setTimers: readonly StoredTimer[];
  /** Keys of timers to remove; one that this step sets as well does not stay, unknown ones are passed over. */
  readonly clearTimers: readonly string[];
  /** The read model after these events. */
  readonly view: RunView;
  /** Clarifications that these events opened or settled. */
  readonly clarifications: readonly Clarification[];
  readonly snapshot?: StoredSnapshot;
}

export interface EventStore {
  /** Changes when the database is made anew or restored: clients then start afresh. */
  readonly feedId: string;

  /**
   * Stores one step of a run. Steps of many runs that are appended in the same turn share one commit to disk;
   * a step that fails takes no other down. Resolves only after the disk has it.
   * @returns the stored events
   * @throws {Conflict} when the run's last sequence is not `expectedSequence`
   * @throws {StorageFull} when the disk is full; nothing of the step is stored
   */
  append(commit: RunCommit): Promise<readonly WorkflowEvent[]>;

  /** Events of a run after `sequence`, oldest first, at most `limit` (default all). */
  readRun(runId: string, after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** Events of all runs after `position`, oldest first, at most `limit` (default 500); a shorter list means the end was reached. */
  readAll(after: number, limit?: number): Promise<readonly WorkflowEvent[]>;
  /** Position of the newest event; 0 when there is none. */
  lastPosition(): Promise<number>;

  loadSnapshot(runId: string): Promise<StoredSnapshot | null>;
  loadView(runId: string): Promise<RunView | null>;
  /** Newest first. */
  listRuns(filter: RunFilter): Promise<Page<RunView>>;
  /** Runs that are not final, oldest first. */
  listOpenRuns(): Promise<readonly RunView[]>;
  /** Runs that wait for a person. */
  listWaiting(): Promise<readonly RunView[]>;
  listClarifications(status?: Clarification['status']): Promise<readonly Clarification[]>;

  openActivities(runId?: string): Promise<readonly StoredActivity[]>;
  openTimers(runId?: string): Promise<readonly StoredTimer[]>;
  /** Timers due at or before `now`, soonest first. */
  dueTimers(now: string): Promise<readonly StoredTimer[]>;
  /** Due time of the soonest timer; `null` when there is none. */
  nextTimer(): Promise<string | null>;
  /**
   * Books an attempt before it begins, or the wait before the next one.
   * @throws {Conflict} when the activity is no longer open
   */
  updateAttempt(key: string, attempt: number, notBefore: string | null): Promise<void>;

  /** @throws {Conflict} when another project has this repository and name */
  saveProject(project: Project): Promise<void>;
  getProject(id: string): Promise<Project | null>;
  findProject(repository: string, name: string): Promise<Project | null>;
  /** Newest first. */
  listProjects(cursor: string | undefined, limit: number): Promise<Page<Project>>;

  /** A stored answer for an idempotency key; `requestHash` tells a repetition from a different request under the same key. */
  recall(key: string): Promise<{ readonly requestHash: string; readonly status: number; readonly body: string } | null>;
  /** The first answer under a key stays. It is kept for seven days at least. */
  remember(
    key: string,
    answer: { readonly requestHash: string; readonly status: number; readonly body: string },
    at: string,
  ): Promise<void>;

  /** Small values of the engine by name, such as the position up to which the record in git is written. */
  getMark(name: string): Promise<string | null>;
  setMark(name: string, value: string): Promise<void>;

  /** Stores what is still to be stored, then gives the storage free; later calls are refused with `Unavailable`. */
  close(): Promise<void>;
}
