/** Two windows start the local server at the same time: it is downloaded and started once, and both are connected to it. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { Editor } from '../harness/editor.ts';
import { startPackageRegistry } from '../../release/package-registry.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'two-windows',
  async play(stage) {
    const { tarball, version } = await stage.serverPackage();
    const registry = await startPackageRegistry([tarball]);
    stage.atEnd(() => registry.close());
    const one = await stage.openEditor({
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        npm_config_registry: registry.url,
        ORCHESTRATOR_PORT: String(await freePort()),
        LOG_LEVEL: 'warn',
      },
    });
    const { page } = await stage.openWindow();
    const other = await Editor.open(one.host, page);
    const both = [one, other];
    await Promise.all(
      both.map(async (editor) => {
        await editor.openViews();
        await editor.button('Start Local Server').first().waitFor();
      }),
    );
    await Promise.all(both.map((editor) => editor.button('Start Local Server').first().click()));
    await Promise.all(
      both.map((editor) => editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 120_000 })),
    );
    await stage.picture(page, 'connected');
    assert.equal(registry.requests.filter((place) => place.endsWith('.tgz')).length, 1);
    const storage = path.join(one.host.home, 'profile', 'User', 'globalStorage', 'autonomous.autonomous', 'server');
    assert.deepEqual(await readdir(storage), [version]);
    for (const editor of both) assert.equal(await editor.notification(/did not start|not installed/).count(), 0);
  },
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('A port has no number.');
  return address.port;
}
