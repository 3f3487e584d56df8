/** Names of the branches that runs write to. Pure. */
import { slugOf } from './slug.ts';

/** Branch of a run: `autonomous/<run>-<slug>`. */
export function branchOfRun(runId: string, title: string): string {
  return `autonomous/${runId}-${slugOf(title)}`;
}

/** Checks that a branch name has the form of this run's branches. A forged record can name any other branch. */
export function isBranchOfRun(branch: string, runId: string): boolean {
  const own = `autonomous/${runId}`;
  return branch === own || (branch.startsWith(`${own}-`) && /^[a-z0-9-]+$/.test(branch.slice(own.length)));
}
