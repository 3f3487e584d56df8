/** Examines the forge for `doctor`: whether the server can sign in, and what it may do with a repository there. */
import { WEBHOOK_PATH } from '@autonomous/shared/api';
import { openForge } from '../../composition/forge.ts';
import type { ServerConfig } from '../../config.ts';
import type { Forge, ForgeWebhook, RepositoryName } from '../../forges/forge.ts';
import { WEBHOOK_EVENTS } from '../../server/webhooks.ts';
import type { Check } from './doctor-check.ts';

/** A person waits for the answer. */
export const FORGE_TIMEOUT_MS = 5_000;
const NAME = 'GitHub';

/** The server's forge, with the repository of the default project where the configuration names one. */
export async function checkForge({ github }: ServerConfig): Promise<readonly Check[]> {
  const { forge } = await openForge(github, { learn: () => {}, timeoutMs: FORGE_TIMEOUT_MS });
  if (forge !== null) return checksOfForge(forge, github.repository, github);
  const detail = 'neither GITHUB_TOKEN, GITHUB_TOKEN_FILE nor GITHUB_APP_ID is set';
  const way = 'set one to push to https://github.com; ssh addresses and local repositories need none';
  return [{ name: NAME, status: 'optional', detail, way }];
}

/** @param name repository whose permissions are looked at; `null`: the credentials alone */
export async function checksOfForge(
  forge: Forge,
  name: RepositoryName | null,
  { webhookSecret }: Pick<ServerConfig['github'], 'webhookSecret'>,
): Promise<readonly Check[]> {
  const { account, expiresAt, repository, webhooks, findings } = await forge.examine(name);
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
    ...(webhookSecret === null || repository === null
      ? []
      : checksOfWebhooks(`${repository.owner}/${repository.name}`, webhooks)),
  ];
}

/** @param webhooks `null` where they cannot be listed */
function checksOfWebhooks(place: string, webhooks: readonly ForgeWebhook[] | null): readonly Check[] {
  const name = 'webhook';
  if (webhooks === null)
    return [
      {
        name,
        status: 'ok',
        detail: `not looked at: the server's account may not list the webhooks of ${place} (admin:repo_hook)`,
      },
    ];
  const ours = webhooks.filter(({ url, isActive }) => isActive && url.endsWith(WEBHOOK_PATH));
  if (ours.length === 0) {
    const detail = `GITHUB_WEBHOOK_SECRET is set, and no active webhook of ${place} points to an address that ends in ${WEBHOOK_PATH}`;
    const way = 'add one with the same secret (docs/github.md), unless the organization or the App has it';
    return [{ name, status: 'optional', detail, way }];
  }
  return ours.flatMap((webhook): readonly Check[] => {
    const faults = faultsOf(webhook);
    if (faults.length === 0) return [{ name, status: 'ok', detail: `${place} tells ${webhook.url}` }];
    return faults.map(({ text, way }): Check => ({
      name,
      status: 'optional',
      detail: `the webhook of ${place} to ${webhook.url} ${text}`,
      way,
    }));
  });
}

function faultsOf({
  events,
  isJson,
  lastFailure,
}: ForgeWebhook): readonly { readonly text: string; readonly way: string }[] {
  const missing = events.includes('*') ? [] : [...WEBHOOK_EVENTS].filter((event) => !events.includes(event));
  return [
    ...(missing.length === 0
      ? []
      : [{ text: `lacks the events ${missing.join(', ')}`, way: 'select them for the webhook at GitHub' }]),
    ...(isJson
      ? []
      : [{ text: 'sends forms', way: 'choose the content type application/json for the webhook at GitHub' }]),
    ...(lastFailure === null
      ? []
      : [
          {
            text: `failed at its last delivery: ${lastFailure}`,
            way:
              lastFailure === '401'
                ? 'give it the secret that GITHUB_WEBHOOK_SECRET has here'
                : 'look at its recent deliveries at GitHub, and at whether GitHub reaches the server there',
          },
        ]),
  ];
}
