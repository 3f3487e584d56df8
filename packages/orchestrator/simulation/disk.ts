/**
 * The store as one process of the server sees it: the real one, behind a disk that can be slow, full or broken, and
 * that keeps what was committed when the process dies.
 */
import { StorageFull, Unavailable, type WorkflowEvent } from '@autonomous/shared';
import type { EventStore, RunCommit } from '../src/event-store/event-store.ts';
import type { FaultCounts } from './faults.ts';
import { Violation } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Life, Scheduler } from './scheduler.ts';

const WRITES: ReadonlySet<string | symbol> = new Set([
  'append',
  'updateAttempt',
  'heartbeat',
  'saveProject',
  'remember',
  'beginSession',
  'renewSession',
  'endSessions',
  'setMark',
  'archive',
]);

interface Write {
  readonly name: string;
  readonly perform: () => Promise<unknown>;
  /** For an append. */
  readonly commit: RunCommit | null;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface DiskOptions {
  readonly store: EventStore;
  readonly ledger: Ledger;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counts: FaultCounts;
  readonly trace: (line: () => string) => void;
  /** Something is wrong that nobody is there to be told of. */
  readonly report: (error: unknown) => void;
}

export class Disk {
  /** The longest that a commit takes, in milliseconds. */
  slownessMs = 0;
  /** How probable it is that a read waits. */
  readsWait = 0;
  isFull = false;
  /** What becomes of the next commit. */
  next: 'stored' | 'lost' | 'stored, but said to have failed' = 'stored';
  /** Steps that must fail come in the middle of others: one that was stored long ago, one that fails half-way. */
  mixesInFaulty = false;
  /** Writes that were not stored because of the disk. */
  refusedWrites = 0;
  /** Operations of the real store that are under way. */
  underWay = 0;
  /** After a failed commit nothing is written until the server is started anew. */
  hasFailed = false;
  readonly options: DiskOptions;
  #oldStep: RunCommit | null = null;

  constructor(options: DiskOptions) {
    this.options = options;
  }

  /** The store for one process. */
  connect(life: Life): EventStore {
    const { store } = this.options;
    const connection = new Connection(this, life);
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        const perform = (args: unknown[]) => this.#call(() => Reflect.apply(member, target, args) as Promise<unknown>);
        return WRITES.has(name)
          ? (...args: unknown[]) =>
              connection.write(String(name), () => perform(args), name === 'append' ? (args[0] as RunCommit) : null)
          : (...args: unknown[]) => connection.read(String(name), () => perform(args));
      },
    });
  }

  remember(commit: RunCommit): void {
    if (commit.expectedSequence === 0 && commit.startActivities.length > 0) this.#oldStep ??= commit;
  }

  /** Appends a step that cannot be stored: it must fail, alone, and leave nothing. */
  async appendFaulty(): Promise<void> {
    const { counts, random, report } = this.options;
    const old = this.#oldStep;
    if (old === null) return;
    const isStale = random.chance(0.5);
    counts[isStale ? 'stale step in the same commit' : 'step that fails half-way in the same commit'] += 1;
    const faulty = isStale ? old : failingHalfWay(old);
    await this.#call(() => this.options.store.append(faulty)).then(
      () => report(new Violation('unique', `a step of run ${faulty.runId} was stored that cannot be`)),
      () => undefined,
    );
    const left = isStale ? [] : await this.#call(() => this.options.store.readRun(faulty.runId, 0));
    if (left.length > 0)
      report(new Violation('unique', `a step that failed left ${left.length} events of ${faulty.runId}`));
  }

  async #call<Result>(operation: () => Promise<Result>): Promise<Result> {
    this.underWay += 1;
    try {
      return await operation();
    } finally {
      this.underWay -= 1;
    }
  }
}

/** What one process has handed to the disk. Gone with the process: what is not committed by then never is. */
class Connection {
  readonly #disk: Disk;
  readonly #life: Life;
  #waiting: Write[] = [];
  #isCommitting = false;

  constructor(disk: Disk, life: Life) {
    this.#disk = disk;
    this.#life = life;
  }

  async read(name: string, perform: () => Promise<unknown>): Promise<unknown> {
    const { random, scheduler, counts } = this.#disk.options;
    if (this.#life.dead) return new Promise(() => undefined);
    if (!random.chance(this.#disk.readsWait)) return perform();
    counts['slow read'] += 1;
    const waitsBefore = random.chance(0.5);
    if (waitsBefore) await scheduler.pause('read', random.below(this.#disk.slownessMs + 1), this.#life);
    const result = await perform();
    if (!waitsBefore) await scheduler.pause('read', random.below(this.#disk.slownessMs + 1), this.#life);
    this.#disk.options.trace(() => `read ${name}`);
    return result;
  }

  write(name: string, perform: () => Promise<unknown>, commit: RunCommit | null): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#life.dead) return;
      if (this.#isCommitting && commit !== null) this.#disk.options.counts['appends that overlap'] += 1;
      this.#waiting.push({ name, perform, commit, resolve, reject });
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isCommitting || this.#waiting.length === 0) return;
    const { scheduler, random, counts, report } = this.#disk.options;
    this.#isCommitting = true;
    const { slownessMs } = this.#disk;
    const delayMs = slownessMs === 0 ? 0 : random.below(slownessMs + 1);
    if (delayMs > 0) counts['slow disk'] += 1;
    const hasOutcome = this.#waiting.some(({ commit }) => commit?.events[0]?.type.startsWith('ACTIVITY_'));
    scheduler.later(hasOutcome ? 'outcome commit' : 'commit', delayMs, this.#life, () => {
      this.#commit().catch(report);
    });
  }

  async #commit(): Promise<void> {
    const disk = this.#disk;
    const { trace, counts, random, scheduler } = disk.options;
    const writes = this.#waiting;
    this.#waiting = [];
    // Answers come in the order of the writes, whatever each came to.
    const settlements = new Map<Write, () => void>();
    const outcome = disk.hasFailed ? 'lost' : disk.next;
    disk.next = 'stored';
    if (outcome !== 'stored' && !disk.hasFailed) {
      disk.hasFailed = true;
      counts[outcome === 'lost' ? 'failing commit' : 'failing commit that the disk had after all'] += 1;
    }
    const stored: Promise<void>[] = [];
    const stalePlace = disk.mixesInFaulty && outcome === 'stored' ? random.below(writes.length + 1) : -1;
    for (const [index, write] of writes.entries()) {
      if (index === stalePlace) stored.push(disk.appendFaulty());
      if (outcome === 'lost') {
        trace(() => `commit fails: ${describe(write)}`);
        settlements.set(write, () => this.#refuse(write, new Unavailable('The disk failed. Restart the server.')));
      } else if (disk.isFull && random.chance(0.8)) {
        counts['full disk'] += 1;
        trace(() => `the disk is full: ${describe(write)}`);
        settlements.set(write, () => this.#refuse(write, new StorageFull('The disk is full. Free some space.')));
      } else stored.push(this.#store(write, outcome, settlements));
    }
    if (stalePlace >= writes.length) stored.push(disk.appendFaulty());
    await Promise.all(stored);
    disk.mixesInFaulty = false;
    const isRequested = writes.some(({ commit }) => commit?.request !== undefined);
    await scheduler.pause(
      isRequested ? 'request answer' : 'answer',
      disk.slownessMs > 0 ? random.below(3) : 0,
      this.#life,
    );
    for (const write of writes) settlements.get(write)?.();
    this.#isCommitting = false;
    this.#wake();
  }

  async #store(write: Write, outcome: Disk['next'], settlements: Map<Write, () => void>): Promise<void> {
    const { ledger, trace } = this.#disk.options;
    let settle: () => void;
    try {
      const result = await write.perform();
      trace(() => `stored: ${describe(write)}`);
      if (write.commit !== null) {
        // The store gives the events; without them there is nothing to compare.
        ledger.record(write.commit, result as readonly WorkflowEvent[]);
        this.#disk.remember(write.commit);
      }
      settle = () => {
        write.resolve(result);
        if (write.commit !== null) this.#noteAnswer(write.commit, result as readonly WorkflowEvent[]);
      };
    } catch (error) {
      if (error instanceof Violation) throw error;
      trace(() => `refused: ${describe(write)}: ${String(error)}`);
      this.#checkRefusal(write, error);
      settle = () => write.reject(error);
    }
    settlements.set(
      write,
      outcome === 'stored'
        ? settle
        : () => this.#refuse(write, new Unavailable('The disk failed. Restart the server.')),
    );
  }

  #refuse(write: Write, error: Error): void {
    this.#disk.refusedWrites += 1;
    write.reject(error);
  }

  /** The engine goes on as soon as it is answered; what it knows counts when it has come to rest. */
  #noteAnswer(commit: RunCommit, events: readonly WorkflowEvent[]): void {
    for (const event of events) this.#life.answered.push(event.position);
    setImmediate(() => {
      if (!this.#life.dead) this.#disk.options.ledger.answer(commit);
    });
  }

  /** The store refuses a step only when another was stored first, an attempt only when its activity has ended. */
  #checkRefusal({ name, commit }: Write, error: unknown): void {
    const isConflict = error instanceof Error && error.name === 'Conflict';
    const stored = commit === null ? 0 : (this.#disk.options.ledger.runs.get(commit.runId)?.events.length ?? 0);
    if (isConflict && (commit === null || commit.expectedSequence !== stored)) return;
    throw new Violation('refusals', `${name} was refused although nothing stood against it: ${String(error)}`);
  }
}

/** A first step that starts the same activity twice: the second time is refused, when the events are in already. */
function failingHalfWay(first: RunCommit): RunCommit {
  const runId = `${first.runId}-faulty`;
  const activities = first.startActivities.map((activity) => ({ ...activity, runId, key: `${runId}/1/twice` }));
  return { ...first, runId, view: { ...first.view, id: runId }, startActivities: [...activities, ...activities] };
}

function describe({ name, commit }: Write): string {
  if (commit === null) return name;
  const types = commit.events.map((event) => event.type).join(', ');
  return `${name} ${commit.runId} ${commit.expectedSequence}+: ${types}`;
}
