/** The open runs below a run. */
import type { RunView } from '@autonomous/shared';
import type { EventStore } from '../../event-store/event-store.ts';

const PAGE = 100;

/** All generations, each run before those below it. */
export async function* openRunsBelow(store: Pick<EventStore, 'listRuns'>, parentId: string): AsyncGenerator<RunView> {
  for (let cursor: string | undefined; ;) {
    const page = await store.listRuns({ parentId, open: true, limit: PAGE, cursor });
    for (const run of page.items) {
      yield run;
      yield* openRunsBelow(store, run.id);
    }
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}
