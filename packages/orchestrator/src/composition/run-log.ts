/** Writes to the server's log what becomes of runs: each change of status, each decision with who made it, and at debug each step. */
import type { RunStatus, RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EngineMessage } from '../engine/step-feed.ts';

/**
 * @param open runs that have not ended, as they are when the engine starts
 * @returns what to subscribe to the engine's messages
 */
export function createRunLog(log: Logger, open: readonly Pick<RunView, 'id' | 'status'>[]) {
  const known = new Map<string, RunStatus>(open.map(({ id, status }) => [id, status]));
  return (message: EngineMessage): void => {
    if (!('view' in message)) return;
    const { view, events } = message;
    const { id: runId, projectId: project, status: to } = view;
    log.debug({ runId, project, events: events.map(({ type }) => type) }, 'a step of a run');
    for (const event of events) {
      const { by } = event.payload;
      if (typeof by === 'string') log.info({ runId, project, by, type: event.type }, 'a run was told something');
    }
    const from = known.get(runId) ?? null;
    if (from === to) return;
    known.set(runId, to);
    const change = { runId, project, from, to, ...reasonOf(view) };
    if (to === 'paused') log.warn(change, 'a run paused');
    else log.info(change, 'a run changed its status');
  };
}

/** Of a run that waits, its gate; of one that failed or was cancelled, why. */
function reasonOf({ gate, failure }: RunView): object {
  if (gate !== null) {
    const { kind, reason, summary } = gate;
    return { gate: kind, ...(reason === undefined ? {} : { reason }), what: summary };
  }
  return failure === undefined ? {} : { what: failure };
}
