/** Fetches pages of real HTTP servers on loopback, which the list of hosts names as internal. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type OpenedWebPages, openWebPages, type WebPagesOptions } from './checked-web-pages.ts';
import {
  anArticle,
  listen,
  type LocalSite,
  pageHosts,
  redirectTo,
  respond,
  startLocalSite,
  stop,
} from './local-web.fixture.ts';
import { aBomb, aLine, aPdf } from './pdf.fixture.ts';
import type { FetchedPage, FetchResult, RefusedPage } from './web-page.ts';

const signal = new AbortController().signal;
const KB = 1024;

let folder: string;
let site: LocalSite;
let pages: OpenedWebPages;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'web-pages-'));
  site = await startLocalSite({});
  pages = await open({});
});

afterAll(async () => {
  await pages.close();
  await site.close();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  for (const known of Object.keys(site.pages)) delete site.pages[known];
});

function open(options: Partial<WebPagesOptions>): Promise<OpenedWebPages> {
  return openWebPages({
    folder: path.join(folder, 'pages'),
    hosts: pageHosts(`internal:127.0.0.1:${site.port}`),
    search: null,
    limits: { bytes: 200 * KB },
    ...options,
  });
}

/** Pages of their own for a test: with nothing known of robots.txt and pauses. */
async function openFresh(options: Partial<WebPagesOptions> = {}): Promise<OpenedWebPages> {
  const fresh = await open(options);
  onTestFinished(() => fresh.close());
  return fresh;
}

function fetchPath(where: string, from: OpenedWebPages = pages): Promise<FetchResult> {
  return from.fetch({ address: `${site.origin}${where}`, signal });
}

async function pageAt(where: string, from?: OpenedWebPages): Promise<FetchedPage> {
  const result = await fetchPath(where, from);
  if (result.kind === 'page') return result;
  throw new Error(`refused: ${result.reason}, ${result.message}`);
}

async function refusalOf(where: string, from?: OpenedWebPages): Promise<RefusedPage> {
  const result = await fetchPath(where, from);
  if (result.kind === 'refused') return result;
  throw new Error(`a page with ${result.text.length} characters`);
}

describe('a page', () => {
  it('is its main content in Markdown, with title, author, date and hash', async () => {
    const rows = '<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>';
    site.pages['/why'] = respond(
      'text/html; charset=utf-8',
      anArticle('Why tides turn', [
        'Tides turn because the moon pulls at the sea, and <a href="/moon">the moon</a> moves on, slowly and for ever.',
        'A second paragraph has enough words, commas, and sentences to be the main content of this page.',
        rows,
        '<img src="data:image/png;base64,iVBORw0KGgo=" width="600" height="400" alt="a picture of tides">',
      ]),
    );
    const page = await pageAt('/why');
    expect(page).toMatchObject({
      requested: `${site.origin}/why`,
      address: `${site.origin}/why`,
      status: 200,
      mediaType: 'text/html',
      title: 'Why tides turn',
      author: 'Jane Doe',
      published: '2025-03-01',
      isCut: false,
    });
    expect(Date.parse(page.at)).toBeGreaterThan(Date.now() - 60_000);
    expect(page.text).toContain(`[the moon](${site.origin}/moon)`);
    expect(page.text).toContain('| A | B |');
    expect(page.text).not.toMatch(/alert|Shop|rights reserved|base64/);
    expect(page.hash).toBe(createHash('sha256').update(page.text).digest('hex'));
  });

  it('is asked for as a known user agent, without cookies and referrers', async () => {
    let headers: Record<string, unknown> = {};
    site.pages['/agent'] = (request, response) => {
      headers = request.headers;
      respond('text/plain', 'seen')(request, response);
    };
    await pageAt('/agent');
    expect(headers).toMatchObject({ 'user-agent': 'autonomous', host: `127.0.0.1:${site.port}` });
    expect(headers).not.toHaveProperty('cookie');
    expect(headers).not.toHaveProperty('referer');
  });

  it.each([
    ['text/plain', 'Some words.\nMore.'],
    ['text/markdown', '# Title\n\nWords.'],
    ['application/json', '{"a": [1, 2]}'],
    ['application/ld+json', '{"@type": "Thing"}'],
  ])('of the type %s is kept as it is', async (type, body) => {
    site.pages['/text'] = respond(`${type}; charset=utf-8`, body);
    expect(await pageAt('/text')).toMatchObject({ mediaType: type, text: body, title: `${site.origin}/text` });
  });

  it.each([
    ['image/png', Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1')],
    ['application/zip', Buffer.from('PK\x03\x04')],
    ['text/csv', Buffer.from('a,b')],
    ['application/octet-stream', Buffer.from('\0\x01\x02')],
    ['text/plain', Buffer.from('a\0b')],
    ['text/plain', Buffer.from(' \u202e\u200b ')],
    ['text/html', Buffer.from('<html><body></body></html>')],
  ])('of the type %s without text is unreadable', async (type, body) => {
    site.pages['/no-text'] = respond(type, body);
    expect(await refusalOf('/no-text')).toMatchObject({ reason: 'unreadable', status: 200 });
  });

  it.each([
    ['the header', 'text/plain; charset=iso-8859-2', Buffer.from('\xe8esk\xfd', 'latin1'), 'český'],
    ['a byte order mark', 'text/plain', Buffer.from('\ufeffcafé', 'utf16le'), 'café'],
    ['nothing, as UTF-8', 'text/plain', Buffer.from('naïve'), 'naïve'],
    ['nothing, as Windows-1252 where it is no UTF-8', 'text/plain', Buffer.from('na\xefve', 'latin1'), 'naïve'],
    ['an unknown name, as nothing', 'text/plain; charset=klingon', Buffer.from('naïve'), 'naïve'],
  ])('has its encoding by %s', async (_, type, body, text) => {
    site.pages['/encoded'] = respond(type, body);
    expect(await pageAt('/encoded')).toMatchObject({ text });
  });

  it('has its encoding by its own words where the header has none', async () => {
    const html = anArticle('Povídka', ['\u010cesk\u00e1 pov\u00eddka o mo\u0159i, kter\u00e1 m\u00e1 dost slov.'])
      .replace('utf-8', 'iso-8859-2')
      .replaceAll('Č', '\xc8')
      .replaceAll('ř', '\xf8');
    site.pages['/meta'] = respond('text/html', Buffer.from(html, 'latin1'));
    expect((await pageAt('/meta')).text).toContain('Česká povídka o moři');
  });

  it('loses control, zero-width and reordering characters, also in its title', async () => {
    const title = 'A \u202etitle\u0007';
    const words = 'pass\u200bword \u2066turned\u2069 and enough other words to be the content of this page, really.';
    site.pages['/hidden'] = respond('text/html; charset=utf-8', anArticle(title, [words]));
    const page = await pageAt('/hidden');
    expect(page.title).toBe('A title');
    expect(page.text).toContain('password turned and enough');
    expect(page.text).not.toMatch(/[\u0000-\u0008\u200b\u202a-\u202e\u2066-\u2069]/);
  });

  it.each([
    ['a style', '<p style="color:red; display : none !important">SECRET words stand here.</p>'],
    ['a place beside the window', '<p style="position:absolute;left:-9999px">SECRET words stand here.</p>'],
    ['a size', '<p style="font-size:0">SECRET words stand here.</p>'],
    ['a height', '<div style="max-height: 0; overflow: hidden"><p>SECRET words stand here.</p></div>'],
    ['a line through it', '<p>It is so. <del>SECRET words stand here.</del> And so on, with enough words.</p>'],
  ])('has no text that is hidden by %s', async (_, hidden) => {
    const words = 'The first paragraph has enough words, commas, and sentences to be the main content of a page.';
    site.pages['/unseen'] = respond('text/html', anArticle('Unseen', [words, hidden, `${words} It is the last one.`]));
    const { text } = await pageAt('/unseen');
    expect(text).toContain('It is the last one.');
    expect(text).not.toContain('SECRET');
  });

  it('has text that only some of its rules hide', async () => {
    const style =
      '<style>.pane{display:none} .pane.chosen{display:block} @media print{.onscreen{display:none}}</style>';
    const words = 'The first paragraph has enough words, commas, and sentences to be the main content of a page.';
    const shown = '<p class="pane chosen">The pane is open.</p><p class="onscreen">The figure is shown.</p>';
    site.pages['/seen'] = respond(
      'text/html',
      anArticle('Seen', [words, style + shown, `${words} It is the last one.`]),
    );
    expect((await pageAt('/seen')).text).toMatch(/The pane is open\.\s+The figure is shown\./);
  });

  it('is cut at 400,000 characters, not in the middle of one', async () => {
    const large = await openFresh({ limits: { bytes: 4_000 * KB } });
    site.pages['/long'] = respond('text/plain; charset=utf-8', `a${'😀'.repeat(300_000)}`);
    const page = await pageAt('/long', large);
    expect(page.isCut).toBe(true);
    expect(page.text).toHaveLength(399_999);
    expect(page.text.isWellFormed()).toBe(true);
  });
});

describe('a PDF', () => {
  it('is the text of its pages', async () => {
    const info = '/Info << /Title (On tides) /Author (Jane Doe) >>';
    site.pages['/paper'] = respond('application/pdf', aPdf([aLine('The first page'), aLine('The second page')], info));
    expect(await pageAt('/paper')).toMatchObject({
      mediaType: 'application/pdf',
      title: 'On tides',
      author: 'Jane Doe',
      published: null,
      text: 'The first page\n\nThe second page',
    });
  });

  it('is known by its first bytes where the server does not know better', async () => {
    site.pages['/download'] = respond('application/octet-stream', aPdf([aLine('A page')]));
    expect(await pageAt('/download')).toMatchObject({ mediaType: 'application/pdf', text: 'A page' });
  });

  it.each([
    ['that is encrypted', aPdf([aLine('x')], ENCRYPTED()), 'asks for a password'],
    ['that is damaged', Buffer.from('%PDF-1.4 and nothing more'), 'not a PDF that can be read'],
    ['without text', aPdf([{ bytes: Buffer.from('q Q'), entries: '' }]), 'has no text'],
    ['of no pages', aPdf([]), ''],
  ])('%s is unreadable', async (_, pdf, why) => {
    site.pages['/bad'] = respond('application/pdf', pdf);
    expect(await refusalOf('/bad')).toMatchObject({ reason: 'unreadable', message: expect.stringContaining(why) });
  });

  it('that unpacks to gigabytes costs a worker and no more', async () => {
    const pdf = aPdf([aBomb(900_000_000)]);
    expect(pdf.length).toBeLessThan(20 * KB);
    site.pages['/bomb'] = respond('application/pdf', pdf);
    const before = process.memoryUsage().rss;
    const refusal = await refusalOf('/bomb');
    expect(refusal).toMatchObject({
      reason: 'unreadable',
      message: expect.stringMatching(/took (?:more memory|longer)/),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(1_200_000_000);
    site.pages['/after'] = respond('application/pdf', aPdf([aLine('Still here')]));
    expect(await pageAt('/after')).toMatchObject({ text: 'Still here' });
  });
});

function ENCRYPTED(): string {
  const key = '0123456789abcdef0123456789abcdef';
  return `/Encrypt << /Filter /Standard /V 1 /R 2 /O (${key}) /U (${key}) /P -44 >> /ID [(a)(a)]`;
}

describe('a page that is made for it', () => {
  it('nested too deeply is unreadable, and the next one is read', async () => {
    const hasty = await openFresh({ limits: { bytes: 1_000 * KB, readingMs: 5_000 } });
    const depth = 50_000;
    site.pages['/deep'] = respond('text/html', `<html><body>${'<div>'.repeat(depth)}x${'</div>'.repeat(depth)}`);
    expect(await refusalOf('/deep', hasty)).toMatchObject({ reason: 'unreadable' });
    site.pages['/next'] = respond('text/html', anArticle('Next', ['The next page has words, and is read as ever.']));
    expect((await pageAt('/next', hasty)).text).toContain('is read as ever');
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('compressed by %s beyond the limit is too large', async (coding, compress) => {
    const bomb = compress(Buffer.alloc(10_000 * KB, 'a'));
    expect(bomb.length).toBeLessThan(100 * KB);
    site.pages['/zipped'] = respond('text/plain', bomb, { 'Content-Encoding': coding });
    expect(await refusalOf('/zipped')).toMatchObject({ reason: 'too_large', status: 200 });
    site.pages['/small'] = respond('text/plain', compress(Buffer.from('words')), { 'Content-Encoding': coding });
    expect(await pageAt('/small')).toMatchObject({ text: 'words' });
  });

  it('without an end is too large once the limit is reached', async () => {
    let sent = 0;
    site.pages['/endless'] = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      const send = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * KB, 'a'))) sent += 64;
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    };
    expect(await refusalOf('/endless')).toMatchObject({ reason: 'too_large' });
    expect(sent).toBeLessThan(50_000);
  });

  it('that announces more than the limit is not read', async () => {
    site.pages['/announced'] = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': String(200 * KB * KB) });
      response.write('a');
    };
    expect(await refusalOf('/announced')).toMatchObject({ reason: 'too_large' });
  });

  it.each([
    ['damaged', 'gzip', Buffer.from('not gzip')],
    ['compressed in an unknown way', 'snappy', Buffer.from('x')],
  ])('%s is unreadable', async (_, coding, body) => {
    site.pages['/coding'] = respond('text/plain', body, { 'Content-Encoding': coding });
    expect(await refusalOf('/coding')).toMatchObject({ reason: 'unreadable' });
  });

  it('that never ends its answer takes no longer than the limit of time', async () => {
    const hasty = await openFresh({ limits: { totalMs: 400 } });
    site.pages['/slow'] = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      response.write('a');
    };
    expect(await refusalOf('/slow', hasty)).toMatchObject({ reason: 'timeout', status: null });
    site.pages['/silent'] = () => undefined;
    expect(await refusalOf('/silent', hasty)).toMatchObject({ reason: 'timeout' });
  });

  it('that breaks off is unreachable', async () => {
    site.pages['/broken'] = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': '100' });
      response.write('a', () => response.destroy());
    };
    expect(await refusalOf('/broken')).toMatchObject({ reason: 'unreachable' });
  });

  it('that speaks no HTTP is unreachable', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const other = await openFresh({ hosts: pageHosts(`internal:127.0.0.1:${port}`) });
    const result = await other.fetch({ address: `http://127.0.0.1:${port}/`, signal });
    expect(result).toMatchObject({ kind: 'refused', reason: 'unreachable' });
  });
});

describe('an address', () => {
  it.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://0.0.0.0/',
    'http://127.1/',
    'http://0x7f000001/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://168.63.129.16/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'https://localhost/',
  ])('of a private network is refused: %s', async (address) => {
    const result = await pages.fetch({ address, signal });
    expect(result).toMatchObject({ kind: 'refused', reason: 'private_address', status: null });
    expect(result).not.toMatchObject({ message: expect.stringContaining('robots.txt') });
  });

  it('by a name that leads to a private network is refused without a connection', async () => {
    const before = site.asked.length;
    const other = await openFresh({ resolve: async () => ['127.0.0.1', '::1'] });
    const result = await other.fetch({ address: 'http://rebound.example/', signal });
    expect(result).toMatchObject({ reason: 'private_address', message: expect.stringContaining('rebound.example') });
    expect(site.asked).toHaveLength(before);
  });

  it('is connected to as it was checked: a name is resolved once for each connection', async () => {
    site.pages['/named'] = respond('text/plain', 'by name');
    let answers = 0;
    const other = await openFresh({
      hosts: pageHosts(`internal:named.example:${site.port}`),
      resolve: async () => {
        answers += 1;
        return ['127.0.0.1'];
      },
    });
    const result = await other.fetch({ address: `http://named.example:${site.port}/named`, signal });
    expect(result).toMatchObject({ kind: 'page', text: 'by name' });
    // One for robots.txt and one for the page.
    expect(answers).toBe(2);
  });

  it('that is not in the list of hosts is refused', async () => {
    const other = await openFresh({ hosts: { everyPublic: false, entries: [] } });
    expect(await other.fetch({ address: 'https://example.com/', signal })).toMatchObject({ reason: 'not_allowed' });
  });

  it('by an unknown name, or where nothing listens, is unreachable', async () => {
    const other = await openFresh({
      hosts: pageHosts('internal:127.0.0.1:9'),
      resolve: async (host) => {
        if (host === '127.0.0.1') return [host];
        throw new Error(`getaddrinfo ENOTFOUND ${host}`);
      },
    });
    const refused = { kind: 'refused', reason: 'unreachable', status: null };
    expect(await other.fetch({ address: 'https://nowhere.example/', signal })).toMatchObject(refused);
    expect(await other.fetch({ address: 'http://127.0.0.1:9/', signal })).toMatchObject(refused);
  });

  it('is given up with the reason of its signal', async () => {
    const stopped = new AbortController();
    site.pages['/held'] = () => stopped.abort(new Error('the run was cancelled'));
    await expect(pages.fetch({ address: `${site.origin}/held`, signal: stopped.signal })).rejects.toThrow('cancelled');
  });
});

describe('an address with https', () => {
  let keys: { readonly key: string; readonly cert: string };

  beforeAll(async () => {
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const names = ['-subj', '/CN=secure.example', '-addext', 'subjectAltName=DNS:secure.example'];
    const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
    await promisify(execFile)('openssl', ['req', ...kind, '-keyout', key, '-out', cert, ...names]);
    keys = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  });

  it.each([
    ['secure.example', true, { kind: 'page', text: 'by TLS' }],
    ['other.example', true, { kind: 'refused', reason: 'unreachable', message: expect.stringContaining('cert') }],
    [
      'secure.example',
      false,
      { kind: 'refused', reason: 'unreachable', message: expect.stringContaining('self-signed') },
    ],
  ])('needs a certificate for its name: %s, trusted %s', async (host, isTrusted, expected) => {
    const server = createTlsServer(keys, (request, response) => {
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else respond('text/plain', 'by TLS')(request, response);
    });
    const port = await listen(server);
    onTestFinished(() => stop(server));
    const secure = await openFresh({
      hosts: pageHosts(`internal:${host}:${port}`),
      resolve: async () => ['127.0.0.1'],
      ...(isTrusted ? { certificates: keys.cert } : {}),
    });
    expect(await secure.fetch({ address: `https://${host}:${port}/`, signal })).toMatchObject(expected);
  });
});

describe('an answer', () => {
  it.each([404, 403, 410, 500, 503])('of %i is no page', async (status) => {
    site.pages['/status'] = (_, response) => response.writeHead(status).end('words');
    expect(await refusalOf('/status')).toMatchObject({ reason: 'status', status });
  });

  it('that redirects is followed to its page', async () => {
    site.pages['/old'] = redirectTo('/new', 301);
    site.pages['/new'] = respond('text/plain', 'moved here');
    expect(await pageAt('/old')).toMatchObject({
      requested: `${site.origin}/old`,
      address: `${site.origin}/new`,
      text: 'moved here',
    });
  });

  it('that redirects five times is followed, and six times is not', async () => {
    for (let step = 1; step <= 6; step += 1) site.pages[`/hop${step}`] = redirectTo(`/hop${step - 1}`);
    site.pages['/hop0'] = respond('text/plain', 'there');
    expect(await pageAt('/hop5')).toMatchObject({ text: 'there' });
    expect(await refusalOf('/hop6')).toMatchObject({
      reason: 'status',
      message: expect.stringContaining('more than 5 times'),
    });
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/', 'private_address'],
    ['http://127.0.0.1:1/', 'address'],
    ['file:///etc/passwd', 'address'],
    ['http://user:secret@example.com/', 'address'],
  ])('that redirects to %s is refused', async (location, reason) => {
    site.pages['/away'] = redirectTo(location);
    expect(await refusalOf('/away')).toMatchObject({ reason });
  });

  it('of 429 with a short pause is asked for again after it', async () => {
    let times = 0;
    const times429 = await openFresh();
    site.pages['/busy'] = (request, response) => {
      times += 1;
      if (times === 1) response.writeHead(429, { 'Retry-After': '1' }).end();
      else respond('text/plain', 'now')(request, response);
    };
    const started = performance.now();
    expect(await pageAt('/busy', times429)).toMatchObject({ text: 'now' });
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(times).toBe(2);
  });

  it('of 503 with a long pause is told, and nothing is asked of the site before its end', async () => {
    let now = Date.now();
    const fresh = await openFresh({ now: () => now });
    site.pages['/down'] = (_, response) => response.writeHead(503, { 'Retry-After': '120' }).end();
    site.pages['/up'] = respond('text/plain', 'up');
    expect(await refusalOf('/down', fresh)).toMatchObject({
      reason: 'status',
      status: 503,
      message: expect.stringContaining('120 seconds'),
    });
    const before = site.asked.length;
    expect(await refusalOf('/up', fresh)).toMatchObject({ reason: 'status', message: expect.stringContaining('120') });
    expect(site.asked).toHaveLength(before);
    now += 121_000;
    expect(await pageAt('/up', fresh)).toMatchObject({ text: 'up' });
  });
});

describe('robots.txt', () => {
  const robots = (text: string) => respond('text/plain', text);

  it('that disallows a path for all is honoured, and is fetched once', async () => {
    const fresh = await openFresh();
    site.pages['/robots.txt'] = robots('User-agent: *\nDisallow: /private\nAllow: /private/open\n');
    site.pages['/private/a'] = respond('text/plain', 'secret');
    site.pages['/private/open'] = respond('text/plain', 'open');
    site.pages['/public'] = respond('text/plain', 'public');
    const from = site.asked.length;
    expect(await refusalOf('/private/a', fresh)).toMatchObject({ reason: 'robots', status: null });
    expect(await pageAt('/private/open', fresh)).toMatchObject({ text: 'open' });
    expect(await refusalOf('/%70rivate/a', fresh)).toMatchObject({ reason: 'robots', status: null });
    expect(await pageAt('/public', fresh)).toMatchObject({ text: 'public' });
    expect(site.asked.slice(from)).toEqual(['/robots.txt', '/private/open', '/public']);
  });

  it('is honoured where it names this server', async () => {
    const fresh = await openFresh();
    site.pages['/robots.txt'] = robots('User-agent: autonomous\nDisallow: /\n\nUser-agent: *\nDisallow:\n');
    site.pages['/page'] = respond('text/plain', 'page');
    expect(await refusalOf('/page', fresh)).toMatchObject({ reason: 'robots' });
  });

  it('is honoured behind a redirect', async () => {
    const fresh = await openFresh();
    site.pages['/old'] = redirectTo('/private/b');
    site.pages['/robots.txt'] = robots('User-agent: *\nDisallow: /private');
    site.pages['/private/b'] = respond('text/plain', 'secret');
    expect(await refusalOf('/old', fresh)).toMatchObject({ reason: 'robots' });
  });

  it('of a site that has none allows everything', async () => {
    const fresh = await openFresh();
    site.pages['/robots.txt'] = (_, response) => response.writeHead(403).end();
    site.pages['/page'] = respond('text/plain', 'page');
    expect(await pageAt('/page', fresh)).toMatchObject({ text: 'page' });
  });

  it('that cannot be had allows nothing, and is asked for again after a minute', async () => {
    let now = Date.now();
    const fresh = await openFresh({ now: () => now });
    site.pages['/robots.txt'] = (_, response) => response.writeHead(500).end();
    site.pages['/page'] = respond('text/plain', 'page');
    expect(await refusalOf('/page', fresh)).toMatchObject({ reason: 'robots', status: 500 });
    site.pages['/robots.txt'] = robots('User-agent: *\nDisallow:');
    expect(await refusalOf('/page', fresh)).toMatchObject({ reason: 'robots' });
    now += 61_000;
    expect(await pageAt('/page', fresh)).toMatchObject({ text: 'page' });
  });

  it('is fetched again after an hour', async () => {
    let now = Date.now();
    const fresh = await openFresh({ now: () => now });
    site.pages['/page'] = respond('text/plain', 'page');
    await pageAt('/page', fresh);
    site.pages['/robots.txt'] = robots('User-agent: *\nDisallow: /');
    expect(await pageAt('/page', fresh)).toMatchObject({ text: 'page' });
    now += 61 * 60_000;
    expect(await refusalOf('/page', fresh)).toMatchObject({ reason: 'robots' });
  });

  it('is fetched once for pages that are fetched together, also when one of them is given up', async () => {
    const fresh = await openFresh();
    const stopped = new AbortController();
    site.pages['/robots.txt'] = (request, response) => {
      stopped.abort(new Error('given up'));
      setTimeout(() => robots('User-agent: *\nDisallow: /x')(request, response), 50);
    };
    site.pages['/a'] = respond('text/plain', 'a');
    const from = site.asked.length;
    const givenUp = fresh.fetch({ address: `${site.origin}/a`, signal: stopped.signal });
    const other = fetchPath('/a', fresh);
    await expect(givenUp).rejects.toThrow('given up');
    expect(await other).toMatchObject({ kind: 'page', text: 'a' });
    expect(site.asked.slice(from)).toEqual(['/robots.txt', '/a']);
  });
});

describe('a stored text', () => {
  const fileOf = (hash: string): string => path.join(folder, 'pages', hash.slice(0, 2), `${hash}.txt`);

  it('is read by its hash, once for all addresses that have it', async () => {
    site.pages['/one'] = respond('text/plain', 'the same words');
    site.pages['/two'] = respond('text/plain', 'the same words');
    const [one, two] = [await pageAt('/one'), await pageAt('/two')];
    expect(two.hash).toBe(one.hash);
    expect(await pages.read(one.hash)).toBe('the same words');
    expect(await readFile(fileOf(one.hash), 'utf8')).toBe('the same words');
    expect(await readdir(path.join(folder, 'pages', 'drafts'))).toEqual([]);
  });

  it('that was changed is not there, and is written again with the next fetch', async () => {
    site.pages['/kept'] = respond('text/plain', 'words to keep');
    const { hash } = await pageAt('/kept');
    await writeFile(fileOf(hash), 'other words');
    expect(await pages.read(hash)).toBeNull();
    await pageAt('/kept');
    expect(await pages.read(hash)).toBe('words to keep');
  });

  it.each(['', '0', 'f'.repeat(64), '../../etc/passwd', `${'a'.repeat(62)}/..`])('is not there for %j', async (hash) =>
    expect(await pages.read(hash)).toBeNull(),
  );

  it('has no draft left after a start', async () => {
    const drafts = path.join(folder, 'pages', 'drafts');
    await writeFile(path.join(drafts, 'left'), 'half');
    await openFresh();
    expect(await readdir(drafts)).toEqual([]);
  });
});
