/**
 * The engine makes statecharts durable: it starts runs, recovers them at its own start, and takes signals, notes, forks and
 * migrations. Every change of a run is a step of `RunSteps` or, where the machine cannot be asked, a write of `Quarantine`;
 * nothing else appends to the log.
 */
import { randomUUID } from 'node:crypto';
import {
  type BoundedSpending,
  Conflict,
  InvalidRequest,
  type JsonObject,
  type JsonValue,
  noSuchRun,
  NotFound,
  type RequestKey,
  type ReviewFact,
  type RunStart,
  type RunFamily,
  type RunView,
  type ShownGate,
  treeOf,
  Unavailable,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore, IntegrityFault, RunHead, StoredTimer } from '../event-store/event-store.ts';
import type { ActivityLookup } from '../core/activity.ts';
import { holdsRunSlot, isFinal, takesCancellation } from '../core/advance.ts';
import type { RunState } from '../core/run-state.ts';
import type { WorkflowDefinition } from '../core/definition.ts';
import { continueFork, type ForkedRun, type ForkRequest } from '../core/fork.ts';
import type { WorkflowRegistry } from '../core/registry.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { ActivityRunner } from './runner/activity-runner.ts';
import { childConfig } from '../run-config/child-config.ts';
import { CHILD_LIMITS, type ChildConfig, type ChildLimits, ChildRuns } from './families/child-runs.ts';
import type { Clock } from './clock.ts';
import type { CrashLedger } from './crashes/crash-ledger.ts';
import { FamilySpending } from './families/family-spending.ts';
import { forkedOrRefused, type ForkSignal, isOfRecord, planFork } from './fork-plan.ts';
import { jsonCopy } from './json-copy.ts';
import { committedRun, type LiveRun, readLiveRun, SNAPSHOT_DUE, unbegunRun } from './live/live-run.ts';
import { LiveRuns } from './live/live-runs.ts';
import { Quarantine } from './quarantine.ts';
import { isUnreleased, pausedFork, type PauseOf, recordedState, showsPause } from './rebuilt/rebuilt-pause.ts';
import { RequestDeduplication } from './admission/request-deduplication.ts';
import { RunAdmission } from './admission/run-admission.ts';
import { foldAll, type NewInput, requestOf } from './run-commit.ts';
import { planMigration } from './run-migration.ts';
import { RunSlots } from './admission/run-slots.ts';
import { type BeforeWait, RunSteps } from './run-steps.ts';
import { parseRunInput, signalJudge } from './admission/signal-admission.ts';
import { resumesByItself } from './self-resume.ts';
import { type EngineMessage, StepFeed } from './step-feed.ts';
import { stopping } from './stopping.ts';
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
  readonly crashes?: Pick<CrashLedger, 'isHeld' | 'beginRecovery'>;
  /** Gives the configuration of a child run. Default: that of its parent, narrowed by what the parent asks for. */
  readonly childConfig?: ChildConfig;
  /** Default: `CHILD_LIMITS`. */
  readonly childLimits?: Partial<ChildLimits>;
  /** Fault of a run by evidence from outside the database. Asked before a run that was quarantined as damaged resumes. */
  readonly faultElsewhere?: (run: RunView) => Promise<IntegrityFault | null>;
  /** Pause of a run, or of a fork, that comes from what this server did not make. Default: one that says so, without what applies. */
  readonly pauseOfRecord?: PauseOf;
  /**
   * Called before a run of a project begins to wait for people or child runs, with the payload of the input that makes it wait.
   * The run goes on when it ends, so it must end by itself. Absent: nothing is done before.
   */
  readonly beforeWait?: BeforeWait;
}

/** The start of a run of a custom workflow. */
export interface NewWorkflowRun {
  /** Absent: a new random one. The same id gives the same run. */
  readonly id?: string;
  /** Input as the workflow's `input` schema describes it. */
  readonly input?: JsonObject;
  readonly request?: string;
  /** User whose run slots the run takes. Default `local`. */
  readonly userId?: string;
  /** Activities of the run that are performed at the same time, from 1. Default: the workflow's, else the engine's, else 4. */
  readonly maxConcurrency?: number;
}

/** A run that has ended, with its result. */
export interface FinishedRun extends RunView {
  /** Result of the machine's `output`, as JSON. `null` if the machine has none, or if the run was cancelled before it was evaluated. */
  readonly output: JsonValue;
  /** The machine's context at the end, frozen; `null` when the run never began or its workflow is not registered any more. */
  readonly context: JsonObject | null;
}

export interface ForkOptions extends Omit<ForkRequest, 'runId' | 'tree' | 'now'> {
  /** Decides the gate that is open there; `gateId` names it as the new run has it. */
  readonly signal?: ForkSignal;
  /** The request that asks for it, where it has a key. */
  readonly once?: RequestKey | undefined;
  /** Makes what the run needs outside, after everything was checked and before anything is stored. May be repeated after a crash. */
  readonly prepare: (run: ForkedRun) => Promise<void>;
}

/** A run that steps while it is read for its migration is read again, at most this often. */
const MIGRATION_TRIES = 5;
/** Runs that are recovered at the same time at the start. */
const RECOVER_AT_ONCE = 64;

export class Engine {
  readonly #options: EngineOptions;
  readonly #forking = new Map<string, Promise<RunView>>();
  readonly #launching = new Map<string, Promise<RunView>>();
  readonly #slots: RunSlots;
  readonly #feed: StepFeed;
  readonly #live: LiveRuns;
  readonly #requests: RequestDeduplication;
  readonly #quarantine: Quarantine;
  readonly #admission: RunAdmission;
  readonly #families: FamilySpending;
  readonly #children: ChildRuns;
  readonly #runner: ActivityRunner;
  readonly #timers: Timers;
  readonly #steps: RunSteps;
  /** Requests that come while the server starts wait until the run slots in use are known. */
  #slotsKnown: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { store, workflows, clock, log, scrub, crashes } = options;
    const isStopped = () => this.#stopped;
    const view = (runId: string) => this.view(runId);
    const cancelAbandoned = (runId: string) => this.#children.cancelAbandoned(runId);
    const apply = (runId: string, run: LiveRun, input: NewInput) => this.#steps.apply(runId, run, input);
    const slots = new RunSlots(options.maxConcurrentRunsPerUser);
    const feed = new StepFeed(log, isStopped);
    const live = new LiveRuns({
      read: (runId) => readLiveRun(store, workflows, runId),
      beginRecovery: (runId) => crashes?.beginRecovery(runId),
      quarantine: async (runId, reason, message) => {
        await this.#quarantine.quarantine(runId, reason, message);
        return new Conflict(`Run ${runId} is quarantined (${reason}): ${message}`);
      },
    });
    const runner = this.#createRunner(options);
    const fire = ({ runId, key, event }: StoredTimer) => this.#steps.fire(runId, key, event);
    const timers = new Timers({ store, clock, log, fire });
    this.#slots = slots;
    this.#feed = feed;
    this.#live = live;
    this.#runner = runner;
    this.#timers = timers;
    this.#requests = new RequestDeduplication({ store, view });
    this.#children = this.#createChildRuns(options);
    this.#admission = new RunAdmission({ store, slots, live, clock, log, apply, isStopped });
    this.#quarantine = new Quarantine({
      store,
      live,
      slots,
      runner,
      clock,
      log,
      publish: (step) => feed.publish(step),
      admit: (userId) => this.#admission.admit(userId),
      cancelAbandoned,
      onQuarantined: options.onQuarantined,
      faultElsewhere: options.faultElsewhere,
    });
    this.#families = new FamilySpending({
      store,
      live,
      log,
      scrub,
      view,
      apply,
      budgetChanged: (runId, by, gateId) => this.signal(runId, 'BUDGET_CHANGED', { by }, { gateId }),
      isStopped,
    });
    this.#steps = new RunSteps({
      store,
      live,
      slots,
      admission: this.#admission,
      quarantine: this.#quarantine,
      families: this.#families,
      feed,
      runner,
      timers,
      clock,
      log,
      scrub,
      view,
      cancelAbandoned,
      isStopped,
      onStep: options.onStep,
      crashes,
      beforeWait: options.beforeWait,
    });
  }

  #createChildRuns({ store, workflows, clock, log, crashes, ...options }: EngineOptions): ChildRuns {
    return new ChildRuns({
      store,
      workflows,
      clock,
      log,
      limits: { ...CHILD_LIMITS, ...options.childLimits },
      configOf: options.childConfig ?? ((parent, _workflow, asked) => childConfig(parent, asked)),
      launch: (runId, start) => this.launch(runId, start),
      view: (runId) => this.view(runId),
      finished: (runId) => this.finished(runId),
      inspect: (runId) => this.inspect(runId),
      cancel: (runId, by, reason, cause) => this.cancel(runId, by, reason, undefined, cause),
      hold: (runId, message) => this.#quarantine.quarantineAfterWork(runId, 'held', message),
      release: (runId, by) => this.signal(runId, 'RETRY_REQUESTED', { by }),
      isHeld: (runId) => crashes?.isHeld(runId) === true,
    });
  }

  #createRunner({ store, clock, log, random, scrub, findActivity, childLimits }: EngineOptions): ActivityRunner {
    return new ActivityRunner({
      store,
      findActivity: (workflow, name) => this.#children.activityOf(workflow, name) ?? findActivity(workflow, name),
      isChild: (workflow, src) => this.#children.workflowOf(workflow, src) !== undefined,
      childrenAtOnce: { ...CHILD_LIMITS, ...childLimits }.atOnce,
      clock,
      random,
      log,
      report: (runId, outcome) => this.#steps.report(runId, outcome),
      progress: (progress) => this.#feed.publish({ progress: scrub(progress) }),
      scrub,
      spend: (job, write) => this.#families.spend(job, write),
      onEnd: ({ key, owner }) => void this.#families.endActivity(owner.treeId, key),
    });
  }

  /** Recovers everything that was under way: run slots, queue, activities, timers. A run that cannot be read is quarantined; the others go on. */
  async start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#slotsKnown = promise;
    try {
      await this.#recoverAll(resolve);
    } finally {
      resolve();
    }
  }

  async #recoverAll(slotsAreKnown: () => void): Promise<void> {
    const { store } = this.#options;
    await this.#quarantine.quarantineDamaged(async () => this.#options.findDamage?.() ?? []);
    const running = await store.listOpenRuns('running');
    const queued = await this.#viewsOf(await store.listOpenRuns('queued'));
    const unfinished = new Set(await store.runsWithActivities());
    for (const head of running) if (unfinished.has(head.id)) this.#slots.take(head.userId, head.id);
    for (const view of queued.sort(byQueue)) this.#slots.enqueue(view.userId, view.id, false);
    slotsAreKnown();
    // Timers that came due while the server was down come first: work that they end need not begin again.
    await this.#timers.start();
    // The same holds for runs that nobody waits for: the last process may have ended between a parent's step and their end.
    await this.#children.cancelAbandoned();
    for (const head of running) unfinished.add(head.id);
    const ids = [...unfinished].filter((runId) => this.#options.crashes?.isHeld(runId) !== true);
    for (let from = 0; from < ids.length; from += RECOVER_AT_ONCE)
      await Promise.all(ids.slice(from, from + RECOVER_AT_ONCE).map((runId) => this.#steps.recover(runId)));
    for (const userId of new Set(queued.map((view) => view.userId))) await this.#admission.admit(userId);
  }

  /** Stops taking inputs and ends what runs; the next start takes it up again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#steps.stop();
    this.#children.stop();
    this.#families.wakeAll();
    this.#timers.stop();
    await this.#runner.stop();
    await this.#families.settled();
    await this.#live.settled();
    this.#feed.stop();
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
    const end = await this.#feed.nextEnd(runId, async () => {
      const head = this.#live.find(runId)?.committed ?? (await this.#options.store.loadHead(runId));
      return head?.status;
    });
    const view = end?.view ?? (await this.view(runId));
    try {
      const { snapshot } = end?.state ?? (await this.inspect(runId)).state;
      const output: unknown = snapshot?.output;
      return {
        ...view,
        output: output === undefined ? null : jsonCopy(output as JsonValue),
        context: snapshot === null ? null : (snapshot.context as JsonObject), // Plain JSON and frozen, as after each step.
      };
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      return { ...view, output: null, context: null };
    }
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: (message: EngineMessage) => void): () => void {
    return this.#feed.subscribe(listener);
  }

  /**
   * Starts a run, or queues it when its user has no run slot free.
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
    const parsed = parseRunInput(definition, start);
    await this.#slotsKnown;
    const live = this.#live;
    const existing =
      (await live.committedView(runId)) ??
      (await this.#options.store.loadView(runId)) ??
      (await live.committedView(runId));
    if (existing) return existing;
    if (this.#stopped) throw stopping();
    const payload = jsonCopy(this.#options.scrub({ ...start, ...parsed })) as unknown as JsonObject;
    const input: NewInput = this.#slots.hasRoom(start.userId)
      ? { type: 'RUN_STARTED', payload }
      : {
          type: 'RUN_QUEUED',
          payload: { position: this.#slots.enqueue(start.userId, runId, false), start: payload },
        };
    const run = unbegunRun(definition, runId);
    live.put(runId, run);
    const view = await this.#steps.apply(runId, run, { ...input, ...requestOf(once) });
    if (start.treeId !== undefined) this.#families.note(view);
    return view;
  }

  /**
   * Starts a run that goes on where another was after one of its events, or queues it when its user has no run slot free. All of
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
    const { store, workflows, scrub } = this.#options;
    const existing = await store.loadView(runId);
    if (existing) return this.withPosition(existing);
    const source = await this.view(sourceId);
    await this.#quarantine.refuseDamage(sourceId, wanted.at, `be forked at event ${wanted.at}`);
    const timestamp = this.#now();
    let run = await planFork({ store, workflows, scrub, runId, source, wanted, signal, timestamp });
    await prepare(run);
    if (isOfRecord(source, wanted.at)) run = await this.#pausedFork(run, sourceId, timestamp);
    await this.#slotsKnown;
    // Nothing is awaited from here to the append, so no other run can take the slot.
    if (this.#stopped) throw stopping();
    if (holdsRunSlot(run.state)) {
      if (this.#slots.hasRoom(wanted.by)) this.#slots.take(wanted.by, runId);
      else {
        const position = this.#slots.enqueue(wanted.by, runId, false);
        const queued = continueFork(run, { type: 'RUN_QUEUED', payload: { position }, timestamp });
        run = forkedOrRefused(queued, sourceId, wanted.at);
      }
    }
    return this.#steps.storeFork(run, { by: wanted.by, timestamp, once });
  }

  async #pausedFork(run: ForkedRun, sourceId: string, timestamp: string): Promise<ForkedRun> {
    const view = foldAll(null, run.state.runId, 0, run.events);
    const state = recordedState(run.events, run.state, run.activities);
    const pause = (await this.#options.pauseOfRecord?.(view, state)) ?? {
      reason: 'rebuilt',
      message: `The run goes on from run ${sourceId}, which was rebuilt from a record that others could have written. Look at it, then retry to go on from there, or cancel the run.`,
      details: {},
    };
    return pausedFork(run, view, pause, timestamp);
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
    return this.#requests.once(once, () => this.#signal(runId, type, payload, shown, once));
  }

  async #signal(
    runId: string,
    type: string,
    payload: JsonObject,
    shown?: ShownGate,
    once?: RequestKey,
  ): Promise<RunView> {
    await this.#slotsKnown;
    if (type === 'RETRY_REQUESTED') await this.#refuseUnseen(await this.view(runId));
    const judge = signalJudge(type, payload, shown);
    await this.#steps.prepareWait(runId, (run) => {
      const { payload: checked, refusal } = judge(run);
      return refusal ? null : { type, payload: this.#options.scrub(checked) };
    });
    for (;;) {
      const view = await this.#live.withRun(runId, async (run) => {
        const { payload: checked, refusal } = judge(run);
        if (!refusal) {
          const held = type === 'RETRY_REQUESTED' ? heldMs(run, this.#options.clock.now()) : {};
          const input = {
            type,
            payload: { ...this.#options.scrub(checked), ...held },
            ...requestOf(once, shown?.gateId),
          };
          return this.#steps.apply(runId, run, input);
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
   * Refuses to resume a run that is damaged, or that comes from a record of which a person has not seen what applies now. Then it is shown.
   * @throws {Conflict}
   */
  async #refuseUnseen(view: RunView): Promise<void> {
    await this.#quarantine.refuseDamaged(view);
    const { pauseOfRecord, store } = this.#options;
    // Also where it is quarantined for another reason, and its pause could not be made before.
    if (pauseOfRecord === undefined || !(await isUnreleased(store, view))) return;
    const [log, activities] = await Promise.all([store.readRun(view.id, 0), store.openActivities(view.id)]);
    const state = await this.#live.withRun(view.id, async (run) => run.state);
    const pause = await pauseOfRecord(view, recordedState(log, state, activities));
    const missing = pause.missing?.join(', ') ?? '';
    if (missing !== '')
      throw new Conflict(
        `Run ${view.id} cannot resume: its record names commits that are not in the repository (${missing}), so that nobody can see what they change. Push them, or cancel the run.`,
      );
    if (showsPause(view.gate, pause) && pause.isTooLong !== true) return;
    await this.#quarantine.showAgain(view.id, pause);
    throw new Conflict(
      `Run ${view.id} comes from a record in git, and what applies when it goes on is not what was shown. Look at it again, then retry.`,
    );
  }

  /**
   * Stores what a person noted beside a result. The machine is not asked: it changes nothing of where the run is.
   * @param check throws where the run as it is then does not take it
   * @param once as with {@link signal}
   * @throws {Conflict} when the run has ended
   */
  note(runId: string, fact: ReviewFact, check: (view: RunView) => void, once?: RequestKey): Promise<RunView> {
    if (once === undefined) return this.#note(runId, fact, check);
    return this.#requests.once(once, () => this.#note(runId, fact, check, once));
  }

  async #note(runId: string, fact: ReviewFact, check: (view: RunView) => void, once?: RequestKey): Promise<RunView> {
    await this.#slotsKnown;
    return this.#live.withRun(runId, async (run) => {
      const { view } = run;
      if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
      check(view);
      const payload = jsonCopy(this.#options.scrub(fact.payload)) as unknown as JsonObject;
      return this.#steps.apply(runId, run, { type: fact.type, payload, ...requestOf(once) });
    });
  }

  /**
   * Quarantines an open run of which others know more. A run that has ended stays as it is.
   * @param message what is known elsewhere
   */
  async quarantine(runId: string, message: string): Promise<void> {
    await this.#slotsKnown;
    await this.#quarantine.quarantineAfterWork(runId, 'poisoned', message);
  }

  /**
   * Pauses an open run at a person's word, wherever its machine is. What its activities were doing begins again when it is retried,
   * as after a crash. One that is paused this way already stays so; one that would resume by itself does not.
   * @throws {Conflict} when it has ended, or waits for a person
   */
  async hold(runId: string, by: string, reason?: string): Promise<RunView> {
    await this.#slotsKnown;
    const view = await this.view(runId);
    if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
    if (view.gate?.reason === 'held') return view;
    if (view.gate !== null && !resumesByItself(view.gate)) throw waitsAlready(view);
    const why = reason === undefined ? '' : `: ${withoutStop(this.#options.scrub(reason).trim())}`;
    const message = `${by} paused the run${why}. A retry continues it where it was; what an agent was doing begins again.`;
    await this.#quarantine.quarantineAfterWork(runId, 'held', message);
    const held = await this.view(runId);
    // It may have come to a gate just before.
    if (held.gate !== null && held.gate.reason !== 'held') throw waitsAlready(held);
    return held;
  }

  /**
   * Cancels a run from wherever it is, also one that cannot be read any more.
   * @param cause why a child run came to nothing; dropped where the workflow's own schema does not take it
   * @throws {Conflict} when it has ended
   */
  async cancel(runId: string, by: string, reason?: string, once?: RequestKey, cause?: string): Promise<RunView> {
    await this.#slotsKnown;
    const view = await this.view(runId);
    if (isFinal(view.status)) throw new Conflict(`Run ${runId} has already ended: it is ${view.status}.`);
    const payload = { by, ...(reason === undefined ? {} : { reason }) };
    let run: LiveRun;
    try {
      run = await this.#live.open(runId);
    } catch {
      return this.#quarantine.cancel(view, payload, once);
    }
    await run.tail.catch(() => undefined);
    const { definition, state } = run;
    const told = cause === undefined ? payload : { ...payload, cause };
    const taken = definition.signals['RUN_CANCELLED']?.safeParse(told).success === true ? told : payload;
    return isFinal(run.view.status) || takesCancellation(definition, state, taken)
      ? this.signal(runId, 'RUN_CANCELLED', taken, undefined, once)
      : this.#quarantine.cancel(run.view, payload, once);
  }

  /**
   * Binds a run to another version of its workflow: as it is where its whole history goes the same way there, else through
   * the migration that the version gives. A run that was quarantined for want of its definition, or by a fault of it, goes on.
   * @throws {NotFound} @throws {Conflict} naming the first event that would be another one; the run stays as it was
   */
  async migrate(runId: string, to: number, by: string, once?: RequestKey): Promise<RunView> {
    const { store } = this.#options;
    await this.#slotsKnown;
    for (let tries = 0; tries < MIGRATION_TRIES; tries++) {
      await this.#live.inUse(runId)?.tail.catch(() => undefined);
      const view = await store.loadView(runId);
      if (!view) throw noSuchRun(runId);
      await this.#quarantine.refuseDamage(runId, view.lastSequence, 'be migrated');
      if (await isUnreleased(store, view))
        throw new Conflict(
          `Run ${runId} comes from a record in git and nobody has had it go on: it cannot be migrated. Look at what applies and retry it first, or cancel it.`,
        );
      if (view.gate?.reason === 'poisoned') await this.#quarantine.refuseBehind(view);
      const versions = (version: number) => this.#definition(view.workflow.name, version);
      const { definition, state, payload } = await planMigration({ store, versions, view, to, by });
      // From here to the append nothing waits. The run may have gone on while it was read: then it is read again.
      const now = this.#live.find(runId)?.state.sequence ?? view.lastSequence;
      if (state.sequence !== view.lastSequence || state.sequence !== now) continue;
      // A snapshot goes with the step, so that no later opening needs the version before.
      const run = committedRun(definition, state, view, SNAPSHOT_DUE);
      this.#live.put(runId, run);
      return this.#steps.apply(runId, run, { type: 'RUN_MIGRATED', payload, ...requestOf(once) });
    }
    throw new Unavailable(`Run ${runId} moved on each time that it was read; try again when it is at rest.`);
  }

  /** The run's view with its present position in the queue. @throws {NotFound} */
  async view(runId: string): Promise<RunView> {
    const view = this.#live.find(runId)?.committed ?? (await this.#options.store.loadView(runId));
    if (!view) throw noSuchRun(runId);
    return this.withPosition(view);
  }

  /** The view with its present position in the queue instead of the one it had when it was queued. */
  withPosition(view: RunView): RunView {
    return this.#admission.withPosition(view);
  }

  /** The run's state and definition, for reading. @throws {NotFound | Conflict} */
  async inspect(runId: string): Promise<{ readonly definition: WorkflowDefinition; readonly state: RunState }> {
    const run = await this.#live.open(runId);
    this.#live.evictIfIdle(runId, run);
    return { definition: run.definition, state: run.state };
  }

  /** Runs that hold memory now: those that run, and a bounded number of those that came to rest last. */
  get runsInMemory(): number {
    return this.#live.size;
  }

  /** Fires what is due now; the timers do this by themselves. For clocks that were moved. */
  async checkTimers(): Promise<void> {
    await this.#timers.check();
  }

  /** Spending of the run and of all runs of its tree. @throws {NotFound} */
  async tree(runId: string): Promise<RunFamily> {
    return this.#families.of(await this.view(runId));
  }

  /** Spending that the budgets of the run and of the runs above it limit, the nearest first. @throws {NotFound} */
  async bounds(runId: string): Promise<readonly BoundedSpending[]> {
    return this.#families.boundsOf(await this.view(runId));
  }

  /** The run, its forks and all others of its tree, newest first. @throws {NotFound} */
  async runsOfTree(runId: string): Promise<readonly RunView[]> {
    return this.#families.runsOf(treeOf(await this.view(runId)));
  }

  async #viewsOf(heads: readonly RunHead[]): Promise<RunView[]> {
    const views = await Promise.all(heads.map((head) => this.#options.store.loadView(head.id)));
    return views.filter((view) => view !== null);
  }

  /** Takes up what a run has open that was held back at the start. */
  async recoverRun(runId: string): Promise<void> {
    if (this.#stopped) return;
    await this.#children.cancelIfAbandoned(runId);
    await this.#steps.recover(runId);
  }

  #definition(name: string, version: number): WorkflowDefinition | undefined {
    return this.#options.workflows.find(name, version);
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}

/**
 * For how long a person had paused the run; nothing where it is not paused this way, or goes back to a pause of its own, which
 * ends when it would have ended.
 */
function heldMs({ view: { gate }, state }: LiveRun, now: Date): { readonly waitedMs?: number } {
  if (gate?.reason !== 'held' || state.view?.status === 'paused') return {};
  return { waitedMs: Math.max(0, now.getTime() - Date.parse(gate.openedAt)) };
}

/** The words of a person with another sentence after them. */
function withoutStop(words: string): string {
  return words.endsWith('.') ? words.slice(0, -1) : words;
}

function waitsAlready({ id, gate }: RunView): Conflict {
  return new Conflict(`Run ${id} waits for a person already, at its gate '${gate?.kind}': nothing of it works.`);
}

function byQueue(a: RunView, b: RunView): number {
  return (a.queuePosition ?? 0) - (b.queuePosition ?? 0) || (a.updatedAt < b.updatedAt ? -1 : 1);
}
