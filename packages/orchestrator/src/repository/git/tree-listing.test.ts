import { describe, expect, it } from 'vitest';
import { pathKey, TreeListing } from './tree-listing.ts';

const OID = 'a'.repeat(40);

/** A listing in git's order, by bytes. */
function listing(...entries: readonly (readonly [mode: string, path: string | Buffer])[]): Promise<TreeListing> {
  const types: Readonly<Record<string, string>> = { '160000': 'commit' };
  const sorted = entries.map(([mode, path]) => [mode, Buffer.from(path)] as const).sort(([, a], [, b]) => a.compare(b));
  return TreeListing.of(
    Buffer.concat(
      sorted.flatMap(([mode, path]) => [Buffer.from(`${mode} ${types[mode] ?? 'blob'} ${OID}\t`), path, Buffer.of(0)]),
    ),
  );
}

const files = (...paths: readonly (string | Buffer)[]) => listing(...paths.map((path) => ['100644', path] as const));

describe('a listing', () => {
  it('has entries by their paths and modes, and folders', async () => {
    const list = await listing(['100644', 'a/b/c.txt'], ['100755', 'a/run'], ['120000', 'link'], ['160000', 'sub']);
    expect(list.length).toBe(4);
    expect(list.get('a/run')).toEqual({ mode: '100755', oid: OID, path: 'a/run', rawPath: 'a/run' });
    expect(['a', 'a/b', 'a/b/c.txt', 'a/r', 'sub'].map((path) => list.hasFolder(path))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect((await list.withMode('120000')).map(({ path }) => path)).toEqual(['link']);
    expect((await list.withMode('160000')).map(({ path }) => path)).toEqual(['sub']);
    expect(await list.sortedFiles()).toEqual(['a/b/c.txt', 'a/run', 'link']);
    expect((await list.atOrUnder(['a', 'a/run', 'lin', 'link'])).map(({ path }) => path).sort()).toEqual([
      'a/b/c.txt',
      'a/run',
      'link',
    ]);
    expect(await list.entries()).toHaveLength(4);
    expect(await (await TreeListing.of(Buffer.alloc(0))).entries()).toEqual([]);
  });

  it('finds names that git sorts by their bytes and JavaScript by halves of their characters', async () => {
    const paths = ['\u{1F600}.md', '\uFF01.md', '\uFF01/\u{1F600}', 'größe', 'z'];
    const list = await files(...paths);
    expect(list.paths).not.toEqual(list.paths.toSorted());
    expect(await list.sortedFiles()).toEqual(paths.toSorted());
    expect(paths.filter((path) => list.get(path)?.path === path && list.has(path))).toEqual(paths);
    expect(list.hasFolder('\uFF01')).toBe(true);
    expect((await list.atOrUnder(['\uFF01'])).map(({ path }) => path)).toEqual(['\uFF01/\u{1F600}']);
    expect(list.get('größe')?.rawPath).toEqual(Buffer.from('größe'));
  });

  it('tells names that are not UTF-8 apart by their keys', async () => {
    const [one, other] = [Buffer.from([0xff, 0x2f, 0x61]), Buffer.from([0xfe, 0x2f, 0x61])];
    const list = await files(one, other, 'a', '\uFFFD/b');
    const key = (path: Buffer) => pathKey(path.toString('latin1'));
    expect(list.get(key(one))?.rawPath).toEqual(one);
    expect(list.get(key(other))?.rawPath).toEqual(other);
    expect(list.get('\uFFFD/a')?.rawPath).toEqual(one);
    expect(list.has(key(Buffer.of(0xfd, 0x2f, 0x61)))).toBe(false);
    const folders = [Buffer.of(0xff), Buffer.of(0xfe), Buffer.of(0xfd), Buffer.from('\uFFFD')];
    expect(folders.map((folder) => list.hasFolder(key(folder)))).toEqual([true, true, false, true]);
    expect(list.paths.map((_, index) => list.keyAt(index)).sort()).toEqual(
      [key(one), key(other), 'a', key(Buffer.from('\uFFFD/b'))].sort(),
    );
  });
});
