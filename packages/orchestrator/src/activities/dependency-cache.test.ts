import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DependencyCache, type InstalledDependencies } from './dependency-cache.ts';

describe('the cache of installed dependencies', () => {
  let folder: string;
  let made: string[];
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'dependencies-'));
    made = [];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = (maxBytes = 1_000_000_000) => new DependencyCache({ folder, maxBytes });
  const { signal } = new AbortController();
  /** Installs one file of a size that says its name. */
  const making =
    (name: string, bytes = 10) =>
    async (entry: Omit<InstalledDependencies, 'installed'>) => {
      made.push(name);
      await writeFile(path.join(entry.folder, 'package'), name.padEnd(bytes));
      await writeFile(path.join(entry.home, 'store'), name);
      return ['/package'];
    };
  const contents = async (entry: InstalledDependencies) => ({
    package: (await readFile(path.join(entry.folder, 'package'), 'utf8')).trim(),
    store: await readFile(path.join(entry.home, 'store'), 'utf8'),
    installed: entry.installed,
  });
  const use = (cache: DependencyCache, key: string, make = making(key)) => cache.use(key, make, contents, { signal });

  it('installs once for what went into it, and again for something else', async () => {
    const cache = open();
    expect(await use(cache, 'aa')).toEqual({ package: 'aa', store: 'aa', installed: ['/package'] });
    await use(cache, 'aa');
    await use(open(), 'aa');
    await use(cache, 'bb');
    expect(made).toEqual(['aa', 'bb']);
  });

  it('lets one install and the others wait', async () => {
    const cache = open();
    let waiting = 0;
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
    const slow = async (entry: Omit<InstalledDependencies, 'installed'>) => {
      await mayGoOn;
      return making('aa')(entry);
    };
    const all = [1, 2, 3].map(() =>
      cache.use('aa', slow, contents, {
        signal,
        onWait: () => {
          waiting += 1;
        },
      }),
    );
    await expect.poll(() => waiting).toBe(2);
    goOn();
    expect((await Promise.all(all)).map((each) => each.package)).toEqual(['aa', 'aa', 'aa']);
    expect(made).toEqual(['aa']);
  });

  it('tells a failure to all who wait, keeps nothing of it, and tries again for the next', async () => {
    const cache = open();
    const { promise: mayFail, resolve: fail } = Promise.withResolvers<void>();
    const failing = async (entry: Omit<InstalledDependencies, 'installed'>) => {
      await writeFile(path.join(entry.folder, 'half'), '');
      await mayFail;
      throw new NeedsHuman('setup_failed', 'no such package');
    };
    const both = [1, 2].map(() => cache.use('aa', failing, contents, { signal }));
    fail();
    for (const each of both) await expect(each).rejects.toMatchObject({ reason: 'setup_failed' });
    expect(await readdir(folder)).toEqual([]);
    expect(await use(cache, 'aa')).toMatchObject({ package: 'aa' });
  });

  it('goes on for those who wait when the run that installs is cancelled', async () => {
    const cache = open();
    const controller = new AbortController();
    const { promise: whenBegun, resolve: begun } = Promise.withResolvers<void>();
    const cancelled = async () => {
      begun();
      await new Promise((resolve) => controller.signal.addEventListener('abort', resolve));
      throw controller.signal.reason;
    };
    const first = cache.use('aa', cancelled, contents, { signal: controller.signal });
    await whenBegun;
    const second = use(cache, 'aa');
    controller.abort();
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
    expect(await second).toMatchObject({ package: 'aa' });
  });

  it('forgets what was used longest ago when it is full, never what is in use', async () => {
    const cache = open(2_500_000);
    const big = (name: string) => making(name, 1_000_000);
    await use(cache, 'aa', big('aa'));
    await use(cache, 'bb', big('bb'));
    await use(cache, 'aa', big('aa'));
    await use(cache, 'cc', big('cc'));
    expect((await readdir(folder)).sort()).toEqual(['aa', 'cc']);
    await cache.use(
      'aa',
      big('aa'),
      async (entry) => {
        for (const name of ['dd', 'ee']) await use(cache, name, big(name));
        expect(await contents(entry)).toMatchObject({ package: 'aa' });
      },
      { signal },
    );
    // More than fits, as long as one of them is being copied.
    expect((await readdir(folder)).sort()).toEqual(['aa', 'dd', 'ee']);
    await use(cache, 'cc', big('cc'));
    expect((await readdir(folder)).sort()).toEqual(['cc', 'ee']);
    expect(made).toEqual(['aa', 'bb', 'cc', 'dd', 'ee', 'cc']);
  });

  it('keeps nothing of an install that a killed server left half done', async () => {
    await mkdir(path.join(folder, '.unfinished-1/project'), { recursive: true });
    await mkdir(path.join(folder, 'aa/project'), { recursive: true });
    expect(await use(open(), 'aa')).toMatchObject({ package: 'aa' });
    expect(await readdir(folder)).toEqual(['aa']);
  });
});
