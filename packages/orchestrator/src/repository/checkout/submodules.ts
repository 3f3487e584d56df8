/**
 * Finds the commits that a tree names as submodules, and fetches each into a mirror of its own. `.gitmodules` comes with the
 * project and may be hostile: `submodule-address.ts` says where it may lead. The token goes to repositories of the project's owner alone.
 */
import { createHash } from 'node:crypto';
import { NeedsHuman } from '@autonomous/shared';
import { type GitPlace, runGit, splitNul } from '../git/git.ts';
import type { GitMirrors } from '../git/git-mirrors.ts';
import { missingCommits } from '../git/git-refs.ts';
import { fetchBranches, fetchCommit } from '../git/git-remote.ts';
import { inSlices } from '../../foreign-text/foreign-text-slices.ts';
import { SUBMODULE_MODE, type TreeListing } from '../git/tree-listing.ts';
import type { KnownTrees } from '../git/known-trees.ts';
import { parseRemoteAddress, type RemoteAddress } from '../remote-url.ts';
import type { LeftOut } from '../repository.ts';
import { type Configured, submoduleAddress, Unusable } from './submodule-address.ts';

/** A submodule whose commit is in a mirror. */
export interface Submodule {
  /** Path in the project, those of outer submodules included. */
  readonly path: string;
  readonly place: GitPlace;
  readonly tree: string;
  readonly listing: TreeListing;
}

const MAX_DEPTH = 3;
const MAX_SUBMODULES = 100;
const FETCH_LIMIT_MS = 5 * 60_000;
/** A remote that failed is asked again after this time: each checkout needs its submodules. */
const FAILURE_KEPT_MS = 5 * 60_000;

interface Outer {
  readonly place: GitPlace;
  readonly tree: string;
  readonly listing: TreeListing;
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
    listing: TreeListing,
  ): Promise<{ readonly found: readonly Submodule[]; readonly leftOut: readonly LeftOut[] }> {
    const found: Submodule[] = [];
    const leftOut: LeftOut[] = [];
    const root = parseRemoteAddress(repository);
    const outer: Outer[] = [{ place, tree, listing, address: root, owner: ownerOf(root), prefix: '', depth: 1 }];
    for (let next: Outer | undefined = outer.shift(); next !== undefined; next = outer.shift()) {
      const links = await next.listing.withMode(SUBMODULE_MODE);
      const configured = links.length === 0 ? new Map<string, Configured>() : await readGitmodules(next);
      for await (const { path: inner, oid } of inSlices(links)) {
        const path = `${next.prefix}${inner}`;
        try {
          const { depth } = next;
          if (depth > MAX_DEPTH) throw new Unusable(`submodules are nested more than ${MAX_DEPTH} deep`);
          if (found.length >= MAX_SUBMODULES)
            throw new Unusable(`the project has more than ${MAX_SUBMODULES} submodules`);
          const address = await submoduleAddress(configured.get(inner), next.address);
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
    return { place, tree, listing: await this.#trees.listing(place, tree) };
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
