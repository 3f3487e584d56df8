/** The forge port over GitHub's REST and GraphQL API, for github.com and Enterprise servers. */
import { NeedsHuman } from '@autonomous/shared';
import type { Forge, ForgeRepository, RepositoryName } from '../forge.ts';
import { repositoryAt } from './github-address.ts';
import { readChecks } from './github-checks.ts';
import { Caller, connect, type Connection, type GitHubOptions } from './github-client.ts';
import {
  putComment,
  readDiscussion,
  readIssues,
  readPermission,
  replyToThread,
  resolveThread,
} from './github-discussion.ts';
import { examine, readAccount } from './github-examination.ts';
import {
  findPullRequest,
  mergePullRequest,
  openPullRequest,
  readFacts,
  readPullRequest,
  updatePullRequest,
} from './github-pull-requests.ts';

/** A forge over GitHub; nothing is sent before its first call. */
export function createGitHubForge(options: GitHubOptions): Forge {
  const connection = connect(options);
  return {
    host: connection.host,
    repositoryAt: (address) => repositoryAt(address, connection.host),
    repository: (name, signal) => repositoryOf(connection, name, new Caller(connection, name, signal)),
    gitPassword: () => gitPassword(connection),
    examine: (name, signal) => examine(connection, new Caller(connection, name, signal), name, Date.now()),
  };
}

function repositoryOf({ credentials }: Connection, name: RepositoryName, caller: Caller): ForgeRepository {
  return {
    facts: () => readFacts(caller, name),
    findPullRequest: (head, base) => findPullRequest(caller, name, head, base),
    openPullRequest: (request) => openPullRequest(caller, name, request),
    updatePullRequest: (number, changes) => updatePullRequest(caller, name, number, changes),
    pullRequest: (number) => readPullRequest(caller, name, number),
    merge: (request) => mergePullRequest(caller, name, request),
    discussion: (number, since, from) => readDiscussion(caller, name, number, since, from),
    replyToThread: (threadId, reply) => replyToThread(caller, threadId, reply),
    resolveThread: (threadId) => resolveThread(caller, threadId),
    checks: (commit) => readChecks(caller, name, commit),
    putComment: (number, comment) =>
      putComment(caller, name, number, comment, async () => (await readAccount(caller, credentials.kind)).login),
    issuesWithLabel: (label, since) => readIssues(caller, name, label, since),
    permissionOf: (login) => readPermission(caller, name, login),
  };
}

async function gitPassword(connection: Connection): Promise<string> {
  const auth = await new Caller(connection, null, undefined).do('sign in for git', () =>
    connection.client.auth({ type: 'installation' }),
  );
  // Octokit does not know which strategy it was given; both of ours return a token.
  const { token } = auth as { readonly token?: unknown };
  if (typeof token === 'string') return token;
  throw new NeedsHuman(
    'auth_expired',
    `GitHub (${connection.host}) gives the server no token for git. Check its credentials.`,
  );
}
