/**
 * Gathers what is to be written and hands it to the writer, in a thread of its own or in this one. Each write is answered
 * once the disk has it. A writer that stopped refuses everything from then on.
 */
import { Worker } from 'node:worker_threads';
import { Conflict, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { isDiskFailure } from './group-commit.ts';
import type { Connection } from './sqlite-connection.ts';
import { explainSqliteError } from './sqlite-errors.ts';
import type { WriterThreadData } from './sqlite-writer-thread.ts';
import { SqliteWriter } from './sqlite-writer.ts';
import type {
  Write,
  WriteFailure,
  WriteResult,
  WriterOptions,
  WriterReply,
  WriterRequest,
  WriterStatistics,
} from './writes.ts';

/** What is gathered in one turn goes to the thread in parts, so that it need not wait for the end of a long turn. */
const WRITES_PER_MESSAGE = 16;
/** Bounds how long one commit keeps the event loop, where the writer is in this thread, or waits for a slow disk. */
const WRITES_PER_TURN = 256;

/** Commits that take longer are worth sharing more than the writer is worth keeping busy. */
const SLOW_COMMIT_MS = 10;

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
  send(writes: readonly Write[]): void;
  /** Something waits for an answer, or nothing does: only then must this process stay alive for it. */
  hold(busy: boolean): void;
  close(): Promise<void>;
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
  #statistics: WriterStatistics = { commits: 0, lastCommitMs: 0, delayedSyncs: 0, failedCommits: 0 };
  /** Set when nothing may be written any more. */
  #stopped: Error | undefined;
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

  /** How many writes were stored, in how many commits to disk, and which faults were injected. */
  statistics(): WriterStatistics & { readonly writes: number } {
    return { ...this.#statistics, writes: this.#writes };
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
        return explained;
      }
      case 'stopped':
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

  /** The writer ended by itself: what it had is lost or stored, and only opening the file anew finds out. */
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

  send(writes: readonly Write[]): void {
    const outcomes = this.#writer.write(writes);
    this.#listener.written({ kind: 'written', outcomes, statistics: this.#writer.statistics() });
  }

  hold(): void {
    // The turn in which it writes is there already.
  }

  async close(): Promise<void> {
    // The connection is not its own.
  }
}

class WriterThread implements Writer {
  readonly batchSize = WRITES_PER_MESSAGE;
  readonly isApart = true;
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
    let reason = 'without a word';
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
