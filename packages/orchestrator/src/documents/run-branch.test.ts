import { expect, it } from 'vitest';
import { branchOfRun, isBranchOfRun } from './run-branch.ts';

const BRANCH = branchOfRun('abcdef-ghijkm', 'Plan it');

it('belongs to the run whose id it begins with, and to no other id that is a part of it or goes on as it does', () => {
  for (const own of [BRANCH, 'autonomous/abcdef-ghijkm', `${BRANCH}-2`])
    expect(isBranchOfRun(own, 'abcdef-ghijkm')).toBe(true);
  for (const other of ['abcdef', 'abcdef-ghijkm-plan', 'abcdef-ghijkm-plan-it', 'ghijkm', 'abcdef-ghijk'])
    expect(isBranchOfRun(BRANCH, other)).toBe(false);
  for (const branch of ['main', 'autonomous/abcdef-ghijkm-x; curl', 'autonomous/record'])
    expect(isBranchOfRun(branch, 'abcdef-ghijkm')).toBe(false);
});
