/**
 * Carries out stored activities and reports their outcomes to the engine.
 * Each is performed at least once; activities recognise their own repetition by key.
 */
import {
  type ActivityError,
  type AtWork,
  Conflict,
  type JsonValue,
  type Progress,
  RetryableFailure,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { AttemptBooking, EventStore, NewActivity, StoredActivity } from '../../event-store/event-store.ts';
import type { Activity, ActivityContext, ActivityLookup, RetryPolicy, SpendingWriter } from '../../core/activity.ts';
import { ActivityPulse } from './activity-pulse.ts';
import { withinActivity } from './activity-scope.ts';
import { ActivitySlots } from './activity-slots.ts';
import { findNonJson } from '../../core/plain-json.ts';
import { classify, isRetried } from './activity-failure.ts';
import type { Clock } from '../clock.ts';
import { Heartbeats } from './heartbeats.ts';

export type Outcome =
  | { readonly type: 'ACTIVITY_COMPLETED'; readonly key: string; readonly activity: string; readonly output: JsonValue }
  | {
      readonly type: 'ACTIVITY_FAILED';
      readonly key: string;
      readonly activity: string;
      readonly error: ActivityError;
    };

export interface RunnerOptions {
  readonly store: Pick<EventStore, 'updateAttempt' | 'heartbeat'>;
  readonly findActivity: ActivityLookup;
  readonly clock: Clock;
  /** From 0 to 1, as `Math.random`. */
  readonly random: () => number;
  readonly log: Logger;
  /** Takes an outcome; resolves when it is stored or known to be late. */
  readonly report: (runId: string, outcome: Outcome) => Promise<void>;
  readonly progress: (progress: Progress) => void;
  /** Takes secrets out of what is stored. */
  readonly scrub: <Value>(value: Value) => Value;
  /** Whether an actor stands for child runs. Of these, `childrenAtOnce` of a run are performed at the same time. */
  readonly isChild: (workflow: string, src: string) => boolean;
  readonly childrenAtOnce: number;
  /** Appends what an activity spends; see `ActivityContext.spend`. */
  readonly spend: (job: Pick<Job, 'runId' | 'activity' | 'key'>, write: SpendingWriter) => Promise<void>;
  /** Hears of each activity that has ended or was given up. */
  readonly onEnd: (job: Pick<Job, 'key' | 'owner'>) => void;
}

/** The run that activities belong to, as far as the runner needs it. */
export interface ActivityOwner {
  /** Name of the run's workflow. */
  readonly workflow: string;
  /** Activities of this run that may run at the same time. */
  readonly maxConcurrency: number;
  /** The run's family. */
  readonly treeId: string;
}

/** An activity with the attempts that are booked for it. */
interface Job extends NewActivity, AttemptBooking {
  readonly owner: ActivityOwner;
  readonly heartbeat: JsonValue;
  /** The attempt is booked and has not begun; otherwise the next one is booked first. */
  readonly fresh: boolean;
}

/** The activities of one run that are being carried out, by key, and the slots that those have that are performed. */
interface RunningOfRun {
  readonly byKey: Map<string, Running>;
  readonly slots: ActivitySlots;
  /** Of activities that wait for child runs: they are counted by themselves. */
  readonly childSlots: ActivitySlots;
}

/** One activity that is being carried out. */
class Running {
  readonly job: Job;
  done: Promise<void> = Promise.resolve();
  heldSlots: ActivitySlots | undefined;
  /** How long the activities of the next state wait for it after it was told to end. */
  graceMs = DEFAULT_GRACE_MS;
  /** Its outcome is on its way: there is nothing to cancel any more. */
  reporting = false;
  /** Progress of the attempt; `undefined` while none is performed, and for one that only waits. */
  pulse: ActivityPulse | undefined;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(job: Job) {
    this.job = job;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  /** Made when somebody asks for it: most activities of a moment never do. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#abort?.abort(reason);
    this.onAbort?.();
  }

  /** Called once when it is aborted. */
  onAbort: (() => void) | undefined;
}

type Attempt =
  | { readonly ok: true; readonly output: JsonValue }
  | {
      readonly ok: false;
      readonly error: unknown;
      /** It was told to end and has not: no other attempt may begin. Absent: it has ended. */
      readonly isStuck?: true;
    };

/** Wait before something that could not be stored (a full disk) is stored again. */
const STORE_RETRY_MS = 2_000;
/** Longest back-off, also where a provider names a longer one. */
const LONGEST_DELAY_MS = 366 * 24 * 60 * 60_000;
/** Time after which the runner no longer waits for an aborted activity and ignores its outcome. */
const GIVE_UP_MS = 30_000;
/** Time that an aborted activity has to end before activities of the next state begin, unless it asks for more. */
const DEFAULT_GRACE_MS = 1_000;
/** Time between two pulses of an activity. Shorter activities have none. */
const PULSE_MS = 2_000;
/** Most characters of command output that one attempt reports: a transcript is for people. */
const MOST_OUTPUT = 2 * 2 ** 20;

export class ActivityRunner {
  readonly #options: RunnerOptions;
  readonly #runs = new Map<string, RunningOfRun>();
  /** `find` or `perform` of activities, by key, that were given up and have not ended. */
  readonly #performing = new Map<string, Promise<unknown>>();
  #stopped = false;
  #beat: NodeJS.Timeout | undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Starts an activity that the step just stored has started, its first attempt booked with it. */
  begin(activity: NewActivity, owner: ActivityOwner): void {
    this.#dispatch({ ...activity, owner, attempt: 1, failures: 0, notBefore: null, heartbeat: null, fresh: true });
  }

  /** Resumes a stored activity that is not running. A running one is left alone. */
  resume(stored: StoredActivity, owner: ActivityOwner): void {
    this.#dispatch({ ...stored, owner, fresh: false });
  }

  /** Tells an activity to end. Its outcome, if it still gives one, is late and ignored. */
  cancel(runId: string, key: string): void {
    const running = this.#runs.get(runId)?.byKey.get(key);
    if (running === undefined || running.reporting) return;
    running.abort(new Error('cancelled'));
    releaseSlot(running);
  }

  /** Tells all activities of a run to end. */
  cancelAll(runId: string): void {
    for (const key of this.#runs.get(runId)?.byKey.keys() ?? []) this.cancel(runId, key);
  }

  /** Progress of the activities of a run, in the order in which they began. */
  atWork(runId: string): readonly AtWork[] {
    const now = this.#options.clock.now().getTime();
    return [...(this.#runs.get(runId)?.byKey.values() ?? [])]
      .flatMap(({ pulse }) => (pulse === undefined ? [] : [pulse.at(now)]))
      .toSorted((one, other) => other.elapsedMs - one.elapsedMs);
  }

  /** Ends all activities and waits for them. The next start recovers them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#beat);
    const running = [...this.#runs.values()].flatMap(({ byKey }) => [...byKey.values()]);
    for (const each of running) each.abort(new Error('the server stops'));
    await Promise.allSettled(running.map(({ done }) => done));
  }

  /** Begins an activity once the cancelled activities of its run have ended or had their grace. */
  #dispatch(job: Job): void {
    if (this.#stopped) return;
    let ofRun = this.#runs.get(job.runId);
    if (ofRun === undefined) this.#runs.set(job.runId, (ofRun = newRunningOfRun()));
    const { byKey } = ofRun;
    const before = byKey.get(job.key);
    if (before?.aborted === false) return;
    const predecessors: Promise<unknown>[] = [];
    for (const other of byKey.values())
      if (other.aborted) predecessors.push(other === before ? other.done : this.#endOrGrace(other));
    const running = new Running(job);
    byKey.set(job.key, running);
    const { runId, activity, key } = job;
    // Real time, also where the clock is another one: nothing but what people see depends on it.
    this.#beat ??= setInterval(() => this.#passOnPulses(), PULSE_MS).unref();
    running.done = withinActivity({ runId, activity, key }, () => this.#run(running, predecessors, ofRun));
  }

  /** An activity that ends before it is asked has no pulse, so that short ones cost nothing. */
  #passOnPulses(): void {
    const { clock, progress } = this.#options;
    const now = clock.now();
    for (const [runId, { byKey }] of this.#runs)
      for (const { pulse, aborted } of byKey.values()) {
        if (pulse === undefined || aborted) continue;
        const at = pulse.at(now.getTime());
        progress({ ...at, runId, kind: 'pulse', text: at.what, at: now.toISOString() });
      }
  }

  #isChild({ owner, src }: Job): boolean {
    return this.#options.isChild(owner.workflow, src);
  }

  #endOrGrace({ done, graceMs }: Running): Promise<unknown> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(graceMs, () => resolve(undefined));
      void done.finally(() => {
        cancel();
        resolve(undefined);
      });
    });
  }

  async #run(running: Running, predecessors: readonly Promise<unknown>[], ofRun: RunningOfRun): Promise<void> {
    const { job } = running;
    try {
      if (predecessors.length > 0) await Promise.all(predecessors);
      await this.#carryOut(running, ofRun);
    } catch (error) {
      this.#options.log.error({ err: error, key: job.key }, 'the activity runner failed');
      // Nothing else would look at this activity before the next start.
      await this.#fail(running, classify(error)).catch(() => undefined);
    }
    releaseSlot(running);
    const { byKey } = ofRun;
    if (byKey.get(job.key) === running) byKey.delete(job.key);
    if (byKey.size === 0 && this.#runs.get(job.runId) === ofRun) this.#runs.delete(job.runId);
    this.#options.onEnd(job);
  }

  /** Waits for a slot of its run, after the activities that wait already. @returns `undefined` when it has one at once */
  #takeSlot(running: Running, ofRun: RunningOfRun): Promise<void> | undefined {
    const { maxConcurrency } = running.job.owner;
    const isChild = this.#isChild(running.job);
    const slots = isChild ? ofRun.childSlots : ofRun.slots;
    const limit = isChild ? Math.min(maxConcurrency, this.#options.childrenAtOnce) : maxConcurrency;
    if (slots.take(limit)) {
      running.heldSlots = slots;
      return undefined;
    }
    return new Promise((resolve) => {
      const leave = slots.wait(limit, () => {
        running.heldSlots = slots;
        end();
      });
      running.onAbort = end;
      function end(): void {
        running.onAbort = undefined;
        leave();
        resolve();
      }
    });
  }

  /** Waits for the last `perform` of this key, which may go on for as long as it ignores its signal. */
  #endOfLastPerform(running: Running): Promise<unknown> | undefined {
    const last = this.#performing.get(running.job.key);
    if (last === undefined) return undefined;
    return new Promise((resolve) => {
      running.onAbort = () => resolve(undefined);
      void last.finally(() => {
        running.onAbort = undefined;
        resolve(undefined);
      });
    });
  }

  async #carryOut(running: Running, ofRun: RunningOfRun): Promise<void> {
    const { job } = running;
    const { workflow } = job.owner;
    // Found by the machine's own name; input and output types were checked where the registry was built.
    const activity = this.#options.findActivity(workflow, job.src) as Activity<JsonValue, JsonValue> | undefined;
    if (!activity) {
      const message = `Workflow '${workflow}' has no activity '${job.src}' on this server.`;
      await this.#fail(running, { kind: 'terminal', reason: 'definition_missing', message });
      return;
    }
    running.graceMs = activity.graceMs ?? DEFAULT_GRACE_MS;
    let { attempt, failures, notBefore, fresh } = job;
    const heartbeats = new Heartbeats(this.#options, job);
    while (!running.aborted) {
      await this.#waitUntil(notBefore, running, activity.retry);
      if (running.aborted) return;
      const last = this.#endOfLastPerform(running);
      if (last !== undefined) await last;
      if (running.aborted) return;
      const waiting = this.#takeSlot(running, ofRun);
      if (waiting !== undefined) await waiting;
      if (running.aborted) return;
      if (!fresh) {
        attempt += 1;
        notBefore = null;
        if (activity.onlyWaits !== true && !(await this.#book(running, { attempt, failures, notBefore }))) return;
        if (running.aborted) return;
      }
      fresh = false;
      const result = await this.#attempt(activity, running, attempt, heartbeats);
      // Nothing is performed while an outcome is stored or a back-off passes.
      releaseSlot(running);
      if (running.aborted) return;
      if (result.ok) {
        const { output } = result;
        const unfit = findNonJson(output);
        if (unfit) {
          const message = `Activity '${job.src}' gave an output that is not JSON: output${unfit.path} ${unfit.what}.`;
          this.#options.log.error({ key: job.key }, message);
          await this.#fail(running, { kind: 'bug', reason: 'agent_failed', message });
          return;
        }
        await this.#report(running, { type: 'ACTIVITY_COMPLETED', key: job.key, activity: job.activity, output });
        return;
      }
      failures += 1;
      const fault = classify(result.error);
      if (fault.kind === 'bug') this.#logBug(result.error, fault, { key: job.key, attempt });
      const { retry } = activity;
      if (result.isStuck) {
        const message = `${fault.message}; it does not end, so that no other attempt may begin`;
        await this.#fail(running, { ...fault, message });
        return;
      }
      if (!isRetried(fault) || failures >= retry.attempts || retry.final?.includes(fault.reason)) {
        await this.#fail(running, fault);
        return;
      }
      const asked = fault.retryAfterMs ?? backoffMs(retry, failures, this.#options.random());
      const delayMs = Number.isFinite(asked) ? Math.min(Math.max(0, asked), LONGEST_DELAY_MS) : retry.maxDelayMs;
      notBefore = new Date(this.#options.clock.now().getTime() + delayMs).toISOString();
      this.#progress(job, {
        kind: 'note',
        text: `Attempt ${failures} of ${retry.attempts} failed: ${fault.message}; next at ${notBefore}`,
      });
      if (!(await this.#book(running, { attempt, failures, notBefore }))) return;
    }
  }

  #logBug(error: unknown, { message }: ActivityError, where: { readonly key: string; readonly attempt: number }): void {
    const { log } = this.#options;
    const words = 'an activity failed unexpectedly';
    try {
      log.error({ err: error, ...where }, words);
    } catch {
      // Not everything that is thrown can be looked at.
      log.error({ err: message, ...where }, words);
    }
  }

  /** One attempt, within the limits of the policy. Never rejects. */
  async #attempt(
    activity: Activity<JsonValue, JsonValue>,
    running: Running,
    attempt: number,
    heartbeats: Heartbeats,
  ): Promise<Attempt> {
    const { clock, log } = this.#options;
    const { job } = running;
    // An attempt ends with its activity, unless it has limits of its own.
    const limits = AttemptLimits.of(running, activity.retry, clock);
    const ending = limits?.ending ?? running;
    const context: ActivityContext = {
      key: job.key,
      runId: job.runId,
      activity: job.activity,
      attempt,
      startedAt: job.startedAt,
      get signal() {
        return ending.signal;
      },
      lastHeartbeat: heartbeats.last,
      heartbeat: (details) => {
        limits?.alive();
        return details === undefined || ending.aborted ? Promise.resolve(false) : heartbeats.keep(attempt, details);
      },
      spend: (write) => this.#options.spend(job, write),
      progress: this.#progressOf(running),
    };
    if (activity.onlyWaits !== true && !this.#isChild(job))
      running.pulse = new ActivityPulse(job.activity, clock.now().getTime());
    try {
      return await new Promise<Attempt>((resolve) => {
        let cancelGrace: (() => void) | undefined;
        ending.onAbort = () => {
          cancelGrace = clock.after(GIVE_UP_MS, () => {
            log.error({ key: job.key, attempt }, 'an aborted activity does not end; what it still brings is ignored');
            this.#performing.set(job.key, performing);
            resolve({ ok: false, error: ending.signal.reason, isStuck: true });
          });
        };
        if (limits) running.onAbort = () => limits.ending.abort(new Error('cancelled'));
        const performing = findOrPerform(activity, job.input, context, ending).then((result) => {
          cancelGrace?.();
          if (this.#performing.get(job.key) === performing) this.#performing.delete(job.key);
          resolve(ending.aborted ? { ok: false, error: ending.signal.reason } : result);
        });
      });
    } finally {
      running.onAbort = undefined;
      running.pulse = undefined;
      limits?.end();
    }
  }

  /** Passes on the progress of one attempt. Output of commands beyond MOST_OUTPUT characters is dropped, and a note says so. */
  #progressOf(running: Running): ActivityContext['progress'] {
    const { job } = running;
    let output = 0;
    return (progress) => {
      running.pulse?.note(progress, this.#options.clock.now().getTime());
      if (progress.kind === 'pulse') return;
      if (progress.kind !== 'output') {
        this.#progress(job, progress);
        return;
      }
      if (output > MOST_OUTPUT) return;
      output += progress.text.length;
      this.#progress(job, progress);
      if (output > MOST_OUTPUT)
        this.#progress(job, { kind: 'note', text: 'So much was printed that what follows is not shown.' });
    };
  }

  #progress(job: Job, progress: Parameters<ActivityContext['progress']>[0]): void {
    const at = this.#options.clock.now().toISOString();
    this.#options.progress({ ...progress, runId: job.runId, activity: job.activity, at });
  }

  /** @returns whether it is booked; not when the activity is no longer open */
  async #book(running: Running, booking: AttemptBooking): Promise<boolean> {
    // A conflict says that the run moved on without this activity, or is quarantined.
    const isRefused = (error: unknown) => error instanceof Conflict;
    return this.#stored(running, () => this.#options.store.updateAttempt(running.job.key, booking), isRefused);
  }

  async #fail(running: Running, error: ActivityError): Promise<void> {
    const { key, activity } = running.job;
    await this.#report(running, { type: 'ACTIVITY_FAILED', key, activity, error });
  }

  async #report(running: Running, outcome: Outcome): Promise<void> {
    running.reporting = true;
    // The engine says nothing where it is late. A conflict is with another step, which may not be stored either.
    await this.#stored(
      running,
      () => this.#options.report(running.job.runId, outcome),
      () => false,
    );
  }

  /** Nothing is dropped because it cannot be stored now: a disk that is full may have room later. */
  async #stored(
    running: Running,
    write: () => Promise<void>,
    isRefused: (error: unknown) => boolean,
  ): Promise<boolean> {
    while (!running.aborted) {
      try {
        await write();
        return true;
      } catch (error) {
        if (this.#stopped || isRefused(error)) return false;
        const { key } = running.job;
        this.#options.log.error({ err: error, key }, 'an activity cannot be stored; it is tried again');
        running.reporting = false;
        await this.#sleep(STORE_RETRY_MS, running);
      }
    }
    return false;
  }

  async #waitUntil(notBefore: string | null, running: Running, { maxDelayMs }: RetryPolicy): Promise<void> {
    if (notBefore === null) return;
    const now = this.#options.clock.now().getTime();
    const startedAt = Date.parse(running.job.startedAt);
    const until = Date.parse(notBefore);
    // A clock that was set back since would make of seconds what it was set back by. Where it shows less than the start it
    // was, and the policy's longest delay is enough; otherwise no wait was longer than what lies between start and end of it.
    const longestMs = now < startedAt ? maxDelayMs : Math.max(maxDelayMs, until - startedAt);
    const ms = Math.min(until - now, longestMs);
    if (ms > 0) await this.#sleep(ms, running);
  }

  #sleep(ms: number, running: Running): Promise<void> {
    if (running.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, end);
      running.onAbort = end;
      function end(): void {
        cancel();
        running.onAbort = undefined;
        resolve();
      }
    });
  }
}

/** The clocks of one attempt: how long it may take in all, and how long it may be silent. */
class AttemptLimits {
  readonly ending: Running;
  readonly #policy: RetryPolicy;
  readonly #clock: Clock;
  readonly #cancelTotal: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;

  /** @returns `undefined` when the policy sets none */
  static of(running: Running, policy: RetryPolicy, clock: Clock): AttemptLimits | undefined {
    if (policy.timeoutMs === undefined && policy.heartbeatMs === undefined) return undefined;
    return new AttemptLimits(running, policy, clock);
  }

  private constructor(running: Running, policy: RetryPolicy, clock: Clock) {
    this.ending = new Running(running.job);
    this.#policy = policy;
    this.#clock = clock;
    const { timeoutMs } = policy;
    if (timeoutMs !== undefined)
      this.#cancelTotal = clock.after(timeoutMs, () => this.#exceeded(`The attempt took longer than ${timeoutMs} ms`));
    this.alive();
  }

  alive(): void {
    const { heartbeatMs } = this.#policy;
    if (heartbeatMs === undefined || this.ending.aborted) return;
    this.#cancelSilence?.();
    this.#cancelSilence = this.#clock.after(heartbeatMs, () =>
      this.#exceeded(`The activity gave no sign of life for ${heartbeatMs} ms`),
    );
  }

  end(): void {
    this.#cancelTotal?.();
    this.#cancelSilence?.();
  }

  #exceeded(message: string): void {
    this.ending.abort(new RetryableFailure(message, { reason: 'timeout' }));
  }
}

function newRunningOfRun(): RunningOfRun {
  return { byKey: new Map(), slots: new ActivitySlots(), childSlots: new ActivitySlots() };
}

function releaseSlot(running: Running): void {
  const { heldSlots } = running;
  running.heldSlots = undefined;
  heldSlots?.release();
}

async function findOrPerform(
  activity: Activity<JsonValue, JsonValue>,
  input: JsonValue,
  context: ActivityContext,
  ending: Running,
): Promise<Attempt> {
  try {
    if (activity.find) {
      const found = await activity.find(input, context);
      if (found !== undefined) return { ok: true, output: found };
      if (ending.aborted) return { ok: false, error: ending.signal.reason };
    }
    return { ok: true, output: (await activity.perform(input, context)) ?? null };
  } catch (error) {
    return { ok: false, error };
  }
}

/** Exponential back-off, a share of which is random. */
function backoffMs(
  { firstDelayMs, maxDelayMs, factor = 2, jitter = 0.5 }: RetryPolicy,
  failures: number,
  random: number,
): number {
  const delayMs = Math.min(maxDelayMs, firstDelayMs * factor ** (failures - 1));
  return delayMs * (1 - jitter + jitter * random);
}
