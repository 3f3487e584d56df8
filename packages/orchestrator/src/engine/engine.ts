/**
 * The loop that makes statecharts durable: inputs go through the pure step, and all that follows is stored in one
 * transaction. Only then are activities started, timers armed and listeners called. Nothing else appends to the log.
 */
import { randomUUID } from 'node:crypto';
import {
  Conflict,
  foldRun,
  InvalidRequest,
  isTreeBudget,
  type JsonObject,
  type JsonValue,
  missingBudgetOf,
  NotFound,
  type PauseReason,
  type Progress,
  type RequestKey,
  type ReviewFact,
  type RunStart,
  type RunStatus,
  type RunFamily,
  type RunView,
  type ShownGate,
  treeOf,
  Unprocessable,
  type WorkflowEvent,
  Unavailable,
  usedUpBudget,
  usedUpTreeBudget,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import { z } from 'zod';
import type {
  EventStore,
  IntegrityFault,
  NewActivity,
  NewEvent,
  RunCommit,
  RequestedStep,
  RunHead,
  StepRequest,
  StoredRun,
} from '../event-store/event-store.ts';
import type { ActivityLookup, SpendingWriter } from '../core/activity.ts';
import { advance, canTake, dehydrate, holdsRunSlot, isFinal, newRun, rehydrate } from '../core/advance.ts';
import type { RunInput, RunState, StepResult } from '../core/run-state.ts';
import { contextChanges } from '../core/context-hash.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import { continueFork, type ForkedRun, forkRun, type ForkRequest } from '../core/fork.ts';
import { findNonJson } from '../core/plain-json.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { replay, type Replay } from '../core/replay.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { type ActivityOwner, ActivityRunner, type Outcome } from './activity-runner.ts';
import { childConfig } from '../run-config/child-config.ts';
import { CHILD_LIMITS, type ChildConfig, type ChildLimits, ChildRuns } from './child-runs.ts';
import type { Clock } from './clock.ts';
import type { CrashLedger } from './crash-ledger.ts';
import { findPendingWorkMismatch } from './pending-work.ts';
import { RunSlots } from './run-slots.ts';
import { planMigration } from './run-migration.ts';
import { type KeptTree, RunTrees } from './run-families.ts';
import { otherGate, unseen } from './shown-gate.ts';
import { Timers } from './timers.ts';

export interface EngineOptions {
  readonly store: EventStore;
  readonly workflows: WorkflowRegistry;
  readonly findActivity: ActivityLookup;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxConcurrentRunsPerUser: number;
  /** Activities of a run of {@link Engine.run} that are performed at the same time, where neither run nor workflow says. Default 4. */
  readonly maxConcurrency?: number;
  /** From 0 to 1, as `Math.random`: spreads retries. */
  readonly random: () => number;
  /** Applied to every payload before it is stored or shown: takes known secrets out. */
  readonly scrub: <Value>(value: Value) => Value;
  /** Called with the milliseconds that each step took, from its input to the disk. For measuring. */
  readonly onStep?: (ms: number) => void;
  /** Called when a run was quarantined as damaged, so that the readable part of it can be kept. */
  readonly onQuarantined?: (runId: string) => Promise<unknown>;
  /**
   * Open runs that are damaged by evidence from outside the database, such as the record in
   * git. Asked at the start, before any effect.
   */
  readonly findDamage?: () => Promise<readonly IntegrityFault[]>;
  /**
   * Names the runs that are held back at the start, and notes each recovery that begins
   * or ends. Absent: no run is held back.
   */
  readonly crashes?: Pick<CrashLedger, 'isHeld' | 'takesUp'>;
  /** Gives the configuration of a child run. Default: that of its parent, narrowed by what the parent asks for. */
  readonly childConfig?: ChildConfig;
  /** Default: `CHILD_LIMITS`. */
  readonly childLimits?: Partial<ChildLimits>;
  /** Fault of a run by evidence from outside the database. Asked before a run that was quarantined as damaged resumes. */
  readonly faultElsewhere?: (run: RunView) => Promise<IntegrityFault | null>;
}

/** The start of a run of a custom workflow. */
export interface NewWorkflowRun {
  /** Absent: a new random one. The same id gives the same run. */
  readonly id?: string;
  /** Input as the workflow's `input` schema describes it. */
  readonly input?: JsonObject;
  readonly request?: string;
  /** Whose places the run takes. Default `local`. */
  readonly userId?: string;
  /** Activities of the run that are performed at the same time, from 1. Default: the workflow's, else the engine's, else 4. */
  readonly maxConcurrency?: number;
}

/** A run that has ended, with its result. */
export interface FinishedRun extends RunView {
  /** What the machine's `output` gave, as JSON; `null` when it gives none, or when the run was cancelled without being asked. */
  readonly output: JsonValue;
  /** The machine's context at the end; `null` when the run never began or its workflow is not registered any more. */
  readonly context: JsonObject | null;
}

export interface ForkOptions extends Omit<ForkRequest, 'runId' | 'tree' | 'now'> {
  /** Decides the gate that is open there; `gateId` names it as the new run has it. */
  readonly signal?: { readonly type: string; readonly payload: JsonObject } & ShownGate;
  /** The request that asks for it, where it has a key. */
  readonly once?: RequestKey | undefined;
  /** Makes what the run needs outside, after everything was checked and before anything is stored. May be repeated after a crash. */
  readonly prepare: (run: ForkedRun) => Promise<void>;
}

export type EngineMessage =
  | { readonly events: readonly WorkflowEvent[]; readonly view: RunView }
  | { readonly progress: Progress };

/** It stopped at a budget that it shares. */
function waitsForTree({ gate }: RunView): boolean {
  const budget = gate && missingBudgetOf(gate);
  return budget !== null && isTreeBudget(budget);
}

/** Payload of a retry of a quarantined run whose workflow declares no retry. */
const RETRY_OF_PARKED = z.looseObject({ by: z.string() });

/** Events after which a snapshot is worth its bytes, given that the log has grown by as much as the last snapshot. */
const SNAPSHOT_EVERY_EVENTS = 50;
/** A large snapshot is also worth its bytes once it is no more than so many for each event that would be replayed. */
const SNAPSHOT_BYTES_PER_EVENT = 512;
/** Wait before a queued run that could not be stored is tried again. */
const ADMIT_AGAIN_MS = 2_000;
/** The same for a run's open work. */
const TAKE_UP_AGAIN_MS = 2_000;
/** Runs that came to rest a moment ago and may go on at once; those that wait for longer hold no memory. */
const RESTING_RUNS = 256;
/** Largest size of their states together, as JSON. */
const RESTING_BYTES = 16 * 1024 * 1024;
/** Events that are read at once. */
const EVENTS_AT_ONCE = 500;
/** Runs that are recovered at the same time at the start. */
const RECOVER_AT_ONCE = 64;

/** A run that steps while it is read for its migration is read again, so often at most. */
const MIGRATION_TRIES = 5;
/** The same for one that is set aside while it steps. */
const SET_ASIDE_TRIES = 5;
/** Inputs after which work may go on that was open before. */
const RESUMING: ReadonlySet<string> = new Set(['RUN_ADMITTED', 'RETRY_REQUESTED', 'RUN_MIGRATED']);

/** A run in memory: its state after all that was handed to the store, committed or not. */
interface LiveRun {
  readonly definition: WorkflowDefinition;
  state: RunState;
  view: RunView;
  /** The view as the disk has it, which readers get; `null` before the first commit. */
  committed: RunView | null;
  eventsSinceSnapshot: number;
  bytesSinceSnapshot: number;
  /** Size of the last snapshot and the view beside it, as JSON. */
  snapshotBytes: number;
  /** Appends that are not yet on disk. */
  pending: number;
  /** Settles with the last append. */
  tail: Promise<unknown>;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #runs = new Map<string, LiveRun>();
  /** Runs at rest, the one that came to rest last at the end. */
  readonly #resting = new Map<string, LiveRun>();
  #restingBytes = 0;
  readonly #opening = new Map<string, Promise<LiveRun>>();
  readonly #forking = new Map<string, Promise<RunView>>();
  readonly #launching = new Map<string, Promise<RunView>>();
  /** Keys under which something is being done. */
  readonly #doing = new Map<string, Promise<void>>();
  /** Runs that may not be opened now. */
  readonly #closed = new Map<string, Promise<void>>();
  readonly #listeners = new Set<(message: EngineMessage) => void>();
  readonly #finishing = new Map<string, Set<PromiseWithResolvers<RunView>>>();
  readonly #runSlots: RunSlots;
  readonly #trees: RunTrees;
  readonly #runner: ActivityRunner;
  readonly #timers: Timers;
  readonly #children: ChildRuns;
  /** Requests that come while the server starts wait until the run slots in use are known. */
  #placesKnown: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#runSlots = new RunSlots(options.maxConcurrentRunsPerUser);
    this.#trees = new RunTrees({
      stored: (treeId) => this.#viewsOfTree(treeId),
      live: (runId) => this.#runs.get(runId)?.view,
    });
    const limits = { ...CHILD_LIMITS, ...options.childLimits };
    this.#children = new ChildRuns({
      store: options.store,
      workflows: options.workflows,
      clock: options.clock,
      log: options.log,
      limits,
      configOf: options.childConfig ?? ((parent, _workflow, asked) => childConfig(parent, asked)),
      launch: (runId, start) => this.launch(runId, start),
      view: (runId) => this.view(runId),
      finished: (runId) => this.finished(runId),
      inspect: (runId) => this.inspect(runId),
      cancel: (runId, by, reason) => this.cancel(runId, by, reason),
      isHeld: (runId) => options.crashes?.isHeld(runId) === true,
    });
    this.#runner = new ActivityRunner({
      store: options.store,
      findActivity: (workflow, name) =>
        this.#children.activityOf(workflow, name) ?? options.findActivity(workflow, name),
      isChild: (workflow, src) => this.#children.workflowOf(workflow, src) !== undefined,
      childrenAtOnce: limits.atOnce,
      clock: options.clock,
      random: options.random,
      log: options.log,
      report: (runId, outcome) => this.#report(runId, outcome),
      progress: (progress) => this.#publish({ progress: options.scrub(progress) }),
      scrub: options.scrub,
      spend: (job, write) => this.#spend(job, write),
    });
    this.#timers = new Timers({
      store: options.store,
      clock: options.clock,
      log: options.log,
      fire: (timer) => this.#fire(timer.runId, timer.key, timer.event),
    });
  }

  /** Takes up everything that was under way: places, queue, activities, timers. A run that cannot be read is parked; the others go on. */
  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#placesKnown = promise;
    try {
      await this.#recoverRun(resolve);
    } finally {
      resolve();
    }
  }

  async #recoverRun(placesAreKnown: () => void): Promise<void> {
    const { store } = this.#options;
    await this.#parkDamaged();
    const running = await store.listOpenRuns('running');
    const queued = await this.#viewsOf(await store.listOpenRuns('queued'));
    for (const head of running) this.#runSlots.take(head.userId, head.id);
    for (const view of queued.sort(byQueue)) this.#runSlots.enqueue(view.userId, view.id, false);
    placesAreKnown();
    // Timers that came due while the server was down come first: work that they end need not begin again.
    await this.#timers.start();
    // The same holds for runs that nobody waits for: the last process may have ended between a parent's step and their end.
    await this.#children.cancelAbandoned();
    const unfinished = new Set(await store.runsWithActivities());
    for (const head of running) unfinished.add(head.id);
    const ids = [...unfinished].filter((runId) => this.#options.crashes?.isHeld(runId) !== true);
    for (let from = 0; from < ids.length; from += RECOVER_AT_ONCE)
      await Promise.all(ids.slice(from, from + RECOVER_AT_ONCE).map((runId) => this.#recover(runId)));
    for (const userId of new Set(queued.map((view) => view.userId))) await this.#admit(userId);
  }

  /** Quarantines runs whose stored events were changed, before any of them is recovered. */
  async #parkDamaged(): Promise<void> {
    const { store, findDamage, log } = this.#options;
    const faults = await Promise.all([store.verifyTips(), findDamage?.() ?? []]);
    for (const { runId, message } of faults.flat()) {
      try {
        await this.#park(runId, 'poisoned', message);
      } catch (error) {
        log.error({ err: error, runId }, 'a damaged run could not be quarantined');
      }
    }
  }

  /** Stops taking inputs and ends what runs; the next start takes it up again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#children.stop();
    this.#trees.wakeAll();
    this.#timers.stop();
    await this.#runner.stop();
    await Promise.allSettled([...this.#runs.values()].map((run) => run.tail));
    for (const [runId, waiting] of this.#finishing) for (const end of waiting) end.reject(stoppedBefore(runId));
    this.#finishing.clear();
  }

  /**
   * Starts a run of the newest version of a workflow.
   * @throws {NotFound} there is no such workflow
   * @throws {InvalidRequest} the input is not what the workflow takes
   */
  async run(
    workflow: string,
    { id = randomUUID(), input, request, userId = 'local', maxConcurrency: wanted }: NewWorkflowRun = {},
  ): Promise<RunView> {
    const definition = this.#options.workflows.latest(workflow);
    if (!definition) throw new NotFound(`There is no workflow '${workflow}'.`);
    const ofEngine = this.#options.maxConcurrency ?? BUILT_IN_RUN_CONFIG.maxConcurrency;
    const maxConcurrency = wanted ?? definition.maxConcurrency ?? ofEngine;
    if (!Number.isSafeInteger(maxConcurrency) || maxConcurrency < 1)
      throw new InvalidRequest(`maxConcurrency is ${maxConcurrency}; it is a whole number from 1.`);
    const { name, version, fingerprint } = definition;
    return this.launch(id, {
      projectId: '',
      userId,
      workflow: { name, version, fingerprint },
      request: request ?? name,
      config: { ...BUILT_IN_RUN_CONFIG, maxConcurrency },
      requestedConfig: {},
      branch: '',
      ...(input === undefined ? {} : { input }),
    });
  }

  /**
   * Waits for the end of a run.
   * @returns its view, output and context
   * @throws {NotFound} @throws {Unavailable} the engine is stopped before
   */
  async finished(runId: string): Promise<FinishedRun> {
    const view = await this.#ended(runId);
    try {
      const { snapshot } = (await this.inspect(runId)).state;
      const output: unknown = snapshot?.output;
      return {
        ...view,
        output: output === undefined ? null : plain(output as JsonValue),
        context: snapshot === null ? null : plain(snapshot.context as JsonObject),
      };
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      return { ...view, output: null, context: null };
    }
  }

  async #ended(runId: string): Promise<RunView> {
    // It may end while it is looked up.
    const end = Promise.withResolvers<RunView>();
    end.promise.catch(() => undefined);
    const waiting = this.#finishing.get(runId) ?? new Set();
    this.#finishing.set(runId, waiting.add(end));
    const live = this.#runs.get(runId) ?? this.#resting.get(runId);
    const head = live?.committed ?? (await this.#options.store.loadHead(runId));
    if (head && !isFinal(head.status)) {
      if (this.#stopped) end.reject(stoppedBefore(runId));
      return end.promise;
    }
    waiting.delete(end);
    if (waiting.size === 0) this.#finishing.delete(runId);
    if (!head) throw new NotFound(`There is no run '${runId}'.`);
    return this.view(runId);
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: (message: EngineMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Starts a run, or queues it when its user has no place free.
   * A run that already exists under this id is returned as it is.
   */
  launch(runId: string, start: RunStart, once?: RequestKey): Promise<RunView> {
    // The same launch that comes twice at the same time makes one run.
    let launching = this.#launching.get(runId);
    if (!launching) {
      launching = this.#launch(runId, start, once).finally(() => this.#launching.delete(runId));
      this.#launching.set(runId, launching);
    }
    return launching;
  }

  async #launch(runId: string, start: RunStart, once: RequestKey | undefined): Promise<RunView> {
    const definition = this.#definition(start.workflow.name, start.workflow.version);
    if (!definition)
      throw new NotFound(`There is no workflow '${start.workflow.name}' version ${start.workflow.version}.`);
    const parsed = this.#parsedInput(definition, start);
    await this.#placesKnown;
    const existing =
      (await this.#known(runId)) ?? (await this.#options.store.loadView(runId)) ?? (await this.#known(runId));
    if (existing) return existing;
    if (this.#stopped) throw stopping();
    const payload = plain(this.#options.scrub({ ...start, ...parsed })) as unknown as JsonObject;
    const input: NewInput = this.#runSlots.hasRoom(start.userId)
      ? { type: 'RUN_STARTED', payload }
      : {
          type: 'RUN_QUEUED',
          payload: { position: this.#runSlots.enqueue(start.userId, runId, false), start: payload },
        };
    const run: LiveRun = {
      definition,
      state: newRun(runId),
      view: null as unknown as RunView, // the first event gives it
      committed: null,
      eventsSinceSnapshot: 0,
      bytesSinceSnapshot: 0,
      snapshotBytes: 0,
      pending: 0,
      tail: Promise.resolve(),
    };
    this.#runs.set(runId, run);
    const view = await this.#apply(runId, run, { ...input, ...requestOf(once) });
    if (start.treeId !== undefined) this.#trees.note(view);
    return view;
  }

  /**
   * Starts a run that goes on where another was after one of its events, or queues it when its user has no place free. All of
   * it is stored at once. A run that already exists under this id is returned as it is.
   * @throws {Conflict} saying why the source cannot be forked there, or its gate does not take the signal; nothing is made then
   */
  fork(runId: string, sourceId: string, options: ForkOptions): Promise<RunView> {
    // The same request that is sent twice at the same time makes one run.
    let forking = this.#forking.get(runId);
    if (!forking) {
      forking = this.#fork(runId, sourceId, options).finally(() => this.#forking.delete(runId));
      this.#forking.set(runId, forking);
    }
    return forking;
  }

  async #fork(runId: string, sourceId: string, { signal, prepare, once, ...wanted }: ForkOptions): Promise<RunView> {
    const { store, scrub } = this.#options;
    const existing = await store.loadView(runId);
    if (existing) return this.withPosition(existing);
    const source = await this.view(sourceId);
    const { workflow } = source;
    await this.#refuseDamage(sourceId, wanted.at, `be forked at event ${wanted.at}`);
    const timestamp = this.#now();
    const history = await store.readRun(sourceId, 0);
    const erased = history.find(({ type, sequence }) => type === 'ERASED' && sequence <= wanted.at);
    if (erased) {
      const message = `event ${erased.sequence} was erased, and what followed from it cannot be computed again`;
      throw new Conflict(`Run ${sourceId} cannot be forked at event ${wanted.at}: ${message}.`);
    }
    const forked = forkRun(
      history,
      (version) => this.#definition(workflow.name, version),
      scrub({ ...wanted, runId, tree: treeOf(source), now: timestamp }),
    );
    const taken = (fork: typeof forked): ForkedRun => {
      if (fork.ok) return fork.run;
      throw new Conflict(`Run ${sourceId} cannot be forked at event ${wanted.at}: ${fork.message}.`);
    };
    let run = taken(forked);
    if (signal) {
      const payload = this.#checkSignal(run, signal.type, signal.payload);
      const view = foldAll(null, runId, 0, run.events);
      const refusal = this.#refusal({ state: run.state, view }, signal.type, payload, signal);
      if (refusal) throw refusal;
      run = taken(continueFork(run, { type: signal.type, payload: scrub(payload), timestamp }));
    }
    await prepare(run);
    await this.#placesKnown;
    // Nothing is awaited from here to the append, so no other run can take the slot.
    if (this.#stopped) throw stopping();
    if (holdsRunSlot(run.state)) {
      if (this.#runSlots.hasRoom(wanted.by)) this.#runSlots.take(wanted.by, runId);
      else {
        const position = this.#runSlots.enqueue(wanted.by, runId, false);
        run = taken(continueFork(run, { type: 'RUN_QUEUED', payload: { position }, timestamp }));
      }
    }
    const view = foldAll(null, runId, 0, run.events);
    const commit: RunCommit = {
      runId,
      expectedSequence: 0,
      events: run.events.map((event) => newEvent(event.origin, event, event.timestamp)),
      startActivities: run.activities.map((activity) => begun({ ...activity, runId, startedAt: timestamp }, run.state)),
      endActivities: [],
      setTimers: Object.values(run.state.timers).map((timer) => ({ ...timer, runId })),
      clearTimers: [],
      view,
      clarifications: view.clarifications,
      ...requestOf(once),
      ...(run.events.length < SNAPSHOT_EVERY_EVENTS ? {} : { snapshot: dehydrate(run.definition.machine, run.state) }),
    };
    let events: readonly WorkflowEvent[];
    try {
      events = await store.append(commit);
    } catch (error) {
      this.#runSlots.release(wanted.by, runId);
      throw error;
    }
    this.#trees.note(view, wanted.by);
    if (view.treeBudgetsAt === timestamp) void this.#goOnTogether(view);
    this.#publish({ events, view });
    this.#timers.armed(commit.setTimers);
    if (run.state.queuedAt === null) {
      for (const activity of commit.startActivities) this.#runner.begin(activity, ownerOf(view));
    }
    return this.withPosition(view);
  }

  /**
   * Sends a signal to a run.
   * @param shown the gate that the sender saw open, with the hashes that it showed; `undefined` when the signal is not about a gate
   * @throws {InvalidRequest} for a signal that the workflow does not declare, whose payload is wrong, or that approves or accepts
   *   what a gate shows without naming every hash of it, in the payload or in `shown`
   * @throws {Conflict} when the run cannot take it now; `extra.winner` is the decision that came first
   * @throws {Stale} when an approval names another artifact or code tree than the current one
   * @param once a key of the sender's own: what was done under it is not done again, also after a crash, and the answer is
   *   then the run as it was after that step. It is kept for seven days at least
   * @throws {Unprocessable} when the key was used for something else
   */
  signal(runId: string, type: string, payload: JsonObject, shown?: ShownGate, once?: RequestKey): Promise<RunView> {
    if (once === undefined) return this.#signal(runId, type, payload, shown);
    return this.#once(once, () => this.#signal(runId, type, payload, shown, once));
  }

  async #once(once: RequestKey, work: () => Promise<RunView>): Promise<RunView> {
    const { key, hash } = once;
    for (let first = this.#doing.get(key); first; first = this.#doing.get(key)) await first.catch(() => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#doing.set(key, promise);
    try {
      const done = await this.#options.store.recallStep(key);
      if (done === null) return await work();
      if (done.requestHash === hash) return await this.#viewAfter(done);
      throw new Unprocessable(`The key '${key}' was used for something else, at run ${done.runId}; use a new one.`);
    } finally {
      this.#doing.delete(key);
      resolve();
    }
  }

  /** The run as it was after a step; as it is, where its beginning was erased. */
  async #viewAfter({ runId, sequence }: Pick<RequestedStep, 'runId' | 'sequence'>): Promise<RunView> {
    let view: RunView | null = null;
    for (let after = 0; after < sequence;) {
      const events = await this.#options.store.readRun(runId, after, Math.min(EVENTS_AT_ONCE, sequence - after));
      for (const event of events) view = foldRun(view, event);
      if (view === null || events.length === 0) return this.view(runId);
      after += events.length;
    }
    return view ?? this.view(runId);
  }

  async #signal(
    runId: string,
    type: string,
    payload: JsonObject,
    shown?: ShownGate,
    once?: RequestKey,
  ): Promise<RunView> {
    await this.#placesKnown;
    if (type === 'RETRY_REQUESTED') await this.#refuseDamaged(runId);
    for (;;) {
      const view = await this.#use(runId, async (run) => {
        const checked = this.#checkSignal(run, type, payload);
        const refusal = this.#refusal(run, type, checked, shown);
        if (!refusal) {
          const input = { type, payload: this.#options.scrub(checked), ...requestOf(once, shown?.gateId) };
          return this.#apply(runId, run, input);
        }
        // The refusal may rest on events that are not on disk yet. When they never get there, the signal is checked again.
        const isStored = await run.tail.then(
          () => true,
          () => false,
        );
        if (isStored) throw refusal;
        return null;
      });
      if (view) return view;
    }
  }

  /**
   * Stores what a person noted beside a result. The machine is not asked: it changes nothing of where the run is.
   * @param check throws where the run as it is then does not take it
   * @param once as with {@link signal}
   * @throws {Conflict} when the run has ended
   */
  note(runId: string, fact: ReviewFact, check: (view: RunView) => void, once?: RequestKey): Promise<RunView> {
    if (once === undefined) return this.#note(runId, fact, check);
    return this.#once(once, () => this.#note(runId, fact, check, once));
  }

  async #note(runId: string, fact: ReviewFact, check: (view: RunView) => void, once?: RequestKey): Promise<RunView> {
    await this.#placesKnown;
    return this.#use(runId, async (run) => {
      const { view } = run;
      if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
      check(view);
      const payload = plain(this.#options.scrub(fact.payload)) as unknown as JsonObject;
      return this.#apply(runId, run, { type: fact.type, payload, ...requestOf(once) });
    });
  }

  /** Refuses to build on a history that differs from what was stored. @throws {Conflict} */
  async #refuseDamage(runId: string, upTo: number, what: string): Promise<void> {
    const fault = await this.#options.store.verifyRun(runId);
    if (!fault || fault.sequence > upTo) return;
    throw new Conflict(
      `Run ${runId} is damaged and cannot ${what}: ${fault.message}. Export it, or restore the database.`,
      {
        extra: { sequence: fault.sequence },
      },
    );
  }

  /** Refuses to resume a run that was quarantined as damaged and is still damaged. @throws {Conflict} */
  async #refuseDamaged(runId: string): Promise<void> {
    const view = await this.view(runId);
    if (view.gate?.reason !== 'poisoned') return;
    await this.#refuseBehind(view);
    const fault = await this.#options.store.verifyRun(runId);
    if (!fault) return;
    throw new Conflict(
      `Run ${runId} is damaged and cannot resume: ${fault.message}. Export it, restore the database, or cancel the run.`,
      { extra: { sequence: fault.sequence } },
    );
  }

  /** A run of which others know more does not go on: what it would do may be done already. @throws {Conflict} */
  async #refuseBehind(view: RunView): Promise<void> {
    const fault = await this.#options.faultElsewhere?.(view);
    if (!fault) return;
    throw new Conflict(
      `Run ${view.id} cannot resume: ${fault.message}. Stop the server and restore the newest copy of its data folder, or cancel the run; its record stays in git.`,
      { extra: { sequence: fault.sequence } },
    );
  }

  /**
   * Sets an open run aside of which others know more, wherever it is; one that has ended stays as it is.
   * @param message what is known elsewhere
   */
  async setAside(runId: string, message: string): Promise<void> {
    await this.#placesKnown;
    // Its work may be stored just now: then it is set aside after that.
    for (let tries = 1; ; tries += 1) {
      await (this.#runs.get(runId)?.tail ?? Promise.resolve()).catch(() => undefined);
      try {
        return await this.#park(runId, 'poisoned', message);
      } catch (error) {
        if (!(error instanceof Conflict) || tries === SET_ASIDE_TRIES) throw error;
      }
    }
  }

  /**
   * Cancels a run from wherever it is, also one that cannot be read any more.
   * @throws {Conflict} when it has ended
   */
  async cancel(runId: string, by: string, reason?: string, once?: RequestKey): Promise<RunView> {
    await this.#placesKnown;
    const view = await this.view(runId);
    if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
    const payload = { by, ...(reason === undefined ? {} : { reason }) };
    let run: LiveRun;
    try {
      run = await this.#open(runId);
    } catch {
      return this.#cancelUnreadable(view, payload, once);
    }
    await run.tail.catch(() => undefined);
    const { definition, state } = run;
    // A machine that does not say how it is cancelled is ended without being asked.
    const isTaken =
      state.snapshot !== null &&
      Object.hasOwn(definition.signals, 'RUN_CANCELLED') &&
      (isFinal(run.view.status) || canTake(state, 'RUN_CANCELLED', payload));
    return isTaken
      ? this.signal(runId, 'RUN_CANCELLED', payload, undefined, once)
      : this.#cancelUnreadable(run.view, payload, once);
  }

  /**
   * Binds a run to another version of its workflow: as it is where its whole history goes the same way there, else through
   * the migration that the version gives. A run that was set aside for want of its definition, or by a fault of it, goes on.
   * @throws {NotFound} @throws {Conflict} naming the first event that would be another one; the run stays as it was
   */
  async migrate(runId: string, to: number, by: string, once?: RequestKey): Promise<RunView> {
    const { store } = this.#options;
    await this.#placesKnown;
    for (let tries = 0; tries < MIGRATION_TRIES; tries++) {
      await this.#runs.get(runId)?.tail.catch(() => undefined);
      const view = await store.loadView(runId);
      if (!view) throw new NotFound(`There is no run '${runId}'.`);
      await this.#refuseDamage(runId, view.lastSequence, 'be migrated');
      if (view.gate?.reason === 'poisoned') await this.#refuseBehind(view);
      const versions = (version: number) => this.#definition(view.workflow.name, version);
      const { definition, state, payload } = await planMigration({ store, versions, view, to, by });
      // From here to the append nothing waits. The run may have gone on while it was read: then it is read again.
      const now = (this.#runs.get(runId) ?? this.#resting.get(runId))?.state.sequence ?? view.lastSequence;
      if (state.sequence !== view.lastSequence || state.sequence !== now) continue;
      // A snapshot goes with the step, so that no later opening needs the version before.
      const due = { eventsSinceSnapshot: Infinity, bytesSinceSnapshot: Infinity, snapshotBytes: 0 };
      const run: LiveRun = { definition, state, view, committed: view, ...due, pending: 0, tail: Promise.resolve() };
      this.#forget(runId);
      this.#runs.set(runId, run);
      return this.#apply(runId, run, { type: 'RUN_MIGRATED', payload, ...requestOf(once) });
    }
    throw new Unavailable(`Run ${runId} moved on each time that it was read; try again when it is at rest.`);
  }

  /** The run's view with its present place in the queue. @throws {NotFound} */
  async view(runId: string): Promise<RunView> {
    const live = this.#runs.get(runId) ?? this.#resting.get(runId);
    const view = live?.committed ?? (await this.#options.store.loadView(runId));
    if (!view) throw new NotFound(`There is no run '${runId}'.`);
    return this.withPosition(view);
  }

  /** The view with its present place in the queue instead of the one it had when it was queued. */
  withPosition(view: RunView): RunView {
    const position = view.status === 'queued' ? this.#runSlots.positionOf(view.userId, view.id) : undefined;
    return position === undefined ? view : { ...view, queuePosition: position };
  }

  /** The run's state and definition, for reading. @throws {NotFound | Conflict} */
  async inspect(runId: string): Promise<{ readonly definition: WorkflowDefinition; readonly state: RunState }> {
    const run = await this.#open(runId);
    this.#rest(runId, run);
    return { definition: run.definition, state: run.state };
  }

  /** Runs that hold memory now: those that run, and a bounded number of those that came to rest last. */
  get runsInMemory(): number {
    return this.#runs.size + this.#resting.size;
  }

  /** Fires what is due now; the timers do this by themselves. For clocks that were moved. */
  async checkTimers(): Promise<void> {
    await this.#timers.check();
  }

  /** Spending of the run and of all runs of its tree. @throws {NotFound} */
  async tree(runId: string): Promise<RunFamily> {
    return (await this.#trees.of(await this.view(runId))).all;
  }

  /** The budgets of a tree have changed at one of its runs: those that wait for that go on. */
  async #goOnTogether(changed: RunView): Promise<void> {
    try {
      const tree = await this.#trees.of(changed);
      for (const view of await this.#viewsOfTree(tree.id)) {
        if (view.id !== changed.id && waitsForTree(view)) await this.#goOn(view, tree);
      }
    } catch (error) {
      this.#options.log.error({ err: error, runId: changed.id }, 'the runs of its tree could not be looked at');
    }
  }

  /** Takes a run up that waits for its tree, where it may spend again. */
  async #goOn({ id, gate, config, cost }: RunView, tree: KeptTree | undefined): Promise<void> {
    if (!tree || this.#stopped || gate === null) return;
    if (usedUpBudget(config, cost) !== null || usedUpTreeBudget(tree.all) !== null) return;
    try {
      const by = tree.changedBy === '' ? 'local' : tree.changedBy;
      await this.signal(id, 'BUDGET_CHANGED', { by }, { gateId: gate.id });
    } catch (error) {
      // Somebody has decided it meanwhile, or its workflow goes on in another way.
      this.#options.log.warn({ err: error, runId: id }, 'a run was not resumed with the new budget of its run family');
    }
  }

  /** The run, its forks and all others of its tree, newest first. @throws {NotFound} */
  async runsOfTree(runId: string): Promise<readonly RunView[]> {
    return this.#viewsOfTree(treeOf(await this.view(runId)));
  }

  async #viewsOfTree(treeId: string): Promise<readonly RunView[]> {
    const views: RunView[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#options.store.listRuns({ treeId, limit: 200, cursor });
      views.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return views;
  }

  // ---- inputs

  async #report(runId: string, outcome: Outcome): Promise<void> {
    const { type, ...payload } = outcome;
    await this.#use(runId, async (run) => {
      if (run.state.activities[outcome.activity] !== outcome.key) {
        // The event that closed it may not be on disk yet, and may never be. In that case the reporter tries again.
        await run.tail;
        return;
      }
      const scrubbed = this.#options.scrub(payload) as unknown as JsonObject;
      const json = JSON.stringify(scrubbed);
      // Other outputs take the form that JSON gives them before anything reads them; a text is JSON as it is.
      const isPlain = typeof scrubbed['output'] === 'string';
      await this.#apply(runId, run, { type, payload: isPlain ? scrubbed : (JSON.parse(json) as JsonObject), json });
    });
  }

  /**
   * Writes a reservation or its settlement. A reservation is accepted only while its
   * activity is open; a settlement later as well.
   */
  async #spend(
    { runId, activity, key }: { readonly runId: string; readonly activity: string; readonly key: string },
    write: SpendingWriter,
  ): Promise<void> {
    // A run never changes its tree.
    const member = this.#runs.get(runId)?.view ?? (await this.view(runId));
    for (;;) {
      const tree = await this.#trees.of(member);
      const moved = tree.nextMove();
      const isWritten = await this.#use(runId, async (run) => {
        const { state, view } = run;
        // The tree has left memory meanwhile and must be read again.
        if (this.#trees.known(view) !== tree) return false;
        if (isFinal(view.status) || state.parked !== null) {
          const fact = write(view, tree.look(runId));
          if (fact !== 'later') tree.noteUnsettled(runId, fact);
          throw new Conflict(`Run ${runId} is ${view.status}: no more spending is accepted for it.`);
        }
        const fact = write(view, tree.look(runId));
        if ((fact === 'later' || fact.type === 'CALL_BOOKED') && state.activities[activity] !== key)
          throw new Conflict(`Run ${runId} has left the activity ${activity}: no more spending is accepted for it.`);
        if (fact === 'later') return false;
        const payload = plain(this.#options.scrub(fact.payload)) as unknown as JsonObject;
        tree.noteCall(runId, fact);
        try {
          await this.#apply(runId, run, { type: fact.type, payload });
        } catch (error) {
          tree.forgetCall(fact.payload.call);
          throw error;
        }
        return true;
      });
      if (isWritten) return;
      if (this.#stopped) throw stopping();
      if (this.#trees.known(member) === tree) await moved;
    }
  }

  async #fire(runId: string, key: string, event: string): Promise<void> {
    await this.#use(runId, async (run) => {
      const timer = Object.values(run.state.timers).find((armed) => armed.key === key);
      if (timer === undefined || run.state.queuedAt !== null || run.state.parked !== null) return;
      if (isFinal(run.view.status)) return;
      // It may have moved since it was found due.
      if (Date.parse(timer.dueAt) > this.#options.clock.now().getTime()) return;
      await this.#apply(runId, run, { type: 'TIMER_FIRED', payload: { key, event } });
    });
  }

  async #admit(userId: string): Promise<void> {
    for (let runId = this.#runSlots.next(userId); runId !== undefined; runId = this.#runSlots.next(userId)) {
      if (this.#stopped) return;
      try {
        // The event that queued it may not be on disk yet.
        await this.#known(runId);
        const start = await this.#queuedStart(runId);
        await this.#use(runId, async (run) => {
          // Somebody may have ended it since its turn came.
          if (run.view.status === 'queued') await this.#apply(runId, run, this.#admission(run, start));
          else if (!holdsRunSlot(run.state)) this.#runSlots.release(userId, runId);
        });
      } catch (error) {
        this.#options.log.error({ err: error, runId }, 'a queued run could not be admitted');
        const status = await this.#storedStatus(runId);
        if (status !== 'queued' && status !== 'running') this.#runSlots.release(userId, runId);
        if (status !== 'queued') continue;
        // It keeps its turn: a disk that is full now may have room later.
        this.#runSlots.enqueue(userId, runId, true);
        this.#options.clock.after(ADMIT_AGAIN_MS, () => void this.#admit(userId));
        return;
      }
    }
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

  #checkSignal(
    { definition, state }: Pick<LiveRun, 'definition' | 'state'>,
    type: string,
    payload: JsonObject,
  ): JsonObject {
    const { name, signals } = definition;
    // The engine itself retries a run that it has quarantined, also when the run's workflow declares no retry.
    const own = state.parked !== null && type === 'RETRY_REQUESTED' ? RETRY_OF_PARKED : undefined;
    const schema = (Object.hasOwn(signals, type) ? signals[type] : undefined) ?? own;
    if (!schema || type.startsWith('xstate.')) {
      const known = Object.keys(signals).join(', ');
      throw new InvalidRequest(
        `Workflow '${name}' does not accept the signal '${type}'. It accepts ${known || 'none'}.`,
      );
    }
    const parsed = schema.safeParse(payload);
    if (parsed.success) return plain(parsed.data) as JsonObject;
    throw invalid(`The payload of ${type}`, parsed.error.issues);
  }

  /** Parses the input by the workflow's schema; empty when it has none. @throws {InvalidRequest} */
  #parsedInput(definition: WorkflowDefinition, start: RunStart): { readonly input?: JsonObject } {
    if (!definition.input) return {};
    const what = `The input of workflow '${definition.name}'`;
    const parsed = definition.input.safeParse(start.input ?? {});
    if (!parsed.success) throw invalid(what, parsed.error.issues);
    const unfit = findNonJson(parsed.data);
    if (unfit) throw new InvalidRequest(`${what} is not JSON: input${unfit.path} ${unfit.what}.`);
    return { input: parsed.data as JsonObject }; // Found to be JSON just before.
  }

  /** Why a run cannot take a signal now; `null` when it can. */
  #refusal(
    run: Pick<LiveRun, 'state' | 'view'>,
    type: string,
    payload: JsonObject,
    shown: ShownGate | undefined,
  ): Error | null {
    const { view } = run;
    if (isFinal(view.status)) return new Conflict(`Run ${view.id} has already ended: it is ${view.status}.`);
    const other = otherGate(view, shown?.gateId);
    if (other) return other;
    if (run.state.parked !== null) {
      if (type === 'RETRY_REQUESTED' || type === 'RUN_CANCELLED') return null;
      return new Conflict(
        `Run ${view.id} is quarantined (${run.state.parked}) and does not accept ${type}. Retry or cancel it first.`,
      );
    }
    const blind = unseen(view, type, payload, shown);
    if (blind) return blind;
    if (canTake(run.state, type, payload)) return null;
    const where = view.gate
      ? `its gate '${view.gate.kind}' takes ${view.gate.decisions.join(', ')}`
      : `it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''} and no gate is open`;
    return new Conflict(`Run ${view.id} cannot take ${type} now: ${where}.`);
  }

  // ---- the step

  /** From here to the append nothing waits, so that steps of a run are appended in the order in which they were made. */
  async #apply(runId: string, run: LiveRun, { type, payload, json, request }: NewInput): Promise<RunView> {
    if (this.#stopped) throw stopping();
    const takenAt = performance.now();
    const before = run.state;
    const input: RunInput = { type, payload, timestamp: this.#now() };
    const step = advance(run.definition, before, input);
    if (!step.ok) {
      if (step.reason === 'late') return run.view;
      return this.#poisoned(runId, run, input, step.message);
    }
    const steps: { readonly input: RunInput; readonly step: StepResult }[] = [{ input, step }];
    const { userId } = run.view ?? (payload as unknown as RunStart);
    const wasHolding = holdsRunSlot(before) || type === 'RUN_STARTED' || type === 'RUN_ADMITTED';
    // One that was set aside while it waited for its place waits again.
    const waitsAgain = before.parked !== null && step.state.parked === null && step.state.queuedAt !== null;
    if (waitsAgain || (holdsRunSlot(step.state) && !wasHolding && !this.#runSlots.hasRoom(userId))) {
      const position = this.#runSlots.enqueue(userId, runId, true);
      const queue: RunInput = { type: 'RUN_QUEUED', payload: { position }, timestamp: input.timestamp };
      const queued = advance(run.definition, step.state, queue);
      if (queued.ok) steps.push({ input: queue, step: queued });
    }
    const costBefore = run.view?.cost;
    let commit: RunCommit;
    try {
      commit = { ...this.#commitOf(run, before, steps, json), ...(request === undefined ? {} : { request }) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return this.#poisoned(runId, run, input, `the read model cannot take what it emits: ${message}`);
    }
    run.pending += 1;
    this.#updatePlace(run, userId);
    const hasSpent = commit.view.cost !== costBefore;
    if (hasSpent || type === 'BUDGET_CHANGED') this.#trees.note(commit.view, String(payload['by'] ?? ''));
    if (commit.endActivities.length > 0) this.#trees.known(commit.view)?.endActivities(commit.endActivities);
    const appended = this.#options.store.append(commit);
    run.tail = appended;
    let events: readonly WorkflowEvent[];
    try {
      events = await appended;
    } catch (error) {
      this.#void(runId, run, userId);
      throw error;
    } finally {
      run.pending -= 1;
    }
    this.#options.onStep?.(performance.now() - takenAt);
    run.committed = commit.view;
    const view = this.withPosition(commit.view);
    this.#publish({ events, view });
    // One that waits for its children alone leaves the queue with all that has not begun.
    const leftQueue = before.queuedAt !== null && run.state.view?.status === 'awaiting_children';
    this.#carryOn(run, commit, leftQueue || RESUMING.has(type));
    if (hasLeftChildren(before, input, commit.endActivities)) void this.#children.cancelAbandoned(runId);
    if (type === 'BUDGET_CHANGED' && view.treeBudgetsAt === input.timestamp) void this.#goOnTogether(view);
    else if (waitsForTree(view) && this.#trees.known(view)?.isNewTo(runId))
      void this.#goOn(view, this.#trees.known(view));
    if (wasHolding) this.#releaseRunSlot(run, userId);
    else if (waitsAgain) void this.#admit(userId);
    this.#rest(runId, run);
    return view;
  }

  /**
   * Quarantines a run. A known outcome of an activity is kept, so that its effect does
   * not happen again when the run resumes.
   */
  async #poisoned(runId: string, run: LiveRun, { type, payload }: RunInput, message: string): Promise<RunView> {
    const undelivered = type === 'ACTIVITY_COMPLETED' ? { undelivered: payload } : {};
    const reason = `${type} cannot be processed: ${message}`;
    // Closed at once: an input that came at the same time, such as another due timer, waits and finds the run quarantined.
    await this.#alone(runId, () => this.#setAside(runId, 'poisoned', reason, undelivered), run.tail);
    if (await this.#options.store.loadHead(runId)) return this.view(runId);
    throw new Unprocessable(
      `A run of workflow '${run.definition.name}' cannot start with this input: ${message}. Nothing was started.`,
    );
  }

  /**
   * A step could not be stored: what was computed on top of it is void too, and the next input starts from what the disk
   * has, as does the run's place. Where another has taken the run out of memory already, that one has seen to its place.
   */
  #void(runId: string, run: LiveRun, userId: string): void {
    if (run.committed) this.#trees.note(run.committed);
    if (this.#runs.get(runId) !== run) return;
    this.#runs.delete(runId);
    const status = run.committed?.status;
    if (status === 'running') this.#runSlots.take(userId, runId);
    else if (status === 'queued') this.#runSlots.enqueue(userId, runId, true);
    else {
      this.#runSlots.release(userId, runId);
      void this.#admit(userId);
    }
    // Activities of an earlier step were not begun when the failed step was to end them.
    if (status !== undefined && !isFinal(status) && !this.#stopped) void this.#recover(runId);
  }

  /** Takes the steps into memory and gives what has to be stored for them. */
  #commitOf(
    run: LiveRun,
    before: RunState,
    steps: readonly { readonly input: RunInput; readonly step: StepResult }[],
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
      view.clarifications === known
        ? []
        : view.clarifications.filter((clarification) => !known?.includes(clarification));
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
      context: contextChanges(before, run.state),
      ...this.#snapshotOf(run),
    };
  }

  #snapshotOf(run: LiveRun): Pick<RunCommit, 'snapshot'> {
    if (run.eventsSinceSnapshot < SNAPSHOT_EVERY_EVENTS) return {};
    const grown = Math.max(run.bytesSinceSnapshot, run.eventsSinceSnapshot * SNAPSHOT_BYTES_PER_EVENT);
    if (grown < run.snapshotBytes) return {};
    const snapshot = dehydrate(run.definition.machine, run.state);
    run.eventsSinceSnapshot = 0;
    run.bytesSinceSnapshot = 0;
    run.snapshotBytes = JSON.stringify(snapshot).length + JSON.stringify(run.view).length;
    return { snapshot };
  }

  /** A place is taken at once; it is given back when the disk has it, since the step may fail. */
  #updatePlace(run: LiveRun, userId: string): void {
    if (holdsRunSlot(run.state)) this.#runSlots.take(userId, run.state.runId);
    else if (run.state.queuedAt === null) this.#runSlots.leaveQueue(userId, run.state.runId);
  }

  #releaseRunSlot(run: LiveRun, userId: string): void {
    if (holdsRunSlot(run.state)) return;
    if (run.state.queuedAt === null) this.#runSlots.release(userId, run.state.runId);
    void this.#admit(userId);
  }

  /** After the disk has it: activities end and begin, timers count. */
  #carryOn(run: LiveRun, commit: RunCommit, wasHeld: boolean): void {
    for (const key of commit.endActivities) this.#runner.cancel(commit.runId, key);
    if (commit.setTimers.length > 0) this.#timers.armed(commit.setTimers);
    if (run.state.queuedAt !== null || run.state.parked !== null) return;
    const owner = ownerOf(commit.view);
    for (const activity of commit.startActivities) {
      const stillOpen = run.state.activities[activity.activity] === activity.key;
      if (stillOpen) this.#runner.begin(activity, owner);
    }
    if (!wasHeld) return;
    this.#timers.freed(commit.runId);
    void this.#resumeActivities(commit.runId, owner);
  }

  async #resumeActivities(runId: string, owner: ActivityOwner): Promise<void> {
    try {
      const stored = await this.#options.store.openActivities(runId);
      // The run may have moved on, or been set aside, while this was read.
      const run = await this.#open(runId);
      const { activities, parked, queuedAt, undelivered } = run.state;
      const known = Object.entries(undelivered ?? {}).find(([id, { key }]) => activities[id] === key)?.[1];
      if (known !== undefined && parked === null && queuedAt === null) {
        // A workflow that was mended meanwhile may take it now. Another may wait behind it.
        await this.#report(runId, { ...known, type: 'ACTIVITY_COMPLETED' } as unknown as Outcome);
        return await this.#resumeActivities(runId, owner);
      }
      for (const activity of stored) {
        const isOpen = parked === null && queuedAt === null && activities[activity.activity] === activity.key;
        if (isOpen) this.#runner.resume(activity, owner);
      }
      this.#rest(runId, run);
    } catch (error) {
      this.#options.log.error({ err: error, runId }, "a run's activities could not be resumed");
      // One that is set aside or gone stays so; a disk that is full now may have room later.
      if (error instanceof Conflict || error instanceof NotFound || this.#stopped) return;
      this.#options.clock.after(TAKE_UP_AGAIN_MS, () => {
        if (!this.#stopped) void this.#resumeActivities(runId, owner);
      });
    }
  }

  // ---- opening and parking

  /**
   * Works on the run that is in memory now: between its opening and the work nothing can put another in its place.
   * @param work must make its step before it waits for anything
   */
  async #use<Result>(runId: string, work: (run: LiveRun) => Promise<Result>): Promise<Result> {
    for (;;) {
      const run = await this.#open(runId);
      if (this.#runs.get(runId) !== run || this.#closed.has(runId)) continue;
      try {
        return await work(run);
      } finally {
        this.#rest(runId, run);
      }
    }
  }

  /** @throws {NotFound} @throws {Conflict} when the run cannot be read; it is parked then */
  async #open(runId: string): Promise<LiveRun> {
    for (let closed = this.#closed.get(runId); closed !== undefined; closed = this.#closed.get(runId)) await closed;
    const live = this.#runs.get(runId) ?? this.#wake(runId);
    if (live) return live;
    let opening = this.#opening.get(runId);
    if (!opening) {
      const takenUp = this.#options.crashes?.takesUp(runId);
      opening = this.#load(runId).finally(() => {
        this.#opening.delete(runId);
        takenUp?.();
      });
      this.#opening.set(runId, opening);
    }
    return opening;
  }

  async #load(runId: string): Promise<LiveRun> {
    let stored: StoredRun | null;
    try {
      stored = await this.#options.store.loadRun(runId);
    } catch (error) {
      // A part of the run is not valid JSON any more. Faults of the whole database show at the other runs too.
      if (!(error instanceof Unprocessable)) throw error;
      throw await this.#parked(runId, 'poisoned', error.message);
    }
    if (!stored) throw new NotFound(`There is no run '${runId}'.`);
    const { view, snapshot, events, activities, timers, contexts } = stored;
    const { name, version } = view.workflow;
    const definition = this.#definition(name, version);
    if (!definition) {
      const message = `Workflow '${name}' version ${version} is not registered on this server.`;
      throw await this.#parked(runId, 'definition_missing', message);
    }
    let from: RunState;
    try {
      from = snapshot ? rehydrate(definition.machine, snapshot.data) : newRun(runId);
    } catch (error) {
      throw await this.#parked(runId, 'poisoned', error instanceof Error ? error.message : String(error));
    }
    let replayed = replay(definition, from, events, undefined, contexts);
    if (!replayed.ok && snapshot) replayed = await this.#replayWhole(view, replayed);
    if (!replayed.ok) throw await this.#parked(runId, 'poisoned', `event ${replayed.sequence}: ${replayed.message}`);
    const { state, wasAsMade = false } = replayed;
    const difference = findPendingWorkMismatch(state, activities, timers);
    if (difference && !isFinal(view.status)) throw await this.#parked(runId, 'poisoned', difference);
    const run: LiveRun = {
      definition,
      state,
      view,
      committed: view,
      eventsSinceSnapshot: wasAsMade ? Infinity : events.length,
      bytesSinceSnapshot: events.reduce((bytes, event) => bytes + JSON.stringify(event.payload).length, 0),
      snapshotBytes: snapshot ? JSON.stringify(snapshot.data).length + JSON.stringify(view).length : 0,
      pending: 0,
      tail: Promise.resolve(),
    };
    this.#runs.set(runId, run);
    return run;
  }

  /**
   * The steps after a snapshot may have been taken from the state from which it was made, where a server before this one
   * carried them out: then the run's whole history still replays.
   */
  async #replayWhole({ id, workflow }: RunView, fault: Extract<Replay, { ok: false }>): Promise<Replay> {
    const events = await this.#options.store.readRun(id, 0);
    const migrated = events.find(({ type, origin }) => type === 'RUN_MIGRATED' && origin === 'input');
    const version = migrated === undefined ? workflow.version : Number(migrated.payload['from']);
    const definition = this.#definition(workflow.name, version);
    if (definition === undefined) return fault;
    const whole = replay(definition, newRun(id), events, (other) => this.#definition(workflow.name, other));
    return whole.ok && whole.wasAsMade ? whole : fault;
  }

  /** A run that neither runs nor is being written leaves the memory, unless it goes on soon. */
  #rest(runId: string, run: LiveRun): void {
    if (run.pending > 0 || holdsRunSlot(run.state) || this.#runs.get(runId) !== run) return;
    this.#runs.delete(runId);
    if (isFinal(run.view.status)) return;
    this.#resting.set(runId, run);
    this.#restingBytes += sizeOf(run);
    for (const [oldestId, oldest] of this.#resting) {
      if (this.#resting.size <= RESTING_RUNS && this.#restingBytes <= RESTING_BYTES) return;
      this.#resting.delete(oldestId);
      this.#restingBytes -= sizeOf(oldest);
    }
  }

  #wake(runId: string): LiveRun | undefined {
    const run = this.#resting.get(runId);
    if (run === undefined) return undefined;
    this.#resting.delete(runId);
    this.#restingBytes -= sizeOf(run);
    this.#runs.set(runId, run);
    return run;
  }

  #forget(runId: string): void {
    this.#wake(runId);
    this.#runs.delete(runId);
  }

  /** The view of a run that is in memory, once the disk has it. */
  async #known(runId: string): Promise<RunView | undefined> {
    const run = this.#runs.get(runId) ?? this.#resting.get(runId);
    if (run?.committed === null) await run.tail.catch(() => undefined);
    return run?.committed ?? undefined;
  }

  async #viewsOf(heads: readonly RunHead[]): Promise<RunView[]> {
    const views = await Promise.all(heads.map((head) => this.#options.store.loadView(head.id)));
    return views.filter((view) => view !== null);
  }

  /** Takes up what a run has open that was held back at the start. */
  async recoverRun(runId: string): Promise<void> {
    if (this.#stopped) return;
    await this.#children.cancelIfAbandoned(runId);
    await this.#recover(runId);
  }

  async #recover(runId: string): Promise<void> {
    const takenUp = this.#options.crashes?.takesUp(runId);
    try {
      const run = await this.#open(runId);
      if (run.state.queuedAt !== null || run.state.parked !== null) {
        this.#rest(runId, run);
        return;
      }
      await this.#resumeActivities(runId, ownerOf(run.view));
    } catch (error) {
      this.#options.log.error({ err: error, runId }, 'a run could not be recovered and is quarantined');
    } finally {
      takenUp?.();
    }
  }

  async #parked(runId: string, reason: PauseReason, message: string): Promise<Conflict> {
    await this.#park(runId, reason, message);
    return new Conflict(`Run ${runId} is quarantined (${reason}): ${message}`);
  }

  /** Sets a run aside that the machine cannot be trusted with; the log says why, nothing of it runs. */
  #park(runId: string, reason: PauseReason, message: string, more: JsonObject = {}): Promise<void> {
    return this.#alone(runId, () => this.#setAside(runId, reason, message, more));
  }

  async #setAside(runId: string, reason: PauseReason, message: string, more: JsonObject): Promise<void> {
    const stored = await this.#options.store.loadView(runId);
    if (!stored || isFinal(stored.status)) return;
    if (stored.gate?.reason === reason && stored.status === 'paused') return;
    const payload: JsonObject = {
      gate: 'pause',
      stage: stored.currentStage,
      decisions: ['retry'],
      summary: message,
      details: {},
      reason,
      message,
      ...more,
    };
    const event = newEvent('input', { type: 'RUN_PAUSED', payload }, this.#now());
    await this.#appendOutside(stored, [event], { activities: [], timers: [] });
    // Not before: where the disk is full, the work that led here goes on and is reported again.
    this.#runner.cancelAll(runId);
    this.#runSlots.release(stored.userId, runId);
    this.#options.log.warn({ runId, reason }, `a run was quarantined: ${message}`);
    if (reason === 'poisoned') void this.#keepExport(runId);
    void this.#admit(stored.userId);
  }

  async #keepExport(runId: string): Promise<void> {
    try {
      await this.#options.onQuarantined?.(runId);
    } catch (error) {
      this.#options.log.error({ err: error, runId }, 'a damaged run could not be exported');
    }
  }

  /** A run without a readable state ends by its view alone. */
  #cancelUnreadable(view: RunView, payload: JsonObject, once: RequestKey | undefined): Promise<RunView> {
    return this.#alone(view.id, () => this.#endUnreadable(view, payload, once));
  }

  async #endUnreadable(view: RunView, payload: JsonObject, once: RequestKey | undefined): Promise<RunView> {
    const { store } = this.#options;
    const stored = (await store.loadView(view.id)) ?? view;
    if (isFinal(stored.status)) throw new Conflict(`Run ${view.id} has already ended: it is ${stored.status}.`);
    // The keys come from the store, because the run itself may be unreadable.
    const ended = await store.openKeys(view.id);
    const event = newEvent('input', { type: 'RUN_CANCELLED', payload }, this.#now());
    const cancelled = await this.#appendOutside(stored, [event], ended, requestOf(once));
    for (const key of ended.activities) this.#runner.cancel(view.id, key);
    this.#runSlots.release(view.userId, view.id);
    void this.#admit(view.userId);
    if (ended.activities.length > 0) void this.#children.cancelAbandoned(view.id);
    return cancelled;
  }

  /**
   * Writes to a run that is not in memory, and keeps it closed until the write is done: a step that was computed
   * without this write must not be stored after it.
   * @param tail steps of the run that are being stored; the write follows them, also when they fail
   */
  async #alone<Result>(runId: string, write: () => Promise<Result>, tail?: Promise<unknown>): Promise<Result> {
    for (let other = this.#closed.get(runId); other !== undefined; other = this.#closed.get(runId)) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed.set(runId, promise);
    try {
      // The run stays in memory until then: a step that fails has to find it there.
      if (tail !== undefined) await tail.catch(() => undefined);
      this.#forget(runId);
      return await write();
    } finally {
      this.#closed.delete(runId);
      resolve();
    }
  }

  /** Appends events that no machine made. */
  async #appendOutside(
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
    this.#publish({ events: stored, view: folded });
    return folded;
  }

  #definition(name: string, version: number): WorkflowDefinition | undefined {
    return this.#options.workflows.find(name, version);
  }

  #publish(message: EngineMessage): void {
    if ('view' in message && isFinal(message.view.status)) {
      for (const end of this.#finishing.get(message.view.id) ?? []) end.resolve(message.view);
      this.#finishing.delete(message.view.id);
    }
    for (const listener of this.#listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#options.log.error({ err: error }, 'a listener failed');
      }
    }
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}

function stopping(): Unavailable {
  return new Unavailable('The engine is stopping, and takes nothing new. Send the same again when it is back.');
}

function stoppedBefore(runId: string): Unavailable {
  return new Unavailable(`The engine was stopped before run ${runId} ended; it is recovered at the next start.`);
}

/** An input without the time at which the engine takes it. */
type NewInput = Omit<RunInput, 'timestamp'> & {
  /** The payload as JSON text, where it is already known. */
  readonly json?: string;
  /** The request behind the input; absent when it has no idempotency key. */
  readonly request?: StepRequest;
};

function requestOf(once: RequestKey | undefined, gateId?: string): { readonly request?: StepRequest } {
  return once === undefined ? {} : { request: { ...once, gate: gateId ?? null } };
}

function newEvent(
  origin: NewEvent['origin'],
  { type, payload, json }: Pick<NewEvent, 'type' | 'payload'> & { readonly json?: string },
  timestamp: string,
): NewEvent {
  return { type, origin, payload, json: json ?? JSON.stringify(payload), timestamp };
}

/** Without a place nothing begins: its first attempt is booked when it does. */
function ownerOf({ workflow, config }: Pick<RunView, 'workflow' | 'config'>): ActivityOwner {
  return { workflow: workflow.name, maxConcurrency: config.maxConcurrency };
}

/** The first attempt of a child run is not booked: its parent only waits. */
function begun(activity: NewActivity, { queuedAt, parked, children }: RunState): NewActivity {
  const isChild = children?.includes(activity.activity) === true;
  return queuedAt === null && parked === null && !isChild ? activity : { ...activity, waits: true };
}

/** Whether a step ended activations of child runs otherwise than by the outcome of the child. */
function hasLeftChildren({ children, activities }: RunState, { payload }: RunInput, ended: readonly string[]): boolean {
  return children?.some((id) => activities[id] !== payload['key'] && ended.includes(activities[id] ?? '')) === true;
}

/** The part of a value that JSON keeps, so that it is the same before and after it was stored. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

function invalid(
  what: string,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): InvalidRequest {
  const faults = issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const list = faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new InvalidRequest(`${what} is not valid: ${list}`, { faults });
}

function foldAll(
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

/** About as many bytes as its state has as JSON; the same for as long as it rests. */
function sizeOf(run: LiveRun): number {
  return run.snapshotBytes + run.bytesSinceSnapshot;
}

function byQueue(a: RunView, b: RunView): number {
  return (a.queuePosition ?? 0) - (b.queuePosition ?? 0) || (a.updatedAt < b.updatedAt ? -1 : 1);
}
