/** Drives a workflow by its pure step: the events that a run would store, without an engine, a clock or I/O. */
import type { JsonObject, JsonValue, WorkflowEvent } from '@autonomous/shared';
import { foldRun, type RunView } from '@autonomous/shared';
import { advance, canTake, dehydrate, newRun, rehydrate } from '../core/advance.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import type { RunState, StepResult } from '../core/run-state.ts';

/** A run that is driven by hand. Every step goes through JSON, as if each were taken by another process. */
export class DrivenRun {
  readonly definition: WorkflowDefinition;
  state: RunState = newRun('r');
  view: RunView | null = null;
  readonly events: WorkflowEvent[] = [];
  readonly steps: StepResult[] = [];
  now = Date.parse('2026-03-01T10:00:00Z');

  constructor(definition: WorkflowDefinition) {
    this.definition = definition;
  }

  /** Starts the run. */
  begin(request: string, config: object, branch: string, input?: JsonObject): this {
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

  /** Sends an input that must be taken. */
  send(type: string, payload: JsonObject = {}): this {
    this.now += 1_000;
    const timestamp = new Date(this.now).toISOString();
    const { machine } = this.definition;
    const before = rehydrate(machine, JSON.parse(JSON.stringify(dehydrate(machine, this.state))) as JsonValue);
    const step = advance(this.definition, before, { type, payload, timestamp });
    if (!step.ok) throw new Error(`${type} was not taken: ${JSON.stringify(step)}`);
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

  /** Completes an open activity and nothing else. */
  ended(activity: string, output: JsonValue): this {
    return this.send('ACTIVITY_COMPLETED', { key: this.key(activity), activity, output });
  }

  /** @param more further facts of the error, such as ways on */
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

  /** Fires the open timer. @param extra fields of the event */
  fire(extra: JsonObject = {}): this {
    const [timer] = Object.values(this.state.timers);
    if (!timer) throw new Error('no timer is armed');
    this.now = Date.parse(timer.dueAt);
    return this.send('TIMER_FIRED', { key: timer.key, event: timer.event, ...extra });
  }

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

  get open(): string[] {
    return Object.keys(this.state.activities);
  }

  /** Input of the activity that the last step started. */
  get input(): JsonObject {
    return (this.steps.at(-1)?.started[0]?.input ?? {}) as JsonObject;
  }

  get types(): string[] {
    return this.events.map((event) => event.type);
  }

  /** The open gate's kind. */
  get gate(): string | null {
    return this.view?.gate?.kind ?? null;
  }
}

/** Words of an activity that watches child runs, for one that waits at a gate. */
export function whyRested(kind: 'asks' | 'unfinished' | 'untouched'): JsonObject {
  if (kind === 'asks') return { why: 'Review the result' };
  const why = kind === 'untouched' ? 'the agent changed no file' : '2 of 4 tests failed: adds';
  return { why, hint: kind === 'untouched' ? why : `${why}\n\n$ npm test\nnot ok 1 - adds` };
}
