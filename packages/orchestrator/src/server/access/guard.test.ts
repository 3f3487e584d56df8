import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerUnderTest, sendRaw, startTestServer, TOKEN } from '../running-server.fixture.ts';
import { stubOrchestrator } from '../stub-orchestrator.fixture.ts';
import { isDashboardPath } from '../pages/dashboard.ts';
import type { FeedSource } from '../feed.ts';
import { PUBLIC_PATHS, SIGNED_PATHS } from './guard.ts';
import { createServerApp } from '../http-server.ts';
import { nothingStored } from '../nothing-stored.fixture.ts';
import { createSessionCookie } from './session-cookie.ts';
import { Credentials } from './token.ts';

/** No request without credentials gets as far as the feed. */
const nothingToFollow: FeedSource = {
  feedId: 'none',
  lastPosition: () => Promise.resolve(0),
  archivedPosition: () => Promise.resolve(0),
  readAll: () => Promise.resolve([]),
  subscribe: () => () => {},
};
const isPublic = (path: string): boolean => PUBLIC_PATHS.has(path) || isDashboardPath(path);

describe('the guard', () => {
  let server: ServerUnderTest;
  beforeAll(async () => {
    server = await startTestServer({ allowedOrigins: ['https://dashboard.example'] });
  });
  afterAll(() => server.close());

  /** Names of calls that reached the orchestrator during `act`. */
  async function reached<Result>(act: () => Promise<Result>): Promise<{ result: Result; calls: unknown[] }> {
    const before = server.orchestrator.calls.length;
    const result = await act();
    return { result, calls: server.orchestrator.calls.slice(before) };
  }

  describe('without credentials', () => {
    const app = createServerApp({
      feed: nothingToFollow,
      orchestrator: stubOrchestrator(),
      store: nothingStored,
      log: pino({ enabled: false }),
      credentials: new Credentials({ token: TOKEN, store: nothingStored }),
      wrong: { note: () => null },
      cookie: createSessionCookie('session', false),
      visitors: new WeakMap(),
      baseUrl: '',
      onSignedOut: () => {},
    });
    const routes = new Set(
      app.routes
        .filter(({ method }) => method !== 'ALL')
        .map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, 'r-1')}`),
    );
    const signed = [...routes].filter((route) => SIGNED_PATHS.has(route.split(' ')[1]!));
    const closed = [...routes].filter(
      (route) => route !== 'POST /*' && !isPublic(route.split(' ')[1]!) && !signed.includes(route),
    );

    it('knows all routes of the application', () => {
      expect(closed.length).toBeGreaterThan(35);
      expect(closed).toContain('POST /api/runs/r-1/approve');
    });

    it.each(closed)('answers 401 to %s', async (route) => {
      const [method, path] = route.split(' ') as [string, string];
      const { result, calls } = await reached(() => fetch(server.url + path, { method }));
      expect(result.status).toBe(401);
      expect(result.headers.get('content-type')).toBe('application/problem+json');
      expect(result.headers.get('www-authenticate')).toContain('Bearer');
      expect(await result.json()).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(calls).toEqual([]);
    });

    it('lets deliveries of webhooks through to the check of their signature, and nothing else of that path', async () => {
      expect(signed).toEqual(['POST /webhooks/github']);
      const path = `${server.url}/webhooks/github`;
      const delivery = await fetch(path, { method: 'POST' });
      expect([delivery.status, delivery.headers.get('www-authenticate')]).toEqual([404, null]);
      for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS'])
        expect((await fetch(path, { method })).status).toBe(401);
      for (const other of ['/', '/x', '%2f..', '/../../api/runs'])
        expect((await fetch(`${path}${other}`, { method: 'POST' })).status).toBe(401);
      const upgrade = await sendRaw(
        server.port,
        `POST /webhooks/github HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
        'urn:autonomous',
      );
      expect(upgrade).toMatch(/^HTTP\/1.1 401 /);
    });

    it.each(['https://evil.example', 'null', 'https://dashboard.example'])(
      'takes no delivery that a page of %s posts',
      async (Origin) => {
        const answer = await fetch(`${server.url}/webhooks/github`, { method: 'POST', headers: { Origin } });
        expect(answer.status).toBe(403);
      },
    );

    it('answers 401 also to paths that do not exist, so that nobody learns which do', async () => {
      expect((await fetch(`${server.url}/api/nothing`)).status).toBe(401);
    });

    it.each(['/', '/healthz', '/readyz'])('lets anyone read %s', async (path) => {
      expect((await fetch(server.url + path)).status).toBe(200);
    });

    it.each([
      '/healthz/../api/runs',
      '/healthz/%2e%2e/api/runs',
      '//api/runs',
      '/healthz;/api/runs',
      '/HEALTHZ/../api/runs',
    ])('is not led past by the path %s', async (path) => {
      const answer = await sendRaw(
        server.port,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 401 /);
    });

    it('lets nobody write to a public path', async () => {
      expect((await fetch(`${server.url}/healthz`, { method: 'POST' })).status).toBe(401);
    });
  });

  describe('on credentials', () => {
    it.each([
      ['the token under another scheme', `Basic ${TOKEN}`],
      ['a wrong token', `Bearer ${'x'.repeat(TOKEN.length)}`],
      ['the beginning of the token', `Bearer ${TOKEN.slice(0, -1)}`],
      ['no token', 'Bearer '],
      [
        'an unsigned JWT',
        `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"local"}').toString('base64url')}.`,
      ],
    ])('answers 401 to %s', async (_, authorization) => {
      expect((await server.fetch('/api/runs', { headers: { Authorization: authorization } })).status).toBe(401);
    });

    it('takes the token, and the caller from it', async () => {
      expect(await (await server.fetch('/api/me')).json()).toEqual({ userId: 'local' });
    });

    it('does not take the token from the address', async () => {
      expect((await fetch(`${server.url}/api/runs?token=${TOKEN}`)).status).toBe(401);
    });
  });

  describe('on the Host header', () => {
    const request = (lines: string) =>
      sendRaw(server.port, `${lines}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`);

    it.each([
      ['another name', () => 'Host: evil.example'],
      ['another name with our port', () => `Host: evil.example:${server.port}`],
      ['a name that begins like ours', () => `Host: 127.0.0.1.evil.example:${server.port}`],
      ['a wrong port of another name', () => `Host: autonomous.example:${server.port}`],
      ['another loopback address', () => `Host: 127.0.0.2:${server.port}`],
      ['a loopback name that goes on', () => `Host: localhost.evil.example:${server.port}`],
      ['a loopback name with something for a port', () => 'Host: localhost:evil.example'],
      ['an empty value', () => 'Host: '],
      ['a user before the name', () => `Host: x@127.0.0.1:${server.port}`],
      ['two values', () => `Host: 127.0.0.1:${server.port}\r\nHost: evil.example`],
      ['two equal values', () => `Host: 127.0.0.1:${server.port}\r\nHost: 127.0.0.1:${server.port}`],
    ])('refuses %s', async (_, host) => {
      const { result, calls } = await reached(() => request(`GET /api/runs HTTP/1.1\r\n${host()}`));
      expect(result).toMatch(/^HTTP\/1.1 4(21|00) /);
      expect(result).not.toContain('r-1');
      expect(calls).toEqual([]);
    });

    it('refuses an address in the request line, whatever the Host says', async () => {
      const lines = (target: string) => `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}`;
      expect(await request(lines('http://evil.example/api/runs'))).toMatch(/^HTTP\/1.1 421 /);
      expect(await request(lines(`http://127.0.0.1:${server.port}/api/runs`))).toMatch(/^HTTP\/1.1 421 /);
    });

    it.each(['127.0.0.1', 'localhost', 'LocalHost', '[::1]'])('takes %s with our port', async (name) => {
      expect(await request(`GET /api/runs HTTP/1.1\r\nHost: ${name}:${server.port}`)).toMatch(/^HTTP\/1.1 200 /);
    });

    it.each(['127.0.0.1', 'localhost', 'LocalHost', '[::1]'])(
      'takes %s with any port, and without one',
      async (name) => {
        for (const host of [name, `${name}:3121`])
          expect(await request(`GET /api/runs HTTP/1.1\r\nHost: ${host}`)).toMatch(/^HTTP\/1.1 200 /);
      },
    );

    it('lets anybody ask under any name whether it is up, and nothing else', async () => {
      const ask = (path: string) => request(`GET ${path} HTTP/1.1\r\nHost: evil.example`);
      expect(await ask('/healthz')).toMatch(/^HTTP\/1.1 200 /);
      for (const path of ['/readyz', '/', '/healthz/', '/api/me']) expect(await ask(path)).toMatch(/^HTTP\/1.1 421 /);
    });

    it('takes the public address that was configured, and a name beside it', async () => {
      const other = await startTestServer({
        publicUrl: 'https://autonomous.example/',
        allowedHosts: ['health.example'],
      });
      const ask = (host: string) =>
        sendRaw(other.port, `GET /readyz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(await ask('autonomous.example')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('autonomous.example:443')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('health.example')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('autonomous.example\r\nOrigin: https://autonomous.example')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('autonomous.example\r\nOrigin: http://autonomous.example')).toMatch(/^HTTP\/1.1 403 /);
      expect(await ask('www.autonomous.example')).toMatch(/^HTTP\/1.1 421 /);
      expect(other.createSignInLink()).toMatch(/^https:\/\/autonomous\.example\/auth\?code=/);
      await other.close();
    });
  });

  describe('on the Origin header', () => {
    const types = [
      'application/json',
      'application/json; charset=x',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      '',
    ];

    it.each(types)('refuses a page elsewhere that posts as "%s" with a valid session', async (type) => {
      const Cookie = await signIn(server);
      const { result, calls } = await reached(() =>
        fetch(`${server.url}/api/runs`, {
          method: 'POST',
          headers: { Origin: 'https://evil.example', Cookie, ...(type ? { 'Content-Type': type } : {}) },
          body: new TextEncoder().encode('{"projectId":"p-1","request":"x"}'),
        }),
      );
      expect(result.status).toBe(403);
      expect(calls).toEqual([]);
    });

    it.each(['https://evil.example', 'null', 'vscode-webview://wrong', 'http://127.0.0.1', 'http://localhost:1'])(
      'refuses %s',
      async (Origin) => {
        expect((await server.fetch('/api/runs', { headers: { Origin } })).status).toBe(403);
      },
    );

    it('answers a preflight without any CORS header', async () => {
      const preflight = await fetch(`${server.url}/api/runs`, {
        method: 'OPTIONS',
        headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' },
      });
      expect(preflight.status).toBe(403);
      const allowed = await server.fetch('/api/runs', { headers: { Origin: 'https://dashboard.example' } });
      expect(allowed.status).toBe(200);
      for (const { headers } of [preflight, allowed]) {
        expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    });

    it('takes its own pages, also where a loopback port leads to it', async () => {
      expect((await server.fetch('/api/runs', { headers: { Origin: server.url } })).status).toBe(200);
      const ask = (host: string, origin: string) =>
        sendRaw(
          server.port,
          `GET /api/runs HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
        );
      expect(await ask('localhost:3121', 'http://localhost:3121')).toMatch(/^HTTP\/1.1 200 /);
      expect(await ask('localhost:3121', 'http://localhost:3122')).toMatch(/^HTTP\/1.1 403 /);
      expect(await ask('localhost:3121', 'http://127.0.0.1:3121')).toMatch(/^HTTP\/1.1 403 /);
    });
  });

  describe('on a browser', () => {
    it('signs it in by a link that works once', async () => {
      const link = server.createSignInLink();
      const first = await fetch(link, { redirect: 'manual' });
      expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
      const cookie = first.headers.get('set-cookie')!;
      expect(cookie).toMatch(/HttpOnly/);
      expect(cookie).toMatch(/SameSite=Strict/);
      expect((await fetch(`${server.url}/api/runs`, { headers: { Cookie: cookie.split(';')[0]! } })).status).toBe(200);

      const second = await fetch(link, { redirect: 'manual' });
      expect(second.status).toBe(401);
      expect(second.headers.get('set-cookie')).toBeNull();
      expect(await second.text()).toContain('It was used, is older than ten minutes');
    });

    it('lends a link to who is signed in already', async () => {
      const answer = await server.post('/api/sign-in-links', {});
      expect(answer.status).toBe(201);
      const { url } = (await answer.json()) as { url: string };
      expect((await fetch(url, { redirect: 'manual' })).status).toBe(303);
    });

    it('does not let a cookie make up for a wrong token', async () => {
      const Cookie = await signIn(server);
      expect(
        (await fetch(`${server.url}/api/runs`, { headers: { Cookie, Authorization: 'Bearer wrong' } })).status,
      ).toBe(401);
    });

    describe('that signs out', () => {
      const me = async (Cookie: string) => (await fetch(`${server.url}/api/me`, { headers: { Cookie } })).status;
      const signOut = (headers: Record<string, string>, body = '{}') =>
        fetch(`${server.url}/api/sign-out`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...headers },
          body,
        });

      it('ends its session and takes the cookie away, and lets the others be', async () => {
        const [mine, other] = [await signIn(server), await signIn(server)];
        const answer = await signOut({ Cookie: mine, Origin: server.url });
        expect([answer.status, await answer.json()]).toEqual([200, { ended: 1 }]);
        expect(answer.headers.get('set-cookie')).toMatch(/^autonomous_session_\w+=; Max-Age=0; Path=\/; HttpOnly/);
        expect([await me(mine), await me(other)]).toEqual([401, 200]);
      });

      it('closes the WebSockets that it opened, and no other', async () => {
        const Cookie = await signIn(server);
        const ticket = await fetch(`${server.url}/api/tickets`, { method: 'POST', headers: { Cookie } });
        const [byCookie, byTicket, byToken] = [
          server.connect('/ws', { Cookie }),
          server.connect(`/ws?ticket=${((await ticket.json()) as { ticket: string }).ticket}`, {}),
          server.connect(),
        ];
        await Promise.all([byCookie, byTicket, byToken].map((socket) => once(socket, 'open')));
        const closed = Promise.all([byCookie, byTicket].map((socket) => once(socket, 'close')));
        await signOut({ Cookie });
        expect((await closed).map(([code]) => code as unknown)).toEqual([1008, 1008]);
        expect(byToken.readyState).toBe(byToken.OPEN);
        byToken.terminate();
      });

      it('can do so for all browsers, as can who has the token', async () => {
        await signOut({ Authorization: `Bearer ${TOKEN}` }, '{"everywhere":true}');
        const [mine, other] = [await signIn(server), await signIn(server)];
        expect(await (await signOut({ Cookie: mine }, '{"everywhere":true}')).json()).toEqual({ ended: 2 });
        expect([await me(mine), await me(other)]).toEqual([401, 401]);
        expect(await server.client.signOut({ everywhere: true })).toBe(0);
        await expect(server.client.signOut()).rejects.toThrow('Set `everywhere` to end all sessions');
      });

      it.each(['/api/sign-in-links', '/api/tickets'])(
        'ends what is under way as well: %s lends nothing more',
        async (path) => {
          const Cookie = await signIn(server);
          const socket = connect(server.port, '127.0.0.1');
          let heard = '';
          socket.on('data', (chunk) => (heard += String(chunk)));
          await once(socket, 'connect');
          const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, `Cookie: ${Cookie}`];
          socket.write(
            [...head, 'Content-Type: application/json', 'Content-Length: 2', 'Connection: close', '', '{'].join('\r\n'),
          );
          // Let in by then: an answer to a later request of another connection comes after its head was read.
          await expect.poll(() => me(Cookie)).toBe(200);
          await server.client.signOut({ everywhere: true });
          socket.write('}');
          await once(socket, 'close');
          expect(heard).toMatch(/^HTTP\/1\.1 401 /);
        },
      );

      it('cannot be made to by another page', async () => {
        const Cookie = await signIn(server);
        expect((await signOut({ Cookie, Origin: 'https://evil.example' })).status).toBe(403);
        expect(await me(Cookie)).toBe(200);
      });
    });

    it('shows a page that loads nothing from anywhere', async () => {
      const page = await fetch(server.url);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const html = await page.text();
      expect(html).toContain('Autonomous is running');
      expect(html).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org)/);
    });
  });

  describe('on a WebSocket', () => {
    /** Status of a refused handshake, or 101. */
    const handshake = (path: string, headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = server.connect(path, headers);
        socket.on('open', () => {
          resolve(101);
          socket.terminate();
        });
        socket.on('unexpected-response', (_request, response) => {
          resolve(response.statusCode ?? 0);
          socket.terminate();
        });
        socket.on('error', () => {});
      });
    const bearer = { Authorization: `Bearer ${TOKEN}` };

    it.each([
      ['another site', { ...bearer, Origin: 'https://evil.example' }, 403],
      ['a sandboxed page', { ...bearer, Origin: 'null' }, 403],
      ['a web view that is not ours', { ...bearer, Origin: 'vscode-webview://wrong' }, 403],
      ['nobody', {}, 401],
      ['another host', { ...bearer, Host: 'evil.example' }, 421],
    ])('A06 refuses %s during the handshake', async (_, headers, status) => {
      const before = await server.store.lastPosition();
      expect(await handshake('/ws', headers as Record<string, string>)).toBe(status);
      expect(await server.store.lastPosition()).toBe(before);
    });

    it('knows only the one path', async () => {
      expect(await handshake('/elsewhere', bearer)).toBe(404);
      expect(await handshake('/', {})).toBe(401);
      expect(await handshake('/healthz', {})).toBe(401);
    });

    it('takes a token, a session of its own page, or a ticket, which works once', async () => {
      expect(await handshake('/ws', bearer)).toBe(101);
      expect(await handshake('/ws', { Cookie: await signIn(server), Origin: server.url })).toBe(101);
      const ticket = await issueTicket(server);
      expect(await handshake(`/ws?ticket=${ticket}`, {})).toBe(101);
      expect(await handshake(`/ws?ticket=${ticket}`, {})).toBe(401);
    });

    it('does not let a ticket open anything else', async () => {
      const ticket = await issueTicket(server);
      expect((await fetch(`${server.url}/api/runs?ticket=${ticket}`)).status).toBe(401);
    });
  });
});

async function issueTicket(server: ServerUnderTest): Promise<string> {
  const answer = await server.post('/api/tickets', {});
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { ticket: string }).ticket;
}

/** A cookie of a browser that signed in. */
async function signIn(server: ServerUnderTest): Promise<string> {
  const answer = await fetch(server.createSignInLink(), { redirect: 'manual' });
  return answer.headers.get('set-cookie')!.split(';')[0]!;
}
