/**
 * The loop that makes statecharts durable: inputs go through the pure step, what follows is stored in one transaction,
 * and only then activities start, timers count and listeners hear of it. The only one who appends.
 */
import {
  Conflict,
  foldRun,
  type GateOutcome,
  InvalidRequest,
  type JsonObject,
  NotFound,
  type PauseReason,
  type Progress,
  type RunStart,
  type RunView,
  Stale,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore, NewEvent, RunCommit, StoredActivity } from '../event-store/event-store.ts';
import type { ActivityRegistry } from '../workflow/activity.ts';
import {
  advance,
  canTake,
  dehydrate,
  holdsPlace,
  isFinal,
  newRun,
  rehydrate,
  type RunInput,
  type RunState,
  type StepResult,
} from '../workflow/advance.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { WorkflowRegistry } from '../workflow/registry.ts';
import { replay } from '../workflow/replay.ts';
import { ActivityRunner, type Outcome } from './activity-runner.ts';
import type { Clock } from './clock.ts';
import { Places } from './places.ts';
import { Timers } from './timers.ts';

export interface EngineOptions {
  readonly store: EventStore;
  readonly workflows: WorkflowRegistry;
  readonly activities: ActivityRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxConcurrentRunsPerUser: number;
  /** Applied to every payload before it is stored or shown: takes known secrets out. */
  readonly scrub: <Value>(value: Value) => Value;
  /** Told how long each step took, from its input to the disk. For measuring. */
  readonly onStep?: (ms: number) => void;
}

export type EngineMessage =
  | { readonly events: readonly WorkflowEvent[]; readonly view: RunView }
  | { readonly progress: Progress };

/** Events after which a snapshot is worth its bytes, given that the log has grown by as much as the last snapshot. */
const SNAPSHOT_EVERY_EVENTS = 50;

/** A run in memory: its state after all that was handed to the store, committed or not. */
interface LiveRun {
  readonly definition: WorkflowDefinition;
  state: RunState;
  view: RunView;
  /** The view as the disk has it; `null` before the first commit. What readers see. */
  committed: RunView | null;
  eventsSinceSnapshot: number;
  bytesSinceSnapshot: number;
  snapshotBytes: number;
  /** Appends that are not yet on disk. */
  pending: number;
  /** Settles with the last append. */
  tail: Promise<unknown>;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #runs = new Map<string, LiveRun>();
  readonly #opening = new Map<string, Promise<LiveRun>>();
  readonly #listeners = new Set<(message: EngineMessage) => void>();
  readonly #places: Places;
  readonly #runner: ActivityRunner;
  readonly #timers: Timers;
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#places = new Places(options.maxConcurrentRunsPerUser);
    this.#runner = new ActivityRunner({
      store: options.store,
      activities: options.activities,
      clock: options.clock,
      log: options.log,
      report: (runId, outcome) => this.#report(runId, outcome),
      progress: (progress) => this.#publish({ progress: options.scrub(progress) }),
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
    const open = await this.#options.store.listOpenRuns();
    const queued = open.filter((view) => view.status === 'queued');
    for (const view of open) if (view.status === 'running') this.#places.take(view.userId, view.id);
    for (const view of queued.sort(byQueue)) this.#places.enqueue(view.userId, view.id, false);
    // What became due while the server was down comes first: the work that it ends need not begin again.
    await this.#timers.start();
    const withActivities = new Set((await this.#options.store.openActivities()).map((activity) => activity.runId));
    for (const view of open) {
      if (withActivities.has(view.id) || view.status === 'running') await this.#recover(view);
    }
    for (const userId of new Set(queued.map((view) => view.userId))) await this.#admit(userId);
  }

  /** Stops taking inputs and ends what runs; the next start takes it up again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timers.stop();
    await this.#runner.stop();
    await Promise.allSettled([...this.#runs.values()].map((run) => run.tail));
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
  async launch(runId: string, start: RunStart): Promise<RunView> {
    const definition = this.#definition(start.workflow.name, start.workflow.version);
    if (!definition)
      throw new NotFound(`There is no workflow '${start.workflow.name}' version ${start.workflow.version}.`);
    const existing = this.#runs.get(runId)?.committed ?? (await this.#options.store.loadView(runId));
    if (existing) return existing;
    const timestamp = this.#now();
    const room = this.#places.hasRoom(start.userId);
    const payload = this.#options.scrub(start) as unknown as JsonObject;
    const input: RunInput = room
      ? { type: 'RUN_STARTED', payload, timestamp }
      : {
          type: 'RUN_QUEUED',
          payload: { position: this.#places.enqueue(start.userId, runId, false), start: payload },
          timestamp,
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
    return this.#apply(runId, run, input);
  }

  /**
   * Sends a signal to a run.
   * @param gateId the gate that the sender saw open; `undefined` when the signal is not about a gate
   * @throws {InvalidRequest} for a signal that the workflow does not declare or whose payload is wrong
   * @throws {Conflict} when the run cannot take it now; `extra.winner` is the decision that came first
   * @throws {Stale} when an approval names another artifact or code tree than the current one
   */
  async signal(runId: string, type: string, payload: JsonObject, gateId?: string): Promise<RunView> {
    return this.#use(runId, async (run) => {
      const checked = this.#checkSignal(run.definition, type, payload);
      const refusal = this.#refusal(run, type, checked, gateId);
      if (refusal) {
        // What refuses it may not be on disk yet.
        await run.tail.catch(() => undefined);
        throw refusal;
      }
      return this.#apply(runId, run, { type, payload: this.#options.scrub(checked), timestamp: this.#now() });
    });
  }

  /**
   * Cancels a run from wherever it is, also one that cannot be read any more.
   * @throws {Conflict} when it has ended
   */
  async cancel(runId: string, by: string, reason?: string): Promise<RunView> {
    const view = await this.view(runId);
    if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
    const payload = { by, ...(reason === undefined ? {} : { reason }) };
    let run: LiveRun;
    try {
      run = await this.#open(runId);
    } catch {
      return this.#cancelUnreadable(view, payload);
    }
    if (run.state.snapshot === null) return this.#cancelUnreadable(run.view, payload);
    return this.signal(runId, 'RUN_CANCELLED', payload);
  }

  /** The run's view with its present place in the queue. @throws {NotFound} */
  async view(runId: string): Promise<RunView> {
    const view = this.#runs.get(runId)?.committed ?? (await this.#options.store.loadView(runId));
    if (!view) throw new NotFound(`There is no run '${runId}'.`);
    return this.withPosition(view);
  }

  /** The view with its present place in the queue instead of the one it had when it was queued. */
  withPosition(view: RunView): RunView {
    const position = view.status === 'queued' ? this.#places.positionOf(view.userId, view.id) : undefined;
    return position === undefined ? view : { ...view, queuePosition: position };
  }

  /** The run's state and definition, for reading. @throws {NotFound | Conflict} */
  async inspect(runId: string): Promise<{ readonly definition: WorkflowDefinition; readonly state: RunState }> {
    const run = await this.#open(runId);
    this.#evict(runId, run);
    return { definition: run.definition, state: run.state };
  }

  /** Runs whose state is in memory now. */
  get liveRuns(): number {
    return this.#runs.size;
  }

  /** Fires what is due now; the timers do this by themselves. For clocks that were moved. */
  async checkTimers(): Promise<void> {
    await this.#timers.check();
  }

  // ---- inputs

  async #report(runId: string, outcome: Outcome): Promise<void> {
    const { type, ...payload } = outcome;
    await this.#use(runId, async (run) => {
      if (run.state.activities[outcome.activity] !== outcome.key) return;
      await this.#apply(runId, run, {
        type,
        // An outcome is JSON; the named types of its parts only lack an index signature.
        payload: this.#options.scrub(payload) as unknown as JsonObject,
        timestamp: this.#now(),
      });
    });
  }

  async #fire(runId: string, key: string, event: string): Promise<void> {
    await this.#use(runId, async (run) => {
      if (run.state.queuedAt !== null || !Object.values(run.state.timers).some((timer) => timer.key === key)) return;
      await this.#apply(runId, run, { type: 'TIMER_FIRED', payload: { key, event }, timestamp: this.#now() });
    });
  }

  async #admit(userId: string): Promise<void> {
    for (let runId = this.#places.next(userId); runId !== undefined; runId = this.#places.next(userId)) {
      if (this.#stopped) return;
      try {
        const start = await this.#queuedStart(runId);
        await this.#use(runId, (run) => this.#apply(runId, run, this.#admission(run, start)));
      } catch (error) {
        this.#places.release(userId, runId);
        this.#options.log.error({ err: error, runId }, 'a queued run could not be admitted');
      }
    }
  }

  /** A run that never began starts; one that resumes gets the time back that it waited. */
  #admission(run: LiveRun, start: JsonObject): RunInput {
    const timestamp = this.#now();
    if (run.state.snapshot === null) return { type: 'RUN_STARTED', payload: start, timestamp };
    const waitedMs = Math.max(0, Date.parse(timestamp) - Date.parse(run.state.queuedAt ?? timestamp));
    return { type: 'RUN_ADMITTED', payload: { waitedMs }, timestamp };
  }

  /** What the run's first event says that it starts from. */
  async #queuedStart(runId: string): Promise<JsonObject> {
    const [first] = await this.#options.store.readRun(runId, 0, 1);
    if (!first) throw new NotFound(`Run ${runId} has no start in its log.`);
    return first.type === 'RUN_QUEUED' ? (first.payload['start'] as JsonObject) : first.payload;
  }

  #checkSignal(definition: WorkflowDefinition, type: string, payload: JsonObject): JsonObject {
    const schema = definition.signals[type];
    if (!schema || type.startsWith('xstate.')) {
      const known = Object.keys(definition.signals).join(', ');
      throw new InvalidRequest(`Workflow '${definition.name}' takes no signal '${type}'; it takes ${known}.`);
    }
    const parsed = schema.safeParse(payload);
    if (parsed.success) return JSON.parse(JSON.stringify(parsed.data)) as JsonObject;
    const faults = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
    throw new InvalidRequest(
      `The payload of ${type} is not valid: ${faults.map((f) => `${f.path}: ${f.message}`).join('; ')}`,
      { faults },
    );
  }

  /** Why a run cannot take a signal now; `null` when it can. */
  #refusal(run: LiveRun, type: string, payload: JsonObject, gateId: string | undefined): Error | null {
    const { view } = run;
    if (isFinal(view.status)) return new Conflict(`Run ${view.id} has already ended: it is ${view.status}.`);
    if (gateId !== undefined && view.gate?.id !== gateId) {
      const winner = view.gates.findLast((outcome) => outcome.gateId === gateId);
      return new Conflict(
        winner
          ? `Gate ${gateId} is already decided: ${describeOutcome(winner)}.`
          : `Run ${view.id} has no open gate '${gateId}'; it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''}.`,
        { extra: winner ? { winner: winner as unknown as JsonObject } : {} },
      );
    }
    if (run.state.parked !== null && (type === 'RETRY_REQUESTED' || type === 'RUN_CANCELLED')) return null;
    if (canTake(run.state, type, payload)) return null;
    const stale = (['artifactHash', 'codeTree'] as const).filter(
      (name) => payload[name] !== undefined && view.gate?.[name] !== undefined && payload[name] !== view.gate[name],
    );
    if (view.gate && stale.length > 0) {
      return new Stale(
        `The ${stale.join(' and ')} of gate ${view.gate.id} changed since it was shown: look at it again.`,
        {
          extra: { artifactHash: view.gate.artifactHash, codeTree: view.gate.codeTree },
        },
      );
    }
    const where = view.gate
      ? `its gate '${view.gate.kind}' takes ${view.gate.decisions.join(', ')}`
      : `it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''} and no gate is open`;
    return new Conflict(`Run ${view.id} cannot take ${type} now: ${where}.`);
  }

  // ---- the step

  /** From here to the append nothing waits, so that steps of a run are appended in the order in which they were made. */
  async #apply(runId: string, run: LiveRun, input: RunInput): Promise<RunView> {
    if (this.#stopped) throw new Conflict('The server is stopping; try again when it is back.');
    const takenAt = performance.now();
    const before = run.state;
    const step = advance(run.definition, before, input);
    if (!step.ok) {
      if (step.reason === 'late') return run.view;
      await this.#park(run.view, 'poisoned', `${input.type} cannot be processed: ${step.message}`);
      return this.view(runId);
    }
    const steps: { readonly input: RunInput; readonly step: StepResult }[] = [{ input, step }];
    const { userId } = run.view ?? (input.payload as unknown as RunStart);
    const wasHolding = holdsPlace(before) || input.type === 'RUN_STARTED' || input.type === 'RUN_ADMITTED';
    if (holdsPlace(step.state) && !wasHolding && !this.#places.hasRoom(userId)) {
      const position = this.#places.enqueue(userId, runId, true);
      const queue: RunInput = { type: 'RUN_QUEUED', payload: { position }, timestamp: input.timestamp };
      const queued = advance(run.definition, step.state, queue);
      if (queued.ok) steps.push({ input: queue, step: queued });
    }
    const commit = this.#commitOf(run, before, steps);
    run.pending += 1;
    const freed = this.#updatePlace(run, before, userId);
    const appended = this.#options.store.append(commit);
    run.tail = appended;
    let events: readonly WorkflowEvent[];
    try {
      events = await appended;
    } catch (error) {
      // What was computed on top of it is void; the next input starts from what the disk has.
      if (this.#runs.get(runId) === run) this.#runs.delete(runId);
      if (holdsPlace(before)) this.#places.take(userId, runId);
      else this.#places.release(userId, runId);
      throw error;
    } finally {
      run.pending -= 1;
    }
    this.#options.onStep?.(performance.now() - takenAt);
    run.committed = commit.view;
    const view = this.withPosition(commit.view);
    this.#publish({ events, view });
    this.#carryOn(run, commit, input.type === 'RUN_ADMITTED' || input.type === 'RETRY_REQUESTED');
    if (freed) void this.#admit(userId);
    this.#evict(runId, run);
    return view;
  }

  /** Takes the steps into memory and gives what has to be stored for them. */
  #commitOf(
    run: LiveRun,
    before: RunState,
    steps: readonly { readonly input: RunInput; readonly step: StepResult }[],
  ): RunCommit {
    const { runId } = before;
    const events: NewEvent[] = [];
    const started = new Map<string, Omit<StoredActivity, 'attempt' | 'notBefore'>>();
    const ended = new Set<string>();
    const armed = new Map<string, RunCommit['setTimers'][number]>();
    const disarmed = new Set<string>();
    for (const { input, step } of steps) {
      events.push({ type: input.type, origin: 'input', payload: input.payload, timestamp: input.timestamp });
      for (const fact of step.emitted) events.push({ ...fact, origin: 'emitted', timestamp: input.timestamp });
      for (const key of step.ended) ended.add(key);
      for (const activity of step.started)
        started.set(activity.key, { ...activity, runId, startedAt: input.timestamp });
      for (const key of step.disarmed) disarmed.add(key);
      for (const timer of step.armed) armed.set(timer.key, { ...timer, runId });
    }
    const last = steps.at(-1)?.step.state ?? before;
    const view = foldAll(run.view, runId, before.sequence, events);
    const clarifications = view.clarifications.filter(
      (clarification) => !run.view?.clarifications.includes(clarification),
    );
    run.state = last;
    run.view = view;
    run.eventsSinceSnapshot += events.length;
    run.bytesSinceSnapshot += events.reduce((bytes, event) => bytes + JSON.stringify(event.payload).length, 0);
    return {
      runId,
      expectedSequence: before.sequence,
      events,
      startActivities: [...started.values()],
      endActivities: [...ended],
      setTimers: [...armed.values()],
      clearTimers: [...disarmed],
      view,
      clarifications,
      ...this.#snapshotOf(run),
    };
  }

  #snapshotOf(run: LiveRun): Pick<RunCommit, 'snapshot'> {
    if (run.eventsSinceSnapshot < SNAPSHOT_EVERY_EVENTS || run.bytesSinceSnapshot < run.snapshotBytes) return {};
    const data = dehydrate(run.definition.machine, run.state);
    run.eventsSinceSnapshot = 0;
    run.bytesSinceSnapshot = 0;
    run.snapshotBytes = JSON.stringify(data).length;
    return { snapshot: { sequence: run.state.sequence, data } };
  }

  /** @returns whether a place became free */
  #updatePlace(run: LiveRun, before: RunState, userId: string): boolean {
    if (holdsPlace(run.state)) {
      this.#places.take(userId, run.state.runId);
      return false;
    }
    if (run.state.queuedAt !== null) return false;
    this.#places.release(userId, run.state.runId);
    return holdsPlace(before);
  }

  /** After the disk has it: activities end and begin, timers count. */
  #carryOn(run: LiveRun, commit: RunCommit, wasHeld: boolean): void {
    for (const key of commit.endActivities) this.#runner.cancel(commit.runId, key);
    if (commit.setTimers.length > 0) this.#timers.rearm();
    if (run.state.queuedAt !== null || run.state.parked !== null) return;
    const limit = commit.view.config.maxConcurrency;
    for (const activity of commit.startActivities) {
      const stillOpen = run.state.activities[activity.activity] === activity.key;
      if (stillOpen) this.#runner.dispatch({ ...activity, attempt: 0, notBefore: null }, limit);
    }
    if (wasHeld) void this.#dispatchOpen(commit.runId, limit);
  }

  async #dispatchOpen(runId: string, limit: number): Promise<void> {
    for (const activity of await this.#options.store.openActivities(runId)) this.#runner.dispatch(activity, limit);
  }

  // ---- opening and parking

  /**
   * Works on the run that is in memory now: between its opening and the work nothing can put another in its place.
   * @param work must make its step before it waits for anything
   */
  async #use<Result>(runId: string, work: (run: LiveRun) => Promise<Result>): Promise<Result> {
    for (;;) {
      const run = await this.#open(runId);
      if (this.#runs.get(runId) === run) return work(run);
    }
  }

  /** @throws {NotFound} @throws {Conflict} when the run cannot be read; it is parked then */
  async #open(runId: string): Promise<LiveRun> {
    const live = this.#runs.get(runId);
    if (live) return live;
    let opening = this.#opening.get(runId);
    if (!opening) {
      opening = this.#load(runId).finally(() => this.#opening.delete(runId));
      this.#opening.set(runId, opening);
    }
    return opening;
  }

  async #load(runId: string): Promise<LiveRun> {
    const { store } = this.#options;
    const view = await store.loadView(runId);
    if (!view) throw new NotFound(`There is no run '${runId}'.`);
    const definition = this.#definition(view.workflow.name, view.workflow.version);
    if (!definition) {
      const message = `Workflow '${view.workflow.name}' version ${view.workflow.version} is not registered on this server.`;
      throw await this.#parked(view, 'definition_missing', message);
    }
    const [snapshot, activities, timers] = await Promise.all([
      store.loadSnapshot(runId),
      store.openActivities(runId),
      store.openTimers(runId),
    ]);
    let from: RunState;
    try {
      from = snapshot ? rehydrate(definition.machine, snapshot.data) : newRun(runId);
    } catch (error) {
      throw await this.#parked(view, 'poisoned', error instanceof Error ? error.message : String(error));
    }
    const events = await store.readRun(runId, snapshot?.sequence ?? 0);
    const replayed = replay(definition, from, events);
    if (!replayed.ok) throw await this.#parked(view, 'poisoned', `event ${replayed.sequence}: ${replayed.message}`);
    const { state } = replayed;
    const difference =
      differ(
        'activities',
        Object.values(state.activities),
        activities.map((activity) => activity.key),
      ) ??
      differ(
        'timers',
        Object.values(state.timers).map((timer) => timer.key),
        timers.map((timer) => timer.key),
      );
    if (difference && !isFinal(view.status)) throw await this.#parked(view, 'poisoned', difference);
    const run: LiveRun = {
      definition,
      state,
      view,
      committed: view,
      eventsSinceSnapshot: events.length,
      bytesSinceSnapshot: events.reduce((bytes, event) => bytes + JSON.stringify(event.payload).length, 0),
      snapshotBytes: snapshot ? JSON.stringify(snapshot.data).length : 0,
      pending: 0,
      tail: Promise.resolve(),
    };
    this.#runs.set(runId, run);
    return run;
  }

  #evict(runId: string, run: LiveRun): void {
    if (run.pending === 0 && !holdsPlace(run.state) && this.#runs.get(runId) === run) this.#runs.delete(runId);
  }

  async #recover(view: RunView): Promise<void> {
    try {
      const run = await this.#open(view.id);
      if (run.state.queuedAt !== null || run.state.parked !== null) return;
      await this.#dispatchOpen(view.id, view.config.maxConcurrency);
    } catch (error) {
      this.#options.log.error({ err: error, runId: view.id }, 'a run could not be taken up and is parked');
    }
  }

  async #parked(view: RunView, reason: PauseReason, message: string): Promise<Conflict> {
    await this.#park(view, reason, message);
    return new Conflict(`Run ${view.id} is set aside (${reason}): ${message}`);
  }

  /** Sets a run aside that the machine cannot be trusted with; the log says why, nothing of it runs. */
  async #park(view: RunView, reason: PauseReason, message: string): Promise<void> {
    this.#runs.delete(view.id);
    const stored = await this.#options.store.loadView(view.id);
    if (!stored || isFinal(stored.status)) return;
    if (stored.gate?.reason === reason && stored.status === 'paused') return;
    this.#places.release(view.userId, view.id);
    const payload: JsonObject = {
      gate: 'pause',
      stage: stored.currentStage,
      decisions: ['retry'],
      summary: message,
      details: {},
      reason,
      message,
    };
    const event: NewEvent = { type: 'RUN_PAUSED', origin: 'input', payload, timestamp: this.#now() };
    await this.#appendOutside(stored, [event], { activities: [], timers: [] });
    void this.#admit(view.userId);
  }

  /** A run without a readable state ends by its view alone. */
  async #cancelUnreadable(view: RunView, payload: JsonObject): Promise<RunView> {
    const { store } = this.#options;
    const stored = (await store.loadView(view.id)) ?? view;
    this.#runs.delete(view.id);
    this.#places.release(view.userId, view.id);
    const [activities, timers] = await Promise.all([store.openActivities(view.id), store.openTimers(view.id)]);
    const event: NewEvent = { type: 'RUN_CANCELLED', origin: 'input', payload, timestamp: this.#now() };
    const ended = { activities: activities.map((activity) => activity.key), timers: timers.map((timer) => timer.key) };
    const cancelled = await this.#appendOutside(stored, [event], ended);
    for (const key of ended.activities) this.#runner.cancel(view.id, key);
    void this.#admit(view.userId);
    return cancelled;
  }

  /** Appends events that no machine made. */
  async #appendOutside(
    view: RunView,
    events: readonly NewEvent[],
    ended: { readonly activities: readonly string[]; readonly timers: readonly string[] },
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
    });
    this.#publish({ events: stored, view: folded });
    return folded;
  }

  #definition(name: string, version: number): WorkflowDefinition | undefined {
    return this.#options.workflows.find(name, version);
  }

  #publish(message: EngineMessage): void {
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

function foldAll(view: RunView | null, runId: string, sequence: number, events: readonly NewEvent[]): RunView {
  let folded = view;
  for (const [index, event] of events.entries()) {
    folded = foldRun(folded, { ...event, id: '', position: 0, workflowRunId: runId, sequence: sequence + index + 1 });
  }
  if (folded === null) throw new Error(`the events of run ${runId} do not begin with its start`);
  return folded;
}

function byQueue(a: RunView, b: RunView): number {
  return (a.queuePosition ?? 0) - (b.queuePosition ?? 0) || (a.updatedAt < b.updatedAt ? -1 : 1);
}

function differ(what: string, replayed: readonly string[], stored: readonly string[]): string | null {
  const a = [...replayed].sort().join(', ');
  const b = [...stored].sort().join(', ');
  return a === b ? null : `replay gives the open ${what} [${a}], stored are [${b}]`;
}

function describeOutcome(outcome: GateOutcome): string {
  return `'${outcome.decision}' by ${outcome.by} at ${outcome.at}`;
}
