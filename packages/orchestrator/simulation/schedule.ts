/**
 * One schedule: a few runs on the real engine over the real store, with everything that can go wrong, in an order that
 * the seed gives; then the faults stop and every run must come to its end.
 */
import type { JsonObject, RunStart, RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import { Engine, type EngineOptions } from '../src/engine/engine.ts';
import type { EngineMessage } from '../src/engine/step-feed.ts';
import type { EventStore } from '../src/event-store/event-store.ts';
import { lookupIn } from '../src/core/activity.ts';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { createRegistry } from '../src/core/registry.ts';
import { BUILT_IN_RUN_CONFIG } from '../src/run-config/run-config.ts';
import { buildDefinition as build } from '../src/workflows/build/build.fixture.ts';
import { aBuildConfig, buildActivities } from './build-world.ts';
import { Disk } from './disk.ts';
import { type Fault, type FaultCounts, noFaults } from './faults.ts';
import { type Invariant, Violation } from './invariants.ts';
import { Ledger, type RunTruth, same } from './ledger.ts';
import { People, type Server } from './people.ts';
import type { Plants } from './plants.ts';
import { Random } from './random.ts';
import { Life, Scheduler, type TaskKind } from './scheduler.ts';
import { families } from './families.ts';
import { smallActivities, smallWorkflows } from './workflows.ts';
import { World } from './world.ts';

export interface ScheduleResult {
  readonly seed: number;
  readonly crashes: number;
  readonly steps: number;
  readonly events: number;
  readonly counts: FaultCounts;
  readonly violation: { readonly invariant: Invariant; readonly message: string } | null;
  readonly trace: readonly string[];
}

export interface ScheduleOptions {
  /** May hold finished runs of other schedules. */
  readonly store: EventStore;
  readonly plants?: Plants;
  readonly traces?: boolean;
}

const workflows = createRegistry([build, ...smallWorkflows, ...families]);
const activities = { ...smallActivities, ...buildActivities };

/** Before which kind of task the process dies, and what that is called. */
const CRASHES: readonly { readonly before: TaskKind | null; readonly fault: Fault }[] = [
  { before: 'commit', fault: 'crash before a commit' },
  { before: 'outcome commit', fault: 'crash before an outcome is stored' },
  { before: 'answer', fault: 'crash after a commit, before its answer' },
  { before: 'find', fault: 'crash before an activity looks for its effect' },
  { before: 'effect', fault: 'crash before an effect' },
  { before: 'effect done', fault: 'crash after an effect' },
  { before: 'call', fault: 'crash before a model call is answered' },
  { before: 'alarm', fault: 'crash before a timer is looked at' },
  { before: null, fault: 'crash at any moment' },
];

/** Kinds of things that happen to the machine. */
const OPERATIONS = 8;
const MOST_STEPS = 600;
const MOST_STEPS_IN_ALL = 4_000;
/** A run that was led on this often goes in circles; a person ends it. */
const MOST_LEADS = 14;
/** A child for which nobody waits is cancelled by then: a cancellation that fails is tried again after two seconds. */
const MOST_ABANDONED_MS = 10_000;
/** Wakings in a row that change nothing. */
const MOST_IDLE_STEPS = 80;

export async function runSchedule(seed: number, options: ScheduleOptions): Promise<ScheduleResult> {
  const schedule = new Schedule(seed, options);
  const onUnhandled = (error: unknown): void => schedule.reportUnhandled(error);
  process.on('unhandledRejection', onUnhandled);
  try {
    return await schedule.run();
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

class Schedule {
  readonly #seed: number;
  readonly #options: ScheduleOptions;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #counts = noFaults();
  readonly #trace: string[] = [];
  readonly #runSlots: number;
  readonly #ledger: Ledger;
  readonly #disk: Disk;
  readonly #world: World;
  readonly #people: People;
  readonly #views = new Map<string, RunView>();
  readonly #launches = new Map<string, RunStart>();
  readonly #crashPlan: { before: TaskKind | null; fault: Fault; skip: number }[] = [];
  /** What the operator, and the disk, do most. */
  #favourite: number | null = null;
  #server: Server | null = null;
  #lives = 0;
  #crashes = 0;
  #steps = 0;
  #isStarting = false;
  #eventsAtStart = 0;
  #isCalm = false;
  #violation: Violation | null = null;

  constructor(seed: number, options: ScheduleOptions) {
    this.#seed = seed;
    this.#options = options;
    this.#random = new Random(seed);
    this.#scheduler = new Scheduler(this.#random);
    this.#runSlots = 1 + this.#random.below(2);
    const shared = {
      scheduler: this.#scheduler,
      random: this.#random,
      counts: this.#counts,
      trace: (line: () => string) => this.#note(line),
      report: (error: unknown) => this.#report(error),
    };
    this.#ledger = new Ledger({
      workflows,
      places: this.#runSlots,
      now: () => this.#scheduler.wall,
      outcomes: (key) => this.#world.outcomes(key),
      meantFor: (by) => this.#people.meantFor(by),
      onChildren: (what) => (this.#counts[what] += 1),
      onQuarantined: () => (this.#counts['output that the machine cannot process'] += 1),
    });
    this.#disk = new Disk({ ...shared, ledger: this.#ledger, store: options.store });
    this.#world = new World({ ...shared, ledger: this.#ledger });
    this.#people = new People({
      now: () => this.#scheduler.wall,
      ...shared,
      ledger: this.#ledger,
      server: () => this.#server,
      refusedWrites: () => this.#disk.refusedWrites,
    });
  }

  async run(): Promise<ScheduleResult> {
    try {
      this.#plan();
      this.#start();
      await this.#disturb();
      await this.#calmDown();
      if (this.#random.chance(0.3)) await this.#probePlaces();
      await this.#checkAll();
    } catch (error) {
      this.#report(error);
    }
    if (this.#server !== null) this.#scheduler.kill(this.#server.life);
    const violation = this.#violation;
    return {
      seed: this.#seed,
      crashes: this.#crashes,
      steps: this.#steps,
      events: this.#ledger.positions.size,
      counts: this.#counts,
      violation: violation && { invariant: violation.invariant, message: violation.message },
      trace: this.#trace,
    };
  }

  /** A promise that fails and that nobody waits for ends a server. */
  reportUnhandled(error: unknown): void {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#report(error instanceof Violation ? error : new Violation('quiet', `nobody handles ${what}`));
  }

  // ---- what is going to happen

  #plan(): void {
    const random = this.#random;
    const kind = random.next();
    const isBuild = kind < 0.2;
    const isFamily = kind > 0.85;
    const runs = isBuild ? 1 + Number(random.chance(0.15)) : random.pick(isFamily ? [1, 1, 2] : [1, 1, 1, 2, 3]);
    for (let run = 0; run < runs; run += 1) {
      const workflow = isBuild
        ? build
        : isFamily && run === 0
          ? random.pick(families)
          : random.pick(smallWorkflows.slice(0, 3));
      if (workflow !== undefined) this.#planLaunch(`r${this.#seed}-${run}`, workflow);
    }
    this.#world.troubleRate = random.pick([0, 0.1, 0.2, 0.4]);
    if (random.chance(0.3)) this.#disk.slownessMs = random.pick([1, 20, 5_000]);
    // A child is read of its parent before it starts: meanwhile the parent may go on.
    if (random.chance(isFamily ? 0.5 : 0.2)) this.#disk.readsWait = random.pick([0.05, 0.5]);
    const crashes = random.pick([0, 1, 1, 2, 2, 3, 4]);
    for (let crash = 0; crash < crashes; crash += 1) {
      const { before, fault } = random.pick(CRASHES);
      this.#crashPlan.push({ before, fault, skip: random.below(before === null ? 40 : 6) });
    }
    this.#chain('person', random.below(10), () => this.#people.act([...this.#views.values()]));
    // Some schedules have one kind of trouble again and again, and little time between one thing and the next.
    this.#favourite = random.chance(0.3) ? random.below(OPERATIONS) : null;
    this.#world.isSwift = random.chance(0.3);
    this.#chain('operator', random.below(this.#favourite === null ? 5 : 8), () => this.#operate());
  }

  #planLaunch(runId: string, workflow: WorkflowDefinition): void {
    const random = this.#random;
    const isBuild = workflow === build;
    const config = isBuild ? aBuildConfig(random) : { ...BUILT_IN_RUN_CONFIG, maxConcurrency: 1 + random.below(3) };
    this.#launches.set(runId, {
      projectId: 'p',
      userId: `u${this.#seed}`,
      workflow: { name: workflow.name, version: workflow.version, fingerprint: workflow.fingerprint },
      request: 'Do it',
      config,
      // The simulated project has no configuration: what the request asks for is what holds.
      requestedConfig: isBuild ? config : {},
      branch: `autonomous/${runId}`,
    });
    const atMs = random.pick([0, 0, 100, 20_000]);
    const launch = (): void => this.#launch(runId);
    this.#scheduler.later('person', atMs, null, launch);
    if (random.chance(0.15)) {
      this.#counts['launch twice at once'] += 1;
      this.#scheduler.later('person', atMs, null, () => {
        launch();
        launch();
      });
    }
    if (random.chance(0.15))
      this.#scheduler.later('person', atMs + random.below(60_000), null, () => {
        if (this.#ledger.runs.has(runId)) this.#counts['launch again later'] += 1;
        launch();
      });
  }

  #launch(runId: string): void {
    const start = this.#launches.get(runId);
    if (start !== undefined) this.#people.launch(runId, (engine) => engine.launch(runId, start));
  }

  /** The same again and again, at odd intervals. */
  #chain(kind: TaskKind, count: number, act: () => void): void {
    if (count === 0) return;
    this.#scheduler.later(kind, this.#random.pick([0, 0, 10, 1_000, 20_000, 60_000, 120_000]), null, () => {
      if (this.#isCalm) return;
      act();
      this.#chain(kind, count - 1, act);
    });
  }

  #operate(): void {
    const random = this.#random;
    switch (this.#favourite !== null && random.chance(0.8) ? this.#favourite : random.below(OPERATIONS)) {
      case 0:
        this.#disk.isFull = true;
        this.#scheduler.later('operator', random.pick([10, 3_000, 60_000]), null, () => (this.#disk.isFull = false));
        return;
      case 1:
        if (!this.#disk.hasFailed) this.#disk.next = random.pick(['lost', 'stored, but said to have failed']);
        // Somebody notices and starts the server again.
        this.#scheduler.later('operator', random.pick([1_000, 120_000]), null, () => {
          if (this.#disk.hasFailed) this.#crash('crash at any moment');
        });
        return;
      case 2:
        this.#disk.mixesInFaulty = true;
        return;
      case 3:
        this.#counts['clock jumps forward'] += 1;
        this.#jump(random.pick([5_000, 3_600_000, 41 * 24 * 3_600_000]));
        return;
      case 4:
        this.#counts['clock jumps back'] += 1;
        this.#jump(-random.pick([5_000, 3_600_000]));
        return;
      case 5:
        this.#stop();
        return;
      case 6:
        this.#disk.slownessMs = random.pick([0, 20, 5_000]);
        return;
      default:
        this.#disk.readsWait = random.pick([0, 0.5]);
    }
  }

  #jump(ms: number): void {
    this.#note(() => `the clock jumps by ${ms} ms`);
    this.#ledger.noteClock(this.#scheduler.wall);
    this.#scheduler.jump(ms);
  }

  // ---- the server's lives

  #start(): void {
    this.#lives += 1;
    this.#note(() => `server ${this.#lives} starts`);
    const life = new Life(this.#lives);
    const { plants } = this.#options;
    const clock = this.#scheduler.clockOf(life);
    const store = this.#disk.connect(life);
    const registry = this.#world.registry(activities, life);
    const options: EngineOptions = {
      store: plants?.store?.(store, clock) ?? store,
      workflows,
      findActivity: lookupIn(plants?.activities?.(registry) ?? registry),
      clock,
      log: this.#logOf(life),
      maxConcurrentRunsPerUser: this.#runSlots,
      scrub: (value) => value,
      random: () => this.#random.next(),
    };
    const engine = new Engine(options);
    this.#server = { life, engine, isStopping: false };
    this.#disk.hasFailed = false;
    this.#isStarting = true;
    this.#eventsAtStart = this.#ledger.positions.size;
    this.#ledger.reread();
    this.#listen(life, engine);
    if (this.#people.waitsForAnswers)
      this.#scheduler.later('person', this.#random.below(2_000), null, () => this.#people.sendAgain());
    const refusedBefore = this.#disk.refusedWrites;
    engine.start().then(
      () => {
        if (this.#server?.life === life) this.#isStarting = false;
      },
      (error: unknown) => {
        if (life.dead) return;
        if (this.#disk.refusedWrites === refusedBefore)
          this.#report(new Violation('alive', `the server cannot start: ${String(error)}`));
        else this.#crash('crash in recovery');
      },
    );
  }

  #crash(fault: Fault): void {
    const server = this.#server;
    if (server === null) return;
    this.#crashes += 1;
    this.#counts[fault] += 1;
    if (this.#isStarting && fault !== 'crash in recovery') this.#counts['crash in recovery'] += 1;
    if (this.#lives > 1 && this.#ledger.positions.size === this.#eventsAtStart)
      this.#counts['crash twice in a row'] += 1;
    this.#note(() => `server ${server.life.number} dies (${fault}${this.#isStarting ? ', in recovery' : ''})`);
    this.#server = null;
    if (!this.#options.plants?.hasNoFence) this.#scheduler.kill(server.life);
    const downMs = this.#isCalm ? 0 : this.#random.pick([0, 0, 1_000, 90_000, 3_600_000]);
    this.#scheduler.later('operator', downMs, null, () => this.#start());
    // The next one comes while the server still finds out what was left.
    if (!this.#isCalm && this.#random.chance(0.2))
      this.#crashPlan.unshift({ before: null, fault: 'crash at any moment', skip: this.#random.below(8) });
  }

  #stop(): void {
    const server = this.#server;
    if (server === null || server.isStopping) return;
    this.#counts['server stopped and started again'] += 1;
    this.#note(() => `server ${server.life.number} is told to stop`);
    server.isStopping = true;
    server.engine.stop().then(
      () => {
        if (this.#server !== server) return;
        this.#note(() => `server ${server.life.number} has stopped`);
        this.#server = null;
        this.#scheduler.kill(server.life);
        this.#scheduler.later('operator', this.#isCalm ? 0 : this.#random.pick([0, 60_000]), null, () => this.#start());
      },
      (error: unknown) => this.#report(new Violation('quiet', `stopping failed: ${String(error)}`)),
    );
  }

  #listen(life: Life, engine: Engine): void {
    let last = 0;
    if (this.#random.chance(0.1))
      engine.subscribe(() => {
        this.#counts['listener that fails'] += 1;
        throw new Error('this listener always fails');
      });
    engine.subscribe((message) => {
      if (life.dead || 'progress' in message) return;
      for (const event of message.events) {
        const stored = this.#ledger.positions.get(event.position);
        if (stored === undefined)
          return this.#report(new Violation('feed', `${event.id} ${event.type} was published and is not on disk`));
        if (event.position <= last)
          return this.#report(new Violation('feed', `${event.id} at ${event.position} was published after ${last}`));
        if (!same(stored, event))
          return this.#report(new Violation('feed', `${event.id} was published as another event than the stored one`));
        last = event.position;
        life.published.add(event.position);
      }
      this.#seeView(message);
    });
  }

  #seeView({ events, view }: Extract<EngineMessage, { readonly view: unknown }>): void {
    const run = this.#ledger.runs.get(view.id);
    if (view.lastSequence !== events.at(-1)?.sequence)
      this.#report(
        new Violation(
          'view',
          `the view of ${view.id} came at ${view.lastSequence} with event ${events.at(-1)?.sequence}`,
        ),
      );
    else if (run?.events.length === view.lastSequence && !same(unplaced(view), unplaced(run.view)))
      this.#report(
        new Violation(
          'view',
          `the view of ${view.id} that listeners got at ${view.lastSequence} is no fold of its events`,
        ),
      );
    if (view.status === 'queued') this.#counts['run without a place'] += 1;
    this.#views.set(view.id, view);
  }

  #logOf(life: Life): Logger {
    const say = (level: string) => (facts: JsonObject, message: string) => {
      if (life.dead) return;
      this.#note(() => `log ${level}: ${message}: ${String(facts['err'] ?? '')}`);
      if (message === 'the activity runner failed')
        this.#report(new Violation('quiet', `${message}: ${String(facts['err'])} at ${String(facts['key'])}`));
    };
    // The engine writes to these three alone.
    return { error: say('error'), warn: say('warn'), info: say('info') } as unknown as Logger;
  }

  // ---- how it goes on

  /** Everything that needs nothing from outside has happened afterwards. */
  async #settle(): Promise<void> {
    do await new Promise(setImmediate);
    while (this.#disk.underWay > 0);
    if (this.#violation !== null) throw this.#violation;
  }

  async #disturb(): Promise<void> {
    while (this.#steps < MOST_STEPS) {
      await this.#settle();
      if (!this.#scheduler.isBusy && this.#crashPlan.length === 0) return;
      if (!this.#scheduler.isBusy && this.#isIdle()) return;
      if (!(await this.#step())) return;
    }
  }

  #idleSteps = 0;
  #idleEvents = 0;

  /** Nothing but alarms for a while, and none of them changes anything. */
  #isIdle(): boolean {
    const events = this.#ledger.positions.size;
    this.#idleSteps = events === this.#idleEvents ? this.#idleSteps + 1 : 0;
    this.#idleEvents = events;
    return this.#idleSteps > 4;
  }

  /** @returns whether there was anything to do */
  async #step(): Promise<boolean> {
    const task = this.#scheduler.next();
    if (task === undefined) return false;
    this.#steps += 1;
    if (task.kind === 'alarm' && this.#scheduler.isDue('find', 'effect', 'effect done', 'call', 'outcome commit'))
      this.#counts['timer due with an outcome'] += 1;
    if (task.kind === 'request answer' && !this.#isCalm && this.#server !== null && this.#random.chance(0.3)) {
      this.#crash('crash before a request with a key is answered');
      if (this.#options.plants?.hasNoFence) task.run();
      return true;
    }
    const crash = this.#isCalm ? undefined : this.#crashPlan[0];
    const isHere = crash !== undefined && task.life !== null && (crash.before === null || crash.before === task.kind);
    if (isHere && this.#server !== null) {
      crash.skip -= 1;
      if (crash.skip < 0) {
        this.#crashPlan.shift();
        this.#crash(crash.fault);
        if (this.#options.plants?.hasNoFence) task.run();
        return true;
      }
    }
    task.run();
    return true;
  }

  /** The faults stop; people decide what is asked of them; every run has to end. */
  async #calmDown(): Promise<void> {
    this.#isCalm = true;
    this.#note(() => 'the faults stop');
    this.#world.isCalm = true;
    this.#disk.isFull = false;
    this.#disk.next = 'stored';
    this.#disk.slownessMs = 0;
    this.#disk.readsWait = 0;
    if (this.#disk.hasFailed) this.#crash('crash at any moment');
    if (this.#server === null && !this.#scheduler.isWaiting('operator')) this.#start();
    for (const runId of this.#launches.keys()) if (!this.#ledger.runs.has(runId)) this.#launch(runId);
    const leads = new Map<string, number>();
    for (let idle = 0, events = -1; ;) {
      await this.#settle();
      if (this.#scheduler.isBusy) {
        await this.#step();
        continue;
      }
      const open = [...this.#ledger.runs.values()].filter((run) => !run.isFinal);
      this.#checkAbandoned(open);
      const missing = [...this.#launches.keys()].filter((runId) => !this.#ledger.runs.has(runId));
      if (open.length + missing.length === 0 && this.#server !== null) return;
      if (this.#ledger.positions.size !== events) idle = 0;
      events = this.#ledger.positions.size;
      idle += 1;
      if (idle > MOST_IDLE_STEPS || this.#steps > MOST_STEPS_IN_ALL || !this.#scheduler.hasTasks) {
        if (idle > 1)
          return this.#failAlive(
            open.map(({ id }) => id),
            missing,
          );
      }
      if (idle === 1) {
        for (const runId of missing) this.#launch(runId);
        for (const run of open) {
          const count = (leads.get(run.id) ?? 0) + 1;
          const { gate } = run.view;
          // A child for which nobody waits has to end by itself.
          if (gate === null || this.#ledger.isAbandoned(run)) continue;
          leads.set(run.id, count);
          if (count > MOST_LEADS) this.#people.cancel(run.id);
          else this.#people.lead(run.id, gate);
        }
        continue;
      }
      // Nobody has to wait for 40 days: time goes by at once where only a timer counts.
      const soonest = this.#ledger.soonestTimer();
      const restMs = soonest === undefined ? 0 : soonest - this.#scheduler.wall;
      if (idle > 3 && restMs > 30_000) this.#scheduler.pass(restMs);
      await this.#step();
    }
  }

  /** Open children for which nobody waits, and since when this is known while nothing else goes wrong. Milliseconds. */
  readonly #abandoned = new Map<string, number>();

  #checkAbandoned(open: readonly RunTruth[]): void {
    for (const run of open) {
      if (!this.#ledger.isAbandoned(run)) continue;
      const since = this.#abandoned.get(run.id) ?? this.#scheduler.wall;
      this.#abandoned.set(run.id, since);
      if (this.#scheduler.wall - since > MOST_ABANDONED_MS)
        throw new Violation('children', `nobody waits for ${run.id}, and it is still ${run.view.status}`);
    }
  }

  #failAlive(open: readonly string[], missing: readonly string[]): never {
    const facts = open.map((runId) => {
      const run = this.#ledger.runs.get(runId);
      const timers = [...(run?.timers ?? [])].map(
        ([key, timer]) => `${key} due ${new Date(timer.dueAt).toISOString()}`,
      );
      const work = [...(run?.activities.keys() ?? [])];
      return `${runId} is ${run?.view.status} at ${JSON.stringify(run?.view.state)}, gate ${run?.view.gate?.id ?? 'none'}, activities [${work.join(', ')}], timers [${timers.join(', ')}]`;
    });
    const never = missing.map((runId) => `${runId} was never launched`);
    throw new Violation(
      'alive',
      `nothing goes on at ${new Date(this.#scheduler.wall).toISOString()}: ${[...facts, ...never].join('; ')}`,
    );
  }

  /** All runs have ended: as many as there are places start at once. */
  async #probePlaces(): Promise<void> {
    const probes = Array.from({ length: this.#runSlots }, (_none, index) => `r${this.#seed}-probe-${index}`);
    for (const runId of probes) {
      this.#planProbe(runId);
      this.#launch(runId);
    }
    while (probes.some((runId) => this.#ledger.runs.get(runId)?.isFinal !== true)) {
      await this.#settle();
      if (probes.some((runId) => this.#ledger.runs.get(runId)?.events[0]?.type === 'RUN_QUEUED'))
        throw new Violation('places', `all runs have ended, and a new one gets none of the ${this.#runSlots} places`);
      if (!(await this.#step())) throw new Violation('alive', 'a run of one step does not end');
    }
    await this.#settle();
  }

  #planProbe(runId: string): void {
    const [any] = this.#launches.values();
    const workflow = smallWorkflows.find(({ name }) => name === 'probe');
    if (any === undefined || workflow === undefined) return;
    const { name, version, fingerprint } = workflow;
    this.#launches.set(runId, { ...any, workflow: { name, version, fingerprint }, config: BUILT_IN_RUN_CONFIG });
  }

  async #checkAll(): Promise<void> {
    while (this.#scheduler.isBusy) {
      await this.#settle();
      await this.#step();
    }
    await this.#settle();
    await this.#ledger.check(this.#options.store);
    for (const event of this.#ledger.positions.values()) {
      if (event.type !== 'ACTIVITY_COMPLETED') continue;
      const { key } = event.payload as { readonly key: string };
      if (this.#isEffect(key) && !this.#world.hasEffect(key))
        throw new Violation('done', `${event.id} says that ${key} is done; it never happened`);
    }
    const server = this.#server;
    if (server === null) return;
    for (const position of server.life.answered)
      if (!server.life.published.has(position))
        throw new Violation('feed', `${this.#ledger.positions.get(position)?.id} was stored and never published`);
    for (const run of this.#ledger.runs.values())
      if (!same(await server.engine.view(run.id), run.view))
        throw new Violation('view', `the engine shows another view of ${run.id} than its events give`);
    const stopped = server.engine.stop();
    await this.#settle();
    await stopped;
  }

  #isEffect(key: string): boolean {
    const src = this.#ledger.srcOf(key);
    return (
      src !== undefined && Object.entries(activities).some(([name, { kind }]) => name === src && kind === 'effect')
    );
  }

  #report(error: unknown): void {
    if (this.#violation !== null) return;
    this.#violation =
      error instanceof Violation
        ? error
        : new Violation('quiet', error instanceof Error ? (error.stack ?? error.message) : String(error));
    this.#note(() => `VIOLATION ${this.#violation?.invariant}: ${this.#violation?.message}`);
  }

  #note(line: () => string): void {
    if (this.#options.traces) this.#trace.push(`${new Date(this.#scheduler.wall).toISOString()} ${line()}`);
  }
}

/** The place in the queue moves on without events. */
function unplaced(view: RunView): RunView {
  const { queuePosition: _position, ...rest } = view;
  return rest;
}
