/**
 * The places at which a server can be ended: around every write to the store, every part of an activity, every effect in
 * git, every request to a model and every page of the web, and at each read while it takes up what an earlier process left.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { JsonObject } from '@autonomous/shared';
import type { ActivityTools } from '../src/activities/tools.ts';
import { extractConstraints } from '@autonomous/shared/diagram';
import type { ComposeOptions } from '../src/compose.ts';
import type { AttemptBooking, EventStore, RunCommit } from '../src/event-store/event-store.ts';
import type { ActivityContext, ActivityRegistry } from '../src/core/activity.ts';
import type { Ledger } from './ledger.ts';

export interface BoundariesOptions {
  readonly ledger: Ledger;
  /** The boundary at which the process ends itself; `null` for none. */
  readonly killAt: string | null;
  /** How runs are called in the names of boundaries, by their request: empty where there is only one. */
  readonly labels: Readonly<Record<string, string>>;
  /** Awaited before each effect in git, such as `merge.push`: what others do at that moment. */
  readonly beforeEffect: (effect: string) => Promise<void>;
}

/** Methods of the store that write; whatever else it has is read. */
const WRITES: ReadonlySet<string> = new Set([
  'append',
  'updateAttempt',
  'heartbeat',
  'saveProject',
  'remember',
  'beginSession',
  'renewSession',
  'endSessions',
  'setMark',
]);
/** What of git changes something that a later process finds. */
const EFFECTS: ReadonlySet<string> = new Set(['fetch', 'checkout', 'importFolder', 'commit', 'push', 'record']);

/** The activity in which a call is made. */
interface Within {
  readonly name: string;
  readonly key: string;
}

export class Boundaries {
  readonly #options: BoundariesOptions;
  readonly #within = new AsyncLocalStorage<Within>();
  readonly #counts = new Map<string, number>();
  readonly #labels = new Map<string, string>();
  #store: EventStore | null = null;
  #starting = true;

  constructor(options: BoundariesOptions) {
    this.#options = options;
  }

  /** For `startOrchestrator`. */
  get compose(): Required<Pick<ComposeOptions, 'wrap' | 'instrument'>> {
    return {
      wrap: { store: (store) => this.#wrapStore(store), activities: (activities) => this.#wrapActivities(activities) },
      instrument: (tools) => this.#wrapTools(tools),
    };
  }

  /** From now on reads are everyday ones. */
  isUp(): void {
    this.#starting = false;
    this.#options.ledger.write({ up: true });
  }

  /** Puts a boundary around every request to models behind this address. To be called before anything asks. */
  watchModels(baseUrl: string): void {
    const ask = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      const within = this.#within.getStore();
      if (!url.startsWith(baseUrl) || within === undefined) return ask(input, init);
      return this.#around(`${within.name}.model`, async () => {
        const open = await this.#opened.openActivities(runOf(within.key));
        const attempt = open.find(({ key }) => key === within.key)?.attempt ?? 0;
        this.#options.ledger.write({ asks: { key: within.key, attempt } });
        return ask(input, init);
      });
    };
  }

  /** Puts a boundary around every request that changes something at the forge behind this address. To be called before anything asks. */
  watchForge(apiUrl: string): void {
    const ask = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      const effect = url.startsWith(new URL(apiUrl).origin) ? effectAtForge(url, init) : null;
      if (effect === null) return ask(input, init);
      // Each change of a run renews its comment on an issue: an activity during which that happens has nothing to do with it.
      const isOfIssue = String(init?.body).includes('autonomous-run-');
      const who = (isOfIssue ? undefined : this.#within.getStore()?.name) ?? 'issues';
      return this.#around(`${who}.forge.${effect}`, () => ask(input, init));
    };
  }

  /** Writes down what the store has open, which is nothing once every run has ended. */
  async leave(): Promise<void> {
    const [activities, timers] = await Promise.all([this.#opened.openActivities(), this.#opened.openTimers()]);
    this.#options.ledger.write({
      left: { activities: activities.map(({ key }) => key), timers: timers.map(({ key }) => key) },
    });
  }

  /** The boundary is passed, or is the last thing that this process comes to. */
  pass(name: string): void {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const boundary = count === 1 ? name : `${name}#${count}`;
    this.#options.ledger.write({ passed: boundary });
    if (boundary !== this.#options.killAt) return;
    this.#options.ledger.write({ killed: boundary });
    process.kill(process.pid, 'SIGKILL');
  }

  /** `before` is passed in the same turn as the call, since the engine counts on the order of its appends. */
  async #around<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.pass(`${name}.before`);
    const result = await work();
    this.pass(`${name}.after`);
    return result;
  }

  get #opened(): EventStore {
    if (this.#store === null) throw new Error('The store is not open yet.');
    return this.#store;
  }

  #wrapStore(store: EventStore): EventStore {
    this.#store = store;
    // Who is who of the runs that an earlier process left.
    const known = store.listRuns({ limit: 100 }).then(({ items }) => {
      for (const { id, originalRequest } of items) this.#learn(id, originalRequest);
    });
    return proxied(store, (method, call) => {
      if (method === 'append') {
        return (commit: RunCommit) => {
          this.#learn(commit.runId, commit.view.originalRequest);
          const label = this.#labelOf(commit.runId);
          return this.#around(`${label}append.${stepName(commit)}`, async () => {
            const appended = await call(commit);
            this.#options.ledger.write({ entered: `${label}${JSON.stringify(commit.view.state)}` });
            return appended;
          });
        };
      }
      if (method === 'updateAttempt' || method === 'heartbeat') {
        return async (key: string, ...rest: readonly unknown[]) => {
          await known;
          // A booking says until when to wait, or nothing of the kind when the attempt begins.
          const [booking] = rest as readonly [Partial<AttemptBooking>?];
          const what = method === 'heartbeat' ? 'heartbeat' : booking?.notBefore === null ? 'book' : 'bookWait';
          return this.#around(`${this.#labelOf(runOf(key))}${activityOf(key)}.${what}`, () => call(key, ...rest));
        };
      }
      if (WRITES.has(method)) return (...args: unknown[]) => this.#around(`store.${method}`, () => call(...args));
      return (...args: unknown[]) => {
        if (this.#starting && this.#within.getStore() === undefined) this.pass(`start.${method}.before`);
        return call(...args);
      };
    });
  }

  #wrapActivities(activities: ActivityRegistry): ActivityRegistry {
    return Object.fromEntries(Object.entries(activities).map(([src, activity]) => [src, this.#wrapActivity(activity)]));
  }

  #wrapActivity(activity: ActivityRegistry[string]): ActivityRegistry[string] {
    const { find } = activity;
    return {
      ...activity,
      ...(find ? { find: (input, context) => this.#inside(context, 'find', () => find(input, context)) } : {}),
      perform: (input, context) => this.#inside(context, 'perform', () => activity.perform(input, context)),
    };
  }

  #inside<Result>(
    { key, runId, activity }: ActivityContext,
    what: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const name = `${this.#labelOf(runId)}${activity}`;
    return this.#within.run({ name, key }, () => this.#around(`${name}.${what}`, work));
  }

  #wrapTools(tools: ActivityTools): ActivityTools {
    const repository = proxied(tools.repository, (method, call) => {
      if (!EFFECTS.has(method)) return call;
      return async (...args: unknown[]) => {
        // The recorder is woken by what activities report, and works for itself.
        const who = method === 'record' ? 'recorder' : (this.#within.getStore()?.name ?? 'api');
        await this.#options.beforeEffect(`${who}.${method}`);
        return this.#around(`${who}.${method}`, () => call(...args));
      };
    });
    const webPages = proxied(tools.webPages, (method, call) => {
      if (method !== 'fetch') return call;
      return (...args: unknown[]) =>
        this.#around(`${this.#within.getStore()?.name ?? 'api'}.page`, () => call(...args));
    });
    return { ...tools, repository, webPages, parser: INSTANT_PARSER };
  }

  #learn(runId: string, request: string): void {
    this.#labels.set(runId, this.#options.labels[request] ?? '');
  }

  #labelOf(runId: string): string {
    const label = this.#labels.get(runId) ?? '';
    return label === '' ? '' : `${label}/`;
  }
}

/** Parsing is pure, and loading a parser into every process would be most of what a point costs. */
const INSTANT_PARSER: ActivityTools['parser'] = {
  warmUp: () => undefined,
  parse: async () => ({ ok: true, diagrams: [], constraints: extractConstraints([]) }),
  close: async () => undefined,
};

type Method = (...args: readonly never[]) => Promise<never>;

/** The same object, each of whose methods is given to `change` before it is called. */
function proxied<Port extends object>(
  port: Port,
  change: (name: string, call: (...args: unknown[]) => Promise<never>) => Method | ((...args: unknown[]) => unknown),
): Port {
  return new Proxy(port, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      // Private fields are reached through the object itself only.
      return typeof value === 'function' && typeof name === 'string'
        ? change(name, value.bind(target) as (...args: unknown[]) => Promise<never>)
        : value;
    },
  });
}

/** What a step is known by: its input, and whose outcome or timer that is. */
function stepName({ events }: RunCommit): string {
  const [input] = events;
  const payload: JsonObject = input?.payload ?? {};
  const whose = payload['activity'] ?? payload['event'];
  return [input?.type ?? 'nothing', ...(typeof whose === 'string' ? [whose] : [])].join('.');
}

/** Name of a request to a forge that changes something, such as `PUT-merge`; `null` for one that reads. */
function effectAtForge(url: string, { method = 'GET', body }: RequestInit = {}): string | null {
  const { pathname } = new URL(url);
  if (method === 'GET') return null;
  if (pathname.endsWith('/graphql')) return /^\{"query":"mutation [^{]*\{\\n\s*(\w+)/.exec(String(body))?.[1] ?? null;
  return `${method}-${pathname.split('/').findLast((part) => !/^\d+$/.test(part)) ?? ''}`;
}

function runOf(key: string): string {
  return key.split('/', 1)[0] ?? '';
}

function activityOf(key: string): string {
  return key.split('/').at(-1) ?? '';
}
