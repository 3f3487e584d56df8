/**
 * Messages to the writer and its replies: plain data, because the writer may run in a worker thread. JSON is already
 * text and times are milliseconds, so that the writer neither parses nor checks data that it only stores.
 */
import type { FileIdentity } from '../file-identity.ts';

export interface StepWrite {
  readonly kind: 'step';
  readonly runId: string;
  readonly expectedSequence: number;
  /** When the step was taken. */
  readonly at: number;
  /** Four fields an event: type as JSON text, origin (0 or 1), payload as JSON text, own time or 0 where it is the step's. */
  readonly events: readonly (string | number)[];
  /** Events whose payload is not the one that the chain covers; `null` in nearly all steps. */
  readonly withheld: readonly WithheldPayload[] | null;
  /** JSON of the hashes of what it changed in the context; `null` when no machine took it. */
  readonly context: string | null;
  readonly status: string;
  readonly stage: string | null;
  /** JSON. */
  readonly gate: string | null;
  readonly updatedAt: number;
  /** `null` while the run is open. */
  readonly completedAt: number | null;
  /** Constant data of a run; given with the write that may be its first step. `null`: it is not the first. */
  readonly start: RunStart | null;
  readonly startActivities: readonly ActivityRow[];
  readonly endActivities: readonly string[];
  readonly setTimers: readonly TimerRow[];
  readonly clearTimers: readonly string[];
  readonly clarifications: readonly ClarificationRow[];
  readonly request: RequestRow | null;
  /** JSON of the state and of the view after this step. */
  readonly snapshot: { readonly data: string; readonly view: string } | null;
}

export interface WithheldPayload {
  /** Of the event in its step. */
  readonly index: number;
  /** Hexadecimal. */
  readonly payloadHash: string;
  /** As the text of the step says it: 1 erased, 2 redacted. */
  readonly mark: 1 | 2;
}

export interface RunStart {
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: string;
  readonly explorationId: string | null;
  readonly treeId: string | null;
  readonly parentId: string | null;
  readonly createdAt: number;
}

export interface ActivityRow {
  /** Attempts that are booked with it: 1, or 0 where it cannot begin yet. */
  readonly attempt: number;
  readonly key: string;
  readonly activity: string;
  readonly src: string;
  /** JSON. */
  readonly input: string;
  readonly startedAt: number;
}

export interface TimerRow {
  readonly key: string;
  readonly event: string;
  readonly dueAt: number;
  /** Among those of its step. One that is set already keeps its own. */
  readonly place: number;
}

export interface RequestRow {
  readonly key: string;
  readonly hash: string;
  readonly gate: string | null;
  /** Older ones are forgotten. */
  readonly forgetBefore: number;
}

export interface ClarificationRow {
  readonly id: string;
  readonly stage: string;
  readonly question: string;
  readonly context: string;
  /** JSON. */
  readonly options: string | null;
  readonly responseType: string;
  readonly status: string;
  readonly response: string | null;
  readonly answeredBy: string | null;
  readonly answeredAt: number | null;
  readonly attemptNumber: number;
  readonly createdAt: number;
}

export type Write =
  | StepWrite
  /** Steps of one run that follow each other: all of them are stored, or none. */
  | { readonly kind: 'steps'; readonly steps: readonly StepWrite[] }
  | {
      readonly kind: 'attempt';
      readonly key: string;
      readonly attempt: number;
      readonly failures: number;
      readonly notBefore: number | null;
    }
  | { readonly kind: 'heartbeat'; readonly key: string; readonly attempt: number; readonly details: string }
  | {
      readonly kind: 'project';
      readonly id: string;
      readonly name: string;
      readonly repository: string;
      readonly baseBranch: string;
      readonly createdAt: number;
    }
  | { readonly kind: 'project-removal'; readonly id: string }
  | {
      readonly kind: 'answer';
      readonly key: string;
      readonly requestHash: string;
      readonly status: number;
      readonly body: string;
      readonly createdAt: number;
      /** Older answers are forgotten. */
      readonly forgetBefore: number;
    }
  | {
      readonly kind: 'session';
      readonly hash: string;
      readonly userId: string;
      readonly expiresAt: number;
      /** Sessions that expired by then are removed. */
      readonly now: number;
      /** So many of the user's stay: those that expire last. */
      readonly keep: number;
    }
  /** Passed over where it was ended meanwhile. */
  | { readonly kind: 'session-renewal'; readonly hash: string; readonly expiresAt: number; readonly now: number }
  | {
      readonly kind: 'session-end';
      readonly userId: string;
      /** `null` for all of the user's. */
      readonly hash: string | null;
    }
  | { readonly kind: 'mark'; readonly name: string; readonly value: string }
  /** A view that a reader folded; ignored when the run has newer events. */
  | { readonly kind: 'view'; readonly run: number; readonly sequence: number; readonly view: string }
  /** Figures of a run as a reader folded them; ignored when newer ones are stored. */
  | {
      readonly kind: 'summary';
      readonly run: number;
      readonly version: number;
      readonly sequence: number;
      /** JSON. */
      readonly summary: string;
    }
  /** Packs a run that ended; passed over when it has moved on. */
  | {
      readonly kind: 'archive';
      readonly run: number;
      readonly sequence: number;
      readonly view: string;
    }
  | { readonly kind: 'erase'; readonly runId: string; readonly sequence: number };

/** For a step the position of its last event; otherwise how many rows were changed, where that matters. */
export type WriteResult = number;

/** Why a write was not carried out, without the classes of errors, which do not cross threads. */
export type WriteFailure =
  | { readonly kind: 'conflict'; readonly message: string; readonly extra: Readonly<Record<string, string | number>> }
  | { readonly kind: 'sqlite'; readonly code: string; readonly message: string }
  /** `isLost`: the file is not the one that was opened any more. */
  | { readonly kind: 'stopped'; readonly message: string; readonly isLost: boolean }
  | { readonly kind: 'bug'; readonly message: string; readonly stack: string };

/** Faults to inject, for tests and benches; the same in either kind of writer. */
export interface WriterFaults {
  /** Added to every commit: a slow disk. */
  readonly syncDelayMs?: number;
  /** Commits that fail, by their number from 1 among those tried, with the error of SQLite: a full or a broken disk. */
  readonly failingCommits?: Readonly<Record<number, 'SQLITE_FULL' | 'SQLITE_IOERR_FSYNC'>>;
}

export interface WriterStatistics {
  /** Transactions committed. */
  readonly commits: number;
  /** How long the disk took for the newest of them. */
  readonly lastCommitMs: number;
  /** True when the write-ahead log still contains erased data: this writer must empty it with its next write. */
  readonly holdsErased: boolean;
  /** Injected so far. */
  readonly delayedSyncs: number;
  readonly failedCommits: number;
}

export interface WriterOptions {
  /** Required epoch of the database. A different one means that another server has taken over. */
  readonly epoch: number;
  /** Inode of the database's file; absent for one in memory. */
  readonly identity?: FileIdentity | undefined;
  readonly faults?: WriterFaults | undefined;
  /** Counts the commits that were tried, one number, over all writers to which these faults are given. */
  readonly triedCommits?: Int32Array | undefined;
}

/** Message of the main thread to the writer's thread. */
export type WriterRequest = { readonly kind: 'write'; readonly writes: readonly Write[] } | { readonly kind: 'close' };

/** Message of the writer's thread: the outcomes of one commit, in the order of the writes. */
export type WriterReply =
  | {
      readonly kind: 'written';
      readonly outcomes: readonly (WriteResult | WriteFailure)[];
      readonly statistics: WriterStatistics;
    }
  | { readonly kind: 'closed' };
