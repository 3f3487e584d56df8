/**
 * Steps of runs: an input goes through the pure step, and all that follows is stored in one transaction. Only then are listeners
 * called, activities started and timers armed.
 */
import {
  BUDGET_NAMES,
  Conflict,
  type JsonObject,
  NotFound,
  type RequestKey,
  type RunStart,
  type RunStatus,
  type RunView,
  Unprocessable,
  type WorkflowEvent,
  treeOf,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import { advance, holdsRunSlot, isFinal, statusOf } from '../core/advance.ts';
import { undeclaredName } from '../core/declared-names.ts';
import type { ForkedRun } from '../core/fork.ts';
import { runIdOf } from '../core/run-id.ts';
import type { RunInput, RunState } from '../core/run-state.ts';
import type { EventStore, RunCommit, StoredActivity } from '../event-store/event-store.ts';
import type { ActivityOwner, ActivityRunner, Outcome } from './runner/activity-runner.ts';
import type { Clock } from './clock.ts';
import type { CrashLedger } from './crashes/crash-ledger.ts';
import type { FamilySpending } from './families/family-spending.ts';
import { type LiveRun, wayOn } from './live/live-run.ts';
import type { LiveRuns } from './live/live-runs.ts';
import type { Quarantine } from './quarantine.ts';
import type { RunAdmission } from './admission/run-admission.ts';
import { commitOf, foldAll, forkCommitOf, type NewInput, requestOf, type TakenStep } from './run-commit.ts';
import type { RunSlots } from './admission/run-slots.ts';
import type { StepFeed } from './step-feed.ts';
import { stopping } from './stopping.ts';
import type { Timers } from './timers.ts';

export interface RunStepsOptions {
  readonly store: Pick<EventStore, 'append' | 'listChildren' | 'loadHead' | 'openActivities'>;
  readonly live: LiveRuns;
  readonly slots: RunSlots;
  readonly admission: RunAdmission;
  readonly quarantine: Quarantine;
  readonly families: FamilySpending;
  readonly feed: StepFeed;
  readonly runner: Pick<ActivityRunner, 'atWork' | 'begin' | 'cancel' | 'resume'>;
  readonly timers: Pick<Timers, 'armed' | 'freed'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrub: <Value>(value: Value) => Value;
  readonly view: (runId: string) => Promise<RunView>;
  /** Cancels the child runs for which this run no longer waits. */
  readonly cancelAbandoned: (runId: string) => Promise<void>;
  readonly isStopped: () => boolean;
  /** Called with the milliseconds that each step took, from its input to the disk. */
  readonly onStep: ((ms: number) => void) | undefined;
  readonly crashes: Pick<CrashLedger, 'beginRecovery'> | undefined;
  /**
   * Called before a run begins to wait for people or child runs, with the payload of the input that leads there. The step is
   * taken when it ends, however it ends.
   */
  readonly beforeWait: BeforeWait | undefined;
}

export type BeforeWait = (runId: string, payload: JsonObject) => Promise<void>;

/** Tries to find a run as `beforeWait` left it. */
const BEFORE_WAIT_TRIES = 3;
/** A run in one of these may stay there for weeks. */
export const WAITING: ReadonlySet<RunStatus> = new Set<RunStatus>([
  'awaiting_approval',
  'awaiting_clarification',
  'awaiting_children',
  'paused',
]);

/** Files that people gave, and ids of objects in git. */
const BRINGS_MORE = /"uploads":\[|\b[0-9a-f]{40}\b/;
/** Wait before the activities of a run that could not be read are tried again. */
const RESUME_AGAIN_MS = 2_000;
/** Inputs after which work may go on that was open before. */
const RESUMING: ReadonlySet<string> = new Set(['RUN_ADMITTED', 'RETRY_REQUESTED', 'RUN_MIGRATED']);

export class RunSteps {
  readonly #options: RunStepsOptions;
  /** Keys of timers that fire once `beforeWait` has ended. */
  readonly #preparing = new Set<string>();
  readonly #stopping = Promise.withResolvers<void>();

  constructor(options: RunStepsOptions) {
    this.#options = options;
  }

  /** Ends all waits for `beforeWait`. To be called when the engine takes no more steps. */
  stop(): void {
    this.#stopping.resolve();
  }

  /**
   * Takes the step of an input and stores it. From here to the append nothing waits, so that steps of a run are appended in the
   * order in which they were made.
   * @returns the run after the step, once the disk has it
   * @throws {Unavailable} the engine is stopped
   */
  async apply(runId: string, run: LiveRun, { type, payload, json, request }: NewInput): Promise<RunView> {
    const { store, live, slots, admission, families, feed } = this.#options;
    // An activity that is ended with the engine still says what its calls came to.
    if (this.#options.isStopped() && type !== 'CALL_SETTLED') throw stopping();
    const takenAt = performance.now();
    const before = run.state;
    const input: RunInput = { type, payload, timestamp: this.#options.clock.now().toISOString() };
    const step = advance(run.definition, before, input);
    if (!step.ok) {
      if (step.reason === 'late') return run.view;
      return this.#quarantine(runId, run, input, step.message);
    }
    const undeclared = undeclaredName(run.definition, step);
    if (undeclared !== null) return this.#quarantine(runId, run, input, undeclared);
    const steps: TakenStep[] = [{ input, step }];
    const { userId } = run.view ?? (payload as unknown as RunStart);
    const wasHolding = holdsRunSlot(before) || type === 'RUN_STARTED' || type === 'RUN_ADMITTED';
    // One that was quarantined while it waited for its slot waits again.
    const waitsAgain = before.parked !== null && step.state.parked === null && step.state.queuedAt !== null;
    if (waitsAgain || (holdsRunSlot(step.state) && !wasHolding && !slots.hasRoom(userId))) {
      const position = slots.enqueue(userId, runId, true);
      const queue: RunInput = { type: 'RUN_QUEUED', payload: { position }, timestamp: input.timestamp };
      const queued = advance(run.definition, step.state, queue);
      if (queued.ok) steps.push({ input: queue, step: queued });
    }
    const { cost: costBefore, config: configBefore } = run.view ?? {};
    let commit: RunCommit;
    try {
      commit = commitOf(run, before, steps, json);
      if (request !== undefined) commit = { ...commit, request };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return this.#quarantine(runId, run, input, `the read model cannot take what it emits: ${message}`);
    }
    run.pending += 1;
    admission.updateSlot(userId, run.state);
    // Budgets change with other settings too, such as those that a project adds when the run begins.
    const isOther = commit.view.cost !== costBefore || commit.view.config !== configBefore;
    if (isOther) families.note(commit.view, String(payload['by'] ?? ''));
    if (commit.endActivities.length > 0) families.wake(commit.view);
    const appended = store.append(commit);
    run.tail = appended;
    let events: readonly WorkflowEvent[];
    try {
      events = await appended;
    } catch (error) {
      this.#rollBack(runId, run, userId);
      throw error;
    } finally {
      run.pending -= 1;
    }
    this.#options.onStep?.(performance.now() - takenAt);
    run.holdsSlot = holdsRunSlot(steps.at(-1)?.step.state ?? before);
    run.committed = commit.view;
    const view = admission.withPosition(commit.view);
    feed.publish({ events, view }, run.state);
    this.#startPendingWork(run, before, input, commit);
    const isBudget = type === 'BUDGET_CHANGED' && BUDGET_NAMES.some((name) => payload[name] !== undefined);
    if (isBudget) void families.resumeOthers(view);
    else families.resumeIfChanged(view);
    // A later step may have given the slot back already, and the disk may not take that one.
    if (wasHolding && !run.holdsSlot) admission.releaseIfFree(userId, run.state);
    else if (waitsAgain) void admission.admit(userId);
    live.evictIfIdle(runId, run);
    return view;
  }

  /**
   * Stores a forked run as a whole, then begins its work. Its run slot is given back when it cannot be stored.
   * @param fork who forked it, when (ISO 8601), and the request that asked for it, where it has a key
   */
  async storeFork(
    run: ForkedRun,
    { by, timestamp, once }: { readonly by: string; readonly timestamp: string; readonly once: RequestKey | undefined },
  ): Promise<RunView> {
    const { store, slots, families, feed, timers, runner, admission } = this.#options;
    const { runId } = run.state;
    const view = foldAll(null, runId, 0, run.events);
    const commit: RunCommit = { ...forkCommitOf(run, view, timestamp), ...requestOf(once) };
    let events: readonly WorkflowEvent[];
    try {
      events = await store.append(commit);
    } catch (error) {
      slots.release(by, runId);
      throw error;
    }
    families.note(view, by);
    if (view.treeBudgetsAt === timestamp) void families.resumeOthers(view);
    feed.publish({ events, view });
    timers.armed(commit.setTimers);
    if (run.state.queuedAt === null && run.state.parked === null) {
      for (const activity of commit.startActivities) runner.begin(activity, ownerOf(view));
    }
    return admission.withPosition(view);
  }

  /** Takes in the outcome of an activity; one that is not open any more changes nothing. */
  async report(runId: string, outcome: Outcome): Promise<void> {
    if (this.#options.beforeWait !== undefined) await this.prepareWait(runId, (run) => this.#outcomeFor(run, outcome));
    await this.#take(runId, outcome);
  }

  async #take(runId: string, outcome: Outcome): Promise<void> {
    await this.#options.live.withRun(runId, async (run) => {
      const input = this.#outcomeFor(run, outcome);
      if (input !== null) await this.apply(runId, run, input);
      // The event that closed it may not be on disk yet, and may never be. In that case the reporter tries again.
      else await run.tail;
    });
  }

  /** @returns `null` where the activity is not open any more */
  #outcomeFor({ state }: LiveRun, { type, ...payload }: Outcome): NewInput | null {
    if (state.activities[payload.activity] !== payload.key) return null;
    const scrubbed = this.#options.scrub(payload) as unknown as JsonObject;
    const json = JSON.stringify(scrubbed);
    // Other outputs take the form that JSON gives them before anything reads them; a text is JSON as it is.
    const isPlain = typeof scrubbed['output'] === 'string';
    return { type, payload: isPlain ? scrubbed : (JSON.parse(json) as JsonObject), json };
  }

  /** Takes in a timer that is due; where its run cannot take it now, it stays armed. */
  async fire(runId: string, key: string, event: string): Promise<void> {
    const { live, log } = this.#options;
    const inputOf = (run: LiveRun): NewInput | null => this.#firingOf(run, runId, key, event);
    const take = (): Promise<void> =>
      live.withRun(runId, async (run) => {
        const input = inputOf(run);
        if (input !== null) await this.apply(runId, run, input);
      });
    if (this.#preparing.has(key)) return;
    if ((await this.#waitAhead(runId, inputOf, null)) === null) return take();
    // Other timers that are due do not wait for it.
    this.#preparing.add(key);
    void this.prepareWait(runId, inputOf)
      .then(take)
      .catch((error: unknown) => log.error({ err: error, key }, 'a timer could not fire'))
      .finally(() => this.#preparing.delete(key));
  }

  /** @returns `null` where the run cannot take it now */
  #firingOf({ state, view }: LiveRun, runId: string, key: string, event: string): NewInput | null {
    const timer = Object.values(state.timers).find((armed) => armed.key === key);
    if (timer === undefined || state.queuedAt !== null || state.parked !== null) return null;
    if (isFinal(view.status)) return null;
    // It may have moved since it was found due.
    if (Date.parse(timer.dueAt) > this.#options.clock.now().getTime()) return null;
    const during = this.#options.scrub(this.#options.runner.atWork(runId));
    return { type: 'TIMER_FIRED', payload: { key, event, ...(during.length === 0 ? {} : { during }) } };
  }

  /**
   * Calls `beforeWait` where the step of an input makes its run wait, or brings files or commits to one that waits. To be called
   * before the step is taken, whose state is looked at again then.
   * @param inputOf `null` where there is nothing to take
   */
  async prepareWait(runId: string, inputOf: (run: LiveRun) => NewInput | null): Promise<void> {
    const { beforeWait, isStopped } = this.#options;
    if (beforeWait === undefined) return;
    let preparedAt: number | null = null;
    // A run that steps meanwhile may have made more by then.
    for (let tries = 1; tries <= BEFORE_WAIT_TRIES && !isStopped(); tries += 1) {
      const wait = await this.#waitAhead(runId, inputOf, preparedAt);
      if (wait === null) return;
      await Promise.race([beforeWait(runId, wait.payload), this.#stopping.promise]);
      preparedAt = wait.sequence;
    }
  }

  /**
   * The step is computed for it and taken later: it is pure.
   * @param preparedAt sequence of the state from which the step may be taken at once; `null` for none
   */
  async #waitAhead(
    runId: string,
    inputOf: (run: LiveRun) => NewInput | null,
    preparedAt: number | null,
  ): Promise<{ readonly payload: JsonObject; readonly sequence: number } | null> {
    const { live, clock, beforeWait } = this.#options;
    if (beforeWait === undefined) return null;
    return live.withRun(runId, async (run) => {
      const { definition, state, view } = run;
      const input = view.projectId === '' || state.sequence === preparedAt ? null : inputOf(run);
      if (input === null) return null;
      const { type, payload } = input;
      const step = advance(definition, state, { type, payload, timestamp: clock.now().toISOString() });
      const isWait = step.ok && WAITING.has(statusOf(step.state));
      const isDue = isWait && (!WAITING.has(statusOf(state)) || BRINGS_MORE.test(JSON.stringify(payload)));
      return isDue ? { payload, sequence: state.sequence } : null;
    });
  }

  /** Resumes the open work of a run that this process does not perform yet. A run that cannot be read is quarantined. */
  async recover(runId: string): Promise<void> {
    const { live, crashes, log } = this.#options;
    const recovery = crashes?.beginRecovery(runId);
    try {
      const run = await live.open(runId);
      if (run.state.queuedAt !== null || run.state.parked !== null) {
        live.evictIfIdle(runId, run);
        return;
      }
      await this.#resumeActivities(runId, ownerOf(run.view));
    } catch (error) {
      log.error({ err: error, runId }, 'a run could not be recovered and is quarantined');
    } finally {
      recovery?.();
    }
  }

  /**
   * A step could not be stored: what was computed on top of it is void too, and the next input starts from what the disk
   * has, as does the run's slot. Where another has taken the run out of memory already, that one has seen to its slot.
   */
  #rollBack(runId: string, run: LiveRun, userId: string): void {
    const { live, admission, families, isStopped } = this.#options;
    if (run.committed) families.note(run.committed);
    if (live.inUse(runId) !== run) return;
    live.remove(runId);
    const status = run.committed?.status;
    admission.restore(userId, runId, run);
    // Activities of an earlier step were not begun when the failed step was to end them.
    if (status !== undefined && !isFinal(status) && !isStopped()) void this.recover(runId);
  }

  /**
   * Quarantines a run. A known outcome of an activity is kept, so that its effect does
   * not happen again when the run resumes.
   */
  async #quarantine(runId: string, run: LiveRun, { type, payload }: RunInput, message: string): Promise<RunView> {
    const undelivered = type === 'ACTIVITY_COMPLETED' ? payload : undefined;
    const reason = `${type} cannot be processed: ${message}. ${wayOn(runId, run.state.sequence + 1)}`;
    // Closed at once: an input that came at the same time, such as another due timer, waits and finds the run quarantined.
    await this.#options.quarantine.quarantine(runId, 'poisoned', reason, { undelivered, tail: run.tail });
    if (await this.#options.store.loadHead(runId)) return this.#options.view(runId);
    throw new Unprocessable(
      `A run of workflow '${run.definition.name}' cannot start with this input: ${message}. Nothing was started.`,
    );
  }

  /** After the disk has it: activities end and begin, timers count. */
  #startPendingWork(run: LiveRun, before: RunState, input: RunInput, commit: RunCommit): void {
    const { runner, timers, cancelAbandoned } = this.#options;
    for (const key of commit.endActivities) runner.cancel(commit.runId, key);
    if (commit.setTimers.length > 0) timers.armed(commit.setTimers);
    if (run.state.queuedAt === null && run.state.parked === null) this.#begin(run, before, input, commit);
    if (hasLeftChildren(before, input, commit.endActivities)) void cancelAbandoned(commit.runId);
  }

  #begin(run: LiveRun, before: RunState, { type }: RunInput, { runId, startActivities, view }: RunCommit): void {
    const { runner, timers } = this.#options;
    const owner = ownerOf(view);
    for (const activity of startActivities) {
      const stillOpen = run.state.activities[activity.activity] === activity.key;
      if (stillOpen) runner.begin(activity, owner);
    }
    // One that waits for its children alone leaves the queue with all that has not begun.
    const hasLeftQueue = before.queuedAt !== null && run.state.view?.status === 'awaiting_children';
    if (!hasLeftQueue && !RESUMING.has(type)) return;
    timers.freed(runId);
    void this.#resumeActivities(runId, owner);
  }

  /**
   * Activities in the order in which they get their slots: child runs that are on disk count already, so that no other child
   * starts in the place of one of them.
   */
  async #startedChildrenFirst(
    runId: string,
    activities: readonly StoredActivity[],
  ): Promise<readonly StoredActivity[]> {
    if (activities.length < 2) return activities;
    const started = new Set((await this.#options.store.listChildren(runId)).map(({ id }) => id));
    const [first, last] = [true, false].map((has) => activities.filter(({ key }) => started.has(runIdOf(key)) === has));
    return [...(first ?? []), ...(last ?? [])];
  }

  async #resumeActivities(runId: string, owner: ActivityOwner): Promise<void> {
    const { store, live, runner, clock, log, isStopped } = this.#options;
    try {
      const stored = await this.#startedChildrenFirst(runId, await store.openActivities(runId));
      // The run may have moved on, or been quarantined, while this was read.
      const run = await live.open(runId);
      const { activities, parked: quarantined, queuedAt, undelivered } = run.state;
      const known = Object.entries(undelivered ?? {}).find(([id, { key }]) => activities[id] === key)?.[1];
      if (known !== undefined && quarantined === null && queuedAt === null) {
        // A corrected workflow may accept the outcome now. Another outcome may wait behind it.
        await this.#take(runId, { ...known, type: 'ACTIVITY_COMPLETED' } as unknown as Outcome);
        return await this.#resumeActivities(runId, owner);
      }
      for (const activity of stored) {
        const isOpen = quarantined === null && queuedAt === null && activities[activity.activity] === activity.key;
        if (isOpen) runner.resume(activity, owner);
      }
      live.evictIfIdle(runId, run);
    } catch (error) {
      log.error({ err: error, runId }, "a run's activities could not be resumed");
      // One that is quarantined or gone stays so; a disk that is full now may have room later.
      if (error instanceof Conflict || error instanceof NotFound || isStopped()) return;
      clock.after(RESUME_AGAIN_MS, () => {
        if (!isStopped()) void this.#resumeActivities(runId, owner);
      });
    }
  }
}

function ownerOf(view: RunView): ActivityOwner {
  return { workflow: view.workflow.name, maxConcurrency: view.config.maxConcurrency, treeId: treeOf(view) };
}

/** Whether a step ended activations of child runs otherwise than by the outcome of the child. */
function hasLeftChildren({ children, activities }: RunState, { payload }: RunInput, ended: readonly string[]): boolean {
  return children?.some((id) => activities[id] !== payload['key'] && ended.includes(activities[id] ?? '')) === true;
}
