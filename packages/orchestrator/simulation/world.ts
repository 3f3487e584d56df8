/**
 * The outside: what activities do there, by the keys of their activations, and what they give back or throw. It knows
 * what was done twice, and does not care which process of the server asked for it.
 */
import { type JsonObject, type JsonValue, NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import type { Activity, ActivityContext, ActivityRegistry, RetryPolicy } from '../src/core/activity.ts';
import type { FaultCounts } from './faults.ts';
import { Violation } from './invariants.ts';
import { canonical, type Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Life, Scheduler, TaskKind } from './scheduler.ts';

/**
 * `effect`: can be found again by its key. `call`: of a model, nothing of it can be found. `look`: changes nothing.
 */
export type ActivityKind = 'effect' | 'call' | 'look';

export interface SimulatedActivity {
  readonly kind: ActivityKind;
  readonly retry: RetryPolicy;
  /** What it gives when all goes well. */
  readonly output: (input: JsonObject, random: Random, isCalm: boolean) => JsonValue;
}

/** One performance of an activity. */
interface Call {
  readonly life: Life;
  readonly attempt: number;
  readonly signal: AbortSignal;
  isOver: boolean;
}

/** What goes wrong with one performance; `null` when nothing does. */
type Trouble =
  | null
  | 'retryable'
  | 'after its effect'
  | 'person'
  | 'terminal'
  | 'bug'
  | 'sandbox'
  | 'overloaded'
  | 'come back'
  | 'poison'
  | 'too long';

const TROUBLES: Readonly<Record<ActivityKind, readonly Trouble[]>> = {
  effect: ['retryable', 'after its effect', 'after its effect', 'person', 'terminal', 'bug', 'poison'],
  call: ['overloaded', 'come back', 'sandbox', 'bug', 'poison', 'too long', 'person'],
  look: ['retryable', 'sandbox', 'terminal', 'poison', 'too long'],
};

/** How long something takes. Several are exactly those of timers, so that they end at the same moment. */
const DURATIONS_MS = [0, 0, 0, 0, 1, 1, 20, 20, 500, 2_000, 15_000, 60_000, 60_000, 60_000, 600_000];
const SWIFT_DURATIONS_MS = [0, 0, 0, 1, 20, 500];
const CALM_DURATIONS_MS = [0, 1, 20];
const TOO_LONG_MS = 11 * 60_000;
/** An activity that does not notice that it was aborted ends this much later at most. */
const LATEST_MS = 20_000;

export interface WorldOptions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly counts: FaultCounts;
  readonly ledger: Ledger;
  readonly trace: (line: () => string) => void;
  readonly report: (error: unknown) => void;
}

export class World {
  /** Nothing goes wrong any more. */
  isCalm = false;
  /** Everything takes little time, so that much comes at once. */
  isSwift = false;
  /** How probable trouble is, for each performance. */
  troubleRate = 0.25;
  readonly #options: WorldOptions;
  readonly #effects = new Map<string, JsonValue>();
  readonly #calls = new Map<string, Call[]>();
  readonly #outcomes = new Map<string, string[]>();

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  /** What was given for an activation: outputs as canonical JSON, failures by their message. */
  outcomes(key: string): readonly string[] {
    return this.#outcomes.get(key) ?? [];
  }

  hasEffect(key: string): boolean {
    return this.#effects.has(key);
  }

  /** The activities for one process of the server. */
  registry(activities: Readonly<Record<string, SimulatedActivity>>, life: Life): ActivityRegistry {
    return Object.fromEntries(
      Object.entries(activities).map(([src, activity]): [string, Activity] => [
        src,
        this.#activity(src, activity, life),
      ]),
    );
  }

  get #durationsMs(): readonly number[] {
    if (this.isCalm) return CALM_DURATIONS_MS;
    return this.isSwift ? SWIFT_DURATIONS_MS : DURATIONS_MS;
  }

  #activity(src: string, activity: SimulatedActivity, life: Life): Activity {
    const perform = (input: never, context: ActivityContext): Promise<JsonValue> =>
      this.#perform(src, activity, input, context, life);
    if (activity.kind !== 'effect') return { retry: activity.retry, perform };
    return { retry: activity.retry, perform, find: (_input, context) => this.#find(src, context, life) };
  }

  async #find(src: string, context: ActivityContext, life: Life): Promise<JsonValue | undefined> {
    this.#checkMayRun('looked for', context.key);
    await this.#wait('find', 0, context.signal, life, false);
    const found = this.#effects.get(context.key);
    this.#options.trace(
      () => `${src} ${context.key} #${context.attempt} ${found === undefined ? 'is not there yet' : 'is there'}`,
    );
    if (found !== undefined) this.#give(context.key, canonical(found));
    return found;
  }

  async #perform(
    src: string,
    activity: SimulatedActivity,
    input: JsonObject,
    context: ActivityContext,
    life: Life,
  ): Promise<JsonValue> {
    const { random, trace } = this.#options;
    const { key, attempt, signal } = context;
    this.#checkMayRun('performed', key);
    const call = this.#begin(context, life);
    const trouble = this.#trouble(activity.kind);
    const isStubborn = !this.isCalm && random.chance(0.3);
    trace(
      () =>
        `${src} ${key} #${attempt} begins${trouble === null ? '' : ` (${trouble})`}${isStubborn ? ' (stubborn)' : ''}`,
    );
    try {
      const firstMs = trouble === 'too long' ? TOO_LONG_MS : random.pick(this.#durationsMs);
      await this.#wait(activity.kind === 'call' ? 'call' : 'effect', firstMs, signal, life, isStubborn);
      if (signal.aborted && !isStubborn) throw new Error('aborted');
      if (trouble !== 'after its effect') this.#throwAs(trouble, context);
      const output = this.#do(activity, input, key);
      await this.#wait('effect done', random.pick([0, 0, 10]), signal, life, isStubborn);
      if (trouble === 'after its effect') this.#throwAs(trouble, context);
      if (signal.aborted) this.#options.counts['activity ends late, after it was aborted'] += 1;
      trace(() => `${src} ${key} #${attempt} is done`);
      const given = trouble === 'poison' ? null : output;
      // The run is quarantined when the machine fails at it, and the activity is to be carried out again.
      if (given === null) call.isOver = true;
      this.#give(key, canonical(given));
      return given;
    } catch (error) {
      call.isOver = true;
      trace(() => `${src} ${key} #${attempt} fails: ${String(error)}`);
      this.#give(key, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  #checkMayRun(what: string, key: string): void {
    const refusal = this.#options.ledger.refusal(key);
    if (refusal === null) return;
    const violation = new Violation('start', `${key} was ${what} although ${refusal}`);
    this.#options.report(violation);
    throw violation;
  }

  #begin({ key, attempt, signal }: ActivityContext, life: Life): Call {
    const calls = this.#calls.get(key) ?? [];
    for (const earlier of calls) {
      if (earlier.attempt === attempt) this.#violate('calls', `${key} was performed twice as attempt ${attempt}`);
      if (earlier.life === life && !earlier.isOver && !earlier.signal.aborted)
        this.#violate(
          'calls',
          `${key} was performed again as attempt ${attempt} although nothing ended attempt ${earlier.attempt}`,
        );
    }
    const call: Call = { life, attempt, signal, isOver: false };
    this.#calls.set(key, [...calls, call]);
    return call;
  }

  #do(activity: SimulatedActivity, input: JsonObject, key: string): JsonValue {
    const output = JSON.parse(JSON.stringify(activity.output(input, this.#options.random, this.isCalm))) as JsonValue;
    if (activity.kind !== 'effect') return output;
    if (this.#effects.has(key)) this.#violate('effects', `the effect of ${key} happened a second time`);
    this.#effects.set(key, output);
    return output;
  }

  #trouble(kind: ActivityKind): Trouble {
    const { random } = this.#options;
    if (this.isCalm || !random.chance(this.troubleRate)) return null;
    return random.pick(TROUBLES[kind]);
  }

  #throwAs(trouble: Trouble, { key, attempt }: ActivityContext): void {
    const { counts, random } = this.#options;
    const what = `(${key}, attempt ${attempt})`;
    switch (trouble) {
      case null:
      case 'poison':
        return;
      case 'too long':
        counts['activity outlasts its time'] += 1;
        return;
      case 'retryable':
        counts['activity fails for a while'] += 1;
        throw new RetryableFailure(`the network is away ${what}`);
      case 'after its effect':
        counts['activity fails after its effect'] += 1;
        throw new RetryableFailure(`the answer got lost ${what}`);
      case 'person':
        counts['activity needs a person'] += 1;
        throw new NeedsHuman('auth_expired', `the token has expired ${what}`);
      case 'terminal':
        counts['activity fails for good'] += 1;
        throw new TerminalFailure(`this can never work ${what}`);
      case 'bug':
        counts['activity has a bug'] += 1;
        throw new TypeError(`cannot read properties of undefined ${what}`);
      case 'sandbox':
        counts['lost sandbox'] += 1;
        throw new RetryableFailure(`the sandbox is gone ${what}`, { reason: 'sandbox_unavailable' });
      case 'overloaded':
        counts['model is overloaded'] += 1;
        throw new RetryableFailure(`the model is overloaded ${what}`, { reason: 'model_unavailable' });
      case 'come back': {
        counts['model names a time to come back'] += 1;
        const retryAfterMs = random.pick([1_000, 45_000, 60_000]);
        throw new RetryableFailure(`too many requests ${what}`, { reason: 'rate_limited', retryAfterMs });
      }
      default:
        trouble satisfies never;
    }
  }

  /** One that is aborted ends at once; a stubborn one does not notice, and ends late. */
  #wait(kind: TaskKind, ms: number, signal: AbortSignal, life: Life, isStubborn: boolean): Promise<void> {
    const { scheduler, random } = this.#options;
    return new Promise((resolve) => {
      let isOver = false;
      const end = (): void => {
        isOver = true;
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      let cancel = scheduler.later(kind, ms, life, end);
      function onAbort(): void {
        if (isOver || life.dead) return;
        cancel();
        cancel = scheduler.later(kind, isStubborn ? random.below(LATEST_MS) : 0, life, end);
      }
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #give(key: string, outcome: string): void {
    const outcomes = this.#outcomes.get(key) ?? [];
    outcomes.push(outcome);
    this.#outcomes.set(key, outcomes);
  }

  /** Reported as well as thrown: what an activity throws is an outcome to the engine. */
  #violate(invariant: 'calls' | 'effects', message: string): never {
    const violation = new Violation(invariant, message);
    this.#options.report(violation);
    throw violation;
  }
}
