/** Finds the conflicts that a person can resolve in a clone of the project. */
import type { RunView } from '../run.ts';

export interface BranchConflict {
  /** The run's branch, which the remote has. */
  readonly branch: string;
  readonly baseBranch: string;
}

/**
 * The conflict that the run's open gate is about.
 * @returns `null` unless the gate lets a person choose what to do about the run's branch: then it takes in what was pushed to it
 */
export function branchConflictOf({
  gate,
  branch,
  config,
}: Pick<RunView, 'gate' | 'branch' | 'config'>): BranchConflict | null {
  if (gate?.reason !== 'merge_conflict') return null;
  const options = gate.question?.options ?? [];
  const isNamed = options.some((option) => option.split(/[\s,:]+/).includes(branch));
  return isNamed ? { branch, baseBranch: config.git.baseBranch } : null;
}

/** Commands that check the branch out with the base merged in, in a clone of the project. */
export function conflictCommands({ branch, baseBranch }: BranchConflict): readonly string[] {
  return [
    `git fetch origin ${branch} ${baseBranch}`,
    `git switch ${branch}`,
    `git merge origin/${baseBranch}  # then resolve the conflicts in the files that it names`,
    `git commit --all && git push origin ${branch}`,
  ];
}
