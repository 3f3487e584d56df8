/** An engine over a real SQLite file, with a small workflow whose activities a test answers by hand. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonValue, RunStart, RunView } from '@autonomous/shared';
import { pino } from 'pino';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { type ActivityContext, type ActivityRegistry, lookupIn, type RetryPolicy } from '../core/activity.ts';
import { activity, defineWorkflow, type StateMeta } from '../core/definition.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { createRegistry } from '../core/registry.ts';
import type { Clock } from './clock.ts';
import { Engine } from './engine.ts';
import type { PauseOf } from './rebuilt/rebuilt-pause.ts';
import type { BeforeWait } from './run-steps.ts';

type Context = { readonly plan: string; readonly rounds: number };

/** draft → gate (approve, reject) → work (a minute at most) → done. */
export const small = defineWorkflow({
  name: 'small',
  version: 1,
  description: 'for tests',
  machine: setup({
    types: {
      context: {} as Context,
      events: {} as
        | { type: 'APPROVAL_GRANTED' }
        | { type: 'APPROVAL_REJECTED' }
        | { type: 'RETRY_REQUESTED' }
        | { type: 'RUN_CANCELLED' }
        | { type: 'MESSAGE_SENT' },
      meta: {} as StateMeta<Context>,
    },
    actors: { draft: activity<{ round: number }, string>(), work: activity<{ plan: string }, string>() },
  }).createMachine({
    id: 'small',
    initial: 'drafting',
    context: { plan: '', rounds: 0 },
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      drafting: {
        meta: { status: 'running', stage: 'planning' },
        on: { MESSAGE_SENT: { actions: assign({ rounds: ({ context }) => context.rounds }) } },
        invoke: {
          id: 'drafter',
          src: 'draft',
          input: ({ context }) => ({ round: context.rounds }),
          onDone: { target: 'gate', actions: assign({ plan: ({ event }) => event.output }) },
          onError: 'paused',
        },
      },
      gate: {
        meta: {
          status: 'awaiting_approval',
          stage: 'planning',
          gate: { kind: 'plan', decisions: ['approve', 'reject'], summary: (context) => `Approve ${context.plan}` },
        },
        on: {
          APPROVAL_GRANTED: 'working',
          APPROVAL_REJECTED: { target: 'drafting', actions: assign({ rounds: ({ context }) => context.rounds + 1 }) },
          MESSAGE_SENT: {},
        },
      },
      working: {
        meta: { status: 'running', stage: 'implementation' },
        invoke: {
          id: 'worker',
          src: 'work',
          input: ({ context }) => ({ plan: context.plan }),
          onDone: 'completed',
          onError: 'paused',
        },
        after: { 60_000: 'paused' },
      },
      paused: {
        meta: {
          status: 'paused',
          stage: 'implementation',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: () => 'It failed',
            facts: () => ({ reason: 'agent_failed', message: 'It failed', details: {} }),
          },
        },
        on: { RETRY_REQUESTED: 'working' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
  signals: {
    APPROVAL_GRANTED: z.strictObject({
      by: z.string(),
      gateId: z.string().optional(),
      artifactHash: z.string().optional(),
    }),
    APPROVAL_REJECTED: z.strictObject({ by: z.string(), gateId: z.string().optional(), feedback: z.string() }),
    RETRY_REQUESTED: z.strictObject({ by: z.string(), gateId: z.string().optional() }),
    RUN_CANCELLED: z.strictObject({ by: z.string(), reason: z.string().optional() }),
    MESSAGE_SENT: z.strictObject({ by: z.string(), text: z.string() }),
  },
});

/** A clock that only a test moves. */
export class ManualClock implements Clock {
  #now = Date.parse('2026-03-01T10:00:00Z');
  /** What passed, whatever the clock was set to. */
  #elapsed = 0;
  readonly #alarms = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): Date {
    return new Date(this.#now);
  }

  after(ms: number, callback: () => void): () => void {
    const alarm = { at: this.#elapsed + Math.max(0, ms), callback };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Sets the clock to another time, as an administrator or a time server does: nothing passes. */
  jump(ms: number): void {
    this.#now += ms;
  }

  advance(ms: number): void {
    this.#now += ms;
    this.#elapsed += ms;
    const due = [...this.#alarms].filter((alarm) => alarm.at <= this.#elapsed);
    for (const alarm of due) {
      this.#alarms.delete(alarm);
      alarm.callback();
    }
  }
}

/** A call of an activity that waits for the test to end it. */
export interface PendingCall {
  readonly src: string;
  readonly input: JsonValue;
  readonly context: ActivityContext;
  readonly complete: (output: JsonValue) => void;
  readonly fail: (error: Error) => void;
}

export interface EngineUnderTestOptions {
  readonly places?: number;
  /** What both activities have instead of three attempts, a second apart. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  readonly beforeWait?: BeforeWait;
  readonly pauseOfRecord?: PauseOf;
}

export class EngineUnderTest {
  readonly folder: string;
  readonly clock = new ManualClock();
  readonly calls: PendingCall[] = [];
  readonly errors: string[] = [];
  /** False for activities that do not listen to their signal. */
  endsWhenAborted = true;
  store: SqliteEventStore;
  engine: Engine;
  readonly #waiters: (() => void)[] = [];
  readonly #options: EngineUnderTestOptions;

  static async open(options: EngineUnderTestOptions = {}): Promise<EngineUnderTest> {
    return new EngineUnderTest(await mkdtemp(path.join(tmpdir(), 'engine-')), options);
  }

  constructor(folder: string, options: EngineUnderTestOptions) {
    this.folder = folder;
    this.#options = options;
    this.store = this.#openStore();
    this.engine = this.#newEngine();
  }

  /** Ends the engine as a crash would, as far as one process can: nothing is told, everything comes back from the file. */
  async restart(): Promise<void> {
    await this.engine.stop();
    await this.store.close();
    this.calls.length = 0;
    this.store = this.#openStore();
    this.engine = this.#newEngine();
    await this.engine.start();
  }

  async close(): Promise<void> {
    await this.engine.stop();
    await this.store.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  launch(id: string, userId = 'u', more: Partial<RunStart> = {}): Promise<RunView> {
    const start: RunStart = {
      projectId: 'p',
      userId,
      workflow: { name: 'small', version: 1, fingerprint: small.fingerprint },
      request: 'Do it',
      config: BUILT_IN_RUN_CONFIG,
      requestedConfig: {},
      branch: `autonomous/${id}`,
      ...more,
    };
    return this.engine.launch(id, start);
  }

  /** The next call of an activity that no test has taken yet. */
  async call(src: string): Promise<PendingCall> {
    for (;;) {
      const index = this.calls.findIndex((call) => call.src === src && !call.context.signal.aborted);
      const [call] = index < 0 ? [] : this.calls.splice(index, 1);
      if (call) return call;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Resolves when the run's view fulfils the condition. */
  until(runId: string, condition: (view: RunView) => boolean): Promise<RunView> {
    return new Promise((resolve, reject) => {
      const end = this.engine.subscribe((message) => {
        if (!('events' in message) || message.view.id !== runId || !condition(message.view)) return;
        end();
        resolve(message.view);
      });
      this.engine.view(runId).then((view) => {
        if (!condition(view)) return;
        end();
        resolve(view);
      }, reject);
    });
  }

  async toGate(id: string): Promise<RunView> {
    (await this.call('draft')).complete('the plan');
    return this.until(id, (view) => view.gate?.kind === 'plan');
  }

  approve(id: string, gateId?: string): Promise<RunView> {
    const shown = gateId === undefined ? undefined : { gateId };
    return this.engine.signal(id, 'APPROVAL_GRANTED', { by: 'me', ...shown }, shown);
  }

  async types(id: string): Promise<string[]> {
    return (await this.store.readRun(id, 0)).map((event) => event.type);
  }

  #openStore(): SqliteEventStore {
    return openSqliteEventStore({ file: path.join(this.folder, 'test.db'), writer: 'inline' });
  }

  #newEngine(): Engine {
    const activities: ActivityRegistry = Object.fromEntries(
      ['draft', 'work'].map((src) => [
        src,
        {
          retry: { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 1_000, ...this.#options.retry },
          perform: (input: JsonValue, context: ActivityContext) =>
            new Promise<JsonValue>((complete, fail) => {
              this.calls.push({ src, input, context, complete, fail });
              if (this.endsWhenAborted) context.signal.addEventListener('abort', () => fail(new Error('aborted')));
              for (const wake of this.#waiters.splice(0)) wake();
            }),
        },
      ]),
    ) as ActivityRegistry;
    const log = pino({ level: 'error' }, { write: (line: string) => void this.errors.push(line) });
    return new Engine({
      store: this.store,
      workflows: createRegistry([small]),
      findActivity: lookupIn(activities),
      clock: this.clock,
      log,
      maxConcurrentRunsPerUser: this.#options.places ?? 5,
      random: () => 0.5,
      scrub: (value) => value,
      ...(this.#options.beforeWait ? { beforeWait: this.#options.beforeWait } : {}),
      ...(this.#options.pauseOfRecord ? { pauseOfRecord: this.#options.pauseOfRecord } : {}),
    });
  }
}
