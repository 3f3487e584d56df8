/**
 * Tasks of the worker of `foreign-text.ts`. A task takes and returns plain data. A task that needs a heavy library
 * imports it on first use.
 */
import { checkConstraints } from './constraint-check.ts';
import { newDependencies } from './dependencies.ts';
import { manifestFaults } from './manifest-faults.ts';
import { judgesNewlyNamed } from './judge-names.ts';
import { extendMemory } from './memory.ts';
import type { Redacted, RedactionTask } from './record-redaction.ts';
import type { ScannedText, SecretFinding } from './secret-scan.ts';
import { selfRunningChanges, withSelfRunningContent } from './self-running.ts';
import { selectMemory } from './solution-memory.ts';
import { parseSkill } from './skill-file.ts';

async function scanForSecrets(texts: readonly ScannedText[]): Promise<readonly SecretFinding[]> {
  const scan = await import('./secret-scan.ts');
  return scan.scanForSecrets(texts);
}

async function redactLines(task: RedactionTask): Promise<Redacted> {
  const redaction = await import('./record-redaction.ts');
  return redaction.redactLines(task);
}

async function findSecretValues(texts: readonly ScannedText[]): Promise<readonly string[]> {
  const redaction = await import('./record-redaction.ts');
  return redaction.findSecretValues(texts);
}

export const FOREIGN_TEXT_TASKS = {
  checkConstraints,
  manifestFaults,
  newDependencies,
  judgesNewlyNamed,
  extendMemory,
  selectMemory,
  parseSkill,
  scanForSecrets,
  redactLines,
  findSecretValues,
  selfRunningChanges,
  withSelfRunningContent,
};

export type ForeignTextTasks = typeof FOREIGN_TEXT_TASKS;
