/**
 * A new run from another run's history: its inputs up to an event are replayed under the new run's id, and what follows from
 * them must be what was stored. Pure.
 */
import type { JsonObject, ParentOfRun, RunConfig, RunConfigRequest, WorkflowEvent } from '@autonomous/shared';
import { advance, isFinal, newRun } from './advance.ts';
import { changesViewOnly } from './vocabulary.ts';
import type { RunInput, RunState, StartedActivity, StepResult } from './run-state.ts';
import type { WorkflowDefinition } from './definition.ts';
import { canonical, isQuarantine, replayInput } from './replay.ts';

export interface ForkRequest {
  /** Id of the new run. */
  readonly runId: string;
  /** Sequence of an event of the source: the fork is at the end of the step that holds it. */
  readonly at: number;
  /** The run family of the source, which the new run belongs to. */
  readonly tree: string;
  readonly by: string;
  readonly branch: string;
  /** ISO 8601. */
  readonly now: string;
  /** Another request in place of the source's. */
  readonly request?: string;
  /** The configuration from here on, where it is another one. */
  readonly config?: RunConfig;
  readonly requestedConfig?: RunConfigRequest;
  readonly notices?: readonly string[];
  /** Absent: the server made what the source has up to the event, or the copied events say that it did not. */
  readonly rebuilt?: true;
}

export interface ForkEvent {
  readonly type: string;
  readonly origin: 'input' | 'emitted';
  readonly payload: JsonObject;
  readonly timestamp: string;
}

/** A run that is not stored yet. */
export interface ForkedRun {
  readonly definition: WorkflowDefinition;
  readonly state: RunState;
  /** All events of the run, from its first. */
  readonly events: readonly ForkEvent[];
  /** Activities that are open. */
  readonly activities: readonly StartedActivity[];
}

export type Fork =
  | { readonly ok: true; readonly run: ForkedRun }
  /** `message` says why not, to be read after "cannot be forked at event N: ". */
  | { readonly ok: false; readonly message: string };

/** The events up to the end of the step that holds event `at`. @param events of one run, from its first, in order */
export function throughStep(events: readonly WorkflowEvent[], at: number): readonly WorkflowEvent[] {
  let end = events.findIndex((event) => event.sequence > at);
  if (end < 0) return events;
  while (events[end]?.origin === 'emitted') end += 1;
  return events.slice(0, end);
}

/**
 * @param events the source's, from its first, at least up to the end of the step that holds event `at`
 * @param versions the source's workflow in any of its versions
 */
export function forkRun(
  events: readonly WorkflowEvent[],
  versions: (version: number) => WorkflowDefinition | undefined,
  request: ForkRequest,
): Fork {
  const source = throughStep(events, request.at);
  const last = source.find((event) => event.sequence === request.at);
  const start = startOf(source[0]);
  if (start?.parent !== undefined)
    return refused(`it is a child run of ${start.parent}, which waits for it and for no other; fork ${start.parent}`);
  if (!last || !start) return refused(`its events are 1 to ${events.at(-1)?.sequence ?? 0}`);
  const replayed = replayAs(source, start, versions, request);
  if (!replayed.ok) return replayed;
  const { state } = replayed.run;
  const refusal = whyNotThere(state, source);
  if (refusal !== null) return refused(refusal);
  const { at, tree, by, branch, now, config, requestedConfig, notices = [], rebuilt } = request;
  const since = state.queuedAt ?? last.timestamp;
  return continueFork(replayed.run, {
    type: 'RUN_FORKED',
    payload: {
      from: last.workflowRunId,
      at,
      tree,
      by,
      branch,
      waitedMs: Math.max(0, Date.parse(now) - Date.parse(since)),
      ...(config === undefined ? {} : { config }),
      ...(requestedConfig === undefined ? {} : { requestedConfig }),
      ...(notices.length === 0 ? {} : { notices }),
      ...(rebuilt === undefined ? {} : { rebuilt }),
    },
    timestamp: now,
  });
}

/** The run after one more input. */
export function continueFork(run: ForkedRun, input: RunInput): Fork {
  const step = advance(run.definition, run.state, input);
  if (step.ok) return { ok: true, run: after(run, input, step) };
  return refused(step.reason === 'late' ? `it does not take ${input.type}` : `${input.type}: ${step.message}`);
}

/** Whether a run can go on from this state. */
function whyNotThere(state: RunState, source: readonly WorkflowEvent[]): string | null {
  if (state.parked !== null) {
    const quarantine = source.findLast(isQuarantine);
    const what = quarantine?.payload['reason'] === 'held' ? 'paused' : 'quarantined';
    return `the run was ${what} there (${state.parked}); choose an event before ${quarantine?.sequence ?? 1}`;
  }
  if (state.snapshot === null || state.view === null) {
    return 'the run had not started yet; choose a later event, or start a new run';
  }
  const { children } = state;
  if (children !== undefined) {
    // A child answers to the run that started it, and its work is done once.
    const began = Math.min(...children.map((id) => Number(state.activities[id]?.split('/')[1])));
    return `it waits there for the child runs ${children.map((id) => `'${id}'`).join(', ')}; choose an event before ${began}, or one after their ends`;
  }
  if (!isFinal(state.view.status)) return null;
  const end = source.findLast(({ origin, type }) => origin === 'input' && !changesViewOnly(type));
  return `the run had ended there (${state.view.status}); choose an event before ${end?.sequence ?? 1}`;
}

/** The source's inputs under the new run's id; what they emit has to be what the source has. */
function replayAs(
  source: readonly WorkflowEvent[],
  start: SourceStart,
  versions: (version: number) => WorkflowDefinition | undefined,
  request: ForkRequest,
): Fork {
  const sourceId = source[0]?.workflowRunId ?? '';
  const neutral = neutralizer([sourceId, request.runId, start.branch, request.branch]);
  let definition = versions(start.version);
  if (!definition) return refused(`version ${start.version} of its workflow is not registered on this server`);
  let run: ForkedRun = { definition, state: newRun(request.runId), events: [], activities: [] };
  for (let index = 0; index < source.length;) {
    const stored = source[index];
    if (stored === undefined) break;
    if (stored.type === 'RUN_MIGRATED') {
      definition = versions(Number(stored.payload['to']));
      if (!definition)
        return refused(`version ${String(stored.payload['to'])} of its workflow is not registered on this server`);
      run = under(run, definition);
    }
    const input = { ...stored, workflowRunId: request.runId, payload: rewritten(stored, sourceId, request) };
    const taken = replayInput(run.definition, run.state, input);
    if (!taken.ok) return refused(`its history does not replay: event ${taken.sequence}: ${taken.message}`);
    const emitted = taken.step?.emitted ?? [];
    for (const [offset, fact] of emitted.entries()) {
      const other = source[index + 1 + offset];
      if (other?.type === fact.type && neutral(other.payload) === neutral(fact.payload)) continue;
      const there = other === undefined ? 'nothing' : `${other.type} ${short(other.payload)}`;
      return refused(
        `event ${stored.sequence + 1 + offset} is another one in the new run: ${fact.type} ${short(fact.payload)} instead of ${there}`,
      );
    }
    run = taken.step ? after(run, input, taken.step) : withPark(run, input, taken.state);
    index += 1 + emitted.length;
  }
  return { ok: true, run };
}

function under(run: ForkedRun, definition: WorkflowDefinition): ForkedRun {
  return { ...run, definition };
}

/** A pause that the engine wrote: the machine knows nothing of it. */
function withPark(run: ForkedRun, input: RunInput, state: RunState): ForkedRun {
  (run.events as ForkEvent[]).push(eventOf(input, 'input')); // see `after`
  return { ...run, state };
}

function after(run: ForkedRun, input: RunInput, step: StepResult): ForkedRun {
  const { timestamp } = input;
  const events = run.events as ForkEvent[]; // only this file has it, and it grows by one step at a time
  events.push(eventOf(input, 'input'));
  for (const fact of step.emitted) events.push(eventOf({ ...fact, timestamp }, 'emitted'));
  const open = new Set(Object.values(step.state.activities));
  return {
    definition: run.definition,
    state: step.state,
    events,
    activities: [...run.activities, ...step.started].filter(({ key }) => open.has(key)),
  };
}

function eventOf({ type, payload, timestamp }: RunInput, origin: ForkEvent['origin']): ForkEvent {
  return { type, origin, payload, timestamp };
}

interface SourceStart {
  readonly branch: string;
  readonly version: number;
  /** Id of the run that started it as a child; `undefined` where none did. */
  readonly parent: string | undefined;
}

function startOf(first: WorkflowEvent | undefined): SourceStart | null {
  if (first === undefined) return null;
  const start = (first.type === 'RUN_QUEUED' ? first.payload['start'] : first.payload) as JsonObject | undefined;
  const workflow = start?.['workflow'] as JsonObject | undefined;
  if (workflow === undefined) return null;
  const parent = start?.['parent'] as ParentOfRun | undefined;
  return { branch: String(start?.['branch'] ?? ''), version: Number(workflow['version']), parent: parent?.runId };
}

/**
 * A payload of the source as the new run has it. Only what the engine itself compares is another one: what activities gave
 * stays as it is, since it names what is really there.
 */
function rewritten(
  { type, payload }: Pick<WorkflowEvent, 'type' | 'payload'>,
  sourceId: string,
  request: ForkRequest,
): JsonObject {
  switch (type) {
    case 'RUN_STARTED':
      return newStart(payload, request);
    case 'RUN_QUEUED':
      return payload['start'] === undefined
        ? payload
        : { ...payload, start: newStart(payload['start'] as JsonObject, request) };
    case 'RUN_FORKED':
      return { ...payload, branch: request.branch };
    default:
  }
  const { key, gateId, undelivered } = payload;
  return {
    ...payload,
    ...(typeof key === 'string' && key.startsWith(`${sourceId}/`)
      ? { key: `${request.runId}${key.slice(sourceId.length)}` }
      : {}),
    ...(type === 'RUN_PAUSED' && undelivered !== undefined
      ? { undelivered: rewritten({ type: '', payload: undelivered as JsonObject }, sourceId, request) }
      : {}),
    ...(typeof gateId === 'string' && gateId.startsWith(`${sourceId}.`)
      ? { gateId: `${request.runId}${gateId.slice(sourceId.length)}` }
      : {}),
  };
}

/** A fork belongs to who made it, and is none of the variants that an exploration compares. */
function newStart(start: JsonObject, { by, branch, request }: ForkRequest): JsonObject {
  const { explorationId: _variant, ...rest } = start;
  return { ...rest, userId: by, branch, ...(request === undefined ? {} : { request }) };
}

/** Makes payloads comparable that differ in nothing but names of the two runs. */
function neutralizer(names: readonly string[]): (payload: JsonObject) => string {
  const known = [...new Set(names)].filter((name) => name !== '').sort((a, b) => b.length - a.length);
  // oxlint-disable-next-line autonomous/linear-expressions -- names one after the other, without a repetition
  const pattern = new RegExp(
    known.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|'),
    'g',
  );
  return (payload) => canonical(payload).replaceAll(pattern, '\u0000');
}

function short(payload: JsonObject): string {
  const text = JSON.stringify(payload);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function refused(message: string): Fork {
  return { ok: false, message };
}
