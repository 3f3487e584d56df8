/** Child runs under their parents, as lists, trees and pages show them. */
import { FINAL_STATUSES, progressOf, type RunView, type WorkflowInfo } from '@autonomous/shared';

/** Child runs by the id of their parent, in the order in which they were started. */
export type ChildrenOf = ReadonlyMap<string, readonly RunView[]>;

export function childrenByParent(runs: Iterable<RunView>): ChildrenOf {
  const children = new Map<string, RunView[]>();
  for (const run of runs) {
    if (run.parent === undefined) continue;
    const siblings = children.get(run.parent.runId);
    if (siblings === undefined) children.set(run.parent.runId, [run]);
    else siblings.push(run);
  }
  for (const siblings of children.values()) {
    siblings.sort((one, other) => compare(one.createdAt, other.createdAt) || compare(one.id, other.id));
  }
  return children;
}

/** Does the run stand at the top of a list: nobody started it as a child, or its parent is not in the list? */
export function isTop(run: RunView, isListed: (id: string) => boolean): boolean {
  return run.parent === undefined || !isListed(run.parent.runId);
}

/** A run and all runs below it, itself first. */
export function familyOf(run: RunView, children: ChildrenOf): readonly RunView[] {
  return [run, ...(children.get(run.id) ?? []).flatMap((child) => familyOf(child, children))];
}

/**
 * `3 of 7 phases merged`, as the workflow counts, else `1 of 2 child runs` that are over; `null` for a run without either.
 * @param workflow the workflow of the run; absent: what is counted is not named
 */
export function progressText(
  run: RunView,
  children: readonly RunView[],
  workflow?: Pick<WorkflowInfo, 'progressWord'>,
): string | null {
  if (run.progress !== undefined) return progressOf(run.progress, workflow);
  if (children.length === 0) return null;
  const over = children.filter(({ status }) => FINAL_STATUSES.has(status)).length;
  return `${over} of ${children.length} child ${children.length === 1 ? 'run' : 'runs'}`;
}

/** `1 child run waits for you`, in a list and on the page of the parent. */
export function waitingText(count: number): string {
  return `${count} child ${count === 1 ? 'run waits' : 'runs wait'} for you`;
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
