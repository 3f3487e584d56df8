/**
 * Makes a run in the store from its record: the same steps with the same hashes, and what follows from them, which replay gives.
 * A run of which the store has the beginning is continued.
 */
import { foldRun, type RunView, Unprocessable } from '@autonomous/shared';
import { dehydrate, isFinal, newRun } from '../core/advance.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { replay, type Replay } from '../core/replay.ts';
import type { EventStore, NewActivity, RunCommit, StoredTimer } from '../event-store/event-store.ts';
import { foldAll, newEvent } from './run-commit.ts';
import { eventsOf, type RecordedRun } from './recorded-run.ts';

export interface ImportOptions {
  readonly store: Pick<EventStore, 'append' | 'tipOf' | 'openKeys' | 'setMark'>;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  /** Nothing is stored of an open run whose workflow does not give the same history again. Default: its history is. */
  readonly mustReplay?: boolean;
}

export interface ImportedRun {
  readonly view: RunView;
  /** Why nobody can go on with it as it is; `null` when its workflow gives the same history again, or it has ended. */
  readonly fault: string | null;
  /** True where nothing of it goes on before a person decides: it has ended, or waits at a gate beside which nothing runs. */
  readonly isAtRest: boolean;
}

/** Reasons of pauses that the server ends by itself. */
const SELF_RESUMING: ReadonlySet<string> = new Set(['model_unavailable', 'rate_limited', 'storage_full']);

/** Name of the mark with the tip of a record without links, whose run has a chain of its own since it was imported. */
export const rechainedMark = (runId: string): string => `record.rechained.${runId}`;

/**
 * Stores the steps of a recorded run that the store does not have yet. The caller has checked that those it has are the same.
 * @throws {Conflict} when the store has other events of the run
 * @throws {Unprocessable} with `mustReplay`
 */
export async function importRun(options: ImportOptions, run: RecordedRun): Promise<ImportedRun> {
  const { store } = options;
  const { runId, steps } = run;
  const replayed = replayRecorded(options.workflows, run);
  if (options.mustReplay === true && !replayed.ok && !isOver(run)) throw new Unprocessable(replayed.message);
  const known = (await store.tipOf(runId))?.sequence ?? 0;
  const stored = known === 0 ? { activities: [], timers: [] } : await store.openKeys(runId);
  let view: RunView | null = null;
  let sequence = 0;
  let isWhole = true;
  const appended: Promise<unknown>[] = [];
  for (const [index, { events, context }] of steps.entries()) {
    const before = sequence;
    view = foldAll(view, runId, before, events.map(asRead));
    sequence += events.length;
    // What follows from a payload that is not whole cannot be computed again to the byte.
    isWhole &&= events.every(({ withheld }) => withheld === undefined);
    if (sequence <= known) continue;
    const isLast = index === steps.length - 1;
    const commit: RunCommit = {
      runId,
      expectedSequence: before,
      events,
      ...(isLast ? openWork(run, replayed, view, stored) : NO_WORK),
      view,
      clarifications: isLast ? view.clarifications : [],
      ...(context === null || !isWhole ? {} : { context }),
    };
    appended.push(store.append(commit));
  }
  await Promise.all(appended);
  if (view === null) throw new Error(`the record of run ${runId} has no events`);
  if (!run.isChained) await store.setMark(rechainedMark(runId), `${run.tip.sequence} ${run.tip.hash}`);
  return {
    view,
    fault: replayed.ok || isFinal(view.status) ? null : replayed.message,
    isAtRest: isAtRest(view, replayed),
  };
}

/** Pauses an imported run, so that a person looks at it before it goes on. */
export async function pauseImported(
  { store }: Pick<ImportOptions, 'store'>,
  view: RunView,
  reason: 'rebuilt' | 'poisoned',
  message: string,
  at: Date,
): Promise<RunView> {
  const event = newEvent(
    'input',
    {
      type: 'RUN_PAUSED',
      payload: {
        gate: 'pause',
        stage: view.currentStage,
        decisions: ['retry'],
        summary: message,
        details: {},
        reason,
        message,
      },
    },
    at.toISOString(),
  );
  const paused = foldAll(view, view.id, view.lastSequence, [event]);
  await store.append({
    runId: view.id,
    expectedSequence: view.lastSequence,
    events: [event],
    ...NO_WORK,
    view: paused,
    clarifications: [],
  });
  return paused;
}

const NO_WORK = { startActivities: [], endActivities: [], setTimers: [], clearTimers: [] } as const;

/** An erased event says nothing of a view. */
function asRead(event: RecordedRun['steps'][number]['events'][number]): Parameters<typeof foldAll>[3][number] {
  return event.withheld?.why === 'erased' ? { ...event, type: 'ERASED', payload: { type: event.type } } : event;
}

type Replayed = Replay | { readonly ok: false; readonly message: string };

/** The state after the last event, under the versions that made the history. Contexts are compared as far as all payloads are whole. */
function replayRecorded(workflows: Pick<WorkflowRegistry, 'find'>, run: RecordedRun): Replayed {
  const events = eventsOf(run);
  const view = events.reduce<RunView | null>((folded, event) => foldRun(folded, event), null);
  if (view === null) return { ok: false, message: 'event 1 does not begin a run' };
  const { name } = view.workflow;
  const migrated = events.find(({ type, origin }) => type === 'RUN_MIGRATED' && origin === 'input');
  const version = migrated === undefined ? view.workflow.version : Number(migrated.payload['from']);
  const definition = workflows.find(name, version);
  if (definition === undefined)
    return {
      ok: false,
      message: `workflow '${name}' version ${version} is not on this server; name it in AUTONOMOUS_WORKFLOWS`,
    };
  const contexts = new Map<number, NonNullable<RecordedRun['steps'][number]['context']>>();
  for (const { events: ofStep, context } of run.steps) {
    if (ofStep.some(({ withheld }) => withheld !== undefined)) break;
    const last = ofStep.at(-1)?.sequence;
    if (context !== null && last !== undefined) contexts.set(last, context);
  }
  const replayed = replay(definition, newRun(run.runId), events, (other) => workflows.find(name, other), contexts);
  return replayed.ok ? replayed : { ok: false, message: `event ${replayed.sequence}: ${replayed.message}` };
}

/** What the run has open after its last step, beside what the store has of it. */
function openWork(
  { runId }: RecordedRun,
  replayed: Replayed,
  view: RunView,
  stored: { readonly activities: readonly string[]; readonly timers: readonly string[] },
): Pick<RunCommit, 'startActivities' | 'endActivities' | 'setTimers' | 'clearTimers' | 'snapshot'> {
  if (!replayed.ok || isFinal(view.status))
    return { ...NO_WORK, endActivities: stored.activities, clearTimers: stored.timers };
  const { state, definition, started } = replayed;
  const open = new Set(Object.values(state.activities));
  const timers = Object.values(state.timers).map(({ key, event, dueAt }): StoredTimer => ({
    key,
    runId,
    event,
    dueAt,
  }));
  const known = new Set(stored.activities);
  const activities = [...started.values()].flatMap(({ at, ...activity }): readonly NewActivity[] =>
    open.has(activity.key) && !known.has(activity.key) ? [{ ...activity, runId, startedAt: at, waits: true }] : [],
  );
  return {
    startActivities: activities,
    endActivities: stored.activities.filter((key) => !open.has(key)),
    setTimers: timers,
    clearTimers: stored.timers.filter((key) => !timers.some((timer) => timer.key === key)),
    snapshot: dehydrate(definition.machine, state),
  };
}

function isOver(run: RecordedRun): boolean {
  const view = eventsOf(run).reduce<RunView | null>((folded, event) => foldRun(folded, event), null);
  return view !== null && isFinal(view.status);
}

function isAtRest(view: RunView, replayed: Replayed): boolean {
  if (isFinal(view.status)) return true;
  if (!replayed.ok || view.gate === null || SELF_RESUMING.has(view.gate.reason ?? '')) return false;
  const { activities, timers, parked } = replayed.state;
  return parked !== null || (Object.keys(activities).length === 0 && Object.keys(timers).length === 0);
}
