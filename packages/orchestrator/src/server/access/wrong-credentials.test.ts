import { once } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ServerUnderTest, sendRaw, startTestServer, TOKEN } from '../running-server.fixture.ts';
import { WrongCredentials } from './wrong-credentials.ts';

describe('a server that is shown wrong tokens', () => {
  let server: ServerUnderTest;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server.close());

  const guess = (index: number, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${server.url}/api/me`, { headers: { Authorization: `Bearer guess-${index}`, ...headers } });
  const guessTenTimes = async (): Promise<void> => {
    for (let index = 0; index < 10; index += 1) expect((await guess(index)).status).toBe(401);
  };

  it('answers 429 with the time to wait after ten, whatever the headers say of where they come from', async () => {
    await guessTenTimes();
    for (let index = 0; index < 100; index += 1) {
      const answer = await guess(index, { 'X-Forwarded-For': `10.0.0.${index}`, 'X-Real-IP': `10.0.1.${index}` });
      expect(answer.status).toBe(429);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60);
      expect(await answer.json()).toMatchObject({ status: 429, code: 'too_many_requests' });
    }
    expect(server.logged.filter(({ msg }) => String(msg).includes('wrong tokens'))).toHaveLength(1);
  });

  it('lets the owner of the right token in all the while, and anybody read what is public', async () => {
    await guessTenTimes();
    expect((await guess(11)).status).toBe(429);
    expect((await server.fetch('/api/me')).status).toBe(200);
    for (const path of ['/', '/healthz', '/readyz']) {
      expect((await fetch(server.url + path, { headers: { Authorization: 'Bearer wrong' } })).status).toBe(200);
    }
    const webSocket = server.connect();
    await once(webSocket, 'open');
    webSocket.close();
    expect((await fetch(server.createSignInLink(), { redirect: 'manual' })).status).toBe(303);
  });

  it('counts wrong tickets and tokens of WebSockets, and wrong sign-in codes', async () => {
    for (let index = 0; index < 4; index += 1) await refused(server, `/ws?ticket=${index}`, 401);
    for (let index = 0; index < 3; index += 1) await refused(server, '/ws', 401, { Authorization: 'Bearer wrong' });
    for (let index = 0; index < 3; index += 1)
      expect((await fetch(`${server.url}/auth?code=${index}`)).status).toBe(401);
    await refused(server, '/ws?ticket=x', 429);
    const code = await fetch(`${server.url}/auth?code=x`);
    expect([code.status, code.headers.has('retry-after')]).toEqual([429, true]);
    const raw = await sendRaw(
      server.port,
      `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer x\r\n\r\n`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 429 [^]*\r\nRetry-After: \d+\r\n/);
  });

  it('does not count requests that show nothing, nor cookies of sessions that have ended', async () => {
    for (let index = 0; index < 30; index += 1) {
      expect((await fetch(`${server.url}/api/me`, { headers: { Cookie: 'autonomous_session=old' } })).status).toBe(401);
    }
    expect((await guess(1)).status).toBe(401);
  });
});

describe('wrong credentials', () => {
  const log = pino({ enabled: false });

  it('are forgotten after a minute', () => {
    let now = 0;
    const wrong = new WrongCredentials({ log, now: () => now });
    for (let index = 0; index < 10; index += 1) expect(wrong.note('10.0.0.1')).toBeNull();
    now = 30_000;
    expect(wrong.note('10.0.0.1')).toBe(30);
    expect(wrong.note('10.0.0.2')).toBeNull();
    now = 60_000;
    expect(wrong.note('10.0.0.1')).toBeNull();
  });

  it('of one network of IPv6 count together, and those of IPv4 in its clothes as IPv4', () => {
    const wrong = new WrongCredentials({ log, now: () => 0 });
    for (let index = 0; index < 10; index += 1) wrong.note(`2001:db8:0:1::${index}`);
    expect(wrong.note('2001:db8:0:1:ffff::1')).toBe(60);
    expect(wrong.note('2001:db8:0:2::1')).toBeNull();
    for (let index = 0; index < 10; index += 1) wrong.note('10.0.0.1');
    expect(wrong.note('::ffff:10.0.0.1')).toBe(60);
  });

  it('of any number of addresses take bounded memory', () => {
    const wrong = new WrongCredentials({ log, now: () => 0 });
    for (let index = 0; index < 50_000; index += 1) wrong.note(`a${index}`);
    expect(wrong.size).toBe(10_000);
  });
});

async function refused(
  server: ServerUnderTest,
  path: string,
  status: number,
  headers: Record<string, string> = {},
): Promise<void> {
  const webSocket = server.connect(path, headers);
  webSocket.on('error', () => undefined);
  const [, response] = (await once(webSocket, 'unexpected-response')) as [unknown, { readonly statusCode?: number }];
  expect(response.statusCode).toBe(status);
  webSocket.terminate();
}

it('an address or header that is too long is answered with a problem document', async () => {
  const server = await startTestServer();
  const raw = await sendRaw(
    server.port,
    `GET /api/runs/r/artifacts/${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  );
  expect(raw).toMatch(/^HTTP\/1\.1 431 [^]*application\/problem\+json[^]*too long/);
  expect(await sendRaw(server.port, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json/);
  await server.close();
});
