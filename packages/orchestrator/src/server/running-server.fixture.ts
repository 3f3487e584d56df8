/** A real server on a free port over a real event store, with the orchestrator behind it played by a stub. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ForeseenConflict, WorkflowEvent } from '@autonomous/shared';
import { type Client, createClient, type WebSocketConstructor } from '@autonomous/shared/client';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import type { NewEvent } from '../event-store/event-store.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import type { FeedSource, LiveMessage } from './feed.ts';
import { type RunningServer, type ServerOptions, startServer } from './http-server.ts';
import { anEvent, aStep } from '../event-store/sqlite/steps.fixture.ts';
import { type StubOrchestrator, stubOrchestrator } from './stub-orchestrator.fixture.ts';

export const TOKEN = 'test-token-of-at-least-forty-three-characters-';

export interface ServerUnderTest extends RunningServer {
  readonly port: number;
  readonly orchestrator: StubOrchestrator;
  readonly store: SqliteEventStore;
  readonly databaseFile: string;
  readonly source: TestFeedSource;
  /** Lines of the server's log. */
  readonly logged: readonly Record<string, unknown>[];
  readonly client: Client;
  /** A request with the token, unless `headers` say otherwise. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  connect(path?: string, headers?: Record<string, string>): WebSocket;
}

export async function startTestServer(
  options: Partial<Omit<ServerOptions, 'orchestrator'>> & { readonly orchestrator?: StubOrchestrator } = {},
): Promise<ServerUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'server-'));
  const databaseFile = join(folder, 'events.db');
  const store = openSqliteEventStore({ file: databaseFile });
  const source = new TestFeedSource(store);
  const orchestrator = options.orchestrator ?? stubOrchestrator();
  const logged: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'info' },
    { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const server = await startServer({
    feed: source,
    store,
    token: TOKEN,
    host: '127.0.0.1',
    port: 0,
    allowedOrigins: [],
    log,
    ...options,
    orchestrator,
  });
  const authorization = { Authorization: `Bearer ${TOKEN}` };
  const fetchHere: ServerUnderTest['fetch'] = (path, init) =>
    fetch(server.url + path, { redirect: 'manual', ...init, headers: { ...authorization, ...headersOf(init) } });
  return {
    ...server,
    port: Number(new URL(server.url).port),
    orchestrator,
    store,
    databaseFile,
    source,
    logged,
    client: createClient({
      baseUrl: server.url,
      token: TOKEN,
      WebSocket: WebSocket as unknown as WebSocketConstructor,
      backoff: { minMs: 1, maxMs: 20 },
    }),
    fetch: fetchHere,
    post: (path, body, headers = {}) =>
      fetchHere(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'Content-Type': 'application/json', ...headers },
      }),
    connect: (path = '/ws', headers = authorization) =>
      new WebSocket(server.url.replace('http', 'ws') + path, { headers }),
    async close() {
      await server.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

function headersOf(init: RequestInit | undefined): Record<string, string> {
  return (init?.headers ?? {}) as Record<string, string>;
}

/** The engine's part of the feed: what is appended is told to listeners after it is stored. */
export class TestFeedSource implements FeedSource {
  feedId: string;
  /** Runs before each reading of the log, and after it before the reader has it. */
  beforeRead: () => Promise<void> = async () => {};
  afterRead: () => Promise<void> = async () => {};
  readonly foreseen = {
    revision: 0,
    all: [] as readonly ForeseenConflict[],
    conflicts(filter?: { readonly runId: string }): readonly ForeseenConflict[] {
      return this.all.filter(({ runId }) => filter === undefined || runId === filter.runId);
    },
  };
  readonly #store: SqliteEventStore;
  readonly #listeners = new Set<(message: LiveMessage) => void>();
  readonly #sequences = new Map<string, number>();

  constructor(store: SqliteEventStore) {
    this.#store = store;
    this.feedId = store.feedId;
  }

  archivedPosition(): Promise<number> {
    return this.#store.archivedPosition();
  }

  lastPosition(): Promise<number> {
    return this.#store.lastPosition();
  }

  async readAll(after: number, limit: number): Promise<readonly WorkflowEvent[]> {
    await this.beforeRead();
    const events = await this.#store.readAll(after, limit);
    await this.afterRead();
    return events;
  }

  subscribe(listener: (message: LiveMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(message: LiveMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  /** Sets the conflicts of a run, and tells the listeners. */
  foresee(runId: string, ...conflicts: readonly ForeseenConflict[]): void {
    this.foreseen.all = [...this.foreseen.all.filter((each) => each.runId !== runId), ...conflicts];
    this.foreseen.revision += 1;
    this.publish({ runId, conflicts });
  }

  /** Stores `count` events of a run and tells the listeners. */
  async append(runId: string, count = 1, message = 'hello'): Promise<readonly WorkflowEvent[]> {
    const events = await this.store(runId, count, message);
    this.publish({ events });
    return events;
  }

  /** Stores events without telling anyone. */
  store(runId: string, count = 1, message = 'hello'): Promise<readonly WorkflowEvent[]> {
    return this.#step(
      runId,
      Array.from({ length: count }, () => anEvent('NOTICE', { message })),
    );
  }

  /** Stores one event of any type and tells the listeners. */
  async appendEvent(runId: string, event: NewEvent): Promise<void> {
    this.publish({ events: await this.#step(runId, [event]) });
  }

  #step(runId: string, events: readonly NewEvent[]): Promise<readonly WorkflowEvent[]> {
    const expectedSequence = this.#sequences.get(runId) ?? 0;
    this.#sequences.set(runId, expectedSequence + events.length);
    return this.#store.append(aStep(runId, { expectedSequence, events }));
  }
}

/** Sends bytes as they are and gives all that comes back until the server closes or `until` is seen. */
export function sendRaw(port: number, text: string, until?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += String(data);
      if (until !== undefined && received.includes(until)) socket.end();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? undefined : reject(error),
    );
  });
}
