/**
 * A worker thread that carries out tasks on what strangers wrote, with limits on time and memory. The caller's event loop stays
 * free, and a text that is made to be slow or large costs a worker and no more.
 * One worker takes all tasks in turn; it starts with the first and ends when none has come for a while.
 */
import type { Worker } from 'node:worker_threads';
import { NeedsHuman, type PauseReason } from '@autonomous/shared';

/** Functions by name that take and give plain data. */
export type ReaderTasks = Readonly<Record<string, (...input: never[]) => unknown>>;

export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  /** Reading was given up; `why` is the rest of a sentence whose subject is the text: "took longer than 10 seconds to read". */
  | { readonly ok: false; readonly why: string };

export interface ReadingLimits {
  /** Milliseconds that the task itself may take (default 10,000); waiting for other tasks and the worker's start do not count. */
  readonly maxMs?: number;
  /** Ends the reading; the promise is rejected with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReaderOptions {
  /** Starts the worker, whose file calls `serveReaderTasks`. */
  readonly start: () => Worker;
  /**
   * Memory that the worker may have in bytes, with its buffers, which its own limits do not count. `null`: those limits alone.
   * It is measured while a task is carried out.
   */
  readonly maxBytes: number | null;
}

export interface ReaderRequest {
  readonly id: number;
  readonly task: string;
  readonly input: readonly unknown[];
}

export type ReaderReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'read'; readonly id: number; readonly value: unknown }
  /** `reason`: a person is needed. */
  | { readonly kind: 'threw'; readonly id: number; readonly message: string; readonly reason?: PauseReason };

type Answer =
  | ReaderReply
  | { readonly kind: 'late' }
  | { readonly kind: 'large' }
  | { readonly kind: 'crashed'; readonly message: string };

const MAX_MS = 10_000;
const MAX_START_MS = 60_000;
const IDLE_MS = 60_000;
const MEASURED_EVERY_MS = 50;

export class ForeignTextReader<Tasks extends ReaderTasks> {
  readonly #options: ReaderOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #worker: Worker | null = null;
  #resting: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /**
   * Carries out a task in the worker.
   * @param input arguments of the task, as plain data
   * @throws {Error} when the task throws, when the worker cannot be started, or with the reason of `signal`
   */
  read<Name extends keyof Tasks & string>(
    task: Name,
    input: Parameters<Tasks[Name]>,
    limits: ReadingLimits = {},
  ): Promise<Reading<Awaited<ReturnType<Tasks[Name]>>>> {
    const mine = this.#turn.then(() => this.#readNow(task, input, limits));
    const rest = (): void => this.#rest();
    this.#turn = mine.then(rest, rest);
    // The worker carries out the task of that name and no other.
    return mine as Promise<Reading<Awaited<ReturnType<Tasks[Name]>>>>;
  }

  /** Ends the worker after the tasks that were asked for. It starts again with the next task. */
  close(): Promise<void> {
    clearTimeout(this.#resting);
    const closed = this.#turn.then(() => this.#stopWorker());
    this.#turn = closed;
    return closed;
  }

  async #readNow(
    task: string,
    input: readonly unknown[],
    { maxMs = MAX_MS, signal }: ReadingLimits,
  ): Promise<Reading<unknown>> {
    signal?.throwIfAborted();
    const running = await this.#startedWorker();
    running.ref();
    const answer = await this.#ask(running, { id: ++this.#lastId, task, input }, maxMs, signal);
    running.unref();
    if (answer.kind === 'read') return { ok: true, value: answer.value };
    if (answer.kind === 'threw')
      throw answer.reason === undefined ? new Error(answer.message) : new NeedsHuman(answer.reason, answer.message);
    await this.#stopWorker();
    signal?.throwIfAborted();
    return { ok: false, why: whyGivenUp(answer, maxMs) };
  }

  async #startedWorker(): Promise<Worker> {
    clearTimeout(this.#resting);
    if (this.#worker !== null) return this.#worker;
    const starting = this.#options.start();
    // Without a listener an error would end this process; `#ask` reports it.
    starting.on('error', () => undefined);
    this.#worker = starting;
    starting.once('exit', () => {
      if (this.#worker === starting) this.#worker = null;
    });
    const answer = await this.#ask(starting, null, MAX_START_MS, undefined);
    if (answer.kind === 'ready') return starting;
    await this.#stopWorker();
    throw new Error(
      `The worker that reads foreign text did not start: ${answer.kind === 'crashed' ? answer.message : answer.kind}`,
    );
  }

  /** Sends a request, or waits for the start when it is `null`, and gives the first of: reply, crash, limit, abort. */
  #ask(asked: Worker, request: ReaderRequest | null, maxMs: number, signal: AbortSignal | undefined): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const timer = setTimeout(() => settle({ kind: 'late' }), maxMs);
    const stopMeasuring = this.#measure(asked, () => settle({ kind: 'large' }));
    const onAbort = (): void => settle({ kind: 'late' });
    const onMessage = (reply: ReaderReply): void => {
      if (reply.kind === 'ready' || reply.id === request?.id) settle(reply);
    };
    const onError = (error: unknown): void =>
      settle({ kind: 'crashed', message: error instanceof Error ? error.message : String(error) });
    const onExit = (): void => settle({ kind: 'crashed', message: 'it ended' });
    function settle(answer: Answer): void {
      clearTimeout(timer);
      stopMeasuring();
      signal?.removeEventListener('abort', onAbort);
      asked.off('message', onMessage).off('error', onError).off('exit', onExit);
      resolve(answer);
    }
    asked.on('message', onMessage).on('error', onError).on('exit', onExit);
    signal?.addEventListener('abort', onAbort);
    if (request !== null) asked.postMessage(request);
    return promise;
  }

  /** Calls `onLarge` once the worker has more memory than it may have. The worker answers also while a task keeps it busy. */
  #measure(worker: Worker, onLarge: () => void): () => void {
    const { maxBytes } = this.#options;
    if (maxBytes === null) return () => undefined;
    const timer = setInterval(() => {
      worker.getHeapStatistics().then(
        ({ total_heap_size: heap, external_memory: buffers }) => {
          if (heap + buffers > maxBytes) onLarge();
        },
        // It has ended, which `#ask` learns by itself.
        () => undefined,
      );
    }, MEASURED_EVERY_MS);
    return () => clearInterval(timer);
  }

  async #stopWorker(): Promise<void> {
    const stopping = this.#worker;
    this.#worker = null;
    await stopping?.terminate();
  }

  #rest(): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#turn = this.#turn.then(() => this.#stopWorker());
    }, IDLE_MS).unref();
  }
}

function whyGivenUp(answer: Answer, maxMs: number): string {
  if (answer.kind === 'large') return TOO_LARGE;
  if (answer.kind !== 'crashed') return `took longer than ${maxMs / 1_000} seconds to read`;
  return answer.message.includes('memory') ? TOO_LARGE : `made its reader end (${answer.message})`;
}

const TOO_LARGE = 'took more memory to read than is given';
