/** Tests listings of a hostile machine against a real folder of the host. */
import { lstat, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RemoteFolder } from './remote-folder.ts';

let base: string;
let host: string;
let listing: Buffer;
let remote: RemoteFolder;

// The machine is hostile: whatever it is told to do, it answers with the listing that a test has made up.
const machine = {
  asRoot: async () => {},
  writeFile: async () => {},
  readFile: async () => chunksOf(listing),
};

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'remote-folder-'));
  host = join(base, 'work', 'r-1', 'implementation');
  await mkdir(host, { recursive: true });
  listing = Buffer.alloc(0);
  remote = new RemoteFolder(machine, { host, inside: '/workspace', transit: '/transit', fileBytes: 1e9 });
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** As `find` writes it: kind, mode, size, time of change, where it leads, path. */
function entry(kind: string, path: string, target = ''): string {
  return [kind, '755', '0', '1763800000.1234567890', target, path].map((field) => `${field}\0`).join('');
}

describe('a listing', () => {
  it('in which something lies in a link is refused, and nothing of it is done', async () => {
    await mkdir(join(base, 'mirrors'));
    await writeFile(join(base, 'mirrors/HEAD'), 'untouched');
    await remote.send();
    listing = Buffer.from(
      [
        entry('d', 'a/b/c/x'),
        entry('l', 'a', '.'),
        entry('l', 'a/b', '..'),
        entry('l', 'a/b/c', '../..'),
        entry('l', 'a/b/c/mirrors', 'gone'),
      ].join(''),
    );
    await expect(remote.fetch()).rejects.toMatchObject({ name: 'RetryableFailure', reason: 'sandbox_unavailable' });
    expect(await readdir(host)).toEqual([]);
    expect((await lstat(join(base, 'mirrors'))).isDirectory()).toBe(true);
    expect(await readdir(join(base, 'mirrors'))).toEqual(['HEAD']);
  });

  it.each([
    ['a file', entry('f', 'a') + entry('d', 'a/b')],
    ['what is listed once as a folder and once as a link', entry('d', 'a') + entry('d', 'a/b') + entry('l', 'a', '.')],
    ['what is not listed', entry('d', 'a/b')],
  ])('in which something lies in %s is refused', async (_what, text) => {
    listing = Buffer.from(text);
    await expect(remote.send()).rejects.toMatchObject({ name: 'RetryableFailure', reason: 'sandbox_unavailable' });
  });

  it('takes folders, what was in them, and links to others; all of a folder that is gone goes', async () => {
    await remote.send();
    listing = Buffer.from(
      ['a', 'a/b', 'c', 'c/d'].map((path) => entry('d', path)).join('') + entry('l', 'a/l', '../c/d'),
    );
    await remote.fetch();
    expect((await readdir(host, { recursive: true })).sort()).toEqual(['a', 'a/b', 'a/l', 'c', 'c/d']);
    listing = Buffer.from(entry('d', 'c'));
    await remote.fetch();
    expect(await readdir(host, { recursive: true })).toEqual(['c']);
  });

  it('leaves out what would be too long on this machine', async () => {
    const deep = join(host, 'h'.repeat(200), 'h'.repeat(200));
    await mkdir(deep, { recursive: true });
    const place = { host: deep, inside: '/workspace', transit: '/transit', fileBytes: 1e9 };
    const long = new RemoteFolder(machine, place);
    await long.send();
    const paths = Array.from({ length: 19 }, (_, at) =>
      Array.from({ length: at + 1 }, () => 'd'.repeat(200)).join('/'),
    );
    listing = Buffer.from(paths.map((path) => entry('d', path)).join(''));
    await long.fetch();
    const fitting = paths.filter((path) => `${deep}/${path}`.length < 4_096);
    expect(fitting.length).toBeLessThan(paths.length);
    expect((await readdir(deep, { recursive: true })).length).toBe(fitting.length);
  });

  it('of 400,000 entries is read while the server goes on with everything else; a longer one is refused', async () => {
    const file = (at: number) => entry('f', `some-file-${at}`);
    listing = Buffer.from(Array.from({ length: 400_000 }, (_, at) => file(at)).join(''));
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await remote.send();
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(1_000);

    listing = Buffer.concat([listing, Buffer.from(file(400_000))]);
    await expect(remote.send()).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'agent_failed',
      message: expect.stringContaining('more than 400,000 entries'),
    });
  });
});
