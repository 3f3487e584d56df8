/**
 * Gathers what is to be written and hands it to the writer: in a thread of its own, in this one, or whichever serves
 * better at the moment. Each write is answered once the disk has it. A writer that stopped refuses everything from then on.
 */
import { Worker } from 'node:worker_threads';
import { Conflict, StorageFull, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { isDiskFailure } from './group-commit.ts';
import type { Connection } from '../sqlite-connection.ts';
import { explainSqliteError } from '../sqlite-errors.ts';
import type { WriterThreadData } from './sqlite-writer-thread.ts';
import { SqliteWriter } from './sqlite-writer.ts';
import type {
  StepWrite,
  Write,
  WriteFailure,
  WriteResult,
  WriterOptions,
  WriterReply,
  WriterRequest,
  WriterStatistics,
} from './writes.ts';

/** Writes per message to the thread. The writes of a long turn are sent in several messages, so that the thread starts early. */
const WRITES_PER_MESSAGE = 16;
/** Bounds how long one commit keeps the event loop, where the writer is in this thread, or waits for a slow disk. */
const WRITES_PER_TURN = 256;

/** Commits that take longer are worth sharing more than the writer is worth keeping busy. */
const SLOW_COMMIT_MS = 10;

/** Limits of a write on the calling thread: writes, characters, slowest recent commit in ms. */
const NEAR_WRITES = 2;
const NEAR_LENGTH = 32_768;
const NEAR_COMMIT_MS = 2;
/** So much of the longest commit counts still at the next one. */
const REMEMBERED_SLOWNESS = 0.9;
/** One commit of so many goes to the thread, since only there the log is written back to the file. */
const COMMITS_TO_CHECKPOINT = 200;

const NO_STATISTICS: WriterStatistics = {
  commits: 0,
  lastCommitMs: 0,
  holdsErased: false,
  delayedSyncs: 0,
  failedCommits: 0,
};

interface Waiting {
  readonly write: Write;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
}

type Written = Extract<WriterReply, { kind: 'written' }>;

/** Takes batches and answers each in its turn, not necessarily one for one. */
interface Writer {
  /** At most so many at once. */
  readonly batchSize: number;
  /** Whether a batch that is full may be sent at once, or has to wait for its turn. */
  readonly isApart: boolean;
  /** Batches that were committed in this thread. */
  readonly commitsHere: number;
  send(writes: readonly Write[]): void;
  /** Something waits for an answer, or nothing does: only then must this process stay alive for it. */
  hold(busy: boolean): void;
  close(): Promise<void>;
}

/** How many writes were stored since the opening, in how many commits to disk, and which faults were injected. */
export interface StoreStatistics extends WriterStatistics {
  readonly writes: number;
  /** Of the commits, those that kept the event loop of this thread waiting. */
  readonly commitsHere: number;
}

/** Told once why nothing can be written any more; not when it was closed. */
type OnStopped = ((reason: Error) => void) | undefined;

export class WriteQueue {
  readonly #file: string;
  readonly #writer: Writer;
  readonly #gathered: Waiting[] = [];
  /** Sent and not answered, oldest first. */
  readonly #sent: Waiting[] = [];
  #isScheduled = false;
  #writes = 0;
  #statistics = NO_STATISTICS;
  /** Set when nothing new is taken any more. */
  #stopped: Error | undefined;
  /** True after a writer failed: all queued writes are refused. */
  #hasFailed = false;
  #isFull = false;
  readonly #onStopped: OnStopped;
  #drained: (() => void) | undefined;

  private constructor(file: string, onStopped: OnStopped, makeWriter: (queue: WriteQueue) => Writer) {
    this.#file = file;
    this.#onStopped = onStopped;
    this.#writer = makeWriter(this);
  }

  static inThread(data: WriterThreadData, onStopped: OnStopped): WriteQueue {
    return new WriteQueue(data.file, onStopped, (queue) => new WriterThread(data, queue.#answerTo()));
  }

  static inline(connection: Connection, options: WriterOptions, onStopped: OnStopped): WriteQueue {
    const writer = (queue: WriteQueue): Writer => new InlineWriter(connection, options, queue.#answerTo());
    return new WriteQueue(connection.name, onStopped, writer);
  }

  /** The thread has the most; a write that comes alone is spared the way there and back while the disk is quick. */
  static nearest(connection: Connection, data: WriterThreadData, onStopped: OnStopped): WriteQueue {
    const writer = (queue: WriteQueue): Writer => new NearestWriter(connection, data, queue.#answerTo());
    return new WriteQueue(data.file, onStopped, writer);
  }

  /**
   * Writes with the next commit.
   * @param give makes the answer of what the writer says, after the commit
   */
  write<Result>(write: Write, give: (result: WriteResult) => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#stopped !== undefined) {
        reject(this.#stopped);
        return;
      }
      if (this.#gathered.length === 0 && this.#sent.length === 0) this.#writer.hold(true);
      this.#gathered.push({ write, resolve: (result) => resolve(give(result)), reject });
      if (this.#writer.isApart && this.#gathered.length >= this.#batchSize) this.#send();
      else this.#schedule();
    });
  }

  /** Why nothing is stored any more; `undefined` while it is. */
  get stopped(): Error | undefined {
    return this.#stopped;
  }

  /** Whether the disk had no room for the newest write. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Takes nothing new, and refuses what is taken. @returns why: the first reason counts */
  refuse(reason: Error): Error {
    this.#hasFailed = true;
    this.#stopped ??= reason;
    return this.#stopped;
  }

  statistics(): StoreStatistics {
    return { ...this.#statistics, writes: this.#writes, commitsHere: this.#writer.commitsHere };
  }

  /** Stores what still waits; later writes are refused. */
  async close(): Promise<void> {
    this.#stopped ??= new Unavailable(`${this.#file} is closed; this server is stopping.`);
    while (this.#gathered.length > 0) this.#send();
    if (this.#sent.length > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    await this.#writer.close();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#gathered.length === 0) return;
    // Another writer than the one that failed must not go on.
    if (this.#hasFailed) {
      for (const waiting of this.#gathered.splice(0)) waiting.reject(this.#stopped);
      this.#rest();
      return;
    }
    const batch = this.#gathered.splice(0, this.#batchSize);
    if (this.#gathered.length > 0) this.#schedule();
    for (const waiting of batch) this.#sent.push(waiting);
    this.#writer.send(batch.map((waiting) => waiting.write));
  }

  /** A slow disk makes every commit dear: then a turn goes to the writer as a whole. */
  get #batchSize(): number {
    return this.#statistics.lastCommitMs > SLOW_COMMIT_MS ? WRITES_PER_TURN : this.#writer.batchSize;
  }

  #answerTo(): WriterListener {
    return { written: (reply) => this.#settle(reply), ended: (reason) => this.#stop(reason) };
  }

  #settle({ outcomes, statistics }: Written): void {
    const answered = this.#sent.splice(0, outcomes.length);
    this.#statistics = statistics;
    for (const [index, outcome] of outcomes.entries()) {
      const waiting = answered[index];
      if (waiting === undefined) continue;
      if (typeof outcome === 'number') {
        this.#isFull = false;
        this.#writes += 1;
        waiting.resolve(outcome);
      } else waiting.reject(this.#explain(outcome));
    }
    this.#rest();
  }

  #explain(failure: WriteFailure): unknown {
    switch (failure.kind) {
      case 'conflict':
        return new Conflict(failure.message, { extra: failure.extra });
      case 'sqlite': {
        const error = new Database.SqliteError(failure.message, failure.code);
        const explained = explainSqliteError(error, this.#file);
        if (isDiskFailure(error) && explained instanceof Error) this.#stopFor(explained);
        this.#isFull ||= explained instanceof StorageFull;
        return explained;
      }
      case 'stopped':
        // A restart would begin with an empty database: refusing and saying why is all that helps.
        if (failure.isLost) return this.refuse(new Unavailable(failure.message));
        return this.#stopFor(new Unavailable(failure.message));
      case 'bug': {
        const error = new Error(failure.message);
        error.stack = failure.stack;
        return explainSqliteError(error, this.#file);
      }
      default:
        return failure satisfies never;
    }
  }

  /** Rejects all writes after the writer ended by itself. Only reopening the file shows which of them were stored. */
  #stop(reason: string): void {
    const stopped = this.#stopFor(
      new Unavailable(`The writer of ${this.#file} ended (${reason}). Restart the server.`),
    );
    const lost = [...this.#sent.splice(0), ...this.#gathered.splice(0)];
    for (const waiting of lost) waiting.reject(stopped);
    this.#rest();
  }

  /** @returns why nothing is written any more: the first reason counts */
  #stopFor(reason: Error): Error {
    this.#hasFailed = true;
    if (this.#stopped !== undefined) return this.#stopped;
    this.#stopped = reason;
    this.#onStopped?.(reason);
    return reason;
  }

  #rest(): void {
    if (this.#sent.length > 0) return;
    if (this.#gathered.length === 0) this.#writer.hold(false);
    this.#drained?.();
  }
}

interface WriterListener {
  written(reply: Written): void;
  ended(reason: string): void;
}

class InlineWriter implements Writer {
  readonly batchSize = WRITES_PER_TURN;
  readonly isApart = false;
  readonly #writer: SqliteWriter;
  readonly #listener: WriterListener;

  constructor(connection: Connection, options: WriterOptions, listener: WriterListener) {
    this.#writer = new SqliteWriter(connection, options);
    this.#listener = listener;
  }

  get commitsHere(): number {
    return this.#writer.statistics().commits;
  }

  send(writes: readonly Write[]): void {
    this.#answer(this.#writer.write(writes));
  }

  /** @returns false when another program is writing: then nothing is stored or answered */
  trySend(writes: readonly Write[]): boolean {
    const outcomes = this.#writer.write(writes);
    if (outcomes.every(isBusy)) return false;
    this.#answer(outcomes);
    return true;
  }

  #answer(outcomes: Written['outcomes']): void {
    this.#listener.written({ kind: 'written', outcomes, statistics: this.#writer.statistics() });
  }

  hold(): void {
    // The turn in which it writes is there already.
  }

  async close(): Promise<void> {
    // The connection is not its own.
  }
}

/** The thread, and this one for what is small, comes alone and finds the disk quick. */
class NearestWriter implements Writer {
  readonly batchSize = WRITES_PER_MESSAGE;
  readonly isApart = true;
  readonly #thread: WriterThread;
  readonly #near: InlineWriter;
  /** Writes that the thread has not answered. */
  #away = 0;
  /** How long the disk takes at worst, as the newest commits show; the first one is not waited for here. */
  #slownessMs = Number.POSITIVE_INFINITY;
  /** Since the thread had something. */
  #sentHere = 0;
  /** The thread has something to do with its next write. */
  #isThreadDue = false;

  constructor(connection: Connection, data: WriterThreadData, listener: WriterListener) {
    // A commit that writes the log back to the file takes long, and so may waiting for another program that writes: both
    // are left to the thread. Readers never wait for writers.
    connection.pragma('wal_autocheckpoint = 0');
    connection.pragma('busy_timeout = 0');
    const statistics = { near: NO_STATISTICS, thread: NO_STATISTICS };
    const answer = (where: keyof typeof statistics, { kind, outcomes, statistics: newest }: Written): void => {
      statistics[where] = newest;
      const { lastCommitMs } = newest;
      const known = Number.isFinite(this.#slownessMs) ? this.#slownessMs * REMEMBERED_SLOWNESS : 0;
      this.#slownessMs = Math.max(lastCommitMs, known);
      if (where === 'thread') this.#isThreadDue = newest.holdsErased;
      listener.written({ kind, outcomes, statistics: { ...sum(statistics.near, statistics.thread), lastCommitMs } });
    };
    this.#near = new InlineWriter(connection, data, {
      written: (reply) => answer('near', reply),
      ended: (reason) => listener.ended(reason),
    });
    this.#thread = new WriterThread(data, {
      written: (reply) => {
        this.#away -= reply.outcomes.length;
        answer('thread', reply);
      },
      ended: (reason) => listener.ended(reason),
    });
  }

  get commitsHere(): number {
    return this.#near.commitsHere;
  }

  send(writes: readonly Write[]): void {
    if (this.#isBestHere(writes) && this.#near.trySend(writes)) {
      this.#sentHere += 1;
      return;
    }
    this.#sentHere = 0;
    this.#away += writes.length;
    this.#thread.send(writes);
  }

  hold(busy: boolean): void {
    this.#thread.hold(busy);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #isBestHere(writes: readonly Write[]): boolean {
    return (
      this.#away === 0 &&
      !this.#isThreadDue &&
      writes.length <= NEAR_WRITES &&
      this.#slownessMs <= NEAR_COMMIT_MS &&
      this.#sentHere < COMMITS_TO_CHECKPOINT &&
      writes.every(isSmall)
    );
  }
}

function isBusy(outcome: WriteResult | WriteFailure): boolean {
  return typeof outcome === 'object' && outcome.kind === 'sqlite' && outcome.code.startsWith('SQLITE_BUSY');
}

function isSmall(write: Write): boolean {
  switch (write.kind) {
    case 'step':
      return write.snapshot === null && lengthOf(write) <= NEAR_LENGTH;
    case 'steps':
    case 'view':
    case 'summary':
    case 'archive':
    case 'erase':
      return false;
    case 'attempt':
    case 'heartbeat':
    case 'project':
    case 'project-removal':
    case 'answer':
    case 'session':
    case 'session-renewal':
    case 'session-end':
    case 'mark':
      return true;
    default:
      return write satisfies never;
  }
}

function lengthOf({ events, startActivities }: StepWrite): number {
  let length = 0;
  for (const field of events) if (typeof field === 'string') length += field.length;
  for (const { input } of startActivities) length += input.length;
  return length;
}

function sum(a: WriterStatistics, b: WriterStatistics): Omit<WriterStatistics, 'lastCommitMs'> {
  return {
    holdsErased: a.holdsErased || b.holdsErased,
    commits: a.commits + b.commits,
    delayedSyncs: a.delayedSyncs + b.delayedSyncs,
    failedCommits: a.failedCommits + b.failedCommits,
  };
}

class WriterThread implements Writer {
  readonly batchSize = WRITES_PER_MESSAGE;
  readonly isApart = true;
  readonly commitsHere = 0;
  readonly #worker: Worker;
  #closed: (() => void) | undefined;

  constructor(data: WriterThreadData, listener: WriterListener) {
    // Only static imports are rewritten by the build, so the ending follows this file's own.
    const file = import.meta.url.endsWith('.ts') ? './sqlite-writer-thread.ts' : './sqlite-writer-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData: data,
      name: 'event-store-writer',
      execArgv: [], // Those of this process may be about its own program, such as --eval.
    });
    this.#worker.unref();
    this.#worker.on('message', (reply: WriterReply) => {
      if (reply.kind === 'written') listener.written(reply);
    });
    let reason = 'without an error';
    this.#worker.on('error', (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    this.#worker.on('exit', () => {
      listener.ended(reason);
      this.#closed?.();
    });
  }

  send(writes: readonly Write[]): void {
    this.#post({ kind: 'write', writes });
  }

  hold(busy: boolean): void {
    if (busy) this.#worker.ref();
    else this.#worker.unref();
  }

  async close(): Promise<void> {
    if (this.#worker.threadId === -1) return;
    const closed = new Promise<void>((resolve) => (this.#closed = resolve));
    this.#worker.ref();
    this.#post({ kind: 'close' });
    await closed;
  }

  #post(request: WriterRequest): void {
    this.#worker.postMessage(request);
  }
}
