/**
 * Compares a check of a result with the base commit: which tests are gone or test less, and whether the check failed
 * there already.
 */
import { type ChangedTests, type FileChange, RetryableFailure } from '@autonomous/shared';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { shownTest } from '../../project-analysis/test-report.ts';
import { isTestPath } from '../../project-analysis/project-commands.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { Checked, CheckInput } from '../types.ts';
import { LIMITS } from '../../foreign-text/limits.ts';
import { knownBaselineOf } from './baseline.ts';
import type { KnownBaseline } from './baseline-cache.ts';
import type { ActivityTools } from '../tools.ts';
import type { ChecksOutcome } from './checked-trees.ts';

/** Tests of a kind that are named. */
const MAX_NAMED = 20;

/** Changed test files that are reported. */
const MAX_CHANGED_TESTS = 200;

/** Much more than as many tests as are read need on a busy machine. */
const COMPARING_MS = 60_000;

type Compared = Pick<Checked, 'tests' | 'baseline' | 'failsAsBefore' | 'changedTests'>;

/** @param needed baseline for the base commit's tests; `null`, as for `as_is`: a known baseline is used if any */
export async function comparedWithBase(
  tools: ActivityTools,
  project: RemoteProject,
  input: CheckInput,
  { command, report }: ChecksOutcome,
  needed: KnownBaseline | null,
): Promise<Compared> {
  const passed = command.exitCode === 0;
  const known = needed ?? (await knownBaselineOf(tools, project, input));
  const changed = needed === null && passed ? await changedTests(tools, project, input, known) : {};
  if (known === null) return { ...changed, ...(report === null ? {} : { tests: report.count }) };
  // Without its output: the log holds that once already if the workflow has a baseline of its own.
  const baseline = { ...known.baseline, command: { ...known.baseline.command, output: '' } };
  const answer = await readForeignText('compareTests', [known, command, report, input.mode], { maxMs: COMPARING_MS });
  if (!answer.ok)
    throw new RetryableFailure(`The tests were not compared with those of the base commit: they ${answer.why}.`);
  const { failsAsBefore, notRun, failedAnew } = answer.value;
  const newlyFailed = report?.failed.length ? { failedAnew: failedAnew.slice(0, MAX_NAMED).map(shownTest) } : {};
  const counted = failedAnew.length < MAX_NAMED ? {} : { failedAnewCount: failedAnew.length };
  const missing = passed && notRun.length > 0 ? { notRun: notRun.slice(0, MAX_NAMED).map(shownTest) } : {};
  return {
    ...changed,
    ...(report === null ? {} : { tests: { ...report.count, ...missing, ...newlyFailed, ...counted } }),
    ...(passed && needed === null ? {} : { baseline }),
    ...(!passed && failsAsBefore ? { failsAsBefore: true } : {}),
  };
}

/** Files with tests that differ from the base commit, those that assert less first. */
async function changedTests(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseCommit, commit }: CheckInput,
  known: KnownBaseline | null,
): Promise<Pick<Checked, 'changedTests'>> {
  const ranOnBase = new Set(known?.files);
  const { files } = await repository.diff(project, baseCommit, commit);
  const tests = files.filter(({ path }) => ranOnBase.has(path) || isTestPath(path));
  if (tests.every(({ deletions }) => deletions === 0)) return {};
  const paths = tests.map(({ path }) => path);
  const [before, now] = await Promise.all(
    [baseCommit, commit].map(async (at) => {
      const texts = await repository.readFiles(project, at, paths, LIMITS.tests.fileBytes, LIMITS.tests.totalBytes);
      const counted = await readForeignText('countAllAssertions', [texts], { maxMs: COMPARING_MS });
      if (!counted.ok) throw new RetryableFailure(`The changed tests were not compared: they ${counted.why}.`);
      return counted.value;
    }),
  );
  const changed = tests
    .map((file) => asChangedTests(file, before?.get(file.path) ?? 0, now?.get(file.path) ?? 0))
    .filter(({ assertions, assertionsBefore }) => assertions + assertionsBefore > 0)
    .toSorted((a, b) => a.assertions - a.assertionsBefore - (b.assertions - b.assertionsBefore));
  return changed.length === 0 ? {} : { changedTests: changed.slice(0, MAX_CHANGED_TESTS) };
}

function asChangedTests(
  { path, status, deletions }: FileChange,
  assertionsBefore: number,
  assertions: number,
): ChangedTests {
  return {
    path,
    ...(status === 'deleted' ? { isDeleted: true } : {}),
    linesRemoved: deletions,
    assertionsBefore,
    assertions,
  };
}
