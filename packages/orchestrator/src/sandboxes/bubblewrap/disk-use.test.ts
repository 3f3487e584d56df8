import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DiskUse } from './sandbox-watch.ts';

const MB = 1024 * 1024;
const OVER_LIMIT = { kind: 'folder', message: expect.stringContaining('the limit is 1 MB') };

/** A folder that may take 1 MB, on a disk with 100 MB. Its clock stands still until a test calls `passes`. */
function aFolder() {
  let now = 0;
  let bytes = 0;
  let free = 100 * MB;
  const disk = new DiskUse(
    ['/folder'],
    MB,
    () => now,
    () => Promise.resolve(bytes),
  );
  const held = { deletedBytes: 0, isHiding: false };
  /** The breach that is found once a measurement that is due now has ended. */
  const look = async () => {
    const found = disk.findBreach(free, held);
    await setImmediate();
    return found ?? disk.findBreach(free, held);
  };
  const passes = (ms: number) => (now += ms);
  const othersWrite = (more: number) => (free -= more);
  const writes = (more: number) => {
    bytes += more;
    free -= more;
  };
  const ends = () => disk.commandEnds(free);
  return { disk, look, passes, writes, othersWrite, ends };
}

/** The same with 3 MB in it, as a command has left it. */
async function aFullFolder() {
  const folder = aFolder();
  folder.disk.commandStarts();
  folder.writes(3 * MB);
  folder.passes(11_000);
  expect(await folder.look()).toMatchObject(OVER_LIMIT);
  await folder.ends();
  return folder;
}

it('gives a command time to tidy up a full folder, however long after the one that filled it', async () => {
  const { disk, look, passes, writes } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(4_000);
  expect(await look()).toBeNull();
  writes(-3 * MB);
  passes(4_000);
  expect(await look()).toBeNull();
});

it('gives it the same time where others write to the disk', async () => {
  const { disk, look, passes, othersWrite } = await aFullFolder();
  disk.commandStarts();
  for (let looks = 0; looks < 4; looks++) {
    passes(1_000);
    othersWrite(MB);
    expect(await look()).toBeNull();
  }
  passes(2_000);
  expect(await look()).toMatchObject(OVER_LIMIT);
});

it('ends a command that fills a full folder more', async () => {
  const { disk, look, passes, writes } = await aFullFolder();
  disk.commandStarts();
  passes(1_000);
  writes(MB);
  expect(await look()).toMatchObject(OVER_LIMIT);
});

it('ends a command that does not tidy up', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(60_000);
  disk.commandStarts();
  passes(6_000);
  expect(await look()).toMatchObject(OVER_LIMIT);
});

it('charges each quick command with what it wrote, and the next one with nothing of it', async () => {
  const { disk, look, passes, writes, ends } = aFolder();
  for (let commands = 0; commands < 2; commands++) {
    disk.commandStarts();
    expect(await look()).toBeNull();
    writes(2 * MB);
    passes(100);
    expect(await ends()).toMatchObject(OVER_LIMIT);
  }
  disk.commandStarts();
  passes(1_000);
  expect(await look()).toBeNull();
  writes(-4 * MB);
  expect(await ends()).toBeNull();
  disk.commandStarts();
  writes(0.5 * MB);
  expect(await look()).toBeNull();
  expect(await ends()).toBeNull();
});

it('charges a command with what it wrote, also where others have removed as much', async () => {
  const { disk, look, writes, othersWrite, ends } = aFolder();
  disk.commandStarts();
  expect(await look()).toBeNull();
  othersWrite(-3 * MB);
  expect(await look()).toBeNull();
  writes(2 * MB);
  expect(await ends()).toMatchObject(OVER_LIMIT);
});

it('tells a command nothing of what was measured before it', async () => {
  const { disk, look, passes } = await aFullFolder();
  passes(6_000);
  disk.findBreach(100 * MB, { deletedBytes: 0, isHiding: false });
  await setImmediate();
  disk.commandStarts();
  expect(await look()).toBeNull();
});
