import { afterEach, describe, expect, it, vi } from 'vitest';
import { aServer, type AServer } from './local-server/a-server.fixture.ts';
import {
  type Connection,
  type ConnectionKind,
  type ConnectionOptions,
  createConnection,
  type ServerPlace,
} from './connection.ts';

let own: AServer | undefined;
let connection: Connection | undefined;
afterEach(async () => {
  connection?.dispose();
  await own?.remove();
});

function aConnection(locate: () => Promise<ServerPlace | null>, more: Partial<ConnectionOptions> = {}) {
  const kinds: ConnectionKind[] = [];
  const made = createConnection({
    locate,
    log: { info: () => {}, warn: () => {}, error: () => {} },
    onState: ({ kind }) => {
      if (kinds.at(-1) !== kind) kinds.push(kind);
    },
    intervalMs: 100,
    client: { backoff: { minMs: 20, maxMs: 100 } },
    ...more,
  });
  connection = made;
  return { connection: made, kinds, reaches: (kind: ConnectionKind) => expect.poll(() => made.state.kind).toBe(kind) };
}

/** Says as a proxy does that lets no upgrade through. */
class NoWebSocket {
  onopen = null;
  onmessage = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror = null;
  constructor() {
    queueMicrotask(() => this.onclose?.({ code: 1006, reason: '' }));
  }
  send(): void {}
  close(): void {}
}

describe('The connection', () => {
  it('finds a server that comes up later, and goes on when it is started again', async () => {
    own = await aServer();
    const { server, start } = own;
    const { connection, kinds, reaches } = aConnection(() => server.place());
    await connection.connect();
    expect(connection.state).toEqual({ kind: 'unconfigured' });

    const url = await start();
    await reaches('live');
    expect(connection.state).toEqual({ kind: 'live', url });
    await server.stop();
    await reaches('unconfigured');
    await start(Number(new URL(url).port));
    await reaches('live');
    expect(kinds.filter((kind) => kind === 'live')).toHaveLength(2);
  });

  it('says that the server is away and when it is tried again, and comes back by itself', async () => {
    own = await aServer();
    const url = await own.start();
    const place = await own.server.place();
    const { connection, reaches } = aConnection(() => Promise.resolve(place));
    await connection.connect();
    await reaches('live');
    await own.server.stop();
    await reaches('offline');
    expect(connection.state).toMatchObject({ kind: 'offline', url, retryAt: expect.any(Number) });
    await own.start(Number(new URL(url).port));
    await reaches('live');
  });

  it('is never said to do without a feed while the server is away and comes back', async () => {
    own = await aServer();
    const url = await own.start();
    const place = await own.server.place();
    // The feed waits for longer than the test takes, unless it is woken.
    const { connection, kinds, reaches } = aConnection(() => Promise.resolve(place), {
      client: { backoff: { minMs: 300, maxMs: 300_000 } },
    });
    await connection.connect();
    await reaches('live');
    await own.server.stop();
    await reaches('offline');
    await own.start(Number(new URL(url).port));
    await reaches('live');
    expect(kinds).toEqual(['unconfigured', 'connecting', 'live', 'offline', 'resuming', 'live'].slice(1));
  });

  it('says that a token is wrong, and takes a better one as soon as there is one', async () => {
    own = await aServer();
    await own.start();
    const place = await own.server.place();
    let token: string | null = null;
    const { connection, reaches } = aConnection(() => Promise.resolve(place && { url: place.url, token }));
    await connection.connect();
    await reaches('signedOut');
    token = 'wrong';
    await expect
      .poll(() => connection.state)
      .toMatchObject({ kind: 'signedOut', reason: expect.not.stringContaining('No token') });
    token = place?.token ?? '';
    await reaches('live');
  });

  it('asks now and then where WebSocket cannot be had', async () => {
    own = await aServer();
    await own.start();
    const place = await own.server.place();
    const listing = vi.fn<typeof fetch>((...request) => fetch(...request));
    const { connection, kinds, reaches } = aConnection(() => Promise.resolve(place), {
      client: { backoff: { minMs: 20, maxMs: 100 }, pollIntervalMs: 50, WebSocket: NoWebSocket, fetch: listing },
    });
    await connection.connect();
    await reaches('polling');
    const polls = () => listing.mock.calls.filter(([address]) => String(address).includes('/api/events?')).length;
    const before = polls();
    await expect.poll(polls).toBeGreaterThan(before + 1);
    expect(kinds.filter((kind) => kind === 'polling')).toHaveLength(1);
  });

  it('forgets the runs of a server when another one is named', async () => {
    let url = 'http://127.0.0.1:9';
    const { connection } = aConnection(() => Promise.resolve({ url, token: 't' }));
    await connection.connect();
    connection.store.trigger.listed({ runs: [{ id: 'r', lastSequence: 1 } as never] });
    await connection.connect();
    expect(Object.keys(connection.store.getSnapshot().context.runs)).toEqual(['r']);
    url = 'http://127.0.0.1:10';
    await connection.connect();
    expect(connection.store.getSnapshot().context.runs).toEqual({});
  });
});
