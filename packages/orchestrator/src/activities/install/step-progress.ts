/** Live progress of steps that write many files: how many there are by now, and how large they are together. */
import type { ActivityContext } from '../../core/activity.ts';
import { runProgram } from '../../processes/program.ts';

/** Between two measurements, milliseconds. */
const MEASURED_EVERY_MS = 2_000;
/** Longest share of the time that measuring takes: a large folder is measured less often. */
const SHARE = 0.1;
/** A folder that takes longer, such as one that is nested very deeply, is not measured any more. */
const LONGEST_MEASUREMENT_MS = 2_000;

/**
 * Reports the size of folders while they are filled.
 * @param step what is done, such as `checking out the files`; empty: the command that was reported last writes them
 * @param folders absolute; those that do not exist yet count as empty
 */
export async function withSizes<Result>(
  progress: ActivityContext['progress'],
  step: string,
  folders: readonly string[],
  fill: () => Promise<Result>,
): Promise<Result> {
  progress({ kind: 'pulse', text: step });
  const ended = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const measureAfter = (ms: number): void => {
    timer = setTimeout(() => {
      const startedAt = performance.now();
      void sizeOf(folders, ended.signal).then((size) => {
        if (ended.signal.aborted) return;
        progress({ kind: 'pulse', text: step, ...size });
        const tookMs = performance.now() - startedAt;
        if (tookMs < LONGEST_MEASUREMENT_MS) measureAfter(Math.max(MEASURED_EVERY_MS, tookMs / SHARE));
      });
    }, ms).unref();
  };
  measureAfter(MEASURED_EVERY_MS);
  try {
    return await fill();
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

/** Sizes on disk as `du` finds them. What it cannot say is left out. */
async function sizeOf(
  folders: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly bytes?: number; readonly files?: number }> {
  const [kilobytes, files] = await Promise.all([
    sumOf(['-sk'], folders, signal),
    sumOf(['-s', '--inodes'], folders, signal),
  ]);
  return {
    ...(kilobytes === null ? {} : { bytes: kilobytes * 1024 }),
    ...(files === null ? {} : { files }),
  };
}

async function sumOf(
  options: readonly string[],
  folders: readonly string[],
  signal: AbortSignal,
): Promise<number | null> {
  const args = [...options, '--', ...folders];
  // Files come and go meanwhile, which it complains about; what it counted stands on its output all the same.
  const measured = await runProgram('du', args, { signal, timeoutMs: LONGEST_MEASUREMENT_MS }).catch(() => ({
    stdout: '',
  }));
  const figures = measured.stdout.split('\n').flatMap((line) => /^\d+/.exec(line)?.[0] ?? []);
  return figures.length === 0 ? null : figures.reduce((sum, figure) => sum + Number(figure), 0);
}
