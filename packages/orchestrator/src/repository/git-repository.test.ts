/**
 * Tests of the git adapter beyond the port's contract: answers of remotes, error messages, and files that are left
 * behind.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { InvalidRequest, NeedsHuman, Unprocessable } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  AUTHOR,
  commitFiles,
  commitOnRemote,
  type Fixture,
  git,
  mainHead,
  makeBareRemote,
  makeProjectFolder,
  openFixture,
  temporaryFolder,
  write,
} from './git-fixture.fixture.ts';
import { createGitRepository } from './git-repository.ts';
import type { Repository } from './repository.ts';
import { EMPTY_TREE } from './repository-paths.ts';
import { type SmartHttpServer, startSmartHttp } from './git/smart-http.fixture.ts';

const BRANCH = 'autonomous/r1-login';

let folder: ReturnType<typeof temporaryFolder>;
let root: string;
beforeEach(() => {
  folder = temporaryFolder();
  root = folder.path;
});
afterEach(() => folder.remove());

function plainRepository(): Repository {
  return createGitRepository({ folder: join(root, 'mirrors'), author: AUTHOR });
}

async function thrown(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error('Nothing was thrown');
}

async function pause(promise: Promise<unknown>): Promise<{ readonly reason: string; readonly message: string }> {
  const error = await thrown(promise);
  expect(error).toBeInstanceOf(NeedsHuman);
  return error as NeedsHuman; // The line above says so.
}

it('says of a remote with a branch called autonomous, below which none can lie, that it is in the way', async () => {
  const { repository, project, remote } = await openFixture(root);
  git(remote, 'branch', 'autonomous', 'main');
  await repository.fetch(project);
  expect(await repository.fetchRecord(project)).toBeNull();
  const words = `${remote} has a branch 'autonomous', and git has no branch autonomous/record beside it. Rename or remove 'autonomous' there, then `;
  expect((await thrown(repository.inspectRemote(remote))).message).toBe(`${words}try again`);
  const files = { '.autonomous/runs/r/context.json': '{}' };
  expect(await pause(repository.record(project, { files, message: 'Record' }))).toMatchObject({
    reason: 'push_rejected',
    message: `${words}retry`,
  });
});

it('uses the own record branch of a clone when it contains the one of the remote', async () => {
  const { repository, project, remote } = await openFixture(root);
  const record = async (name: string): Promise<string> => {
    const files = { [`.autonomous/runs/${name}/context.json`]: '{}' };
    return (await repository.record(project, { files, message: name })).commit;
  };
  await record('first');
  const clone = join(root, 'clone');
  git(root, 'clone', '--quiet', '--branch', 'autonomous/record', remote, clone);
  git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'Repaired');
  const repaired = git(clone, 'rev-parse', 'HEAD');
  expect(await plainRepository().fetchCopy({ id: 'c-1' }, clone)).toBe(repaired);
  const newer = await record('second');
  git(clone, 'fetch', '--quiet');
  git(clone, 'reset', '--quiet', '--hard', 'HEAD~1');
  expect(await plainRepository().fetchCopy({ id: 'c-2' }, clone)).toBe(newer);
});

describe('Inspecting a remote', () => {
  it('says what is wrong with a local path, and the way out', async () => {
    const repository = plainRepository();
    const path = join(root, 'x');
    const messageFor = async (address: string): Promise<string> => {
      const error = await thrown(repository.inspectRemote(address));
      expect(error).toBeInstanceOf(Unprocessable);
      return error.message;
    };
    expect(await messageFor(path)).toBe(
      `There is no folder ${path} on the server's machine; give the absolute path or the URL of a git repository`,
    );
    writeFileSync(path, '');
    expect(await messageFor(path)).toBe(`${path} is a file; give the folder of a git repository`);
    rmSync(path);
    mkdirSync(path);
    expect(await messageFor(path)).toBe(
      `${path} is not a git repository: give the folder that holds .git, or run "git init" and make a first commit there`,
    );
    git(path, 'init', '--quiet', '--initial-branch=main');
    expect(await messageFor(`file://${path}`)).toBe(
      `${path} has no commits yet; make a first commit there (git add -A && git commit), then try again`,
    );
    write(path, { 'a.txt': 'a' });
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '--message', 'First');
    expect(await repository.inspectRemote(`file://${path}`)).toEqual({ baseBranch: 'main', notices: [] });
    git(path, 'branch', 'other');
    git(path, 'checkout', '--quiet', '--detach');
    expect(await messageFor(path)).toBe(
      `${path} has no default branch. Name the base branch (--base), one of main, other`,
    );
    expect((await repository.inspectRemote(path, 'other')).baseBranch).toBe('other');
    await expect(repository.inspectRemote(path, '--upload-pack=x')).rejects.toThrow(InvalidRequest);
  });

  it('B01: notices changes that are in no commit, without running what the folder planted', async () => {
    const repository = plainRepository();
    const path = makeProjectFolder(join(root, 'shop'));
    git(path, 'config', 'core.fsmonitor', `touch ${join(root, 'PWN')}`);
    git(path, 'config', 'filter.x.clean', `touch ${join(root, 'PWN')}; cat`);
    write(path, {
      '.git/info/attributes': '* filter=x\n',
      'node_modules/a/index.js': '',
      '.git/info/exclude': 'mine.txt\n',
      'mine.txt': '',
    });
    expect((await repository.inspectRemote(path)).notices).toEqual([]);
    const notice = `${path} has changes that are in no commit; runs start from the last commit of main and do not see them`;
    write(path, { 'src/cart.js': 'changed' });
    expect((await repository.inspectRemote(path)).notices).toEqual([notice]);
    write(path, { 'src/cart.js': 'export const total = 1;\n' });
    expect((await repository.inspectRemote(path)).notices).toEqual([]);
    write(path, { 'untracked.txt': '' });
    expect((await repository.inspectRemote(path)).notices).toEqual([notice]);
    expect(existsSync(join(root, 'PWN'))).toBe(false);
    expect(git(path, '-c', 'core.fsmonitor=', 'ls-files', '--stage')).not.toBe('');
  });
});

describe('A project folder with a work tree as the remote', () => {
  it('takes run branches and refuses the branch that is checked out, saying what to do', async () => {
    const repository = plainRepository();
    const path = makeProjectFolder(join(root, 'shop'));
    const project = { id: 'p-1', repository: path, baseBranch: 'main' };
    await repository.fetch(project);
    const main = await mainHead({ repository, project });
    const commit = await commitFiles({ repository, project }, BRANCH, { 'a.txt': 'a' });
    expect(await repository.push(project, BRANCH, commit, null)).toEqual({ ok: true });
    expect(git(path, 'rev-parse', BRANCH)).toBe(commit);
    const { reason, message } = await pause(repository.push(project, 'main', commit, main));
    expect(reason).toBe('push_rejected');
    expect(message).toBe(
      `The branch main is checked out in ${path}, and git pushes to no branch that is checked out. Make a bare repository the project's remote (git clone --bare), or turn autoMerge off and merge the run's branch there yourself`,
    );
    expect(git(path, 'rev-parse', 'main')).toBe(main);
  });
});

describe('A remote over smart HTTP', () => {
  let server: SmartHttpServer;
  const tokens = { 'good-token-1': 'write', 'reader-token': 'read' } as const;
  beforeEach(async () => {
    server = await startSmartHttp({ root: join(root, 'remotes'), tokens });
  });
  afterEach(() => server.close());

  function open(token?: string): Promise<Fixture> {
    return openFixture(root, {
      address: () => `${server.url}/owner/shop.git`,
      repository: { tokenHost: server.host, ...(token === undefined ? {} : { token }) },
    });
  }

  it('pauses for a token that is missing or not accepted, and never shows it', async () => {
    const missing = await pause(open());
    expect(missing.reason).toBe('auth_expired');
    expect(missing.message).toMatch(/asks for a sign-in and the server has no token for it: set GITHUB_TOKEN/);
    rmSync(join(root, 'remotes'), { recursive: true });
    const bad = await pause(open('bad-token-77'));
    expect(bad.reason).toBe('auth_expired');
    expect(bad.message).toMatch(/does not accept the token/);
    expect(bad.message).not.toContain('bad-token-77');
    const inspecting = createGitRepository({
      folder: join(root, 'm2'),
      author: AUTHOR,
      token: 'bad-token-77',
      tokenHost: server.host,
    });
    await expect(inspecting.inspectRemote(`${server.url}/owner/shop.git`)).rejects.toThrow(Unprocessable);
  });

  it('says that a remote answers 403, to a token and to none', async () => {
    await server.close();
    const tokens = { '': 'nothing', 'barred-token': 'nothing' } as const;
    server = await startSmartHttp({ root: join(root, 'remotes'), tokens });
    const barred = await pause(open());
    expect(barred).toMatchObject({
      reason: 'auth_expired',
      message: expect.stringMatching(/answers 403 Forbidden, and the server has no token for it: .*set GITHUB_TOKEN/),
    });
    rmSync(join(root, 'remotes'), { recursive: true });
    const powerless = await pause(open('barred-token'));
    expect(powerless.reason).toBe('auth_expired');
    expect(powerless.message).toMatch(/answers the token with 403 Forbidden; it may lack rights/);
  });

  it('tells a token that may only read from one that is not accepted', async () => {
    const fixture = await open('reader-token');
    const { repository, project } = fixture;
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    const { reason, message } = await pause(repository.push(project, BRANCH, commit, null));
    expect(reason).toBe('push_rejected');
    expect(message).toMatch(/may read .* and not write to it: give GITHUB_TOKEN write access/);
    await expect(repository.record(project, { files: { 'a.jsonl': 'a' }, message: 'Record' })).rejects.toThrow(
      NeedsHuman,
    );
  });

  it('pauses while the server is away, keeps the record here and pushes it later', async () => {
    const fixture = await open('good-token-1');
    const { repository, project, remote } = fixture;
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    await server.close();
    for (const call of [() => repository.fetch(project), () => repository.push(project, BRANCH, commit, null)]) {
      const { reason, message } = await pause(call());
      expect(reason).toBe('remote_unavailable');
      expect(message).toMatch(/cannot be reached \(.*[Cc]onnect.*\); retry when it answers/);
    }
    await expect(repository.inspectRemote(project.repository)).rejects.toThrow(Unprocessable);
    const first = await repository.record(project, { files: { 'a.jsonl': '1' }, message: 'Record' });
    const second = await repository.record(project, { files: { 'b.jsonl': '2' }, message: 'Record' });
    expect([first.pushed, second.pushed]).toEqual([false, false]);
    expect(git(remote, 'branch', '--list', 'autonomous/record')).toBe('');
    const again = await startSmartHttp({ root: join(root, 'remotes'), tokens });
    try {
      const moved = { ...project, repository: `${again.url}/owner/shop.git` };
      const back = createGitRepository({
        folder: join(root, 'mirrors'),
        author: AUTHOR,
        token: 'good-token-1',
        tokenHost: again.host,
      });
      // Another server wrote a first record meanwhile: both have no common ancestor.
      git(remote, 'branch', 'autonomous/record', 'main');
      expect(await back.record(moved, { files: { 'b.jsonl': '2' }, message: 'Record' })).toMatchObject({
        pushed: true,
      });
      expect(git(remote, 'ls-tree', '--name-only', 'autonomous/record').split('\n')).toEqual([
        '.gitignore',
        'README.md',
        'a.jsonl',
        'b.jsonl',
        'src',
      ]);
    } finally {
      await again.close();
    }
  });

  it('names a repository that is not there', async () => {
    const { repository } = await open('good-token-1');
    await expect(repository.inspectRemote(`${server.url}/owner/none.git`)).rejects.toThrow(
      `There is no git repository at ${server.url}/owner/none.git, or the server's token does not cover it; check the address and the token`,
    );
  });

  it('ends where two addresses have moved to each other', async () => {
    const detour = await startSmartHttp({ root, tokens, redirectTo: 'http://127.0.0.1:1' });
    try {
      const repository = createGitRepository({
        folder: join(root, 'mirrors'),
        author: AUTHOR,
        token: 'good-token-1',
        tokenHost: detour.host,
        newAddressOf: (address) =>
          Promise.resolve(`${detour.url}/owner/${address.endsWith('one.git') ? 'two' : 'one'}.git`),
      });
      await expect(repository.inspectRemote(`${detour.url}/owner/one.git`)).rejects.toThrow(/has moved .*301/);
      expect(detour.authorizations.length).toBeLessThan(20);
    } finally {
      await detour.close();
    }
  });

  it('sends the token to its own host alone, and follows no redirect', async () => {
    makeBareRemote(join(root, 'remotes', 'owner', 'shop.git'));
    const trap = await startSmartHttp({ root: join(root, 'remotes'), tokens });
    const detour = await startSmartHttp({ root, tokens, redirectTo: trap.url });
    try {
      const repository = createGitRepository({
        folder: join(root, 'mirrors'),
        author: AUTHOR,
        token: 'good-token-1',
        tokenHost: detour.host,
      });
      await expect(repository.inspectRemote(`${detour.url}/owner/shop.git`)).rejects.toThrow(
        /has moved .*301.*use its new address/,
      );
      expect(detour.authorizations.some((sent) => sent !== null)).toBe(true);
      expect(trap.authorizations).toEqual([]);
      await expect(repository.inspectRemote(`${trap.url}/owner/shop.git`)).rejects.toThrow(
        /is for 127\.0\.0\.1:\d+ alone, so let it be used without a sign-in/,
      );
      expect(trap.authorizations.length).toBeGreaterThan(0);
      expect(trap.authorizations.every((sent) => sent === null)).toBe(true);
    } finally {
      await Promise.all([trap.close(), detour.close()]);
    }
  });

  it('G02: keeps the token out of everything that lies on the disk', async () => {
    const fixture = await open('good-token-1');
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    await fixture.repository.push(fixture.project, BRANCH, commit, null);
    const encoded = Buffer.from('x-access-token:good-token-1').toString('base64');
    const files = readdirSync(join(root, 'mirrors'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const content = readFileSync(join(file.parentPath, file.name), 'latin1');
      expect(content.includes('good-token-1') || content.includes(encoded)).toBe(false);
    }
  });
});

/** Gives a remote a hook that refuses every push with these words. @returns the hook's file */
function refusePushes(remote: string, words: string): string {
  const hook = join(remote, 'hooks', 'pre-receive');
  mkdirSync(dirname(hook), { recursive: true });
  writeFileSync(hook, `#!/bin/sh\necho "${words}" >&2\nexit 1\n`, { mode: 0o755 });
  return hook;
}

describe('A remote that refuses a push', () => {
  it("G02: gives the hook's words, without credentials, and changes nothing", async () => {
    const fixture = await openFixture(root);
    const { repository, project, remote } = fixture;
    const hook = refusePushes(remote, 'Ask at https://bob:hunter2@corp/x first');
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    const { reason, message } = await pause(repository.push(project, BRANCH, commit, null));
    expect(reason).toBe('push_rejected');
    const [why, command = ''] = message.split(" Or push it from the server's machine: ");
    expect(why).toBe(
      `${remote} refuses a push to ${BRANCH}: pre-receive hook declined (Ask at https://corp/x first). Allow it there, then retry.`,
    );
    rmSync(hook);
    // The command that the message names does what the push would have done.
    execFileSync('sh', ['-c', command], { stdio: 'pipe' });
    expect(git(remote, 'rev-parse', BRANCH)).toBe(commit);
    expect(await repository.push(project, BRANCH, commit, null)).toEqual({ ok: true });
  });

  it('has no file outside of the mirror removed by words about a lock', async () => {
    const fixture = await openFixture(root);
    const { repository, project, remote, gitDir } = fixture;
    const kept = join(root, 'keep.lock');
    writeFileSync(kept, '');
    utimesSync(kept, 0, 0);
    refusePushes(remote, `Unable to create '${gitDir}/../../keep.lock': File exists`);
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    expect((await pause(repository.push(project, BRANCH, commit, null))).reason).toBe('push_rejected');
    expect(existsSync(kept)).toBe(true);
  });

  it('is asked again while another push holds the branch', async () => {
    const fixture = await openFixture(root);
    const { repository, project, remote } = fixture;
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    const lock = join(remote, 'refs/heads', `${BRANCH}.lock`);
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    setTimeout(() => rmSync(lock), 700);
    expect(await repository.push(project, BRANCH, commit, null)).toEqual({ ok: true });
    expect(git(remote, 'rev-parse', BRANCH)).toBe(commit);

    writeFileSync(lock, '');
    const next = await commitFiles(fixture, BRANCH, { 'b.txt': 'b' });
    expect((await pause(repository.push(project, BRANCH, next, commit))).message).toBe(
      `${remote} is locked, so that ${BRANCH} was not pushed: a git that was killed there has left ${lock}, or one still works. Remove that file if none does, then retry`,
    );
    expect(existsSync(lock)).toBe(true);
  });

  it('is named with the lock that stands there, also where its path has a quotation mark', async () => {
    const quoted = join(root, "it's");
    mkdirSync(quoted);
    const fixture = await openFixture(quoted);
    const { repository, project, remote } = fixture;
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    const lock = join(remote, 'refs/heads', `${BRANCH}.lock`);
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, '');
    const { message } = await pause(repository.push(project, BRANCH, commit, null));
    expect(message).toContain(`has left ${lock}, or one still works`);
  });

  it('is gone: fetch and push pause', async () => {
    const fixture = await openFixture(root);
    const { repository, project, remote } = fixture;
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    rmSync(remote, { recursive: true });
    expect(await pause(repository.fetch(project))).toMatchObject({
      reason: 'remote_unavailable',
      message: `The folder ${remote} is not there: put it back, then retry`,
    });
    expect((await pause(repository.push(project, BRANCH, commit, null))).reason).toBe('remote_unavailable');
    expect(await repository.record(project, { files: { 'a.jsonl': 'a' }, message: 'Record' })).toMatchObject({
      pushed: false,
    });
  });
});

it.skipIf(process.platform !== 'linux')(
  'a kill of the process that starts git is a failure that time mends',
  async () => {
    const { repository, project } = await openFixture(root);
    const launcher = readdirSync('/proc').find((pid) => {
      const [status, command] = ['status', 'cmdline'].map((file) => {
        const path = join('/proc', pid, file);
        return /^\d+$/.test(pid) && existsSync(path) ? readFileSync(path, 'utf8') : '';
      });
      return status?.includes(`PPid:\t${process.pid}\n`) && command?.includes('git-launcher-process');
    });
    process.kill(Number(launcher), 'SIGSTOP');
    const reading = thrown(repository.fetch(project));
    process.kill(Number(launcher), 'SIGKILL');
    expect(await reading).toMatchObject({
      name: 'RetryableFailure',
      message: expect.stringMatching(
        /^The process that starts git ended (\(SIGKILL\) while git worked|before it took a command)/,
      ),
    });
    await repository.fetch(project);
  },
);

describe('Temporary files', () => {
  it('lie beside the mirrors and are gone after each call; those that a kill left go with the next start', async () => {
    const { repository, project } = await openFixture(root);
    const scratch = join(root, 'mirrors', '.scratch');
    await repository.writeFiles(project, EMPTY_TREE, { 'a.txt': 'a' });
    expect(readdirSync(scratch)).toEqual([]);
    mkdirSync(join(scratch, 'git-left'));
    writeFileSync(join(scratch, 'git-left', 'index'), 'left by a process that was killed');
    await repository.removeLeftovers();
    expect(existsSync(scratch)).toBe(false);
    expect(await repository.writeFiles(project, EMPTY_TREE, { 'a.txt': 'a' })).toMatch(/^[0-9a-f]{40}$/);
  });
});

describe('A mirror', () => {
  it('goes on after a kill that left a lock behind', async () => {
    const fixture = await openFixture(root);
    const { repository, project, gitDir } = fixture;
    const before = await mainHead(fixture);
    await repository.createBranch(project, BRANCH, before);
    const locks = [join(gitDir, 'refs/heads', `${BRANCH}.lock`), join(gitDir, 'refs/remotes/origin/main.lock')];
    for (const lock of locks) writeFileSync(lock, '');
    const anHourAgo = Date.now() / 1000 - 3_600;
    for (const lock of locks) utimesSync(lock, anHourAgo, anHourAgo);
    const theirs = commitOnRemote(fixture.remote, 'main', { 'new.txt': 'new' });
    await repository.fetch(project);
    expect(await repository.remoteHead(project, 'main')).toBe(theirs);
    const tree = await repository.treeOf(project, before);
    const commit = await repository.commit(project, {
      branch: BRANCH,
      tree,
      parent: before,
      message: 'x',
      effectKey: 'k',
      at: '2026-01-01T00:00:00Z',
    });
    expect(await repository.branchHead(project, BRANCH)).toBe(commit);
  });

  it('checks a tree out beside a lock that a kill left there', async () => {
    const fixture = await openFixture(root);
    const { repository, project } = fixture;
    const folder = join(root, 'work', 'implementation');
    const lock = leaveLock(`${folder}.index.new.lock`, 0);
    await repository.checkout(project, await repository.treeOf(project, await mainHead(fixture)), folder, []);
    expect(readdirSync(folder)).toContain('README.md');
    expect(existsSync(lock)).toBe(false);
  });

  it('waits for a lock whose time lies ahead, and takes it when it has stood unchanged for ten seconds', async () => {
    const fixture = await openFixture(root);
    const { repository, project, gitDir } = fixture;
    const before = await mainHead(fixture);
    leaveLock(join(gitDir, 'refs/heads', `${BRANCH}.lock`), Date.now() / 1_000 + 3_600);
    const started = performance.now();
    await repository.createBranch(project, BRANCH, before);
    expect(performance.now() - started).toBeGreaterThan(10_000);
    expect(await repository.branchHead(project, BRANCH)).toBe(before);
  });

  it('waits for a lock that a kill left behind a moment ago, and for one that is still held', async () => {
    const fixture = await openFixture(root);
    const { repository, project, gitDir } = fixture;
    const before = await mainHead(fixture);
    const lock = leaveLock(join(gitDir, 'refs/heads', `${BRANCH}.lock`), Date.now() / 1_000 - 8);
    await repository.createBranch(project, BRANCH, before);
    expect(await repository.branchHead(project, BRANCH)).toBe(before);

    writeFileSync(lock, '');
    setTimeout(() => rmSync(lock), 1_500);
    const request = { branch: BRANCH, parent: before, message: 'x', effectKey: 'k', at: '2026-01-01T00:00:00Z' };
    const commit = await repository.commit(project, { ...request, tree: await repository.treeOf(project, before) });
    expect(await repository.branchHead(project, BRANCH)).toBe(commit);
  });

  it('is opened again after a kill that left its settings locked', async () => {
    const fixture = await openFixture(root);
    const { project, gitDir } = fixture;
    const before = await mainHead(fixture);
    const lock = join(gitDir, 'config.lock');
    writeFileSync(lock, '');
    const moments = Date.now() / 1000 - 9;
    utimesSync(lock, moments, moments);
    const started = createGitRepository({ folder: dirname(gitDir), author: AUTHOR });
    expect(await started.remoteHead(project, 'main')).toBe(before);
  });

  it('is opened again where nothing can be written to its settings', async () => {
    const fixture = await openFixture(root);
    const before = await mainHead(fixture);
    // A folder in place of the lock fails as a full disk does.
    mkdirSync(join(fixture.gitDir, 'config.lock'));
    expect(await fixture.reopen().remoteHead(fixture.project, 'main')).toBe(before);
  });

  it('B04: runs no hook of its own, whoever put it there', async () => {
    const fixture = await openFixture(root);
    mkdirSync(join(fixture.gitDir, 'hooks'), { recursive: true });
    for (const name of ['reference-transaction', 'pre-push', 'post-index-change', 'post-checkout']) {
      writeFileSync(join(fixture.gitDir, 'hooks', name), `#!/bin/sh\ntouch ${join(root, 'PWN')}\n`, { mode: 0o755 });
    }
    const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
    await fixture.repository.push(fixture.project, BRANCH, commit, null);
    await fixture.repository.checkout(fixture.project, commit, join(root, 'work'), []);
    expect(existsSync(join(root, 'PWN'))).toBe(false);
  });

  it("B02: uses no settings of the server's user or machine", async () => {
    vi.stubEnv('GIT_DIR', '/nonexistent');
    vi.stubEnv('GIT_INDEX_FILE', '/nonexistent/index');
    vi.stubEnv('GIT_AUTHOR_NAME', 'Somebody');
    vi.stubEnv('HOME', root);
    writeFileSync(
      join(root, '.gitconfig'),
      `[core]\n\tfsmonitor = touch ${join(root, 'PWN')}\n\tautocrlf = true\n[user]\n\tname = Somebody\n[commit]\n\tgpgSign = true\n`,
    );
    try {
      const repository = plainRepository();
      const remote = join(root, 'shop.git');
      vi.stubEnv('GIT_DIR', undefined);
      makeBareRemote(remote);
      vi.stubEnv('GIT_DIR', '/nonexistent');
      const project = { id: 'p-1', repository: remote, baseBranch: 'main' };
      await repository.fetch(project);
      const commit = await commitFiles({ repository, project }, BRANCH, { 'a.txt': 'a' });
      expect(git(join(root, 'mirrors', 'p-1.git'), 'log', '-1', '--format=%an', commit)).toBe('Autonomous');
      expect(existsSync(join(root, 'PWN'))).toBe(false);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('B06 B07 B09: refuses addresses and names that are not allowed before it starts anything', async () => {
    const repository = plainRepository();
    for (const address of [
      'ext::sh -c "touch PWN"',
      'https://u:p@github.com/a/b',
      '--upload-pack=x',
      'file://host/x',
    ]) {
      await expect(repository.fetch({ id: 'p-1', repository: address, baseBranch: 'main' })).rejects.toThrow(
        InvalidRequest,
      );
      await expect(repository.inspectRemote(address)).rejects.toThrow(InvalidRequest);
    }
    await expect(repository.fetch({ id: '../p', repository: '/x', baseBranch: 'main' })).rejects.toThrow(
      InvalidRequest,
    );
    const project = { id: 'p-1', repository: '/x', baseBranch: 'main' };
    const commitish = ['--upload-pack=x', '-ux', '--receive-p=x', '--exec=x', '--output=/tmp/x', '-c core.x=y', ':/x'];
    const odd = ['@{-1}', 'a..b', 'a\0', 'a\nb', 'x'.repeat(300), ...commitish];
    for (const branch of ['main:evil', '--force', 'refs/heads/main:evil', 'refs/tags/v1', 'refs/pull/1/head', ...odd]) {
      await expect(repository.inspectRemote('/x', branch)).rejects.toThrow(InvalidRequest);
      await expect(repository.push(project, branch, 'a'.repeat(40), null)).rejects.toThrow(InvalidRequest);
      await expect(repository.branchHead(project, branch)).rejects.toThrow(InvalidRequest);
    }
    expect(existsSync(join(root, 'mirrors'))).toBe(false);
  });

  it('C02 C03: reads and writes a tree whose own folder is a symlink without following it', async () => {
    const seed = join(root, 'seed');
    makeProjectFolder(seed);
    symlinkSync('/etc', join(seed, '.autonomous'));
    git(seed, 'add', '.autonomous');
    git(seed, 'commit', '--quiet', '--message', 'Link');
    const repository = plainRepository();
    const project = { id: 'p-1', repository: seed, baseBranch: 'main' };
    await repository.fetch(project);
    const main = await mainHead({ repository, project });
    expect(await repository.readFile(project, main, '.autonomous/passwd')).toBeNull();
    expect(await repository.readFile(project, main, '.autonomous')).toBeNull();
    const tree = await repository.writeFiles(project, main, { '.autonomous/memory.md': 'm' });
    expect(await repository.readFile(project, tree, '.autonomous/memory.md')).toBe('m');
    expect(existsSync('/etc/memory.md')).toBe(false);
  });
});

it('takes nothing for a fault of the remote that is only its own push of the record', async () => {
  const remote = makeBareRemote(join(root, 'shop.git'));
  const project = { id: 'shop', repository: remote, baseBranch: 'main' };
  const repository = plainRepository();
  for (let round = 0; round < 15; round++) {
    const calls = [repository.record(project, { files: { 'a.jsonl': String(round) }, message: 'Record' })];
    // Fetches take turns, so that one or the other meets the moment of the push.
    await Promise.all([...calls, ...Array.from({ length: 5 }, () => repository.fetch(project))]);
    expect(await calls[0]).toMatchObject({ pushed: true });
  }
});

it('reads the diff of two commits once', async () => {
  const fixture = await openFixture(root);
  const { repository, project } = fixture;
  const from = await mainHead(fixture);
  const to = await commitFiles(fixture, BRANCH, { 'a.txt': 'a\n' });
  const diffs = await Promise.all([repository.diff(project, from, to), repository.diff(project, from, to)]);
  const withoutIt = { leaveOut: ['a.txt'] };
  expect((await repository.diff(project, from, to, withoutIt)).files).toEqual([]);
  rmSync(join(fixture.gitDir, 'objects'), { recursive: true });
  expect(await repository.diff(project, from, to)).toEqual(diffs[0]);
  expect(diffs[1]).toEqual(diffs[0]);
  expect(diffs[0]?.patch).toContain('+a\n');
  await expect(repository.diff(project, from, to, { maxBytes: 10 })).rejects.toThrow(/git/);
});

/** Leaves a lock as a killed git does. @param modifiedAt in seconds since 1970 */
function leaveLock(file: string, modifiedAt: number): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, modifiedAt, modifiedAt);
  return file;
}
