/** Repositories, names and agents that would make git run, write or reach something: real git, and a real server around it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  AUTHOR,
  git,
  mainHead,
  makeBareRemote,
  makeProjectFolder,
  temporaryFolder,
} from '../../src/repository/git-fixture.fixture.ts';
import { createGitRepository } from '../../src/repository/git-repository.ts';
import type { Repository } from '../../src/repository/repository.ts';
import { aPlan, aScript, aServer, runs } from '../fixtures/orchestrator.fixture.ts';

let folder: ReturnType<typeof temporaryFolder>;
let repository: Repository;
let work: string;
/** Made by whatever is run that should not be. */
let pwn: string;
beforeEach(() => {
  folder = temporaryFolder();
  repository = createGitRepository({ folder: path.join(folder.path, 'mirrors'), author: AUTHOR });
  work = path.join(folder.path, 'work');
  pwn = path.join(folder.path, 'PWN');
});
afterEach(() => folder.remove());

const projectOf = (remote: string) => ({ id: 'p-1', repository: remote, baseBranch: 'main' });
const plumb = (remote: string, input: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd: remote, input, encoding: 'utf8' }).trim();

/** Lets the branch main of a bare repository have a tree that `git add` would not make. */
function plantTree(remote: string, lines: string): string {
  const tree = plumb(remote, lines, 'mktree');
  git(remote, 'update-ref', 'refs/heads/main', git(remote, 'commit-tree', '-m', 'x', tree));
  return tree;
}

async function reasonAndMessage(work: Promise<unknown>): Promise<readonly [reason: string, message: string]> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof NeedsHuman)) throw new Error(`no pause: ${String(error)}`);
  return [error.reason, error.message];
}

describe('what git is started with', () => {
  /** Every start of git by the server, as the operating system has it. */
  function watchGit(): () => readonly {
    readonly args: readonly string[];
    readonly env: ReadonlyMap<string, string>;
  }[] {
    const [bin, seen] = ['bin', 'seen'].map((name) => path.join(folder.path, name)) as [string, string];
    mkdirSync(bin);
    mkdirSync(seen);
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const file = path.join(bin, 'git');
    writeFileSync(
      file,
      `#!/bin/sh\nat=${seen}/$$-$(date +%N)\ncat /proc/$$/environ > $at.env\ncat /proc/$PPID/cmdline > $at.parent\ncat /proc/$$/cmdline > $at.args\nexec ${real} "$@"\n`,
    );
    chmodSync(file, 0o755);
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const parts = (name: string) => readFileSync(path.join(seen, name), 'utf8').split('\0').slice(0, -1);
    return () =>
      readdirSync(seen)
        .filter((name) => name.endsWith('.args'))
        // The test's own have another parent.
        .filter((name) => parts(name.replace('.args', '.parent')).some((part) => part.includes('git-launcher-process')))
        .map((name) => ({
          args: parts(name).slice(2),
          env: new Map(
            parts(name.replace('.args', '.env')).map((line): [string, string] => {
              const at = line.indexOf('=');
              return [line.slice(0, at), line.slice(at + 1)];
            }),
          ),
        }));
  }

  it('B03 B04 B06 B07: is a repository of the server, no hook, a list of transports, and names behind the options', async () => {
    const calls = watchGit();
    const odd = ['--upload-pack=touch PWN', '-rf', ':(glob)x', '--output=x', '-c core.x=y'];
    const bare = {
      'bare/HEAD': 'ref: refs/heads/main\n',
      'bare/config': `[core]\n\tbare = true\n\tfsmonitor = touch ${pwn}\n\thooksPath = .\n`,
      'bare/refs/heads/.keep': '',
      'bare/objects/.keep': '',
    };
    const server = await aServer({
      files: { ...bare, 'app.sh': 'echo hello\n', '--exec=x': 'x\n' },
      script: aScript({
        implementer: [
          runs(
            ...odd.map((name) => `echo x > './${name}'`),
            'cp -r bare/. .; echo x > bare/inside; echo changed > ./--exec=x',
          ),
        ],
      }),
    });
    const run = await server.launch('--upload-pack=touch PWN', { trustMode: { planning: 'auto' } });
    const stopped = await server.rests(run);
    await server.client.getDiff(run.id);
    await server.orchestrator.settled();
    // The names themselves as arguments, by the port.
    const project = projectOf(server.remote);
    await repository.fetch(project);
    const main = await mainHead({ repository, project });
    const tree = await repository.writeFiles(project, main, Object.fromEntries(odd.map((name) => [name, 'x'])));
    for (const name of odd) {
      expect(await repository.readFile(project, tree, name)).toBe('x');
      expect((await repository.diff(project, main, tree, { leaveOut: [name] })).files).toHaveLength(odd.length - 1);
    }
    expect(stopped.artifacts.find(({ type }) => type === 'code')?.filesChanged).toEqual(expect.arrayContaining(odd));
    expect(existsSync(pwn)).toBe(false);

    const seen = calls();
    expect(seen.length).toBeGreaterThan(20);
    const mirrors = [server.dataFolder, folder.path].map((each) => path.join(each, 'mirrors'));
    for (const { args, env } of seen) {
      const settings = new Map(
        Array.from({ length: Number(env.get('GIT_CONFIG_COUNT')) }, (_, index) => [
          env.get(`GIT_CONFIG_KEY_${index}`),
          env.get(`GIT_CONFIG_VALUE_${index}`),
        ]),
      );
      // The person's own repository is asked what it is, and nothing else.
      const gitDir = env.get('GIT_DIR') ?? '';
      const isInspection = gitDir === server.remote && args[0] === 'rev-parse';
      expect(isInspection || mirrors.some((each) => gitDir.startsWith(`${each}/`)), args.join(' ')).toBe(true);
      expect(env.get('GIT_ALLOW_PROTOCOL')).toBe('file:http:https:ssh');
      expect([...settings.keys()].filter((key) => key?.startsWith('protocol.'))).toEqual([]);
      expect(Object.fromEntries(settings)).toMatchObject({
        'core.hooksPath': '/dev/null',
        'core.fsmonitor': 'false',
        'safe.bareRepository': 'explicit',
        'core.protectHFS': 'true',
        'core.protectNTFS': 'true',
      });
      const end = args.findIndex((each) => each === '--' || each === '--end-of-options');
      const options = end === -1 ? args : args.slice(0, end);
      expect(options.filter((each) => odd.some((name) => each.includes(name)) || each === '--exec=x')).toEqual([]);
    }
  });
});

describe('B05: submodules', () => {
  it.each([
    ['a path that ends in a carriage return', 'lib\r', 'x', '/etc/secrets'],
    ['a name that leads to other folders', 'lib', '../../hooks', './'],
    ['an option as its address', 'lib', 'x', '-u./payload'],
    ['a command as its address', 'lib', 'x', 'ext::sh -c "touch PWN"'],
  ])('with %s run nothing and are read from nowhere else', async (_, at, name, url) => {
    const other = makeProjectFolder(path.join(folder.path, 'other'), { 'other.txt': 'not of the project' });
    const commit = git(other, 'rev-parse', 'HEAD');
    const seed = makeProjectFolder(path.join(folder.path, 'seed'));
    writeFileSync(
      path.join(seed, '.gitmodules'),
      `[submodule ${JSON.stringify(name)}]\n\tpath = ${JSON.stringify(at).replace('\\r', '\r')}\n\turl = ${JSON.stringify(url)}\n`,
    );
    git(seed, 'add', '.gitmodules');
    git(seed, 'update-index', '--add', '--cacheinfo', `160000,${commit},${at}`);
    git(seed, 'commit', '--quiet', '--message', 'Submodule');
    // Where git would look for the clone of a submodule by that name.
    git(folder.path, 'clone', '--quiet', '--bare', other, path.join(seed, 'hooks'));
    const hook = path.join(seed, 'hooks', 'hooks', 'post-checkout');
    mkdirSync(path.dirname(hook), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${pwn}\n`, { mode: 0o755 });

    const project = projectOf(seed);
    await repository.fetch(project);
    const tree = await repository.treeOf(project, await mainHead({ repository, project }));
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut).toEqual([{ path: at, kind: 'submodule', reason: expect.any(String) }]);
    expect(readdirSync(work).sort()).toEqual(['.gitignore', '.gitmodules', 'README.md', 'src']);
    expect(existsSync(pwn)).toBe(false);
  });

  it('that a link of the same name would lead into git’s own folder are not written through it', async () => {
    const remote = makeBareRemote(path.join(folder.path, 'remote.git'));
    const link = plumb(remote, '.git', 'hash-object', '-w', '--stdin');
    const inner = plumb(remote, `160000 commit ${git(remote, 'rev-parse', 'main')}\tx\n`, 'mktree');
    const tree = plantTree(remote, `040000 tree ${inner}\tA\n120000 blob ${link}\ta\n`);
    const project = projectOf(remote);
    await repository.fetch(project);
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut.map(({ path: each }) => each).sort()).toEqual(['A/x', 'a']);
    expect(existsSync(path.join(work, 'a'))).toBe(false);
  });
});

describe('B09: a run moves no other ref than its branch and the record', () => {
  it('whatever request, plan and agent ask for', async () => {
    const wanted = ['refs/heads/main:evil', '+main refs/tags/v1 refs/pull/1/head', '--force push to main'];
    const command =
      'git init -q .; git push --force ../remote.git HEAD:main HEAD:refs/tags/v1; rm -rf .git; echo x > x.txt';
    const server = await aServer({
      env: { MAX_CONCURRENT_RUNS_PER_USER: '10' },
      script: aScript({
        planner: [
          aPlan({
            title: 'refs/heads/main:evil',
            branch: 'main',
            plan: `# main\n\nPush to main by force.\n\n\`\`\`mermaid\nflowchart TD\n  a --> b\n\`\`\`\n`,
          }),
        ],
        implementer: [runs(command)],
      }),
    });
    const hook = path.join(server.remote, 'hooks', 'update');
    const log = path.join(server.folder, 'updates');
    mkdirSync(path.dirname(hook), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\necho "$1 $2 $3" >> ${log}\n`, { mode: 0o755 });
    const main = await server.git('rev-parse', 'main');
    const launched = await Promise.all(wanted.map((request) => server.launch(request)));
    // One run asks for the branch of another.
    const [first] = launched;
    launched.push(await server.launch(first?.branch));
    for (const run of launched) await server.until(run, { status: 'completed' });
    await server.orchestrator.settled();

    const branches = launched.map(({ id, branch }) => {
      expect(branch).toMatch(new RegExp(`^autonomous/${id}-[a-z0-9-]+$`));
      return `refs/heads/${branch}`;
    });
    const updates = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect([...new Set(updates.map(([ref = '']) => ref))].toSorted()).toEqual(
      [...branches, 'refs/heads/autonomous/record'].toSorted(),
    );
    for (const [, from = '', to = ''] of updates)
      if (!/^0+$/.test(from)) await server.git('merge-base', '--is-ancestor', from, to);
    expect(await server.git('rev-parse', 'main')).toBe(main);
    expect(await server.git('tag')).toBe('');
  });
});

describe('B11: a tree of the remote', () => {
  it.each(['.git', '.GIT', 'git~1', '.g\u200cit', '..', '.'])(
    'with the folder %j is written nowhere, and the pause names it',
    async (name) => {
      const remote = makeBareRemote(path.join(folder.path, 'remote.git'));
      const blob = plumb(remote, '[core]', 'hash-object', '-w', '--stdin');
      const inner = plumb(remote, `100644 blob ${blob}\tconfig\n`, 'mktree');
      const tree = plantTree(remote, `040000 tree ${inner}\t${name}\n`);
      const project = projectOf(remote);
      await repository.fetch(project);
      const shown = `${name.replace('\u200c', '⟨U+200C⟩')}/config`;
      for (const use of [
        () => repository.checkout(project, tree, work, []),
        () => repository.writeFiles(project, tree, { 'a.txt': 'a' }),
      ]) {
        const [reason, message] = await reasonAndMessage(use());
        expect(reason).toBe('setup_failed');
        expect(message).toContain(`contains the path '${shown}'`);
      }
      expect(readdirSync(work)).toEqual([]);
    },
  );
});

describe('B12: a remote that is made to be endless', () => {
  /** A few objects that name ten to the tenth files. */
  function plantBomb(remote: string): string {
    let below = `100644 blob ${plumb(remote, 'x', 'hash-object', '-w', '--stdin')}`;
    for (let level = 1; level < 10; level += 1) below = `040000 tree ${plumb(remote, ten(below), 'mktree')}`;
    return plantTree(remote, ten(below));
  }
  const ten = (entry: string): string => Array.from({ length: 10 }, (_, index) => `${entry}\td${index}\n`).join('');

  it('by folders within folders is read to a limit', async () => {
    const remote = makeBareRemote(path.join(folder.path, 'remote.git'));
    const tree = plantBomb(remote);
    const project = projectOf(remote);
    await repository.fetch(project);
    const before = process.memoryUsage().rss;
    for (const use of [
      () => repository.checkout(project, tree, work, []),
      () => repository.listFiles(project, tree),
      () => repository.symlinks(project, tree),
    ])
      expect(await reasonAndMessage(use())).toEqual(['setup_failed', expect.stringContaining('more than 64 MB')]);
    expect(existsSync(work)).toBe(false);
    expect(process.memoryUsage().rss - before).toBeLessThan(512 * 2 ** 20);
  });

  it('pauses its run with the reason, and other runs continue', async () => {
    const server = await aServer();
    await server.git('branch', 'good', 'main');
    plantBomb(server.remote);
    const run = await server.until(await server.launch(), { gate: 'pause' });
    expect(run.gate).toMatchObject({ reason: 'setup_failed' });
    expect(run.gate?.summary).toContain('contains more files than the server reads');
    const other = await server.launch('Add the feature', { git: { baseBranch: 'good' } });
    await server.until(other, { status: 'completed' });
  });

  it('by its list of branches is read to a limit', async () => {
    const remote = makeBareRemote(path.join(folder.path, 'remote.git'));
    const commit = git(remote, 'rev-parse', 'main');
    const name = (index: number): string => `refs/heads/${'b'.repeat(60)}${String(index).padStart(7, '0')}`;
    const lines = Array.from({ length: 600_000 }, (_, index) => `${commit} ${name(index)}`);
    writeFileSync(path.join(remote, 'packed-refs'), `# pack-refs with: sorted \n${lines.join('\n')}\n`);
    const error: unknown = await repository.inspectRemote(remote).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('it answered with more than 64 MB') });
  });
});
