/**
 * Virtual time and the order of things: whatever waits for the outside (a timer, the disk, an activity, a person) is a
 * task here, and chance says which of those that are due comes next.
 */
import type { Clock } from '../src/engine/clock.ts';
import type { Random } from './random.ts';

export type TaskKind =
  | 'alarm'
  | 'commit'
  | 'outcome commit'
  | 'answer'
  | 'request answer'
  | 'read'
  | 'find'
  | 'effect'
  | 'effect done'
  | 'call'
  | 'person'
  | 'operator';

interface Task {
  readonly kind: TaskKind;
  readonly life: Life | null;
  readonly run: () => void;
  /** Milliseconds of virtual time since the beginning; unlike the clock on the wall it only goes forward. */
  at: number;
}

/** One process of the server: when it is dead nothing that it still waits for ever comes. */
export class Life {
  readonly number: number;
  dead = false;
  /** Positions of the events that this process was told are on disk. */
  readonly answered: number[] = [];
  /** Positions of the events that it published. */
  readonly published = new Set<number>();

  constructor(number: number) {
    this.number = number;
  }
}

const BEGINNING = Date.parse('2026-03-01T10:00:00Z');

export class Scheduler {
  readonly #random: Random;
  #tasks: Task[] = [];
  #now = 0;
  #wall = BEGINNING;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Time of the clock on the wall, as the server sees it, in milliseconds. */
  get wall(): number {
    return this.#wall;
  }

  /** Runs later, if its process is still there. @returns a function that cancels it */
  later(kind: TaskKind, delayMs: number, life: Life | null, run: () => void): () => void {
    const task: Task = { kind, life, run, at: this.#now + Math.max(0, delayMs) };
    this.#tasks.push(task);
    return () => {
      const index = this.#tasks.indexOf(task);
      if (index >= 0) this.#tasks.splice(index, 1);
    };
  }

  /** Never resolves when the process dies before. */
  pause(kind: TaskKind, delayMs: number, life: Life | null): Promise<void> {
    return new Promise((resolve) => this.later(kind, delayMs, life, resolve));
  }

  clockOf(life: Life): Clock {
    return {
      now: () => new Date(this.#wall),
      after: (ms, callback) => this.later('alarm', ms, life, callback),
    };
  }

  /** The next task, with time moved on to it; `undefined` when nothing waits. */
  next(): Task | undefined {
    let due = this.#tasks.filter((task) => task.at <= this.#now);
    if (due.length === 0) {
      const soonest = this.#tasks.reduce((least, task) => Math.min(least, task.at), Infinity);
      if (soonest === Infinity) return undefined;
      this.pass(soonest - this.#now);
      due = this.#tasks.filter((task) => task.at <= this.#now);
    }
    const task = due.length === 1 ? due[0] : this.#random.pick(due);
    if (task !== undefined) this.#tasks.splice(this.#tasks.indexOf(task), 1);
    return task;
  }

  /** Is a task of one of these kinds due now? */
  isDue(...kinds: readonly TaskKind[]): boolean {
    return this.#tasks.some((task) => task.at <= this.#now && kinds.includes(task.kind));
  }

  isWaiting(...kinds: readonly TaskKind[]): boolean {
    return this.#tasks.some((task) => kinds.includes(task.kind));
  }

  /** Does anything wait but alarms? */
  get isBusy(): boolean {
    return this.#tasks.some((task) => task.kind !== 'alarm');
  }

  get hasTasks(): boolean {
    return this.#tasks.length > 0;
  }

  /** Time goes by, for everybody. */
  pass(ms: number): void {
    this.#now += ms;
    this.#wall += ms;
  }

  /** Somebody sets the clock on the wall; what sleeps does not notice. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** The process is gone, and all that it waited for with it. */
  kill(life: Life): void {
    life.dead = true;
    this.#tasks = this.#tasks.filter((task) => task.life !== life);
  }
}
