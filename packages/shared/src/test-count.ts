/** Counts of tests, failed checks and the outcome of the checks on the base commit in words, the same on every face. */
import type { Baseline, Evidence, TestCount } from './run.ts';

/** One line, such as `12 tests ran (node:test), 1 skipped; on the base commit it was 11`. `null` where nothing is known of either. */
export function testCountText(
  { tests, baseline }: Pick<Evidence, 'tests' | 'baseline'>,
  known?: Baseline,
): string | null {
  const before = known?.failure === undefined ? (known ?? baseline) : (baseline ?? known);
  if (tests === undefined && before === undefined) return null;
  const now = tests === undefined ? 'how many tests ran is not known' : countOf(tests);
  if (before === undefined) return now;
  return `${now}; ${baselineCountOf(before)}`;
}

function countOf({ runner, executed, failed, skipped, finished, replaced }: TestCount): string {
  return [
    `${executed} ${executed === 1 ? 'test' : 'tests'} ran${runner === '' ? '' : ` (${runner})`}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
    ...(finished ? [] : ['not to their end']),
    ...(replaced === undefined ? [] : ['what judges them was changed']),
  ].join(', ');
}

function baselineCountOf({ tests, failure }: Baseline): string {
  if (failure !== undefined) return 'the checks could not be run on the base commit';
  return tests === undefined
    ? 'on the base commit it is not known either'
    : `on the base commit it was ${tests.executed}`;
}

/**
 * An outcome of checks, such as `passed`, as it is shown. Of evidence that stands in the record alone from which a run was rebuilt, it
 * says first that this server did not run the checks.
 */
export function outcomeText({ rebuiltAt }: Pick<Evidence, 'rebuiltAt'>, outcome: string): string {
  return rebuiltAt === undefined ? outcome : `not run by this server (${outcome} by the record)`;
}

/** Tests of one outcome, by file and name. */
export interface NamedTests {
  /** Their outcome, to stand before the names. */
  readonly title: string;
  readonly names: readonly string[];
  /** How many others have it, whose names are not stored. */
  readonly more: number;
}

/** Names of a kind that evidence stores at most. */
const STORED = 20;

/** Lists the tests that a reader of evidence looks for: what is newly red, what else failed, what is gone. */
export function namedTests(tests: TestCount): readonly NamedTests[] {
  const { failed, failedNames = [], failedAnew = [], failedAnewCount = failedAnew.length, notRun = [] } = tests;
  const isCounted = tests.failedAnewCount !== undefined || (tests.failedAnew?.length ?? STORED) < STORED;
  // With more new ones than are stored, the other names may be of either list.
  const others = failedAnewCount > failedAnew.length ? [] : without(failedNames, failedAnew);
  return [
    listOf('Failed, and not on the base commit', failedAnew, failedAnewCount),
    listOf(isCounted ? 'Failed, on the base commit too' : 'Failed', others, failed - failedAnewCount),
    listOf('Ran on the base commit, and not here', notRun, notRun.length),
  ].filter(({ names, more }) => names.length > 0 || more > 0);
}

function listOf(title: string, names: readonly string[], count: number): NamedTests {
  return { title, names: [...new Set(names.map(withItsFileOnce))], more: Math.max(0, count - names.length) };
}

/** `all` without `some`, each as often as it is there. */
function without(all: readonly string[], some: readonly string[]): readonly string[] {
  const left = [...some];
  return all.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** pytest's names begin with their file: `test_a.py: test_a.py::test_adds`. */
function withItsFileOnce(name: string): string {
  const file = name.slice(0, Math.max(0, name.indexOf(': ')));
  const test = name.slice(file.length + 2);
  return file !== '' && test.startsWith(`${file}::`) ? test : name;
}

/**
 * `and 3 more` behind the names of a list; empty where there are none.
 * @param shown names that are shown of it
 */
export function moreText({ names, more }: NamedTests, shown = names.length): string {
  const rest = more + names.length - shown;
  if (rest === 0) return '';
  return `${shown === 0 ? `${rest} ${rest === 1 ? 'test' : 'tests'}` : `and ${rest} more`}${rest === more ? ', whose names are not stored' : ''}`;
}

/** Failed tests that are named in a line. */
const NAMED = 3;

/**
 * Why checks failed, in one line: `1 of 4 tests failed: adds two numbers`. Where no test is known to have failed, the commands with
 * their exit codes. Workflows store these words: golden histories hold them.
 */
export function failedChecksText({ commands, tests }: Pick<Evidence, 'commands' | 'tests'>): string {
  if (tests !== undefined && tests.failed > 0) {
    const { executed, failed, failedNames = [] } = tests;
    // The file comes first, up to a colon.
    const names = failedNames.map((name) =>
      name
        .slice(name.indexOf(': ') + 1)
        .trim()
        .replaceAll(/\s+/g, ' '),
    );
    return `${failed} of ${executed} ${executed === 1 ? 'test' : 'tests'} failed${namesText(names, failed)}`;
  }
  const red = commands.filter(({ exitCode }) => exitCode !== 0);
  return red.map(({ command, exitCode }) => `\`${command}\` (${exitText(exitCode)})`).join(', ') || 'no check ran';
}

/** The outcome of the checks on the base commit, in a sentence. Runs store these words: golden histories hold them. */
export function baselineText({ passed, failure, command, tests, missingTool }: Baseline): string {
  const missing = missingTool === undefined ? '' : `; the program ${missingTool} is missing`;
  if (failure !== undefined) return `The checks could not be run on the base commit${missing}: ${failure}`;
  const outcome = passed ? 'passed' : `failed already (${exitText(command.exitCode)})`;
  return `On the base commit the checks ${outcome}${missing}${tests === undefined ? '' : `; ${ranText(tests)}`}.`;
}

/** How checks failed, in a few words that stand in parentheses. Runs store these words too. */
export function failureText({ command, tests, missingTool }: Baseline): string {
  if (missingTool !== undefined) return `the program ${missingTool} is missing`;
  return tests === undefined || tests.failed === 0 ? exitText(command.exitCode) : failedText(tests);
}

function exitText(exitCode: number | null): string {
  return exitCode === null ? 'they came to no end' : `exit code ${exitCode}`;
}

function ranText(tests: TestCount): string {
  const ran = `${tests.executed} ${tests.executed === 1 ? 'test' : 'tests'} ran`;
  return tests.failed === 0 ? `${ran}, 0 failed` : `${ran}, ${failedText(tests)}`;
}

/** `2 failed: test/a.test.js: adds, test/a.test.js: subtracts`. */
function failedText({ failed, failedNames = [] }: TestCount): string {
  return `${failed} failed${namesText(failedNames, failed)}`;
}

/** `: adds, subtracts and 2 more`; empty without names. */
function namesText(names: readonly string[], failed: number): string {
  if (names.length === 0) return '';
  return `: ${names.slice(0, NAMED).join(', ')}${failed > NAMED ? ` and ${failed - NAMED} more` : ''}`;
}
