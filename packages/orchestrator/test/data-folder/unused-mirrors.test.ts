import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { lostProjects, removeUnusedMirrors } from '../../src/data-folder.ts';

it('of mirrors without a project those without a branch of this server are removed, and the others are missed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mirrors = join(folder, 'mirrors');
  const mirrorOf = (id: string): string => join(mirrors, `${id}.git`);
  const git = (id: string, ...args: string[]): string =>
    execFileSync('git', ['--git-dir', mirrorOf(id), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  for (const id of ['known', 'cut-off', 'of-remote', 'recorded', 'packed', 'kept', 'half']) {
    execFileSync('git', ['init', '--quiet', '--bare', mirrorOf(id)]);
    const tree = git(id, 'hash-object', '-w', '-t', 'tree', '/dev/null').trim();
    const person = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
    const commit = git(id, ...person, 'commit-tree', '-m', 'First', tree).trim();
    if (id === 'of-remote') git(id, 'update-ref', 'refs/remotes/origin/autonomous/record', commit);
    if (id === 'recorded' || id === 'packed') git(id, 'update-ref', 'refs/heads/autonomous/record', commit);
    if (id === 'kept') git(id, 'update-ref', 'refs/kept/1', commit);
    if (id === 'of-remote' || id === 'packed') git(id, 'pack-refs', '--all');
    if (id === 'half') rmSync(join(mirrorOf(id), 'refs'), { recursive: true });
  }
  const known = new Set(['known']);
  expect(await lostProjects(folder, known)).toEqual(['half', 'kept', 'packed', 'recorded']);
  const removeMirror = async ({ id }: { readonly id: string }): Promise<void> =>
    rmSync(mirrorOf(id), { recursive: true });
  await removeUnusedMirrors(folder, known, { removeMirror }, pino({ level: 'silent' }));
  expect(readdirSync(mirrors).sort()).toEqual(['half.git', 'kept.git', 'known.git', 'packed.git', 'recorded.git']);
});
