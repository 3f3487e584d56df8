import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parsePatch } from './patch.ts';

/** What git itself prints of a change. */
function patchOf(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'patch-'));
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), content);
    }
    git('add', '--all');
  };
  try {
    git('init', '--quiet');
    write(before);
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message=before');
    for (const name of Object.keys(before)) rmSync(path.join(folder, name));
    write(after);
    return git('diff', '--cached', '--find-renames');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('gives each line its kind and its numbers on both sides', () => {
  const [file, ...others] = parsePatch(patchOf({ 'a.ts': 'one\ntwo\nthree\n' }, { 'a.ts': 'one\n2\nthree\nfour\n' }));
  expect(others).toEqual([]);
  expect(file).toMatchObject({ path: 'a.ts', isBinary: false });
  expect(file?.hunks).toEqual([
    {
      heading: '',
      lines: [
        { kind: 'same', text: 'one', before: 1, after: 1 },
        { kind: 'removed', text: 'two', before: 2 },
        { kind: 'added', text: '2', after: 2 },
        { kind: 'same', text: 'three', before: 3, after: 3 },
        { kind: 'added', text: 'four', after: 4 },
      ],
    },
  ]);
});

it('names files that are new, gone, renamed, empty, binary, or have odd names', () => {
  const long = 'line\n'.repeat(40);
  const files = parsePatch(
    patchOf(
      { 'gone.ts': 'x\n', 'old/name.ts': long, 'image.bin': '\0one' },
      { 'new file.ts': 'y\n', 'new/name.ts': long, 'image.bin': '\0two', empty: '', 'ü "q"\t.ts': 'z\n' },
    ),
  );
  const paths = files.map(({ path: name, from }) => (from === undefined ? name : `${from} → ${name}`));
  expect(paths.toSorted()).toEqual([
    'empty',
    'gone.ts',
    'image.bin',
    'new file.ts',
    'old/name.ts → new/name.ts',
    'ü "q"\t.ts',
  ]);
  expect(files.find(({ path: name }) => name === 'image.bin')).toMatchObject({ isBinary: true, hunks: [] });
});

it('takes lines for what they are that look like headers', () => {
  const [file] = parsePatch(patchOf({ a: '-- a\n' }, { a: '++ b\n' }));
  expect(file?.path).toBe('a');
  expect(file?.hunks[0]?.lines).toEqual([
    { kind: 'removed', text: '-- a', before: 1 },
    { kind: 'added', text: '++ b', after: 1 },
  ]);
});

it('says where a file has no newline at its end, and finds nothing in what is no diff', () => {
  const [file] = parsePatch(patchOf({ a: 'x\n' }, { a: 'x' }));
  expect(file?.hunks[0]?.lines.at(-1)).toEqual({ kind: 'note', text: 'No newline at end of file' });
  expect(parsePatch('hello\nworld\n')).toEqual([]);
  expect(parsePatch('')).toEqual([]);
});
