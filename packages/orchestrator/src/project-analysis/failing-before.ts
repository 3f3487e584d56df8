/**
 * Compares the tests of a result with those of the base commit. Checks that fail in the same way as there are not the run's to fix, and
 * a person decides. Pure.
 */
import type { Baseline, CommandEvidence, Evidence } from '@autonomous/shared';
import { missingToolOf } from './installation/missing-tool.ts';
import { type TestReport, testsFailedAnew, testsGone, testsNotRun } from './test-report.ts';

/** Checks on the base commit, with all names of tests. */
export interface CheckedBefore {
  readonly baseline: Baseline;
  readonly executed: readonly string[];
  readonly failed: readonly string[];
}

export interface ComparedTests {
  readonly failsAsBefore: boolean;
  /** Tests of the base commit that did not run. */
  readonly notRun: readonly string[];
  /** Tests that fail and did not fail on the base commit. */
  readonly failedAnew: readonly string[];
}

/** @param mode `as_is`: test files of the result may be others */
export function compareTests(
  before: CheckedBefore,
  command: CommandEvidence,
  report: TestReport | null,
  mode: Evidence['mode'],
): ComparedTests {
  if (report === null) return { failsAsBefore: failsAsBefore(before, command, report), notRun: [], failedAnew: [] };
  return {
    failsAsBefore: failsAsBefore(before, command, report),
    notRun: (mode === 'as_is' ? testsGone : testsNotRun)(before.executed, report.executed),
    failedAnew: testsFailedAnew(before, report),
  };
}

/**
 * They do where the same program is missing, and where each test that fails failed before and none is gone. Without a failed
 * test on either side the exit code has to be the same.
 * @param report `null` where no runner reported
 */
export function failsAsBefore(before: CheckedBefore, command: CommandEvidence, report: TestReport | null): boolean {
  const { baseline, executed, failed } = before;
  if (command.exitCode === 0 || baseline.passed || baseline.failure !== undefined) return false;
  const missing = missingToolOf(command);
  if (missing !== (baseline.missingTool ?? null)) return false;
  if (report === null ? executed.length > 0 : isWorse(before, report)) return false;
  if (report !== null && report.failed.length > 0) return testsFailedAnew(before, report).length === 0;
  return missing !== null || (failed.length === 0 && command.exitCode === baseline.command.exitCode);
}

/** Fewer tests came to an end than before. */
function isWorse({ baseline, executed }: CheckedBefore, report: TestReport): boolean {
  if (!report.count.finished && baseline.tests?.finished !== false) return true;
  return testsGone(executed, report.executed).length > 0;
}
