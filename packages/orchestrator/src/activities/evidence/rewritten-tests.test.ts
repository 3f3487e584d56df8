/** Changes of files while something ran, in a real folder. */
import { mkdir, mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { rewrittenSince, stampsOf } from './rewritten-tests.ts';

it('names files that were written, put back, replaced or removed, and none that was only read', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'rewritten-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const at = (name: string): string => path.join(folder, name);
  await mkdir(at('test'));
  const names = ['written', 'put-back', 'replaced', 'removed', 'read', 'left'].map((name) => `test/${name}.js`);
  for (const name of names) await writeFile(at(name), 'true');
  const before = await stampsOf(folder, [...names, 'test/absent.js']);
  // The clock of a file system has ticks.
  await wait(20);

  await writeFile(at('test/written.js'), 'fals');
  const { atime, mtime } = await stat(at('test/put-back.js'));
  await writeFile(at('test/put-back.js'), 'false');
  await writeFile(at('test/put-back.js'), 'true');
  await utimes(at('test/put-back.js'), atime, mtime);
  await writeFile(at('test/other.js'), 'true');
  await rename(at('test/other.js'), at('test/replaced.js'));
  await rm(at('test/removed.js'));
  await readFile(at('test/read.js'));
  await writeFile(at('test/absent.js'), 'true');

  expect(await rewrittenSince(folder, before)).toEqual([
    'test/put-back.js',
    'test/removed.js',
    'test/replaced.js',
    'test/written.js',
  ]);
});
