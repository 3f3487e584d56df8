/** Looks through the file of a database for damaged pages, in a thread of its own and for a bounded time. */
import { Worker } from 'node:worker_threads';

/** A gigabyte takes some seconds on a usual disk; a larger one is looked at as far as this goes. */
const LONGEST_MS = 60_000;

/** @returns what is damaged, in SQLite's words and with the way out; `null` when nothing was found in time */
export async function quickCheck(file: string): Promise<string | null> {
  const thread = import.meta.url.endsWith('.ts') ? './quick-check-thread.ts' : './quick-check-thread.js';
  const worker = new Worker(new URL(thread, import.meta.url), {
    workerData: { file },
    name: 'event-store-check',
    execArgv: [],
  });
  worker.unref();
  const { promise, resolve } = Promise.withResolvers<string | null>();
  worker.once('message', (said: string) => resolve(said === 'ok' ? null : said));
  worker.once('error', () => resolve(null));
  const timer = setTimeout(() => resolve(null), LONGEST_MS);
  timer.unref();
  const found = await promise;
  clearTimeout(timer);
  await worker.terminate();
  if (found === null) return null;
  return `The database ${file} has damaged pages (${found.replaceAll(/\s+/g, ' ').trim().slice(0, 300)}). Run \`autonomous verify\` to see which runs are concerned, then stop the server and restore a copy.`;
}
