/** The run at the top of a tree of child runs: what is kept of a run is kept for as long as that one goes on. */
import type { RunView } from '@autonomous/shared';
import type { EventStore } from '../../event-store/event-store.ts';

/** @returns the run itself where it has no parent, or the highest run that the store has; it ends where the parents of a record go round */
export async function topOf(store: Pick<EventStore, 'loadView'>, view: RunView): Promise<RunView> {
  let top = view;
  const visited = new Set<string>();
  while (top.parent !== undefined && !visited.has(top.id)) {
    visited.add(top.id);
    const parent = await store.loadView(top.parent.runId);
    if (parent === null) break;
    top = parent;
  }
  return top;
}
