/** Folders on a disk that cannot be written, as a real mount: the server's data folder, and a project. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import { aScript, FILES, makeRemote, startServer } from '../fixtures/orchestrator.fixture.ts';

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'read-only-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a folder a disk of its own that cannot be written any more. */
function makeReadOnly(context: TestContext, folder: string): void {
  const { status, stderr } = spawnSync('mount', ['--bind', folder, folder], { encoding: 'utf8' });
  if (status !== 0) context.skip(`this machine lets nobody mount a folder: ${stderr.trim()}`);
  onTestFinished(() => void spawnSync('umount', ['--lazy', folder]));
  execFileSync('mount', ['-o', 'remount,bind,ro', folder]);
}

it('a data folder on a read-only disk keeps the server from starting, with its name and the variable', async (context) => {
  const folder = await aFolder();
  await (await startServer(folder)).stop();
  const data = path.join(folder, 'data');
  makeReadOnly(context, data);
  await expect(startServer(folder)).rejects.toThrow(
    `The data folder ${data} cannot be made or written (EROFS: read-only file system, access '${data}'). Name a folder that this user may write with AUTONOMOUS_DATA.`,
  );
  const below = path.join(data, 'below');
  await expect(startServer(folder, { env: { AUTONOMOUS_DATA: below } })).rejects.toThrow(
    `The data folder ${below} cannot be made or written (EROFS`,
  );
});

it('a project on a read-only disk is refused before it is added, with its folder and the ways on', async (context) => {
  const folder = await aFolder();
  const disk = path.join(folder, 'disk');
  const remote = path.join(disk, 'remote.git');
  await mkdir(disk);
  await makeRemote(remote, FILES);
  const server = await startServer(folder, { script: aScript() });
  onTestFinished(() => server.stop());
  const known = await server.client.createProject({ name: 'known', repository: remote });
  makeReadOnly(context, disk);
  const words = `${remote} is on a read-only disk (EROFS), and runs push their branches there. Make it writable, or give a copy as the project: git clone --bare ${remote} COPY`;
  await expect(server.client.createProject({ name: 'notes', repository: remote })).rejects.toMatchObject({
    status: 422,
    message: words,
  });
  expect((await server.client.listProjects()).items.map(({ id }) => id)).toEqual([known.id]);

  // One that became so after it was added stops its run at the first push.
  const paused = Promise.withResolvers<RunView>();
  server.orchestrator.engine.subscribe((message) => {
    if ('view' in message && message.view.gate !== null) paused.resolve(message.view);
  });
  const config = { trustMode: { planning: 'auto' as const } };
  await server.client.launchRun({ projectId: known.id, request: 'Add the feature', config });
  const run = await paused.promise;
  expect(run.gate).toMatchObject({ reason: 'push_rejected', decisions: ['retry'] });
  expect(run.gate?.summary).toMatch(
    /^.*\/remote\.git cannot be written, so that autonomous\/\S+ was not pushed: its disk is read-only, or it belongs to another user\. Make it writable there, then retry; or start a run on a copy/,
  );
});
