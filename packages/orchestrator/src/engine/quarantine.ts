/**
 * Runs that their machine cannot be trusted with, or that a person paused. They are written to by the engine alone: paused with the
 * reason, checked before they resume, or ended by their view.
 */
import {
  Conflict,
  type JsonObject,
  type PauseReason,
  type RequestKey,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import { isFinal } from '../core/advance.ts';
import type { EventStore, IntegrityFault, NewEvent, RunCommit } from '../event-store/event-store.ts';
import type { ActivityRunner } from './runner/activity-runner.ts';
import type { Clock } from './clock.ts';
import type { LiveRuns } from './live/live-runs.ts';
import { pausePayload, type PauseText, showsPause } from './rebuilt/rebuilt-pause.ts';
import { foldAll, newEvent, requestOf } from './run-commit.ts';
import { resumesByItself } from './self-resume.ts';
import type { RunSlots } from './admission/run-slots.ts';

export interface QuarantineOptions {
  readonly store: EventStore;
  readonly live: LiveRuns;
  readonly slots: RunSlots;
  readonly runner: Pick<ActivityRunner, 'cancel' | 'cancelAll'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly publish: (step: { readonly events: readonly WorkflowEvent[]; readonly view: RunView }) => void;
  /** A run slot of the user is free. */
  readonly admit: (userId: string) => Promise<void>;
  /** Cancels the child runs for which this run no longer waits. */
  readonly cancelAbandoned: (runId: string) => Promise<void>;
  /** Called when a run was quarantined as damaged. */
  readonly onQuarantined: ((runId: string) => Promise<unknown>) | undefined;
  /** Fault of a run by evidence from outside the database. */
  readonly faultElsewhere: ((run: RunView) => Promise<IntegrityFault | null>) | undefined;
}

export interface QuarantineDetails {
  /** Outcome of an activity that the machine could not take. It is delivered when the run resumes. */
  readonly undelivered?: JsonObject | undefined;
  /** Steps of the run that are being stored: the run is quarantined after them, also when they fail. */
  readonly tail?: Promise<unknown>;
}

const OF_RECORD = 'The run was rebuilt from its record in git: look at what applies before it goes on.';

/** A run that steps while it is quarantined is tried again, at most this often. */
const TRIES = 5;

export class Quarantine {
  readonly #options: QuarantineOptions;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Quarantines an open run; the log says why, nothing of it runs. One that has ended stays as it is. */
  async quarantine(
    runId: string,
    reason: PauseReason,
    message: string,
    { undelivered, tail }: QuarantineDetails = {},
  ): Promise<void> {
    await this.#options.live.withExclusiveAccess(runId, () => this.#pause(runId, reason, message, undelivered), tail);
  }

  /** The same for a run whose work may be stored just now: it is quarantined after that. */
  async quarantineAfterWork(runId: string, reason: PauseReason, message: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await (this.#options.live.inUse(runId)?.tail ?? Promise.resolve()).catch(() => undefined);
      try {
        return await this.quarantine(runId, reason, message);
      } catch (error) {
        if (!(error instanceof Conflict) || tries === TRIES) throw error;
      }
    }
  }

  /** Quarantines runs whose stored events were changed. */
  async quarantineDamaged(findDamage: () => Promise<readonly IntegrityFault[]>): Promise<void> {
    const faults = await Promise.all([this.#options.store.verifyTips(), findDamage()]);
    for (const { runId, message } of faults.flat()) {
      try {
        await this.quarantine(runId, 'poisoned', message);
      } catch (error) {
        this.#options.log.error({ err: error, runId }, 'a damaged run could not be quarantined');
      }
    }
  }

  /** Ends a run without a readable state by its view alone. @throws {Conflict} when it has ended */
  cancel(view: RunView, payload: JsonObject, once: RequestKey | undefined): Promise<RunView> {
    return this.#options.live.withExclusiveAccess(view.id, () => this.#end(view, payload, once));
  }

  /** Refuses to build on a history that differs from what was stored. @throws {Conflict} */
  async refuseDamage(runId: string, upTo: number, what: string): Promise<void> {
    const fault = await this.#options.store.verifyRun(runId);
    if (!fault || fault.sequence > upTo) return;
    throw new Conflict(
      `Run ${runId} is damaged and cannot ${what}: ${fault.message}. Export it, or restore the database.`,
      { extra: { sequence: fault.sequence } },
    );
  }

  /** Refuses to resume a run that was quarantined as damaged or rebuilt, and is damaged. @throws {Conflict} */
  async refuseDamaged(view: RunView): Promise<void> {
    if (view.gate?.reason !== 'poisoned' && view.gate?.reason !== 'rebuilt') return;
    await this.refuseBehind(view);
    const fault = await this.#options.store.verifyRun(view.id);
    if (!fault) return;
    throw new Conflict(
      `Run ${view.id} is damaged and cannot resume: ${fault.message}. Export it, restore the database, or cancel the run.`,
      { extra: { sequence: fault.sequence } },
    );
  }

  /** A run of which others know more does not go on: what it would do may be done already. @throws {Conflict} */
  async refuseBehind(view: RunView): Promise<void> {
    const fault = await this.#options.faultElsewhere?.(view);
    if (!fault) return;
    const way = fault.namesWay === true ? 'Or' : 'Stop the server and restore the newest copy of its data folder, or';
    throw new Conflict(
      `Run ${view.id} cannot resume: ${fault.message}. ${way} cancel the run; its record stays in git.`,
      { extra: { sequence: fault.sequence } },
    );
  }

  async #pause(runId: string, reason: PauseReason, message: string, undelivered?: JsonObject): Promise<void> {
    const { store, runner, slots, log, admit } = this.#options;
    const stored = await store.loadView(runId);
    if (!stored || isFinal(stored.status)) return;
    if (stored.gate?.reason === reason && stored.status === 'paused') return;
    // A gate that a person has to see stays as it is, above all that of a quarantine.
    if (reason === 'held' && stored.gate !== null && !resumesByItself(stored.gate)) return;
    // The gate of an unreleased rebuilt run stays: no other reason for a pause is a way on.
    const { gate } = stored;
    const isOfRecord = gate?.reason === 'rebuilt';
    if (isOfRecord && gate.summary.startsWith(message)) return;
    const text = isOfRecord ? `${message.replace(/\.?$/, '.')} ${OF_RECORD}` : message;
    const payload: JsonObject = {
      gate: 'pause',
      stage: stored.currentStage,
      decisions: isOfRecord ? [...gate.decisions] : ['retry'],
      summary: text,
      details: isOfRecord ? gate.details : {},
      reason: isOfRecord ? gate.reason : reason,
      message: text,
      ...(undelivered === undefined ? {} : { undelivered }),
    };
    const event = newEvent('input', { type: 'RUN_PAUSED', payload }, this.#now());
    await this.#append(stored, [event], { activities: [], timers: [] });
    // Not before: where the disk is full, the work that led here goes on and is reported again.
    runner.cancelAll(runId);
    slots.release(stored.userId, runId);
    if (reason === 'held') log.info({ runId }, 'a person paused a run');
    else log.warn({ runId, reason }, `a run was quarantined: ${message}`);
    if (reason === 'poisoned') void this.#keepExport(runId);
    void admit(stored.userId);
  }

  /** Shows of a run that comes from a record, and that nobody has had go on, what applies now. */
  async showAgain(runId: string, pause: PauseText): Promise<void> {
    await this.#options.live.withExclusiveAccess(runId, async () => {
      const stored = await this.#options.store.loadView(runId);
      if (!stored || isFinal(stored.status) || stored.gate?.kind !== 'pause' || showsPause(stored.gate, pause)) return;
      const event = newEvent('input', { type: 'RUN_PAUSED', payload: pausePayload(stored, pause) }, this.#now());
      await this.#append(stored, [event], { activities: [], timers: [] });
    });
  }

  async #keepExport(runId: string): Promise<void> {
    try {
      await this.#options.onQuarantined?.(runId);
    } catch (error) {
      this.#options.log.error({ err: error, runId }, 'a damaged run could not be exported');
    }
  }

  async #end(view: RunView, payload: JsonObject, once: RequestKey | undefined): Promise<RunView> {
    const { store, runner, slots, admit, cancelAbandoned } = this.#options;
    const stored = (await store.loadView(view.id)) ?? view;
    if (isFinal(stored.status)) throw new Conflict(`Run ${view.id} has already ended: it is ${stored.status}.`);
    // The keys come from the store, because the run itself may be unreadable.
    const ended = await store.openKeys(view.id);
    const event = newEvent('input', { type: 'RUN_CANCELLED', payload }, this.#now());
    const cancelled = await this.#append(stored, [event], ended, requestOf(once));
    for (const key of ended.activities) runner.cancel(view.id, key);
    slots.release(view.userId, view.id);
    void admit(view.userId);
    void cancelAbandoned(view.id);
    return cancelled;
  }

  /** Appends events that no machine made. */
  async #append(
    view: RunView,
    events: readonly NewEvent[],
    ended: { readonly activities: readonly string[]; readonly timers: readonly string[] },
    request: Pick<RunCommit, 'request'> = {},
  ): Promise<RunView> {
    const folded = foldAll(view, view.id, view.lastSequence, events);
    const stored = await this.#options.store.append({
      runId: view.id,
      expectedSequence: view.lastSequence,
      events,
      startActivities: [],
      endActivities: ended.activities,
      setTimers: [],
      clearTimers: ended.timers,
      view: folded,
      clarifications: [],
      ...request,
    });
    this.#options.publish({ events: stored, view: folded });
    return folded;
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}
