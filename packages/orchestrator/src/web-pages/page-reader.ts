/**
 * Workers that read pages of strangers. Two of them, so that a page which takes its whole time does not hold up the others.
 * Each starts when it is needed and ends when there was nothing to read for a while.
 */
import { Worker } from 'node:worker_threads';
import { ForeignTextReader } from '../foreign-text/foreign-text-reader.ts';
import type { PageTasks } from './page-tasks.ts';
import type { PageReading } from './read-page.ts';
import { USER_AGENT } from './web-request.ts';

export interface PageReader {
  /** @param html decoded */
  readHtml(html: string, address: string, signal: AbortSignal): Promise<PageReading>;
  readPdf(bytes: Uint8Array, signal: AbortSignal): Promise<PageReading>;
  /** False also when the file cannot be read within the limits. */
  robotsAllow(file: string, text: string, address: string, signal: AbortSignal): Promise<boolean>;
  /** Ends the workers after the pages that were asked for. */
  close(): Promise<void>;
}

const WORKERS = 2;
const MAX_HEAP_MB = 256;
/** With the buffers into which a PDF is unpacked. Reading the largest usual papers took 120 MB. */
const MAX_BYTES = 512 * 1024 * 1024;
const MAX_ROBOTS_MS = 10_000;

/** @param maxMs for each page */
export function createPageReader(maxMs: number): PageReader {
  const readers = Array.from({ length: WORKERS }, () => ({
    reader: new ForeignTextReader<PageTasks>({ start: startWorker, maxBytes: MAX_BYTES }),
    pending: 0,
  }));

  async function read<Name extends keyof PageTasks>(
    task: Name,
    input: Parameters<PageTasks[Name]>,
    limits: { readonly maxMs: number; readonly signal: AbortSignal },
  ) {
    const free = readers.reduce((least, each) => (each.pending < least.pending ? each : least));
    free.pending += 1;
    try {
      return await free.reader.read(task, input, limits);
    } finally {
      free.pending -= 1;
    }
  }

  async function readPage<Name extends 'readHtmlPage' | 'readPdf'>(
    task: Name,
    input: Parameters<PageTasks[Name]>,
    signal: AbortSignal,
  ): Promise<PageReading> {
    try {
      const reading = await read(task, input, { maxMs, signal });
      return reading.ok ? reading.value : reading;
    } catch (error) {
      signal.throwIfAborted();
      // Libraries meet pages that they do not take: nested too deeply, or damaged.
      const what = error instanceof Error ? error.message : String(error);
      return { ok: false, why: `cannot be read (${what.slice(0, 200)})` };
    }
  }

  return {
    readHtml: (html, address, signal) => readPage('readHtmlPage', [html, address], signal),
    readPdf: (bytes, signal) => readPage('readPdf', [bytes], signal),
    async robotsAllow(file, text, address, signal) {
      const reading = await read('robotsAllow', [file, text, address, USER_AGENT], { maxMs: MAX_ROBOTS_MS, signal });
      return reading.ok && reading.value;
    },
    close: async () => {
      await Promise.all(readers.map(({ reader }) => reader.close()));
    },
  };
}

function startWorker(): Worker {
  // Only imports are rewritten by the build, so the ending follows this file's own.
  const file = import.meta.url.endsWith('.ts') ? './page-worker.ts' : './page-worker.js';
  return new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
}
