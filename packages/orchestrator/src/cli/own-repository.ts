/** Repositories of their own, for topics that are researched without a project. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { slugOf } from '../documents/slug.ts';
import { z } from 'zod';
import { CommandFailure, UsageError } from './exit.ts';
import { readState, stateFileOf, writeState } from './hooks/hook-state.ts';
import type { CliIo } from './io.ts';

const run = promisify(execFile);

/** Branch of a new repository. */
const BRANCH = 'main';
/** Settings of git: the id of the repository, by which the state folder knows it; another command went on in it. */
const OWN = 'autonomous.own';
const SHARED = 'autonomous.shared';
/** The topic for which it was made, as JSON. */
const TOPIC = 'autonomous.topic';
/** Begins the name of a folder in which a repository is made; one that is left there belongs to a command that was killed. */
const DRAFT = '.autonomous-';
/** Note about a repository that this program made. It is in the person's own folder, because a repository's settings may come from anybody. */
const madeSchema = z.object({ folder: z.string() });
/** Variables that would lead git to another repository, as in a hook of git. Source: `git rev-parse --local-env-vars`. */
const ELSEWHERE = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_TEMPLATE_DIR',
];

export interface OwnRepository {
  /** Absolute path. */
  readonly folder: string;
  /** False: it was there before, with what an earlier run wrote. */
  readonly isNew: boolean;
  /** Removes what was made. A repository that was there stays, as one in which another command has gone on meanwhile. */
  discard(): Promise<void>;
}

/** The folder of a topic below another one. Topics with the same short name, such as `C` and `C++`, have folders of their own. */
export async function folderOfTopic(repositories: string, topic: string): Promise<string> {
  const name = slugOf(topic);
  for (let count = 1; ; count += 1) {
    const folder = path.join(repositories, count === 1 ? name : `${name}-${count}`);
    const other = await ask(folder, 'config', '--local', '--get', TOPIC);
    if (other === null || other === JSON.stringify(topic)) return folder;
  }
}

/**
 * The repository in a folder, made where the folder is empty or not there. A push to its branch shows the files in the
 * folder, as long as nobody has changed them there. Of two calls at the same time one makes it, and the other goes on in it.
 * @param folder absolute path
 * @param about its first file: what the topic and the question are
 * @throws {UsageError} when the folder cannot be made, or has other files or another repository
 * @throws {CommandFailure} when git makes no repository
 */
export async function ownRepository(
  io: Pick<CliIo, 'env'>,
  folder: string,
  about: { topic: string; request: string },
): Promise<OwnRepository> {
  const there = await namesIn(folder);
  if (there !== null && there.length > 0) return goOnIn(io, folder);
  await makeFolder(there === null ? path.dirname(folder) : folder);
  // Made beside its place, on the same disk, so that it is there as a whole or not at all.
  const id = randomUUID();
  const draft = path.join(there === null ? path.dirname(folder) : folder, `${DRAFT}${id}`);
  const stateFile = stateFileOf(io, 'own', id);
  let isMade = false;
  try {
    await makeFolder(draft);
    await begin(draft, id, about);
    await writeState(stateFile, { folder: await realPlaceOf(folder) });
    if (there === null) await rename(draft, folder);
    else for (const name of ['.git', 'README.md']) await rename(path.join(draft, name), path.join(folder, name));
    isMade = true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') {
      await rm(draft, { recursive: true, force: true });
      return await goOnIn(io, folder);
    }
    if (code === undefined || error instanceof UsageError) throw error;
    throw notMade(folder, error);
  } finally {
    await rm(draft, { recursive: true, force: true });
    if (!isMade) await rm(stateFile, { force: true });
  }
  const discard = async () => {
    if (await isSet(folder, SHARED)) return;
    await rm(stateFile, { force: true });
    if (there === null) return rm(folder, { recursive: true, force: true });
    for (const name of ['.git', 'README.md']) await rm(path.join(folder, name), { recursive: true, force: true });
  };
  return { folder, isNew: true, discard };
}

/** @throws {UsageError} when the folder has no repository of its own: its result is merged without a question */
async function goOnIn(io: Pick<CliIo, 'env'>, folder: string): Promise<OwnRepository> {
  if (!(await isRepository(folder)))
    throw new UsageError(
      `${folder} has files and is no git repository. Name an empty or new folder with --out, or a repository with --project.`,
    );
  const remotes = await ask(folder, 'remote');
  if (!(await wasMadeHere(io, folder)) || remotes !== '')
    throw new UsageError(
      `${folder} is a repository ${remotes === '' ? 'that this account has not made for a topic on this machine' : 'with a remote'}, and --out merges without a question. Name it with --project instead, or an empty or new folder with --out.`,
    );
  await ask(folder, 'config', SHARED, 'true');
  return { folder, isNew: false, discard: async () => {} };
}

async function wasMadeHere(io: Pick<CliIo, 'env'>, folder: string): Promise<boolean> {
  const id = await ask(folder, 'config', '--local', '--get', OWN);
  const made = id === null ? null : await readState(stateFileOf(io, 'own', id), madeSchema);
  return made?.folder === (await realpath(folder));
}

/** Real path of a folder that may not be there yet. */
async function realPlaceOf(folder: string): Promise<string> {
  return realpath(folder).catch(async () => path.join(await realpath(path.dirname(folder)), path.basename(folder)));
}

/** @returns null: there is no such folder. @throws {UsageError} when it is a file or cannot be read */
async function namesIn(folder: string): Promise<readonly string[] | null> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith(DRAFT));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new UsageError(
      `${folder} ${code === 'ENOTDIR' ? 'is a file' : `cannot be read (${code ?? String(error)})`}; name a folder with --out.`,
      { cause: error },
    );
  }
}

/** One folder after the other: Node's own way never ends below `/proc`. @throws {UsageError} */
async function makeFolder(folder: string): Promise<void> {
  const make = (): Promise<unknown> =>
    mkdir(folder).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  try {
    await make();
  } catch (error) {
    const above = path.dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === folder) throw notMade(folder, error);
    await makeFolder(above);
    await make().catch((again: unknown) => {
      throw notMade(folder, again);
    });
  }
}

function notMade(folder: string, cause: unknown): UsageError {
  const { code } = cause as NodeJS.ErrnoException;
  return new UsageError(`${folder} cannot be made (${code ?? String(cause)}); name another folder with --out.`, {
    cause,
  });
}

/** A folder below a repository is none itself. */
async function isRepository(folder: string): Promise<boolean> {
  const top = await ask(folder, 'rev-parse', '--show-toplevel');
  return top !== null && top !== '' && (await realpath(top)) === (await realpath(folder));
}

async function isSet(folder: string, name: string): Promise<boolean> {
  return (await ask(folder, 'config', '--local', '--get', name)) === 'true';
}

/** @returns null: git refuses, or says no */
async function ask(folder: string, ...args: readonly string[]): Promise<string | null> {
  try {
    return await git(folder, ...args);
  } catch {
    return null;
  }
}

async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env };
  for (const name of ELSEWHERE) delete env[name];
  return (await run('git', ['-C', folder, ...args], { env })).stdout.trimEnd();
}

/** @throws {CommandFailure} */
async function begin(
  folder: string,
  id: string,
  { topic, request }: { topic: string; request: string },
): Promise<void> {
  await writeFile(path.join(folder, 'README.md'), `# ${topic}\n\n${request}\n`);
  try {
    await git(folder, 'init', '--quiet', '--template=', `--initial-branch=${BRANCH}`);
    await git(folder, 'config', OWN, id);
    await git(folder, 'config', TOPIC, JSON.stringify(topic));
    await git(folder, 'config', 'receive.denyCurrentBranch', 'updateInstead');
    // The server pushes here: nothing of the folder is started for that.
    await git(folder, 'config', 'core.hooksPath', '/dev/null');
    await git(folder, 'add', '--force', 'README.md');
    const isNamed = (await ask(folder, 'var', 'GIT_COMMITTER_IDENT')) !== null;
    const identity = isNamed ? [] : ['-c', 'user.name=Autonomous', '-c', 'user.email=autonomous@localhost'];
    // Hooks of the person's own are for other repositories.
    const settings = [...identity, '-c', 'commit.gpgSign=false', '-c', 'core.hooksPath=/dev/null'];
    await git(folder, ...settings, 'commit', '--quiet', '--message', `Begin: ${topic}`);
  } catch (error) {
    const { stderr, message } = error as { readonly stderr?: string; readonly message?: string };
    const why = (stderr || message || String(error)).trim().split('\n')[0] ?? '';
    throw new CommandFailure(`git made no repository for the topic: ${why}`, { cause: error });
  }
}
