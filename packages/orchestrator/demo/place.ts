/** The demo's place: a project with a history and a bare remote, in a folder of its own. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const BUNDLED_PROJECT = fileURLToPath(new URL('./project', import.meta.url));

export interface DemoPlace {
  /** Everything that the demo makes lies below. */
  readonly folder: string;
  /** A work tree that a person can look into. */
  readonly project: string;
  /** The bare repository that the run pushes to. */
  readonly remote: string;
  readonly data: string;
}

/** The demo cannot be set up here; the message says why and what to do. */
export class DemoRefused extends Error {}

/**
 * Makes the folder, the remote and the work tree.
 * @param out absolute; must be empty or absent. `null` takes a temporary folder
 * @param own a repository of the person's own, which is cloned; `null` takes the bundled project
 */
export async function makePlace(out: string | null, own: string | null): Promise<DemoPlace> {
  const folder = out ?? (await mkdtemp(path.join(tmpdir(), 'autonomous-demo-')));
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new DemoRefused(`${folder} cannot be made: ${lastLine(error)}. Choose another folder with --out.`);
  });
  if ((await readdir(folder)).length > 0)
    throw new DemoRefused(`${folder} is not empty. Choose another folder with --out.`);
  const place = {
    folder,
    project: path.join(folder, 'project'),
    remote: path.join(folder, 'remote.git'),
    data: path.join(folder, 'data'),
  };
  try {
    await fill(place, own);
  } catch (error) {
    await removePlace(place, out !== null);
    throw error;
  }
  return place;
}

/** Commits the files of a folder on top of the project, and pushes them. @param from absolute */
export async function addFiles({ project }: DemoPlace, from: string, message: string): Promise<void> {
  await cp(from, project, { recursive: true });
  await git(project, 'add', '--all');
  await git(project, 'commit', '--quiet', `--message=${message}`);
  await git(project, 'push', '--quiet', 'origin', 'HEAD');
}

/** A place whose remote lies at a forge. @param remote the bare repository, which is there already */
export async function makePlaceAt(place: DemoPlace, remote: string): Promise<DemoPlace> {
  await rm(place.project, { recursive: true, force: true });
  await rm(place.remote, { recursive: true, force: true });
  await git(place.folder, 'clone', '--quiet', remote, place.project);
  return { ...place, remote };
}

async function fill({ folder, project, remote }: DemoPlace, own: string | null): Promise<void> {
  if (own === null) {
    await cp(BUNDLED_PROJECT, project, { recursive: true });
    // npm installs no file of a package as .gitignore, so the published demo has another name for it.
    await rename(path.join(project, 'gitignore'), path.join(project, '.gitignore')).catch(() => undefined);
    await git(project, 'init', '--quiet', '--initial-branch=main');
    await git(project, 'add', '--all');
    await git(project, 'commit', '--quiet', '--message=A small web application that keeps notes');
    await git(folder, 'clone', '--quiet', '--bare', project, remote);
    await git(project, 'remote', 'add', 'origin', remote);
    await git(project, 'fetch', '--quiet');
  } else {
    await git(folder, 'clone', '--quiet', '--bare', '--', own, remote).catch((error: unknown) => {
      throw new DemoRefused(`${own} cannot be cloned: ${lastLine(error)}`);
    });
    await git(folder, 'clone', '--quiet', remote, project);
  }
}

/** Takes back what `makePlace` and a server that did not come to a run made. */
export async function removePlace(place: DemoPlace, keepFolder: boolean): Promise<void> {
  const made = keepFolder ? [place.project, place.remote, place.data] : [place.folder];
  for (const folder of made) await rm(folder, { recursive: true, force: true });
}

/** Brings the work tree to what the run merged or, where it did not merge, leaves it and fetches. */
export async function updateProject(place: DemoPlace): Promise<void> {
  await git(place.project, 'fetch', '--quiet', 'origin');
  const { stdout } = await git(place.project, 'rev-parse', '--abbrev-ref', 'HEAD');
  await git(place.project, 'merge', '--quiet', '--ff-only', `origin/${stdout.trim()}`);
}

/** Who commits in the demo does not depend on the machine's own settings, and no hook of it runs. */
async function git(folder: string, ...args: string[]) {
  const settings = [
    'user.name=Autonomous demo',
    'user.email=demo@autonomous.invalid',
    'core.hooksPath=/dev/null',
    'commit.gpgSign=false',
  ];
  return run('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], { cwd: folder });
}

function lastLine(error: unknown): string {
  const { stderr } = error as { stderr?: string };
  return (stderr ?? String(error)).trim().split('\n').at(-1) ?? '';
}
