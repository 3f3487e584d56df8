import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DiskUse } from './sandbox-watch.ts';

const MB = 1024 * 1024;

/** A folder of 3 MB that may take 1 MB, measured once. Its clock stands still until a test calls `passes`. */
async function aFullFolder() {
  let now = 0;
  let bytes = 3 * MB;
  const disk = new DiskUse(
    ['/folder'],
    MB,
    () => now,
    () => Promise.resolve(bytes),
  );
  /** The breach that is found once a measurement that is due now has ended. */
  const look = async () => {
    const found = disk.findBreach(100 * MB, { deletedBytes: 0, isHiding: false });
    await setImmediate();
    return found ?? disk.findBreach(100 * MB, { deletedBytes: 0, isHiding: false });
  };
  const passes = (ms: number) => (now += ms);
  disk.commandStarts();
  passes(11_000);
  expect(await look()).toMatchObject({ kind: 'folder', message: expect.stringContaining('the limit is 1 MB') });
  return { disk, look, passes, tidy: () => (bytes = 0) };
}

it('gives a command time to tidy up a full folder, however long after the one that filled it', async () => {
  const { disk, look, passes, tidy } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(4_000);
  expect(await look()).toBeNull();
  tidy();
  passes(4_000);
  expect(await look()).toBeNull();
});

it('ends a command that does not tidy up', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(6_000);
  expect(await look()).toMatchObject({ kind: 'folder' });
});

it('tells a command nothing of what was measured before it', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(6_000);
  disk.findBreach(100 * MB, { deletedBytes: 0, isHiding: false });
  await setImmediate();
  disk.commandStarts();
  expect(await look()).toBeNull();
});
