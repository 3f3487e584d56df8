/**
 * The data folder of a server: made for its user alone, held by one server at a time, and looked at now and then whether
 * it is still the one that was opened.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Unavailable } from '@autonomous/shared';
import type { Logger } from 'pino';
import { type FileLock, lockFile } from './event-store/sqlite/database-lock.ts';
import { findHolder, lockIn, noteHolder, removeHolder } from './folder-holder.ts';
import { projectPath } from './record/record-check.ts';
import { RECORD_BRANCH, type RemoteProject, type Repository } from './repository/repository.ts';
import { startCommand } from './server/start-command.ts';

export interface DataFolder {
  /** Stays the same for as long as the folder does, whatever database is in it. */
  readonly serverId: string;
  /** @returns why the folder is not the one that was opened any more; `null` while it is */
  lost(): Unavailable | null;
  /** Notes the address of the server in the folder, where commands find it until `release`. */
  listening(url: string): Promise<void>;
  release(): void;
}

/** Projects that an error message or notice names. */
const NAMED = 5;

/**
 * Makes and locks the folder until `release` or the end of this process.
 * @throws {Unavailable} when it cannot be written, or another server uses it
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  await makeDataFolder(folder);
  const lock = await lockFolder(folder);
  await noteHolder(folder, null);
  const opened = identityOf(folder);
  return {
    serverId: await readServerId(folder),
    lost() {
      const now = identityOf(folder);
      if (now === opened) return null;
      const what = now === null ? 'was removed' : 'was replaced by another one';
      return new Unavailable(
        `The data folder ${folder} ${what} while the server was using it. Nothing is stored any more: put it back, or restore a copy, and restart the server.`,
      );
    },
    listening: (url) => noteHolder(folder, url),
    release() {
      if (identityOf(folder) === opened) removeHolder(folder);
      lock.release();
    },
  };
}

/** The refusal names the address of the server that has the folder: most often it is the one that was meant. */
async function lockFolder(folder: string): Promise<FileLock> {
  try {
    return lockFile(lockIn(await realpath(folder)), {
      what: `the data folder ${folder}`,
      way: 'name another folder with AUTONOMOUS_DATA',
    });
  } catch (error) {
    const url = (await findHolder(folder))?.url ?? null;
    if (!(error instanceof Unavailable) || url === null) throw error;
    throw new Unavailable(`${error.message} It answers at ${url}.`, { cause: error });
  }
}

/**
 * Mirrors of projects that the database does not have: it is new, or an older copy than the folder.
 * @returns what to tell people; `null` when there are none
 */
export async function findLostProjects(
  dataFolder: string,
  knownProjects: ReadonlySet<string>,
  repository: Repository,
  log: Logger,
): Promise<string | null> {
  const lost = await lostProjects(dataFolder, knownProjects, repository);
  if (lost.length === 0) return null;
  const runs = await Promise.all(lost.map((id) => countRecordedRuns(repository, id, log)));
  return describeLostProjects(
    lost,
    runs.reduce((sum, figure) => sum + figure, 0),
  );
}

/**
 * Ids of projects that are not among the known ones and have a mirror in the folder with branches of this server, or with a record of the
 * project, sorted.
 */
export async function lostProjects(
  dataFolder: string,
  known: ReadonlySet<string>,
  repository: RecordReader,
): Promise<readonly string[]> {
  return (await unknownMirrors(dataFolder, known, repository)).filter(({ isUnused }) => !isUnused).map(({ id }) => id);
}

/** Removes the mirrors of launches that were cut off in the first fetch of their project: all that they hold came from its remote. */
export async function removeUnusedMirrors(
  dataFolder: string,
  known: ReadonlySet<string>,
  repository: RecordReader & Pick<Repository, 'removeMirror'>,
  log: Logger,
): Promise<void> {
  for (const { id, isUnused } of await unknownMirrors(dataFolder, known, repository)) {
    if (!isUnused) continue;
    try {
      await repository.removeMirror({ id });
      log.info({ projectId: id }, 'the mirror of a launch that was cut off was removed');
    } catch (error) {
      log.warn({ err: error, projectId: id }, 'the mirror of a launch that was cut off could not be removed');
    }
  }
}

async function unknownMirrors(
  dataFolder: string,
  known: ReadonlySet<string>,
  repository: RecordReader,
): Promise<readonly { readonly id: string; readonly isUnused: boolean }[]> {
  const mirrors = join(dataFolder, 'mirrors');
  const names = await readdir(mirrors).catch(() => []);
  const unknown = names.filter((name) => name.endsWith('.git') && !known.has(name.slice(0, -'.git'.length))).sort();
  return Promise.all(
    unknown.map(async (name) => {
      const id = name.slice(0, -'.git'.length);
      return { id, isUnused: (await isOfRemoteAlone(join(mirrors, name))) && !(await isRecorded(repository, id)) };
    }),
  );
}

type RecordReader = Pick<Repository, 'recordedAt' | 'remoteHead'>;

/** Looks for this project in the fetched record of the remote. @returns true also when the record cannot be read */
async function isRecorded(repository: RecordReader, id: string): Promise<boolean> {
  const project = mirrorOf(id);
  try {
    const commit = await repository.remoteHead(project, RECORD_BRANCH);
    return commit !== null && (await repository.recordedAt(project, commit, [projectPath(id)])).size > 0;
  } catch {
    return true;
  }
}

/** Only the mirror is read: no address is needed. */
function mirrorOf(id: string): RemoteProject {
  return { id, repository: '', baseBranch: '' };
}

/** Whether a mirror has no ref but those of its remote's branches. False also for what is no whole mirror. */
async function isOfRemoteAlone(mirror: string): Promise<boolean> {
  try {
    const refs = join(mirror, 'refs');
    await access(join(refs, 'heads'));
    const loose = await readdir(refs, { recursive: true, withFileTypes: true });
    const packedRefs = join(mirror, 'packed-refs');
    const packed = existsSync(packedRefs) ? await readFile(packedRefs, 'utf8') : '';
    const names = [
      ...loose.filter((entry) => entry.isFile()).map((entry) => relative(mirror, join(entry.parentPath, entry.name))),
      ...packed.split('\n').flatMap((line) => /^[0-9a-f]+ (.+)$/.exec(line)?.[1] ?? []),
    ];
    return names.every((name) => name.startsWith('refs/remotes/'));
  } catch {
    return false;
  }
}

/** @param runs that their records hold; `null`: not counted */
export function describeLostProjects(ids: readonly string[], runs: number | null): string {
  const rest = ids.length - NAMED;
  const names = `${ids.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  const what = ids.length === 1 ? 'the mirror of 1 project' : `the mirrors of ${ids.length} projects`;
  const holding = runs === null ? '' : `, with the record of ${runs} run${runs === 1 ? '' : 's'}`;
  return `The data folder has ${what} that the database does not have (${names})${holding}: the database was deleted, recreated, or is an older copy. Stop the server and restore the newest copy of the database, or fill an empty one from git with ${startCommand().program} rebuild; what is in git stays as it is.`;
}

async function countRecordedRuns(repository: Repository, id: string, log: Logger): Promise<number> {
  const project = mirrorOf(id);
  try {
    const own = await repository.branchHead(project, RECORD_BRANCH);
    const commit = own ?? (await repository.remoteHead(project, RECORD_BRANCH));
    if (commit === null) return 0;
    return (await repository.recordedRuns(project, commit, 'context.json')).size;
  } catch (error) {
    log.warn({ err: error, projectId: id }, 'the mirror of a project that the database does not have cannot be read');
    return 0;
  }
}

/** @throws {Unavailable} naming the folder and the way out */
async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const what = await whyUnwritable(folder, cause);
    throw new Unavailable(
      `The data folder ${folder} cannot be made or written (${what}). Name a folder that this user may write with AUTONOMOUS_DATA.`,
      { cause },
    );
  }
}

/** Made once. Where the disk is full, one that lasts as long as this process. */
async function readServerId(folder: string): Promise<string> {
  const file = join(folder, 'server-id');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (/^[0-9a-f-]{36}$/.test(known)) return known;
  const made = randomUUID();
  await writeFile(file, `${made}\n`, { mode: 0o600 }).catch(() => undefined);
  return made;
}

function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}

/** Describes the nearest existing folder: making one below it on a read-only disk fails with misleading words. */
async function whyUnwritable(folder: string, cause: unknown): Promise<string> {
  for (let at = dirname(folder); ; at = dirname(at)) {
    const fault = await access(at, constants.W_OK | constants.X_OK).then(
      () => null,
      (error: unknown) => error as NodeJS.ErrnoException,
    );
    const isMissing = fault?.code === 'ENOENT' && at !== dirname(at);
    if (isMissing) continue;
    const shown = fault?.code === 'EROFS' || fault?.code === 'EACCES' ? fault : cause;
    return shown instanceof Error ? shown.message : String(shown);
  }
}
