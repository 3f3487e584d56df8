/**
 * Keeps the run store fed from one server, whichever it is at the moment. Knows nothing of the editor; what to connect to
 * is asked anew as long as it does not work.
 */
import {
  ApiError,
  type Client,
  type ClientOptions,
  createClient,
  createRunStore,
  emptyRunStoreState,
  type FeedStatus,
  type RunStore,
  syncRecentRuns,
} from '@autonomous/shared/client';

export interface ServerPlace {
  readonly url: string;
  /** `null`: none is known. */
  readonly token: string | null;
}

export type ConnectionState =
  /** Nobody said where a server is, and none of this machine was found. */
  | { readonly kind: 'unconfigured' }
  /** The server is there and takes no token, or not this one. */
  | { readonly kind: 'signedOut'; readonly url: string; readonly reason: string }
  | { readonly kind: 'connecting'; readonly url: string }
  /** The server answers again; what was missed meanwhile is being fetched. */
  | { readonly kind: 'resuming'; readonly url: string }
  | { readonly kind: 'live'; readonly url: string }
  /** HTTP works and WebSocket does not: the server is asked every few seconds. */
  | { readonly kind: 'polling'; readonly url: string; readonly reason: string }
  /** `retryAt` in milliseconds since the epoch; `null` when only a person can mend it. */
  | { readonly kind: 'offline'; readonly url: string; readonly reason: string; readonly retryAt: number | null };
export type ConnectionKind = ConnectionState['kind'];

export interface ConnectionLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface ConnectionOptions {
  /** Where the server is now; `null` when nobody knows. */
  readonly locate: () => Promise<ServerPlace | null>;
  readonly log: ConnectionLog;
  readonly onState: (state: ConnectionState) => void;
  /** How often to look for another place; 5 s when absent. */
  readonly intervalMs?: number;
  /** Parts of the client that tests replace. */
  readonly client?: Pick<ClientOptions, 'WebSocket' | 'backoff' | 'fetch' | 'pollIntervalMs'>;
}

export interface Connection {
  readonly store: RunStore;
  readonly state: ConnectionState;
  /** Of the server that is named now; `null` while none is. */
  readonly client: Client | null;
  /** Looks where the server is and connects, from the beginning when it is connected already. */
  connect(): Promise<void>;
  dispose(): void;
}

const INTERVAL_MS = 5_000;
const LISTED_WITHIN_MS = 5_000;
const BACKOFF = { minMs: 500, maxMs: 15_000 };
/** Interval in which events are gathered before trees and panels get them. */
const BURST_MS = 15;

export function createConnection(options: ConnectionOptions): Connection {
  const { log, intervalMs = INTERVAL_MS } = options;
  const store = createRunStore();
  let state: ConnectionState = { kind: 'unconfigured' };
  let place: ServerPlace | null = null;
  let client: Client | null = null;
  /** Ends what belongs to the connection before. */
  let attempt = new AbortController();
  let isDisposed = false;

  const enter = (next: ConnectionState): void => {
    state = next;
    options.onState(next);
  };

  const connect = async (): Promise<void> => {
    attempt.abort();
    const own = new AbortController();
    attempt = own;
    const found = await options.locate().catch((error: unknown) => {
      log.error(`Where the server is cannot be read: ${String(error)}`);
      return null;
    });
    if (own.signal.aborted) return;
    if (found?.url !== place?.url) store.trigger.replaced({ state: emptyRunStoreState });
    place = found;
    client = found === null ? null : clientOf(found, options);
    if (found === null || client === null) return enter({ kind: 'unconfigured' });
    log.info(`Connecting to ${found.url}`);
    enter({ kind: 'connecting', url: found.url });
    void follow(client, found, own.signal);
  };

  const follow = async (client: Client, { url, token }: ServerPlace, signal: AbortSignal): Promise<void> => {
    const warn = (error: unknown): void =>
      log.warn(`Runs could not be listed: ${error instanceof Error ? error.message : String(error)}`);
    let hasFailed = false;
    let current: FeedStatus | null = null;
    const list = (): Promise<void> => listOpenRuns(client, store, signal).catch(warn);
    const onStatus = (status: FeedStatus): void => {
      current = status;
      switch (status.state) {
        case 'live':
          log.info(`Connected to ${url}`);
          if (hasFailed) enter({ kind: 'resuming', url });
          hasFailed = false;
          // The state `live` means that the lists are complete.
          return void withinTime(list()).then(() => {
            if (current === status && !signal.aborted) enter({ kind: 'live', url });
          });
        case 'polling':
          hasFailed = true;
          log.warn(`No WebSocket gets through to ${url} (${status.reason}): it is asked every few seconds`);
          enter({ kind: 'polling', url, reason: status.reason });
          return void list();
        case 'offline':
          hasFailed = true;
          log.warn(`${status.reason}; trying again in ${Math.round(status.retryInMs / 1_000)} s`);
          return enter({ kind: 'offline', url, reason: status.reason, retryAt: Date.now() + status.retryInMs });
        case 'replaying':
        case 'connecting':
          // The state says what a person sees: a try that is under way does not hide why the last one failed.
          if (!hasFailed) enter({ kind: 'connecting', url });
          return;
        default:
          status satisfies never;
      }
    };
    const subscription = store.inspect(({ event }) => {
      // Only this event of the store bears a status.
      if (event.type === 'statusChanged') onStatus((event as unknown as { status: FeedStatus }).status);
    });
    try {
      await syncRecentRuns({ client, store, signal, onFault: warn, defer: (act) => void setTimeout(act, BURST_MS) });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      log.error(reason);
      const isSignedOut = error instanceof ApiError && (error.status === 401 || error.status === 403);
      if (isSignedOut) enter({ kind: 'signedOut', url, reason: token === null ? 'No token is known for it.' : reason });
      else enter({ kind: 'offline', url, reason, retryAt: null });
    } finally {
      subscription.unsubscribe();
    }
  };

  /** A server may come up, or a token may be made, without anybody saying so here. */
  const watch = setInterval(() => {
    if (state.kind === 'live' || state.kind === 'polling' || state.kind === 'connecting') return;
    options.locate().then(
      (found) => {
        if (!isDisposed && !isSame(found, place)) void connect();
      },
      // Said by the next attempt to connect.
      () => undefined,
    );
  }, intervalMs);

  return {
    store,
    get state() {
      return state;
    },
    get client() {
      return client;
    },
    connect,
    dispose() {
      isDisposed = true;
      clearInterval(watch);
      attempt.abort();
    },
  };
}

function clientOf({ url, token }: ServerPlace, { client }: ConnectionOptions): Client {
  return createClient({ baseUrl: url, ...(token === null ? {} : { token }), backoff: BACKOFF, ...client });
}

function isSame(one: ServerPlace | null, other: ServerPlace | null): boolean {
  return one?.url === other?.url && one?.token === other?.token;
}

/** Not longer than a person would wait for it: a server that does not answer says nothing more. */
function withinTime(work: Promise<void>): Promise<void> {
  return Promise.race([work, new Promise<void>((resolve) => void setTimeout(resolve, LISTED_WITHIN_MS).unref())]);
}

/** Every run that waits or works, however many there are: the newest of the others are listed anyway. */
async function listOpenRuns(client: Client, store: RunStore, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  while (!signal.aborted) {
    const { items, nextCursor } = await client.listRuns({ open: true, limit: 200, cursor });
    if (!signal.aborted && items.length > 0) store.trigger.listed({ runs: items });
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
