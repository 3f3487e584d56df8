/**
 * Finds the commits that a tree names as submodules, and fetches each into a mirror of its own. `.gitmodules` comes with the
 * project and may be hostile. On this machine, only the project's own repository and the clones of submodules in it are read.
 * Elsewhere, the public network and the project's own host are; the token goes to repositories of the project's owner alone.
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { InvalidRequest, NeedsHuman } from '@autonomous/shared';
import { type GitPlace, runGit, splitNul } from '../git/git.ts';
import type { GitMirrors } from '../git/git-mirrors.ts';
import { missingCommits } from '../git/git-refs.ts';
import { fetchBranches, fetchCommit } from '../git/git-remote.ts';
import { SUBMODULE_MODE, type TreeEntry } from '../git/git-trees.ts';
import type { KnownTrees } from '../git/known-trees.ts';
import { isPrivateHost, parseRemoteAddress, type RemoteAddress, withoutCredentials } from '../remote-url.ts';
import type { LeftOut } from '../repository.ts';
import { pathFault } from '../repository-paths.ts';

/** A submodule whose commit is in a mirror. */
export interface Submodule {
  /** Path in the project, those of outer submodules included. */
  readonly path: string;
  readonly place: GitPlace;
  readonly tree: string;
  readonly entries: readonly TreeEntry[];
}

const MAX_DEPTH = 3;
const MAX_SUBMODULES = 100;
const FETCH_LIMIT_MS = 5 * 60_000;
/** A remote that failed is asked again after this time: each checkout needs its submodules. */
const FAILURE_KEPT_MS = 5 * 60_000;

interface Outer {
  readonly place: GitPlace;
  readonly tree: string;
  readonly entries: readonly TreeEntry[];
  readonly address: RemoteAddress;
  /** Host and owner whose repositories are fetched with the token; `null` where none are. */
  readonly owner: string | null;
  /** Path of the outer submodule with a slash; empty for the project. */
  readonly prefix: string;
  readonly depth: number;
}

export class Submodules {
  readonly #mirrors: GitMirrors;
  readonly #trees: KnownTrees;
  readonly #failed = new Map<string, { readonly until: number; readonly reason: string }>();

  constructor(mirrors: GitMirrors, trees: KnownTrees) {
    this.#mirrors = mirrors;
    this.#trees = trees;
  }

  /** Fetches what is missing. @returns outer ones before those in them, and those that cannot be had with the reason */
  async open(
    repository: string,
    place: GitPlace,
    tree: string,
    entries: readonly TreeEntry[],
  ): Promise<{ readonly found: readonly Submodule[]; readonly leftOut: readonly LeftOut[] }> {
    const found: Submodule[] = [];
    const leftOut: LeftOut[] = [];
    const root = parseRemoteAddress(repository);
    const outer: Outer[] = [{ place, tree, entries, address: root, owner: ownerOf(root), prefix: '', depth: 1 }];
    for (let next: Outer | undefined = outer.shift(); next !== undefined; next = outer.shift()) {
      const links = next.entries.filter(({ mode }) => mode === SUBMODULE_MODE);
      const configured = links.length === 0 ? new Map<string, Configured>() : await readGitmodules(next);
      for (const { path: inner, oid } of links) {
        const path = `${next.prefix}${inner}`;
        try {
          const { depth } = next;
          if (depth > MAX_DEPTH) throw new Unusable(`submodules are nested more than ${MAX_DEPTH} deep`);
          if (found.length >= MAX_SUBMODULES)
            throw new Unusable(`the project has more than ${MAX_SUBMODULES} submodules`);
          const address = await addressOf(configured.get(inner), next.address);
          const owner = ownerOf(address) === next.owner ? next.owner : null;
          const sub = await this.#fetched({ address, takesToken: owner !== null }, oid);
          found.push({ path, ...sub });
          outer.push({ ...sub, address, owner, prefix: `${path}/`, depth: depth + 1 });
        } catch (error) {
          if (!(error instanceof Unusable)) throw error;
          leftOut.push({ path, kind: 'submodule', reason: error.message });
        }
      }
    }
    return { found, leftOut };
  }

  async #fetched(source: Source, commit: string): Promise<Omit<Submodule, 'path'>> {
    const { url } = source.address;
    // Commits that were fetched with the token are not given to projects without it.
    const key = source.takesToken || source.address.kind !== 'http' ? url : `${url} without token`;
    const id = `submodule-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
    const place = await this.#mirrors.of({ id, repository: url, baseBranch: 'main' });
    await this.#mirrors.turns.take(`fetch ${id}`, () => this.#fetch(place, source, commit));
    const tree = await this.#trees.treeOf(place, commit);
    return { place, tree, entries: await this.#trees.entries(place, tree) };
  }

  async #fetch(place: GitPlace, { address, takesToken }: Source, commit: string): Promise<void> {
    if ((await missingCommits(place, [commit])).size === 0) return;
    const key = `${place.gitDir} ${commit}`;
    const failed = this.#failed.get(key);
    if (failed !== undefined && failed.until > Date.now()) throw new Unusable(failed.reason);
    const { token, ...others } = await this.#mirrors.accessTo(address, { limitMs: FETCH_LIMIT_MS });
    const access = { ...others, token: takesToken ? token : undefined };
    try {
      await fetchBranches(place, access);
      if ((await missingCommits(place, [commit])).size > 0) await fetchCommit(place, access, commit);
    } catch (cause) {
      if (!(cause instanceof NeedsHuman) || cause.reason === 'storage_full') throw cause;
      const isWithheld = cause.reason === 'auth_expired' && token !== undefined && !takesToken;
      const why = isWithheld
        ? `${address.url} asks for a sign-in, and the token is used only for repositories of the project's own host and owner`
        : cause.message;
      const reason = `commit ${commit.slice(0, 12)} cannot be fetched: ${why}`;
      this.#failed.set(key, { until: Date.now() + FAILURE_KEPT_MS, reason });
      throw new Unusable(reason, { cause });
    }
  }
}

interface Source {
  readonly address: RemoteAddress;
  readonly takesToken: boolean;
}

/**
 * Host and owner of a repository; `null` where the address names none. A repository at the top of a host has an empty owner.
 * Servers read encoded paths in different ways, so that these name none either.
 */
function ownerOf(address: RemoteAddress): string | null {
  if (address.kind !== 'http') return null;
  const { pathname } = new URL(address.url);
  if (pathname.includes('%')) return null;
  const segments = pathname.split('/').filter((part) => part !== '');
  return `${address.origin}/${segments.length > 1 ? (segments[0] ?? '').toLowerCase() : ''}`;
}

/** Why a submodule is left out. */
class Unusable extends Error {}

interface Configured {
  readonly name: string;
  readonly url: string;
}

/** Entries of `.gitmodules`, by path. */
async function readGitmodules({ place, tree }: Outer): Promise<Map<string, Configured>> {
  const { exitCode, stdout } = await runGit(place, {
    args: ['config', '--blob', `${tree}:.gitmodules`, '-z', '--get-regexp', String.raw`^submodule\..*\.(path|url)$`],
    accept: [0, 1, 128],
    maxOutputBytes: 1024 * 1024,
  });
  if (exitCode !== 0) return new Map();
  const byName = new Map<string, { path?: string; url?: string }>();
  for (const setting of splitNul(stdout).map((part) => part.toString('utf8'))) {
    // `submodule.<name>.<key>`, a newline, the value.
    const end = setting.indexOf('\n');
    const name = setting.slice('submodule.'.length, setting.lastIndexOf('.', end));
    const key = setting.slice(setting.lastIndexOf('.', end) + 1, end);
    byName.set(name, { ...byName.get(name), [key]: setting.slice(end + 1) });
  }
  return new Map(
    [...byName].flatMap(([name, { path, url }]) =>
      path === undefined || url === undefined ? [] : [[path, { name, url }] as const],
    ),
  );
}

/** Where a submodule is fetched from. @throws {Unusable} */
async function addressOf(configured: Configured | undefined, outer: RemoteAddress): Promise<RemoteAddress> {
  if (configured === undefined) throw new Unusable('.gitmodules does not name its address');
  const { name, url } = configured;
  if (outer.kind === 'local') {
    // A person's own clone has it already.
    for (const own of [join(outer.path, '.git', 'modules', name), join(outer.path, 'modules', name)]) {
      const isThere = pathFault(name) === null && (await stat(join(own, 'HEAD')).catch(() => null))?.isFile() === true;
      if (isThere) return parseRemoteAddress(own);
    }
  }
  const isRelative = /^\.\.?\//.test(url);
  const address = parsed(isRelative ? resolved(url, outer) : url);
  const fault = isRelative ? null : faultOf(address, outer);
  if (fault !== null) throw new Unusable(`its address ${withoutCredentials(url).slice(0, 200)} is not used: ${fault}`);
  return address;
}

function parsed(url: string): RemoteAddress {
  try {
    return parseRemoteAddress(url);
  } catch (cause) {
    if (!(cause instanceof InvalidRequest)) throw cause;
    throw new Unusable(`its address is not used: ${cause.message}`, { cause });
  }
}

/** A path relative to the outer repository, which may not leave the host, nor on this machine the repository itself. */
function resolved(url: string, outer: RemoteAddress): string {
  if (outer.kind === 'local') {
    if (posix.join(outer.path, url, '.') === outer.path) return outer.path;
    throw new Unusable(
      `its address ${url.slice(0, 200)} is not used: it leads out of the project's own repository on this machine; run git submodule update --init there, and its clone in .git/modules is used`,
    );
  }
  const start = /^(?:[a-z]+:\/\/[^/]+|[^/:]+:)/i.exec(outer.url)?.[0] ?? '';
  const path = outer.url.slice(start.length);
  const wanted = posix.join('/', path, url);
  const ups = posix
    .normalize(url)
    .split('/')
    .filter((part) => part === '..').length;
  const depth = path.split('/').filter((part) => part !== '').length;
  if (ups > depth)
    throw new Unusable(`its address ${url.slice(0, 200)} is not used: it leads out of where the project lies`);
  return `${start}${path.startsWith('/') ? wanted : wanted.slice(1)}`;
}

/** Why an absolute address is not used. */
function faultOf(address: RemoteAddress, outer: RemoteAddress): string | null {
  if (address.kind === 'local') return 'a submodule is not read from a folder of this machine';
  if (address.kind === 'ssh') {
    const isSameHost = outer.kind === 'ssh' && sshHost(outer.url) === sshHost(address.url);
    return isSameHost ? null : "over ssh only the project's own host is used";
  }
  const isSameHost = outer.kind === 'http' && outer.origin === address.origin;
  const isAllowed = isSameHost || (address.secure && !isPrivateHost(address.host));
  return isAllowed ? null : 'only https, and no host of a private network';
}

function sshHost(url: string): string {
  return /^(?:ssh:\/\/)?([^/:]+(?::\d+(?=\/))?)/.exec(url)?.[1] ?? url;
}
