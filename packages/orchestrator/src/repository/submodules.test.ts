/** Submodules of real repositories: fetched at their recorded commits, and never from where a project must not lead. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTHOR, git, mainHead, makeProjectFolder, temporaryFolder, write } from './git-fixture.fixture.ts';
import { createGitRepository } from './git-repository.ts';
import type { RemoteProject, Repository } from './repository.ts';

vi.setConfig({ testTimeout: 120_000 });

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

async function fetched(seed: string): Promise<{ readonly project: RemoteProject; readonly tree: string }> {
  const project = { id: 'p-1', repository: seed, baseBranch: 'main' };
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

  it.each([
    ['/etc/secrets', 'a submodule is not read from a folder of this machine'],
    ['file:///etc/secrets', 'a submodule is not read from a folder of this machine'],
    ['../../elsewhere', 'it leads out of where the project lies'],
    ['ext::sh -c touch% PWN', 'is not an allowed address'],
    ['https://user:secret@example.test/x', 'contains a user name or password'],
    ['http://example.test/x', 'only https, and no host of a private network'],
    ['https://169.254.169.254/x', 'only https, and no host of a private network'],
    ['https://localhost/x', 'only https, and no host of a private network'],
    ['https://localhost./x', 'only https, and no host of a private network'],
    ['https://metadata.google.internal./x', 'only https, and no host of a private network'],
    ['git@example.test:x', "over ssh only the project's own host is used"],
    ['-u', 'is not an allowed address'],
  ])('are not fetched from %s', async (url, why) => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { lib: { url, commit: git(seed, 'rev-parse', 'HEAD') } });
    const { project, tree } = await fetched(seed);
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut).toEqual([{ path: 'lib', kind: 'submodule', reason: expect.stringContaining(why) }]);
    expect(JSON.stringify(leftOut)).not.toContain('secret@');
    expect(existsSync(join(work, 'lib'))).toBe(false);
  });

  it('keep their addresses, which an agent could use to send something to any host', async () => {
    const lib = makeProjectFolder(join(folder.path, 'lib'), { 'lib.js': 'lib' });
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { 'vendor/lib': { url: '../lib', commit: git(lib, 'rev-parse', 'HEAD') } });
    const { project, tree } = await fetched(seed);
    await repository.checkout(project, tree, work, []);
    write(work, {
      '.gitmodules': '[submodule "vendor/lib"]\n\tpath = vendor/lib\n\turl = https://sub.invalid/what-it-read\n',
    });
    const taken = await repository.importFolder(project, { folder: work, baseTree: tree, excludePaths: [] });
    const { leftOut } = await repository.checkout(project, taken.tree, join(folder.path, 'again'), []);
    expect(leftOut).toEqual([]);
    expect(taken).toMatchObject({ tree, refused: [{ path: '.gitmodules' }] });
  });

  it('that lack the recorded commit are named', async () => {
    makeProjectFolder(join(folder.path, 'lib'), { 'lib.js': 'lib' });
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    addSubmodules(seed, { lib: { url: '../lib', commit: 'f'.repeat(40) } });
    const { project, tree } = await fetched(seed);
    const { leftOut } = await repository.checkout(project, tree, work, []);
    expect(leftOut[0]?.reason).toMatch(/^commit ffffffffffff cannot be fetched/);
  });
});
