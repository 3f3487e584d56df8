/**
 * Finds the commits that a tree names as submodules, and fetches each into a mirror of its own. `.gitmodules` comes with the
 * project and may be hostile: an address is taken only where it reaches nothing that the project's own address does not.
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { InvalidRequest, NeedsHuman } from '@autonomous/shared';
import { type GitPlace, runGit, splitNul } from './git.ts';
import type { GitMirrors } from './git-mirrors.ts';
import { missingCommits } from './git-refs.ts';
import { fetchBranches, fetchCommit } from './git-remote.ts';
import { SUBMODULE_MODE, type TreeEntry } from './git-trees.ts';
import type { KnownTrees } from './known-trees.ts';
import { isPrivateHost, parseRemoteAddress, type RemoteAddress, withoutCredentials } from './remote-url.ts';
import type { LeftOut } from './repository.ts';
import { pathFault } from './repository-paths.ts';

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
    const outer = [{ place, tree, entries, address: parseRemoteAddress(repository), prefix: '', depth: 1 }];
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
          const sub = await this.#fetched(address, oid);
          found.push({ path, ...sub });
          outer.push({ ...sub, address, prefix: `${path}/`, depth: depth + 1 });
        } catch (error) {
          if (!(error instanceof Unusable)) throw error;
          leftOut.push({ path, kind: 'submodule', reason: error.message });
        }
      }
    }
    return { found, leftOut };
  }

  async #fetched(address: RemoteAddress, commit: string): Promise<Omit<Submodule, 'path'>> {
    const id = `submodule-${createHash('sha256').update(address.url).digest('hex').slice(0, 32)}`;
    const project = { id, repository: address.url, baseBranch: 'main' };
    const place = await this.#mirrors.of(project);
    await this.#mirrors.turns.take(`fetch ${id}`, () => this.#fetch(place, address, commit));
    const tree = await this.#trees.treeOf(place, commit);
    return { place, tree, entries: await this.#trees.entries(place, tree) };
  }

  async #fetch(place: GitPlace, address: RemoteAddress, commit: string): Promise<void> {
    if ((await missingCommits(place, [commit])).size === 0) return;
    const key = `${address.url} ${commit}`;
    const failed = this.#failed.get(key);
    if (failed !== undefined && failed.until > Date.now()) throw new Unusable(failed.reason);
    const access = this.#mirrors.accessTo(address, { limitMs: FETCH_LIMIT_MS });
    try {
      await fetchBranches(place, access);
      if ((await missingCommits(place, [commit])).size > 0) await fetchCommit(place, access, commit);
    } catch (cause) {
      if (!(cause instanceof NeedsHuman) || cause.reason === 'storage_full') throw cause;
      const reason = `commit ${commit.slice(0, 12)} cannot be fetched: ${cause.message}`;
      this.#failed.set(key, { until: Date.now() + FAILURE_KEPT_MS, reason });
      throw new Unusable(reason, { cause });
    }
  }
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

/** A path relative to the outer repository, which may not leave the host, nor on this machine the folder that it lies in. */
function resolved(url: string, outer: RemoteAddress): string {
  const start = outer.kind === 'local' ? '' : (/^(?:[a-z]+:\/\/[^/]+|[^/:]+:)/i.exec(outer.url)?.[0] ?? '');
  const path = outer.kind === 'local' ? outer.path : outer.url.slice(start.length);
  const wanted = posix.join('/', path, url);
  const ups = posix
    .normalize(url)
    .split('/')
    .filter((part) => part === '..').length;
  const depth = outer.kind === 'local' ? 1 : path.split('/').filter((part) => part !== '').length;
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
