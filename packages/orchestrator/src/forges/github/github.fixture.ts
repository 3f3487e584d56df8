/** A GitHub of tests with one repository, the server's forge there, and some people. */
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import type { Forge, ForgeRepository, RepositoryName } from '../forge.ts';
import { type Branch, pushBranch } from '../forge.contract.ts';
import { createGitHubForge } from './github.ts';
import type { GitHubOptions } from './github-client.ts';
import { type GitHubServer, startGitHubServer } from './github-server.fixture.ts';
import type { RepositoryOptions, StandInRepository } from './github-server-state.fixture.ts';

export const SERVER_TOKEN = 'ghp_server0123456789';
export const SHOP: RepositoryName = { owner: 'acme', name: 'shop' };
/** Tokens of people: who owns the repository, who may write, who may only read. */
export const PEOPLE = { acme: 'ghp_acme0123456789', anna: 'ghp_anna0123456789', otto: 'ghp_otto0123456789' } as const;

export interface GitHubGround {
  readonly server: GitHubServer;
  readonly shop: StandInRepository;
  readonly forge: Forge;
  readonly repository: ForgeRepository;
  /** Another forge of the same server. */
  connect(options?: Partial<GitHubOptions>): Forge;
  push(files: Readonly<Record<string, string>>, options?: Parameters<typeof pushBranch>[2]): Promise<Branch>;
  /** A new branch with a pull request by the server. */
  open(files?: Readonly<Record<string, string>>): Promise<{ readonly number: number; readonly branch: Branch }>;
  /** @param path after the one of the repository */
  as(person: keyof typeof PEOPLE, method: string, path: string, body?: object): Promise<unknown>;
  close(): Promise<void>;
}

export async function openGitHubGround(options: RepositoryOptions = {}): Promise<GitHubGround> {
  const folder = temporaryFolder();
  const server = await startGitHubServer(folder.path);
  server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo'] });
  for (const [login, token] of Object.entries(PEOPLE)) server.tokens.set(token, { login });
  const shop = server.addRepository(SHOP.owner, SHOP.name, {
    ...options,
    collaborators: { 'octo-server': 'write', anna: 'write', ...options.collaborators },
  });
  const connect = (changes: Partial<GitHubOptions> = {}): Forge =>
    createGitHubForge({
      apiUrl: server.apiUrl,
      credentials: { kind: 'token', variable: 'GITHUB_TOKEN', token: () => SERVER_TOKEN },
      paceMs: 0,
      ...changes,
    });
  const forge = connect();
  const repository = forge.repository(SHOP);
  const push: GitHubGround['push'] = (files, branch) =>
    pushBranch({ forge, address: server.addressOf(shop) }, files, branch);
  let opened = 0;
  return {
    server,
    shop,
    forge,
    repository,
    connect,
    push,
    async open(files) {
      opened += 1;
      const branch = await push(files ?? { [`change-${opened}.txt`]: 'one\ntwo\n' });
      const request = { head: branch.name, base: 'main', title: `Change ${opened}`, body: 'Why.', isDraft: false };
      return { number: (await repository.openPullRequest(request)).pullRequest.number, branch };
    },
    async as(person, method, path, body) {
      const answer = await server.as(PEOPLE[person], `${method} /repos/${shop.fullName}${path}`, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async close() {
      await server.close();
      folder.remove();
    },
  };
}
