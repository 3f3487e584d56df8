/**
 * Drives a run of a workflow by its pure step, for tests: without an engine, a clock or I/O. Each step is taken twice, as a server
 * takes it that goes on and as one takes it that was killed and started again, and both must give the same.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue, RunConfigRequest, WorkflowEvent } from '@autonomous/shared';
import { foldRun, InvalidRequest, type RunView } from '@autonomous/shared';
import { advance, canTake, dehydrate, newRun, reopened } from '../core/advance.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import type { RunInput, RunState, Step, StepResult } from '../core/run-state.ts';
import { plain } from '../core/persisted-state.ts';
import { parseRunInput, parseSignal } from '../engine/admission/signal-admission.ts';
import { checkRunConfigRequest, resolveRunConfig, type RunLimits } from '../run-config/run-config.ts';
import { completeWorkflow, faultsOf, type WorkflowValue } from './complete-workflow.ts';
import { settingsOf } from './workflow-settings.ts';
import { newestOf } from './workflow.ts';

/** Inputs that the engine makes itself. All others are signals. */
const OF_THE_ENGINE: ReadonlySet<string> = new Set([
  'RUN_STARTED',
  'RUN_QUEUED',
  'RUN_DEQUEUED',
  'RUN_FORKED',
  'RUN_MIGRATED',
  'RUN_CANCELLED',
  'ACTIVITY_COMPLETED',
  'ACTIVITY_FAILED',
  'TIMER_FIRED',
]);

/** The start of a run that is driven by hand. */
export interface DrivenStart {
  /** Default: empty */
  readonly request?: string;
  /** Default: none */
  readonly input?: JsonObject;
  /** The whole configuration. Default: empty */
  readonly config?: object;
  /** Default: autonomous/r */
  readonly branch?: string;
}

/** The start of a run as a person gives it: `config` has the settings that differ from the defaults. */
export type DrivenRequest = Omit<DrivenStart, 'config'> & { readonly config?: RunConfigRequest };

/**
 * Starts a run of the newest version of a workflow as a server does: with its default settings, and with the input as its schema
 * gives it.
 * @throws {InvalidRequest} with every fault of the workflow, or of the input
 */
export function driveRun(workflow: WorkflowValue, request: DrivenRequest = {}): DrivenRun {
  const { definition, start } = drivenStart(workflow, request);
  return new DrivenRun(definition).begin(start);
}

/** @throws as {@link driveRun} does */
export function drivenStart(
  workflow: WorkflowValue,
  { config = {}, input, ...start }: DrivenRequest,
): { readonly definition: WorkflowDefinition; readonly start: DrivenStart } {
  const faults = faultsOf(workflow);
  if (faults.length > 0) throw new InvalidRequest(faults.join('\n'));
  const complete = completeWorkflow(workflow);
  const definition = newestOf(complete);
  const settings = settingsOf(complete, () => 'scripted:demo');
  const limits: RunLimits = { autoStages: null, autoMerge: true, models: null };
  const unknown = checkRunConfigRequest(config, settings, limits, (id) => ({ ok: true, id }));
  if (unknown.length > 0)
    throw new InvalidRequest(unknown.map(({ message }) => message).join('\n'), { faults: unknown });
  const resolved = resolveRunConfig({
    settings,
    server: { defaults: {}, limits },
    project: null,
    request: config,
  });
  const parsed = parseRunInput(definition, input === undefined ? {} : { input });
  return { definition, start: { ...start, config: resolved.config, ...parsed } };
}

/** A run that is driven by hand. Its inputs are given by `begin`, `ended`, `fail`, `fire` and `send`, which throw when the run takes none such. */
export class DrivenRun {
  readonly definition: WorkflowDefinition;
  state: RunState = newRun('r');
  /** The run as clients see it; `null` before it began. */
  view: RunView | null = null;
  /** All events of the run: its inputs and what it emitted, oldest first. */
  readonly events: WorkflowEvent[] = [];
  readonly steps: StepResult[] = [];
  /** Milliseconds since 1970. Each step comes a second after the one before it. */
  now = Date.parse('2026-03-01T10:00:00Z');

  constructor(definition: WorkflowDefinition) {
    this.definition = definition;
  }

  begin({ request = '', config = {}, branch = 'autonomous/r', input }: DrivenStart = {}): this {
    const { name, version } = this.definition;
    return this.send('RUN_STARTED', {
      projectId: 'p',
      userId: 'u',
      // Not that of the definition: histories are recorded of it.
      workflow: { name, version, fingerprint: 'driven' },
      request,
      config: config as JsonObject,
      requestedConfig: {},
      branch,
      ...(input === undefined ? {} : { input }),
    });
  }

  /**
   * Sends an input: a signal, or another event that the engine stores.
   * @throws {Error} when the run does not take it, or takes it in another way after a restart
   */
  send(type: string, payload: JsonObject = {}): this {
    if (!OF_THE_ENGINE.has(type)) this.#admit(type, payload);
    this.now += 1_000;
    const timestamp = new Date(this.now).toISOString();
    const step = this.#step({ type, payload, timestamp });
    for (const [index, event] of [
      { type, payload, origin: 'input' as const },
      ...step.emitted.map((fact) => ({ ...fact, origin: 'emitted' as const })),
    ].entries()) {
      const sequence = this.state.sequence + 1 + index;
      const stored: WorkflowEvent = {
        ...event,
        id: `e${sequence}`,
        position: sequence,
        workflowRunId: 'r',
        sequence,
        timestamp,
      };
      this.events.push(stored);
      this.view = foldRun(this.view, stored);
    }
    this.state = step.state;
    this.steps.push(step);
    return this;
  }

  /** Completes an open activity, or a child run, with its output. */
  ended(activity: string, output: JsonValue): this {
    return this.send('ACTIVITY_COMPLETED', { key: this.key(activity), activity, output });
  }

  /**
   * Fails an open activity with an error for a person.
   * @param more further facts of the error, such as ways on
   */
  fail(activity: string, reason = 'agent_failed', message = 'it broke', more: JsonObject = {}): this {
    return this.send('ACTIVITY_FAILED', {
      key: this.key(activity),
      activity,
      error: { kind: 'needs_human', reason, message, ...more },
    });
  }

  /** Fails an open activity because a provider's limit is reached. */
  rateLimited(activity: string, retryAfterMs: number): this {
    const error = { kind: 'retryable', reason: 'rate_limited', message: 'slow down', retryAfterMs };
    return this.send('ACTIVITY_FAILED', { key: this.key(activity), activity, error });
  }

  /** Fires the timer that was armed first, at the time when it is due. @param extra fields of the event */
  fire(extra: JsonObject = {}): this {
    const [timer] = Object.values(this.state.timers);
    if (!timer) throw new Error('no timer is armed');
    this.now = Date.parse(timer.dueAt);
    return this.send('TIMER_FIRED', { key: timer.key, event: timer.event, ...extra });
  }

  /** Whether the run would take this signal now. */
  takes(type: string, payload: JsonObject): boolean {
    return canTake(this.state, type, payload);
  }

  key(activity: string): string {
    const key = this.state.activities[activity];
    if (!key)
      throw new Error(
        `activity '${activity}' is not open; open are ${Object.keys(this.state.activities).join(', ') || 'none'}`,
      );
    return key;
  }

  /** Ids of the open activities and child runs. */
  get open(): string[] {
    return Object.keys(this.state.activities);
  }

  /** Input of an open activity; of a child run, its request. */
  inputOf(activity: string): JsonObject {
    const key = this.key(activity);
    const started = this.steps.flatMap((step) => step.started).findLast((each) => each.key === key);
    return (started?.input ?? {}) as JsonObject;
  }

  /** Input of the activity that the last step started first. */
  get input(): JsonObject {
    return (this.steps.at(-1)?.started[0]?.input ?? {}) as JsonObject;
  }

  /** Types of all events. */
  get types(): string[] {
    return this.events.map((event) => event.type);
  }

  /** The open gate's kind; `null` where none is open. Everything that it shows is in `view.gate`. */
  get gate(): string | null {
    return this.view?.gate?.kind ?? null;
  }

  /** Context of the machine. */
  get context(): JsonObject {
    return (this.state.snapshot?.context ?? {}) as JsonObject;
  }

  /** @throws {InvalidRequest} as a server refuses the signal */
  #admit(type: string, payload: JsonObject): void {
    parseSignal({ definition: this.definition, state: this.state }, type, payload);
    if (!this.takes(type, payload))
      throw new InvalidRequest(
        `The run does not take the signal '${type}' in its state ${JSON.stringify(this.state.snapshot?.value ?? null)}.`,
      );
  }

  #step(input: RunInput): StepResult {
    const { machine } = this.definition;
    const step = taken(advance(this.definition, this.state, input), input);
    const again = taken(advance(this.definition, reopened(machine, this.state), input), input);
    const [one, other] = [step, again].map(({ state, ...effects }) =>
      plain({ ...dehydrate(machine, state), ...effects }),
    );
    const place = differenceOf(one, other);
    if (place === null) return step;
    throw new Error(
      `${input.type} gives another '${place}' when the run is reopened from JSON before it, so a restart would change the run. An assign, a guard or a function of meta depends on more than context and event: take such values from an event, the input or an activity.`,
    );
  }
}

function taken(step: Step, { type }: RunInput): StepResult {
  if (!step.ok) throw new Error(`${type} was not taken: ${JSON.stringify(step)}`);
  return step;
}

/** Path of the first field that differs, such as `snapshot.context.token`; `null` where none does. */
function differenceOf(one: unknown, other: unknown): string | null {
  if (isDeepStrictEqual(one, other)) return null;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return '';
  const fields = (of: object): Readonly<Record<string, unknown>> => ({ ...of });
  const [first, second] = [fields(one), fields(other)];
  const name = Object.keys({ ...first, ...second }).find((each) => !isDeepStrictEqual(first[each], second[each]));
  if (name === undefined) return '';
  return [name, differenceOf(first[name], second[name])].filter((part) => part !== '').join('.');
}
