/** The client that the extension, the dashboard and the command line share: typed calls and the live feed. */
import type { ProblemDetails } from '../errors.ts';
import type { FeedPage, FeedPageRequest } from '../feed.ts';
import type { ForeseenConflict, ForeseenConflictFilter } from '../review/foreseen-conflicts.ts';
import type { RunView } from '../run.ts';
import { ApiError, ServerUnreachable } from './api-error.ts';
import { type Backoff, sleep, waitBefore } from './backoff.ts';
import { type Call, type Endpoint, ENDPOINTS, type RemoteCall } from './endpoints.ts';
import { followFeed, type WebSocketConstructor } from './feed-client.ts';
import type { FeedOptions } from './feed-options.ts';
import type { Metrics, MetricsQuery } from './metrics.ts';
import type { Caller, GateDecision, Page, PageRequest, Project, Readiness, RunFilter, Upload } from './orchestrator.ts';

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:3001`. */
  readonly baseUrl: string;
  /** Absent in a browser that signed in: its cookie is sent instead. */
  readonly token?: string;
  /** Absent means the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Absent means the global `WebSocket`. */
  readonly WebSocket?: WebSocketConstructor;
  /** Waits between tries after a network failure; 200 ms to 30 s when absent. */
  readonly backoff?: Backoff;
  /** How often the server is asked for events where no WebSocket gets through; 3 s when absent. */
  readonly pollIntervalMs?: number;
}

/** The calls of the {@link Orchestrator} that clients have, as they are declared there. */
type RemoteCalls = { readonly [Name in Call]: RemoteCall<Name> };

/**
 * The {@link Orchestrator} from afar. Every call throws {@link ApiError} for what the server refuses and
 * {@link ServerUnreachable} when nothing answers after three tries. A repeated POST carries the same idempotency key,
 * so that it is done once; the last argument names it where the caller itself may be repeated.
 */
export interface Client extends Omit<RemoteCalls, 'listProjects' | 'listRuns' | 'listConflicts' | 'getMetrics'> {
  listProjects(page?: PageRequest): Promise<Page<Project>>;
  listRuns(filter?: RunFilter): Promise<Page<RunView>>;
  /** Files in which merges of live runs would conflict, with each other or with their base branches. */
  listConflicts(filter?: ForeseenConflictFilter, signal?: AbortSignal): Promise<readonly ForeseenConflict[]>;
  /** Success, time, waiting and cost of runs over a time. */
  getMetrics(wanted?: MetricsQuery): Promise<Metrics>;
  /** Decides the gate at which a run waits. */
  decideOpenGate(runId: string, decision: GateDecision): Promise<RunView>;
  upload(name: string, content: Uint8Array<ArrayBuffer> | Blob): Promise<Upload>;
  readiness(): Promise<Readiness>;
  me(): Promise<Caller>;
  /** An address that signs one browser in, once. */
  createSignInLink(): Promise<string>;
  /**
   * Signs this browser out, or every browser.
   * @returns how many were signed in
   */
  signOut(options?: { readonly everywhere?: boolean }): Promise<number>;

  /** One page of the feed's events; `followFeed` asks for them by itself where it has to. */
  readFeed(request: FeedPageRequest, signal?: AbortSignal): Promise<FeedPage>;
  /**
   * Delivers each event once and in order until `signal` aborts, across any number of lost connections. Where no WebSocket
   * gets through, the server is asked every few seconds, until one does.
   * @throws {ApiError} when the server refuses for good (not signed in, another protocol)
   */
  followFeed(options: FeedOptions): Promise<void>;
}

const MAX_TRIES = 3;
const POLL_INTERVAL_MS = 3_000;
const DEFAULT_BACKOFF: Backoff = { minMs: 200, maxMs: 30_000 };

export function createClient(options: ClientOptions): Client {
  const baseUrl = options.baseUrl.replace(/(?<!\/)\/+$/, '');
  const backoff = options.backoff ?? DEFAULT_BACKOFF;
  const send = createSender(options, baseUrl, backoff);
  const ask = async <Body>(path: string, init: RequestInit = {}, alsoTaken?: readonly number[]): Promise<Body> =>
    read(await send(`${baseUrl}${path}`, init), alsoTaken);
  const post = <Body>(path: string, json?: object, init?: RequestInit): Promise<Body> =>
    ask(path, { method: 'POST', ...init, ...(json === undefined ? {} : jsonBody(json)) });

  const listConflicts: Client['listConflicts'] = async (filter = {}, signal) =>
    (await ask<Items<ForeseenConflict>>(`${ENDPOINTS.listConflicts.path}${query(filter)}`, aborted(signal))).items;
  const readFeed: Client['readFeed'] = (request, signal) => ask(`/api/events${query(request)}`, aborted(signal));

  const calls = Object.entries(ENDPOINTS).map(([name, endpoint]: [string, Endpoint]) => [
    name,
    async (...args: readonly unknown[]) => {
      const { path, init } = requestOf(endpoint, args);
      const answer = await ask<unknown>(path, init);
      return endpoint.isList ? (answer as Items<unknown>).items : answer;
    },
  ]);
  return {
    ...(Object.fromEntries(calls) as RemoteCalls), // Each endpoint says what its call takes and gives.
    listConflicts,
    decideOpenGate: (id, { decision, ...fields }) => post(`/api/runs/${segment(id)}/${decision}`, fields),
    upload: (name, content) => post(`/api/uploads${query({ name })}`, undefined, { body: content }),
    readiness: () => ask('/readyz', {}, [503]),
    me: () => ask('/api/me'),
    createSignInLink: async () => (await post<{ url: string }>('/api/sign-in-links')).url,
    signOut: async (wanted = {}) => (await post<{ ended: number }>('/api/sign-out', wanted)).ended,

    readFeed,
    followFeed: (feed) =>
      followFeed(feed, {
        url: async (signal) => {
          const { ticket } = await post<{ ticket: string }>('/api/tickets', undefined, { signal });
          return `${baseUrl.replace(/^http/, 'ws')}/ws?ticket=${ticket}`;
        },
        WebSocket: options.WebSocket ?? (globalThis.WebSocket as unknown as WebSocketConstructor),
        backoff,
        polling: {
          page: readFeed,
          conflicts: (signal) => listConflicts({}, signal),
          intervalMs: options.pollIntervalMs ?? POLL_INTERVAL_MS,
        },
      }),
  };
}

/** The request of a call. Its arguments stand where its endpoint says; another one after them is its idempotency key. */
function requestOf({ method, path, takes }: Endpoint, args: readonly unknown[]): { path: string; init: RequestInit } {
  const places = takes.filter((place) => place !== 'caller' && place !== 'key');
  let filled: string = path;
  const fields: Record<'body' | 'query', object | undefined> = { body: undefined, query: undefined };
  for (const [index, place] of places.entries()) {
    const [part, field] = place.split('.', 2);
    const value = args[index];
    if (part === 'body' || part === 'query')
      fields[part] = field === undefined ? (value ?? {}) : { ...fields[part], [field]: value };
    else filled = filled.replace(`{${place}}`, segment(String(value)));
  }
  const key = args[places.length];
  return {
    path: `${filled}${query(fields.query ?? {})}`,
    init: {
      method: method.toUpperCase(),
      headers: {
        ...(typeof key === 'string' ? { 'Idempotency-Key': key } : {}),
        ...(fields.body === undefined ? {} : JSON_CONTENT),
      },
      ...(fields.body === undefined ? {} : { body: JSON.stringify(fields.body) }),
    },
  };
}

const JSON_CONTENT = { 'Content-Type': 'application/json' };
const jsonBody = (json: object): RequestInit => ({ headers: JSON_CONTENT, body: JSON.stringify(json) });
const aborted = (signal: AbortSignal | undefined): RequestInit => (signal === undefined ? {} : { signal });

/** Adds credentials and idempotency key, and repeats what the network lost. */
function createSender(options: ClientOptions, baseUrl: string, backoff: Backoff): typeof fetch {
  const send = options.fetch ?? fetch;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (options.token !== undefined) headers.set('Authorization', `Bearer ${options.token}`);
    if (init?.method === 'POST' && !headers.has('Idempotency-Key')) {
      headers.set('Idempotency-Key', crypto.randomUUID());
    }
    for (let failures = 0; ; failures += 1) {
      try {
        return await send(input, { ...init, headers, redirect: 'error' });
      } catch (cause) {
        if (failures + 1 >= MAX_TRIES || init?.signal?.aborted) throw new ServerUnreachable(baseUrl, cause);
        await sleep(waitBefore(failures, backoff));
      }
    }
  };
}

/** The body of a success, or of a status in `alsoTaken`. Its type is the one that the caller promises. */
async function read<Body>(response: Response, alsoTaken: readonly number[] = []): Promise<Body> {
  if (response.ok || alsoTaken.includes(response.status)) return (await response.json()) as Body;
  throw new ApiError(problemOf(response.status, await response.text()));
}

interface Items<Item> {
  readonly items: readonly Item[];
}

/** A proxy or another server may answer with anything. */
function problemOf(status: number, body: string): ProblemDetails {
  try {
    const problem: unknown = JSON.parse(body);
    if (typeof problem === 'object' && problem !== null && 'detail' in problem && 'code' in problem) {
      return { type: 'about:blank', title: 'Problem', ...problem, status } as ProblemDetails;
    }
  } catch {
    // Not JSON: told below.
  }
  return {
    type: 'about:blank',
    title: 'UnexpectedAnswer',
    status,
    detail: `The server answered ${status} without saying why; is there a proxy before it?`,
    code: status >= 500 ? 'unavailable' : 'invalid_request',
  };
}

/** Query values as text, absent ones left out; empty where there are none. */
function query(fields: object): string {
  const present = new URLSearchParams();
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) present.append(key, String(value));
  return present.size === 0 ? '' : `?${present.toString()}`;
}

function segment(id: string): string {
  if (id === '') throw new TypeError('The id is empty.');
  return encodeURIComponent(id);
}
