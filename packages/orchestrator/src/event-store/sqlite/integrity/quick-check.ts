/** Looks through the file of a database for damaged pages, in a thread of its own and for a bounded time. */
import { Worker } from 'node:worker_threads';

/** A gigabyte takes some seconds on a usual disk; a larger one is looked at as far as this goes. */
const LONGEST_MS = 60_000;

/**
 * @param signal ends the thread; the check then counts as one that found nothing
 * @returns what is damaged, in SQLite's words and with the way out; `null` when nothing was found in time. Settles only after
 *   the thread has let go of the file.
 */
export async function quickCheck(file: string, signal?: AbortSignal): Promise<string | null> {
  if (signal?.aborted === true) return null;
  const thread = import.meta.url.endsWith('.ts') ? './quick-check-thread.ts' : './quick-check-thread.js';
  const worker = new Worker(new URL(thread, import.meta.url), {
    workerData: { file },
    name: 'event-store-check',
    execArgv: [],
  });
  worker.unref();
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const mayEnd = Promise.withResolvers<null>();
  worker.on('message', (said: string | null) => {
    mayEnd.resolve(null);
    if (said !== null) resolve(said === 'ok' ? null : said);
  });
  worker.once('error', () => resolve(null));
  worker.once('exit', () => {
    mayEnd.resolve(null);
    resolve(null);
  });
  const timer = setTimeout(() => resolve(null), LONGEST_MS);
  timer.unref();
  const end = (): void => resolve(null);
  signal?.addEventListener('abort', end, { once: true });
  const found = await promise;
  signal?.removeEventListener('abort', end);
  clearTimeout(timer);
  // A thread that is ended while it loads SQLite's addon takes the process with it.
  worker.ref();
  await mayEnd.promise;
  await worker.terminate();
  if (found === null) return null;
  return `The database ${file} has damaged pages (${found.replaceAll(/\s+/g, ' ').trim().slice(0, 300)}). The command \`verify\` tells which runs are concerned; then stop the server and restore a copy.`;
}
