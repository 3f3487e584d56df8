/** The forge that the configuration names, and the password that git uses there. */
import { NeedsHuman, type Project } from '@autonomous/shared';
import type { ServerConfig } from '../config.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Forge, RepositoryName } from '../forges/forge.ts';
import { hostOfApi } from '../forges/github/github-address.ts';
import { type GitHubCredentials, tokenInFile } from '../forges/github/github-credentials.ts';
import { identifiedForge, type KnownRepositories, markOfRepository } from '../forges/repository-identity.ts';
import type { MirrorOptions } from '../repository/git/git-mirrors.ts';

export interface ForgeAccess {
  /** `null` where the server has no credentials for one. */
  readonly forge: Forge | null;
  /** For repositories over git. */
  readonly git: Pick<MirrorOptions, 'token' | 'tokenHost' | 'tokenVariable' | 'newAddressOf' | 'assertSame'>;
}

export interface ForgeOptions {
  /** Called with secrets that were read while the server runs. */
  readonly learn: (secrets: readonly string[]) => void;
  /** Time for a request to the forge; default: the adapter's. */
  readonly timeoutMs?: number;
  /** Keeps the ids of the projects' repositories. Absent: a repository is what has its name. */
  readonly marks?: Pick<EventStore, 'getMark' | 'setMark'>;
}

/** Nothing is sent. The adapter is loaded only where there are credentials. */
export async function openForge(
  { signIn, apiUrl }: ServerConfig['github'],
  { learn, timeoutMs, marks }: ForgeOptions,
): Promise<ForgeAccess> {
  const tokenHost = hostOfApi(apiUrl);
  if (signIn === null) return { forge: null, git: { tokenHost } };
  const credentials = credentialsOf(signIn, learn);
  const { createGitHubForge } = await import('../forges/github/github.ts');
  const named = createGitHubForge({
    apiUrl,
    credentials,
    // Pauses between writes keep GitHub's limits, which a server on this machine does not have.
    ...(/^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/.test(new URL(apiUrl).host) ? { paceMs: 0 } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const forge = marks === undefined ? named : identifiedForge(named, knownIn(marks));
  const newAddressOf = (address: string): Promise<string | null> => newAddressAt(forge, address);
  let awaySince = -Infinity;
  const assertSame = async ({ id, repository }: Pick<Project, 'id' | 'repository'>): Promise<void> => {
    if (performance.now() - awaySince < AWAY_FOR_MS) return;
    if (!(await isSameAt(forge, id, repository))) awaySince = performance.now();
  };
  if (credentials.kind === 'token' && signIn.kind === 'token')
    return { forge, git: { token: signIn.token, tokenHost, newAddressOf, assertSame } };
  const token = async (): Promise<string> => {
    const password = await forge.gitPassword();
    learn([password]);
    return password;
  };
  const tokenVariable = credentials.kind === 'token' ? credentials.variable : 'GITHUB_APP_PRIVATE_KEY';
  return { forge, git: { token, tokenHost, tokenVariable, newAddressOf, assertSame } };
}

function knownIn(marks: NonNullable<ForgeOptions['marks']>): KnownRepositories {
  return {
    read: (projectId) => marks.getMark(markOfRepository(projectId)),
    keep: (projectId, id) => marks.setMark(markOfRepository(projectId), id),
  };
}

/** Time for which git does not ask a forge that did not answer, which would hold up each of its calls. */
const AWAY_FOR_MS = 60_000;

/**
 * A forge that does not answer says nothing: git is asked all the same.
 * @returns false where it did not answer
 * @throws {NeedsHuman} `repository_replaced`
 */
async function isSameAt(forge: Forge, projectId: string, address: string): Promise<boolean> {
  const name = forge.repositoryAt(address);
  if (name === null) return true;
  try {
    await forge.repository(name, undefined, projectId).facts();
    return true;
  } catch (error) {
    if (error instanceof NeedsHuman && error.reason === 'repository_replaced') throw error;
    return false;
  }
}

/** Git address of a repository that was renamed or transferred; `null` where it is at this one, at no forge or not to be seen. */
async function newAddressAt(forge: Forge, address: string): Promise<string | null> {
  const name = forge.repositoryAt(address);
  if (name === null) return null;
  const facts = await forge
    .repository(name)
    .facts()
    .catch(() => null);
  if (facts === null || facts.renamedFrom === null) return null;
  const moved = `${facts.url}.git`;
  return forge.repositoryAt(moved) === null ? null : moved;
}

function credentialsOf(
  signIn: NonNullable<ServerConfig['github']['signIn']>,
  learn: ForgeOptions['learn'],
): GitHubCredentials {
  switch (signIn.kind) {
    case 'token':
      return { kind: 'token', variable: 'GITHUB_TOKEN', token: () => signIn.token };
    case 'tokenFile':
      return tokenInFile(signIn.file, 'GITHUB_TOKEN_FILE', (token) => learn([token]));
    case 'app':
      return signIn;
    default:
      return signIn satisfies never;
  }
}

const PROJECTS_AT_ONCE = 200;

/** Projects whose repositories lie at the server's forge, oldest first. */
export async function projectsAtForge(
  store: Pick<EventStore, 'listProjects'>,
  forge: Pick<Forge, 'repositoryAt'> | null,
): Promise<readonly { readonly project: Project; readonly name: RepositoryName }[]> {
  if (forge === null) return [];
  const found: { readonly project: Project; readonly name: RepositoryName }[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listProjects(cursor, PROJECTS_AT_ONCE);
    for (const project of page.items) {
      const name = forge.repositoryAt(project.repository);
      if (name !== null) found.push({ project, name });
    }
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found.toReversed();
}
