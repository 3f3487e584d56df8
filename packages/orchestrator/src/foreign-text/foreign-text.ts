/**
 * Reads text of strangers in a worker thread with a limit on time and memory: lockfiles, front matter, a commit that is
 * scanned for secrets.
 */
import { Worker } from 'node:worker_threads';
import { ForeignTextReader, type Reading, type ReadingLimits } from './foreign-text-reader.ts';
import type { ForeignTextTasks } from './foreign-text-tasks.ts';

type TaskName = keyof ForeignTextTasks;

const MAX_MEMORY_MB = 512;

/**
 * Carries out a task of `foreign-text-tasks.ts` in the worker.
 * @param input arguments of the task, as plain data
 * @throws {Error} when the task throws, when the worker cannot be started, or with the reason of `signal`
 */
export function readForeignText<N extends TaskName>(
  task: N,
  input: Parameters<ForeignTextTasks[N]>,
  limits: ReadingLimits = {},
): Promise<Reading<Awaited<ReturnType<ForeignTextTasks[N]>>>> {
  return reader.read(task, input, limits);
}

const reader = new ForeignTextReader<ForeignTextTasks>({ start: startWorker, maxBytes: null });

function startWorker(): Worker {
  // Only imports are rewritten by the build, so the ending follows this file's own.
  const file = import.meta.url.endsWith('.ts') ? './foreign-text-worker.ts' : './foreign-text-worker.js';
  return new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
}
