/**
 * Tests that a hostile archive from another machine writes nothing outside the folder and that no link in it is
 * followed.
 */
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderWriter, isPathBelow, DANGLING_LINK_TARGET, packFolder } from './folder-archive.ts';

let base: string;
let folder: string;
let outside: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'folder-archive-'));
  folder = join(base, 'folder');
  outside = join(base, 'outside');
  await mkdir(folder);
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'untouched');
});
afterEach(() => rm(base, { recursive: true, force: true }));

interface Entry {
  readonly name: string;
  readonly content?: string;
  /** `0` a file, `1` a hard link, `2` a symlink, `5` a folder. */
  readonly type?: string;
  readonly link?: string;
}

/** An archive byte by byte, as no honest program would write it. */
function tarOf(...entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, content = '', type = '0', link = '' }) => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write('0000644\0', 100);
    head.write('0000000\0', 108);
    head.write('0000000\0', 116);
    head.write(`${Buffer.byteLength(content).toString(8).padStart(11, '0')}\0`, 124);
    head.write('00000000000\0', 136);
    head.write('        ', 148);
    head.write(type, 156);
    head.write(link, 157);
    head.write('ustar  \0', 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
    body.write(content);
    return [head, body];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

function wanted(...names: readonly string[]) {
  return new Map(names.map((name) => [name, { size: 4, executable: false }]));
}

async function unpack(archive: Buffer, ...names: readonly string[]): Promise<void> {
  await new FolderWriter(folder).unpack(chunksOf(archive), wanted(...names));
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

async function expectUntouched(): Promise<void> {
  expect(await readdir(base)).toEqual(['folder', 'outside']);
  await expectUntouchedOutside();
}

async function expectUntouchedOutside(): Promise<void> {
  expect(await readdir(outside)).toEqual(['secret.txt']);
  expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('untouched');
}

describe('C05: an archive that comes back', () => {
  it('gives the files that were asked for', async () => {
    const archive = tarOf({ name: './a.txt', content: 'aaaa' }, { name: 'deep/er/b.txt', content: 'bbbb' });
    await unpack(archive, 'a.txt', 'deep/er/b.txt');
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('aaaa');
    expect(await readFile(join(folder, 'deep/er/b.txt'), 'utf8')).toBe('bbbb');
  });

  it.each<[string, readonly Entry[], readonly string[]]>([
    ['a file above', [{ name: '../outside/secret.txt', content: 'evil' }], ['a.txt']],
    ['an absolute file', [{ name: '/tmp/folder-archive-evil', content: 'evil' }], ['a.txt']],
    ['a file that nobody asked for', [{ name: 'b.txt', content: 'evil' }], ['a.txt']],
    ['a symlink', [{ name: 'a.txt', type: '2', link: '../outside/secret.txt' }], ['a.txt']],
    ['a hard link', [{ name: 'a.txt', type: '1', link: '../outside/secret.txt' }], ['a.txt']],
    ['a folder', [{ name: 'a.txt', type: '5' }], ['a.txt']],
    ['a file of another size', [{ name: 'a.txt', content: 'much more' }], ['a.txt']],
    [
      'a file twice',
      [
        { name: 'a.txt', content: 'aaaa' },
        { name: 'a.txt', content: 'bbbb' },
      ],
      ['a.txt'],
    ],
    [
      'a path of pax that leads out',
      [
        { name: 'pax', type: 'x', content: '30 path=../outside/secret.txt\n' },
        { name: 'a.txt', content: 'evil' },
      ],
      ['a.txt'],
    ],
    ['a symlink to an absolute path', [{ name: 'a.txt', type: '2', link: '/etc/passwd' }], ['a.txt']],
    [
      'a long name that leads out',
      [
        { name: '././@LongLink', type: 'L', content: '../outside/secret.txt' },
        { name: 'a.txt', content: 'evil' },
      ],
      ['a.txt'],
    ],
  ])('is refused when it holds %s', async (_what, entries, names) => {
    await expect(unpack(tarOf(...entries), ...names)).rejects.toMatchObject({
      name: 'RetryableFailure',
      reason: 'sandbox_unavailable',
    });
    await expectUntouched();
  });

  it.each([
    ['is cut in a file', tarOf({ name: 'a.txt', content: 'aaaa' }).subarray(0, 514)],
    ['is empty', Buffer.alloc(0)],
    ['is no archive', Buffer.from('<html>502</html>')],
    ['is cut while compressed', gzipSync(tarOf({ name: 'a.txt', content: 'aaaa' })).subarray(0, 40)],
  ])('is refused when it %s', async (_what, archive) => {
    await expect(unpack(archive, 'a.txt')).rejects.toMatchObject({ name: 'RetryableFailure' });
  });

  it('is not taken where it is compressed: nobody asked for that, and nothing says how large it becomes', async () => {
    await expect(unpack(gzipSync(tarOf({ name: 'a.txt', content: 'aaaa' })), 'a.txt')).rejects.toMatchObject({
      reason: 'sandbox_unavailable',
      message: expect.stringContaining('compressed'),
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it('is given up where it does not end', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield tarOf({ name: 'a.txt', content: 'aaaa' });
      // Ten thousand times what was asked for is without end enough.
      for (let part = 0; part < 100; part += 1) yield Buffer.alloc(512 * 1024);
    }
    await expect(new FolderWriter(folder).unpack(endless(), wanted('a.txt'))).rejects.toMatchObject({
      reason: 'sandbox_unavailable',
      message: expect.stringContaining('longer than all that was asked for'),
    });
  });

  it('goes through no link that stands in the folder, and replaces it', async () => {
    await symlink(outside, join(folder, 'dir'));
    await symlink(join(outside, 'secret.txt'), join(folder, 'a.txt'));
    await unpack(
      tarOf({ name: 'dir/secret.txt', content: 'evil' }, { name: 'a.txt', content: 'evil' }),
      'dir/secret.txt',
      'a.txt',
    );
    await expectUntouched();
    expect(await readFile(join(folder, 'dir/secret.txt'), 'utf8')).toBe('evil');
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('evil');
  });
});

describe('an archive that was refused', () => {
  it('writes nothing afterwards, whatever comes still', async () => {
    const { promise: refused, resolve } = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const late = async function* (): AsyncGenerator<Uint8Array> {
      try {
        // The file behind the one that nobody asked for, in the same chunk and in a later one.
        yield tarOf({ name: 'evil' }, { name: 'a.txt', content: 'late' }).subarray(0, -1024);
        await refused;
        yield tarOf({ name: 'b.txt', content: 'late' });
      } finally {
        end();
      }
    };
    const unpacking = new FolderWriter(folder).unpack(late(), wanted('a.txt', 'b.txt'));
    await expect(unpacking).rejects.toMatchObject({ name: 'RetryableFailure' });
    resolve();
    await ended;
    await new Promise((done) => setTimeout(done, 100));
    expect(await readdir(folder)).toEqual([]);
  });

  it('has ended what it was writing when it says so', async () => {
    const cut = async function* (): AsyncGenerator<Uint8Array> {
      yield tarOf({ name: 'a.txt', content: 'aaaa' }).subarray(0, 514);
      throw new Error('the connection is cut');
    };
    await expect(new FolderWriter(folder).unpack(cut(), wanted('a.txt'))).rejects.toThrow('cut');
    await rm(folder, { recursive: true });
    await new Promise((done) => setTimeout(done, 100));
    await expectUntouchedOutside();
    expect(await readdir(base)).toEqual(['outside']);
  });
});

describe('what was a folder and is none any more', () => {
  it('is not gone through: neither by links nor by folders, files and removals', async () => {
    const writer = new FolderWriter(folder);
    await writer.makeFolder('a/b/c');
    await writer.link('a', '.');
    await writer.link('b', '.');
    await writer.makeFolder('a/b/c/d');
    await writer.link('a/b', '..');
    await writer.link('a/b/outside', 'gone');
    await expectUntouched();
    expect((await readdir(folder)).sort()).toEqual(['a', 'b']);
    expect(await readdir(join(folder, 'a'))).toEqual(['b']);
    expect(await readdir(join(folder, 'a/b'))).toEqual(['outside']);
  });

  it('is refused where somebody else has put a link there', async () => {
    const writer = new FolderWriter(folder);
    await writer.makeFolder('a');
    await rm(join(folder, 'a'), { recursive: true });
    await symlink(outside, join(folder, 'a'));
    const refused = { name: 'RetryableFailure', message: expect.stringContaining('"a"') };
    await expect(writer.link('a/secret.txt', 'gone')).rejects.toMatchObject(refused);
    await expect(writer.makeFolder('a/new')).rejects.toMatchObject(refused);
    const archive = chunksOf(tarOf({ name: 'a/secret.txt', content: 'evil' }));
    await expect(writer.unpack(archive, wanted('a/secret.txt'))).rejects.toMatchObject(refused);
    await writer.remove('a/secret.txt');
    await expectUntouched();
  });
});

describe('removing', () => {
  it('goes through no link', async () => {
    await symlink(outside, join(folder, 'dir'));
    const writer = new FolderWriter(folder);
    await writer.remove('dir/secret.txt');
    await writer.remove('nothing/there');
    await expectUntouched();
    await writer.remove('dir');
    await expectUntouched();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a link', () => {
  it.each([
    ['bin/tool', '../lib/tool.js'],
    ['a', 'b'],
    ['a', './b/c'],
    ['deep/er/a', '../../b'],
    ['a/b', '..'],
    ['a', '.'],
    ['a', 'dir/'],
  ])('%s -> %s stays inside and is made', async (path, target) => {
    await new FolderWriter(folder).link(path, target);
    expect(await readlink(join(folder, path))).toBe(target);
  });

  it.each([
    ['a', '/etc/passwd'],
    ['a', '..'],
    ['a', '../outside'],
    ['a/b', '../../outside'],
    ['a', 'b/../../outside'],
    // Where "s" is a link itself, ".." after it leads elsewhere.
    ['x/y/a', 's/../../secret'],
    ['a', 'b/..'],
    ['a', ''],
    ['a', './/etc'],
    ['a', 'b//c'],
  ])('%s -> %s may lead out and is a broken one', async (path, target) => {
    await new FolderWriter(folder).link(path, target);
    expect(await readlink(join(folder, path))).toBe(DANGLING_LINK_TARGET);
  });
});

describe('a path of a listing', () => {
  it.each(['', '.', '..', '../x', 'a/../b', '/x', 'a//b', 'a/', './a', 'a\0b', 'x'.repeat(5_000)])(
    '%j is none below the folder',
    (path) => expect(isPathBelow(path)).toBe(false),
  );
  it.each(['a', '-rf', 'a/b', '...', 'a/..b', '@x', 'ünï', 'two\nlines'])('%j is', (path) =>
    expect(isPathBelow(path)).toBe(true),
  );
});

describe('packing', () => {
  it('takes a name that tar would take for an archive as a name', async () => {
    await writeFile(join(folder, '@secret.tar'), tarOf({ name: 'x', content: 'xxxx' }));
    expect(await packFolder(folder, join(base, 'out.tgz'))).toBe(true);
    const size = tarOf({ name: 'x', content: 'xxxx' }).length;
    const into = join(base, 'into');
    await mkdir(into);
    const archive = chunksOf(gunzipSync(await readFile(join(base, 'out.tgz'))));
    await new FolderWriter(into).unpack(archive, new Map([['@secret.tar', { size, executable: false }]]));
    expect(await readdir(into)).toEqual(['@secret.tar']);
  });

  it('makes no archive of an empty folder', async () => {
    expect(await packFolder(folder, join(base, 'out.tgz'))).toBe(false);
    await expectUntouched();
  });
});
