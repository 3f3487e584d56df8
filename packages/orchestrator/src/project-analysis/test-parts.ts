/** Files that hold tests, or settings of a test runner, beside the product. Pure, and slow for long texts: for the worker. */
import { holdsTests, restoreInSourceTests } from './in-source-tests.ts';
import { hasRunnerSections, restoreRunnerSections } from './runner-sections.ts';

export interface ChangedPart {
  readonly path: string;
  /** `null` where the base commit has no such file. */
  readonly base: string | null;
  /** `null` where the result has none. */
  readonly result: string | null;
}

/** Paths of the files that hold tests beside the product. */
export function filesWithTests(files: ReadonlyMap<string, string>): readonly string[] {
  return [...files].flatMap(([file, text]) => (holdsTests(file, text) ? [file] : []));
}

/**
 * @returns `corrected`: texts that differ from the result's, `null` for a file that is to be absent. `doubtful`: files whose tests
 *   changed and cannot be told from the product
 */
export function restoreTestParts(files: readonly ChangedPart[]) {
  const corrected = new Map<string, string | null>();
  const doubtful: string[] = [];
  for (const { path, base, result } of files) {
    if (hasRunnerSections(path)) {
      const text = restoreRunnerSections(path, base, result);
      if (text !== result) corrected.set(path, text);
      continue;
    }
    const tests = base === null || result === null ? null : restoreInSourceTests(path, base, result);
    if (tests?.kind === 'doubtful') doubtful.push(path);
    if (tests?.kind === 'restored' && tests.text !== result) corrected.set(path, tests.text);
  }
  return { corrected, doubtful };
}
