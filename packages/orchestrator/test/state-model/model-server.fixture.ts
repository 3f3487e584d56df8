/**
 * A real HTTP server in front of the real engine and store, with workflows and activities of the test's own and a clock
 * that only the test moves. It can die and come back: what the old one still does then reaches nothing.
 */
import type { JsonObject, JsonValue, RunView, WorkflowEvent } from '@autonomous/shared';
import { ApiError, type Client, createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { openStore } from '../../simulation/store.ts';
import { ManualClock } from '../../src/engine/engine.fixture.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Transcripts } from '../../src/engine/transcripts.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import type { Models } from '../../src/models/model.ts';
import type { Repository } from '../../src/repository/repository.ts';
import { SharedFetches } from '../../src/repository/shared-fetches.ts';
import type { SandboxProvider } from '../../src/sandboxes/sandbox.ts';
import { type RunningServer, startServer } from '../../src/server/http-server.ts';
import { createOrchestrator, type ServiceOptions } from '../../src/server/orchestrator-service.ts';
import type { Uploads } from '../../src/server/decisions/uploads.ts';
import { type Activity, type ActivityContext, lookupIn } from '../../src/core/activity.ts';
import type { WorkflowDefinition } from '../../src/core/definition.ts';
import { createRegistry } from '../../src/core/registry.ts';
import type { RunLimits } from '../../src/run-config/run-config.ts';
import { createRunConfigPolicy } from '../../src/run-config/run-config-policy.ts';
import { build } from '../../src/workflows/build/index.ts';
import { settingsOf } from '../../src/workflows/workflow-settings.ts';

const TOKEN = 'test-token-of-at-least-forty-three-characters-';
export const PROJECT = 'p-1';

const NO_LIMITS: RunLimits = { autoStages: null, autoMerge: true, models: null };

/** Carries out every activity; what it gives is the outcome, what it throws is the failure. */
export type Perform = (src: string, input: JsonObject, context: ActivityContext) => Promise<JsonValue>;

export interface ModelServerOptions {
  readonly workflows: readonly WorkflowDefinition[];
  /** Names of the activities that the workflows invoke. */
  readonly activities: readonly string[];
  readonly perform: Perform;
  /** Wraps what the client sends requests with. */
  readonly wrapFetch?: (send: typeof fetch) => typeof fetch;
}

interface Life {
  isDead: boolean;
  readonly engine: Engine;
  readonly server: RunningServer;
  readonly client: Client;
}

export class ModelServer {
  readonly clock = new ManualClock();
  readonly #options: ModelServerOptions;
  readonly #disk = openStore();
  #life: Life | null = null;

  constructor(options: ModelServerOptions) {
    this.#options = options;
  }

  static async start(options: ModelServerOptions): Promise<ModelServer> {
    const server = new ModelServer(options);
    const createdAt = server.clock.now().toISOString();
    await server.#disk.saveProject({
      id: PROJECT,
      name: 'notes',
      repository: '/srv/notes.git',
      baseBranch: 'main',
      createdAt,
    });
    await server.#begin();
    return server;
  }

  get client(): Client {
    return this.#now.client;
  }

  /** The process dies without a word, and another takes its place. */
  async crash(): Promise<void> {
    const life = this.#now;
    life.isDead = true;
    await life.server.close();
    await this.#begin();
  }

  async restart(): Promise<void> {
    const life = this.#now;
    await life.server.close();
    await life.engine.stop();
    life.isDead = true;
    await this.#begin();
  }

  /** Time goes by; what became due has fired afterwards. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.#now.engine.checkTimers();
  }

  /** Resolves when the run's view fulfils the condition. */
  until(runId: string, condition: (view: RunView) => boolean): Promise<RunView> {
    const { engine } = this.#now;
    return new Promise((resolve, reject) => {
      const end = engine.subscribe((message) => {
        if (!('events' in message) || message.view.id !== runId || !condition(message.view)) return;
        end();
        resolve(message.view);
      });
      engine.view(runId).then((view) => {
        if (!condition(view)) return;
        end();
        resolve(view);
      }, reject);
    });
  }

  events(runId: string): Promise<readonly WorkflowEvent[]> {
    return this.client.listEvents(runId, 0, 1_000);
  }

  async close(): Promise<void> {
    const life = this.#now;
    await life.server.close();
    await life.engine.stop();
    life.isDead = true;
    await this.#disk.close();
  }

  get #now(): Life {
    if (this.#life === null) throw new Error('the server has not started');
    return this.#life;
  }

  async #begin(): Promise<void> {
    const fate = { isDead: false };
    const store = fenced(this.#disk, fate);
    const { perform, wrapFetch } = this.#options;
    const workflows = createRegistry(this.#options.workflows);
    const log = pino({ level: 'silent' });
    const activities = Object.fromEntries(
      this.#options.activities.map((src): [string, Activity] => [
        src,
        {
          retry: { attempts: 1, firstDelayMs: 0, maxDelayMs: 0 },
          perform: (input, context) => untilDeath(untilAborted(perform(src, input, context), context.signal), fate),
        },
      ]),
    );
    const engine = new Engine({
      store,
      workflows,
      findActivity: lookupIn(activities),
      clock: this.clock,
      random: () => 0.5,
      log,
      maxConcurrentRunsPerUser: 100,
      scrub: (value) => value,
    });
    const orchestrator = createOrchestrator({
      engine,
      store,
      workflows,
      projectionOf: () => undefined,
      compile: async () => ({ kind: 'absent', missing: ['latexmk'] }),
      describeWorkflow: (name) => ({
        name,
        title: name,
        isChildOnly: false,
        roles: [],
        stages: [],
        trustModes: [],
        gates: {},
        documents: {},
      }),
      forge: null,
      now: () => this.clock.now(),
      whyNotStorable: async () => null,
      whyNoRoom: async () => null,
      whyNoGit: async () => null,
      damage: () => null,
      roadmaps: { path: 'roadmap.json', workflow: 'none', read: async () => ({ kind: 'absent' }) },
      branches: { clean: async () => ({ removed: [], kept: [] }) },
      conflicts: () => [],
      record: { notices: () => [], noticesOf: () => [], placeOf: async () => 'remote' },
      scrub: (text) => text,
      // A launch asks for nothing else of it.
      setup: { defaultModels: () => ({}) } as unknown as ServiceOptions['setup'],
      runConfig: {
        ...createRunConfigPolicy({
          settings: [settingsOf(build, () => 'scripted:any')],
          defaults: {},
          limits: NO_LIMITS,
          checkModel: (id) => ({ ok: true, id }),
        }),
        check: () => [],
      },
      fetches: new SharedFetches({ fetch: async () => undefined, remoteHead: async () => 'base' }),
      // Of the outside a launch asks only for these.
      repository: {
        remoteHead: async (project: { readonly baseBranch: string }, branch: string) =>
          branch === project.baseBranch ? 'base' : null,
        readFile: async () => null,
      } as unknown as Repository,
      models: { check: () => ({ ok: true }) } as unknown as Models,
      prices: { priceOf: () => 0 },
      sandboxes: {} as unknown as SandboxProvider,
      uploads: {} as unknown as Uploads,
      transcripts: {} as unknown as Transcripts,
    });
    const server = await startServer({
      orchestrator,
      store,
      feed: {
        feedId: store.feedId,
        lastPosition: () => store.lastPosition(),
        archivedPosition: () => store.archivedPosition(),
        readAll: (after, limit) => store.readAll(after, limit),
        subscribe: (listener) => engine.subscribe(listener),
      },
      token: TOKEN,
      host: '127.0.0.1',
      port: 0,
      allowedOrigins: [],
      log,
    });
    await engine.start();
    const client = createClient({ baseUrl: server.url, token: TOKEN, fetch: wrapFetch?.(fetch) ?? fetch });
    this.#life = Object.assign(fate, { engine, server, client });
  }
}

/** What a request came to: its answer, or the status and code with which it was refused. */
export type Answer<Result> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly status: number; readonly code: string };

export async function answerOf<Result>(request: Promise<Result>): Promise<Answer<Result>> {
  try {
    return { ok: true, value: await request };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { ok: false, status: error.status, code: error.code };
  }
}

/** A store that does nothing more for a process that is dead. */
function fenced(store: EventStore, fate: { readonly isDead: boolean }): EventStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) =>
        fate.isDead
          ? new Promise(() => undefined)
          : untilDeath(Reflect.apply(member, target, args) as Promise<unknown>, fate);
    },
  });
}

function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}

function untilDeath<Result>(work: Promise<Result>, fate: { readonly isDead: boolean }): Promise<Result> {
  return new Promise((resolve, reject) => {
    work.then(
      (result) => {
        if (!fate.isDead) resolve(result);
      },
      (error: unknown) => {
        if (!fate.isDead) reject(error);
      },
    );
  });
}
