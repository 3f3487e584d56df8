/** The state of an item whose result is on a branch that people merge: the base has it as completed only with that merge. */
import type { RoadmapItem } from './roadmap-file.ts';

const WORDS = /^Its result is on the branch autonomous\/\S+: merge it into \S+\.$/;

/** The blocker that stands in the base meanwhile. */
export function awaitingMerge(branch: string, baseBranch: string): string {
  return `Its result is on the branch ${branch}: merge it into ${baseBranch}.`;
}

/** The blocker of an item that waits for the merge of its result; `null` where it does not. */
export function mergeBlocker({ status, workflowState }: RoadmapItem): string | null {
  if (status === 'completed' || workflowState?.phase !== 'committing') return null;
  return workflowState.blockers?.find((blocker) => WORDS.test(blocker)) ?? null;
}
