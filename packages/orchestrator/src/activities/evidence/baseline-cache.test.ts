/** Baselines that several runs want at once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BaselineCache, type KnownBaseline } from './baseline-cache.ts';

const known = (madeBy: string, exitCode: number | null): KnownBaseline => ({
  baseline: {
    commit: 'c',
    codeTree: 't',
    passed: exitCode === 0,
    command: { command: 'npm test', exitCode, durationMs: 1, output: '' },
    sandbox: 'bubblewrap',
  },
  executed: [],
  failed: [],
  files: [],
  madeBy,
});

it.each<[string, number | null]>([
  ['was killed', 137],
  ['was out of time', null],
])('a run that waits for the baseline of one that %s makes its own, which the others get', async (_, exitCode) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'baselines-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const cache = new BaselineCache(folder);
  const makers: string[] = [];
  const wanted = (runId: string, code: number | null) =>
    cache.use('ab', async () => (makers.push(runId), known(runId, code)));
  const got = await Promise.all([wanted('r-1', exitCode), wanted('r-2', 1), wanted('r-3', 0)]);
  expect(got.map(({ madeBy }) => madeBy)).toEqual(['r-1', 'r-2', 'r-2']);
  expect(makers).toEqual(['r-1', 'r-2']);
  expect((await cache.find('ab'))?.madeBy).toBe('r-2');
});
