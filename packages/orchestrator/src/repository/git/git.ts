/**
 * The one place where git processes are asked for. Every one gets the same small environment and settings, an explicit
 * repository that the server owns, and an argument list; nothing goes through a shell.
 */
import { existsSync } from 'node:fs';
import { stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NeedsHuman, RetryableFailure, showHiddenInLine } from '@autonomous/shared';
import { ProcessUnavailable } from '../../processes/small-process.ts';
import { RecentAnswers } from '../recent-answers.ts';
import { isObjectId } from '../repository-paths.ts';
import { gitBounds } from './git-bounds.ts';
import { askLaunched, launchGit } from './git-launcher.ts';
import { type GitObjects, inputOf, ObjectParser, type ObjectRequest, READ_OBJECTS } from './object-reader.ts';

/** A repository that the server owns. */
export interface GitPlace {
  /** Absolute path of the bare repository. */
  readonly gitDir: string;
  /** Absolute path of an empty folder: git and ssh find no personal settings there. */
  readonly home: string;
}

export interface GitCall {
  readonly args: readonly string[];
  readonly input?: string | Buffer;
  /** Ids or refs that determine the answer. If all are object ids, the answer cannot change and is cached. */
  readonly dependsOn?: readonly string[];
  /** Temporary index to work on instead of the repository's own. */
  readonly indexFile?: string;
  readonly workTree?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: readonly Setting[];
  /** Exit codes that are answers (default 0 alone). */
  readonly accept?: readonly number[];
  /** After this many bytes the process is ended and the answer is `truncated`. */
  readonly maxOutputBytes?: number;
  /** The process is ended when it takes longer. Default: ten minutes. */
  readonly timeoutMs?: number;
  /** Ends the process when it is aborted; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly truncated: boolean;
}

export type Setting = readonly [key: string, value: string];

/** git ended in a way that its caller did not expect. */
export class GitFailure extends Error {
  readonly exitCode: number;
  readonly stderr: string;

  constructor(args: readonly string[], exitCode: number, stderr: string) {
    super(`git ${args[0]} ended with ${exitCode}: ${stderr.trim().slice(0, 500)}`);
    this.name = 'GitFailure';
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** Nothing that a repository, a person's settings or the system brings along may run a program or ask a question. */
const SETTINGS: readonly Setting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['safe.bareRepository', 'explicit'],
  // Names that macOS or Windows take for .git are in no tree that the server writes, wherever it runs.
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['core.quotePath', 'false'],
  // Two writers of one ref wait for each other, and the loser is told by compare-and-swap.
  ['core.filesRefLockTimeout', '1000'],
  ['core.packedRefsTimeout', '5000'],
  // A redirect could carry the token's header, or the server's own reach, to a host that nobody named.
  ['http.followRedirects', 'false'],
  // Less than a byte a second for half a minute, from the first one on, is a remote that is gone: git's own servers say at
  // least that they are busy, every 5 seconds. Other requests to the remote wait for this one.
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '30'],
];

/** A remote that says nothing for this long is gone; git reports its progress at least every few seconds. */
const REMOTE_SILENCE_MS = 180_000;
/** Nothing that the server asks of its own mirrors takes this long. */
const LOCAL_LIMIT_MS = 600_000;

/** Half a million branches. */
const MAX_REMOTE_BYTES = 64 * 1024 * 1024;

/** No change of a ref takes longer than this, so an older lock was left by a process that was killed. */
const STALE_LOCK_MS = 10_000;
const LOCK_LOOK_MS = 250;
const OTHERS_LOCK_MS = 500;
/** Tries of one command that finds locks in its way, of which a killed one may have left several, or that did not start. */
const MAX_TRIES = 5;
const AGAIN_MS = 100;
const LOCK_IN_THE_WAY =
  /^(?:Unable to create '(?<lock>.+\.lock)'|could not lock config file (?<config>.+)): File exists/;
/** The words before may name a ref, and so be of any length. */
const LOCK_WORDS = ["Unable to create '", 'could not lock config file '];

/** Asks nothing, and gives up a connection that is not made, or is gone, within half a minute. */
const SSH = 'ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=10 -oServerAliveCountMax=3';

/** Environment variables of the operator that git may use to reach remotes. */
const SSH_VARIABLES = ['SSH_AUTH_SOCK', 'GIT_SSH_COMMAND'] as const;
const HTTP_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'GIT_SSL_CAINFO',
  'SSL_CERT_FILE',
] as const;

/** Bytes of the answers that are kept: the steps of a run ask the same of the same trees. */
const KEPT_BYTES = 64 * 1024 * 1024;
const kept = new RecentAnswers<GitAnswer>(KEPT_BYTES, ({ stdout }) => 1_000 + stdout.length);

/**
 * Runs one git command on a repository of the server; no network.
 * @throws {GitFailure} for an exit code that is not in `accept`
 * @throws {NeedsHuman} `storage_full`
 */
export async function runGit(place: GitPlace, call: GitCall): Promise<GitAnswer> {
  const key = call.dependsOn?.every(isObjectId) === true ? JSON.stringify([place.gitDir, call.args, call.env]) : null;
  const known = key === null ? undefined : kept.get(key);
  if (known !== undefined) return known;
  let answer = await spawnAgain(place, call);
  for (
    let tries = 1;
    answer.exitCode !== 0 && (await mayTryAgain(tries, answer.stderr, place, call.indexFile));
    tries++
  ) {
    answer = await spawnAgain(place, call);
  }
  if (key !== null && answer.exitCode === 0 && !answer.truncated) kept.keep(key, answer);
  if (answer.truncated || (call.accept ?? [0]).includes(answer.exitCode)) return answer;
  throw localFailure(call.args, answer);
}

/** Standard output of a command, without the newline at its end. */
export async function gitText(place: GitPlace, call: GitCall): Promise<string> {
  return (await runGit(place, call)).stdout.toString('utf8').trimEnd();
}

/** Objects that are asked for in one message: some milliseconds' worth. */
const OBJECTS_A_QUESTION = 4_000;

/** Objects by their names, read by a git process that is kept for a while. @throws as `runGit` does */
export async function readObjects(place: GitPlace, requests: readonly ObjectRequest[]): Promise<GitObjects> {
  if (requests.length <= OBJECTS_A_QUESTION) return askObjects(place, requests);
  const objects: GitObjects[number][] = [];
  for (let at = 0; at < requests.length; at += OBJECTS_A_QUESTION)
    objects.push(...(await askObjects(place, requests.slice(at, at + OBJECTS_A_QUESTION))));
  return objects;
}

async function askObjects(place: GitPlace, requests: readonly ObjectRequest[]): Promise<GitObjects> {
  if (requests.length === 0) return [];
  const signal = gitBounds();
  signal?.throwIfAborted();
  const question = { gitDir: place.gitDir, env: environment(place), requests, timeoutMs: LOCAL_LIMIT_MS };
  try {
    return await askLaunched(question, signal);
  } catch {
    signal?.throwIfAborted();
    // A process of its own says what is wrong.
    const { stdout } = await runGit(place, { args: READ_OBJECTS, input: inputOf(requests) });
    const parser = new ObjectParser();
    parser.add(stdout);
    return requests.map((request) => {
      const object = parser.take(request);
      if (object === undefined) throw new Error(`git cat-file did not answer for '${request.name}'`);
      return object;
    });
  }
}

/** Ids, types and sizes of the objects with these names, without their content. `null`: there is no such object. */
export function objectFacts(place: GitPlace, names: readonly string[]): Promise<GitObjects> {
  return readObjects(
    place,
    names.map((name) => ({ name, withContent: false })),
  );
}

/** The parts of NUL-separated output. */
export function splitNul(output: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (let end = output.indexOf(0); end >= 0; end = output.indexOf(0, start)) {
    parts.push(output.subarray(start, end));
    start = end + 1;
  }
  return parts;
}

/** How long a remote is waited for. */
export interface Patience {
  /** Ends the process when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds in all. Default: for as long as the remote says something every three minutes. */
  readonly limitMs?: number | undefined;
}

export interface RemoteCall extends Patience {
  readonly args: readonly string[];
  /** Transport, which determines the operator's variables that git gets. */
  readonly transport: 'local' | 'http' | 'ssh';
  /** Settings that must be neither on disk nor among the arguments: the token's header. */
  readonly config: readonly Setting[];
}

export type RemoteAnswer =
  | { readonly silent: false; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  /** The remote said nothing for three minutes, or did not come to an end within the limit. */
  | { readonly silent: true };

/**
 * Runs one git command that speaks with a remote; every exit code is an answer.
 * @throws what the signal was aborted with
 */
export async function runRemoteGit(place: GitPlace, call: RemoteCall): Promise<RemoteAnswer> {
  let answer = await askRemote(place, call);
  for (let tries = 1; !answer.silent && answer.exitCode !== 0; tries++) {
    if (!(await mayTryAgain(tries, answer.stderr, place))) break;
    answer = await askRemote(place, call);
  }
  return answer;
}

async function askRemote(
  place: GitPlace,
  { args, transport, config, signal = gitBounds(), limitMs }: RemoteCall,
): Promise<RemoteAnswer> {
  signal?.throwIfAborted();
  const order = {
    args,
    cwd: place.gitDir,
    env: { ...environment(place, config), ...transportVariables(transport) },
    input: '',
    silenceMs: REMOTE_SILENCE_MS,
    timeoutMs: limitMs,
    maxOutputBytes: MAX_REMOTE_BYTES,
    isRemote: true,
  };
  const { exitCode, stdout, stderr, truncated, ended } = await launchGit(order, signal).catch(explainLaunch(order.cwd));
  signal?.throwIfAborted();
  if (ended !== undefined) return { silent: true };
  if (truncated) return { silent: false, exitCode, stdout: '', stderr: 'fatal: it answered with more than 64 MB\n' };
  return { silent: false, exitCode, stdout: Buffer.from(stdout).toString('utf8'), stderr };
}

function transportVariables(transport: RemoteCall['transport']): Record<string, string> {
  if (transport === 'local') return {};
  const names = transport === 'ssh' ? SSH_VARIABLES : HTTP_VARIABLES.flatMap((name) => [name, name.toLowerCase()]);
  const taken = names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
  return { ...(transport === 'ssh' ? { GIT_SSH_COMMAND: SSH } : {}), ...Object.fromEntries(taken) };
}

function environment(place: GitPlace, config: readonly Setting[] = []): Record<string, string> {
  const settings = [...SETTINGS, ...config];
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: place.home,
    LC_ALL: 'C',
    GIT_DIR: place.gitDir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_ALLOW_PROTOCOL: 'file:http:https:ssh',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/**
 * Repeats a command that found no room on the system, or whose starter was killed: it cannot be known whether the command was
 * carried out, and only a change of a ref, which names the value that it expects, is another thing when it is repeated.
 */
async function spawnAgain(place: GitPlace, call: GitCall): Promise<GitAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      return await spawnGit(place, call);
    } catch (error) {
      if (!(error instanceof RetryableFailure) || tries === MAX_TRIES || call.args[0] === 'update-ref') throw error;
      await sleep(tries * AGAIN_MS);
    }
  }
}

async function spawnGit(place: GitPlace, call: GitCall): Promise<GitAnswer> {
  const { signal = gitBounds() } = call;
  signal?.throwIfAborted();
  const order = {
    args: call.args,
    cwd: call.workTree ?? place.gitDir,
    env: {
      ...environment(place, call.config),
      ...(call.indexFile === undefined ? {} : { GIT_INDEX_FILE: call.indexFile }),
      ...(call.workTree === undefined ? {} : { GIT_WORK_TREE: call.workTree }),
      ...call.env,
    },
    input: call.input ?? '',
    maxOutputBytes: call.maxOutputBytes,
    timeoutMs: call.timeoutMs ?? LOCAL_LIMIT_MS,
  };
  const { exitCode, stdout, stderr, truncated, ended } = await launchGit(order, signal).catch(explainLaunch(order.cwd));
  signal?.throwIfAborted();
  if (ended !== undefined) throw new GitFailure(call.args, exitCode, `it took longer than ${order.timeoutMs} ms`);
  return { exitCode, stdout: Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength), stderr, truncated };
}

function explainLaunch(folder: string): (cause: unknown) => never {
  return (cause) => {
    if (!existsSync(folder))
      throw new NeedsHuman(
        'setup_failed',
        `The folder ${folder} is gone, in which the server works on a project. Restart the server, which makes it again, then retry`,
        { cause },
      );
    const why = cause instanceof Error ? cause.message : String(cause);
    if (cause instanceof ProcessUnavailable)
      throw new RetryableFailure(
        `${why}, most likely for want of memory, or of room for one more process or open file. The next command starts it again: retry`,
        { cause },
      );
    const hint = why.startsWith('spawn git ') ? '; is it installed and in PATH?' : '';
    throw new Error(`git cannot be started (${why})${hint}`, { cause });
  };
}

function localFailure(args: readonly string[], answer: GitAnswer): Error {
  const failure = new GitFailure(args, answer.exitCode, answer.stderr);
  const refused = /^error: invalid path '(?<path>[^\n]*)'$/m.exec(answer.stderr)?.groups?.['path'];
  if (refused !== undefined)
    return new NeedsHuman(
      'setup_failed',
      `The project's branch contains the path '${showHiddenInLine(refused)}', which git never writes: it leads out of the project or stands for git's own files. Remove it from the branch, then start a new run`,
      { cause: failure },
    );
  // A checkout does not say why.
  if (/^error: unable to write file /m.test(answer.stderr))
    return new NeedsHuman(
      'storage_full',
      'The disk with the working folders takes no more files; most likely it is full. Free some space, then retry',
      { cause: failure },
    );
  if (!isStorageFull(answer.stderr)) return failure;
  return new NeedsHuman('storage_full', 'The disk with the project mirrors is full. Free some space, then retry', {
    cause: failure,
  });
}

/** Whether git says that a disk has no room left. Of a ref it says only that it cannot be written. */
export function isStorageFull(stderr: string): boolean {
  return /No space left on device|Disk quota exceeded|couldn't write '/.test(stderr);
}

/**
 * git leaves `<file>.lock` behind when it is killed while it changes a file, and every later change would fail on it. A
 * server that starts again right after its machine failed finds such locks when they are young: they are waited for.
 * @param indexFile index outside of the repository that the command used
 * @returns whether it was a lock that stood in the way and does no more
 */
async function mayTryAgain(tries: number, stderr: string, place: GitPlace, indexFile?: string): Promise<boolean> {
  if (tries >= MAX_TRIES) return false;
  const isOurs = (lock: string): boolean =>
    lock.startsWith(`${place.gitDir}${path.sep}`) || lock === `${path.resolve(indexFile ?? '')}.lock`;
  const outcomes = await Promise.all(locksIn(stderr).map((lock) => (isOurs(lock) ? clearLock(lock) : waitForOthers())));
  return outcomes.includes(true);
}

/** Lock files that stood in the way of a git, by its words. A remote may write such words, too, and name any file. */
export function locksIn(stderr: string): readonly string[] {
  return stderr
    .split('\n')
    .flatMap((line) => LOCK_WORDS.map((words) => line.lastIndexOf(words)).map((at) => (at < 0 ? '' : line.slice(at))))
    .map((words) => LOCK_IN_THE_WAY.exec(words)?.groups)
    .filter((groups) => groups !== undefined)
    .map((groups) => path.normalize(groups['lock'] ?? `${groups['config']}.lock`));
}

/** A lock at the remote is not the server's to take: who holds it lets it go within moments. */
async function waitForOthers(): Promise<true> {
  await sleep(OTHERS_LOCK_MS);
  return true;
}

/** @returns whether the lock is gone: let go by a process that lives, or taken from one that does not */
async function clearLock(lock: string): Promise<boolean> {
  const started = performance.now();
  try {
    const first = await stat(lock);
    while (true) {
      const watchedMs = performance.now() - started;
      // A lock that still stands belongs to a living process, or a remote has made it up.
      if (watchedMs > 2 * STALE_LOCK_MS) return false;
      const { ino, mtimeMs } = await stat(lock);
      const ageMs = Date.now() - mtimeMs;
      // The clock was set back, or the file system has another one: only the time for which it was seen counts.
      const isFromFuture = ageMs < -LOCK_LOOK_MS;
      const isSame = ino === first.ino && mtimeMs === first.mtimeMs;
      if (isFromFuture ? isSame && watchedMs >= STALE_LOCK_MS : ageMs >= STALE_LOCK_MS) break;
      await sleep(LOCK_LOOK_MS);
    }
    await unlink(lock);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  return true;
}
