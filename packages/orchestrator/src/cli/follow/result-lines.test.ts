import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Project, RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CliIo } from '../io.ts';
import { resultLines } from './result-lines.ts';

const branch = 'autonomous/r-1-login';
const published = { branch, commit: 'c'.repeat(40), pushed: true };
const merged = {
  baseBranch: 'main',
  commit: 'd'.repeat(40),
  strategy: 'squash',
  at: '2030-01-01T00:00:00.000Z',
} as const;

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'result-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = (name: string): string => path.join(folder, name);
const env = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_PAGER: 'cat',
  GIT_AUTHOR_NAME: 'Ann',
  GIT_AUTHOR_EMAIL: 'ann@example.org',
  GIT_COMMITTER_NAME: 'Ann',
  GIT_COMMITTER_EMAIL: 'ann@example.org',
};
const execute = (place: string, file: string, ...args: readonly string[]): string =>
  execFileSync(file, args, { cwd: inFolder(place), env, encoding: 'utf8', stdio: 'pipe' }).trim();
const git = (place: string, ...args: readonly string[]): string => execute(place, 'git', ...args);

/** A working tree `shop` on its base branch, and the run's branch, which adds the file `login`. */
function makeShop(base: string): void {
  git('.', 'init', '-q', '-b', base, inFolder('shop'));
  git('shop', 'commit', '-q', '--allow-empty', '-m', 'Start');
  git('shop', 'switch', '-q', '-c', branch);
  writeFileSync(inFolder('shop/login'), 'login\n');
  git('shop', 'add', 'login');
  git('shop', 'commit', '-q', '-m', 'Login');
  git('shop', 'switch', '-q', base);
}

/** Lines that a person who stands in `cwd` is shown. */
function linesIn(cwd: string, repository: string, base: string, run: Partial<RunView> = {}) {
  const client = { getProject: () => Promise.resolve({ repository } as Project) };
  const { config } = aRun();
  const completed = aRun({
    status: 'completed',
    gate: null,
    published,
    config: { ...config, git: { ...config.git, baseBranch: base } },
    ...run,
  });
  return resultLines({ cwd: inFolder(cwd) } as CliIo, client, completed);
}

/** Pastes each command into a shell. */
const paste = (place: string, [, ...commands]: readonly string[]) =>
  commands.map((command) => execute(place, 'sh', '-c', command));

it.each(['main', "it's;$(false)"])(
  'merges the branch in a clone of a remote, from another branch, with the base %s',
  async (base) => {
    makeShop(base);
    git('.', 'clone', '-q', '--bare', '--single-branch', '--branch', base, 'shop', 'shop.git');
    git('.', 'clone', '-q', 'shop.git', 'clone');
    git('clone', 'switch', '-q', '-c', 'topic');
    git('shop', 'push', '-q', '../shop.git', branch);

    const lines = await linesIn('clone', inFolder('shop.git'), base);
    expect(lines[0]).toBe(
      `The result is a branch. To see it and merge it into ${base}, in a clone of ${inFolder('shop.git')}:`,
    );
    expect(lines.join('\n')).not.toContain('#');
    expect(paste('clone', lines)[1]).toContain('+login');
    expect(git('clone', 'branch', '--show-current')).toBe(base);
    expect(git('clone', 'ls-files')).toBe('login');
    expect(git('shop.git', 'rev-parse', base)).toBe(git('clone', 'rev-parse', base));
    expect(git('clone', 'ls-tree', 'topic')).toBe('');
  },
);

it('merges the branch in the folder that is the repository itself', async () => {
  makeShop('main');
  git('shop', 'switch', '-q', '-c', 'topic');
  const lines = await linesIn('shop', inFolder('shop'), 'main');
  expect(lines).toEqual([
    `The result is a branch. To see it and merge it into main, in ${inFolder('shop')}:`,
    `  git diff main...${branch}`,
    `  git switch main && git merge ${branch}`,
  ]);
  expect(await linesIn('.', inFolder('shop'), 'main')).toEqual(lines);
  expect(paste('shop', lines)[0]).toContain('+login');
  expect(git('shop', 'branch', '--show-current')).toBe('main');
  expect(git('shop', 'ls-files')).toBe('login');
});

it('merges the remote-tracking branch in a clone of a folder in which others work', async () => {
  makeShop('main');
  git('.', 'clone', '-q', 'shop', 'clone');
  const lines = await linesIn('clone', inFolder('shop'), 'main');
  paste('clone', lines);
  expect(git('clone', 'ls-files')).toBe('login');
});

it('names the address of a repository that is not on this machine', async () => {
  expect(await linesIn('.', 'https://example.org/shop.git', 'main')).toEqual([
    'The result is a branch. To see it and merge it into main, in a clone of https://example.org/shop.git:',
    '  git fetch origin',
    `  git diff origin/main...origin/${branch}`,
    `  git switch main && git merge origin/${branch}`,
    '  git push origin main',
  ]);
});

it.each<[string, Partial<RunView>]>([
  ['was merged', { merged }],
  ['has a pull request', { published: { ...published, pullRequest: { number: 1, url: 'u' } } }],
  ['was not pushed', { published: { ...published, pushed: false } }],
  ['has failed', { status: 'failed' }],
])('a run that %s has no such lines', async (_, run) => {
  expect(await linesIn('.', '/nowhere', 'main', run)).toEqual([]);
});
