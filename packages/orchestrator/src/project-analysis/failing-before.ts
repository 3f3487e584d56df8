/**
 * Decides whether checks fail in the same way as on the base commit. Such a failure is not the run's to fix, and a
 * person decides. Pure.
 */
import type { Baseline, CommandEvidence } from '@autonomous/shared';
import { missingToolOf } from './installation/missing-tool.ts';
import { type TestReport, testsGone } from './test-report.ts';

/** Checks on the base commit, with all names of tests. */
export interface CheckedBefore {
  readonly baseline: Baseline;
  readonly executed: readonly string[];
  readonly failed: readonly string[];
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
  const failing = report?.failed ?? [];
  if (failing.length > 0) return failing.every((name) => failed.includes(name));
  return missing !== null || (failed.length === 0 && command.exitCode === baseline.command.exitCode);
}

/** Fewer tests came to an end than before. */
function isWorse({ baseline, executed }: CheckedBefore, report: TestReport): boolean {
  if (!report.count.finished && baseline.tests?.finished !== false) return true;
  return testsGone(executed, report.executed).length > 0;
}
