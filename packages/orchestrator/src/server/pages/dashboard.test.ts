import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient, RECENT_RUNS } from '@autonomous/shared/client';
import { DASHBOARD_FILES } from './dashboard.ts';
import { startCommand } from '../start-command.ts';
import { sendRaw, type ServerUnderTest, startTestServer } from '../running-server.fixture.ts';

describe('the dashboard', () => {
  let folder: string;
  let server: ServerUnderTest;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dashboard-'));
    for (const name of DASHBOARD_FILES) await writeFile(join(folder, name), `${name} `.repeat(200));
    server = await startTestServer({ dashboardFolder: folder });
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  const asAnybody = (path: string, init?: RequestInit): Promise<Response> => fetch(server.url + path, init);
  const filesOf = (html: string): readonly string[] =>
    [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? '');

  const nonceOf = (answer: Response): string =>
    /^default-src 'none'; script-src 'nonce-([\w+/]{22}==)';/.exec(
      answer.headers.get('content-security-policy') ?? '',
    )?.[1] ?? 'none';

  it.each([
    '/',
    '/launch',
    '/metrics',
    '/metrics/90/shop-1',
    '/metrics/90/-/own-flow',
    '/roadmap',
    '/roadmap/shop-1',
    '/roadmap/shop-1/sign-in',
    '/roadmap/shop-1/TECH-6.1',
    '/runs/r-1',
    '/runs/r-1/plan',
    '/runs/r-1/gates/4',
    '/runs/r-1/gates/r-1.4',
    '/runs/r-1/events/12',
    '/explorations/x_1',
  ])('is one page, at %s as well, for whoever asks', async (path) => {
    const answer = await asAnybody(path);
    expect(answer.status).toBe(200);
    const nonce = nonceOf(answer);
    expect(answer.headers.get('content-security-policy')).not.toMatch(/script-src[^;]*(?:'self'|'unsafe|https?:|\*)/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const html = await answer.text();
    expect(html.match(/<script[^>]*>/g)).toEqual([expect.stringContaining(`nonce="${nonce}"`)]);
    const again = await asAnybody('/');
    expect(nonceOf(again)).not.toBe(nonce);
    expect((await again.text()).replaceAll(nonceOf(again), nonce)).toBe(html);
  });

  it('names the scripts that it needs at once: the list of runs does without the other screens', async () => {
    const preloaded = async (answer: Response): Promise<readonly (string | undefined)[]> =>
      [...(await answer.text()).matchAll(/<link rel="modulepreload" nonce="[^"]+" href="[^"]*\/([a-z.-]+)">/g)].map(
        ([, name]) => name,
      );
    expect(await preloaded(await server.fetch('/'))).toEqual(['runtime.js']);
    expect(await preloaded(await server.fetch('/runs/r-1'))).toEqual(['runtime.js', 'lazy-screens.js']);
    // To sign in is such a screen.
    expect(await preloaded(await asAnybody('/'))).toEqual(['runtime.js', 'lazy-screens.js']);
  });

  it.each([
    ['/runs/r-1', '/runs/r-1#link-refused'],
    ['https://elsewhere.example/', '/#link-refused'],
  ])('shows at %s why a link did not sign in, with the form for another one', async (to, shownAt) => {
    const query = new URLSearchParams({ code: 'used-before-this', to });
    const answer = await asAnybody(`/auth?${query.toString()}`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, shownAt]);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('names the program for commands that it shows', async () => {
    expect(await (await asAnybody('/')).text()).toContain(`data-program="${startCommand().program}"`);
  });

  it('asks for the runs while its script loads, for who is signed in alone', async () => {
    const early = (html: string): readonly string[] =>
      [...html.matchAll(/<link rel="preload" as="fetch" crossorigin="anonymous" href="([^"]*)">/g)].map(
        ([, href = '']) => href.replaceAll('&amp;', '&'),
      );
    const nobodys = await (await asAnybody('/')).text();
    expect(early(nobodys)).toEqual([]);
    expect(nobodys).toContain('data-session="none"');

    const theirs = await (await server.fetch('/runs/r-1')).text();
    expect(theirs).toContain('data-session="open"');
    const asked: string[] = [];
    const client = createClient({
      baseUrl: server.url,
      fetch: async (input) => {
        asked.push(String(input).slice(server.url.length));
        return Response.json({ items: [], nextCursor: null });
      },
    });
    for (const filter of RECENT_RUNS) await client.listRuns(filter);
    expect(early(theirs)).toEqual(asked);
    for (const path of asked) expect((await server.fetch(path)).status).toBe(200);
  });

  it('loads nothing but its own files, which never change under their address', async () => {
    const html = await (await asAnybody('/')).text();
    expect(html).not.toMatch(/<script>|<style|\son\w+=/);
    const paths = filesOf(html);
    expect(paths.map((path) => path.split('/').at(-1))).toEqual([
      'icon.svg',
      'manifest.webmanifest',
      'theme.css',
      'codicon.css',
      'app.css',
      'runtime.js',
      'lazy-screens.js',
      'app.js',
    ]);
    for (const path of paths) {
      const answer = await asAnybody(path);
      expect(answer.headers.get('cache-control')).toContain('immutable');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await answer.text()).toBe(await readFile(join(folder, path.split('/').at(-1) ?? ''), 'utf8'));
    }
    const script = paths.at(-1) ?? '';
    expect((await asAnybody(script)).headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect((await asAnybody(script, { headers: { 'Accept-Encoding': 'gzip' } })).headers.get('content-encoding')).toBe(
      'gzip',
    );
    expect(
      (await asAnybody(script, { headers: { 'Accept-Encoding': 'br' } })).headers.get('content-encoding'),
    ).toBeNull();
  });

  it('has no file but those of its own build', async () => {
    const [path = ''] = filesOf(await (await asAnybody('/')).text());
    const version = path.split('/')[2] ?? '';
    expect((await asAnybody(`/assets/${version}/other.js`)).status).toBe(404);
    expect((await asAnybody(`/assets/0123456789abcdef/app.js`)).status).toBe(404);
  });

  it.each([
    '/assets/../api/runs',
    '/assets/0123456789abcdef/../../api/runs',
    '/assets/0123456789abcdef/%2e%2e/%2e%2e/api/runs',
    '/assets/0123456789abcdef/..app.js',
    '/runs/../api/runs',
    '/runs/%2e%2e/api',
    '/runs/..%2fapi/runs',
    '/runs/r-1/../../api/runs',
    '/explorations/..',
    '/runs/r-1/plan//',
    '/runs/r-1/gates/..',
    '/runs/r-1/gates/../../../api/runs',
    '/runs/r-1/gates/r-1.4.5',
    '/launch/../api/me',
  ])('is no way past the guard by %s', async (path) => {
    const answer = await sendRaw(
      server.port,
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
  });

  it.each([
    ['/runs/r-1/gates/4', '/runs/r-1/gates/4'],
    ['/', '/'],
    ['//elsewhere.example/', '/'],
    ['https://elsewhere.example/', '/'],
    ['/runs/r-1\\..', '/'],
    ['/api/runs', '/'],
  ])('sends whoever signs in for %j to %j', async (to, location) => {
    const answer = await fetch(`${server.createSignInLink()}&to=${encodeURIComponent(to)}`, { redirect: 'manual' });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(location);
  });

  it('is a plain page that says what to do where it was not built', async () => {
    const bare = await startTestServer({ dashboardFolder: join(folder, 'nothing') });
    const answer = await fetch(bare.url);
    expect(await answer.text()).toContain('Autonomous is running');
    await bare.close();
  });
});
