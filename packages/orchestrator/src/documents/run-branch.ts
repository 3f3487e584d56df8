/** Names of the branches that runs write to. Pure. */
import { slugOf } from './slug.ts';

/** Branch of a run: `autonomous/<run>-<slug>`. */
export function branchOfRun(runId: string, title: string): string {
  return `autonomous/${runId}-${slugOf(title)}`;
}

/** The run of a branch whose id has the form that servers give: whatever follows, no other run's. */
const OWNER = /^autonomous\/([a-z0-9]{6}-[a-z0-9]{6})(?:-|$)/;

/**
 * Checks that a branch name has the form of this run's branches. A forged record can name any other branch, and an id that is the beginning of
 * another one, or goes on as its branch does.
 */
export function isBranchOfRun(branch: string, runId: string): boolean {
  const owner = OWNER.exec(branch)?.[1];
  if (owner !== undefined && owner !== runId) return false;
  const own = `autonomous/${runId}`;
  return branch === own || (branch.startsWith(`${own}-`) && /^[a-z0-9-]+$/.test(branch.slice(own.length)));
}
