/** Messages of people to the agents of a run and of the runs that work for it. */
import { type Caller, Conflict, InvalidRequest, type ToldRun, type UnreachedRun } from '@autonomous/shared';
import type { Engine } from '../../engine/engine.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { openRunsBelow } from './open-runs-below.ts';
import { partOf } from './request-parts.ts';

export interface MessagesOptions {
  readonly engine: Pick<Engine, 'signal'>;
  readonly store: Pick<EventStore, 'listRuns'>;
}

/**
 * Tells a run and all open runs below it: where a child run works, its agents are those that the person means. Sent again under
 * the same key, it reaches each of them once.
 * @returns the run that was named, with those below it that the message did not reach
 */
export async function sendMessage(
  { engine, store }: MessagesOptions,
  caller: Caller,
  runId: string,
  text: string,
): Promise<ToldRun> {
  const tell = (id: string, { userId, request }: Caller) =>
    engine.signal(id, 'MESSAGE_SENT', { by: userId, text }, undefined, request);
  const told = await tell(runId, caller);
  const unreached: UnreachedRun[] = [];
  for await (const { id, status } of openRunsBelow(store, runId)) {
    try {
      await tell(id, partOf(caller, id));
    } catch (error) {
      if (!(error instanceof Conflict || error instanceof InvalidRequest)) throw error;
      const why =
        status === 'queued'
          ? 'It waits in the queue and has no agents yet: send it again once it works.'
          : error.message;
      unreached.push({ runId: id, why });
    }
  }
  return unreached.length === 0 ? told : { ...told, unreached };
}
