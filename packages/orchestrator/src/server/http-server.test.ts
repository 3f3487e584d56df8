import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { type ServerUnderTest, sendRaw, startTestServer, TOKEN } from './running-server.fixture.ts';
import { stubOrchestrator } from './stub-orchestrator.fixture.ts';

const run = { projectId: 'p-1', request: 'Add a login page' };

describe('the server', () => {
  let server: ServerUnderTest;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());

  it('creates a run and says where it is', async () => {
    const answer = await server.post('/api/runs', { ...run, request: '  Add a login page\n' });
    expect([answer.status, answer.headers.get('location')]).toEqual([201, '/api/runs/r-1']);
    expect(await answer.json()).toMatchObject({ id: 'r-1', originalRequest: run.request, userId: 'local' });
  });

  it('sends every answer with headers that keep other pages out', async () => {
    for (const path of ['/api/runs', '/api/nothing', '/']) {
      const { headers } = await server.fetch(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });

  it('answers what it does not know with problem details', async () => {
    const answer = await server.fetch('/api/nothing');
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      status: 404,
      code: 'not_found',
      detail: 'There is no GET /api/nothing.',
    });
    expect((await server.fetch('/ws')).status).toBe(404);
    const page = await server.fetch('/nothing', { headers: { Accept: 'text/html,*/*;q=0.8' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8']);
    expect(await page.text()).toContain('There is no such page');
  });

  it('shows a browser that is not signed in how to sign in, at addresses of no page too', async () => {
    const open = (path: string, method = 'GET') =>
      fetch(`${server.url}${path}`, { method, headers: { Accept: 'text/html' }, redirect: 'manual' });
    for (const path of ['/nothing', '/runs/r-1/a/b/c/d', '/favicon.ico']) {
      const page = await open(path);
      expect([page.status, page.headers.get('content-type')]).toEqual([401, 'text/html; charset=UTF-8']);
      expect(await page.text()).toMatch(/This browser is not signed in[^]* sign-in<\/code>/);
      expect((await open(path, 'HEAD')).headers.get('content-type')).toBe('text/html; charset=UTF-8');
    }
    for (const path of ['/api', '/api/runs', '/API/runs', '/api%2Fruns', '/%61pi/runs'])
      expect([path, await (await open(path)).json()]).toEqual([
        path,
        expect.objectContaining({ code: 'unauthorized' }),
      ]);
    const program = await fetch(`${server.url}/nothing`);
    expect([program.status, program.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  });

  it('redirects the address of a page with a trailing slash to the page, signed in or not', async () => {
    for (const headers of [{ Accept: 'text/html' }, { Authorization: `Bearer ${TOKEN}` }]) {
      for (const [path, page] of [
        ['/runs/r-1/', '/runs/r-1'],
        ['/metrics/30/?a=b', '/metrics/30?a=b'],
      ]) {
        const answer = await fetch(`${server.url}${path}`, { headers, redirect: 'manual' });
        expect([answer.status, answer.headers.get('location')]).toEqual([308, page]);
      }
    }
    for (const path of ['/runs/', '//example.org/', '/runs/r-1//'])
      expect((await server.fetch(path, { redirect: 'manual' })).status).toBe(404);
  });

  it('G02: logs a bug with its stack and tells the caller nothing of it', async () => {
    const broken = await startTestServer({
      orchestrator: stubOrchestrator({ getRun: async () => Promise.reject(new TypeError('secret detail')) }),
    });
    const answer = await broken.fetch('/api/runs/r-1');
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret detail');
    expect(broken.logged).toContainEqual(
      expect.objectContaining({
        path: '/api/runs/r-1',
        err: expect.objectContaining({ message: 'secret detail', stack: expect.stringContaining('at ') }),
      }),
    );
    await broken.close();
  });

  it('says whether it is ready, with what is missing', async () => {
    const unready = await startTestServer({
      orchestrator: stubOrchestrator({
        readiness: async () => ({ ready: false, checks: [{ name: 'sandbox', ok: false, detail: 'No bubblewrap' }] }),
      }),
    });
    const answer = await fetch(`${unready.url}/readyz`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ checks: [{ detail: 'No bubblewrap' }] });
    expect((await fetch(`${unready.url}/healthz`)).status).toBe(200);
    await unready.close();
  });

  it('asks for credentials also where it listens on all addresses', async () => {
    const open = await startTestServer({ host: '0.0.0.0' });
    expect((await fetch(`${open.url}/api/runs`)).status).toBe(401);
    expect((await open.fetch('/api/runs')).status).toBe(200);
    await open.close();
  });

  describe('on bodies', () => {
    const head = (lines: string, port = server.port) =>
      `POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nConnection: close\r\n${lines}\r\n\r\n`;
    const refused = async (body: string | Uint8Array<ArrayBuffer>, path = '/api/runs') => {
      const before = server.orchestrator.calls.length;
      const answer = await server.fetch(path, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json' },
      });
      expect(server.orchestrator.calls).toHaveLength(before);
      return { status: answer.status, detail: ((await answer.json()) as { detail: string }).detail };
    };

    it('refuses 20 MB of JSON at once', async () => {
      const { status, detail } = await refused(JSON.stringify({ ...run, request: 'x'.repeat(20_000_000) }));
      expect([status, detail]).toEqual([
        413,
        'The request body has more than 1,048,576 bytes, the most that is taken. Send less; a long text, such as a plan, can be committed to the repository of the project and named by its path.',
      ]);
    });

    it('refuses 20 MB in chunks without a length, keeping none of them', async () => {
      const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      const before = process.memoryUsage().rss;
      const answer = await sendRaw(
        server.port,
        `${head('Transfer-Encoding: chunked')}${chunk.repeat(320)}0\r\n\r\n`,
        'more than',
      );
      expect(answer).toMatch(/^HTTP\/1.1 413 /);
      expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024 + 2 * 20 * 1024 * 1024);
    });

    it('refuses 100,000 levels of nesting', async () => {
      const { status, detail } = await refused(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
      expect([status, detail]).toEqual([400, 'The request body is nested deeper than 64 levels.']);
    });

    it('refuses as many unknown keys as fit, naming the first of them', async () => {
      const keys = Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`k${index}`, 0]));
      const { status, detail } = await refused(JSON.stringify(keys));
      expect(status).toBe(400);
      expect(detail.length).toBeLessThan(30_000);
      expect(detail).toMatch(/k0: is not a known key; .* and \d+ more\.$/);
    });

    it('refuses invalid UTF-8', async () => {
      const body = new Uint8Array([...Buffer.from('{"projectId":"p-1","request":"'), 0xff, ...Buffer.from('"}')]);
      expect(await refused(body)).toEqual({ status: 400, detail: 'The request body is not valid UTF-8.' });
    });

    it('refuses JSON that is none, and what is not called JSON', async () => {
      expect((await refused('{"projectId"')).detail).toContain('not valid JSON');
      const answer = await server.post('/api/runs', run, { 'Content-Type': 'text/plain' });
      expect(await answer.json()).toMatchObject({ status: 400, detail: expect.stringContaining("'text/plain'") });
    });

    it('refuses a request text of 100 kB in words', async () => {
      const { status, detail } = await refused(JSON.stringify({ ...run, request: 'x'.repeat(100_000) }));
      expect([status, detail]).toEqual([
        400,
        "The request's body cannot be taken: request: must have at most 20,000 characters.",
      ]);
    });

    it('gives up on a body that does not come', async () => {
      const impatient = await startTestServer({ requestTimeoutMs: 400 });
      const answer = await sendRaw(impatient.port, `${head('Content-Length: 100', impatient.port)}{"projectId":`);
      expect(answer).toMatch(/^HTTP\/1.1 408 /);
      expect(impatient.logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
      await impatient.close();
    });

    it('survives a client that goes away in the middle of a body', async () => {
      await new Promise<void>((resolve) => {
        const socket = connect(server.port, '127.0.0.1', () =>
          socket.write(`${head('Content-Length: 100')}{`, () => socket.resetAndDestroy()),
        );
        socket.on('close', () => resolve());
      });
      expect((await server.fetch('/api/runs')).status).toBe(200);
      expect(server.logged.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    });

    it('takes uploads of up to 10 MB', async () => {
      const upload = (bytes: number) =>
        server.fetch('/api/uploads?name=plan.svg', { method: 'POST', body: new Uint8Array(bytes).fill(65) });
      const taken = await upload(10 * 1024 * 1024);
      expect([taken.status, await taken.json()]).toEqual([
        201,
        { id: 'b'.repeat(64), name: 'plan.svg', bytes: 10 * 1024 * 1024 },
      ]);
      expect((await upload(10 * 1024 * 1024 + 1)).status).toBe(413);
    });
  });
});

describe('a server that stops', () => {
  it('lets a request come to its end, tells sockets that it goes away, and frees its port', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: release, resolve: end } = Promise.withResolvers<void>();
    const stopping = await startTestServer({
      orchestrator: stubOrchestrator({
        getRun: async (id) => {
          begin();
          await release;
          return aView(id);
        },
      }),
    });
    const socket = stopping.connect();
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise((resolve) => socket.once('close', (code) => resolve(code)));
    const idle = await stopping.fetch('/api/me');
    await idle.text();
    const answer = stopping.fetch('/api/runs/r-1');
    await begun;

    const began = performance.now();
    const stopped = stopping.close();
    expect(await closed).toBe(1001);
    await expect(stopping.fetch('/api/me')).rejects.toThrow('fetch failed');
    end();
    expect((await answer).status).toBe(200);
    await stopped;
    expect(performance.now() - began).toBeLessThan(30_000);
    await (await startTestServer({ port: stopping.port })).close();
  });

  it('waits for nobody longer than 5 seconds', async () => {
    const stopping = await startTestServer({
      orchestrator: stubOrchestrator({ getRun: () => new Promise(() => {}) }),
    });
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    stopping.source.beforeRead = async () => begin();
    const deaf = stopping.connect('/ws', { Authorization: `Bearer ${TOKEN}` });
    await new Promise((resolve) => deaf.once('open', resolve));
    deaf.send(JSON.stringify({ type: 'subscribe', protocol: 1, after: 0 }));
    await begun;
    deaf.pause();
    deaf.on('error', () => {});
    const hanging = stopping.fetch('/api/runs/r-1').catch((error: unknown) => error);
    await stopping.fetch('/api/me');

    const began = performance.now();
    await stopping.close();
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(await hanging).toMatchObject({ message: 'fetch failed' });
    deaf.terminate();
  });
});

describe('a server that cannot listen', () => {
  it('names the port and the way out', async () => {
    const first = await startTestServer();
    await expect(startTestServer({ port: first.port })).rejects.toThrow(
      `Port ${first.port} on 127.0.0.1 is in use; perhaps another server runs already. Set ORCHESTRATOR_PORT or pass --port with a free one.`,
    );
    await first.close();
  });

  it('names an address that is not there', async () => {
    await expect(startTestServer({ host: '192.0.2.1' })).rejects.toThrow('no address 192.0.2.1');
  });
});
