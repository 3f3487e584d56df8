/** The forge contract with GitHub's stand-in on this machine, and with GitHub itself where a token and a repository are given. */
import { expect } from 'vitest';
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import type { RepositoryName } from '../forge.ts';
import { describeForge, type ForgeGround } from '../forge.contract.ts';
import { createGitHubForge } from './github.ts';
import { GITHUB_API_URL, webOriginOfApi } from './github-address.ts';
import { startGitHubServer } from './github-server.fixture.ts';

const SERVER_TOKEN = 'ghp_server0123456789';
const PERSON_TOKEN = 'ghp_person0123456789';

describeForge('the GitHub of this machine', async () => {
  const folder = temporaryFolder();
  const server = await startGitHubServer(folder.path);
  server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo'] });
  server.tokens.set(PERSON_TOKEN, { login: 'anna' });
  const repository = server.addRepository('acme', 'shop', {
    isPrivate: true,
    collaborators: { 'octo-server': 'write', anna: 'write' },
  });
  const forge = createGitHubForge({
    apiUrl: server.apiUrl,
    credentials: { kind: 'token', variable: 'GITHUB_TOKEN', token: () => SERVER_TOKEN },
    paceMs: 0,
  });
  return {
    forge,
    name: { owner: 'acme', name: 'shop' },
    address: server.addressOf(repository),
    act: async (method, path, body) => {
      const { status, body: answer } = await server.as(PERSON_TOKEN, `${method} /repos/acme/shop${path}`, body);
      expect(status).toBeLessThan(300);
      return answer;
    },
    close: async () => {
      await server.close();
      folder.remove();
    },
  };
});

const {
  GITHUB_TOKEN: token = '',
  GITHUB_TEST_REPO: fullName = '',
  GITHUB_API_URL: apiUrl = GITHUB_API_URL,
} = process.env;
const [owner = '', name = ''] = fullName.split('/');
if (token !== '' && owner !== '' && name !== '') {
  describeForge('GitHub itself', () => groundAtGitHub({ owner, name }));
} else {
  process.stderr.write(
    'The forge contract does not run with GitHub itself: set GITHUB_TOKEN and GITHUB_TEST_REPO=owner/name.\n',
  );
}

/** One token alone: the person is the server's account. */
async function groundAtGitHub(repository: RepositoryName): Promise<ForgeGround> {
  const forge = createGitHubForge({
    apiUrl,
    credentials: { kind: 'token', variable: 'GITHUB_TOKEN', token: () => token },
  });
  const path = `/repos/${repository.owner}/${repository.name}`;
  return {
    forge,
    name: repository,
    address: `${webOriginOfApi(apiUrl)}/${repository.owner}/${repository.name}.git`,
    act: async (method, rest, body) => {
      const answer = await fetch(`${apiUrl}${path}${rest}`, {
        method,
        headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect(answer.status).toBeLessThan(300);
      return answer.json();
    },
  };
}
