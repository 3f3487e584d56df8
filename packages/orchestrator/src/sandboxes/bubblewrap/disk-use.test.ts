import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DiskUse } from './sandbox-watch.ts';

const MB = 1024 * 1024;
const NOTHING_HELD = { deletedBytes: 0, isHiding: false };

/** A folder that is larger than its limit, measured once. Its clock stands still until a test calls `passes`. */
async function aFullFolder() {
  let now = 0;
  const folder = await mkdtemp(join(tmpdir(), 'disk-use-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'big'), Buffer.alloc(3 * MB));
  const disk = new DiskUse([folder], MB, () => now);
  const passes = (ms: number) => (now += ms);
  const look = () => disk.findBreach(100 * MB, NOTHING_HELD);
  disk.commandStarts();
  disk.findBreach(103 * MB, NOTHING_HELD);
  passes(1);
  await expect.poll(look).toMatchObject({ kind: 'folder', message: expect.stringContaining('the limit is 1 MB') });
  return { disk, look, passes, tidy: () => rm(join(folder, 'big')) };
}

/** The breach that is found within 400 ms; a measurement of this folder takes some 10 ms. */
async function toldSoon(look: () => unknown): Promise<unknown> {
  return vi.waitUntil(look, { timeout: 400 }).catch(() => null);
}

it('gives a command time to tidy up a full folder, however long after the one that filled it', async () => {
  const { disk, look, passes, tidy } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(4_000);
  expect(await toldSoon(look)).toBeNull();
  await tidy();
  passes(4_000);
  expect(await toldSoon(look)).toBeNull();
});

it('ends a command that does not tidy up', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(6_000);
  await expect.poll(look).toMatchObject({ kind: 'folder' });
});

it('tells a command nothing of what was measured before it', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(6_000);
  look();
  disk.commandStarts();
  expect(await toldSoon(look)).toBeNull();
});
