/** Folders that a person may name as a project and that are no whole repository. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTHOR, git, makeBareRemote, makeProjectFolder, temporaryFolder } from './git-fixture.fixture.ts';
import { createGitRepository } from './git-repository.ts';

describe('a project that is named by a path', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let project: string;
  beforeEach(() => {
    temporary = temporaryFolder();
    project = makeProjectFolder(path.join(temporary.path, 'shop'));
  });
  afterEach(() => temporary.remove());
  const inspect = (folder: string) =>
    createGitRepository({ folder: path.join(temporary.path, 'mirrors'), author: AUTHOR }).inspectRemote(folder);

  it('is taken as a whole clone and as a bare one', async () => {
    const bare = makeBareRemote(path.join(temporary.path, 'bare.git'));
    expect(await inspect(project)).toMatchObject({ baseBranch: 'main' });
    expect(await inspect(bare)).toMatchObject({ baseBranch: 'main' });
  });

  it('below the root of its repository is answered with the root', async () => {
    await expect(inspect(path.join(project, 'src'))).rejects.toThrow(
      `${project}/src is a folder inside the repository ${project}; give ${project} as the project`,
    );
  });

  it('as a shallow clone is answered with the command that completes it, which makes it a project', async () => {
    git(project, 'commit', '--quiet', '--allow-empty', '--message', 'Second');
    const clone = path.join(temporary.path, 'clone');
    git(temporary.path, 'clone', '--quiet', '--depth', '1', `file://${project}`, clone);
    await expect(inspect(clone)).rejects.toThrow(`complete it with "git -C ${clone} fetch --unshallow"`);
    git(clone, 'fetch', '--quiet', '--unshallow');
    expect(await inspect(clone)).toMatchObject({ baseBranch: 'main' });
  });

  it('is refused as a file and without a repository', async () => {
    writeFileSync(path.join(project, 'file'), '');
    await expect(inspect(path.join(project, 'file'))).rejects.toThrow('is a file; give the folder of a git repository');
    const plain = path.join(temporary.path, 'plain');
    mkdirSync(plain);
    await expect(inspect(plain)).rejects.toThrow('is not a git repository');
    rmSync(plain, { recursive: true });
    await expect(inspect(plain)).rejects.toThrow('There is no folder');
  });
});
