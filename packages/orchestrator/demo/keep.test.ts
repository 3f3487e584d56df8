/** The demo whose server is kept: a person who cloned the repository opens its dashboard with the first line. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

it('prints a link first that signs in to the built dashboard, and ends at SIGTERM without a word', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kept-demo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const demo = spawn(process.execPath, [MAIN, '--keep', '--out', path.join(folder, 'demo')], { stdio: 'pipe' });
  onTestFinished(() => void demo.kill('SIGKILL'));
  let errors = '';
  demo.stderr.on('data', (chunk) => (errors += String(chunk)));
  const [line] = (await once(createInterface({ input: demo.stdout }), 'line')) as [string];
  const [link = ''] = /http:\/\/127\.0\.0\.1:\d+\/auth\?code=\S+/.exec(line) ?? [];
  const { origin } = new URL(link);

  const signedIn = await fetch(link, { redirect: 'manual' });
  const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  expect(signedIn.status).toBe(303);
  const page = await (await fetch(origin, { headers: { Cookie: cookie } })).text();
  expect(page).toContain('data-session="open"');
  const [script = ''] = /\/assets\/[^"]+\/app\.js/.exec(page) ?? [];
  expect((await fetch(origin + script)).status).toBe(200);

  const closed = once(demo, 'close');
  demo.kill('SIGTERM');
  expect(await closed).toEqual([1, null]);
  expect(errors.replace(/^\[setup\] .*\n/, '')).toBe('');
});
