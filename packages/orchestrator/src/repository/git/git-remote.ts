/** Speaking with a project's remote: what it has, fetching, pushing by compare-and-swap, and what its refusals mean to a person. */
import { existsSync } from 'node:fs';
import { copyFile, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NeedsHuman, Unprocessable } from '@autonomous/shared';
import { shellWord } from '@autonomous/shared/presentation';
import {
  type GitPlace,
  isStorageFull,
  locksIn,
  type Patience,
  type RemoteAnswer,
  runGit,
  runRemoteGit,
  type Setting,
} from './git.ts';
import { withScratch } from './git-trees.ts';
import { PushForbidden } from '../repository.ts';
import { type RemoteAddress, takesToken, withoutCredentials } from '../remote-url.ts';

export interface RemoteAccess extends Patience {
  readonly address: RemoteAddress;
  /** Absent where none is configured. It is sent to `tokenHost` alone. */
  readonly token: string | undefined;
  readonly tokenHost: string;
  /** Environment variable of the token, for messages. */
  readonly tokenVariable: string;
  /** The same at the new address of a repository that has moved; `null` where nobody knows one. Absent: it is not asked for. */
  readonly follow?: () => Promise<RemoteAccess | null>;
}

export interface RemoteRefs {
  /** Branch that the remote's HEAD names; `null` when it names none or one that does not exist. */
  readonly headBranch: string | null;
  readonly headCommit: string | null;
  /** Commits by short branch name. */
  readonly branches: ReadonlyMap<string, string>;
}

export type RemotePush =
  | { readonly outcome: 'pushed' }
  /** The remote has another commit (`null`: none) where `expected` was. */
  | { readonly outcome: 'moved'; readonly remoteCommit: string | null };

/** @throws {NeedsHuman} `remote_unavailable`, `auth_expired` */
export async function listRemote(place: GitPlace, access: RemoteAccess): Promise<RemoteRefs> {
  const stdout = await speak(place, access, [
    'ls-remote',
    '--symref',
    '--quiet',
    '--',
    access.address.url,
    'HEAD',
    'refs/heads/*',
  ]);
  const branches = new Map<string, string>();
  let headName: string | null = null;
  let headCommit: string | null = null;
  for (const line of stdout.split('\n')) {
    const [value = '', ref = ''] = line.split('\t');
    if (ref === 'HEAD' && value.startsWith('ref: refs/heads/')) headName = value.slice('ref: refs/heads/'.length);
    else if (ref === 'HEAD') headCommit = value;
    else if (ref.startsWith('refs/heads/')) branches.set(ref.slice('refs/heads/'.length), value);
  }
  return { headBranch: headName !== null && branches.has(headName) ? headName : null, headCommit, branches };
}

/**
 * Brings `refs/remotes/origin/*` to what the remote's branches are now, or only the named branch.
 * @throws {NeedsHuman} `remote_unavailable`, `auth_expired`, `storage_full`
 */
export async function fetchBranches(place: GitPlace, access: RemoteAccess, branch = '*'): Promise<void> {
  const options = ['--prune', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--progress'];
  const refspec = `+refs/heads/${branch}:refs/remotes/origin/${branch}`;
  for (let tries = 1; ; tries++) {
    const answer = await ask(place, access, ['fetch', ...options, '--', access.address.url, refspec]);
    if (!answer.silent && answer.exitCode === 0) return;
    if (answer.silent || tries === FETCH_TRIES || !REF_MOVED.test(answer.stderr)) throw failureOf(answer, access);
  }
}

/** Brings the remote branches of a clone over those of its own that were fetched before. A folder that has none gives none. */
export async function fetchClonedBranches(place: GitPlace, access: RemoteAccess): Promise<void> {
  const options = ['--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--progress'];
  const refspecs = ['+refs/remotes/origin/*:refs/remotes/origin/*', '^refs/remotes/origin/HEAD'];
  await speak(place, access, ['fetch', ...options, '--', access.address.url, ...refspecs]);
}

/**
 * Fetches one commit that need not be the head of a branch. Not every remote gives such.
 * @throws {NeedsHuman} `remote_unavailable`, `auth_expired`, `storage_full`
 */
export async function fetchCommit(place: GitPlace, access: RemoteAccess, commit: string): Promise<void> {
  const options = ['--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--progress'];
  const refspec = `${commit}:refs/autonomous/commits/${commit}`;
  await speak(place, access, ['fetch', ...options, '--', access.address.url, refspec]);
}

/** A push of this server may move a tracking ref while a fetch looks at it; the next fetch sees where both have led. */
const REF_MOVED = /cannot lock ref '[^']*': (?:is at [0-9a-f]+ but expected [0-9a-f]+|reference already exists)/;
const FETCH_TRIES = 5;

/**
 * @param expected the commit that the remote branch must be at; `null` when it must not exist
 * @throws {NeedsHuman} `remote_unavailable`, `auth_expired`, `push_rejected`
 */
export async function pushCommit(
  place: GitPlace,
  access: RemoteAccess,
  branch: string,
  commit: string,
  expected: string | null,
): Promise<RemotePush> {
  const ref = `refs/heads/${branch}`;
  const lease = `--force-with-lease=${ref}:${expected ?? ''}`;
  const args = [
    'push',
    '--porcelain',
    '--progress',
    '--no-verify',
    '--recurse-submodules=no',
    lease,
    '--',
    access.address.url,
  ];
  const answer = await ask(place, access, [...args, `${commit}:${ref}`]);
  if (!answer.silent && answer.exitCode === 0) return { outcome: 'pushed' };
  const refusal = answer.silent
    ? null
    : /^!\t[^\t\n]*\t\[(?:remote )?rejected\](?: \((?<reason>[^\n]*)\))?$/m.exec(answer.stdout);
  const forbidden = !answer.silent && isForbidden(answer.stderr);
  if (answer.silent || (refusal === null && !forbidden)) throw failureOf(answer, access);
  // The refusal alone does not tell whether the branch moved or may not be written: what the remote has now does. Where
  // even reading fails, that is the answer.
  const { branches } = await listRemote(place, access);
  const remoteCommit = branches.get(branch) ?? null;
  if (remoteCommit === commit) return { outcome: 'pushed' };
  if (remoteCommit !== expected) return { outcome: 'moved', remoteCommit };
  const other = besideWhichNone(branch, branches.keys());
  if (other !== undefined)
    throw new NeedsHuman('push_rejected', `${exclusion(access.address, other, branch)}, then retry`);
  throw rejection(
    access,
    branch,
    { reason: refusal?.groups?.['reason'] ?? null, stderr: answer.stderr },
    `. Or push it from the server's machine: ${pushCommand(place, access, commit, ref)}`,
  );
}

/** The branch of a remote beside which git cannot have another one: one is the other's folder. */
export function besideWhichNone(branch: string, branches: Iterable<string>): string | undefined {
  return [...branches].find((name) => branch.startsWith(`${name}/`) || name.startsWith(`${branch}/`));
}

/** Says that a remote has a branch beside which git has no other one, and the way out, without its end. */
export function exclusion({ url }: RemoteAddress, there: string, wanted: string): string {
  return `${url} has a branch '${there}', and git has no branch ${wanted} beside it. Rename or remove '${there}' there`;
}

/** The command that pushes a commit with the rights of the person who gives it. */
function pushCommand({ gitDir }: GitPlace, { address }: RemoteAccess, commit: string, ref: string): string {
  return ['git', `--git-dir=${gitDir}`, 'push', address.url, `${commit}:${ref}`].map(shellWord).join(' ');
}

/**
 * Removes a branch of the remote that is still at `expected`; one that is gone counts as removed.
 * @returns false when it is at another commit
 * @throws {NeedsHuman} `remote_unavailable`, `auth_expired`, `push_rejected`
 */
export async function removeRemoteBranch(
  place: GitPlace,
  access: RemoteAccess,
  branch: string,
  expected: string,
): Promise<boolean> {
  const ref = `refs/heads/${branch}`;
  const lease = `--force-with-lease=${ref}:${expected}`;
  const args = ['push', '--porcelain', '--progress', '--no-verify', lease, '--', access.address.url, `:${ref}`];
  const answer = await ask(place, access, args);
  if (!answer.silent && answer.exitCode === 0) return true;
  if (answer.silent) throw failureOf(answer, access);
  const now = (await listRemote(place, access)).branches.get(branch);
  if (now === undefined) return true;
  if (now !== expected) return false;
  const refusal = /^!\t[^\t\n]*\t\[(?:remote )?rejected\](?: \((?<reason>[^\n]*)\))?$/m.exec(answer.stdout);
  if (refusal === null && !isForbidden(answer.stderr)) throw failureOf(answer, access);
  throw rejection(access, branch, { reason: refusal?.groups?.['reason'] ?? null, stderr: answer.stderr });
}

/** @throws {NeedsHuman} for any end but success */
async function speak(place: GitPlace, access: RemoteAccess, args: readonly string[]): Promise<string> {
  const answer = await ask(place, access, args);
  if (!answer.silent && answer.exitCode === 0) return answer.stdout;
  throw failureOf(answer, access);
}

async function ask(
  place: GitPlace,
  access: RemoteAccess,
  args: readonly string[],
  moves = MAX_MOVES,
): Promise<RemoteAnswer> {
  const { signal, limitMs, address } = access;
  const answer = await runRemoteGit(place, {
    args,
    transport: address.kind,
    config: tokenSettings(access),
    signal,
    limitMs,
  });
  // Git itself follows no redirect: it would send the token along.
  const isElsewhere = moves > 0 && !answer.silent && hasMoved(answer.stderr);
  const there = isElsewhere ? ((await access.follow?.()) ?? null) : null;
  if (there === null) return answer;
  return ask(
    place,
    there,
    args.map((each) => (each === address.url ? there.address.url : each)),
    moves - 1,
  );
}

/** New addresses of one repository that are followed after each other: two may name each other. */
const MAX_MOVES = 3;

function hasMoved(stderr: string): boolean {
  return /returned error: 30\d/.test(stderr);
}

/** Value of the header `Authorization` for requests to the remote; `null` where it does not get the token. */
export function authorizationOf({ address, token, tokenHost }: RemoteAccess): string | null {
  return token !== undefined && takesToken(address, tokenHost) ? `Basic ${basic(token)}` : null;
}

function tokenSettings(access: RemoteAccess): Setting[] {
  const authorization = authorizationOf(access);
  if (authorization === null || access.address.kind !== 'http') return [];
  return [[`http.${access.address.origin}/.extraHeader`, `Authorization: ${authorization}`]];
}

function basic(token: string): string {
  return Buffer.from(`x-access-token:${token}`).toString('base64');
}

function isForbidden(stderr: string): boolean {
  return /returned error: 403|marked as read only|Permission to .{1,200} denied/.test(stderr);
}

/** Returns the failure of a remote with its remedy. No message contains the token or credentials of an address. */
function failureOf(answer: RemoteAnswer, access: RemoteAccess): NeedsHuman {
  const { url, kind } = access.address;
  if (answer.silent)
    return new NeedsHuman(
      'remote_unavailable',
      `${url} did not answer ${access.limitMs === undefined ? 'for minutes' : `within ${Math.round(access.limitMs / 1_000)} seconds`}; is the network up? Retry when it answers`,
    );
  const { stderr } = answer;
  const said = saidByGit(stderr, access);
  if (isStorageFull(stderr.replace(/^remote:.*$/gm, '')))
    return new NeedsHuman('storage_full', 'The disk with the project mirrors is full. Free some space, then retry');
  if (/could not read (?:Username|Password)|Authentication failed|returned error: 40[13]|Access denied/i.test(stderr))
    return new NeedsHuman('auth_expired', `${url} ${whyNoAccess(access, /returned error: 403/.test(stderr))}`);
  if (kind === 'ssh' && /Permission denied|Host key verification failed/i.test(stderr)) {
    return new NeedsHuman(
      'auth_expired',
      `${url} cannot be used over ssh (${said}); give the server a key that it accepts and a known host, then retry`,
    );
  }
  return new NeedsHuman('remote_unavailable', unavailable(stderr, said, access.address));
}

/** Rest of a sentence whose subject is the remote. */
function whyNoAccess(access: RemoteAccess, isForbidden: boolean): string {
  const { tokenVariable, tokenHost } = access;
  if (tokenSettings(access).length > 0)
    return isForbidden
      ? `answers the token with 403 Forbidden; it may lack rights on this repository: set a ${tokenVariable} that may read and write it, then retry`
      : `does not accept the token; it may have expired or not cover this repository: set a valid ${tokenVariable}, then retry`;
  const way = takesToken(access.address, tokenHost)
    ? `set ${tokenVariable}`
    : `the token of ${tokenVariable} is for ${tokenHost} alone, so let it be used without a sign-in, or make a project of its ssh address`;
  return isForbidden
    ? `answers 403 Forbidden, and the server has no token for it: if it needs one, ${way}, then retry`
    : `asks for a sign-in and the server has no token for it: ${way}, then retry`;
}

function unavailable(stderr: string, said: string, address: RemoteAddress): string {
  const { url } = address;
  if (address.kind === 'local' && !existsSync(url.startsWith('file:') ? fileURLToPath(url) : url))
    return `The folder ${url} is not there: put it back, then retry`;
  if (/dubious ownership/i.test(stderr))
    return `${url} belongs to another user of this machine; run the server as its owner, or change its owner`;
  if (
    /does not appear to be a git repository|repository .{1,200} not found|returned error: 404|Repository not found/i.test(
      stderr,
    )
  ) {
    return address.kind === 'local'
      ? `${url} is not a git repository: give the folder that holds .git, or run "git init" and make a first commit there`
      : `There is no git repository at ${url}, or the server's token does not cover it; check the address and the token`;
  }
  if (hasMoved(stderr)) return `${url} has moved (${said}); use its new address`;
  return `${url} cannot be reached (${said}); retry when it answers`;
}

/** @param byHand the end of the message where a person with other rights can do it */
function rejection(
  access: RemoteAccess,
  branch: string,
  { reason, stderr }: { readonly reason: string | null; readonly stderr: string },
  byHand = '',
): NeedsHuman {
  const { url } = access.address;
  if (/archived so it is read-only/i.test(stderr)) {
    return new PushForbidden(`The repository ${url} is archived and takes no push. Unarchive it there, then retry`);
  }
  if (reason === null) {
    return new PushForbidden(
      `The token may read ${url} and not write to it: give ${access.tokenVariable} write access to its contents, then retry${byHand}`,
    );
  }
  // A hook can say anything.
  const said = reason.includes('hook declined') ? '' : stderr;
  const [lock] = locksIn(said);
  if (lock !== undefined) {
    return new NeedsHuman(
      'push_rejected',
      `${url} is locked, so that ${branch} was not pushed: a git that was killed there has left ${scrub(lock, access)}, or one still works. Remove that file if none does, then retry`,
    );
  }
  if (isStorageFull(said)) {
    return new NeedsHuman(
      'push_rejected',
      `The disk of ${url} is full, so that ${branch} was not pushed. Free some space there, then retry`,
    );
  }
  if (/unable to create temporary object directory/.test(stderr)) {
    return new PushForbidden(
      `${url} cannot be written, so that ${branch} was not pushed: its disk is read-only, or it belongs to another user. Make it writable there, then retry; or start a run on a copy of it (git clone --bare)`,
    );
  }
  if (reason.includes('currently checked out')) {
    return new PushForbidden(
      `The branch ${branch} is checked out in ${url}, and git pushes to no branch that is checked out. Make a bare repository the project's remote (git clone --bare), or turn autoMerge off and merge the run's branch there yourself`,
    );
  }
  return new PushForbidden(
    `${url} refuses a push to ${branch}: ${scrub(reason, access)} (${saidByGit(stderr, access)}). Allow it there, then retry${byHand}`,
  );
}

/** The lines of git's and the remote's words that say something, without progress, short enough for a message. */
function saidByGit(stderr: string, access: RemoteAccess): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .filter((line) => /^(?:fatal|error|remote): ?\S/.test(line) && !/\d% \(|failed to push some refs/.test(line))
    .map((line) => line.replace(/^(?:fatal|error|remote): */, '').trim());
  return scrub([...new Set(lines)].join('; ') || 'git gave no reason', access).slice(0, 500);
}

function scrub(text: string, { token }: RemoteAccess): string {
  const secrets = token === undefined ? [] : [token, basic(token)];
  return withoutCredentials(secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text));
}

/**
 * Whether a project folder on this machine has changes or new files that are in no commit. The folder's own git settings
 * could run programs, so git looks at it through an empty repository with a copy of its index.
 * @returns false also where it cannot be told
 */
export async function hasUncommittedChanges(folder: string, headCommit: string, home: string): Promise<boolean> {
  const theirs = join(folder, '.git');
  const isPlainClone = await lstat(theirs).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isPlainClone) return false;
  return withScratch({ home }, async (scratch) => {
    const gitDir = join(scratch, 'git');
    const index = join(scratch, 'index');
    await mkdir(join(gitDir, 'refs'), { recursive: true });
    await mkdir(join(gitDir, 'objects'));
    await writeFile(join(gitDir, 'HEAD'), `${headCommit}\n`);
    await copyFile(join(theirs, 'index'), index);
    const answer = await runGit(
      { gitDir, home },
      {
        args: ['status', '--porcelain', '--untracked-files=normal', '--ignore-submodules=all'],
        indexFile: index,
        workTree: folder,
        env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(theirs, 'objects') },
        config: [['core.excludesFile', join(theirs, 'info', 'exclude')]],
        maxOutputBytes: 1,
        timeoutMs: 10_000,
      },
    );
    return answer.stdout.length > 0;
  }).catch(() => false);
}

/** The same failure for a caller who names a remote, rather than for a run that needs it. */
export function asUnprocessable(error: unknown): unknown {
  return error instanceof NeedsHuman
    ? new Unprocessable(error.message, { cause: error, extra: { reason: error.reason } })
    : error;
}
