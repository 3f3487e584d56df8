/** Folders that a person may name as a project and that are no whole repository. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTHOR, git, makeBareRemote, makeProjectFolder, temporaryFolder } from '../git-fixture.fixture.ts';
import { createGitRepository } from '../git-repository.ts';

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

  it('below the root of its repository is answered with the root, and how to work on the folder alone', async () => {
    await expect(inspect(path.join(project, 'src'))).rejects.toThrow(
      `${project}/src is a folder inside the repository ${project}, and runs work on whole repositories. Give ${project} as the project; name src in the request, and set commands.test of the run to 'cd src && …'`,
    );
  });

  describe('as a shallow clone', () => {
    let clone: string;
    beforeEach(() => {
      git(project, 'commit', '--quiet', '--allow-empty', '--message', 'Second');
      clone = path.join(temporary.path, 'clone');
      git(temporary.path, 'clone', '--quiet', '--depth', '1', `file://${project}`, clone);
    });

    it('is answered with the command that completes it, which makes it a project, and with its remote', async () => {
      await expect(inspect(clone)).rejects.toThrow(
        `Complete it with "git -C ${clone} fetch --unshallow" and try again, or give its remote ${project} as the project`,
      );
      git(clone, 'fetch', '--quiet', '--unshallow');
      expect(await inspect(clone)).toMatchObject({ baseBranch: 'main' });
    });

    it('is answered with the address of its remote without credentials, or with none where it has none', async () => {
      git(clone, 'remote', 'set-url', 'origin', 'https://me:secret-word@example.org/shop.git');
      await expect(inspect(clone)).rejects.toThrow('give its remote https://example.org/shop.git as the project');
      git(clone, 'remote', 'remove', 'origin');
      await expect(inspect(clone)).rejects.toThrow('It names no remote that has them: give a complete clone');
    });

    it('is recognised in a worktree of it', async () => {
      const worktree = path.join(temporary.path, 'worktree');
      git(clone, 'worktree', 'add', '--quiet', '-b', 'other', worktree);
      await expect(inspect(worktree)).rejects.toThrow(
        `${worktree} is a shallow clone, which lacks commits that runs need. Complete it with "git -C ${worktree} fetch --unshallow"`,
      );
      git(worktree, 'fetch', '--quiet', '--unshallow');
      expect(await inspect(worktree)).toMatchObject({ baseBranch: 'other' });
    });
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
