/** Pauses that a person asks for: of a run together with the runs that work for it. */
import { type Caller, Conflict, type RunView } from '@autonomous/shared';
import type { Engine } from '../../engine/engine.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { openRunsBelow } from './open-runs-below.ts';
import { partOf } from './request-parts.ts';

export interface HoldsOptions {
  readonly engine: Pick<Engine, 'hold'>;
  readonly store: Pick<EventStore, 'listRuns'>;
}

/**
 * Pauses a run and then all open runs below it that wait for nobody.
 * @returns the run that was named
 * @throws {Conflict} when it has ended, or waits at a gate
 */
export async function pauseRun(
  { engine, store }: HoldsOptions,
  { userId }: Caller,
  runId: string,
  reason?: string,
): Promise<RunView> {
  const paused = await engine.hold(runId, userId, reason);
  for await (const { id } of openRunsBelow(store, runId)) await unlessLate(engine.hold(id, userId, reason));
  return paused;
}

/** Continues the runs below a run that a person paused. The run itself is continued after them, so that its gate stays until then. */
export async function releaseBelow(
  { engine, store }: { readonly engine: Pick<Engine, 'signal'>; readonly store: HoldsOptions['store'] },
  caller: Caller,
  runId: string,
): Promise<void> {
  for await (const { id, gate } of openRunsBelow(store, runId)) {
    if (gate?.reason !== 'held') continue;
    const payload = { by: caller.userId, gateId: gate.id };
    await unlessLate(engine.signal(id, 'RETRY_REQUESTED', payload, { gateId: gate.id }, partOf(caller, id).request));
  }
}

/** A run that has ended, waits or went on meanwhile stays as it is. */
async function unlessLate(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
  }
}
