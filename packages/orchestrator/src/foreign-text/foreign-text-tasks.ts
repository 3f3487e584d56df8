/**
 * Tasks of the worker of `foreign-text.ts`. A task takes and returns plain data. A task that needs a heavy library
 * imports it on first use.
 */
import { checkConstraints } from '../documents/plans/constraint-check.ts';
import { newDependencies } from '../project-analysis/installation/dependencies.ts';
import { manifestFaults } from '../project-analysis/installation/manifest-faults.ts';
import { judgesNewlyNamed } from '../project-analysis/judge-names.ts';
import { countAllAssertions } from '../project-analysis/assertions.ts';
import { filesWithTests, restoreTestParts } from '../project-analysis/test-parts.ts';
import { compareTests } from '../project-analysis/failing-before.ts';
import { readTestReport } from '../project-analysis/test-report.ts';
import { extendMemory } from '../documents/memory/memory.ts';
import type { Redacted, RedactionTask } from '../secrets/record-redaction.ts';
import type { ScannedText, SecretFinding } from '../secrets/secret-scan.ts';
import { selfRunningChanges, withSelfRunningContent } from '../self-running/self-running.ts';
import { selectMemory } from '../documents/memory/solution-memory.ts';
import type { IssueText } from '../documents/labelled-issue.ts';
import { parseSkill } from '../documents/skill-file.ts';

async function scanForSecrets(texts: readonly ScannedText[]): Promise<readonly SecretFinding[]> {
  const scan = await import('../secrets/secret-scan.ts');
  return scan.scanForSecrets(texts);
}

async function redactLines(task: RedactionTask): Promise<Redacted> {
  const redaction = await import('../secrets/record-redaction.ts');
  return redaction.redactLines(task);
}

async function findSecretValues(texts: readonly ScannedText[]): Promise<readonly string[]> {
  const redaction = await import('../secrets/record-redaction.ts');
  return redaction.findSecretValues(texts);
}

async function requestOfIssue(issue: IssueText): Promise<string> {
  const issues = await import('../documents/labelled-issue.ts');
  return issues.requestOfIssue(issue);
}

/** A function of another module, as `in-worker.ts` names it. */
async function call(module: string, name: string, input: readonly unknown[]): Promise<unknown> {
  const functions = (await import(module)) as Readonly<
    Record<string, ((...input: readonly unknown[]) => unknown) | undefined>
  >;
  const carryOut = functions[name];
  if (carryOut === undefined) throw new Error(`${module} exports no function ${name}`);
  return carryOut(...input);
}

export const FOREIGN_TEXT_TASKS = {
  call,
  checkConstraints,
  manifestFaults,
  newDependencies,
  judgesNewlyNamed,
  readTestReport,
  filesWithTests,
  restoreTestParts,
  countAllAssertions,
  compareTests,
  extendMemory,
  selectMemory,
  parseSkill,
  scanForSecrets,
  redactLines,
  findSecretValues,
  requestOfIssue,
  selfRunningChanges,
  withSelfRunningContent,
};

export type ForeignTextTasks = typeof FOREIGN_TEXT_TASKS;
