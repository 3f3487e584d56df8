/** Admits queued runs when a run slot of their user is free, and gives slots back. */
import { type JsonObject, NotFound, type RunStatus, type RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import { holdsRunSlot } from '../../core/advance.ts';
import type { RunState } from '../../core/run-state.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { Clock } from '../clock.ts';
import type { LiveRun } from '../live/live-run.ts';
import type { LiveRuns } from '../live/live-runs.ts';
import type { NewInput } from '../run-commit.ts';
import type { RunSlots } from './run-slots.ts';

export interface RunAdmissionOptions {
  readonly store: Pick<EventStore, 'loadView' | 'readRun'>;
  readonly slots: RunSlots;
  readonly live: LiveRuns;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes the step of an input and stores it. */
  readonly apply: (runId: string, run: LiveRun, input: NewInput) => Promise<unknown>;
  readonly isStopped: () => boolean;
}

/** Wait before a queued run that could not be stored is tried again. */
const ADMIT_AGAIN_MS = 2_000;

export class RunAdmission {
  readonly #options: RunAdmissionOptions;

  constructor(options: RunAdmissionOptions) {
    this.#options = options;
  }

  /** Admits queued runs of a user, in the order of the queue, while there is a free slot. */
  async admit(userId: string): Promise<void> {
    const { slots, live, clock, log, isStopped } = this.#options;
    for (let runId = slots.next(userId); runId !== undefined; runId = slots.next(userId)) {
      if (isStopped()) return;
      try {
        await this.#admitNext(userId, runId);
      } catch (error) {
        log.error({ err: error, runId }, 'a queued run could not be admitted');
        const status = await this.#storedStatus(runId);
        const holdsSlot = live.find(runId)?.holdsSlot ?? status === 'running';
        if (status !== 'queued' && !holdsSlot) slots.release(userId, runId);
        if (status !== 'queued') continue;
        // It keeps its turn: a disk that is full now may have room later.
        slots.enqueue(userId, runId, true);
        clock.after(ADMIT_AGAIN_MS, () => void this.admit(userId));
        return;
      }
    }
  }

  async #admitNext(userId: string, runId: string): Promise<void> {
    const { slots, live, apply } = this.#options;
    // The event that queued it may not be on disk yet.
    await live.committedView(runId);
    const start = await this.#queuedStart(runId);
    await live.withRun(runId, async (run) => {
      // Somebody may have ended it since its turn came.
      if (run.view.status === 'queued') await apply(runId, run, this.#admission(run, start));
      else if (!holdsRunSlot(run.state)) slots.release(userId, runId);
    });
  }

  /** A slot is taken at once; it is given back when the disk has it, since the step may fail. */
  updateSlot(userId: string, state: RunState): void {
    if (holdsRunSlot(state)) this.#options.slots.take(userId, state.runId);
    else if (state.queuedAt === null) this.#options.slots.leaveQueue(userId, state.runId);
  }

  /** Gives the slot of a run back, where the run holds none any more. */
  releaseIfFree(userId: string, state: RunState): void {
    if (holdsRunSlot(state)) return;
    if (state.queuedAt === null) this.#options.slots.release(userId, state.runId);
    void this.admit(userId);
  }

  /** Gives a run the slot or the position in the queue that it has on disk. */
  restore(userId: string, runId: string, { committed, holdsSlot }: LiveRun): void {
    const { slots } = this.#options;
    if (holdsSlot) slots.take(userId, runId);
    else if (committed?.status === 'queued') slots.enqueue(userId, runId, true);
    else {
      slots.release(userId, runId);
      void this.admit(userId);
    }
  }

  /** The view with the present position in the queue instead of the one that the run had when it was queued. */
  withPosition(view: RunView): RunView {
    const position = view.status === 'queued' ? this.#options.slots.positionOf(view.userId, view.id) : undefined;
    return position === undefined ? view : { ...view, queuePosition: position };
  }

  /** Status of a run on disk; `undefined` when there is no such run. A run that cannot be read now counts as queued. */
  async #storedStatus(runId: string): Promise<RunStatus | undefined> {
    try {
      return (await this.#options.store.loadView(runId))?.status;
    } catch {
      return 'queued';
    }
  }

  /** A run that never began starts; one that resumes gets the time back that it waited. */
  #admission(run: LiveRun, start: JsonObject): NewInput {
    if (run.state.snapshot === null) return { type: 'RUN_STARTED', payload: start };
    const now = this.#options.clock.now().getTime();
    const waitedMs = run.state.queuedAt === null ? 0 : Math.max(0, now - Date.parse(run.state.queuedAt));
    return { type: 'RUN_ADMITTED', payload: { waitedMs } };
  }

  /** The start of a run, from its first event. */
  async #queuedStart(runId: string): Promise<JsonObject> {
    const [first] = await this.#options.store.readRun(runId, 0, 1);
    if (!first || first.type === 'ERASED') throw new NotFound(`Run ${runId} has no start in its log.`);
    return first.type === 'RUN_QUEUED' ? (first.payload['start'] as JsonObject) : first.payload;
  }
}
