/** The outcome of a child run, as its parent is told it. */
import { type JsonValue, type RunView, TerminalFailure } from '@autonomous/shared';
import { cancelledChildText } from '../../core/cancelled-child.ts';
import type { ChildResult } from '../../core/child-runs.ts';
import type { EventStore } from '../../event-store/event-store.ts';

/** Events at the end of a run among which its cancellation is. */
const LAST_EVENTS = 20;

/**
 * The result of a child run that has completed.
 * @param outputOf asked only of a run that has
 * @throws {TerminalFailure} where it failed or was cancelled
 */
export async function outcomeOfChild(
  store: Pick<EventStore, 'readRun'>,
  view: RunView,
  outputOf: () => Promise<JsonValue>,
): Promise<JsonValue> {
  const { id, status, workflow, branch, baseCommit, headCommit, codeTree } = view;
  if (status === 'failed')
    throw new TerminalFailure(
      `Child run ${id} of workflow '${workflow.name}' failed: ${view.failure ?? 'it gave no reason'}`,
    );
  if (status !== 'completed')
    throw new TerminalFailure(cancelledChildText(id, workflow.name, await reasonOf(store, view)));
  const result: ChildResult = {
    runId: id,
    status,
    branch,
    baseCommit: baseCommit ?? null,
    headCommit: headCommit ?? null,
    codeTree: codeTree ?? null,
    output: await outputOf(),
  };
  return result;
}

async function reasonOf(store: Pick<EventStore, 'readRun'>, { id, lastSequence }: RunView): Promise<string> {
  const last = await store.readRun(id, Math.max(0, lastSequence - LAST_EVENTS));
  const { by, reason } = last.findLast(({ type }) => type === 'RUN_CANCELLED')?.payload ?? {};
  const who = typeof by === 'string' ? ` by ${by}` : '';
  return typeof reason === 'string' ? `${who}: ${reason}` : who;
}
