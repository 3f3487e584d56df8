import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePatch, type PatchFile, sidesOf } from './patch.ts';

type PatchedFile = PatchFile & ReturnType<typeof sidesOf>;

/** A repository with the commits `from` and `to`, and what git itself says of the way between them. */
const folder = mkdtempSync(path.join(tmpdir(), 'autonomous-patch-'));
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t.invalid', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
const write = (name: string, content: string | Buffer): void => writeFileSync(path.join(folder, name), content);
const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

let files: ReadonlyMap<string, PatchedFile>;
beforeAll(() => {
  git('init', '--quiet', '--initial-branch=main');
  write('long.txt', `${lines(40).join('\n')}\n`);
  write('gone.txt', 'once\n-- \n');
  write('no-end.txt', 'a');
  write('same.bin', Buffer.from([0, 1, 2]));
  git('add', '--all');
  git('commit', '--quiet', '--message=from');
  write('long.txt', `${lines(40).with(9, 'LINE 10').toSpliced(29, 1).join('\n')}\n`);
  git('rm', '--quiet', 'gone.txt');
  write('no-end.txt', 'b');
  write('same.bin', Buffer.from([0, 1, 3]));
  write('ümläut "quoted".txt', '+++ b/not a header\n');
  write('empty with space.txt', '');
  git('add', '--all');
  git('commit', '--quiet', '--message=to');
  files = new Map(parsePatch(git('diff', 'HEAD~1', 'HEAD')).map((file) => [file.path, { ...file, ...sidesOf(file) }]));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("A diff of git's", () => {
  it('names every file once, whatever it is called', () => {
    expect(Object.fromEntries([...files].map(([name, { status }]) => [name, status]))).toEqual({
      'empty with space.txt': 'added',
      'gone.txt': 'deleted',
      'long.txt': 'modified',
      'no-end.txt': 'modified',
      'same.bin': 'modified',
      'ümläut "quoted".txt': 'added',
    });
  });

  it('shows both sides with the numbers that their lines have in the file', () => {
    const { before, after } = files.get('long.txt') as PatchedFile;
    const numbered = (side: typeof before) =>
      side.text
        .trimEnd()
        .split('\n')
        .map((line, index) => [side.lineNumbers[index], line]);
    expect(numbered(before)).toContainEqual([10, 'line 10']);
    expect(numbered(after)).toContainEqual([10, 'LINE 10']);
    expect(numbered(before)).toContainEqual([30, 'line 30']);
    expect(numbered(after)).toContainEqual([30, 'line 31']);
    expect(numbered(after)[0]).toEqual([0, '⋯ 6 unchanged lines']);
    expect(numbered(after).filter(([number]) => number === 0)).toHaveLength(2);
  });

  it('takes lines that look like its own marks for what they are', () => {
    expect(files.get('gone.txt')?.before.text).toBe('once\n-- \n');
    expect(files.get('gone.txt')?.after.text).toBe('');
    expect(files.get('ümläut "quoted".txt')?.after).toEqual({ text: '+++ b/not a header\n', lineNumbers: [1] });
    expect(files.get('no-end.txt')).toMatchObject({ before: { text: 'a\n' }, after: { text: 'b\n' } });
  });

  it('says which files are not text', () => {
    expect([...files.values()].filter(({ isBinary }) => isBinary).map(({ path }) => path)).toEqual(['same.bin']);
  });
});
