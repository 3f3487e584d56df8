/** A run in memory, and how it is read from the store. */
import { noSuchRun, type PauseReason, type RunView, Unprocessable } from '@autonomous/shared';
import { holdsRunSlot, isFinal, newRun, rehydrate } from '../../core/advance.ts';
import type { WorkflowDefinition } from '../../core/definition.ts';
import type { WorkflowRegistry } from '../../core/registry.ts';
import { replay, versionBefore } from '../../core/replay.ts';
import type { RunState } from '../../core/run-state.ts';
import type { EventStore, StoredRun } from '../../event-store/event-store.ts';
import { findPendingWorkMismatch } from '../pending-work.ts';

/** A run in memory: its state after all that was handed to the store, committed or not. */
export interface LiveRun {
  readonly definition: WorkflowDefinition;
  state: RunState;
  view: RunView;
  /** The view as the disk has it, which readers get; `null` before the first commit. */
  committed: RunView | null;
  /** True while the run holds a run slot by what the disk has. */
  holdsSlot: boolean;
  eventsSinceSnapshot: number;
  bytesSinceSnapshot: number;
  /** Size of the last snapshot and the view beside it, as JSON. */
  snapshotBytes: number;
  /** Appends that are not yet on disk. */
  pending: number;
  /** Settles with the last append. */
  tail: Promise<unknown>;
}

/** Events since the last snapshot, and its size. */
export type SnapshotAge = Pick<LiveRun, 'eventsSinceSnapshot' | 'bytesSinceSnapshot' | 'snapshotBytes'>;

/** Takes a snapshot with the next step. */
export const SNAPSHOT_DUE: SnapshotAge = {
  eventsSinceSnapshot: Infinity,
  bytesSinceSnapshot: Infinity,
  snapshotBytes: 0,
};

/** A run as the store has it, or why it has to be quarantined. */
export type ReadRun =
  | { readonly ok: true; readonly run: LiveRun }
  | { readonly ok: false; readonly reason: PauseReason; readonly message: string };

/** A run before its first event. */
export function unbegunRun(definition: WorkflowDefinition, runId: string): LiveRun {
  return {
    definition,
    state: newRun(runId),
    view: null as unknown as RunView, // the first event gives it
    committed: null,
    holdsSlot: false,
    eventsSinceSnapshot: 0,
    bytesSinceSnapshot: 0,
    snapshotBytes: 0,
    pending: 0,
    tail: Promise.resolve(),
  };
}

/** A run of which everything is on disk. */
export function committedRun(
  definition: WorkflowDefinition,
  state: RunState,
  view: RunView,
  snapshotAge: SnapshotAge,
): LiveRun {
  const stored = { committed: view, holdsSlot: holdsRunSlot(state), pending: 0, tail: Promise.resolve() };
  return { definition, state, view, ...snapshotAge, ...stored };
}

/** About as many bytes as its state has as JSON; the same for as long as it rests. */
export function sizeOf(run: LiveRun): number {
  return run.snapshotBytes + run.bytesSinceSnapshot;
}

/** Ways on for a run whose history this program does not take, to be read after the fault. @param event the first that it does not take */
export function wayOn(runId: string, event: number): string {
  return `Go on in a new run with "fork ${runId} --at N", N being an event before ${event}; or retry it on a program that takes this history`;
}

/**
 * Reads a run: its snapshot, and the replay of the events since then.
 * @throws {NotFound}
 */
export async function readLiveRun(
  store: Pick<EventStore, 'loadRun'>,
  workflows: Pick<WorkflowRegistry, 'find'>,
  runId: string,
): Promise<ReadRun> {
  let stored: StoredRun | null;
  try {
    stored = await store.loadRun(runId);
  } catch (error) {
    // A part of the run is not valid JSON any more. Faults of the whole database show at the other runs too.
    if (!(error instanceof Unprocessable)) throw error;
    return { ok: false, reason: 'poisoned', message: error.message };
  }
  if (!stored) throw noSuchRun(runId);
  const { view, snapshot, events, activities, timers, contexts } = stored;
  const { name } = view.workflow;
  const version = versionBefore(events) ?? view.workflow.version;
  const definition = workflows.find(name, version);
  if (!definition) {
    const message = `Workflow '${name}' version ${version} is not registered on this server.`;
    return { ok: false, reason: 'definition_missing', message };
  }
  let from: RunState;
  try {
    from = snapshot ? rehydrate(definition.machine, snapshot.data) : newRun(runId);
  } catch (error) {
    return { ok: false, reason: 'poisoned', message: error instanceof Error ? error.message : String(error) };
  }
  const replayed = replay(definition, from, events, (other) => workflows.find(name, other), contexts);
  if (!replayed.ok) {
    const { sequence, message } = replayed;
    return { ok: false, reason: 'poisoned', message: `event ${sequence}: ${message}. ${wayOn(runId, sequence)}` };
  }
  const { state } = replayed;
  const difference = findPendingWorkMismatch(state, activities, timers);
  if (difference && !isFinal(view.status)) return { ok: false, reason: 'poisoned', message: difference };
  const snapshotAge: SnapshotAge = {
    eventsSinceSnapshot: events.length,
    bytesSinceSnapshot: events.reduce((bytes, event) => bytes + JSON.stringify(event.payload).length, 0),
    snapshotBytes: snapshot ? JSON.stringify(snapshot.data).length + JSON.stringify(view).length : 0,
  };
  return { ok: true, run: committedRun(replayed.definition, state, view, snapshotAge) };
}
