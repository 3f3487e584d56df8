/**
 * Reads text of strangers in a worker thread with a limit on time and memory: lockfiles, front matter, a commit that is
 * scanned for secrets. The server's event loop stays free, and a text that is made to be slow costs a worker and no more.
 * One worker takes all tasks in turn; it starts with the first and ends when none has come for a while.
 */
import { Worker } from 'node:worker_threads';
import type { ForeignTextTasks } from './foreign-text-tasks.ts';
import type { ReaderReply, ReaderRequest } from './foreign-text-worker.ts';

type TaskName = keyof ForeignTextTasks;
type Outcome<N extends TaskName> = Awaited<ReturnType<ForeignTextTasks[N]>>;

type ForeignTextAnswer<Value> =
  | { readonly ok: true; readonly value: Value }
  /** Reading was given up; `why` is the rest of a sentence whose subject is the text: "took longer than 10 seconds to read". */
  | { readonly ok: false; readonly why: string };

interface ReadingLimits {
  /** Milliseconds that the task itself may take (default 10,000); waiting for other tasks and the worker's start do not count. */
  readonly maxMs?: number;
  /** Ends the reading; the promise is rejected with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const MAX_MS = 10_000;
const MAX_START_MS = 60_000;
const MAX_MEMORY_MB = 512;
const IDLE_MS = 60_000;

/**
 * Carries out a task of `foreign-text-tasks.ts` in the worker.
 * @param input arguments of the task, as plain data
 * @throws {Error} when the task throws, when the worker cannot be started, or with the reason of `signal`
 */
export function readForeignText<N extends TaskName>(
  task: N,
  input: Parameters<ForeignTextTasks[N]>,
  limits: ReadingLimits = {},
): Promise<ForeignTextAnswer<Outcome<N>>> {
  const mine = turn.then(() => readNow(task, input, limits));
  turn = mine.then(rest, rest);
  return mine as Promise<ForeignTextAnswer<Outcome<N>>>;
}

let turn: Promise<unknown> = Promise.resolve();
let worker: Worker | null = null;
let resting: NodeJS.Timeout | undefined;
let lastId = 0;

async function readNow(
  task: TaskName,
  input: readonly unknown[],
  { maxMs = MAX_MS, signal }: ReadingLimits,
): Promise<ForeignTextAnswer<unknown>> {
  signal?.throwIfAborted();
  const running = await startedWorker();
  running.ref();
  const answer = await ask(running, { id: ++lastId, task, input }, maxMs, signal);
  running.unref();
  if (answer.kind === 'read') return { ok: true, value: answer.value };
  if (answer.kind === 'threw') throw new Error(answer.message);
  await stopWorker();
  signal?.throwIfAborted();
  return { ok: false, why: answer.kind === 'crashed' ? whyCrashed(answer.message) : whyLate(maxMs) };
}

async function startedWorker(): Promise<Worker> {
  clearTimeout(resting);
  if (worker !== null) return worker;
  const starting = startWorker();
  worker = starting;
  starting.once('exit', () => {
    if (worker === starting) worker = null;
  });
  const answer = await ask(starting, null, MAX_START_MS, undefined);
  if (answer.kind === 'ready') return starting;
  await stopWorker();
  throw new Error(
    `The worker that reads foreign text did not start: ${answer.kind === 'crashed' ? answer.message : answer.kind}`,
  );
}

function startWorker(): Worker {
  // Only imports are rewritten by the build, so the ending follows this file's own.
  const file = import.meta.url.endsWith('.ts') ? './foreign-text-worker.ts' : './foreign-text-worker.js';
  const started = new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  // Without a listener an error would end this process; `ask` reports it.
  started.on('error', () => undefined);
  return started;
}

type Answer = ReaderReply | { readonly kind: 'late' } | { readonly kind: 'crashed'; readonly message: string };

/** Sends a request, or waits for the start when it is `null`, and gives the first of: reply, crash, time limit, abort. */
function ask(
  asked: Worker,
  request: ReaderRequest | null,
  maxMs: number,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => settle({ kind: 'late' }), maxMs);
  const onAbort = (): void => settle({ kind: 'late' });
  const onMessage = (reply: ReaderReply): void => {
    if (reply.kind === 'ready' || reply.id === request?.id) settle(reply);
  };
  const onError = (error: unknown): void =>
    settle({ kind: 'crashed', message: error instanceof Error ? error.message : String(error) });
  const onExit = (): void => settle({ kind: 'crashed', message: 'it ended' });
  function settle(answer: Answer): void {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    asked.off('message', onMessage).off('error', onError).off('exit', onExit);
    resolve(answer);
  }
  asked.on('message', onMessage).on('error', onError).on('exit', onExit);
  signal?.addEventListener('abort', onAbort);
  if (request !== null) asked.postMessage(request);
  return promise;
}

async function stopWorker(): Promise<void> {
  const stopping = worker;
  worker = null;
  await stopping?.terminate();
}

function rest(): void {
  clearTimeout(resting);
  resting = setTimeout(() => {
    turn = turn.then(stopWorker);
  }, IDLE_MS).unref();
}

function whyLate(maxMs: number): string {
  return `took longer than ${maxMs / 1_000} seconds to read`;
}

function whyCrashed(message: string): string {
  return message.includes('memory') ? 'took more memory to read than is given' : `made its reader end (${message})`;
}
