/** Workflows that start child runs, and an engine over a real SQLite file whose activities a test answers by hand. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonValue, RunStart, RunView } from '@autonomous/shared';
import { pino } from 'pino';
import { assign, setup } from 'xstate';
import { z } from 'zod';
import { type ActivityContext, type ActivityRegistry, lookupIn, ONE_TRY } from '../../src/core/activity.ts';
import type { ChildRequest, ChildResult } from '../../src/core/child-runs.ts';
import { childRun } from '../../src/core/child-runs.ts';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';
import { createRegistry } from '../../src/core/registry.ts';
import { ManualClock } from '../../src/engine/engine.fixture.ts';
import { Engine, type EngineOptions } from '../../src/engine/engine.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/event-store/sqlite/sqlite-event-store.ts';
import { BUILT_IN_RUN_CONFIG } from '../../src/run-config/run-config.ts';

interface LeafContext {
  readonly request: string;
  readonly output: string;
}

/** One activity `work`, whose output is that of the machine. Fails where the activity fails. */
export const leaf = defineWorkflow({
  name: 'leaf',
  version: 1,
  description: 'a child',
  machine: setup({
    types: {
      context: {} as LeafContext,
      input: {} as { readonly request: string },
      events: {} as { type: 'RUN_CANCELLED' },
      output: {} as { readonly said: string },
      meta: {} as StateMeta<LeafContext>,
    },
    actors: { work: activity<{ request: string }, string>() },
  }).createMachine({
    id: 'leaf',
    initial: 'working',
    context: ({ input }) => ({ request: input.request, output: '' }),
    output: ({ context }) => ({ said: context.output }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      working: {
        meta: { status: 'running' },
        invoke: {
          id: 'worker',
          src: 'work',
          input: ({ context }) => ({ request: context.request }),
          onDone: { target: 'completed', actions: assign({ output: ({ event }) => event.output }) },
          onError: 'failed',
        },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed', message: () => 'the work failed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
  signals: { RUN_CANCELLED: z.looseObject({}) },
});

interface ParentContext {
  readonly results: readonly string[];
  readonly error: string;
}
const completed = (result: ChildResult): string => `${result.runId}: ${JSON.stringify(result.output)}`;

/**
 * Two child runs beside each other, then an activity `note`. SKIP leaves the children, RETRY_REQUESTED begins anew after a child
 * that failed.
 * @param asked what else each child is asked for
 */
export function parentOf(
  name: string,
  child: string,
  children: readonly string[] = ['a', 'b'],
  version = 1,
  asked: Pick<ChildRequest, 'allowedFiles'> = {},
) {
  return defineWorkflow({
    name,
    version,
    description: 'a parent',
    machine: setup({
      types: {
        context: {} as ParentContext,
        events: {} as { type: 'RUN_CANCELLED' } | { type: 'SKIP' } | { type: 'RETRY_REQUESTED' },
        meta: {} as StateMeta<ParentContext>,
      },
      actors: { phase: childRun<ChildRequest>(child), note: activity<{ results: readonly string[] }, string>() },
      actions: {
        keepResult: assign(({ context, event }) => ({
          results: [...context.results, completed((event as unknown as { output: ChildResult }).output)],
        })),
        keepError: assign(({ event }) => ({
          error: String((event as unknown as { error: { message?: unknown } }).error.message),
        })),
      },
    }).createMachine({
      id: name,
      initial: 'phases',
      context: { results: [], error: '' },
      on: { RUN_CANCELLED: '.cancelled' },
      states: {
        phases: {
          type: 'parallel',
          onDone: 'noting',
          on: { SKIP: 'noting' },
          states: Object.fromEntries(
            children.map((id) => [
              id,
              {
                initial: 'waiting',
                states: {
                  waiting: {
                    meta: { status: 'running' as const, stage: 'phases' },
                    invoke: {
                      id: `phase-${id}`,
                      src: 'phase' as const,
                      input: { request: `Do ${id}`, title: `Phase ${id}`, ...asked },
                      onDone: {
                        target: 'done',
                        actions: 'keepResult' as const,
                      },
                      onError: {
                        target: `#${name}.paused`,
                        actions: 'keepError' as const,
                      },
                    },
                  },
                  done: { type: 'final' as const },
                },
              },
            ]),
          ) as never,
        },
        noting: {
          meta: { status: 'running', stage: 'note' },
          invoke: {
            id: 'noter',
            src: 'note',
            input: ({ context }) => ({ results: context.results }),
            onDone: 'completed',
            onError: 'failed',
          },
        },
        paused: {
          meta: {
            status: 'paused',
            stage: 'phases',
            gate: {
              kind: 'pause',
              decisions: ['retry'],
              summary: (context) => context.error,
              facts: (context) => ({ reason: 'agent_failed', message: context.error, details: {} }),
            },
          },
          on: { RETRY_REQUESTED: 'phases' },
        },
        completed: { type: 'final', meta: { status: 'completed' } },
        failed: { type: 'final', meta: { status: 'failed', message: () => 'the note failed' } },
        cancelled: { type: 'final', meta: { status: 'cancelled' } },
      },
    }) as never,
    signals: { RUN_CANCELLED: z.looseObject({}), SKIP: z.looseObject({}), RETRY_REQUESTED: z.looseObject({}) },
  });
}

/** A call of an activity that waits for the test to end it. */
export interface Call {
  readonly src: string;
  readonly input: JsonValue;
  readonly context: ActivityContext;
  readonly complete: (output: JsonValue) => void;
  readonly fail: (error: Error) => void;
}

export class Family {
  readonly clock = new ManualClock();
  readonly errors: string[] = [];
  readonly calls: Call[] = [];
  store: SqliteEventStore;
  engine: Engine;
  readonly #folder: string;
  readonly #options: Partial<EngineOptions>;
  readonly #waiters: (() => void)[] = [];

  static async open(options: Partial<EngineOptions> = {}): Promise<Family> {
    const family = new Family(await mkdtemp(path.join(tmpdir(), 'family-')), options);
    await family.engine.start();
    return family;
  }

  private constructor(folder: string, options: Partial<EngineOptions>) {
    this.#folder = folder;
    this.#options = options;
    this.store = this.#openStore();
    this.engine = this.#newEngine();
  }

  async stop(): Promise<void> {
    await this.engine.stop();
    await this.store.close();
    this.calls.length = 0;
  }

  /** @param options other options of the new engine */
  async start(options: Partial<EngineOptions> = {}): Promise<void> {
    this.store = this.#openStore();
    this.engine = this.#newEngine(options);
    await this.engine.start();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  launch(id: string, workflow = 'parent', start: Partial<RunStart> = {}): Promise<RunView> {
    return this.engine.launch(id, {
      projectId: '',
      userId: 'u',
      workflow: { name: workflow, version: 1, fingerprint: '' },
      request: 'Do all of it',
      config: BUILT_IN_RUN_CONFIG,
      requestedConfig: {},
      branch: '',
      ...start,
    });
  }

  /** The next call of an activity that no test has taken yet. @param request of the run, where there are several */
  async call(src: string, request?: string): Promise<Call> {
    for (;;) {
      const index = this.calls.findIndex(
        (call) =>
          call.src === src &&
          !call.context.signal.aborted &&
          (request === undefined || (call.input as { request?: string }).request === request),
      );
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

  status(runId: string, status: RunView['status']): Promise<RunView> {
    return this.until(runId, (view) => view.status === status);
  }

  /** The children of a run by their requests, once there are so many. */
  async childrenOf(runId: string, count = 2): Promise<readonly RunView[]> {
    const children = async () => (await this.store.listRuns({ parentId: runId })).items;
    if ((await children()).length < count) {
      await new Promise<void>((resolve) => {
        const end = this.engine.subscribe(() => {
          void children().then(({ length }) => {
            if (length < count) return;
            end();
            resolve();
          });
        });
      });
    }
    return (await children()).toSorted((a, b) => (a.originalRequest < b.originalRequest ? -1 : 1));
  }

  #openStore(): SqliteEventStore {
    return openSqliteEventStore({ file: path.join(this.#folder, 'test.db'), writer: 'inline' });
  }

  #newEngine(options: Partial<EngineOptions> = {}): Engine {
    const answered = (src: string) => ({
      retry: ONE_TRY,
      perform: (input: JsonValue, context: ActivityContext) =>
        new Promise<JsonValue>((complete, fail) => {
          this.calls.push({ src, input, context, complete, fail });
          context.signal.addEventListener('abort', () => fail(new Error('aborted')));
          for (const wake of this.#waiters.splice(0)) wake();
        }),
    });
    const activities = { work: answered('work'), note: answered('note') } as unknown as ActivityRegistry;
    return new Engine({
      store: this.store,
      workflows: createRegistry([leaf, parentOf('parent', 'leaf')]),
      findActivity: lookupIn(activities),
      clock: this.clock,
      log: pino({ level: 'error' }, { write: (line: string) => void this.errors.push(line) }),
      maxConcurrentRunsPerUser: 5,
      random: () => 0.5,
      scrub: (value) => value,
      ...this.#options,
      ...options,
    });
  }
}
