/** What the server's credentials allow at GitHub, without writing anything. */
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import {
  type ForgeExamination,
  type ForgeFinding,
  ForgeRefusal,
  type ForgeWebhook,
  type RepositoryFacts,
  type RepositoryName,
} from '../forge.ts';
import type { Caller, Connection } from './github-client.ts';
import { nameOfCredentials, renewalOf } from './github-credentials.ts';
import { isHttpError } from './github-failure.ts';
import { readFacts } from './github-pull-requests.ts';

/** The account, and what GitHub tells about the credentials themselves. */
interface Account {
  readonly login: string;
  readonly expiresAt: string | null;
  /** Scopes of a classic token; `null` for other credentials. */
  readonly scopes: readonly string[] | null;
  /** Permissions of an installation by name, `read` or `write`; `null` for tokens. */
  readonly permissions: Readonly<Record<string, string>> | null;
}

/** A token that ends within this time is reported. */
const SOON_MS = 7 * 24 * 60 * 60_000;

export async function examine(
  { credentials, host }: Connection,
  caller: Caller,
  name: RepositoryName | null,
  now: number,
): Promise<ForgeExamination> {
  const findings: ForgeFinding[] = [];
  let account: Account | null = null;
  let repository: RepositoryFacts | null = null;
  let webhooks: readonly ForgeWebhook[] | null = null;
  try {
    account = await readAccount(caller, credentials.kind);
    findings.push(...expiryFindings(account, nameOfCredentials(credentials), renewalOf(credentials), now));
    if (name !== null) {
      repository = await readFacts(caller, name);
      findings.push(
        ...repositoryFindings(repository),
        ...(await permissionFindings(caller, repository, account, nameOfCredentials(credentials), host)),
      );
      webhooks = await readWebhooks(caller, repository);
    }
    findings.push(...excessFindings(account, nameOfCredentials(credentials)));
  } catch (error) {
    if (!(error instanceof NeedsHuman) && !(error instanceof RetryableFailure)) throw error;
    findings.push({ weight: error instanceof NeedsHuman ? 'stops' : 'warns', ...partsOf(error.message) });
  }
  return { account: account?.login ?? null, expiresAt: account?.expiresAt ?? null, repository, webhooks, findings };
}

/** The last sentence of our messages is the way out. */
function partsOf(message: string): { readonly text: string; readonly way: string } {
  const start = message.lastIndexOf('. ', message.length - 2);
  return start < 0
    ? { text: message, way: 'try again' }
    : { text: message.slice(0, start), way: message.slice(start + 2) };
}

export async function readAccount(caller: Caller, kind: 'token' | 'app'): Promise<Account> {
  return kind === 'app' ? readApp(caller) : readUser(caller);
}

async function readUser(caller: Caller): Promise<Account> {
  return caller.do('sign in', async () => {
    const { data, headers } = await caller.client.rest.users.getAuthenticated(caller.settings);
    const { 'x-oauth-scopes': scopes, 'github-authentication-token-expiration': expiration } = headers;
    const words = typeof scopes === 'string' ? scopes.split(',').map((each) => each.trim()) : null;
    return {
      login: data.login,
      expiresAt: isoOf(expiration),
      scopes: words?.filter((each) => each !== '') ?? null,
      permissions: null,
    };
  });
}

/** GitHub writes `2026-12-31 10:00:00 UTC`, or a difference to UTC at the end. */
function isoOf(expiration: unknown): string | null {
  const at = typeof expiration === 'string' ? Date.parse(expiration) : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

async function readApp(caller: Caller): Promise<Account> {
  return caller.do('sign in as a GitHub App', async () => {
    const { data: app } = await caller.client.rest.apps.getAuthenticated(caller.settings);
    // Signs in as the installation, which may be suspended.
    const auth = await caller.client.auth({ type: 'installation' });
    const { permissions } = auth as { readonly permissions?: Readonly<Record<string, string>> }; // of Octokit's App strategy
    return { login: `${app?.slug ?? 'app'}[bot]`, expiresAt: null, scopes: null, permissions: permissions ?? {} };
  });
}

function expiryFindings({ expiresAt }: Account, who: string, way: string, now: number): readonly ForgeFinding[] {
  if (expiresAt === null || Date.parse(expiresAt) - now > SOON_MS) return [];
  return [{ weight: 'warns', text: `${who} expires at ${expiresAt}`, way }];
}

/** Scopes of a classic token that the server uses, those for a look at webhooks included, and harmless ones. */
const USED_SCOPES: ReadonlySet<string> = new Set([
  'repo',
  'public_repo',
  'repo:status',
  'admin:repo_hook',
  'write:repo_hook',
  'read:repo_hook',
  'read:org',
  'read:user',
  'user:email',
]);

function excessFindings({ scopes }: Account, who: string): readonly ForgeFinding[] {
  const unused = (scopes ?? []).filter((each) => !USED_SCOPES.has(each));
  if (unused.length === 0) return [];
  return [
    {
      weight: 'risks',
      text: `${who} has more scopes than the server needs: ${unused.join(', ')}`,
      way: "take a fine-grained token for the projects' repositories alone, or a classic one with the scope repo (public_repo for public repositories)",
    },
  ];
}

function repositoryFindings(facts: RepositoryFacts): readonly ForgeFinding[] {
  const place = `${facts.owner}/${facts.name}`;
  return [
    ...(facts.renamedFrom === null
      ? []
      : [
          {
            weight: 'warns' as const,
            text: `${facts.renamedFrom} is ${place} now`,
            way: `give the project the address ${facts.url}.git`,
          },
        ]),
    ...(facts.isArchived
      ? [
          {
            weight: 'stops' as const,
            text: `${place} is archived and cannot be changed`,
            way: 'unarchive it at GitHub, or give the project another repository',
          },
        ]
      : []),
  ];
}

/** Only who administers a repository may list its webhooks; to all others GitHub says that there is no such page. */
async function readWebhooks(caller: Caller, { owner, name }: RepositoryFacts): Promise<ForgeWebhook[] | null> {
  try {
    return await caller.do(`list the webhooks of ${owner}/${name}`, async () => {
      const asked = { owner, repo: name, per_page: 100, ...caller.settings };
      const { data } = await caller.client.rest.repos.listWebhooks(asked);
      return data.map(({ active, events, config, last_response: last }) => ({
        url: plainAddress(config.url ?? ''),
        isActive: active,
        isJson: config.content_type === 'json',
        events,
        lastFailure: lastFailureOf(last.code, last.status),
      }));
    });
  } catch (error) {
    if (error instanceof ForgeRefusal) return null;
    throw error;
  }
}

/** Query and user name may hold a secret of somebody. */
function plainAddress(address: string): string {
  const url = URL.parse(address);
  return url === null ? '' : `${url.origin}${url.pathname}`;
}

function lastFailureOf(code: number | null, status: string | null): string | null {
  if (code !== null) return code >= 200 && code < 300 ? null : String(code);
  return status === null || status === 'unused' || status === 'active' ? null : status;
}

interface Wanted {
  /** Name of the permission as GitHub shows it. */
  readonly permission: string;
  readonly level: 'read' | 'write';
  readonly for: string;
  readonly weight: ForgeFinding['weight'];
}

const WANTED = {
  contents: { permission: 'contents', level: 'write', for: 'pushing branches', weight: 'stops' },
  pulls: { permission: 'pull_requests', level: 'write', for: 'opening pull requests', weight: 'stops' },
  issues: { permission: 'issues', level: 'write', for: 'status comments and labelled issues', weight: 'warns' },
  checks: { permission: 'checks', level: 'read', for: 'reading check runs', weight: 'warns' },
  statuses: { permission: 'statuses', level: 'read', for: 'reading commit statuses', weight: 'warns' },
} as const satisfies Readonly<Record<string, Wanted>>;

async function permissionFindings(
  caller: Caller,
  facts: RepositoryFacts,
  { scopes, permissions }: Account,
  who: string,
  host: string,
): Promise<readonly ForgeFinding[]> {
  const missing =
    permissions !== null
      ? Object.values(WANTED).filter((each) => !covers(permissions[each.permission], each.level))
      : scopes !== null
        ? missingByScope(scopes, facts)
        : await missingByTrial(caller, facts);
  return missing.map((each) => ({
    weight: each.weight,
    text: `${who} lacks ${each.permission}=${each.level} in ${facts.owner}/${facts.name}, for ${each.for}`,
    way: `give it this permission at ${host}${scopes === null ? '' : ': a classic token needs the scope repo, or public_repo for a public repository'}`,
  }));
}

function covers(given: string | undefined, level: 'read' | 'write'): boolean {
  return given === 'write' || given === 'admin' || given === level;
}

function missingByScope(scopes: readonly string[], { isPrivate, mayWrite }: RepositoryFacts): readonly Wanted[] {
  const isCovered = scopes.includes('repo') || (!isPrivate && scopes.includes('public_repo'));
  return isCovered && mayWrite ? [] : [WANTED.contents, WANTED.pulls, WANTED.issues];
}

/**
 * GitHub tells nobody what a fine-grained token may do, but checks the permission before the content: writes without a title or name
 * are refused in either case, with 403 where the permission is missing and 422 where it is there.
 */
async function missingByTrial(caller: Caller, facts: RepositoryFacts): Promise<readonly Wanted[]> {
  const place = `/repos/${facts.owner}/${facts.name}`;
  const trials: readonly (readonly [Wanted, string, object?])[] = [
    [WANTED.contents, `POST ${place}/git/refs`, { ref: '' }],
    [WANTED.pulls, `POST ${place}/pulls`, { title: '' }],
    [WANTED.issues, `POST ${place}/issues`, { title: '' }],
    [WANTED.checks, `GET ${place}/commits/${encodeURIComponent(facts.defaultBranch)}/check-runs`],
    [WANTED.statuses, `GET ${place}/commits/${encodeURIComponent(facts.defaultBranch)}/status`],
  ];
  const missing: Wanted[] = [];
  for (const [wanted, route, body] of trials) {
    const isRefused = await caller.do(`try the permission ${wanted.permission}`, async () => {
      try {
        await caller.client.request(route, { ...body, ...caller.once });
        return false;
      } catch (error) {
        // Issues may be turned off (410), and a repository without commits has no checks (404, 409).
        if (isHttpError(error) && [400, 404, 409, 410, 422].includes(error.status)) return false;
        const explained = caller.explain(error, `try the permission ${wanted.permission}`);
        if (explained instanceof ForgeRefusal && explained.refusal === 'forbidden') return true;
        throw error;
      }
    });
    if (isRefused) missing.push(wanted);
  }
  return missing;
}
