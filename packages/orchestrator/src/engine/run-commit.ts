/** Composes the commit of a run's steps: events, activities, timers, the view, and sometimes a snapshot. */
import { foldRun, type RequestKey, type RunView } from '@autonomous/shared';
import { dehydrate } from '../core/advance.ts';
import { contextChanges } from '../core/context-hash.ts';
import type { ForkedRun } from '../core/fork.ts';
import type { RunInput, RunState, StepResult } from '../core/run-state.ts';
import type { NewActivity, NewEvent, RunCommit, StepRequest } from '../event-store/event-store.ts';
import type { LiveRun } from './live/live-run.ts';

/** An input without the time at which the engine takes it. */
export type NewInput = Omit<RunInput, 'timestamp'> & {
  /** The payload as JSON text, where it is already known. */
  readonly json?: string;
  /** The request behind the input; absent when it has no idempotency key. */
  readonly request?: StepRequest;
};

/** An input with the step that was taken for it. */
export interface TakenStep {
  readonly input: RunInput;
  readonly step: StepResult;
}

/** Events after which a snapshot is worth its bytes, given that the log has grown by as much as the last snapshot. */
const SNAPSHOT_EVERY_EVENTS = 50;
/** A large snapshot is also worth its bytes once it is no more than so many for each event that would be replayed. */
const SNAPSHOT_BYTES_PER_EVENT = 512;

/**
 * Takes steps into memory and gives the commit that stores them.
 * @param before state of the run before the steps
 * @param json payload of the first input as JSON text, where it is already known
 */
export function commitOf(
  run: LiveRun,
  before: RunState,
  steps: readonly TakenStep[],
  json: string | undefined,
): RunCommit {
  const { runId } = before;
  const events: NewEvent[] = [];
  const started: NewActivity[] = [];
  const ended: string[] = [];
  const armed = new Map<string, RunCommit['setTimers'][number]>();
  const disarmed: string[] = [];
  for (const [index, { input, step }] of steps.entries()) {
    const { type, payload, timestamp } = input;
    events.push(newEvent('input', index === 0 && json !== undefined ? { type, payload, json } : input, timestamp));
    for (const fact of step.emitted) events.push(newEvent('emitted', fact, timestamp));
    for (const activity of step.started) started.push({ ...activity, runId, startedAt: timestamp });
    ended.push(...step.ended);
    for (const timer of step.armed) armed.set(timer.key, { ...timer, runId });
    disarmed.push(...step.disarmed);
  }
  const view = foldAll(run.view, runId, before.sequence, events);
  const known = run.view?.clarifications;
  const clarifications =
    view.clarifications === known ? [] : view.clarifications.filter((clarification) => !known?.includes(clarification));
  run.state = steps.at(-1)?.step.state ?? before;
  run.view = view;
  run.eventsSinceSnapshot += events.length;
  for (const event of events) run.bytesSinceSnapshot += event.json.length;
  return {
    runId,
    expectedSequence: before.sequence,
    events,
    startActivities: started.map((activity) => begun(activity, run.state)),
    endActivities: ended,
    setTimers: [...armed.values()],
    clearTimers: disarmed,
    view,
    clarifications,
    context: contextChanges(before, run.state, steps[0]?.input.payload ?? {}),
    ...snapshotOf(run),
  };
}

/** The commit that stores a forked run as a whole. */
export function forkCommitOf(run: ForkedRun, view: RunView, timestamp: string): RunCommit {
  const { runId } = run.state;
  return {
    runId,
    expectedSequence: 0,
    events: run.events.map((event) => newEvent(event.origin, event, event.timestamp)),
    startActivities: run.activities.map((activity) => begun({ ...activity, runId, startedAt: timestamp }, run.state)),
    endActivities: [],
    setTimers: Object.values(run.state.timers).map((timer) => ({ ...timer, runId })),
    clearTimers: [],
    view,
    clarifications: view.clarifications,
    ...(run.events.length < SNAPSHOT_EVERY_EVENTS ? {} : { snapshot: dehydrate(run.definition.machine, run.state) }),
  };
}

export function requestOf(once: RequestKey | undefined, gateId?: string): { readonly request?: StepRequest } {
  return once === undefined ? {} : { request: { ...once, gate: gateId ?? null } };
}

/** @param event `json` is the payload as JSON text, where it is already known */
export function newEvent(
  origin: NewEvent['origin'],
  { type, payload, json }: Pick<NewEvent, 'type' | 'payload'> & { readonly json?: string },
  timestamp: string,
): NewEvent {
  return { type, origin, payload, json: json ?? JSON.stringify(payload), timestamp };
}

/**
 * The view after `events`.
 * @param view `null` before the first event of the run
 * @param sequence of the last event in `view`
 */
export function foldAll(
  view: RunView | null,
  runId: string,
  sequence: number,
  events: readonly Omit<NewEvent, 'json'>[],
): RunView {
  let folded = view;
  for (const [index, event] of events.entries()) {
    folded = foldRun(folded, { ...event, id: '', position: 0, workflowRunId: runId, sequence: sequence + index + 1 });
  }
  if (folded === null) throw new Error(`the events of run ${runId} do not begin with its start`);
  return folded;
}

function snapshotOf(run: LiveRun): Pick<RunCommit, 'snapshot'> {
  if (run.eventsSinceSnapshot < SNAPSHOT_EVERY_EVENTS) return {};
  const grown = Math.max(run.bytesSinceSnapshot, run.eventsSinceSnapshot * SNAPSHOT_BYTES_PER_EVENT);
  if (grown < run.snapshotBytes) return {};
  const snapshot = dehydrate(run.definition.machine, run.state);
  run.eventsSinceSnapshot = 0;
  run.bytesSinceSnapshot = 0;
  run.snapshotBytes = JSON.stringify(snapshot).length + JSON.stringify(run.view).length;
  return { snapshot };
}

/**
 * Without a run slot nothing begins: the first attempt is booked when the activity does. The first attempt of a child run is
 * not booked: its parent only waits.
 */
function begun(activity: NewActivity, { queuedAt, parked: quarantined, children }: RunState): NewActivity {
  const isChild = children?.includes(activity.activity) === true;
  return queuedAt === null && quarantined === null && !isChild ? activity : { ...activity, waits: true };
}
