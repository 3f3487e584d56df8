/**
 * Carries out stored activities and reports their outcomes to the engine.
 * Each is performed at least once; activities recognise their own repetition by key.
 */
import {
  type ActivityError,
  Conflict,
  type JsonValue,
  NeedsHuman,
  type Progress,
  RetryableFailure,
  TerminalFailure,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore, StoredActivity } from '../event-store/event-store.ts';
import type { Activity, ActivityContext, ActivityRegistry } from '../workflow/activity.ts';
import type { Clock } from './clock.ts';

export type Outcome =
  | { readonly type: 'ACTIVITY_COMPLETED'; readonly key: string; readonly activity: string; readonly output: JsonValue }
  | {
      readonly type: 'ACTIVITY_FAILED';
      readonly key: string;
      readonly activity: string;
      readonly error: ActivityError;
    };

export interface RunnerOptions {
  readonly store: EventStore;
  readonly activities: ActivityRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes an outcome; resolves when it is stored or known to be late. */
  readonly report: (runId: string, outcome: Outcome) => Promise<void>;
  readonly progress: (progress: Progress) => void;
}

interface Running {
  readonly stored: StoredActivity;
  readonly abort: AbortController;
  done: Promise<void>;
}

/** How long an outcome that cannot be stored (a full disk) waits before it is tried again. */
const STORE_RETRY_MS = 2_000;

export class ActivityRunner {
  readonly #options: RunnerOptions;
  readonly #running = new Map<string, Running>();
  readonly #waiting = new Map<string, { readonly stored: StoredActivity; readonly limit: number }[]>();
  #stopped = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /**
   * Starts an activity, once the cancelled ones of its run have ended and the run has a place for one more.
   * An activity that is already running is left alone.
   * @param limit activities that may run for this run at the same time
   */
  dispatch(stored: StoredActivity, limit: number): void {
    if (this.#stopped || this.#running.has(stored.key)) return;
    const active = this.#ofRun(stored.runId);
    if (active.filter((running) => !running.abort.signal.aborted).length >= limit) {
      const queue = this.#waiting.get(stored.runId) ?? [];
      this.#waiting.set(stored.runId, [
        ...queue.filter((waiting) => waiting.stored.key !== stored.key),
        { stored, limit },
      ]);
      return;
    }
    const predecessors = active.filter((running) => running.abort.signal.aborted).map((running) => running.done);
    const running: Running = { stored, abort: new AbortController(), done: Promise.resolve() };
    this.#running.set(stored.key, running);
    running.done = Promise.allSettled(predecessors)
      .then(() => this.#carryOut(running))
      .catch((error: unknown) => {
        // It was cancelled between its dispatch and its first attempt.
        if (error instanceof Conflict) return;
        this.#options.log.error({ err: error, key: stored.key }, 'the activity runner failed');
      })
      .finally(() => {
        this.#running.delete(stored.key);
        this.#startWaiting(stored.runId);
      });
  }

  /** Tells an activity to end. Its outcome, if it still gives one, is late and ignored. */
  cancel(runId: string, key: string): void {
    this.#running.get(key)?.abort.abort(new Error('cancelled'));
    const queue = this.#waiting.get(runId);
    if (queue)
      this.#waiting.set(
        runId,
        queue.filter((waiting) => waiting.stored.key !== key),
      );
  }

  /** Ends all activities and waits for them. What they were doing is taken up again at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.clear();
    for (const running of this.#running.values()) running.abort.abort(new Error('the server stops'));
    await Promise.allSettled([...this.#running.values()].map((running) => running.done));
  }

  #ofRun(runId: string): Running[] {
    return [...this.#running.values()].filter((running) => running.stored.runId === runId);
  }

  #startWaiting(runId: string): void {
    const queue = this.#waiting.get(runId);
    if (!queue) return;
    this.#waiting.delete(runId);
    for (const { stored, limit } of queue) this.dispatch(stored, limit);
  }

  async #carryOut({ stored, abort }: Running): Promise<void> {
    const { activities, log } = this.#options;
    // The registry is keyed by the machine's own names; input and output types were checked where it was built.
    const activity = activities[stored.src] as Activity<JsonValue, JsonValue> | undefined;
    if (!activity) {
      const message = `No activity '${stored.src}' is registered on this server.`;
      await this.#report(
        stored,
        abort.signal,
        failed(stored, { kind: 'terminal', reason: 'definition_missing', message }),
      );
      return;
    }
    await this.#waitUntil(stored.notBefore, abort.signal);
    let attempt = stored.attempt;
    for (let failures = stored.notBefore === null ? 0 : stored.attempt; !abort.signal.aborted;) {
      attempt += 1;
      await this.#options.store.updateAttempt(stored.key, attempt, null);
      if (abort.signal.aborted) return;
      const context = this.#context(stored, attempt, abort.signal);
      try {
        const found = await activity.find?.(stored.input, context);
        if (abort.signal.aborted) return;
        const output = found ?? (await activity.perform(stored.input, context));
        await this.#report(stored, abort.signal, {
          type: 'ACTIVITY_COMPLETED',
          key: stored.key,
          activity: stored.activity,
          output: output ?? null,
        });
        return;
      } catch (error) {
        if (abort.signal.aborted) return;
        failures += 1;
        const fault = classify(error);
        if (fault.kind === 'bug') log.error({ err: error, key: stored.key }, 'an activity failed unexpectedly');
        if (fault.kind !== 'retryable' || failures >= activity.retry.attempts) {
          await this.#report(stored, abort.signal, failed(stored, fault));
          return;
        }
        const delayMs = backoffMs(activity, failures, error);
        const notBefore = new Date(this.#options.clock.now().getTime() + delayMs).toISOString();
        context.progress({
          kind: 'note',
          text: `Attempt ${failures} of ${activity.retry.attempts} failed: ${fault.message}; next at ${notBefore}`,
        });
        await this.#options.store.updateAttempt(stored.key, attempt, notBefore);
        await this.#waitUntil(notBefore, abort.signal);
      }
    }
  }

  #context(stored: StoredActivity, attempt: number, signal: AbortSignal): ActivityContext {
    return {
      key: stored.key,
      runId: stored.runId,
      activity: stored.activity,
      attempt,
      startedAt: stored.startedAt,
      signal,
      progress: (progress) =>
        this.#options.progress({
          ...progress,
          runId: stored.runId,
          activity: stored.activity,
          at: this.#options.clock.now().toISOString(),
        }),
    };
  }

  /** An outcome is never dropped: a disk that is full now may have room later. */
  async #report(stored: StoredActivity, signal: AbortSignal, outcome: Outcome): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#options.report(stored.runId, outcome);
        return;
      } catch (error) {
        this.#options.log.error({ err: error, key: stored.key }, 'an outcome could not be stored; it is tried again');
        await this.#sleep(STORE_RETRY_MS, signal);
      }
    }
  }

  async #waitUntil(notBefore: string | null, signal: AbortSignal): Promise<void> {
    if (notBefore === null) return;
    const ms = Date.parse(notBefore) - this.#options.clock.now().getTime();
    if (ms > 0) await this.#sleep(ms, signal);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      function end(): void {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      }
    });
  }
}

function failed(stored: StoredActivity, error: ActivityError): Outcome {
  return { type: 'ACTIVITY_FAILED', key: stored.key, activity: stored.activity, error };
}

/** Who must act on what was thrown. */
function classify(error: unknown): ActivityError {
  if (error instanceof RetryableFailure) {
    const { reason, message, retryAfterMs } = error;
    return { kind: 'retryable', reason, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  if (error instanceof NeedsHuman) return { kind: 'needs_human', reason: error.reason, message: error.message };
  if (error instanceof TerminalFailure) return { kind: 'terminal', reason: 'agent_failed', message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { kind: 'bug', reason: 'agent_failed', message: `Something went wrong inside the server: ${message}` };
}

/** Exponential back-off with full jitter on its upper half; a time that the other side named wins. */
function backoffMs(activity: Activity<JsonValue, JsonValue>, failures: number, error: unknown): number {
  if (error instanceof RetryableFailure && error.retryAfterMs !== undefined) return error.retryAfterMs;
  const { firstDelayMs, maxDelayMs } = activity.retry;
  const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1));
  return delayMs / 2 + Math.random() * (delayMs / 2);
}
