import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type NewProject, type Project, toProblem, Unprocessable } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { ApiError, type Client } from '@autonomous/shared/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliIo } from './io.ts';
import { makePlace, type Place } from './program.fixture.ts';
import { findProject, launchOn } from './project.ts';

let place: Place;
let known: Project[];
let created: NewProject[];

beforeEach(() => {
  place = makePlace();
  known = [];
  created = [];
});
afterEach(() => place.remove());

/** One project a page, so that whoever looks at the first page alone finds too little. */
const client = {
  listProjects: async ({ cursor = '0' } = {}) => {
    const next = Number(cursor) + 1;
    return { items: known.slice(next - 1, next), nextCursor: next < known.length ? String(next) : null };
  },
} as unknown as Client;

const aProject = (id: string, name: string, repository: string): Project => ({
  id,
  name,
  repository,
  baseBranch: 'main',
  createdAt: '2030-01-01T00:00:00.000Z',
});

async function choose(given: string | undefined, cwd: string): Promise<Project | NewProject> {
  const stream = new PassThrough();
  const io: CliIo = { stdin: stream, stdout: stream, stderr: stream, env: {}, cwd, program: 'autonomous' };
  const found = await findProject(client, io, given);
  if (!('id' in found)) created.push(found);
  return found;
}

describe('the project of a run', () => {
  it('is the origin of the repository in which the person stands, from any folder of it', async () => {
    await choose(undefined, join(place.clone, 'src'));
    expect(created).toEqual([{ name: 'notes', repository: place.remote }]);
  });

  it('is never the clone of this program that a person happens to stand in, unless they name it', async () => {
    writeFileSync(join(place.clone, 'package.json'), '{\n  "name": "autonomous-workspace"\n}\n');
    await expect(choose(undefined, join(place.clone, 'src'))).rejects.toThrow('Name your project with --project');
    expect(created).toEqual([]);
    await choose('.', place.clone);
    expect(created).toEqual([{ name: 'notes', repository: place.remote }]);
  });

  it('is the path of a repository without origin', async () => {
    place.git('-C', place.clone, 'remote', 'remove', 'origin');
    await choose('notes', place.folder);
    expect(created).toEqual([{ name: 'notes', repository: place.clone }]);
  });

  it('is the path of a bare repository', async () => {
    await choose(place.remote, '/');
    expect(created).toEqual([{ name: 'notes', repository: place.remote }]);
  });

  it('leaves credentials in the address of origin at home', async () => {
    place.git('-C', place.clone, 'remote', 'set-url', 'origin', 'https://person:secret@example.org/team/shop.git');
    await choose(undefined, place.clone);
    expect(created).toEqual([{ name: 'shop', repository: 'https://example.org/team/shop.git' }]);
  });

  it('keeps the user of an ssh address, and takes a URL as it is', async () => {
    place.git('-C', place.clone, 'remote', 'set-url', 'origin', 'ssh://git@example.org/team/shop');
    await choose(undefined, place.clone);
    await choose('git@example.org:team/other.git', '/');
    expect(created).toEqual([
      { name: 'shop', repository: 'ssh://git@example.org/team/shop' },
      { name: 'other', repository: 'git@example.org:team/other.git' },
    ]);
  });

  it('takes a relative origin from the root of the repository', async () => {
    place.git('-C', place.clone, 'remote', 'set-url', 'origin', '../notes.git');
    await choose(undefined, join(place.clone, 'test'));
    expect(created).toEqual([{ name: 'notes', repository: place.remote }]);
  });

  it('is not made again when the server knows its repository, on whatever page', async () => {
    known = [aProject('a-1', 'a', '/a'), aProject('b-1', 'b', '/b'), aProject('notes-1', 'n', `${place.remote}/`)];
    expect(await choose(undefined, place.clone)).toMatchObject({ id: 'notes-1' });
    expect(await choose('b', '/')).toMatchObject({ id: 'b-1' });
    expect(await choose('a-1', '/')).toMatchObject({ id: 'a-1' });
    expect(created).toEqual([]);
  });

  it('is refused in words when it is ambiguous, unknown or no repository', async () => {
    known = [aProject('a-1', 'a', '/a'), aProject('a-2', 'a', '/b')];
    await expect(choose('a', '/')).rejects.toThrow("There are 2 projects named 'a'; name one by its id: a-1, a-2.");
    await expect(choose('nowhere', place.folder)).rejects.toThrow("'nowhere' is neither a project nor a folder");
    const plain = join(place.folder, 'plain');
    mkdirSync(plain);
    await expect(choose(undefined, plain)).rejects.toThrow('is not in a git repository');
  });
});

describe('a launch from a folder', () => {
  /** Notes of a launch on the base branch `main`. */
  async function notesOf(given: string | undefined, cwd: string, git: { baseBranch?: string } = {}): Promise<string> {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const io: CliIo = { stdin, stdout, stderr, env: {}, cwd, program: 'autonomous' };
    const launching = { ...client, launchRun: async () => aRun() } as unknown as Client;
    await launchOn(launching, io, given, await findProject(client, io, given), { workflow: 'build', config: { git } });
    expect(stdout.read()).toBeNull();
    return String(stderr.read() ?? '');
  }
  const commit = (): string =>
    place.git(
      '-C',
      place.clone,
      '-c',
      'user.name=P',
      '-c',
      'user.email=p@e.org',
      'commit',
      '-qm',
      'M',
      '--allow-empty',
    );

  it('notes nothing where origin has all that the folder has', async () => {
    place.git('-C', place.clone, 'fetch', '-q');
    expect(await notesOf(undefined, join(place.clone, 'src'))).toBe('');
  });

  const ofOrigin = 'has commits that branch main of origin does not have';
  const startAgain = 'start again with --base topic.\n';

  it('notes commits that origin does not have', async () => {
    place.git('-C', place.clone, 'fetch', '-q');
    commit();
    commit();
    expect(await notesOf('notes', place.folder)).toBe(
      `Branch main of ${place.clone} has commits that origin does not have (2), and the run does not see them. If it needs them, push the branch with git -C ${place.clone} push origin main and start again.\n`,
    );
    expect(await notesOf(place.remote, place.clone)).toBe('');
  });

  it('notes commits of another branch than the one it starts from, and how a run starts from there', async () => {
    place.git('-C', place.clone, 'fetch', '-q');
    place.git('-C', place.clone, 'switch', '-qc', 'topic');
    expect(await notesOf(undefined, place.clone)).toBe('');
    commit();
    expect(await notesOf(undefined, place.clone)).toBe(
      `Branch topic of ${place.clone} ${ofOrigin} (1), and the run does not see them. If it needs them, push the branch with git push origin topic and ${startAgain}`,
    );
    expect(await notesOf(undefined, place.clone, { baseBranch: 'main' })).toBe('');
    place.git('-C', place.clone, 'push', '-q', 'origin', 'topic');
    expect(await notesOf(undefined, place.clone)).toContain(`If it needs them, ${startAgain}`);
    place.git('-C', place.clone, 'update-ref', '-d', 'refs/remotes/origin/main');
    expect(await notesOf(undefined, place.clone)).toContain(
      `Branch topic of ${place.clone} may have commits that branch main of origin, which was never fetched there, does not have, and`,
    );
    place.git('-C', place.clone, 'fetch', '-q');
    place.git('-C', place.clone, 'switch', '-q', '--detach');
    expect(await notesOf(undefined, place.clone)).toBe(
      `${place.clone}, where no branch is checked out, ${ofOrigin} (1), and the run does not see them. If it needs them, make a branch with git switch -c NAME, push the branch with git push origin NAME and start again with --base NAME.\n`,
    );
  });

  it('notes nothing of a branch whose changes were taken in as one commit', async () => {
    place.git('-C', place.clone, 'fetch', '-q');
    place.git('-C', place.clone, 'switch', '-qc', 'topic');
    writeFileSync(join(place.clone, 'new.txt'), 'new\n');
    place.git('-C', place.clone, 'add', '-A');
    commit();
    expect(await notesOf(undefined, place.clone)).toContain(`Branch topic of ${place.clone} ${ofOrigin} (1)`);
    const tree = place.git('-C', place.clone, 'rev-parse', 'HEAD^{tree}').trim();
    const author = ['-c', 'user.name=P', '-c', 'user.email=p@e.org'];
    const squashed = place
      .git('-C', place.clone, ...author, 'commit-tree', tree, '-p', 'origin/main', '-m', 'All')
      .trim();
    place.git('-C', place.clone, 'update-ref', 'refs/remotes/origin/main', squashed);
    expect(await notesOf(undefined, place.clone)).toBe('');
  });

  it('notes commits of another branch of a folder that is the project', async () => {
    place.git('-C', place.clone, 'remote', 'remove', 'origin');
    place.git('-C', place.clone, 'switch', '-qc', 'topic');
    commit();
    expect(await notesOf(undefined, place.clone)).toBe(
      `Branch topic of ${place.clone} has commits that branch main does not have (1), and the run does not see them. If it needs them, ${startAgain}`,
    );
  });

  it('says of a refused branch that the clone has it, and how it gets to the origin', async () => {
    const refusing = {
      ...client,
      launchRun: async () => {
        throw new ApiError(toProblem(new Unprocessable('There is no branch topic')));
      },
    } as unknown as Client;
    const stderr = new PassThrough();
    const io: CliIo = { stdin: stderr, stdout: stderr, stderr, env: {}, cwd: place.clone, program: 'autonomous' };
    place.git('-C', place.clone, 'branch', 'topic');
    const run = { workflow: 'build', config: { git: { baseBranch: 'topic' } } };
    await expect(launchOn(refusing, io, undefined, await findProject(client, io, undefined), run)).rejects.toThrow(
      'There is no branch topic',
    );
    expect(String(stderr.read())).toContain(
      `${place.clone} has a branch topic, which its origin does not have. Push it with git push origin topic.`,
    );
  });

  it('notes uncommitted changes, but not in a folder that is the project, of which the server says so', async () => {
    writeFileSync(join(place.clone, 'new.txt'), 'new\n');
    expect(await notesOf(undefined, place.clone)).toBe(
      `${place.clone} has changes that are in no commit, and the run does not see them. If it needs them, commit the changes, push the branch with git push origin main and start again.\n`,
    );
    place.git('-C', place.clone, 'remote', 'remove', 'origin');
    expect(await notesOf(undefined, place.clone)).toBe('');
  });

  it('notes that a remote of another name is not used', async () => {
    place.git('-C', place.clone, 'remote', 'rename', 'origin', 'upstream');
    expect(await notesOf(undefined, place.clone)).toBe(
      `The project is the folder ${place.clone} itself: it has no remote 'origin', and the run pushes nothing to upstream. To use that remote, name its URL with --project.\n`,
    );
  });
});
