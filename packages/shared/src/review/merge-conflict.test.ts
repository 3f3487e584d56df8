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
});

it('the commands of a conflict hold nothing but what a shell carries out', () => {
  expect(conflictCommands({ branch, baseBranch: 'main' })).toEqual({
    merge: [`git fetch origin ${branch} main`, `git switch ${branch}`, 'git merge origin/main'],
    push: `git commit --all && git push origin ${branch}`,
  });
  expect(conflictCommands({ branch, baseBranch: 'a;b' }).merge).toEqual([
    `git fetch origin ${branch} 'a;b'`,
    `git switch ${branch}`,
    "git merge 'origin/a;b'",
  ]);
});
