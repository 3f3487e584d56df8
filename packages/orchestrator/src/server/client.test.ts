import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ForeseenConflict, GateDecision, WorkflowEvent } from '@autonomous/shared';
import {
  ApiError,
  createClient,
  createRunStore,
  type FeedStatus,
  selectRuns,
  ServerUnreachable,
  syncRunStore,
  type WebSocketConstructor,
} from '@autonomous/shared/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { anEvent, aView } from '../event-store/sqlite/steps.fixture.ts';
import { type ServerUnderTest, startTestServer, TOKEN } from './running-server.fixture.ts';
import { stubOrchestrator } from './stub-orchestrator.fixture.ts';

/** Every POST of the client has a key. */
const A_REQUEST: unknown = {
  key: expect.stringMatching(/^local:./) as unknown,
  hash: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
};

describe('the client', () => {
  let server: ServerUnderTest;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.close());

  it('reaches every call of the orchestrator with what it was given', async () => {
    const { client } = server;
    const local = { userId: 'local', request: A_REQUEST };
    const exploration = {
      projectId: 'p-1',
      workflow: 'phased-plan',
      variants: [{ request: 'one' }, { request: 'two', config: { maxConcurrency: 2 }, input: { planPath: 'PLAN.md' } }],
    };
    await client.createProject({ name: 'demo', repository: '/srv/demo' });
    await client.listProjects({ limit: 10 });
    await client.getProject('p-1');
    await client.getRoadmap('p-1');
    await client.launchRun({ projectId: 'p-1', request: 'x', workflow: 'build' }, 'my-key');
    await client.explore(exploration, 'other-key');
    await client.listRuns({ status: 'paused', cursor: 'c' });
    await client.forkRun('r-1', { at: 4, answer: { decision: 'approve' } }, 'fork-key');
    await client.getRun('r-1');
    await client.getRun('r-1', 3);
    await client.migrateRun('r-1', 2);
    await client.exportRun('r-1');
    await client.listEvents('r-1', 7);
    await client.listArtifacts('r-1');
    await client.getArtifact('r-1', 'r-1.3');
    await client.getProjection('r-1');
    await client.getDiff('r-1');
    await client.getTranscript('r-1');
    await client.getStatechart('r-1');
    await client.getStatechart('r-1', 5);
    await client.getPullRequest('r-1');
    await client.replyToThread('r-1', 'PRRT_1=', 'Fixed.', 'reply-key');
    await client.resolveThread('r-1', 'PRRT_1=');
    await client.listConflicts();
    await client.listConflicts({ projectId: 'p-1', runId: 'r-1' });
    await client.listGates();
    await client.listGates('r-1');
    await client.listClarifications('pending');
    await client.cancelRun('r-1');
    await client.cancelRun('r-1', 'no longer needed');
    await client.sendMessage('r-1', 'use tabs');
    await client.sendSignal('r-1', { type: 'NUDGE', by: { much: 3 } });
    await client.upload('a.txt', new TextEncoder().encode('hello'));
    await client.listWorkflows();
    await client.getWorkflow('build');
    await client.listModels();
    await client.getMetrics();
    await client.getSetup();
    await client.setKey('anthropic', { key: 'k', keep: 'memory', check: false });
    await client.removeKey('anthropic');
    await client.testProvider('openai');
    await client.testAgent('claude');
    await client.setDefaultModels({ planner: 'openai:x' });
    await client.getMetrics({ projectId: 'p-1', from: '2026-02-01', bucket: 'week', timeZone: 'Europe/Berlin' });
    await client.readiness();

    expect(server.orchestrator.calls).toEqual([
      ['createProject', local, { name: 'demo', repository: '/srv/demo' }],
      ['listProjects', { limit: 10 }],
      ['getProject', 'p-1'],
      ['getRoadmap', 'p-1'],
      ['launchRun', local, { projectId: 'p-1', request: 'x', workflow: 'build' }, 'my-key'],
      ['explore', local, exploration, 'other-key'],
      ['listRuns', { status: 'paused', cursor: 'c' }],
      ['forkRun', local, 'r-1', { at: 4, answer: { decision: 'approve' } }, 'fork-key'],
      ['getRun', 'r-1', undefined],
      ['getRun', 'r-1', 3],
      ['migrateRun', local, 'r-1', 2],
      ['exportRun', 'r-1'],
      ['listEvents', 'r-1', 7, 500],
      ['listArtifacts', 'r-1'],
      ['getArtifact', 'r-1', 'r-1.3'],
      ['getProjection', 'r-1'],
      ['getDiff', 'r-1'],
      ['getTranscript', 'r-1'],
      ['getStatechart', 'r-1', undefined],
      ['getStatechart', 'r-1', 5],
      ['getPullRequest', 'r-1'],
      ['replyToThread', local, 'r-1', 'PRRT_1=', 'Fixed.'],
      ['resolveThread', 'r-1', 'PRRT_1='],
      ['listConflicts', {}],
      ['listConflicts', { projectId: 'p-1', runId: 'r-1' }],
      ['listGates', undefined],
      ['listGates', 'r-1'],
      ['listClarifications', 'pending'],
      ['cancelRun', local, 'r-1', undefined],
      ['cancelRun', local, 'r-1', 'no longer needed'],
      ['sendMessage', local, 'r-1', 'use tabs'],
      ['sendSignal', local, 'r-1', { type: 'NUDGE', by: { much: 3 } }],
      ['upload', 'a.txt', new Uint8Array(Buffer.from('hello'))],
      ['listWorkflows'],
      ['getWorkflow', 'build'],
      ['listModels'],
      ['getMetrics', {}],
      ['getSetup'],
      ['setKey', 'anthropic', { key: 'k', keep: 'memory', check: false }],
      ['removeKey', 'anthropic'],
      ['testProvider', 'openai'],
      ['testAgent', 'claude'],
      ['setDefaultModels', { planner: 'openai:x' }],
      ['getMetrics', { projectId: 'p-1', from: '2026-02-01', bucket: 'week', timeZone: 'Europe/Berlin' }],
      ['readiness'],
    ]);
    expect(await client.me()).toEqual({ userId: 'local' });
    expect(await client.createSignInLink()).toContain(`${server.url}/auth?code=`);
    expect(await client.listRuns()).toEqual({ items: [aView('r-1')], nextCursor: 'next' });
  });

  it.each<GateDecision>([
    {
      decision: 'approve',
      artifactHash: 'a'.repeat(64),
      codeTree: 'b'.repeat(40),
      notes: 'fine',
      editedPlan: '# Plan',
    },
    { decision: 'reject', feedback: 'smaller steps' },
    { decision: 'answer', response: 'OAuth' },
    { decision: 'answer', response: ['a', 'b'] },
    { decision: 'ignore' },
    { decision: 'ask', question: 'why?' },
    { decision: 'retry' },
    { decision: 'accept', reason: 'known flake' },
    { decision: 'extend', minutes: 30 },
  ])('decides a gate by its id and by its run: $decision', async (decision) => {
    const orchestrator = stubOrchestrator({
      decideGate: async () => aView('r-1'),
      decideOpenGate: async () => aView('r-1'),
    });
    const own = await startTestServer({ orchestrator });
    await own.client.decideGate('r-1.4', decision);
    await own.client.decideOpenGate('r-1', decision);
    expect(own.orchestrator.calls).toEqual([
      ['decideGate', { userId: 'local', request: A_REQUEST }, 'r-1.4', decision],
      ['decideOpenGate', { userId: 'local', request: A_REQUEST }, 'r-1', decision],
    ]);
    await own.close();
  });

  it('throws what the server refuses, with the winner of a race', async () => {
    const decisions = await Promise.allSettled(
      Array.from({ length: 50 }, () => server.client.decideOpenGate('r-1', { decision: 'approve' })),
    );
    expect(decisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { reason } = decisions.find((one) => one.status === 'rejected')!;
    expect(reason).toBeInstanceOf(ApiError);
    expect(reason).toMatchObject({ status: 409, code: 'conflict', message: 'Gate r-1.1 is decided; local was first.' });
    expect((reason as ApiError).problem['winner']).toBe('local');
  });

  it('throws all faults of a request at once', async () => {
    const failure = await server.client.launchRun({ projectId: '', request: '' }).catch((error: unknown) => error);
    expect((failure as ApiError).problem.faults).toEqual([
      { path: 'projectId', message: expect.stringContaining('must be an id') },
      { path: 'request', message: 'must not be empty' },
    ]);
  });

  it.each(['a\nb', 'a\tb', 'x\u001b[2J', '\u202Eevil', '\u009b2J', 'a\u200Bb', 'n'.repeat(201)])(
    'throws for the project name %j',
    async (name) => {
      const wanted = { name, repository: '/srv/demo' };
      await expect(server.client.createProject(wanted)).rejects.toMatchObject({ status: 400 });
      await expect(server.client.launchRun({ project: wanted, request: 'x' })).rejects.toMatchObject({ status: 400 });
      expect(server.orchestrator.calls).toEqual([]);
    },
  );

  it.each(['größe 👩‍💻', 'n'.repeat(200)])('takes the project name %j', async (name) => {
    await server.client.createProject({ name, repository: '/srv/demo' });
    expect(server.orchestrator.calls).toMatchObject([['createProject', {}, { name }]]);
  });

  it('throws when it is not let in', async () => {
    const stranger = createClient({ baseUrl: server.url, token: 'wrong' });
    await expect(stranger.getRun('r-1')).rejects.toMatchObject({ name: 'ApiError', status: 401, code: 'unauthorized' });
  });

  it('gives what is not ready instead of throwing', async () => {
    const readiness = async () => ({ ready: false, checks: [] });
    const own = await startTestServer({ orchestrator: stubOrchestrator({ readiness }) });
    expect(await own.client.readiness()).toEqual({ ready: false, checks: [] });
    await own.close();
  });

  it('sends ids as they are and refuses an empty one', async () => {
    await expect(server.client.getRun('')).rejects.toThrow('The id is empty');
    await expect(server.client.getRun('../../healthz?x=#')).rejects.toMatchObject({ status: 400 });
    expect(server.orchestrator.calls).toEqual([]);
  });

  it('repeats what the network lost under one idempotency key, so that it is done once', async () => {
    const keys: (string | null)[] = [];
    const lossy = createClient({
      baseUrl: server.url,
      token: TOKEN,
      backoff: { minMs: 1, maxMs: 2 },
      fetch: async (input, init) => {
        keys.push(new Headers(init?.headers).get('idempotency-key'));
        const answer = await fetch(input, init);
        if (keys.length < 3) throw new TypeError('fetch failed');
        return answer;
      },
    });
    expect(await lossy.launchRun({ projectId: 'p-1', request: 'x' })).toMatchObject({ id: 'r-1' });
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(server.orchestrator.calls).toHaveLength(1);
    await lossy.launchRun({ projectId: 'p-1', request: 'x' });
    expect(new Set(keys).size).toBe(2);
  });

  it('says that nothing answers, by name', async () => {
    const nobody = createClient({ baseUrl: 'http://127.0.0.1:1/', backoff: { minMs: 1, maxMs: 2 } });
    const failure = await nobody.getRun('r-1').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ServerUnreachable);
    expect(failure).toMatchObject({ message: 'No Autonomous server answers at http://127.0.0.1:1.' });
  });

  describe('before something else than our server', () => {
    let proxy: Server;
    afterEach(() => new Promise((resolve) => proxy.close(resolve)));

    it.each([
      [502, 'unavailable'],
      [404, 'invalid_request'],
    ])('makes sense of a bare %i', async (status, code) => {
      proxy = createServer((_request, response) => response.writeHead(status).end('<h1>nginx</h1>'));
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const client = createClient({
        baseUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        token: TOKEN,
      });
      await expect(client.getRun('r-1')).rejects.toMatchObject({
        status,
        code,
        message: expect.stringContaining('proxy'),
      });
    });

    it('does not follow a redirect with its token', async () => {
      proxy = createServer((_request, response) => response.writeHead(307, { Location: `${server.url}/api/me` }).end());
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const client = createClient({ baseUrl, token: TOKEN, backoff: { minMs: 1, maxMs: 2 } });
      await expect(client.me()).rejects.toBeInstanceOf(ServerUnreachable);
    });
  });
});

describe('following the feed', () => {
  let server: ServerUnderTest;
  let stop: AbortController;
  beforeEach(async () => {
    server = await startTestServer();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await server.close();
  });

  const positionsOf = (events: readonly WorkflowEvent[]) => events.map(({ position }) => position);
  const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

  it('has no gap and no double over 50 lost connections', async () => {
    const sockets: WebSocket[] = [];
    const client = createClient({
      baseUrl: server.url,
      token: TOKEN,
      backoff: { minMs: 1, maxMs: 5 },
      WebSocket: recording(sockets),
    });
    const events: WorkflowEvent[] = [];
    const arrived = new Map<number, () => void>();
    const following = client.followFeed({
      signal: stop.signal,
      onEvent: (event) => {
        events.push(event);
        arrived.get(event.position)?.();
      },
    });
    const rounds = 50;
    let drops = 0;
    // Between two sockets a question over HTTP may bring the events: that round lost nothing.
    for (let round = 1; drops < rounds; round += 1) {
      const before = await server.store.lastPosition();
      const middle = new Promise<void>((resolve) => arrived.set(before + 10, resolve));
      await server.source.append('a', 20);
      await middle;
      // The rest of the batch is on its way, or in this socket and not yet seen; what follows finds nobody.
      drops += sockets.filter(({ readyState }) => readyState === WebSocket.OPEN).length;
      for (const socket of sockets) socket.terminate();
      await server.source.append('b', round % 3);
    }
    const total = await server.store.lastPosition();
    await new Promise<void>((resolve) => {
      arrived.set(total, resolve);
      if (events.at(-1)?.position === total) resolve();
    });
    stop.abort();
    await following;
    expect(drops).toBeGreaterThanOrEqual(rounds);
    expect(positionsOf(events)).toEqual(upTo(total));
  });

  it('works with the WebSocket of the platform, and tells how the connection is', async () => {
    await server.source.append('a', 2);
    const client = createClient({ baseUrl: server.url, token: TOKEN });
    const events: WorkflowEvent[] = [];
    const states: FeedStatus[] = [];
    const live = Promise.withResolvers<void>();
    const following = client.followFeed({
      signal: stop.signal,
      onEvent: (event) => events.push(event),
      onStatus: (status) => {
        states.push(status);
        if (status.state === 'live') live.resolve();
      },
    });
    await live.promise;
    expect(positionsOf(events)).toEqual([1, 2]);
    expect(states).toEqual([
      { state: 'connecting' },
      { state: 'replaying', feedId: server.store.feedId, reset: false, process: expect.any(String) },
      { state: 'live', feedId: server.store.feedId, position: 2 },
    ]);
    stop.abort();
    await following;
  });

  it('comes back when the server does, from where it was, and starts afresh on another feed', async () => {
    const statuses: FeedStatus[] = [];
    const store = createRunStore();
    const changed = (test: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => test() && resolve();
        store.subscribe(look);
        look();
      });
    store.subscribe(({ context }) => {
      if (context.connection !== statuses.at(-1) && context.connection.state !== 'idle')
        statuses.push(context.connection);
    });
    const state = () => store.getSnapshot().context;
    const { client, port } = server;
    const syncing = syncRunStore({ client, store, signal: stop.signal });
    await startRun(server, 'a');
    await changed(() => state().position === 1);
    expect(selectRuns(state()).map(({ id }) => id)).toEqual(['a']);

    await server.close();
    await changed(() => state().connection.state === 'offline');
    expect(selectRuns(state()).map(({ id }) => id)).toEqual(['a']);

    server = await startTestServer({ port });
    await startRun(server, 'b');
    await startRun(server, 'c');
    await changed(() => state().connection.state === 'live' && state().position === 2);
    expect(statuses.filter((status) => status.state === 'replaying' && status.reset)).toHaveLength(1);
    expect(state().feedId).toBe(server.store.feedId);
    expect(
      selectRuns(state())
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(['b', 'c']);
    stop.abort();
    await syncing;
  });

  describe('where no WebSocket gets through', () => {
    let isLetThrough = false;
    /** Refuses as a proxy does, until it lets through. */
    const guarded = function (url: string) {
      return isLetThrough ? new WebSocket(url) : refusedSocket();
    } as unknown as WebSocketConstructor;
    const pollingClient = () =>
      createClient({
        baseUrl: server.url,
        token: TOKEN,
        WebSocket: guarded,
        backoff: { minMs: 5, maxMs: 20 },
        pollIntervalMs: 10,
      });
    beforeEach(() => {
      isLetThrough = false;
    });

    it('asks instead, goes on by WebSocket when it can, and gives each event once and in order', async () => {
      await server.source.append('a', 450);
      const events: WorkflowEvent[] = [];
      const states: string[] = [];
      const following = pollingClient().followFeed({
        signal: stop.signal,
        onEvent: (event) => events.push(event),
        onStatus: ({ state }) => {
          if (states.at(-1) !== state) states.push(state);
        },
      });
      await expect.poll(() => states.at(-1)).toBe('polling');
      expect(positionsOf(events)).toEqual(upTo(450));
      await server.source.append('b', 3);
      await expect.poll(() => events.length).toBe(453);
      isLetThrough = true;
      await expect.poll(() => states.at(-1)).toBe('live');
      await server.source.append('a', 2);
      await expect.poll(() => events.length).toBe(455);
      expect(positionsOf(events)).toEqual(upTo(455));
      // Whatever works is shown, and not each try of what does not.
      expect(states.filter((state) => state === 'polling')).toHaveLength(1);
      stop.abort();
      await following;
    });

    it('gives the events of the runs that were asked for, from the end where nothing else is wanted', async () => {
      await server.source.append('a', 5);
      const events: WorkflowEvent[] = [];
      let state = '';
      const following = pollingClient().followFeed({
        after: 'end',
        runIds: ['b'],
        signal: stop.signal,
        onEvent: (event) => events.push(event),
        onStatus: (status) => (state = status.state),
      });
      await expect.poll(() => state).toBe('polling');
      await server.source.append('a', 1);
      await server.source.append('b', 2);
      await expect.poll(() => positionsOf(events)).toEqual([7, 8]);
      stop.abort();
      await following;
    });

    it('says so when the server goes away, and starts afresh on another feed', async () => {
      const store = createRunStore();
      const state = () => store.getSnapshot().context;
      const { port } = server;
      const syncing = syncRunStore({ client: pollingClient(), store, signal: stop.signal });
      await startRun(server, 'a');
      await expect.poll(() => Object.keys(state().runs)).toEqual(['a']);
      await server.close();
      await expect.poll(() => state().connection.state).toBe('offline');
      server = await startTestServer({ port });
      await startRun(server, 'b');
      await expect.poll(() => Object.keys(state().runs)).toEqual(['b']);
      expect(state()).toMatchObject({ feedId: server.store.feedId, position: 1 });
      stop.abort();
      await syncing;
    });

    it('gives foreseen conflicts as well, of all runs at once, and asks for them only when they are others', async () => {
      const conflict = {
        projectId: 'p-1',
        with: { kind: 'base' as const, branch: 'main' },
        files: ['a'],
        fileCount: 1,
      };
      const [ofA, ofB] = [
        { ...conflict, runId: 'a' },
        { ...conflict, runId: 'b' },
      ];
      let asked = 0;
      const listConflicts = async (): Promise<readonly ForeseenConflict[]> => {
        asked += 1;
        return server.source.foreseen.conflicts();
      };
      await server.close();
      server = await startTestServer({ orchestrator: stubOrchestrator({ listConflicts }) });
      server.source.foresee('a', ofA);
      server.source.foresee('b', ofB);
      const store = createRunStore();
      const syncing = syncRunStore({ client: pollingClient(), store, signal: stop.signal, runIds: ['a'] });
      const state = () => store.getSnapshot().context;
      await expect.poll(() => state().conflicts).toEqual({ a: [ofA] });
      await server.source.append('a', 1);
      await expect.poll(() => state().position).toBe(1);
      await server.source.append('a', 1);
      await expect.poll(() => state().position).toBe(2);
      expect(asked).toBe(1);
      server.source.foresee('a');
      await expect.poll(() => state().conflicts).toEqual({});
      stop.abort();
      await syncing;
    });

    it('lets an error of its own listener through', async () => {
      await server.source.append('a', 1);
      const failure = new TypeError('cannot draw this');
      const following = pollingClient().followFeed({
        signal: stop.signal,
        onEvent: () => {
          throw failure;
        },
      });
      await expect(following).rejects.toBe(failure);
    });
  });

  it('gives up when it is not let in', async () => {
    const client = createClient({ baseUrl: server.url, token: 'wrong' });
    await expect(client.followFeed({ signal: stop.signal, onEvent: () => {} })).rejects.toMatchObject({ status: 401 });
  });

  it('lets an error of its own listener through instead of connecting again', async () => {
    await server.source.append('a', 1);
    const failure = new TypeError('cannot draw this');
    const following = server.client.followFeed({
      signal: stop.signal,
      onEvent: () => {
        throw failure;
      },
    });
    await expect(following).rejects.toBe(failure);
  });

  it('ends at once when it is stopped while it waits for the server', async () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', backoff: { minMs: 1, maxMs: 1 } });
    const states: string[] = [];
    await client.followFeed({
      signal: stop.signal,
      onEvent: () => {},
      onStatus: ({ state }) => {
        states.push(state);
        if (states.length === 20) stop.abort();
      },
    });
    expect(states.slice(-2)).toEqual(['connecting', 'offline']);
  });
});

/** The engine's first event of a run. */
async function startRun(server: ServerUnderTest, runId: string): Promise<void> {
  const view = aView(runId);
  const start = {
    projectId: view.projectId,
    userId: view.userId,
    workflow: { ...view.workflow, fingerprint: 'f' },
    request: view.originalRequest,
    config: view.config,
    requestedConfig: {},
    branch: view.branch,
  };
  await server.source.appendEvent(runId, anEvent('RUN_STARTED', start));
}

/** Closes at once, as a browser's does when the upgrade is refused. */
function refusedSocket(): object {
  const socket = {
    onclose: null as ((event: { readonly code: number; readonly reason: string }) => void) | null,
    send() {},
    close() {},
  };
  queueMicrotask(() => socket.onclose?.({ code: 1006, reason: '' }));
  return socket;
}

/** The `ws` library's WebSocket, noting each one that is made. */
function recording(sockets: WebSocket[]): WebSocketConstructor {
  return class extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
  } as unknown as WebSocketConstructor;
}
