import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidRequest } from '@autonomous/shared';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import {
  assertBranchName,
  assertFilePath,
  assertObjectId,
  assertProjectId,
  atOrUnderAny,
  excludesFile,
  isDotGit,
  pathFault,
} from './repository-paths.ts';
import { isBranchName } from '../path-rules/branch-names.ts';

const HOSTILE = [
  '',
  '-',
  '--upload-pack=touch PWN',
  '-u x',
  '-uX',
  '--receive-p=x',
  '--exec=x',
  '--output=/tmp/x',
  '-c core.x=y',
  '@',
  '@{-1}',
  'x@{1}',
  'a..b',
  '../x',
  '/x',
  'x/',
  'a//b',
  ':/x',
  ':x',
  'x:y',
  'a\0b',
  'a\nb',
  'a\rb',
  'a b',
  'a~1',
  'a^',
  'a?b',
  'a*b',
  'a[b',
  'a\\b',
  '.a',
  'a/.b',
  'a.lock',
  'a.LOCK',
  'a.lock/b',
  'a.',
  'HEAD',
  'refs/heads/main',
  'refs/tags/v1',
  'main:evil',
  '+main',
  'a'.repeat(300),
  '\u202e',
  '\ud800',
  '💥',
  '\u007f',
];

/** Strings near the border between good and bad: pieces that git gives a meaning, joined at random. */
const nearNames = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '-',
        '--',
        '.',
        '..',
        '/',
        '@',
        '{',
        '~',
        '^',
        ':',
        '.lock',
        '.git',
        '\0',
        '\n',
        ' ',
        'HEAD',
        'ä',
        '#',
        '+',
        'git~1',
        '\u200c',
      ),
      fc.string({ maxLength: 4, unit: 'binary' }),
      fc.stringMatching(/^[a-z0-9]{1,3}$/),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

describe('B06: the grammar of branches', () => {
  it.each([
    'main',
    'feature/login-2',
    'release/1.x',
    'dependabot/npm_and_yarn/a-1.2.3',
    'user@fix',
    '#12-fix',
    'größe',
    'autonomous/abc123-def-login',
  ])('takes %j', (name) => expect(assertBranchName(name)).toBe(name));

  it.each(HOSTILE.filter((name) => name !== '+main'))('refuses %j', (name) => {
    expect(() => assertBranchName(name)).toThrow(InvalidRequest);
  });

  it('takes nothing that git could read as an option, a range, a reflog entry, a pattern or a second ref', () => {
    fc.assert(
      fc.property(nearNames, (name) => {
        fc.pre(isBranchName(name));
        expect(name).not.toMatch(
          /^[-/.]|\.\.|@\{|[\u0000-\u0020\u007f~^:?*[\\]|\/$|\/\/|\/[-.]|\.lock(?:\/|$)|^@$|^HEAD$|^refs\//i,
        );
      }),
      { numRuns: 10_000, maxSkipsPerRun: 100 },
    );
  });
});

describe('B11 C01: the grammar of files', () => {
  it.each([
    'a',
    'src/größe.ts',
    'a b/c d.md',
    '.gitignore',
    '.github/workflows/ci.yml',
    '-rf',
    ':(glob)x',
    '*',
    'x.git',
    '.gitx',
    'git',
    'CON',
    '~/x',
    '%2e%2e/x',
  ])('takes %j', (path) => expect(assertFilePath(path)).toBe(path));

  it.each([
    '',
    '.',
    '..',
    '../../etc/cron.d/x',
    '/etc/x',
    '..\\..\\x',
    'C:\\x',
    'a/./../../x',
    'a//b',
    'a/',
    'x\0.png',
    'a\nb',
    'a\u007fb',
    '\ufffd',
    '\ud800',
    'x'.repeat(4_096),
    'x'.repeat(256),
    '.git',
    '.git/config',
    'a/.GIT/config',
    '.git./x',
    '.git /x',
    '.git::$INDEX_ALLOCATION/x',
    'git~1/x',
    '.g\u200cit/x',
  ])('refuses %j', (path) => {
    expect(() => assertFilePath(path)).toThrow(InvalidRequest);
  });

  it('takes nothing that leads out of the folder it is joined to', () => {
    fc.assert(
      fc.property(nearNames, (path) => {
        fc.pre(pathFault(path) === null);
        expect(join('/run/folder', path)).toBe(`/run/folder/${path}`);
      }),
      { numRuns: 10_000, maxSkipsPerRun: 100 },
    );
  });
});

describe('git itself', () => {
  let gitDir: string;
  beforeAll(() => {
    gitDir = mkdtempSync(join(tmpdir(), 'autonomous-paths-'));
    execFileSync('git', ['init', '--quiet', '--bare', gitDir]);
  });
  afterAll(() => rmSync(gitDir, { recursive: true, force: true }));

  it('takes every branch and every path that the grammar takes', () => {
    const samples = fc.sample(nearNames, 20_000);
    const env = { ...process.env, GIT_DIR: gitDir };
    const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], { env, input: '', encoding: 'utf8' }).trim();
    const paths = samples.filter((path) => pathFault(path) === null);
    const index = paths
      .map((path, at) => [`${at}/${path}`, path].map((name) => `100644 ${blob}\t${name}\0`).join(''))
      .join('');
    execFileSync('git', ['update-index', '-z', '--index-info'], { env, input: index });
    const tree = execFileSync('git', ['write-tree'], { env, encoding: 'utf8' }).trim();
    const commit = execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', 'commit-tree', '-m', 'x', tree], {
      env,
      encoding: 'utf8',
    }).trim();
    const branches = samples.filter(isBranchName);
    const refs = branches.map((branch, at) => `create refs/heads/${at}/${branch}\0${commit}\0`).join('');
    execFileSync('git', ['update-ref', '-z', '--stdin'], { env, input: `start\0${refs}prepare\0abort\0` });
    expect(paths.length).toBeGreaterThan(1_000);
    expect(branches.length).toBeGreaterThan(1_000);
  });
});

describe('Other names', () => {
  it.each(['', '.', '..', '.x', 'a/b', '-x', 'x'.repeat(101), 'a\0'])('refuses %j as a project id', (id) => {
    expect(() => assertProjectId(id)).toThrow(InvalidRequest);
  });

  it.each(['', 'main', 'A'.repeat(40), 'a'.repeat(39), `${'a'.repeat(40)}\n`, 'HEAD'])(
    'refuses %j as an object id',
    (id) => {
      expect(() => assertObjectId(id)).toThrow(InvalidRequest);
    },
  );

  it('writes patterns a line each and refuses one that would be two', () => {
    expect(excludesFile(['secrets/', '*.pem'])).toBe('secrets/\n*.pem\n');
    expect(() => excludesFile(['a\n!secrets/'])).toThrow(InvalidRequest);
  });

  it('knows .git under the names that other file systems give it', () => {
    expect(['.git', '.GIT', 'GIT~1', '.git...', '.git:x'].every(isDotGit)).toBe(true);
    expect(['.gitignore', '.gitmodules', '.github', 'git', 'a.git'].some(isDotGit)).toBe(false);
  });
});

describe('Paths at or under others', () => {
  it('are those of a list, and what lies in its folders', () => {
    const isNamed = atOrUnderAny(['test', 'a/b c', 'x/y/z.js']);
    const paths = ['test', 'test/a', 'a/b c/d/e', 'x/y/z.js', 'tests', 'a', 'a/b', 'x/y', 'x/y/z.jsx', 'b/test'];
    expect(paths.filter(isNamed)).toEqual(['test', 'test/a', 'a/b c/d/e', 'x/y/z.js']);
    expect(paths.some(atOrUnderAny([]))).toBe(false);
  });

  it('are found in time that grows with their number alone', async () => {
    const make = (size: number) => Array.from({ length: size }, (_, index) => `test/x/f${index}`);
    expect(await growthOf(2_000, make, (paths) => paths.filter(atOrUnderAny(paths)))).toBeLessThan(LINEAR);
  });
});
