/**
 * Reads the report that the server's reporters inside a sandbox wrote about the tests that ran: one JSON object a line,
 * from each run of a runner. Code under test may have written to the report as well, so no line's shape or size is
 * trusted.
 */
import { createHash } from 'node:crypto';
import type { TestCount } from '@autonomous/shared';

export type TestOutcome = 'passed' | 'failed' | 'skipped';

export interface TestReport {
  readonly count: TestCount;
  /** Tests that ran to an end, by file and name as they are reported; sorted. `shownTest` makes a line of one. */
  readonly executed: readonly string[];
  /** Those of them that failed. */
  readonly failed: readonly string[];
  /** Files that hold tests, from the project's root; sorted. Runners of compiled languages do not name theirs. */
  readonly files: readonly string[];
}

const MAX_NAMED = 20;
/** Lines that no reporter wrote: each costs much more than one that can be read. */
const MAX_OTHERS = 1_000;
const MAX_NAME = 300;
const MAX_PATH = 1_000;

/** Of the digest behind a name that is longer. */
const DIGEST_LENGTH = 16;
const BOUNDED_END = /…[0-9a-f]{16}$/;

/** Between the file and the name of a test. */
const SEPARATOR = ': ';

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
const SHORTEST_RANDOM = 8;

/** @returns `null` where no runner reported, or something else has written a thousand lines between theirs */
export function readTestReport(text: string): TestReport | null {
  const runs = new Map<string, Run>();
  let others = 0;
  for (const line of text.split('\n')) {
    const entry = entryOf(line);
    if (entry === null) {
      if (line !== '' && ++others > MAX_OTHERS) return null;
      continue;
    }
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
  const failed = executed.filter(({ outcome }) => outcome === 'failed').map(named);
  const unfinished = [...new Set(all.filter(({ ended }) => !ended).map(({ runner }) => runner))].sort();
  const replaced = [...new Set(all.flatMap((run) => [...run.replaced]))];
  return {
    count: {
      runner: [...new Set(all.filter(isRunner).map(({ runner }) => runner))].sort().join(', '),
      executed: executed.length,
      failed: failed.length,
      skipped: tests.length - executed.length,
      finished: unfinished.length === 0,
      ...(unfinished.length === 0 ? {} : { unfinished: unfinished.slice(0, MAX_NAMED) }),
      ...(replaced.length === 0 ? {} : { replaced: replaced.slice(0, MAX_NAMED) }),
      ...(failed.length === 0 ? {} : { failedNames: failed.toSorted().slice(0, MAX_NAMED).map(shownTest) }),
    },
    executed: executed.map(named).sort(),
    failed: failed.sort(),
    files: [...new Set(all.flatMap(filesOf))].sort(),
  };
}

/**
 * Tests that ran before and did not run now, by file and name; of several with one name as many as are missing. A file in which
 * at least as many tests ran as before lacks none: their names may hold random words, or be other ones now.
 */
export function testsNotRun(before: readonly string[], now: readonly string[]): readonly string[] {
  const [had, has] = [countedBy(before, fileOf), countedBy(now, fileOf)];
  return without(before, now).filter((test) => {
    const file = fileOf(test);
    return (has.get(file) ?? 0) < (had.get(file) ?? 0);
  });
}

/** The same of a result whose test files may be others: a test that ran under its name in another file is not missing. */
export function testsGone(before: readonly string[], now: readonly string[]): readonly string[] {
  const elsewhere = countedBy(without(now, before), nameOf);
  return testsNotRun(before, now).filter((test) => !taken(elsewhere, nameOf(test)));
}

/**
 * Tests that fail now and did not fail before, first those that ran before. A test that ran under its name before is that test; of a
 * name that did not run, such as one with a time in it, one that failed before and is gone may be the same test.
 */
export function testsFailedAnew(before: Tests, now: Tests): readonly string[] {
  const exact = countedBy(before.failed, (test) => test);
  const [ran, runs] = [new Set(before.executed), new Set(now.executed)];
  const gone = countedBy(
    before.failed.filter((test) => !runs.has(test)),
    stableName,
  );
  const anew = now.failed.filter((test) => !taken(exact, test) && (ran.has(test) || !taken(gone, stableName(test))));
  return [...anew.filter((test) => ran.has(test)), ...anew.filter((test) => !ran.has(test))];
}

type Tests = Pick<TestReport, 'executed' | 'failed'>;

function fileOf(test: string): string {
  return stableName(test.slice(0, Math.max(0, test.indexOf(SEPARATOR))));
}

function nameOf(test: string): string {
  return stableName(test.slice(test.indexOf(SEPARATOR) + SEPARATOR.length));
}

/** Entries of `all` that `others` lacks, each as often as it is missing there. */
function without(all: readonly string[], others: readonly string[]): readonly string[] {
  const left = countedBy(others, stableName);
  return all.filter((each) => !taken(left, stableName(each)));
}

function countedBy(all: readonly string[], keyOf: (each: string) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of all) counts.set(keyOf(each), (counts.get(keyOf(each)) ?? 0) + 1);
  return counts;
}

/** Removes one entry of a key; false if there is none left. */
function taken(left: Map<string, number>, key: string): boolean {
  const count = left.get(key) ?? 0;
  if (count > 0) left.set(key, count - 1);
  return count > 0;
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
  // It stands among words of the server, also in a pull request.
  const from = {
    run: run.slice(0, MAX_NAME),
    runner: runner
      .slice(0, MAX_NAME)
      .replaceAll(/[^\w:.-]+/g, ' ')
      .trim(),
  };
  if (event === 'start' || event === 'end') return { ...from, event };
  if (event === 'tampered') return { ...from, event, what: String(what).slice(0, MAX_NAME) };
  if (event === 'file' && typeof path === 'string') return { ...from, event, path: path.slice(0, MAX_PATH) };
  if (event !== 'test' || typeof name !== 'string') return null;
  if (outcome !== 'passed' && outcome !== 'failed' && outcome !== 'skipped') return null;
  return { ...from, event, name: bounded(name), file: bounded(String(file ?? '')), outcome };
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

function named({ file, name }: { readonly file: string; readonly name: string }): string {
  return `${file}${SEPARATOR}${name}`;
}

/** A long name with a digest in place of its end, so that no two names become the same. */
function bounded(name: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME)}…${createHash('sha256').update(name).digest('hex').slice(0, DIGEST_LENGTH)}`;
}

/** A test in one line, as it is stored and shown. */
export function shownTest(test: string): string {
  return test.replace(BOUNDED_END, '…').replaceAll(/\s+/g, ' ');
}

/** Name by which two runs of a test are compared. It may hold a time, a seed, an id or a folder's random end: digits and random words are all `0`. */
export function stableName(test: string): string {
  return test
    .replaceAll(UUID, '0')
    .replaceAll(/[A-Za-z0-9]+/g, (word) => (isRandom(word) ? '0' : word))
    .replaceAll(/\d+/g, '0');
}

/** Hexadecimal with a digit, or letters of one case and digits that change at least twice, such as `k3j9x0a1b2c`. */
function isRandom(word: string): boolean {
  if (word.length < SHORTEST_RANDOM || !/\d/.test(word)) return false;
  if (/^[0-9a-f]+$/i.test(word)) return true;
  return (/^[0-9a-z]+$/.test(word) || /^[0-9A-Z]+$/.test(word)) && /\d[A-Za-z]+\d/.test(word);
}
