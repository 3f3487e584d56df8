/** Lists the newest runs with their parents and all runs below them. */
import { type RunView, treeOf } from '@autonomous/shared';
import { ApiError, type Client } from '@autonomous/shared/client';

const PAGE = 200;

/**
 * Runs of the trees with the newest runs, newest first: for each of them its top run and all child runs.
 * @param limit how many top runs at most
 */
export async function listTrees(
  client: Pick<Client, 'listRuns' | 'getRun'>,
  limit: number,
): Promise<readonly RunView[]> {
  const runs = new Map<string, RunView>();
  /** Top runs that are older than the pages that were read: some of their child runs may be as well. */
  const older: RunView[] = [];
  const tops = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await client.listRuns({ limit: PAGE, cursor });
    for (const run of page.items) runs.set(run.id, run);
    for (const run of page.items) {
      if (tops.size === limit) break;
      const top = await topOf(client, runs, run);
      if (!tops.has(top.id) && !runs.has(top.id)) older.push(top);
      tops.add(top.id);
    }
    cursor = page.nextCursor ?? undefined;
  } while (tops.size < limit && cursor !== undefined);
  for (const top of older) for (const run of await treeAt(client, top)) runs.set(run.id, run);
  const listed = [...runs.values()].filter((run) => tops.has(knownTopOf(runs, run)));
  return listed.toSorted((one, other) => compare(other.createdAt, one.createdAt) || compare(other.id, one.id));
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/** The top run of its tree; a run whose parent cannot be read is a top run itself. It ends where parents go round. */
async function topOf(
  client: Pick<Client, 'getRun'>,
  runs: ReadonlyMap<string, RunView>,
  run: RunView,
): Promise<RunView> {
  let top = run;
  const visited = new Set<string>();
  try {
    while (top.parent !== undefined && !visited.has(top.id)) {
      visited.add(top.id);
      top = runs.get(top.parent.runId) ?? (await client.getRun(top.parent.runId));
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  return top;
}

function knownTopOf(runs: ReadonlyMap<string, RunView>, run: RunView): string {
  let top = run;
  const visited = new Set<string>();
  for (;;) {
    visited.add(top.id);
    const parent = top.parent && runs.get(top.parent.runId);
    if (parent === undefined || visited.has(parent.id)) return top.id;
    top = parent;
  }
}

/** The run and all others of its tree; a fork and its source are of one tree. */
async function treeAt(client: Pick<Client, 'listRuns'>, top: RunView): Promise<readonly RunView[]> {
  const runs: RunView[] = [top];
  let cursor: string | undefined;
  do {
    const page = await client.listRuns({ treeId: treeOf(top), limit: PAGE, cursor });
    runs.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return runs;
}
