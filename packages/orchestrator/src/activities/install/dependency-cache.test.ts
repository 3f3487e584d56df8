import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DependencyCache, type InstalledDependencies, removeTree } from './dependency-cache.ts';
import { longNames, nestDeeply } from '../deep-folders.fixture.ts';

describe('the cache of installed dependencies', () => {
  let folder: string;
  let made: string[];
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'dependencies-'));
    made = [];
  });
  // Node itself removes nothing that lies too deep.
  afterEach(() => void execFileSync('rm', ['-rf', '--', folder]));

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

  it('goes on after an install that nested folders deeper than a path may be long, here and after a restart', async () => {
    const deep = async (entry: Omit<InstalledDependencies, 'installed'>) => {
      nestDeeply(entry.home);
      throw new NeedsHuman('setup_failed', 'hostile');
    };
    const cache = open();
    await expect(cache.use('aa', deep, contents, { signal })).rejects.toMatchObject({ reason: 'setup_failed' });
    expect(await readdir(folder)).toEqual([]);
    await mkdir(path.join(folder, '.unfinished-1/home'), { recursive: true });
    nestDeeply(path.join(folder, '.unfinished-1/home'));
    expect(await use(open(), 'bb')).toMatchObject({ package: 'bb' });
    expect(await readdir(folder)).toEqual(['bb']);
  });

  it('goes on where something unfinished cannot be removed, and says so', async () => {
    const cacheFolder = path.join(folder, ...longNames(folder, 3_850));
    await mkdir(cacheFolder, { recursive: true });
    // Its path is longer than any may be: nobody can name it from outside.
    const left = `.unfinished-${'x'.repeat(240)}`;
    execFileSync('mkdir', [left, '.unfinished-1'], { cwd: cacheFolder });
    const said: unknown[] = [];
    const log = { warn: (...what: unknown[]) => void said.push(what) };
    const cache = new DependencyCache({ folder: cacheFolder, maxBytes: 1e9, log });
    expect(await use(cache, 'aa')).toMatchObject({ package: 'aa' });
    expect((await readdir(cacheFolder)).sort()).toEqual([left, 'aa']);
    expect(said).toEqual([[expect.objectContaining({ folder: path.join(cacheFolder, left) }), expect.any(String)]]);
  });

  it('looks again after a start at which its folder could not be had', async () => {
    const blocked = path.join(folder, 'cache');
    await writeFile(blocked, '');
    const cache = new DependencyCache({ folder: blocked, maxBytes: 1e9 });
    await expect(use(cache, 'aa')).rejects.toMatchObject({ code: 'EEXIST' });
    await rm(blocked);
    expect(await use(cache, 'aa')).toMatchObject({ package: 'aa' });
  });

  it('keeps nothing of an install that a killed server left half done', async () => {
    await mkdir(path.join(folder, '.unfinished-1/project'), { recursive: true });
    await mkdir(path.join(folder, 'aa/project'), { recursive: true });
    expect(await use(open(), 'aa')).toMatchObject({ package: 'aa' });
    expect(await readdir(folder)).toEqual(['aa']);
  });
});

describe('removing', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(path.join(tmpdir(), 'remove-'));
  });
  afterEach(() => void execFileSync('rm', ['-rf', '--', base]));

  it('takes away folders that are nested deeper than a path may be long, read-only ones too', async () => {
    nestDeeply(base);
    const other = path.join(base, 'other');
    await mkdir(path.join(other, 'folder'), { recursive: true });
    execFileSync('chmod', ['-R', '0555', other]);
    await removeTree(base);
    await removeTree(base);
    expect((await readdir(path.dirname(base))).includes(path.basename(base))).toBe(false);
  });
});
