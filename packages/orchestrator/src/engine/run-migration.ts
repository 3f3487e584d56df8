/** Finds out whether and how a run can go on with another version of its workflow, before anything of it changes. */
import {
  Conflict,
  type EventPayloads,
  type JsonObject,
  NotFound,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { EventStore } from '../event-store/event-store.ts';
import { advance, newRun, rehydrate } from '../core/advance.ts';
import type { RunState } from '../core/run-state.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import { isQuarantine, replay } from '../core/replay.ts';
import { differ } from './pending-work.ts';

export interface PlannedMigration {
  /** The version with which the run continues. */
  readonly definition: WorkflowDefinition;
  /** State to which RUN_MIGRATED is applied. */
  readonly state: RunState;
  readonly payload: JsonObject & EventPayloads['RUN_MIGRATED'];
}

export interface MigrationRequest {
  readonly store: EventStore;
  /** The run's workflow in any of its versions. */
  readonly versions: (version: number) => WorkflowDefinition | undefined;
  /** As the disk has it. */
  readonly view: RunView;
  readonly to: number;
  readonly by: string;
}

/**
 * @throws {NotFound} there is no such version
 * @throws {Conflict} the run has ended or has this version, or cannot go on with it; `extra.sequence` is then the first
 *   event that would be another one
 */
export async function planMigration({ store, versions, view, to, by }: MigrationRequest): Promise<PlannedMigration> {
  const { id: runId, workflow } = view;
  const definition = versions(to);
  if (!definition) throw new NotFound(`There is no version ${to} of workflow '${workflow.name}' on this server.`);
  if (view.completedAt !== undefined || view.status === 'cancelled')
    throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
  if (workflow.version === to) throw new Conflict(`Run ${runId} has version ${to} of '${workflow.name}' already.`);

  const events = await store.readRun(runId, 0);
  const plan = (state: RunState, how: 'replayed' | 'converted'): PlannedMigration => {
    const payload = { from: workflow.version, to, fingerprint: definition.fingerprint, by, how };
    return { definition, state, payload };
  };
  const replayed = replay(definition, newRun(runId), events);
  const otherWork = replayed.ok ? await otherOpenWork(store, runId, replayed.state) : null;
  if (replayed.ok && otherWork === null) return plan(replayed.state, 'replayed');
  if (!definition.migrations?.[workflow.version]) {
    const where = replayed.ok
      ? `after event ${view.lastSequence}: ${otherWork}`
      : `event ${replayed.sequence}: ${replayed.message}`;
    throw new Conflict(
      `Run ${runId} would go another way with version ${to} of '${workflow.name}': ${where}. ` +
        `Version ${to} has no migration from version ${workflow.version} either; the run stays as it is.`,
      { extra: { sequence: replayed.ok ? view.lastSequence : replayed.sequence } },
    );
  }
  const state = await stateBefore(store, versions, view, events);
  const damage = await otherOpenWork(store, runId, state);
  // Something is wrong that a migration would hide.
  if (damage !== null)
    throw new Conflict(`Run ${runId} is damaged: ${damage}.`, { extra: { sequence: state.sequence } });
  const planned = plan(state, 'converted');
  const timestamp = events.at(-1)?.timestamp ?? view.updatedAt;
  const tried = advance(definition, state, { type: 'RUN_MIGRATED', payload: planned.payload, timestamp });
  if (tried.ok) return planned;
  throw new Conflict(
    `Run ${runId} cannot be converted to version ${to} of '${workflow.name}': ${tried.reason === 'late' ? 'it does not accept a migration' : tried.message}.`,
    { extra: { sequence: view.lastSequence } },
  );
}

/** The run's state under the version that it has now. */
async function stateBefore(
  store: EventStore,
  versions: MigrationRequest['versions'],
  { id: runId, workflow: { name, version } }: RunView,
  events: readonly WorkflowEvent[],
): Promise<RunState> {
  const definition = versions(version);
  const stored = await store.loadRun(runId);
  const snapshot = stored?.snapshot ?? null;
  const since = events.filter((event) => event.sequence > (snapshot?.sequence ?? 0));
  if (!definition) return unread(snapshot?.data as RunState | undefined, since, { runId, name, version });
  const from = snapshot ? rehydrate(definition.machine, snapshot.data) : newRun(runId);
  const replayed = replay(definition, from, since, versions);
  if (replayed.ok) return replayed.state;
  throw new Conflict(
    `Run ${runId} does not replay under its own version ${version}: event ${replayed.sequence}: ${replayed.message}.`,
    { extra: { sequence: replayed.sequence } },
  );
}

/** Without its definition a state is known only where it was stored and nothing but pauses of the engine came since. */
function unread(
  stored: RunState | undefined,
  since: readonly WorkflowEvent[],
  { runId, name, version }: { readonly runId: string; readonly name: string; readonly version: number },
): RunState {
  const next = since.find((event) => !isQuarantine(event));
  if (stored === undefined || next) {
    throw new Conflict(
      `Version ${version} of '${name}' is not on this server, and the state of run ${runId} after event ${next?.sequence ?? 0} follows from it: ` +
        'bring that version back, then migrate.',
      { extra: { sequence: next?.sequence ?? 0 } },
    );
  }
  const last = since.at(-1);
  return last
    ? { ...stored, sequence: last.sequence, parked: String(last.payload['message'] ?? 'quarantined') }
    : stored;
}

/** Where the work that the store holds open is not what the state says, in words; `null` where it is. */
async function otherOpenWork(store: EventStore, runId: string, state: RunState): Promise<string | null> {
  const [activities, timers] = await Promise.all([store.openActivities(runId), store.openTimers(runId)]);
  return (
    differ('activities', Object.values(state.activities), activities) ??
    differ(
      'timers',
      Object.values(state.timers).map(({ key }) => key),
      timers,
    )
  );
}
