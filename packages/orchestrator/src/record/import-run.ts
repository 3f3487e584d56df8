/**
 * Makes a run in the store from its record: the same steps with the same hashes, and what follows from them, which replay gives.
 * A run of which the store has the beginning is continued.
 */
import { Conflict, foldRun, type JsonValue, type RunView, Unprocessable, type WorkflowEvent } from '@autonomous/shared';
import { dehydrate, isFinal, newRun } from '../core/advance.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { replay, type Replay, versionBefore } from '../core/replay.ts';
import type { EventStore, NewActivity, RunCommit, StoredTimer } from '../event-store/event-store.ts';
import {
  type LoggedEvent,
  ofLog,
  type PauseOf,
  pausePayload,
  type PauseText,
  type RecordedState,
  recordedState,
  showsPause,
} from '../engine/rebuilt/rebuilt-pause.ts';
import { foldAll, newEvent } from '../engine/run-commit.ts';
import { eventsOf, type RecordedRun } from './recorded-run.ts';

export interface ImportOptions {
  readonly store: Pick<EventStore, 'appendAll' | 'tipOf' | 'openKeys'>;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  /** Nothing is stored of an open run whose workflow does not give the same history again. Default: its history is. */
  readonly mustReplay?: boolean;
  /**
   * Marks a run that others could have written: one that has not ended is paused, so that a person looks at it before it goes on;
   * for one that has ended, the message is a notice. `null`: it is as this server made it. Default: it is.
   */
  readonly pauseOf?: (imported: ImportedRun, state: RecordedState) => Promise<PauseText | null> | PauseText | null;
  readonly now: () => Date;
}

export interface ImportedRun {
  readonly view: RunView;
  /** Why nobody can go on with it as it is; `null` when its workflow gives the same history again, or it has ended. */
  readonly fault: string | null;
}

/**
 * Stores the steps of a recorded run that the store does not have yet, and the pause after them, in one transaction. The caller has
 * checked that those it has are the same.
 * @throws {Conflict} when the store has other events of the run
 * @throws {Unprocessable} with `mustReplay`
 */
export async function importRun(options: ImportOptions, run: RecordedRun): Promise<ImportedRun> {
  const { store } = options;
  const { runId } = run;
  const replayed = replayRecorded(options.workflows, run);
  const known = (await store.tipOf(runId))?.sequence ?? 0;
  const stored = known === 0 ? { activities: [], timers: [] } : await store.openKeys(runId);
  const { commits, view } = commitsOf(run, replayed, known, stored);
  if (options.mustReplay === true && !replayed.ok && !isFinal(view.status)) throw new Unprocessable(replayed.message);
  const imported = { view, fault: replayed.ok || isFinal(view.status) ? null : replayed.message };
  const pause = (await options.pauseOf?.(imported, stateOf(replayed, eventsOf(run)))) ?? null;
  const marks = pause === null ? [] : [markCommit(view, pause, options.now())];
  await store.appendAll([...commits, ...marks]);
  return { ...imported, view: marks[0]?.view ?? view };
}

/** Log line for the pause of a rebuilt run that could not be made anew. */
export const PAUSE_FAULT = 'what applies to a rebuilt run could not be read anew';

/** Whether the server lacked the workflow of a run at its import or at a start after it. */
export const lackedWorkflow = ({ gate }: RunView): boolean =>
  gate?.reason === 'poisoned' || gate?.reason === 'definition_missing';

/**
 * Pauses imported runs that nobody has had go on anew, with what applies now: where the server lacked their workflow before, and where
 * their child runs were imported after them. Their open activities and timers are stored. Must be called before the engine starts.
 * @param pauseOf as at an import
 */
export async function readImportedAgain({
  store,
  workflows,
  pauseOf,
  isWanted,
  onFault,
  now,
}: {
  readonly store: Pick<EventStore, 'appendAll' | 'openKeys' | 'listOpenRuns' | 'loadView' | 'readRun'>;
  readonly workflows: Pick<WorkflowRegistry, 'find'>;
  readonly pauseOf: PauseOf;
  readonly isWanted: (view: RunView) => boolean;
  /** A pause could not be made: the one before it stays, and no run goes on before it is made. */
  readonly onFault: (runId: string, error: unknown) => void;
  readonly now: () => Date;
}): Promise<void> {
  for (const { id } of await store.listOpenRuns('paused')) {
    const view = await store.loadView(id);
    if (view?.rebuiltUpTo === undefined || !isWanted(view)) continue;
    const stored = await store.openKeys(id);
    const isWhole = stored.activities.length + stored.timers.length > 0;
    const since = isWhole ? await store.readRun(id, view.rebuiltUpTo) : [];
    if (since.some(({ type }) => type !== 'RUN_PAUSED')) continue;
    const events = await store.readRun(id, 0);
    const replayed = replayUnder(workflows, view, events);
    if (!replayed.ok) continue;
    const pause = await pauseOf(view, stateOf(replayed, events)).catch((error: unknown) => onFault(id, error));
    if (pause === undefined || showsPause(view.gate, pause)) continue;
    const { snapshot: _beforeThePause, ...work } = openWork(id, replayed, view, stored);
    await store.appendAll([{ ...markCommit(view, pause, now()), ...work }]);
  }
}

/** The steps after those that the store has, and the view after all of them. */
function commitsOf(
  { runId, steps }: RecordedRun,
  replayed: Replayed,
  known: number,
  stored: OpenKeys,
): { readonly commits: readonly RunCommit[]; readonly view: RunView } {
  const commits: RunCommit[] = [];
  let view: RunView | null = null;
  let sequence = 0;
  let isWhole = true;
  for (const [index, { events, context }] of steps.entries()) {
    const before = sequence;
    view = foldAll(view, runId, before, events.map(asRead));
    sequence += events.length;
    // The step of a payload that is not whole cannot be computed again to the byte.
    isWhole &&= events.every(({ withheld }) => withheld === undefined);
    if (sequence <= known) continue;
    const isLast = index === steps.length - 1;
    commits.push({
      runId,
      expectedSequence: before,
      events,
      ...(isLast ? openWork(runId, replayed, view, stored) : NO_WORK),
      view,
      clarifications: isLast ? view.clarifications : [],
      ...(context === null || !isWhole ? {} : { context }),
    });
  }
  if (view === null) throw new Error(`the record of run ${runId} has no events`);
  return { commits, view };
}

function markCommit(view: RunView, pause: PauseText, at: Date): RunCommit {
  const { id: runId, lastSequence: expectedSequence } = view;
  const [type, payload] = isFinal(view.status)
    ? ['NOTICE', { message: pause.message }]
    : ['RUN_PAUSED', pausePayload(view, pause)];
  const event = newEvent('input', { type, payload: { ...payload, rebuilt: true } }, at.toISOString());
  const marked = foldAll(view, runId, expectedSequence, [event]);
  return { runId, expectedSequence, events: [event], ...NO_WORK, view: marked, clarifications: [] };
}

const NO_WORK = { startActivities: [], endActivities: [], setTimers: [], clearTimers: [] } as const;

/** An erased event says nothing of a view. */
function asRead(event: RecordedRun['steps'][number]['events'][number]): Parameters<typeof foldAll>[3][number] {
  return event.withheld?.why === 'erased' ? { ...event, type: 'ERASED', payload: { type: event.type } } : event;
}

/** The view after the last event of a recorded run. @throws {Unprocessable} when its first event begins none */
export function viewOfRecord(run: RecordedRun): RunView {
  const view = eventsOf(run).reduce<RunView | null>((folded, event) => foldRun(folded, event), null);
  if (view === null) throw new Unprocessable('line 1 of its events.jsonl does not begin a run');
  return view;
}

type Replayed = Replay | { readonly ok: false; readonly message: string };

/** The state after the last event, under the versions that made the history. Contexts are compared as far as all payloads are whole. */
function replayRecorded(workflows: Pick<WorkflowRegistry, 'find'>, run: RecordedRun): Replayed {
  const contexts = new Map<number, NonNullable<RecordedRun['steps'][number]['context']>>();
  for (const { events, context } of run.steps) {
    if (events.some(({ withheld }) => withheld !== undefined)) break;
    const last = events.at(-1)?.sequence;
    if (context !== null && last !== undefined) contexts.set(last, context);
  }
  return replayUnder(workflows, viewOfRecord(run), eventsOf(run), contexts);
}

/** The output of a run that has ended, which its replay gives. @throws {Conflict} where its workflow does not give its history again */
export async function recordedOutput(
  store: Pick<EventStore, 'readRun'>,
  workflows: Pick<WorkflowRegistry, 'find'>,
  view: RunView,
): Promise<JsonValue> {
  const replayed = replayUnder(workflows, view, await store.readRun(view.id, 0));
  if (!replayed.ok) throw new Conflict(replayed.message);
  // Plain JSON, as each step was found to be.
  return (replayed.state.snapshot?.output ?? null) as JsonValue;
}

function replayUnder(
  workflows: Pick<WorkflowRegistry, 'find'>,
  view: RunView,
  events: readonly WorkflowEvent[],
  contexts?: Parameters<typeof replay>[4],
): Replayed {
  const { name } = view.workflow;
  const version = versionBefore(events) ?? view.workflow.version;
  const definition = workflows.find(name, version);
  if (definition === undefined)
    return {
      ok: false,
      message: `workflow '${name}' version ${version} is not on this server; name it in AUTONOMOUS_WORKFLOWS`,
    };
  const replayed = replay(definition, newRun(view.id), events, (other) => workflows.find(name, other), contexts);
  return replayed.ok ? replayed : { ok: false, message: `event ${replayed.sequence}: ${replayed.message}` };
}

function stateOf(replayed: Replayed, log: readonly LoggedEvent[]): RecordedState {
  if (!replayed.ok) return { ...ofLog(log), context: null, inputs: [], open: [] };
  const { state, started } = replayed;
  const open = new Set(Object.values(state.activities));
  return recordedState(
    log,
    state,
    [...started.values()].filter(({ key }) => open.has(key)),
  );
}

type OpenKeys = Awaited<ReturnType<EventStore['openKeys']>>;

/** Open activities and timers of the run after its last step, beside those in the store. */
function openWork(
  runId: string,
  replayed: Replayed,
  view: RunView,
  stored: OpenKeys,
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
