/** Finds the open run of a file, which commands go on with or refuse to start twice. */
import type { JsonObject, RunStart, RunView } from '@autonomous/shared';
import { ApiError, type Client } from '@autonomous/shared/client';
import { UsageError } from '../exit.ts';
import type { CliIo } from '../io.ts';

/**
 * Finds the newest open run of a workflow whose input is the wanted one. Anybody may have launched it.
 * @param isWanted decides by the run's input; empty for a run without one
 */
export async function findOpenRun(
  client: Client,
  { projectId, workflow }: { readonly projectId: string; readonly workflow: string },
  isWanted: (input: JsonObject) => boolean,
): Promise<RunView | undefined> {
  for (let cursor: string | undefined; ;) {
    const page = await client.listRuns({ projectId, workflow, open: true, limit: 200, cursor });
    for (const run of page.items) if (isWanted(await inputOf(client, run.id))) return run;
    if (page.nextCursor === null) return undefined;
    cursor = page.nextCursor;
  }
}

/** Input of a run, as its first event has it. */
export async function inputOf(client: Client, runId: string): Promise<JsonObject> {
  const [first] = await client.listEvents(runId, 0, 1);
  // The first event is RUN_STARTED, or RUN_QUEUED with the same data.
  const { start, ...own } = (first?.payload ?? {}) as Partial<RunStart> & { readonly start?: Partial<RunStart> };
  return (start ?? own).input ?? {};
}

/**
 * Refuses a second run of the same work, with the commands for the first.
 * @throws {UsageError} where the server has refused the launch for that; else the error itself
 */
export function refusedBeside(io: Pick<CliIo, 'program'>, error: unknown): never {
  const runId = error instanceof ApiError && error.status === 409 ? error.problem['runId'] : undefined;
  if (!(error instanceof ApiError) || typeof runId !== 'string') throw error;
  throw new UsageError(
    `${error.message}\nFollow it: ${io.program} watch ${runId}\nCancel it: ${io.program} cancel ${runId}`,
  );
}
