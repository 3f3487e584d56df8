/** Names of the branches that runs write to. Pure. */
import { slugOf } from './slug.ts';

/** Branch of a run: `autonomous/<run>-<slug>`. */
export function branchOfRun(runId: string, title: string): string {
  return `autonomous/${runId}-${slugOf(title)}`;
}

/** Whether a branch has the form of this run's own, or of the one beside it: whoever writes a record may have named any other. */
export function isBranchOfRun(branch: string, runId: string): boolean {
  const own = `autonomous/${runId}`;
  return branch === own || (branch.startsWith(`${own}-`) && /^[a-z0-9-]+$/.test(branch.slice(own.length)));
}
