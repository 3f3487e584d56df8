import { execFile } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { checkProvider } from './provider-check.ts';

const KEY = `sk-ant-api03-${'k7'.repeat(20)}`;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const settings = (anthropic: string) => ({ keys: { anthropic: KEY }, baseUrls: { anthropic } });

it('tests a key by one request for the list of models', async () => {
  const asked: unknown[] = [];
  const url = await serve((request, response) => {
    asked.push([request.method, request.url, request.headers['x-api-key']]);
    response.end(JSON.stringify({ data: [{ id: 'claude-sonnet-5-5' }, { id: 'claude-opus-5-5' }, { id: 5 }] }));
  });
  expect(await checkProvider(settings(url), 'anthropic')).toEqual({
    status: 'ready',
    models: ['claude-sonnet-5-5', 'claude-opus-5-5'],
    detail: null,
  });
  expect(asked).toEqual([['GET', '/v1/models', KEY]]);
});

const error = (message: string, code = '') => JSON.stringify({ error: { message: `${message} ${KEY}`, code } });
it.each([
  [401, error('invalid x-api-key'), 'refused', /wrong or was deleted.*Create a new key at https:/],
  [401, error('Your API key has expired'), 'refused', /has expired/],
  [403, error('forbidden'), 'refused', /for this account, place or address/],
  [403, error('Missing scopes: api.model.read'), 'ready', /may not list models/],
  [402, error('Insufficient Balance'), 'refused', /out of credit/],
  [400, error('Your credit balance is too low'), 'refused', /out of credit/],
  [429, error('quota', 'insufficient_quota'), 'refused', /out of credit/],
  [429, error('Rate limit reached'), 'ready', /limits the rate/],
  [404, '{}', 'unreachable', /no list of models \(404\).*ANTHROPIC_BASE_URL/],
  [500, error('oops'), 'unreachable', /an error \(500\), which says nothing of the key/],
  [200, '<html>Sign in</html>', 'unreachable', /proxy’s sign-in page/],
  [200, '{"models": 1}', 'unreachable', /something else than a list/],
] as const)('reads an answer %s %s as %s', async (status, body, outcome, words) => {
  const url = await serve((_request, response) => response.writeHead(status).end(body));
  const check = await checkProvider(settings(url), 'anthropic');
  expect(check).toMatchObject({ status: outcome, detail: expect.stringMatching(words) });
  expect(JSON.stringify(check)).not.toContain(KEY);
});

it('does not take the key to where a provider redirects', async () => {
  let taken = 0;
  const other = await serve((_request, response) => {
    taken += 1;
    response.end('{"data":[]}');
  });
  const url = await serve((_request, response) => response.writeHead(302, { location: `${other}/models` }).end());
  const check = await checkProvider(settings(url), 'anthropic');
  expect(check).toMatchObject({ status: 'unreachable', detail: expect.stringContaining(new URL(other).origin) });
  expect(taken).toBe(0);
});

it('says where nothing answers, where a name is not known, and where an answer takes too long', async () => {
  const url = await serve((_request, response) => void response.writeHead(200).write('{'));
  const slow = await checkProvider(settings(url), 'anthropic', 300);
  expect(slow.detail).toMatch(/did not answer at 127\.0\.0\.1:\d+ within 0\.3 s/);
  const server = servers.pop();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
  const closed = await checkProvider(settings(url), 'anthropic');
  expect(closed).toMatchObject({ status: 'unreachable', detail: expect.stringContaining(`Nothing answers at ${url}`) });
  const unknown = await checkProvider(settings('http://nobody.invalid/v1'), 'anthropic');
  expect(unknown).toMatchObject({ status: 'unreachable', detail: expect.stringMatching(/nobody\.invalid/) });
});

it('says that the proxy of the machine wants a user name', async () => {
  const server = createServer();
  servers.push(server);
  server.on('connect', (_request, socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const script = `import { checkProvider } from ${JSON.stringify(new URL('provider-check.ts', import.meta.url).href)};
    console.log(JSON.stringify(await checkProvider({ keys: { anthropic: 'key' } }, 'anthropic')));`;
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env['PATH'], NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy },
  });
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'unreachable',
    detail: expect.stringMatching(/proxy of this machine asks for a user name/),
  });
});

it('takes a server of one’s own that has no list of models, and asks one that wants a key for it', async () => {
  const own = (baseUrl: string, apiKey?: string) => ({ keys: {}, endpoints: [{ name: 'mine', baseUrl, apiKey }] });
  const without = await serve((_request, response) => response.writeHead(404).end());
  expect(await checkProvider(own(without), 'mine')).toMatchObject({ status: 'ready', models: null });
  const guarded = await serve((_request, response) => response.writeHead(401).end());
  expect((await checkProvider(own(guarded), 'mine')).detail).toMatch(/wants a key \(401\)/);
  expect((await checkProvider(own(guarded, 'wrong'), 'mine')).detail).toMatch(/refuses the key/);
});
