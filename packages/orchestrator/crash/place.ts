/** Place where a point is played: a folder of its own with a bare remote that counts the moves of its branches. */
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NAME, OWNER } from './forge.ts';
import { git } from './repository-state.ts';

export interface Place {
  readonly folder: string;
  readonly remote: string;
  readonly data: string;
  /** What the sweep's own workflow does outside: the key of each of its effects, a line each. */
  readonly letters: string;
  remove(): Promise<void>;
}

/** The same commits everywhere, so that what was made of them can be compared. */
const COLLEAGUE = {
  GIT_AUTHOR_NAME: 'Colleague',
  GIT_AUTHOR_EMAIL: 'colleague@example.com',
  GIT_AUTHOR_DATE: '@1700000000 +0000',
  GIT_COMMITTER_NAME: 'Colleague',
  GIT_COMMITTER_EMAIL: 'colleague@example.com',
  GIT_COMMITTER_DATE: '@1700000000 +0000',
};

/** A bare repository with one commit of these files on `main`, to be copied for each point. */
export async function makeRemote(remote: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(remote, { recursive: true });
  await git(remote, ['init', '--quiet', '--bare', '--template=', '--initial-branch=main']);
  // Bare repositories keep no log of their branches by themselves.
  await git(remote, ['config', 'core.logAllRefUpdates', 'always']);
  await commitAsColleague(remote, 'Start', files);
}

/** Adds files to the remote's branch, as a colleague's push would; nothing happens when such a commit is there already. */
export async function commitAsColleague(
  remote: string,
  message: string,
  files: Readonly<Record<string, string>>,
  branch = 'main',
): Promise<void> {
  const index = path.join(remote, 'colleague.index');
  const blob = path.join(remote, 'colleague.blob');
  const env = { ...COLLEAGUE, GIT_INDEX_FILE: index };
  const run = async (...args: readonly string[]): Promise<string> =>
    (await git(remote, args, env)).toString('utf8').trim();
  const parent = await run('rev-parse', '--verify', '--quiet', `refs/heads/${branch}`).catch(() => null);
  if (parent !== null && (await run('log', '--format=%s', parent)).split('\n').includes(message)) return;
  if (parent !== null) await run('read-tree', parent);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(blob, content);
    await run('update-index', '--add', '--cacheinfo', `100644,${await run('hash-object', '-w', blob)},${name}`);
  }
  const commit = await run(
    'commit-tree',
    await run('write-tree'),
    ...(parent === null ? [] : ['-p', parent]),
    '-m',
    message,
  );
  await run('update-ref', `refs/heads/${branch}`, commit, parent ?? '0'.repeat(40));
  await Promise.all([index, blob].map((file) => rm(file)));
}

/** Where the baselines of a template's checks are kept for places that are made from it. */
export function baselinesOf(template: string): string {
  return `${template}.baselines`;
}

/**
 * @param template the remote that this place begins with a copy of, and with it the baselines that are known: how long the checks
 *   of the base commit take is a matter of time, so that what they are finished before would be one as well
 */
export async function makePlace(template: string): Promise<Place> {
  const place = placeIn(await mkdtemp(path.join(tmpdir(), 'autonomous-sweep-')));
  await cp(template, place.remote, { recursive: true });
  if (existsSync(baselinesOf(template)))
    await cp(baselinesOf(template), path.join(place.data, 'baselines'), { recursive: true });
  return place;
}

/** @param folder absolute; removed by `remove` */
export function placeIn(folder: string): Place {
  return {
    folder,
    remote: path.join(folder, OWNER, `${NAME}.git`),
    data: path.join(folder, 'data'),
    letters: path.join(folder, 'letters'),
    // Orphans of a server that was killed may still write a file or two.
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  };
}
