/** The contract of the repository port over both ways that a remote is reached here: a path and smart HTTP with a token. */
import { join } from 'node:path';
import { openFixture } from './git-fixture.fixture.ts';
import { describeRepository } from './repository.contract.ts';
import { type SmartHttpServer, startSmartHttp } from './git/smart-http.fixture.ts';

describeRepository('a path', (root) => openFixture(root));

const servers: SmartHttpServer[] = [];
describeRepository(
  'smart HTTP',
  async (root) => {
    const server = await startSmartHttp({ root: join(root, 'remotes'), tokens: { 'a-token': 'write' } });
    servers.push(server);
    return openFixture(root, {
      address: () => `${server.url}/owner/shop.git`,
      repository: { token: 'a-token', tokenHost: server.host },
    });
  },
  async () => {
    await Promise.all(servers.map((server) => server.close()));
  },
);
