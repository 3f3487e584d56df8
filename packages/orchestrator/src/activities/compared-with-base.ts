/** What a check of a result says beside the base commit: which tests are gone or test less, and whether it failed there already. */
import type { ChangedTests, FileChange } from '@autonomous/shared';
import { countAssertions } from '../artifacts/assertions.ts';
import { failsAsBefore } from '../artifacts/failing-before.ts';
import { isTestPath } from '../artifacts/project-commands.ts';
import { fileOf, testsGone, testsNotRun } from '../artifacts/test-report.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { Checked, CheckInput } from '../workflow/definitions/build-types.ts';
import { baselineOf, knownBaselineOf } from './baseline.ts';
import type { KnownBaseline } from './baseline-cache.ts';
import type { BuildTools } from './build-tools.ts';
import type { ChecksOutcome } from './checks.ts';

/** Tests of the base commit that did not run, by name. */
const MAX_NOT_RUN = 20;

/** Files with tests that are told, and read for it; of one and of all together. */
const MAX_CHANGED_TESTS = 200;
const MAX_TEST_BYTES = 2 ** 20;
const MAX_TESTS_BYTES = 16 * 2 ** 20;

type Compared = Pick<Checked, 'tests' | 'baseline' | 'failsAsBefore' | 'changedTests'>;

/**
 * Compares with the baseline where it is known. Only a result that passes with the base commit's tests needs it so much that it
 * is found out now.
 */
export async function comparedWithBase(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  input: CheckInput,
  { command, report }: ChecksOutcome,
): Promise<Compared> {
  const passed = command.exitCode === 0;
  const isNeeded = input.mode === 'base_tests' && passed;
  const known = await (isNeeded ? baselineOf(tools, context, project, input) : knownBaselineOf(tools, project, input));
  const changed = input.mode === 'as_is' && passed ? await changedTests(tools, project, input, known) : {};
  const counted = { ...changed, ...(report === null ? {} : { tests: report.count }) };
  if (known === null) return counted;
  // Its output is in the log once, where the workflow has a baseline of its own.
  const baseline = { ...known.baseline, command: { ...known.baseline.command, output: '' } };
  if (!passed)
    return { ...counted, baseline, ...(failsAsBefore(known, command, report) ? { failsAsBefore: true } : {}) };
  const shown = { ...counted, ...(isNeeded ? { baseline } : {}) };
  if (report === null) return shown;
  const compare = input.mode === 'as_is' ? testsGone : testsNotRun;
  const notRun = compare(known.executed, report.executed);
  return {
    ...shown,
    tests: { ...report.count, ...(notRun.length === 0 ? {} : { notRun: notRun.slice(0, MAX_NOT_RUN) }) },
  };
}

/** Files with tests that differ from the base commit, those that assert less first. */
async function changedTests(
  { repository }: BuildTools,
  project: RemoteProject,
  { baseCommit, commit }: CheckInput,
  known: KnownBaseline | null,
): Promise<Pick<Checked, 'changedTests'>> {
  const ranOnBase = new Set(known?.executed.map(fileOf));
  const { files } = await repository.diff(project, baseCommit, commit);
  const tests = files.filter(({ path }) => ranOnBase.has(path) || isTestPath(path));
  if (tests.every(({ deletions }) => deletions === 0)) return {};
  const paths = tests.map(({ path }) => path);
  const [before, now] = await Promise.all(
    [baseCommit, commit].map((at) => repository.readFiles(project, at, paths, MAX_TEST_BYTES, MAX_TESTS_BYTES)),
  );
  const changed = tests
    .map((file) => asChangedTests(file, before?.get(file.path), now?.get(file.path)))
    .filter(({ assertions, assertionsBefore }) => assertions + assertionsBefore > 0)
    .toSorted((a, b) => a.assertions - a.assertionsBefore - (b.assertions - b.assertionsBefore));
  return changed.length === 0 ? {} : { changedTests: changed.slice(0, MAX_CHANGED_TESTS) };
}

function asChangedTests(
  { path, status, deletions }: FileChange,
  before: string | undefined,
  now: string | undefined,
): ChangedTests {
  return {
    path,
    ...(status === 'deleted' ? { isDeleted: true } : {}),
    linesRemoved: deletions,
    assertionsBefore: countAssertions(before ?? ''),
    assertions: countAssertions(now ?? ''),
  };
}
