/** Makes the fork of a run and decides the gate that is open there, before anything of it is stored. */
import { Conflict, type JsonObject, type RunView, type ShownGate, treeOf } from '@autonomous/shared';
import { continueFork, type ForkedRun, forkRun, type ForkRequest } from '../core/fork.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { foldAll } from './run-commit.ts';
import { parseSignal, refusalOf } from './admission/signal-admission.ts';

/** A decision of the gate that is open where a run is forked. */
export type ForkSignal = { readonly type: string; readonly payload: JsonObject } & ShownGate;

export interface ForkPlan {
  readonly store: Pick<EventStore, 'readRun'>;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  readonly scrub: <Value>(value: Value) => Value;
  /** Id of the new run. */
  readonly runId: string;
  readonly source: RunView;
  readonly wanted: Omit<ForkRequest, 'runId' | 'tree' | 'now'>;
  /** `gateId` names the gate as the new run has it. Absent: no gate is decided. */
  readonly signal: ForkSignal | undefined;
  /** ISO 8601. */
  readonly timestamp: string;
}

/** @throws {Conflict} saying why the source cannot be forked there, or its gate does not take the signal */
export async function planFork(plan: ForkPlan): Promise<ForkedRun> {
  const { store, workflows, scrub, runId, source, wanted, signal, timestamp } = plan;
  const history = await store.readRun(source.id, 0);
  const erased = history.find(({ type, sequence }) => type === 'ERASED' && sequence <= wanted.at);
  if (erased) {
    const message = `event ${erased.sequence} was erased, and what followed from it cannot be computed again`;
    throw new Conflict(`Run ${source.id} cannot be forked at event ${wanted.at}: ${message}.`);
  }
  const forked = forkRun(
    history,
    (version) => workflows.find(source.workflow.name, version),
    scrub({
      ...wanted,
      ...(isOfRecord(source, wanted.at) ? { rebuilt: true as const } : {}),
      runId,
      tree: treeOf(source),
      now: timestamp,
    }),
  );
  const run = forkedOrRefused(forked, source.id, wanted.at);
  if (!signal) return run;
  const payload = parseSignal(run, signal.type, signal.payload);
  const view = foldAll(null, runId, 0, run.events);
  const refusal = refusalOf({ state: run.state, view }, signal.type, payload, signal);
  if (refusal) throw refusal;
  const decided = continueFork(run, { type: signal.type, payload: scrub(payload), timestamp });
  return forkedOrRefused(decided, source.id, wanted.at);
}

/** Whether all up to an event comes from a record: a fork there does not have the event that says so. */
export function isOfRecord({ rebuiltUpTo = 0 }: RunView, at: number): boolean {
  return at <= rebuiltUpTo;
}

/** @throws {Conflict} saying why the source cannot be forked at this event */
export function forkedOrRefused(fork: ReturnType<typeof forkRun>, sourceId: string, at: number): ForkedRun {
  if (fork.ok) return fork.run;
  throw new Conflict(`Run ${sourceId} cannot be forked at event ${at}: ${fork.message}.`);
}
