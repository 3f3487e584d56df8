/**
 * The bare mirrors, one per project: where each lies, how it is made, and how its remote is reached. The remote's branches
 * are `refs/remotes/origin/*`, the server's own are `refs/heads/*`.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beyondGitBounds } from './git-bounds.ts';
import { type GitPlace, type Patience, runGit } from './git.ts';
import type { RemoteAccess } from './git-remote.ts';
import { parseRemoteAddress, type RemoteAddress, takesToken } from '../remote-url.ts';
import type { RemoteProject } from '../repository.ts';
import { assertProjectId } from '../repository-paths.ts';
import { SOURCE_AS_TEXT } from '../text-files.ts';
import { Turns } from '../turns.ts';

export interface MirrorOptions {
  /** Absolute folder in which the mirrors lie; made when it is absent. */
  readonly folder: string;
  /** Sent to http(s) remotes of `tokenHost` and to no other. A function is asked at each use, since it may give another one. */
  readonly token?: string | (() => Promise<string>);
  /** Variable of the token, for messages; default `GITHUB_TOKEN`. */
  readonly tokenVariable?: string;
  /** Host of the token, with its port where that is not the scheme's own; default `github.com`. */
  readonly tokenHost?: string;
  /** Address of a repository that has moved from this one; `null` where it is not known. Absent: none is known. */
  readonly newAddressOf?: (address: string) => Promise<string | null>;
  /** Called before each use of a project's remote; a rejection forbids it. Absent: what is at the address is the project's. */
  readonly assertSame?: (project: RemoteProject) => Promise<void>;
}

/** A mirror, and access to its remote. */
export interface MirrorOfRemote {
  readonly place: GitPlace;
  readonly access: RemoteAccess;
}

/** Files are written as they are stored: no line endings, no keywords, no filters, no encodings. Source code is text in diffs. */
const MIRROR_ATTRIBUTES = `* -text -ident -filter !eol !crlf !working-tree-encoding !diff !merge\n${SOURCE_AS_TEXT}`;

export class GitMirrors {
  /** Home folder of every git process: no configuration of the machine applies to it. */
  readonly home: string;
  /** Work that changes a mirror and must not overlap, by its kind and project. */
  readonly turns = new Turns();
  readonly #options: MirrorOptions;
  readonly #made = new Map<string, Promise<GitPlace>>();
  /** New addresses by the old ones. */
  readonly #moved = new Map<string, RemoteAddress>();

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.home = join(options.folder, '.home');
  }

  /** The project's mirror, made when it is absent; making it again changes nothing. */
  of(project: RemoteProject): Promise<GitPlace> {
    const gitDir = join(this.#options.folder, `${assertProjectId(project.id)}.git`);
    const known = this.#made.get(gitDir);
    if (known !== undefined) return known;
    const made = beyondGitBounds(() => makeMirror({ gitDir, home: this.home }));
    this.#made.set(gitDir, made);
    made.catch(() => this.#made.delete(gitDir));
    return made;
  }

  async remove(projectId: string): Promise<void> {
    const gitDir = join(this.#options.folder, `${assertProjectId(projectId)}.git`);
    this.#made.delete(gitDir);
    await rm(gitDir, { recursive: true, force: true, maxRetries: 3 });
  }

  /** @throws {NeedsHuman} `repository_replaced` where another repository is at the project's address */
  async withRemote(project: RemoteProject, signal?: AbortSignal): Promise<MirrorOfRemote> {
    await this.#options.assertSame?.(project);
    const access = await this.accessTo(parseRemoteAddress(project.repository), { signal });
    return { place: await this.of(project), access };
  }

  /** @throws {NeedsHuman} `auth_expired` where a token is needed and cannot be had */
  async accessTo(known: RemoteAddress, patience: Patience): Promise<RemoteAccess> {
    const address = this.#moved.get(known.url) ?? known;
    const { token, tokenHost = 'github.com', tokenVariable = 'GITHUB_TOKEN' } = this.#options;
    const password = typeof token === 'function' ? (takesToken(address, tokenHost) ? await token() : undefined) : token;
    const follow = (): Promise<RemoteAccess | null> => this.#follow(known, address, patience);
    return { address, token: password, tokenHost, tokenVariable, follow, ...patience };
  }

  /** @param known address of the project @param at address that has moved again */
  async #follow(known: RemoteAddress, at: RemoteAddress, patience: Patience): Promise<RemoteAccess | null> {
    const url = (await this.#options.newAddressOf?.(at.url)) ?? null;
    if (url === null || url === at.url) return null;
    this.#moved.set(known.url, parseRemoteAddress(url));
    return this.accessTo(known, patience);
  }
}

async function makeMirror(place: GitPlace): Promise<GitPlace> {
  await mkdir(place.home, { recursive: true });
  await mkdir(place.gitDir, { recursive: true });
  // On a full disk git cannot write the settings of a mirror that is there, and does not say why.
  if (!(await isInitialised(place))) await initBare(place);
  const attributes = join(place.gitDir, 'info', 'attributes');
  if ((await readFile(attributes, 'utf8').catch(() => null)) === MIRROR_ATTRIBUTES) return place;
  await mkdir(dirname(attributes), { recursive: true });
  await writeFile(attributes, MIRROR_ATTRIBUTES);
  return place;
}

/** Whether `git init` came to its end there: it may have been killed. */
async function isInitialised({ gitDir }: GitPlace): Promise<boolean> {
  if (!['HEAD', 'objects', 'refs'].every((name) => existsSync(join(gitDir, name)))) return false;
  const config = await readFile(join(gitDir, 'config'), 'utf8').catch(() => '');
  return config.split('\n').some((line) => line.trim() === 'bare = true');
}

/** Makes an empty bare repository; one that is there stays as it is. */
export async function initBare(place: GitPlace): Promise<void> {
  await runGit(place, { args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main'] });
}
