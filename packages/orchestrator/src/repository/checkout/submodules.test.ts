/** Submodules of real repositories: fetched at their recorded commits, and never from where a project must not lead. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  AUTHOR,
  git,
  mainHead,
  makeBareRemote,
  makeProjectFolder,
  temporaryFolder,
  write,
} from '../git-fixture.fixture.ts';
import { createGitRepository } from '../git-repository.ts';
import type { RemoteProject, Repository } from '../repository.ts';
import { startSmartHttp } from '../git/smart-http.fixture.ts';

let folder: ReturnType<typeof temporaryFolder>;
let repository: Repository;
let work: string;
beforeEach(() => {
  folder = temporaryFolder();
  repository = createGitRepository({ folder: join(folder.path, 'mirrors'), author: AUTHOR });
  work = join(folder.path, 'work');
});
afterEach(() => folder.remove());

/** Adds submodules to a repository by their addresses. */
function addSubmodules(
  seed: string,
  subs: Readonly<Record<string, { readonly url: string; readonly commit: string }>>,
) {
  const sections = Object.entries(subs).map(
    ([path, { url }]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`,
  );
  writeFileSync(join(seed, '.gitmodules'), sections.join(''));
  git(seed, 'add', '.gitmodules');
  for (const [path, { commit }] of Object.entries(subs))
    git(seed, 'update-index', '--add', '--cacheinfo', `160000,${commit},${path}`);
  git(seed, 'commit', '--quiet', '--message', 'Submodules');
}

/** The clone of a submodule that git keeps in a person's own clone. */
function addClone(seed: string, path: string, from: string): void {
  git(folder.path, 'clone', '--quiet', '--bare', from, join(seed, '.git/modules', path));
}

async function fetched(seed: string, id = 'p-1'): Promise<{ readonly project: RemoteProject; readonly tree: string }> {
  const project = { id, repository: seed, baseBranch: 'main' };
  await repository.fetch(project);
  return { project, tree: await repository.treeOf(project, await mainHead({ repository, project })) };
}

describe('Submodules', () => {
  it('are checked out at the recorded commit, also one in another, and their changes are named and not taken', async () => {
    const inner = makeProjectFolder(join(folder.path, 'inner'), { 'deep.txt': 'deep' });
    const lib = makeProjectFolder(join(folder.path, 'lib'), { 'lib.js': 'first', 'run.sh': '#!/bin/sh\n' });
    addSubmodules(lib, { inner: { url: '../inner', commit: git(inner, 'rev-parse', 'HEAD') } });
    const recorded = git(lib, 'rev-parse', 'HEAD');
    write(lib, { 'lib.js': 'second' });
    git(lib, 'commit', '--quiet', '--all', '--message', 'Later');
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { 'vendor/lib': { url: '../lib', commit: recorded } });
    addClone(seed, 'vendor/lib', lib);
    addClone(seed, 'vendor/lib/modules/inner', inner);
    const { project, tree } = await fetched(seed);

    expect(await repository.checkout(project, tree, work, [])).toEqual({ leftOut: [] });
    expect(await repository.leftOut(project, tree)).toEqual([]);
    expect(readFileSync(join(work, 'vendor/lib/lib.js'), 'utf8')).toBe('first');
    expect(readFileSync(join(work, 'vendor/lib/inner/deep.txt'), 'utf8')).toBe('deep');
    expect(existsSync(join(work, 'vendor/lib.index')) || existsSync(join(work, 'vendor/lib/inner.index'))).toBe(false);
    const take = () => repository.importFolder(project, { folder: work, baseTree: tree, excludePaths: [] });
    expect(await take()).toEqual({ tree, files: [], refused: [] });

    write(work, { 'vendor/lib/lib.js': 'mine', 'vendor/lib/new.js': 'new', 'src/own.js': 'own' });
    rmSync(join(work, 'vendor/lib/inner/deep.txt'));
    const { files, refused } = await take();
    expect(files.map(({ path }) => path)).toEqual(['src/own.js']);
    expect(refused).toEqual([
      { path: 'vendor/lib', reason: 'it is a submodule: the change of 2 files in it is not taken' },
      { path: 'vendor/lib/inner', reason: 'it is a submodule: the change of a file in it is not taken' },
    ]);

    const hidden = join(folder.path, 'hidden');
    await repository.checkout(project, tree, hidden, ['lib/']);
    expect(existsSync(join(hidden, 'vendor/lib'))).toBe(false);

    const partly = join(folder.path, 'partly');
    const excludePaths = ['*.sh', '/vendor/lib/inner/deep.txt'];
    await repository.checkout(project, tree, partly, excludePaths);
    expect(readdirSync(join(partly, 'vendor/lib')).toSorted()).toEqual(['.gitmodules', 'inner', 'lib.js']);
    expect(readdirSync(join(partly, 'vendor/lib/inner'))).not.toContain('deep.txt');
    const untouched = await repository.importFolder(project, { folder: partly, baseTree: tree, excludePaths });
    expect(untouched).toEqual({ tree, files: [], refused: [] });
  });

  it('are taken from the clone that a person has of them', async () => {
    const lib = makeProjectFolder(join(folder.path, 'lib'), { 'lib.js': 'lib' });
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    git(seed, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'vendor/lib');
    git(seed, 'commit', '--quiet', '--message', 'Submodule');
    rmSync(lib, { recursive: true });
    const { project, tree } = await fetched(seed);
    expect(await repository.checkout(project, tree, work, [])).toEqual({ leftOut: [] });
    expect(readFileSync(join(work, 'vendor/lib/lib.js'), 'utf8')).toBe('lib');
  });

  it('B05: are not fetched from where the project must not lead, and secrets of their addresses are not shown', async () => {
    const beside = makeProjectFolder(join(folder.path, 'lib'));
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    const commit = git(beside, 'rev-parse', 'HEAD');
    addSubmodules(seed, {
      lib: { url: '../lib', commit },
      other: { url: 'https://user:secret@example.test/x', commit },
    });
    const { project, tree } = await fetched(seed);
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut).toEqual([
      { path: 'lib', kind: 'submodule', reason: expect.stringContaining("leads out of the project's own repository") },
      { path: 'other', kind: 'submodule', reason: expect.stringContaining('contains a user name or password') },
    ]);
    expect(JSON.stringify(leftOut)).not.toContain('secret@');
    expect(existsSync(join(work, 'lib'))).toBe(false);
  });

  it('B05: keep their addresses, which an agent could use to send something to any host', async () => {
    const lib = makeProjectFolder(join(folder.path, 'lib'), { 'lib.js': 'lib' });
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { 'vendor/lib': { url: '../lib', commit: git(lib, 'rev-parse', 'HEAD') } });
    addClone(seed, 'vendor/lib', lib);
    const { project, tree } = await fetched(seed);
    await repository.checkout(project, tree, work, []);
    write(work, {
      '.gitmodules': '[submodule "vendor/lib"]\n\tpath = vendor/lib\n\turl = https://sub.invalid/what-it-read\n',
    });
    const taken = await repository.importFolder(project, { folder: work, baseTree: tree, excludePaths: [] });
    const { leftOut } = await repository.checkout(project, taken.tree, join(folder.path, 'again'), []);
    expect(leftOut).toEqual([]);
    expect(taken).toMatchObject({ tree, refused: [{ path: '.gitmodules' }] });
    for (const other of [null, '.GITMODULES', '.gitmodules/x']) {
      rmSync(join(work, '.gitmodules'), { recursive: true, force: true });
      if (other !== null) write(work, { [other]: 'of the agent' });
      const without = await repository.importFolder(project, { folder: work, baseTree: tree, excludePaths: [] });
      expect(without).toMatchObject({ tree, refused: expect.arrayContaining([expect.objectContaining({})]) });
      if (other !== null) rmSync(join(work, other.split('/')[0] ?? ''), { recursive: true });
    }
  });

  it("that are other commits of the project's own repository are checked out", async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'), { 'first.txt': 'first' });
    addSubmodules(seed, { old: { url: './', commit: git(seed, 'rev-parse', 'HEAD') } });
    const { project, tree } = await fetched(seed);
    expect(await repository.checkout(project, tree, work, [])).toEqual({ leftOut: [] });
    expect(readFileSync(join(work, 'old/first.txt'), 'utf8')).toBe('first');
  });

  it("are fetched with the token only where the project's owner has them", async () => {
    const root = join(folder.path, 'remotes');
    const commits = ['acme/lib', 'other/secret'].map((name) => {
      const bare = makeBareRemote(join(root, `${name}.git`), { 'file.txt': name });
      return git(bare, 'rev-parse', 'main');
    });
    const [own = '', others = ''] = commits;
    const server = await startSmartHttp({ root, tokens: { 'a-token': 'read' } });
    onTestFinished(() => server.close());
    repository = createGitRepository({
      folder: join(folder.path, 'mirrors'),
      author: AUTHOR,
      token: 'a-token',
      tokenHost: server.host,
    });
    const serve = async (name: string) => {
      const seed = makeProjectFolder(join(folder.path, name));
      addSubmodules(seed, {
        lib: { url: '../lib.git', commit: own },
        secret: { url: `${server.url}/other/secret.git`, commit: others },
        relative: { url: '../../other/secret.git', commit: others },
      });
      git(folder.path, 'clone', '--quiet', '--bare', seed, join(root, `${name}.git`));
      return fetched(`${server.url}/${name}.git`, `p-${dirname(name)}`);
    };
    const reason = expect.stringContaining('used only for repositories of the project');
    const { project, tree } = await serve('acme/app');
    expect(await repository.leftOut(project, tree)).toEqual([
      { path: 'relative', kind: 'submodule', reason },
      { path: 'secret', kind: 'submodule', reason },
    ]);
    await repository.checkout(project, tree, work, []);
    expect(readFileSync(join(work, 'lib/file.txt'), 'utf8')).toBe('acme/lib');

    // A project of the other owner has it in a mirror; that of this one still does not.
    const second = await serve('other/app');
    expect((await repository.leftOut(second.project, second.tree)).map(({ path }) => path)).toEqual(['lib']);
    expect((await repository.leftOut(project, tree)).map(({ path }) => path)).toEqual(['relative', 'secret']);
  });

  it('that lack the recorded commit are named', async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { lib: { url: './', commit: 'f'.repeat(40) } });
    const { project, tree } = await fetched(seed);
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut[0]?.reason).toMatch(/^commit ffffffffffff cannot be fetched/);
  });
});
