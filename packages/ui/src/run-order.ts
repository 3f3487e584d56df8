/** The order in which a person wants to see runs. */
import { FINAL_STATUSES } from '@autonomous/shared';
import type { RunView } from '@autonomous/shared';

/** Does the run wait for a person? */
export function isWaiting(run: RunView): boolean {
  return run.gate !== null && !FINAL_STATUSES.has(run.status);
}

/** Runs that wait for a person, longest wait first; then those under way and those that are over, newest first. */
export function waitingFirst(runs: readonly RunView[]): readonly RunView[] {
  return runs.toSorted((left, right) => {
    const difference = group(left) - group(right);
    if (difference !== 0) return difference;
    return isWaiting(left) ? compare(waitsSince(left), waitsSince(right)) : compare(right.createdAt, left.createdAt);
  });
}

function group(run: RunView): number {
  if (isWaiting(run)) return 0;
  return FINAL_STATUSES.has(run.status) ? 2 : 1;
}

function waitsSince(run: RunView): string {
  return run.gate?.openedAt ?? run.createdAt;
}

/** ISO 8601 times of one zone sort as text. */
function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
