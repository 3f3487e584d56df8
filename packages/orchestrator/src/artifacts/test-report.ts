/**
 * What the server's reporters inside a sandbox wrote of the tests that ran: one JSON object a line, from each run of a runner.
 * Code under test may have written into it as well, so nothing here trusts a line's shape or size.
 */
import type { TestCount } from '@autonomous/shared';

export type TestOutcome = 'passed' | 'failed' | 'skipped';

export interface TestReport {
  readonly count: TestCount;
  /** Tests that ran to an end, by a name that is the same in each run; sorted. */
  readonly executed: readonly string[];
  /** Files that hold tests, from the project's root; sorted. Runners of compiled languages do not name theirs. */
  readonly files: readonly string[];
}

const MAX_NAMED = 20;
const MAX_NAME = 300;
const MAX_PATH = 1_000;

/** @returns `null` where no runner reported */
export function readTestReport(text: string): TestReport | null {
  const runs = new Map<string, Run>();
  for (const line of text.split('\n')) {
    const entry = entryOf(line);
    if (entry === null) continue;
    const run: Run = runs.get(entry.run) ?? {
      runner: entry.runner,
      tests: [],
      files: new Set(),
      replaced: new Set(),
      ended: false,
    };
    runs.set(entry.run, run);
    if (entry.event === 'test') run.tests.push(entry);
    if (entry.event === 'file') run.files.add(entry.path);
    if (entry.event === 'tampered') run.replaced.add(entry.what);
    if (entry.event === 'end') run.ended = true;
  }
  if (runs.size === 0) return null;
  const all = [...runs.values()];
  const tests = all.flatMap((run) => run.tests);
  const executed = tests.filter(({ outcome }) => outcome !== 'skipped');
  const replaced = [...new Set(all.flatMap((run) => [...run.replaced]))];
  return {
    count: {
      runner: [...new Set(all.filter(isRunner).map(({ runner }) => runner))].sort().join(', '),
      executed: executed.length,
      failed: executed.filter(({ outcome }) => outcome === 'failed').length,
      skipped: tests.length - executed.length,
      finished: all.every(({ ended }) => ended),
      ...(replaced.length === 0 ? {} : { replaced: replaced.slice(0, MAX_NAMED) }),
    },
    executed: executed.map(({ file, name }) => stableName(file, name)).sort(),
    files: [...new Set(all.flatMap(filesOf))].sort(),
  };
}

/** Tests that ran before and did not run now, by name; of several with one name as many as are missing. */
export function testsNotRun(before: readonly string[], now: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const name of now) left.set(name, (left.get(name) ?? 0) + 1);
  return before.filter((name) => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  });
}

interface Run {
  readonly runner: string;
  readonly tests: { readonly name: string; readonly file: string; readonly outcome: TestOutcome }[];
  readonly files: Set<string>;
  readonly replaced: Set<string>;
  ended: boolean;
}

type Entry = { readonly run: string; readonly runner: string } & (
  | { readonly event: 'start' | 'end' }
  | { readonly event: 'test'; readonly name: string; readonly file: string; readonly outcome: TestOutcome }
  | { readonly event: 'file'; readonly path: string }
  | { readonly event: 'tampered'; readonly what: string }
);

function entryOf(line: string): Entry | null {
  if (!line.startsWith('{')) return null;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
  const { run, runner, event, name, file, outcome, what, path } = value;
  if (typeof run !== 'string' || typeof runner !== 'string') return null;
  const from = { run: run.slice(0, MAX_NAME), runner: runner.slice(0, MAX_NAME) };
  if (event === 'start' || event === 'end') return { ...from, event };
  if (event === 'tampered') return { ...from, event, what: String(what).slice(0, MAX_NAME) };
  if (event === 'file' && typeof path === 'string') return { ...from, event, path: path.slice(0, MAX_PATH) };
  if (event !== 'test' || typeof name !== 'string') return null;
  if (outcome !== 'passed' && outcome !== 'failed' && outcome !== 'skipped') return null;
  return { ...from, event, name: name.slice(0, MAX_NAME), file: String(file ?? '').slice(0, MAX_NAME), outcome };
}

/** Runners that the server does not know name the files of their tests with these alone. */
function filesOf({ files, tests }: Run): readonly string[] {
  const named = files.size > 0 ? [...files] : tests.map(({ file }) => file);
  return named
    .map((file) => file.replaceAll('\\', '/').replace(/^(?:[.]\/)+/, ''))
    .filter((file) => file !== '' && !file.startsWith('/') && !file.startsWith('../'));
}

/** A file or a worker of a runner says only that it came to its end. */
function isRunner({ runner }: Run): boolean {
  return !/ (file|worker)$/.test(runner);
}

/** Names may hold a time, a seed or a folder's random end: digits are all alike. */
function stableName(file: string, name: string): string {
  return `${file}: ${name}`.replace(/\d+/g, '0');
}
