/** Finds the conflicts that a person can resolve in a clone of the project. */
import type { RunView } from '../run.ts';
import { shellWord } from '../text/shell-word.ts';

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

export interface ConflictCommands {
  /** Check the branch out and merge the base in. */
  readonly merge: readonly string[];
  /** Gives the result to the run, once the conflicts are resolved. */
  readonly push: string;
}

/** Commands that resolve the conflict in a clone of the project. */
export function conflictCommands({ branch, baseBranch }: BranchConflict): ConflictCommands {
  const own = shellWord(branch);
  const base = shellWord(`origin/${baseBranch}`);
  return {
    merge: [`git fetch origin ${own} ${shellWord(baseBranch)}`, `git switch ${own}`, `git merge ${base}`],
    push: `git commit --all && git push origin ${own}`,
  };
}
