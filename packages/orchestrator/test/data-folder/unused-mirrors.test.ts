import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { lostProjects, removeUnusedMirrors } from '../../src/data-folder.ts';
import { createGitRepository } from '../../src/repository/git-repository.ts';

it('of mirrors without a project those without a branch of this server and a record of the project are removed, and the others are missed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mirrors = join(folder, 'mirrors');
  const mirrorOf = (id: string): string => join(mirrors, `${id}.git`);
  const repository = createGitRepository({ folder: mirrors, author: { name: 'a', email: 'a@b' } });
  const git = (id: string, ...args: string[]): string =>
    execFileSync('git', ['--git-dir', mirrorOf(id), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  for (const id of ['known', 'cut-off', 'of-remote', 'anew', 'recorded', 'packed', 'kept', 'half']) {
    execFileSync('git', ['init', '--quiet', '--bare', mirrorOf(id)]);
    const tree = git(id, 'hash-object', '-w', '-t', 'tree', '/dev/null').trim();
    const person = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
    const commit = git(id, ...person, 'commit-tree', '-m', 'First', tree).trim();
    if (id === 'of-remote') git(id, 'update-ref', 'refs/remotes/origin/autonomous/record', commit);
    if (id === 'anew') {
      const project = { id, repository: folder, baseBranch: 'main' };
      const contents = { files: { [`.autonomous/projects/${id}.json`]: '{}' }, message: 'Project' };
      const recorded = await repository.record(project, contents, { to: 'mirror' });
      git(id, 'update-ref', 'refs/remotes/origin/autonomous/record', recorded.commit);
      git(id, 'update-ref', '-d', 'refs/heads/autonomous/record');
    }
    if (id === 'recorded' || id === 'packed') git(id, 'update-ref', 'refs/heads/autonomous/record', commit);
    if (id === 'kept') git(id, 'update-ref', 'refs/kept/1', commit);
    if (id === 'of-remote' || id === 'packed') git(id, 'pack-refs', '--all');
    if (id === 'half') rmSync(join(mirrorOf(id), 'refs'), { recursive: true });
  }
  const known = new Set(['known']);
  expect(await lostProjects(folder, known, repository)).toEqual(['anew', 'half', 'kept', 'packed', 'recorded']);
  await removeUnusedMirrors(folder, known, repository, pino({ level: 'silent' }));
  const left = readdirSync(mirrors).filter((name) => name.endsWith('.git'));
  expect(left.sort()).toEqual(['anew.git', 'half.git', 'kept.git', 'known.git', 'packed.git', 'recorded.git']);
});
