import type { FeedMessage, ForeseenConflict } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { NOON } from '../event-store/sqlite/steps.fixture.ts';
import { Feed } from './feed.ts';
import { type ServerUnderTest, startTestServer } from './running-server.fixture.ts';

describe('the feed', () => {
  let server: ServerUnderTest;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.close());

  describe('on subscribe', () => {
    it('replays what is stored, says that it is live, and goes on', async () => {
      await server.source.append('a', 3);
      const client = await subscribe(server);
      expect(client.messages[0]).toEqual({
        type: 'welcome',
        protocol: 1,
        feedId: server.store.feedId,
        position: 3,
        reset: false,
        process: expect.any(String),
      });
      await client.until(({ type }) => type === 'caught_up');
      expect(client.positions()).toEqual([1, 2, 3]);
      await server.source.append('b', 2);
      await client.untilPosition(5);
      expect(client.messages.map(({ type }) => type)).toEqual([
        'welcome',
        'event',
        'event',
        'event',
        'caught_up',
        'event',
        'event',
      ]);
      expect(client.messages.at(-1)).toMatchObject({
        event: { workflowRunId: 'b', sequence: 2, type: 'NOTICE', payload: { message: 'hello' } },
      });
    });

    it('sends only what comes after the given position', async () => {
      await server.source.append('a', 10);
      const client = await subscribe(server, { after: 7, feedId: server.store.feedId });
      await client.until(({ type }) => type === 'caught_up');
      expect(client.positions()).toEqual([8, 9, 10]);
    });

    it('sends only what is new to who asks for the end', async () => {
      await server.source.append('a', 10);
      const client = await subscribe(server, { after: 'end' });
      expect(client.messages[0]).toMatchObject({ type: 'welcome', position: 10, reset: false });
      await client.until(({ type }) => type === 'caught_up');
      expect(client.positions()).toEqual([]);
      await server.source.append('a');
      await client.untilPosition(11);
      expect(client.positions()).toEqual([11]);
    });

    it.each([
      ['another feed', { after: 7, feedId: 'of-an-older-database' }],
      ['a position that was never reached', { after: 11 }],
    ])('starts afresh for a client that comes from %s', async (_, given) => {
      await server.source.append('a', 10);
      const client = await subscribe(server, given);
      expect(client.messages[0]).toMatchObject({ type: 'welcome', reset: true });
      await client.until(({ type }) => type === 'caught_up');
      expect(client.positions()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    });

    it('reads past what is damaged, of whichever run', async () => {
      await server.source.append('bad', 2);
      await server.source.append('good', 2);
      const damaged = new Database(server.databaseFile);
      damaged.prepare(`UPDATE workflow_steps SET events = substr(events, 2) WHERE position = 2`).run();
      damaged.close();
      const client = await subscribe(server, { runIds: ['good'] });
      await client.until(({ type }) => type === 'caught_up');
      expect(client.positions()).toEqual([3, 4]);
      const other = await subscribe(server);
      await other.until(({ type }) => type === 'caught_up');
      expect(other.positions()).toEqual([1, 2, 3, 4]);
      await server.source.append('good');
      await other.untilPosition(5);
    });

    it('sends only the runs asked for, and how far it has seen', async () => {
      await server.source.append('a', 2);
      await server.source.append('b', 2);
      const client = await subscribe(server, { runIds: ['b'] });
      expect(await client.until(({ type }) => type === 'caught_up')).toEqual({ type: 'caught_up', position: 4 });
      await server.source.append('a');
      await server.source.append('b');
      await client.untilPosition(6);
      expect(client.positions()).toEqual([3, 4, 6]);
    });
  });

  describe('has no gap and no double', () => {
    it.each(['beforeRead', 'afterRead'] as const)(
      'when events are stored and told in the middle of a reading: %s',
      async (hook) => {
        await server.source.append('a', 250);
        let reads = 0;
        server.source[hook] = async () => {
          reads += 1;
          if (reads < 6) await server.source.append('a', 50);
        };
        const client = await subscribe(server);
        await client.untilPosition(500);
        expect(client.positions()).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
      },
    );

    it('when the last event is told after the last page was read', async () => {
      server.source.afterRead = async () => {
        server.source.afterRead = async () => {};
        await server.source.append('a', 1);
      };
      const client = await subscribe(server);
      expect(await client.untilPosition(1)).toMatchObject({ event: { workflowRunId: 'a' } });
    });

    it('when an event is told between the last page and the change to live', async () => {
      const client = await subscribe(server);
      await client.until(({ type }) => type === 'caught_up');
      for (let round = 0; round < 20; round += 1) {
        const other = subscribe(server);
        await server.source.append('a', 3);
        await (await other).untilPosition((round + 1) * 3);
        expect((await other).positions()).toEqual(Array.from({ length: (round + 1) * 3 }, (_, index) => index + 1));
      }
      await client.untilPosition(60);
      expect(client.positions()).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    });

    it('when events are told in another order than they were stored, twice, or not at all', async () => {
      const client = await subscribe(server);
      await client.until(({ type }) => type === 'caught_up');
      const first = await server.source.store('a', 2);
      const second = await server.source.store('b', 2);
      await server.source.store('c', 2);
      server.source.publish({ events: second });
      server.source.publish({ events: first });
      server.source.publish({ events: first });
      await server.source.append('a', 1);
      await client.untilPosition(7);
      await server.source.append('a', 1);
      await client.untilPosition(8);
      expect(client.positions()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });
  });

  it('passes progress on to those who follow the run, without a position', async () => {
    const [all, other] = [await subscribe(server), await subscribe(server, { runIds: ['b'] })];
    for (const client of [all, other]) await client.until(({ type }) => type === 'caught_up');
    const progress = { runId: 'a', activity: 'plan', kind: 'text' as const, text: 'thinking', at: NOON };
    server.source.publish({ progress });
    await server.source.append('b');
    for (const client of [all, other]) await client.untilPosition(1);
    expect(all.messages.filter(({ type }) => type === 'progress')).toEqual([{ type: 'progress', progress }]);
    expect(other.messages.filter(({ type }) => type === 'progress')).toEqual([]);
  });

  it('sends the foreseen conflicts of the runs asked for after the welcome, and each change of them', async () => {
    const of = (runId: string): ForeseenConflict => ({
      projectId: 'p-1',
      runId,
      with: { kind: 'base', branch: 'main' },
      files: ['a.ts'],
      fileCount: 1,
    });
    server.source.foresee('a', of('a'));
    server.source.foresee('b', of('b'));
    const [all, other] = [await subscribe(server), await subscribe(server, { runIds: ['b'] })];
    for (const client of [all, other]) await client.until(({ type }) => type === 'caught_up');
    server.source.foresee('a');
    server.source.foresee('b');
    await server.source.append('b');
    for (const client of [all, other]) await client.untilPosition(1);
    const kinds = (messages: readonly FeedMessage[]) => messages.map(({ type }) => type);
    expect(kinds(all.messages).slice(0, 4)).toEqual(['welcome', 'conflicts', 'conflicts', 'caught_up']);
    const told = (messages: readonly FeedMessage[]) =>
      messages.flatMap((message) => (message.type === 'conflicts' ? [[message.runId, message.conflicts]] : []));
    expect(told(all.messages)).toEqual([
      ['a', [of('a')]],
      ['b', [of('b')]],
      ['a', []],
      ['b', []],
    ]);
    expect(told(other.messages)).toEqual([
      ['b', [of('b')]],
      ['b', []],
    ]);
  });

  describe('refuses with an error and code 1008', () => {
    const valid = { type: 'subscribe', protocol: 1, after: 0 };
    it.each([
      ['what is no JSON', 'hello', 'invalid_message'],
      ['binary data', Buffer.from(JSON.stringify(valid)), 'invalid_message'],
      ['another first message', JSON.stringify({ type: 'ping' }), 'invalid_message'],
      ['unknown keys', JSON.stringify({ ...valid, admin: true }), 'invalid_message'],
      ['a position below 0', JSON.stringify({ ...valid, after: -1 }), 'invalid_message'],
      ['another protocol', JSON.stringify({ ...valid, protocol: 2 }), 'unsupported_protocol'],
    ])('%s', async (_, message, code) => {
      const client = await open(server);
      client.socket.send(message);
      expect(await client.closed).toBe(1008);
      expect(client.messages).toEqual([{ type: 'error', code, detail: expect.any(String) }]);
    });

    it('anything after the subscribe message', async () => {
      const client = await subscribe(server);
      await client.until(({ type }) => type === 'caught_up');
      client.socket.send(JSON.stringify(valid));
      expect(await client.closed).toBe(1008);
    });
  });

  it('takes no message above 64 kB', async () => {
    const client = await open(server);
    client.socket.send('x'.repeat(64 * 1024 + 1));
    expect(await client.closed).toBe(1009);
    expect((await server.fetch('/api/me')).status).toBe(200);
  });

  it('tells a client that the log cannot be read, and lets it come back', async () => {
    server.source.beforeRead = () => Promise.reject(new Error('disk on fire'));
    const client = await open(server);
    client.socket.send(JSON.stringify({ type: 'subscribe', protocol: 1, after: 0 }));
    expect(await client.closed).toBe(1011);
    expect(JSON.stringify(client.messages)).not.toContain('disk on fire');
    expect(server.logged).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: 'disk on fire' }) }),
    );
  });

  it('cuts off clients that do not read once 1 MB waits for them, and they go on by position', async () => {
    const slow = await Promise.all(Array.from({ length: 20 }, () => subscribe(server)));
    const fast = await subscribe(server);
    for (const client of [...slow, fast]) await client.until(({ type }) => type === 'caught_up');
    for (const { socket } of slow) socket.pause();
    globalThis.gc?.();
    const before = process.memoryUsage().rss;

    const size = 100_000;
    const count = 200;
    for (let sent = 1; sent <= count; sent += 1) {
      await server.source.append('a', 1, 'x'.repeat(size));
      await fast.untilPosition(sent);
    }
    // What the kernel took and what waited are far less than 20 clients times 20 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(250 * 1024 * 1024);
    for (const { socket } of slow) socket.resume();
    // One that took longer than the closing handshake may take was cut without a word.
    expect([1013, 1006]).toEqual(expect.arrayContaining(await Promise.all(slow.map(({ closed }) => closed))));

    const [one] = slow;
    const last = one!.positions().at(-1)!;
    expect(last).toBeLessThan(count);
    const again = await subscribe(server, { after: last });
    await again.untilPosition(count);
    expect([...one!.positions(), ...again.positions()]).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  it('lets a client that replays read at its own pace, and others meanwhile', async () => {
    await server.source.append('a', 100, 'x'.repeat(100_000));
    const slow = await open(server);
    slow.socket.send(JSON.stringify({ type: 'subscribe', protocol: 1, after: 0 }));
    await slow.until(({ type }) => type === 'welcome');
    slow.socket.pause();
    const fast = await subscribe(server);
    await fast.untilPosition(100);
    slow.socket.resume();
    await slow.untilPosition(100);
    expect(slow.positions()).toHaveLength(100);
  });
});

describe('a heartbeat', () => {
  it('ends connections that do not answer, and tells the others that the server is there', async () => {
    const server = await startTestServer();
    await server.source.append('a', 2);
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await new Promise((resolve) => sockets.once('listening', resolve));
    const feed = new Feed({ source: server.source, log: { error: () => {} }, heartbeatMs: 50 });
    sockets.on('connection', (socket, request) => feed.accept(socket, request.socket));
    const url = `ws://127.0.0.1:${(sockets.address() as { port: number }).port}`;

    const dead = listen(new WebSocket(url, { autoPong: false }));
    const alive = listen(new WebSocket(url));
    await new Promise((resolve) => alive.socket.once('open', resolve));
    alive.socket.send(JSON.stringify({ type: 'subscribe', protocol: 1, after: 0 }));
    expect(await dead.closed).toBe(1006);
    let beats = 0;
    await alive.until((message) => message.type === 'caught_up' && message.position === 2 && ++beats === 3);
    expect(alive.socket.readyState).toBe(WebSocket.OPEN);
    feed.close();
    expect(await alive.closed).toBe(1001);
    sockets.close();
    await server.close();
  });
});

interface Listening {
  readonly socket: WebSocket;
  readonly messages: readonly FeedMessage[];
  readonly closed: Promise<number>;
  positions(): number[];
  /** The first message, past or to come, that `test` accepts. */
  until(test: (message: FeedMessage) => boolean): Promise<FeedMessage>;
  untilPosition(position: number): Promise<unknown>;
}

function listen(socket: WebSocket): Listening {
  const messages: FeedMessage[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)) as FeedMessage);
    for (const look of waiting) look();
  });
  socket.on('error', () => {});
  const until = (test: (message: FeedMessage) => boolean) =>
    new Promise<FeedMessage>((resolve) => {
      let seen = 0;
      const look = () => {
        for (; seen < messages.length; seen += 1) {
          if (!test(messages[seen]!)) continue;
          waiting.delete(look);
          return resolve(messages[seen]!);
        }
      };
      waiting.add(look);
      look();
    });
  return {
    socket,
    messages,
    closed: new Promise((resolve) => socket.once('close', (code) => resolve(code))),
    positions: () => messages.flatMap((message) => (message.type === 'event' ? [message.event.position] : [])),
    until,
    untilPosition: (position) => until((message) => message.type === 'event' && message.event.position === position),
  };
}

async function open(server: ServerUnderTest): Promise<Listening> {
  const client = listen(server.connect());
  await new Promise((resolve) => client.socket.once('open', resolve));
  return client;
}

async function subscribe(server: ServerUnderTest, given: object = {}): Promise<Listening> {
  const client = await open(server);
  client.socket.send(JSON.stringify({ type: 'subscribe', protocol: 1, after: 0, ...given }));
  await client.until(({ type }) => type === 'welcome');
  return client;
}
