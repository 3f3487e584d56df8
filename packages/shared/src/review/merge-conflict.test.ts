import { expect, it } from 'vitest';
import { aGate, aRun } from '../a-run.fixture.ts';
import { branchConflictOf, conflictCommands } from './merge-conflict.ts';

const branch = 'autonomous/r-1-login';
const conflict = (options: readonly string[], reason: 'merge_conflict' | 'push_rejected' = 'merge_conflict') =>
  aRun({
    branch,
    gate: aGate({
      kind: 'pause',
      reason,
      question: { question: 'What now?', context: '', options, responseType: 'single_choice' },
    }),
  });

it('a conflict is one of branches where its gate has a choice about the run’s branch', () => {
  const takeIn = `Take in what was pushed to ${branch}, and check it again`;
  const found = branchConflictOf(conflict(['Have the agent try again', takeIn]));
  expect(found).toEqual({ branch, baseBranch: 'main' });
  expect(branchConflictOf(conflict(['Have the agent try again']))).toBeNull();
  expect(branchConflictOf(conflict([`Take in what was pushed to ${branch}-beside`]))).toBeNull();
  expect(branchConflictOf(conflict([takeIn], 'push_rejected'))).toBeNull();
  expect(branchConflictOf(aRun({ branch }))).toBeNull();
  expect(found === null ? [] : conflictCommands(found)).toEqual([
    `git fetch origin ${branch} main`,
    `git switch ${branch}`,
    'git merge origin/main  # then resolve the conflicts in the files that it names',
    `git commit --all && git push origin ${branch}`,
  ]);
});
