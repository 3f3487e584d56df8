/** Examines the forge for `doctor`: whether the server can sign in, and what it may do with a repository there. */
import { openForge } from '../composition/forge.ts';
import type { ServerConfig } from '../config.ts';
import type { Forge, RepositoryName } from '../forges/forge.ts';
import type { Check } from './doctor-check.ts';

/** A person waits for the answer. */
export const FORGE_TIMEOUT_MS = 5_000;
const NAME = 'GitHub';

/** The server's forge, with the repository of the default project where the configuration names one. */
export async function checkForge({ github }: ServerConfig): Promise<readonly Check[]> {
  const { forge } = await openForge(github, { learn: () => {}, timeoutMs: FORGE_TIMEOUT_MS });
  if (forge !== null) return checksOfForge(forge, github.repository);
  const detail = 'neither GITHUB_TOKEN, GITHUB_TOKEN_FILE nor GITHUB_APP_ID is set';
  const way = 'set one to push to https://github.com; ssh addresses and local repositories need none';
  return [{ name: NAME, status: 'optional', detail, way }];
}

/** @param name repository whose permissions are looked at; `null`: the credentials alone */
export async function checksOfForge(forge: Forge, name: RepositoryName | null): Promise<readonly Check[]> {
  const { account, expiresAt, repository, findings } = await forge.examine(name);
  const place = repository === null ? '' : `, ${repository.owner}/${repository.name} can be read`;
  const end = expiresAt === null ? '' : `, until ${expiresAt}`;
  return [
    ...(account === null
      ? []
      : [{ name: NAME, status: 'ok' as const, detail: `signed in at ${forge.host} as ${account}${end}${place}` }]),
    ...findings.map(({ weight, text, way }): Check => ({
      name: NAME,
      status: weight === 'stops' ? 'missing' : 'optional',
      detail: text,
      way,
    })),
  ];
}
