/** The way out of a sandbox, asked over its real socket, in front of real servers. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { stat } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEgressProxy, type EgressProxyOptions } from './egress-proxy.ts';
import type { EgressRefusal } from '../sandbox.ts';

interface OpenProxy {
  readonly path: string;
  readonly close: () => Promise<void>;
}

let server: Server;
let port: number;
let requests: { readonly url: string; readonly headers: IncomingMessage['headers']; readonly body: string }[];
let refusals: EgressRefusal[];
let proxies: OpenProxy[];
/** Names that were looked up, in order. */
let asked: string[];

beforeEach(async () => {
  [requests, refusals, proxies, asked] = [[], [], [], []];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.end('reached');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A proxy for which every name leads to the test's server, unless told otherwise. */
async function aProxy(allow: readonly string[], options: Partial<EgressProxyOptions> = {}): Promise<OpenProxy> {
  const created = createEgressProxy({
    allow,
    onRefused: (refusal) => refusals.push(refusal),
    resolve: async (host) => {
      asked.push(host);
      return ['127.0.0.1'];
    },
    ...options,
  });
  const proxy = { path: await created.socketPath(), close: () => created.close() };
  proxies.push(proxy);
  return proxy;
}

/** Sends lines as they are and gives all that comes back until the connection is closed. */
function say(proxy: OpenProxy, ...parts: readonly (string | Buffer | Promise<string>)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(proxy.path);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)));
    for (const part of parts)
      if (part instanceof Promise) void part.then((late) => socket.write(late));
      else socket.write(part);
  });
}

const get = (url: string, host: string, ...headers: readonly string[]): string =>
  [`GET ${url} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...headers, '', ''].join('\r\n');
const tunnel = (target: string): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;

/** The first that a client of TLS says. */
async function clientHello(name: string | undefined): Promise<Buffer> {
  const listener = createTcpServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const said = new Promise<Buffer>((resolve) => listener.once('connection', (socket) => socket.once('data', resolve)));
  const options = { host: '127.0.0.1', port: (listener.address() as AddressInfo).port };
  const client = connectTls({ ...options, ...(name === undefined ? {} : { servername: name }) }).on('error', () => {});
  const hello = await said;
  client.destroy();
  listener.close();
  return hello;
}

/** The message of one record of TLS in records of 50 bytes. */
function inRecords(record: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 5; at < record.length; at += 50) {
    const part = record.subarray(at, at + 50);
    parts.push(Buffer.from([22, 3, 1, 0, part.length]), part);
  }
  return Buffer.concat(parts);
}

describe('what is allowed', () => {
  it('plain HTTP reaches the host that is listed, with its path, its headers and its body', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    const body = '{"a":1}';
    const answer = await say(
      proxy,
      `POST http://allowed.test:${port}/path?q=1 HTTP/1.1\r\nHost: allowed.test:${port}\r\nX-Mine: yes\r\nProxy-Authorization: secret\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('reached');
    expect(requests).toMatchObject([
      { url: '/path?q=1', body, headers: { host: `allowed.test:${port}`, 'x-mine': 'yes' } },
    ]);
    expect(requests[0]?.headers).not.toHaveProperty('proxy-authorization');
    expect(requests[0]?.headers).not.toHaveProperty('x-hop');
    expect(asked).toEqual(['allowed.test']);
    expect(refusals).toEqual([]);
  });

  it('a tunnel carries bytes both ways, also where the server speaks first', async () => {
    const echo = createTcpServer((socket) => {
      socket.write('220 ready\n');
      socket.on('data', (chunk: Buffer) => socket.end(`you said ${chunk.toString('hex')}`));
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    const { port: echoPort } = echo.address() as AddressInfo;
    const proxy = await aProxy([`internal:allowed.test:${echoPort}`]);
    for (const said of [Buffer.from([0, 1, 2]), Buffer.from('EHLO me\r\n'), Buffer.from('SSH-2.0-x of mine\r\n')]) {
      const answer = await say(proxy, tunnel(`allowed.test:${echoPort}`), said);
      expect(answer).toBe(`HTTP/1.1 200 Connection Established\r\n\r\n220 ready\nyou said ${said.toString('hex')}`);
    }
    expect(refusals).toEqual([]);
    await new Promise((resolve) => echo.close(resolve));
  });

  it('plain HTTP inside a tunnel is read request by request', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    const host = `allowed.test:${port}`;
    const first = `GET /one HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const answer = await say(proxy, tunnel(host), first + get('/two', host));
    expect(answer.match(/reached/g)).toHaveLength(2);
    expect(requests.map(({ url }) => url)).toEqual(['/one', '/two']);
  });

  it.each([
    ['a status below those of HTTP', '099 Hm', '', '502 Bad Gateway'],
    ['a status above those of HTTP', '700 Hm', '', '502 Bad Gateway'],
    ['another protocol', '101 Switching Protocols', 'Upgrade: x\r\nConnection: upgrade\r\n', '502 Bad Gateway'],
    ['a control character in the reason phrase', '200 O\x01K', '', '200 OK'],
    ['a control character in a header', '200 OK', 'X-Odd: a\x01b\r\n', '502 Bad Gateway'],
  ])('a server that answers with %s does no harm', async (_what, status, headers, answered) => {
    const odd = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(`HTTP/1.1 ${status}\r\n${headers}Content-Length: 0\r\n\r\n`));
    });
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const host = `allowed.test:${(odd.address() as AddressInfo).port}`;
    const proxy = await aProxy([`internal:${host}`]);
    expect(await say(proxy, get(`http://${host}/`, host))).toContain(`HTTP/1.1 ${answered}\r\n`);
    await new Promise((resolve) => odd.close(resolve));
  });

  it('an address that is listed as it is written', async () => {
    const proxy = await aProxy([`internal:127.0.0.1:${port}`]);
    expect(await say(proxy, get(`http://127.0.0.1:${port}/`, `127.0.0.1:${port}`))).toContain('reached');
  });

  it('the socket is this user’s alone, and gone with the proxy', async () => {
    const proxy = await aProxy([]);
    const folder = proxy.path.replace(/\/[^/]+$/, '');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    await proxy.close();
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('D03: names that are like an allowed one', () => {
  it.each([
    ['a longer name that begins with it', 'allowed.test.evil.test', 'host'],
    ['a longer name that ends with it', 'evil-allowed.test', 'host'],
    ['a host below it', 'sub.allowed.test', 'host'],
    ['a trailing dot', 'allowed.test.', 'host'],
    ['upper case', 'ALLOWED.TEST', 'host'],
    ['a look-alike in punycode', 'xn--llowed-8of.test', 'host'],
    ['an escaped letter', 'allowed%2etest', 'host'],
    ['a name behind user and password', 'allowed.test@evil.test', 'host'],
  ] as const)('refuses %s', async (_what, name, reason) => {
    const proxy = await aProxy(['allowed.test', `internal:allowed.test:${port}`]);
    expect(await say(proxy, tunnel(`${name}:${port}`))).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(await say(proxy, get(`http://${name}:${port}/`, `${name}:${port}`))).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(refusals[0]).toMatchObject({ reason, host: name, port });
    expect({ asked, requests }).toEqual({ asked: [], requests: [] });
  });

  it.each([
    ['a NUL', `evil.test\0.allowed.test`],
    ['a line break', 'evil.test\r\nX: .allowed.test'],
    ['a space', 'evil.test .allowed.test'],
    ['a letter that is no ASCII', 'аllowed.test'],
  ])('refuses a name with %s', async (_what, name) => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    expect(await say(proxy, tunnel(`${name}:${port}`))).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(await say(proxy, get(`http://${name}:${port}/`, `allowed.test:${port}`))).toMatch(/^HTTP\/1\.1 40[03] /);
    expect({ asked, requests, told: refusals.length > 0 }).toEqual({ asked: [], requests: [], told: true });
    // What is told is one line.
    expect(JSON.stringify(refusals)).not.toMatch(/\\u0000|\\r|\\n/);
  });

  it('refuses addresses that are not listed as such', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`], { resolve: async (host) => [host] });
    for (const address of ['127.0.0.1', '93.184.216.34', '[::1]', '[::ffff:127.0.0.1]'])
      expect(await say(proxy, tunnel(`${address}:${port}`))).toContain('403 Forbidden');
    expect(refusals.map(({ reason }) => reason)).toEqual(['host', 'host', 'host', 'host']);
    expect(requests).toEqual([]);
  });

  it('refuses an allowed host that leads into a private network', async () => {
    const proxy = await aProxy([`allowed.test:${port}`], { resolve: async () => ['10.0.0.1', '127.0.0.1'] });
    expect(await say(proxy, tunnel(`allowed.test:${port}`))).toContain('leads to 10.0.0.1, 127.0.0.1');
    expect(refusals).toMatchObject([{ reason: 'address', host: 'allowed.test', port }]);
  });

  it('refuses another host in the Host header, in a second one, and in a tunnel', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    const host = `allowed.test:${port}`;
    const url = `http://${host}/`;
    const answers = [
      await say(proxy, get(url, 'evil.test')),
      await say(proxy, get(url, `allowed.test`)),
      await say(proxy, get(url, host, 'Host: evil.test')),
      await say(proxy, `GET ${url} HTTP/1.1\r\nConnection: close\r\n\r\n`),
      await say(proxy, tunnel(host), get('/', 'evil.test')),
      await say(proxy, tunnel(host), get('http://evil.test/', 'evil.test')),
    ];
    for (const answer of answers) expect(answer).toMatch(/HTTP\/1\.1 403 Forbidden\r\n[\s\S]*Refused: /);
    // A second request behind an allowed one is looked at as well.
    const both = await say(
      proxy,
      tunnel(host),
      `GET /one HTTP/1.1\r\nHost: ${host}\r\n\r\n${get('/two', 'evil.test')}`,
    );
    expect(both).toMatch(/reached[\s\S]*403 Forbidden/);
    // And HTTP/2 without TLS cannot be looked at.
    expect(await say(proxy, tunnel(host), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).not.toContain('reached');
    expect(requests.map(({ url: path }) => path)).toEqual(['/one']);
    expect(new Set(refusals.map(({ reason }) => reason))).toEqual(new Set(['fronting', 'malformed']));
  });

  it.each([
    ['behind an empty line', '\r\nGET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    ['behind half an empty line', '\nGET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    ['with a method that nobody knows', 'BREW /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    ['with a method in lower case', 'get /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    ['behind a space', ' GET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
  ])('refuses another host in a tunnel %s, in one piece or byte by byte', async (_what, request) => {
    const seen: string[] = [];
    const other = createTcpServer((socket) =>
      socket.on('error', () => {}).on('data', (chunk: Buffer) => seen.push(chunk.toString())),
    );
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const host = `allowed.test:${(other.address() as AddressInfo).port}`;
    const proxy = await aProxy([`internal:${host}`]);
    expect(await say(proxy, tunnel(host), request)).toMatch(/HTTP\/1\.1 40[03] Forbidden\r\n[^]*Refused: /);
    const slow = connect(proxy.path).on('error', () => {});
    const answered = new Promise<string>((resolve) => {
      let text = '';
      slow.on('data', (chunk) => (text += chunk)).on('close', () => resolve(text));
    });
    slow.write(tunnel(host));
    for (const byte of request) {
      if (!slow.writable) break;
      slow.write(byte);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(await answered).toMatch(/HTTP\/1\.1 40[03] Forbidden\r\n[^]*Refused: /);
    expect(seen).toEqual([]);
    await new Promise((closed) => other.close(closed));
  });

  it('lets TLS through for the host of the tunnel or without a name, and refuses it for another', async () => {
    const greeted: Buffer[] = [];
    const other = createTcpServer((socket) =>
      socket.on('error', () => {}).on('data', (chunk: Buffer) => socket.end(`${greeted.push(chunk)}`)),
    );
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const host = `allowed.test:${(other.address() as AddressInfo).port}`;
    const proxy = await aProxy([`internal:${host}`]);
    for (const name of ['allowed.test', undefined]) {
      const hello = await clientHello(name);
      // One record, and the same message in several.
      expect(await say(proxy, tunnel(host), hello)).toMatch(/\d$/);
      expect(greeted.pop()).toEqual(hello);
      expect(await say(proxy, tunnel(host), inRecords(hello))).toMatch(/\d$/);
      expect(greeted.pop()).toEqual(inRecords(hello));
    }
    expect(refusals).toEqual([]);
    const evil = await clientHello('evil.test');
    const alert = Buffer.from([21, 3, 1, 0, 2, 1, 0]);
    for (const said of [evil, inRecords(evil), Buffer.concat([alert, evil])])
      expect(await say(proxy, tunnel(host), said)).toBe('HTTP/1.1 200 Connection Established\r\n\r\n');
    expect(greeted).toEqual([]);
    expect(refusals).toMatchObject([
      { reason: 'fronting', message: 'TLS for evil.test was asked for in a tunnel to allowed.test' },
      { reason: 'malformed' },
    ]);
    await new Promise((closed) => other.close(closed));
  });

  it('keeps a body in one piece, so that it cannot hold a request to another host', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    const host = `allowed.test:${port}`;
    const hidden = get('/hidden', 'evil.test');
    const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    await say(proxy, `${get(`http://${host}/one`, host, 'Transfer-Encoding: chunked')}${chunked}`);
    expect(requests.map(({ url, body }) => ({ url, body }))).toEqual([{ url: '/one', body: hidden }]);
  });

  it('keeps the length of a body that the Connection header names, and the host', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    const host = `allowed.test:${port}`;
    const hidden = get('/hidden', 'evil.test');
    await say(
      proxy,
      `GET http://${host}/one HTTP/1.1\r\nHost: ${host}\r\nConnection: close, content-length, host\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    );
    expect(requests).toMatchObject([{ url: '/one', body: hidden, headers: { host } }]);
  });

  it('refuses everything where the list is empty, and tells once of each host and port', async () => {
    const proxy = await aProxy([]);
    for (const target of ['allowed.test:443', 'allowed.test:443', 'allowed.test:80'])
      expect(await say(proxy, tunnel(target))).toContain('Refused: allowed.test is not on the allow-list');
    expect(refusals).toEqual([
      {
        reason: 'host',
        host: 'allowed.test',
        port: 443,
        message: 'allowed.test is not on the allow-list of this sandbox',
      },
      {
        reason: 'host',
        host: 'allowed.test',
        port: 80,
        message: 'allowed.test is not on the allow-list of this sandbox',
      },
    ]);
  });

  it('refuses other ports than those that are named, or 443 and 80 where none is', async () => {
    const proxy = await aProxy(['allowed.test', 'other.test:8443']);
    expect(await say(proxy, tunnel('allowed.test:22'))).toContain(
      'port 22 of allowed.test is not allowed; allowed are 443, 80',
    );
    expect(await say(proxy, tunnel('other.test:443'))).toContain('allowed are 8443');
    expect(refusals.map(({ reason }) => reason)).toEqual(['port', 'port']);
  });

  it('cannot be given an entry that it would read in another way', () => {
    for (const entry of [
      'ALLOWED.test',
      '*.allowed.test',
      'allowed.test.',
      'http://allowed.test',
      'a b',
      '',
      '0x7f000001',
      '127.1',
      'allowed.test:0',
      'internal:',
    ])
      expect(() => createEgressProxy({ allow: [entry] }), entry).toThrow('is not a valid allow-list entry');
  });
});

describe('I04: addresses that belong to nobody outside', () => {
  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '168.63.129.16',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    '::ffff:169.254.169.254',
    '::ffff:93.184.216.34',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    '2001:0:4136:e378::',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%lo',
    'fec0::1',
    'ff02::1',
    'not-an-address',
  ])('refuses a name that leads to %s when it connects', async (address) => {
    const proxy = await aProxy(['allowed.test'], { resolve: async () => [address] });
    expect(await say(proxy, tunnel('allowed.test:443'))).toContain('which is not a public address');
    expect(refusals).toMatchObject([{ reason: 'address' }]);
  });

  it.each(['0x7f000001', '2130706433', '017700000001', '127.1', 'localhost', 'localhost.', 'metadata.google.internal'])(
    'refuses %s, which no list can name by accident',
    async (host) => {
      const proxy = await aProxy([`internal:allowed.test:${port}`], { resolve: async () => ['127.0.0.1'] });
      expect(await say(proxy, tunnel(`${host}:${port}`))).toContain('403 Forbidden');
      expect(await say(proxy, get(`http://${host}:${port}/`, `${host}:${port}`))).toContain('403 Forbidden');
      expect(requests).toEqual([]);
    },
  );

  it('looks at the address of each connection: a name that led outside may lead inside a moment later', async () => {
    const answers = [['198.18.0.1'], ['127.0.0.1']];
    const proxy = await aProxy(['rebinding.test'], { resolve: async () => answers.shift() ?? [] });
    for (const _time of [1, 2])
      expect(await say(proxy, tunnel('rebinding.test:443'))).toContain('not a public address');
    expect(answers).toEqual([]);
  });

  it('dials the addresses that it looked at, and only the public ones of several', async () => {
    const proxy = await aProxy([`internal:allowed.test:${port}`], {
      // The system would say something else of this name, or nothing.
      resolve: async () => ['127.0.0.1'],
    });
    expect(await say(proxy, get(`http://allowed.test:${port}/`, `allowed.test:${port}`))).toContain('reached');
  });

  it('follows no redirect itself: the client asks again, and is looked at again', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(302, { Location: 'http://127.0.0.1/' }).end());
    const proxy = await aProxy([`internal:allowed.test:${port}`]);
    expect(await say(proxy, get(`http://allowed.test:${port}/`, `allowed.test:${port}`))).toContain('302 Found');
    expect(await say(proxy, get('http://127.0.0.1/', '127.0.0.1'))).toContain('403 Forbidden');
  });

  it('says of a host that is allowed and away that it is away, and refuses nothing', async () => {
    const proxy = await aProxy(['internal:allowed.test:1'], {});
    expect(await say(proxy, tunnel('allowed.test:1'))).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*is allowed and could not be reached/,
    );
    expect(refusals).toEqual([]);
  });
});

describe('limits', () => {
  it('end connections over which nothing comes', async () => {
    const silent = createTcpServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port: silentPort } = silent.address() as AddressInfo;
    const proxy = await aProxy([`internal:allowed.test:${silentPort}`], { limits: { idleMs: 100 } });
    expect(await say(proxy, tunnel(`allowed.test:${silentPort}`))).toContain('200 Connection Established');
    silent.close();
  });

  it('end what takes more bytes than a sandbox may, and refuse what comes after', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) {
          // Until the other side cannot take more.
        }
      };
      response.on('drain', more);
      more();
    });
    const proxy = await aProxy([`internal:allowed.test:${port}`], { limits: { bytes: 1_000_000 } });
    const request = get(`http://allowed.test:${port}/`, `allowed.test:${port}`);
    expect((await say(proxy, request)).length).toBeGreaterThan(100_000);
    // Also one that takes its time.
    const slow = say(proxy, request.slice(0, 20), sleep(1_000, request.slice(20)));
    expect(await say(proxy, request)).toContain('more than 1000000 bytes');
    expect(await slow).toContain('more than 1000000 bytes');
    expect(refusals).toMatchObject([{ reason: 'limit' }]);
  });

  it('let a program that asks in vain for ever wait for its answers, and tell of no more than a hundred', async () => {
    const proxy = await aProxy([]);
    const inVain = async (from: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => say(proxy, tunnel(`h${from + index}.test:443`))));
    for (let from = 0; from < 200; from += 50) await inVain(from, 50);
    let answered = false;
    const late = say(proxy, tunnel('late.test:443')).then((answer) => {
      answered = true;
      return answer;
    });
    // Who has not asked in vain is answered before, although they ask later and one after the other.
    const other = await aProxy([]);
    for (const _time of [1, 2]) await say(other, tunnel('first.test:443'));
    expect(answered).toBe(false);
    expect(await late).toContain('403 Forbidden');
    expect(refusals.filter(({ host }) => host !== 'first.test')).toHaveLength(100);
  });

  it('answer one request of a connection at a time, and none behind a refusal', async () => {
    const most = { now: 0, ever: 0, all: 0 };
    server.removeAllListeners('request');
    server.on('request', (_request, response) => {
      most.all += 1;
      most.ever = Math.max(most.ever, ++most.now);
      setTimeout(() => response.end('reached', () => (most.now -= 1)), 5);
    });
    const host = `allowed.test:${port}`;
    const proxy = await aProxy([`internal:${host}`]);
    const one = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const other = 'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n';
    // Cut anywhere, as a network does.
    const all = one.repeat(20) + other + one.repeat(1000);
    const answer = await say(proxy, ...(all.match(/[^]{1,997}/g) ?? []));
    expect(answer.match(/reached/g)).toHaveLength(20);
    expect(answer.match(/HTTP\/1\.1 403/g)).toHaveLength(1);
    expect(most).toMatchObject({ ever: 1, all: 20 });
  });

  it('leave the server its time while connections are flooded with requests', async () => {
    const proxy = await aProxy([]);
    const flood = 'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n'.repeat(1000);
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const answers = await Promise.all(Array.from({ length: 100 }, () => say(proxy, flood)));
    delay.disable();
    // A server that reads all of it stands still for seconds.
    expect(delay.max / 1e6).toBeLessThan(500);
    expect(answers.join('').match(/HTTP\/1\.1 403/g)).toHaveLength(100);
  });

  it.each([
    ['plain HTTP', (host: string) => get(`http://${host}/`, host)],
    ['a tunnel', (host: string) => `${tunnel(host)}\0`],
  ])('carry a long answer in %s to its end for whoever reads slowly', async (_what, request) => {
    const long = createTcpServer((socket) => {
      const answer = Buffer.concat([
        Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'),
        Buffer.alloc(3_000_000),
      ]);
      socket.once('data', () => socket.end(answer));
    });
    await new Promise<void>((resolve) => long.listen(0, '127.0.0.1', resolve));
    const host = `allowed.test:${(long.address() as AddressInfo).port}`;
    const proxy = await aProxy([`internal:${host}`]);
    const socket = connect(proxy.path);
    socket.write(request(host));
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 30);
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(bytes).toBeGreaterThan(3_000_000);
    await new Promise((closed) => long.close(closed));
  });

  it('count connections that are still being made', async () => {
    const silent = createTcpServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const target = `allowed.test:${(silent.address() as AddressInfo).port}`;
    let found = (): void => {};
    const resolved = new Promise<void>((resolve) => (found = resolve));
    const resolve = () => resolved.then(() => ['127.0.0.1']);
    const proxy = await aProxy([`internal:${target}`], { limits: { connections: 2 }, resolve });
    const answers: string[] = [];
    const asking = Array.from({ length: 4 }, async () => answers.push(await say(proxy, tunnel(target))));
    await expect.poll(() => answers).toHaveLength(2);
    found();
    await expect.poll(() => new Promise((given) => silent.getConnections((_error, count) => given(count)))).toBe(2);
    await proxy.close();
    await Promise.all(asking);
    expect(answers.filter((answer) => answer.includes('more than 2 connections'))).toHaveLength(2);
    silent.close();
  });

  it('give the place of a connection back that could not be made', async () => {
    const proxy = await aProxy([`internal:allowed.test:1`, `internal:allowed.test:${port}`], {
      limits: { connections: 1 },
    });
    for (const _time of [1, 2]) expect(await say(proxy, tunnel('allowed.test:1'))).toContain('502 Bad Gateway');
    for (const _time of [1, 2]) {
      const host = `allowed.test:${port}`;
      expect(await say(proxy, get(`http://${host}/`, host))).toContain('reached');
    }
  });

  it.each([
    ['the proxy is closed', (proxy: OpenProxy) => proxy.close()],
    ['its client is gone', (_proxy: OpenProxy, client: Socket) => client.destroy()],
  ])('make no connection after %s', async (_what, end) => {
    let dialled = 0;
    const silent = createTcpServer(() => (dialled += 1));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const target = `allowed.test:${(silent.address() as AddressInfo).port}`;
    let looking = false;
    const resolve = async (): Promise<string[]> => {
      looking = true;
      await new Promise((given) => setTimeout(given, 200));
      return ['127.0.0.1'];
    };
    const proxy = await aProxy([`internal:${target}`], { resolve });
    const client = connect(proxy.path).on('error', () => {});
    client.write(tunnel(target));
    await expect.poll(() => looking).toBe(true);
    await end(proxy, client);
    await new Promise((given) => setTimeout(given, 400));
    expect(dialled).toBe(0);
    await new Promise((closed) => silent.close(closed));
  });

  it('refuse connections beyond their number', async () => {
    const silent = createTcpServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const target = `allowed.test:${(silent.address() as AddressInfo).port}`;
    const proxy = await aProxy([`internal:${target}`], { limits: { connections: 2 } });
    const open = [1, 2].map(() => {
      const socket = connect(proxy.path);
      socket.write(tunnel(target));
      return new Promise((resolve) => socket.once('data', () => resolve(socket)));
    });
    await Promise.all(open);
    expect(await say(proxy, tunnel(target))).toContain('more than 2 connections at the same time');
    await proxy.close();
    silent.close();
  });
});
