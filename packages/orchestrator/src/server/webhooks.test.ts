/** Deliveries as GitHub makes them, and those that it never makes, over HTTP. */
import { createHmac, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RepositoryName } from '../forges/forge.ts';
import { type ServerUnderTest, sendRaw, startTestServer } from './running-server.fixture.ts';

const SECRET = 'a-secret-of-a-webhook';
const PATH = '/webhooks/github';
let server: ServerUnderTest;
const woken: RepositoryName[] = [];

beforeAll(async () => {
  server = await startTestServer({
    webhooks: {
      secret: SECRET,
      async wake(repository) {
        if (repository.name !== 'shop') return false;
        woken.push(repository);
        return true;
      },
    },
  });
});
afterAll(() => server.close());
beforeEach(() => void (woken.length = 0));

const sign = (body: string | Buffer, algorithm = 'sha256', secret = SECRET): string =>
  `${algorithm}=${createHmac(algorithm, secret).update(body).digest('hex')}`;
let count = 0;
/** A body that no delivery had before. */
const aBody = (name = 'shop'): string => {
  count += 1;
  return JSON.stringify({ action: 'labeled', number: count, repository: { name, owner: { login: 'acme' } } });
};
const headersOf = (body: string | Buffer, event = 'issues'): Record<string, string> => ({
  'content-type': 'application/json',
  'x-github-event': event,
  'x-github-delivery': randomUUID(),
  'x-hub-signature-256': sign(body),
});

async function deliver(body: string, headers: Readonly<Record<string, string | undefined>> = {}) {
  const all = Object.entries({ ...headersOf(body), ...headers }).filter(([, value]) => value !== undefined);
  const answer = await fetch(server.url + PATH, {
    method: 'POST',
    body,
    headers: Object.fromEntries(all) as Record<string, string>,
  });
  return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.json() };
}

it.each([
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'issue_comment',
  'issues',
  'check_run',
  'check_suite',
  'status',
])('a delivery of %s wakes those who look at its repository', async (event) => {
  expect(await deliver(aBody(), { 'x-github-event': event })).toMatchObject({ status: 202, body: { taken: true } });
  expect(woken).toEqual([{ owner: 'acme', name: 'shop' }]);
});

it('answers a ping', async () => {
  expect(await deliver(aBody(), { 'x-github-event': 'ping' })).toMatchObject({ status: 200, body: { taken: true } });
  expect(woken).toEqual([]);
});

it('takes a delivery once, also where its id or the name of its event was changed', async () => {
  const body = aBody();
  const headers = headersOf(body);
  expect((await deliver(body, headers)).body).toEqual({ taken: true });
  expect(await deliver(body, headers)).toMatchObject({ status: 202, body: { taken: false } });
  expect((await deliver(body, { 'x-github-delivery': randomUUID() })).body).toEqual({ taken: false });
  expect((await deliver(body, { 'x-github-event': 'status' })).body).toEqual({ taken: false });
  expect(woken).toHaveLength(1);
});

it('takes one of many equal deliveries at once', async () => {
  const body = aBody();
  const answers = await Promise.all(Array.from({ length: 8 }, () => deliver(body)));
  expect(answers.filter((each) => (each.body as { taken: boolean }).taken)).toHaveLength(1);
  expect(woken).toHaveLength(1);
});

it('ignores other events and repositories', async () => {
  for (const headers of [{ 'x-github-event': 'push' }, { 'x-github-event': 'workflow_run' }])
    expect(await deliver(aBody(), headers)).toMatchObject({ status: 202, body: { taken: false } });
  for (const body of [aBody('unknown'), '{}', '[]', 'null', '""', JSON.stringify({ repository: { name: ['shop'] } })])
    expect(await deliver(body)).toMatchObject({ status: 202, body: { taken: false } });
  expect(woken).toEqual([]);
});

it('is described in the document of the API, without the bearer token', async () => {
  const document = (await (await server.fetch('/api/openapi.json')).json()) as {
    paths: Record<string, { post?: { security?: unknown } }>;
  };
  expect(document.paths[PATH]?.post?.security).toEqual([]);
});

it('says how to turn webhooks on where they are off', async () => {
  const off = await startTestServer();
  const answer = await fetch(off.url + PATH, { method: 'POST', body: '{}' });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  expect(((await answer.json()) as { detail: string }).detail).toContain('Set GITHUB_WEBHOOK_SECRET');
  await off.close();
});

describe('a hostile delivery', () => {
  const deep = `{"repository":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const bodies = Array.from({ length: 5 }, () => aBody());
  it.each([
    ['without a signature', bodies[0]!, { 'x-hub-signature-256': undefined }, 401],
    ['with a signature of another secret', bodies[1]!, { 'x-hub-signature-256': sign(bodies[1]!, 'sha256', 'x') }, 401],
    [
      'with a signature by SHA-1 alone',
      bodies[2]!,
      { 'x-hub-signature-256': undefined, 'x-hub-signature': sign(bodies[2]!, 'sha1') },
      401,
    ],
    ['with SHA-1 in the header of SHA-256', bodies[2]!, { 'x-hub-signature-256': sign(bodies[2]!, 'sha1') }, 401],
    [
      'with the bearer token in place of a signature',
      bodies[3]!,
      { 'x-hub-signature-256': undefined, authorization: 'Bearer x' },
      401,
    ],
    ['with the signature of another body', bodies[3]!, { 'x-hub-signature-256': sign(bodies[4]!) }, 401],
    ['with an empty signature', bodies[3]!, { 'x-hub-signature-256': 'sha256=' }, 401],
    ['with broken JSON', '{"repository":', {}, 400],
    ['with 100,000 levels of nesting', deep, {}, 400],
    ['with the prototype of objects', '{"__proto__":{"repository":{}}}', {}, 400],
    ['of a form', bodies[4]!, { 'content-type': 'application/x-www-form-urlencoded' }, 400],
    ['without an id', bodies[4]!, { 'x-github-delivery': undefined }, 400],
    ['with an id that is none', bodies[4]!, { 'x-github-delivery': '../../x' }, 400],
    ['without an event', bodies[4]!, { 'x-github-event': undefined }, 400],
    ['with an event in another form', bodies[4]!, { 'x-github-event': 'issues;x' }, 400],
  ])('%s wakes nobody', async (_, body, headers, status) => {
    const answer = await deliver(body, headers);
    expect([answer.status, answer.type]).toEqual([status, 'application/problem+json']);
    expect(answer.body).toMatchObject({ status });
    expect(woken).toEqual([]);
  });

  it('of 25 MB is refused by its length, before it arrives', async () => {
    const head = Object.entries({ ...headersOf(''), 'content-length': String(25 * 1024 * 1024) });
    const answer = await sendRaw(server.port, headOf(head), 'more than');
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(woken).toEqual([]);
  });

  it('of 25 MB without a length is refused while it arrives', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const head = Object.entries({ ...headersOf(''), 'transfer-encoding': 'chunked' });
    const before = process.memoryUsage().rss;
    const answer = await sendRaw(server.port, `${headOf(head)}${chunk.repeat(400)}0\r\n\r\n`, 'more than');
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
    expect(woken).toEqual([]);
  });

  it('waits for its turn where eight others hold back the ends of their bodies', async () => {
    const held = Array.from({ length: 8 }, () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${headOf(Object.entries({ ...headersOf(''), 'content-length': '10' }))}{`);
      return socket;
    });
    const answers = async () => (await deliver(aBody())).status;
    await expect.poll(answers).toBe(503);
    for (const socket of held) socket.destroy();
    await expect.poll(answers).toBe(202);
  });

  it('that arrives too slowly is given up, whether it stands still or trickles', async () => {
    const held = Array.from({ length: 8 }, (_, index) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${headOf(Object.entries({ ...headersOf(''), 'content-length': '1000' }))}{`);
      const trickle = setInterval(() => index % 2 === 0 && socket.write(' '), 500);
      const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
      return { answer, socket, trickle };
    });
    try {
      const answers = async () => (await deliver(aBody())).status;
      await expect.poll(answers).toBe(503);
      await expect.poll(answers).toBe(202);
      for (const { answer } of held) expect(await answer).toMatch(/^HTTP\/1.1 400 [\s\S]*arrived too slowly/);
    } finally {
      for (const { socket, trickle } of held) {
        clearInterval(trickle);
        socket.destroy();
      }
    }
  });

  it.each([
    ['without a signature', { 'x-hub-signature-256': '' }, 401],
    ['without an event', { 'x-github-event': '' }, 400],
    ['without an id', { 'x-github-delivery': '' }, 400],
    ['of a form', { 'content-type': 'application/x-www-form-urlencoded' }, 400],
    ['of 6 MB', { 'content-length': '6000000' }, 413],
  ])('%s is refused before its body arrives', async (_, headers, status) => {
    const head = Object.entries({ ...headersOf(''), 'content-length': '10', ...headers });
    const answer = await sendRaw(server.port, headOf(head), '}');
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).not.toContain('too slowly');
  });

  it('is answered 429 after ten wrong signatures in a minute, and the right one is taken at any time', async () => {
    const own = await startTestServer({ webhooks: { secret: SECRET, wake: async () => true } });
    const post = (body: string, signature: string) =>
      fetch(own.url + PATH, {
        method: 'POST',
        body,
        headers: { ...headersOf(body), 'x-hub-signature-256': signature },
      });
    const statuses: number[] = [];
    for (let index = 0; index < 11; index += 1) statuses.push((await post('{}', `sha256=${'0'.repeat(64)}`)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    const body = aBody();
    expect((await post(body, sign(body))).status).toBe(202);
    await own.close();
  });

  function headOf(headers: readonly (readonly [string, string])[]): string {
    const lines = headers.map(([name, value]) => `${name}: ${value}`);
    return [`POST ${PATH} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, ...lines, '', ''].join('\r\n');
  }
});
