/**
 * A golden history: a run as it was once stored, in few bytes, and what must follow from its inputs. Every step is
 * one line; what is long and only has to be equal stands as its hash.
 */
import { createHash } from 'node:crypto';
import { foldRun, type JsonObject, type JsonValue, type RunView, type WorkflowEvent } from '@autonomous/shared';
import { dehydrate, newRun, rehydrate } from '../src/core/advance.ts';
import type { RunState, StepResult } from '../src/core/run-state.ts';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { canonical, replay, replayInput } from '../src/core/replay.ts';

export interface Heading {
  readonly workflow: string;
  readonly version: number;
  readonly runId: string;
  /** The way through the workflow that it shows. */
  readonly shows: string;
}

/** The payload itself, or its hash as `#…` where it is long. */
type Brief = JsonObject | string;

/** One input and everything that followed. A pause that the engine wrote has nothing but its event. */
export interface GoldenStep {
  readonly at: string;
  readonly in: readonly [type: string, payload: JsonObject];
  readonly out?: readonly (readonly [type: string, payload: Brief])[];
  /** Activation key, name of the implementation, input. */
  readonly start?: readonly (readonly [key: string, src: string, input: Brief])[];
  readonly end?: readonly string[];
  /** Key and due time. */
  readonly arm?: readonly (readonly [key: string, dueAt: string])[];
  readonly disarm?: readonly string[];
  /** The state as this version stored it after the step: what later programs have to be able to read. */
  readonly state?: JsonObject;
}

export interface History {
  readonly heading: Heading;
  readonly steps: readonly GoldenStep[];
  /** Hashes of the last state and of the read model. */
  readonly ends: { readonly state: string; readonly view: string };
}

/** Where a history and what a definition makes of it part, in words. */
export interface Difference {
  readonly sequence: number;
  readonly message: string;
}

const BRIEF_CHARACTERS = 100;

/**
 * What a run stored, as a history.
 * @param keepState whether to keep the stored state after a step, told where the statechart is then
 * @throws when the events do not replay under this definition
 */
export function historyOf(
  definition: WorkflowDefinition,
  shows: string,
  events: readonly WorkflowEvent[],
  keepState: (state: JsonValue) => boolean = () => false,
): History {
  const runId = events[0]?.workflowRunId ?? '';
  const replayed = replay(definition, newRun(runId), events);
  if (!replayed.ok) throw new Error(`'${shows}' does not replay: event ${replayed.sequence}: ${replayed.message}`);
  const steps: GoldenStep[] = [];
  let state = newRun(runId);
  for (const input of events.filter((event) => event.origin === 'input')) {
    const taken = taking(definition, state, input);
    ({ state } = taken);
    steps.push({
      at: input.timestamp,
      in: [input.type, input.payload],
      ...consequences(taken.step),
      ...(state.view && keepState(state.view.state) ? { state: dehydrate(definition.machine, state) } : {}),
    });
  }
  const { name: workflow, version } = definition;
  return {
    heading: { workflow, version, runId, shows },
    steps,
    ends: { state: hashOfState(definition, replayed.state), view: hashOfView(events) },
  };
}

/** Differences of several histories, each as one line that names its file. */
export function differencesOf(
  definition: WorkflowDefinition,
  histories: readonly { readonly file: string; readonly history: History }[],
): readonly string[] {
  return histories.flatMap(({ file, history }) => {
    const difference = differenceIn(definition, history);
    return difference ? [`${file}: event ${difference.sequence}: ${difference.message}`] : [];
  });
}

/**
 * Replays a history from its first event, and from every position that a snapshot could have: each step is taken from the
 * state before it and from what JSON keeps of that state, and both must come out the same. From states that were stored
 * when the history was recorded it is replayed to its end.
 * @returns the first difference; `null` when everything is as it was
 */
export function differenceIn(definition: WorkflowDefinition, { heading, steps, ends }: History): Difference | null {
  const { runId } = heading;
  const events: WorkflowEvent[] = [];
  const stored: { readonly state: JsonObject; readonly after: number }[] = [];
  let state = newRun(runId);
  let cold = state;
  for (const golden of steps) {
    const input = eventOf(runId, events.length + 1, golden.at, 'input', golden.in[0], golden.in[1]);
    const difference = (message: string): Difference => ({
      sequence: input.sequence,
      message: `${input.type}: ${message}`,
    });
    const taken = replayInput(definition, state, input);
    if (!taken.ok) return difference(taken.message);
    const changed = changeBetween(golden, consequences(taken.step));
    if (changed) return difference(changed);
    const again = replayInput(definition, cold, input);
    if (!again.ok) return difference(`from a snapshot: ${again.message}`);
    const unlike = changeBetween(golden, consequences(again.step));
    if (unlike) return difference(`from a snapshot: ${unlike}`);
    ({ state } = taken);
    const kept = dehydrate(definition.machine, state);
    if (canonicalState(kept) !== canonicalState(dehydrate(definition.machine, again.state)))
      return difference('from a snapshot it leads to another state');
    cold = rehydrated(definition, kept);
    events.push(input, ...factsOf(input, taken.step));
    if (golden.state) stored.push({ state: golden.state, after: events.length });
  }
  if (hashOfState(definition, state) !== ends.state)
    return { sequence: events.length, message: 'the run ends in another state' };
  for (const position of stored) {
    const fault = faultFrom(definition, position, events, ends);
    if (fault !== null)
      return { sequence: position.after, message: `from the state that was stored after it: ${fault}` };
  }
  return null;
}

function faultFrom(
  definition: WorkflowDefinition,
  { state, after }: { readonly state: JsonObject; readonly after: number },
  events: readonly WorkflowEvent[],
  ends: History['ends'],
): string | null {
  try {
    const replayed = replay(definition, rehydrated(definition, state), events.slice(after));
    if (!replayed.ok) return `event ${replayed.sequence}: ${replayed.message}`;
    return hashOfState(definition, replayed.state) === ends.state ? null : 'the run ends in another state';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Is the read model of the history what it was? Another one changes no decision, but what people are shown. */
export function hasSameView(definition: WorkflowDefinition, history: History): boolean {
  return hashOfView(eventsOf(definition, history)) === history.ends.view;
}

/** The events of a history that replays. */
export function eventsOf(definition: WorkflowDefinition, history: History): readonly WorkflowEvent[] {
  return stepsOf(definition, history).flatMap(({ events }) => events);
}

/** Each step of a history, with the state that it gives. */
export function stepsOf(
  definition: WorkflowDefinition,
  { heading, steps }: History,
): readonly { readonly state: RunState; readonly events: readonly WorkflowEvent[] }[] {
  const taken: { state: RunState; events: WorkflowEvent[] }[] = [];
  let state = newRun(heading.runId);
  let sequence = 0;
  for (const {
    at,
    in: [type, payload],
  } of steps) {
    const input = eventOf(heading.runId, sequence + 1, at, 'input', type, payload);
    const step = taking(definition, state, input);
    ({ state } = step);
    const events = [input, ...factsOf(input, step.step)];
    sequence += events.length;
    taken.push({ state, events });
  }
  return taken;
}

function taking(definition: WorkflowDefinition, state: RunState, input: WorkflowEvent) {
  const taken = replayInput(definition, state, input);
  if (!taken.ok) throw new Error(`event ${taken.sequence}: ${taken.message}`);
  return taken;
}

function factsOf(input: WorkflowEvent, step: StepResult | null): WorkflowEvent[] {
  return (step?.emitted ?? []).map(({ type, payload }, index) =>
    eventOf(input.workflowRunId, input.sequence + 1 + index, input.timestamp, 'emitted', type, payload),
  );
}

type Consequences = Omit<GoldenStep, 'at' | 'in' | 'state'>;

function consequences(step: StepResult | null): Consequences {
  if (step === null) return {};
  return {
    ...present(
      'out',
      // States stay readable: recording tells by them what changed.
      step.emitted.map(({ type, payload }) => [type, type === 'STATE_CHANGED' ? payload : brief(payload)] as const),
    ),
    ...present(
      'start',
      step.started.map(({ key, src, input }) => [key, src, brief(input)] as const),
    ),
    ...present('end', [...step.ended].sort()),
    ...present(
      'arm',
      step.armed.map(({ key, dueAt }) => [key, dueAt] as const),
    ),
    ...present('disarm', [...step.disarmed].sort()),
  };
}

function present<Name extends string, Item>(
  name: Name,
  items: readonly Item[],
): { readonly [Key in Name]?: readonly Item[] } {
  // A computed name loses its type.
  return (items.length === 0 ? {} : { [name]: items }) as { readonly [Key in Name]?: readonly Item[] };
}

const WORDS = {
  out: 'emits',
  start: 'starts the activities',
  end: 'ends the activities',
  arm: 'arms the timers',
  disarm: 'disarms the timers',
} as const;

function changeBetween(wanted: Consequences, given: Consequences): string | null {
  for (const part of Object.keys(WORDS) as (keyof typeof WORDS)[]) {
    const [a, b] = [canonical(given[part] ?? []), canonical(wanted[part] ?? [])];
    if (a !== b) return `it ${WORDS[part]} ${a}, recorded is ${b}`;
  }
  return null;
}

function brief(value: JsonValue): Brief {
  const text = canonical(value);
  return text.length <= BRIEF_CHARACTERS && typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : `#${hash(text)}`;
}

function hashOfState({ machine }: WorkflowDefinition, state: RunState): string {
  return hash(canonicalState(dehydrate(machine, state)));
}

/** What a history state remembers is a set: XState lists it in another order after a snapshot was read. */
function canonicalState(kept: JsonObject): string {
  const stored = JSON.parse(JSON.stringify(kept)) as {
    readonly snapshot: { readonly historyValue?: Readonly<Record<string, { readonly id: string }[]>> } | null;
  };
  for (const nodes of Object.values(stored.snapshot?.historyValue ?? {})) nodes.sort((a, b) => (a.id < b.id ? -1 : 1));
  return canonical(stored);
}

function hashOfView(events: readonly WorkflowEvent[]): string {
  let view: RunView | null = null;
  for (const event of events) view = foldRun(view, event);
  return hash(canonical(view));
}

function rehydrated({ machine }: WorkflowDefinition, stored: JsonObject): RunState {
  return rehydrate(machine, JSON.parse(JSON.stringify(stored)) as JsonObject);
}

function eventOf(
  runId: string,
  sequence: number,
  timestamp: string,
  origin: WorkflowEvent['origin'],
  type: string,
  payload: JsonObject,
): WorkflowEvent {
  return {
    id: `${runId}.${sequence}`,
    position: sequence,
    workflowRunId: runId,
    sequence,
    type,
    origin,
    payload,
    timestamp,
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
