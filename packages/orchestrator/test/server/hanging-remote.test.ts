/** Waiting times of people when a project's remote accepts connections and never answers. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { aServer } from '../fixtures/orchestrator.fixture.ts';

it('a remote that never answers holds up neither a launch nor the making of a project', async () => {
  const server = await aServer();
  const remote = await startPlainHttp(server.remote);
  const { id: projectId } = await server.client.createProject({ name: 'far', repository: remote.url });
  const first = await server.client.launchRun({ projectId, request: 'First' });
  expect(first.branch).toContain(first.id);

  remote.isSilent = true;
  const launching = timed(server.client.launchRun({ projectId, request: 'Second' }));
  const making = timed(
    server.client.createProject({ name: 'far, too', repository: remote.url }).catch((error: unknown) => error),
  );
  const [launched, made] = await Promise.all([launching, making]);
  expect(launched.result.projectId).toBe(projectId);
  expect(launched.ms).toBeLessThan(12_000);
  expect(made.result).toMatchObject({
    status: 422,
    message: expect.stringContaining(`${remote.url} did not answer within 15 seconds`) as string,
  });
  expect(made.ms).toBeLessThan(25_000);
});

it('is launched at also where its first fetch takes longer than a launch waits for later ones', async () => {
  const server = await aServer();
  const remote = await startPlainHttp(server.remote);
  remote.objectsAfter = setTimeout(7_000);
  const project = { name: 'large', repository: remote.url };
  const launched = await Promise.all(
    ['First', 'Second'].map((request) => server.client.launchRun({ project, request })),
  );
  expect(launched.map(({ branch }) => branch)).toEqual([
    expect.stringContaining('first'),
    expect.stringContaining('second'),
  ]);
  const [projectId = '', other] = launched.map((run) => run.projectId);
  expect(other).toBe(projectId);
  expect(await server.client.getProject(projectId)).toMatchObject({ name: 'large' });
  // Both waited for one and the same fetch.
  expect(new Set(remote.objects).size).toBe(remote.objects.length);
});

async function timed<Result>(work: Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const before = performance.now();
  return { result: await work, ms: performance.now() - before };
}

/** A bare repository over HTTP as plain files, until it falls silent. */
async function startPlainHttp(gitDir: string) {
  execFileSync('git', ['update-server-info'], { cwd: gitDir });
  const server = createServer((request, response) => {
    if (remote.isSilent) return;
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = path.join(gitDir, path.normalize(pathname.replace(/^\/shop\.git/, '')));
    const isObject = /\/objects\/[0-9a-f]{2}\//.test(pathname);
    if (isObject) remote.objects.push(pathname);
    const whenReady = isObject ? remote.objectsAfter : Promise.resolve();
    whenReady
      .then(() => readFile(file))
      .then(
        (content) => response.end(content),
        () => response.writeHead(404).end(),
      );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`;
  const remote = { url, isSilent: false, objectsAfter: Promise.resolve<unknown>(undefined), objects: [] as string[] };
  return remote;
}
