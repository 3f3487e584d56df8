import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { fetchBranch, fileAt, folderWithCommit, remoteUrl, startMerge, switchTo, uncommitted } from './git-checkout.ts';

const BRANCH = 'autonomous/r-1-login';
let place: string;
let clone: string;
let theirs: string;
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t.invalid', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();
const commit = (folder: string, content: string): void => {
  writeFileSync(path.join(folder, 'a.txt'), content);
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message=one');
};

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'autonomous-checkout-'));
  [clone, theirs] = [path.join(place, 'clone'), path.join(place, 'theirs')];
  mkdirSync(theirs);
  git(theirs, 'init', '--quiet', '--initial-branch=main');
  commit(theirs, 'base\n');
  git(place, 'clone', '--quiet', theirs, clone);
  git(theirs, 'switch', '--quiet', '--create', BRANCH);
  commit(theirs, 'result\n');
});
afterEach(() => rmSync(place, { recursive: true }));

it('fetches a branch that the clone does not know and switches to it', async () => {
  const fetched = await fetchBranch(['/nowhere', clone], BRANCH);
  expect(fetched).toEqual({ folder: clone, remote: 'origin' });
  await switchTo({ folder: clone, remote: 'origin' }, BRANCH);
  expect(git(clone, 'branch', '--show-current')).toBe(BRANCH);
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toBe('result\n');
});

it('brings a branch that is there forward', async () => {
  await fetchBranch([clone], BRANCH);
  await switchTo({ folder: clone, remote: 'origin' }, BRANCH);
  git(clone, 'switch', '--quiet', 'main');
  commit(theirs, 'newer\n');
  await fetchBranch([clone], BRANCH);
  await switchTo({ folder: clone, remote: 'origin' }, BRANCH);
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toBe('newer\n');
});

it("throws nothing of the person's away", async () => {
  await fetchBranch([clone], BRANCH);
  writeFileSync(path.join(clone, 'a.txt'), 'mine\n');
  expect(await uncommitted(clone)).toEqual(['a.txt']);
  await expect(switchTo({ folder: clone, remote: 'origin' }, BRANCH)).rejects.toThrow(
    /would be overwritten.* a\.txt Please commit/,
  );
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toBe('mine\n');
});

it('says where no remote has the branch, and where the folder came from', async () => {
  expect(await fetchBranch([clone], 'autonomous/none')).toBeNull();
  expect(await remoteUrl(clone)).toBe(theirs);
  expect(await remoteUrl(theirs)).toBeNull();
});

it('says which remote cannot be asked, unless another one has the branch', async () => {
  git(clone, 'remote', 'add', 'gone', path.join(place, 'nowhere'));
  await expect(fetchBranch([clone], 'autonomous/none')).rejects.toThrow(
    /^autonomous\/none cannot be fetched from gone: /,
  );
  expect(await fetchBranch([clone], BRANCH)).toEqual({ folder: clone, remote: 'origin' });
});

it("leaves a branch with commits of the person's own as it is, and says so", async () => {
  await fetchBranch([clone], BRANCH);
  git(clone, 'switch', '--quiet', '--create', BRANCH, 'main');
  commit(clone, 'mine\n');
  git(clone, 'switch', '--quiet', 'main');
  await expect(switchTo({ folder: clone, remote: 'origin' }, BRANCH)).rejects.toThrow(
    'it has commits that origin does not have, or another history',
  );
  expect(git(clone, 'branch', '--show-current')).toBe(BRANCH);
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toBe('mine\n');
});

it('runs no hook of the repository', async () => {
  const hook = path.join(clone, '.git', 'hooks', 'post-checkout');
  writeFileSync(hook, `#!/bin/sh\ntouch ${path.join(place, 'hooked')}\n`, { mode: 0o755 });
  await fetchBranch([clone], BRANCH);
  await switchTo({ folder: clone, remote: 'origin' }, BRANCH);
  expect(() => readFileSync(path.join(place, 'hooked'))).toThrow('ENOENT');
});

it('leaves a conflict with the base to be resolved, as git itself leaves it', async () => {
  // A person without a git identity can resolve it, too.
  vi.stubEnv('HOME', place);
  vi.stubEnv('XDG_CONFIG_HOME', place);
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  onTestFinished(() => void vi.unstubAllEnvs());
  const hook = path.join(clone, '.git', 'hooks', 'pre-merge-commit');
  writeFileSync(hook, `#!/bin/sh\ntouch ${path.join(place, 'hooked')}\n`, { mode: 0o755 });
  git(theirs, 'switch', '--quiet', 'main');
  commit(theirs, 'base of a colleague\n');
  const fetched = { folder: clone, remote: 'origin' };
  await fetchBranch([clone], BRANCH);
  expect(await startMerge(fetched, BRANCH, 'main')).toEqual([path.join(clone, 'a.txt')]);
  expect(git(clone, 'branch', '--show-current')).toBe(BRANCH);
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toContain(
    '<<<<<<< HEAD\nresult\n=======\nbase of a colleague\n>>>>>>> origin/main\n',
  );
  expect(git(clone, 'rev-parse', 'MERGE_HEAD')).toBe(git(theirs, 'rev-parse', 'main'));
  // A second time it is under way.
  await expect(startMerge(fetched, BRANCH, 'main')).rejects.toThrow('Commit or stash your changes first: a.txt');
  commit(clone, 'both\n');
  expect(git(clone, 'rev-parse', 'HEAD^2')).toBe(git(theirs, 'rev-parse', 'main'));
  expect(() => readFileSync(path.join(place, 'hooked'))).toThrow('ENOENT');
});

it('leaves the folder as it was where the base merges without a conflict, or a merge cannot begin', async () => {
  const fetched = { folder: clone, remote: 'origin' };
  await fetchBranch([clone], BRANCH);
  expect(await startMerge(fetched, BRANCH, 'main')).toEqual([]);
  git(theirs, 'switch', '--quiet', 'main');
  writeFileSync(path.join(theirs, 'b.txt'), 'theirs\n');
  git(theirs, 'add', '--all');
  git(theirs, 'commit', '--quiet', '--message=two');
  expect(await startMerge(fetched, BRANCH, 'main')).toEqual([]);
  const state = () => [git(clone, 'branch', '--show-current'), git(clone, 'status', '--porcelain')];
  expect(state()).toEqual(['main', '']);
  expect(() => git(clone, 'rev-parse', '--verify', 'MERGE_HEAD')).toThrow('Needed a single revision');

  writeFileSync(path.join(clone, 'b.txt'), 'mine\n');
  await expect(startMerge(fetched, BRANCH, 'main')).rejects.toThrow(/would be overwritten by merge.* b\.txt/);
  expect(state()).toEqual(['main', '?? b.txt']);
  expect(readFileSync(path.join(clone, 'b.txt'), 'utf8')).toBe('mine\n');
  writeFileSync(path.join(clone, 'a.txt'), 'mine\n');
  await expect(startMerge(fetched, BRANCH, 'main')).rejects.toThrow('Commit or stash your changes first: a.txt');
  expect(readFileSync(path.join(clone, 'a.txt'), 'utf8')).toBe('mine\n');
  await expect(startMerge(fetched, BRANCH, 'nowhere')).rejects.toThrow('Commit or stash');
  git(clone, 'restore', 'a.txt');
  await expect(startMerge(fetched, BRANCH, 'nowhere')).rejects.toThrow('nowhere cannot be fetched from origin');
});

it('gives whole files where it has the commit', async () => {
  const name = 'ümläut "quoted".txt';
  writeFileSync(path.join(clone, name), '+++ b/not a header\n');
  commit(clone, 'two\n');
  const head = git(clone, 'rev-parse', 'HEAD');
  expect(await folderWithCommit(['/nowhere', clone], head)).toBe(clone);
  expect(await folderWithCommit([clone], '0'.repeat(40))).toBeNull();
  expect(await folderWithCommit([clone], '--help')).toBeNull();
  expect(await fileAt(clone, head, name)).toBe('+++ b/not a header\n');
  expect(await fileAt(clone, head, 'gone.txt')).toBeNull();
});
