/**
 * Resumes runs that paused because something was missing that comes back by itself: a model provider or a remote that was down, a
 * disk that was full, a token of the forge that is replaced while the server runs. Probes it with growing waits. When it is back, one run goes first, and the others follow once that run
 * gets further. Covers runs of every workflow and version: each gets the retry that a person would give it.
 */
import type { Gate, RunView, WorkflowEvent } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from './clock.ts';
import type { EngineMessage } from './step-feed.ts';

/** Whether the missing thing is back; `unknown` when only a run can find out. */
export type ProbeAnswer = 'back' | 'away' | 'unknown';

export interface Probe {
  /** Runs with the same key wait for the same thing. */
  readonly key: string;
  /** Cheap, and never a request to a model. A rejection counts as `away`. */
  readonly ask: () => Promise<ProbeAnswer>;
}

export interface SelfResumeOptions {
  readonly store: Pick<EventStore, 'listOpenRuns' | 'loadView' | 'readHistory'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The wait before the first probe; it doubles with each that finds nothing, up to 15 minutes. */
  readonly firstWaitMs: number;
  /** Probe for the thing that a paused run waits for; `null` when no probe can tell whether it is back. */
  readonly probeOf: (view: RunView, gate: Gate) => Promise<Probe | null>;
  /** Retries at this gate, as the server. */
  readonly retry: (runId: string, gateId: string) => Promise<unknown>;
}

const LONGEST_WAIT_MS = 15 * 60_000;
/** A run that went first has got further when it still runs after this time. */
const FURTHER_AFTER_MS = 45_000;
/** Retries of one run in a row without progress; then a person has to look. */
const MOST_RETRIES = 40;
/** Newest events of a run that are searched for the reason of its pause and for its retries. */
const EVENTS_LOOKED_AT = 400;
/** The reason of these pauses tells all; those of a model have more than one cause. */
const PLAIN_REASONS: ReadonlySet<string> = new Set(['storage_full', 'auth_expired', 'remote_unavailable']);
const REASONS: ReadonlySet<string> = new Set(['model_unavailable', 'rate_limited', ...PLAIN_REASONS]);
/** Whether a run may leave this gate without a person, by a probe or by a timer of its own. */
export function resumesByItself({ kind, reason }: Pick<Gate, 'kind' | 'reason'>): boolean {
  return kind === 'pause' && reason !== undefined && REASONS.has(reason);
}

/** Value of `by` in retries that the server makes itself. */
export const SERVER = 'server';

/** Runs that wait for the same thing. */
interface Group {
  readonly probe: Probe;
  /** Gates by run; the run that paused first comes first. */
  readonly runs: Map<string, string>;
  /** Failed probes and failed first runs in a row. */
  failures: number;
  /** The run that went first. */
  scout: string | null;
  cancelTimer: (() => void) | null;
}

export class SelfResume {
  readonly #options: SelfResumeOptions;
  readonly #groups = new Map<string, Group>();
  /** Runs that were retried here and have not got further since, with the group they belonged to. */
  readonly #retried = new Map<string, string>();
  #stopped = false;

  constructor(options: SelfResumeOptions) {
    this.#options = options;
  }

  /** Finds the runs that paused before this process began. */
  async start(): Promise<void> {
    const { store, log } = this.#options;
    try {
      for (const { id } of await store.listOpenRuns('paused')) {
        const view = await store.loadView(id);
        if (view) await this.#consider(view);
      }
    } catch (error) {
      log.warn(
        { err: error },
        'the paused runs could not be read; only runs that pause from now on resume automatically',
      );
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { cancelTimer } of this.#groups.values()) cancelTimer?.();
  }

  /** Must be called with every message that the engine publishes. */
  receive(message: EngineMessage): void {
    if (!('view' in message)) return;
    const { view, events } = message;
    if (view.status === 'paused') {
      void this.#consider(view).catch((error: unknown) =>
        this.#options.log.warn({ err: error, runId: view.id }, 'a paused run was not resumed automatically'),
      );
      return;
    }
    this.#leave(view.id);
    if (events.some(({ type }) => type === 'ACTIVITY_COMPLETED') || view.completedAt !== undefined)
      this.#gotFurther(view.id);
  }

  async #consider(view: RunView): Promise<void> {
    const { gate } = view;
    if (gate?.reason === undefined || !REASONS.has(gate.reason) || !gate.decisions.includes('retry')) {
      this.#leave(view.id);
      return;
    }
    const probe = await this.#options.probeOf(view, gate);
    if (probe === null) return;
    const { isWorthIt, retries } = await this.#look(view, gate);
    if (!isWorthIt || this.#stopped) return;
    if (retries >= MOST_RETRIES) {
      this.#options.log.warn(
        { runId: view.id },
        `a run was retried ${retries} times by the server and got no further; it waits for a person now`,
      );
      return;
    }
    const group = this.#groupOf(probe);
    group.runs.set(view.id, gate.id);
    const wasRetried = this.#retried.delete(view.id);
    group.failures = Math.max(group.failures + (wasRetried ? 1 : 0), Math.min(retries, 10));
    if (group.scout === view.id) {
      group.scout = null;
      group.cancelTimer?.();
      group.cancelTimer = null;
    }
    this.#schedule(group);
  }

  /** Reads from the log why the run paused, and how often the server has retried it since it last got further. */
  async #look(view: RunView, gate: Gate): Promise<{ readonly isWorthIt: boolean; readonly retries: number }> {
    const { store } = this.#options;
    const events = await store.readHistory(view.id, Math.max(0, view.lastSequence - EVENTS_LOOKED_AT));
    const since = events.slice(events.findLastIndex(({ type }) => type === 'ACTIVITY_COMPLETED') + 1);
    const retries = since.filter(({ type, payload }) => type === 'RETRY_REQUESTED' && byOf(payload) === SERVER).length;
    if (PLAIN_REASONS.has(gate.reason ?? '')) return { isWorthIt: true, retries };
    const failure = events.findLast(({ type }) => type === 'ACTIVITY_FAILED');
    const error = failure === undefined ? null : errorOf(failure);
    // Only a person can renew a refused key or spent credit. A limit with a time has its own timer.
    return { isWorthIt: error?.kind === 'retryable' && error.retryAfterMs === undefined, retries };
  }

  #groupOf(probe: Probe): Group {
    const known = this.#groups.get(probe.key);
    if (known) return known;
    const group: Group = { probe, runs: new Map(), failures: 0, scout: null, cancelTimer: null };
    this.#groups.set(probe.key, group);
    return group;
  }

  #schedule(group: Group): void {
    if (this.#stopped || group.cancelTimer !== null || group.scout !== null || group.runs.size === 0) return;
    const { clock, firstWaitMs } = this.#options;
    const waitMs = Math.min(firstWaitMs * 2 ** Math.min(group.failures, 20), LONGEST_WAIT_MS);
    group.cancelTimer = clock.after(waitMs, () => {
      group.cancelTimer = null;
      void this.#probe(group);
    });
  }

  async #probe(group: Group): Promise<void> {
    const answer = await group.probe.ask().catch((): ProbeAnswer => 'away');
    if (this.#stopped || group.runs.size === 0) return;
    if (answer === 'away') {
      group.failures += 1;
      this.#schedule(group);
      return;
    }
    const [first] = group.runs;
    if (first === undefined) return;
    const [runId, gateId] = first;
    group.scout = runId;
    group.cancelTimer = this.#options.clock.after(FURTHER_AFTER_MS, () => {
      group.cancelTimer = null;
      if (group.scout === runId) this.#gotFurther(runId);
    });
    if (!(await this.#retry(group, runId, gateId)) && group.scout === runId) this.#next(group);
  }

  /** Lets another run go first when the first one is gone. */
  #next(group: Group): void {
    group.cancelTimer?.();
    group.cancelTimer = null;
    group.scout = null;
    this.#schedule(group);
  }

  /** @returns whether the run resumed */
  async #retry(group: Group, runId: string, gateId: string): Promise<boolean> {
    const { retry, log } = this.#options;
    group.runs.delete(runId);
    this.#retried.set(runId, group.probe.key);
    try {
      await retry(runId, gateId);
      log.info({ runId, waitedFor: group.probe.key }, 'a paused run resumes automatically');
      return true;
    } catch (error) {
      // Somebody decided the gate meanwhile, or it cannot be stored now. An open gate is tried again with the next probe.
      this.#retried.delete(runId);
      const isOpen = (await this.#options.store.loadView(runId).catch(() => null))?.gate?.id === gateId;
      if (isOpen) {
        group.runs.set(runId, gateId);
        group.failures += 1;
      }
      log.warn({ err: error, runId }, 'a paused run could not be retried by the server');
      return false;
    }
  }

  #gotFurther(runId: string): void {
    const key = this.#retried.get(runId);
    if (key === undefined) return;
    this.#retried.delete(runId);
    const group = this.#groups.get(key);
    if (group?.scout !== runId) return;
    group.cancelTimer?.();
    group.cancelTimer = null;
    group.scout = null;
    void this.#retryAll(group);
  }

  async #retryAll(group: Group): Promise<void> {
    const waiting = [...group.runs];
    if (waiting.length === 0) this.#groups.delete(group.probe.key);
    for (const [runId, gateId] of waiting) if (!this.#stopped) await this.#retry(group, runId, gateId);
    this.#schedule(group);
  }

  /** Forgets a run that somebody else has decided, or that has ended. */
  #leave(runId: string): void {
    for (const group of this.#groups.values()) group.runs.delete(runId);
  }
}

function byOf(payload: unknown): unknown {
  return (payload as { readonly by?: unknown } | null)?.by;
}

function errorOf({ payload }: WorkflowEvent): { readonly kind?: string; readonly retryAfterMs?: number } | null {
  const { error } = payload as { readonly error?: { readonly kind?: string; readonly retryAfterMs?: number } };
  return error ?? null;
}
