/** A real disk without room: a small tmpfs with the data folder in it, a server process, and an end without a word. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type RunView, shownAt } from '@autonomous/shared';
import { type ApiError, type Client, createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import { aScript, FILES, makeRemote } from '../fixtures/orchestrator.fixture.ts';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

/** A file system of 24 MB of its own; gone with the test. */
async function smallDisk(context: TestContext): Promise<string> {
  const disk = await mkdtemp(path.join(tmpdir(), 'small-disk-'));
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk], { encoding: 'utf8' });
  if (status !== 0) {
    await rm(disk, { recursive: true });
    context.skip(`this machine lets nobody mount a small disk: ${stderr.trim()}`);
  }
  onTestFinished(async () => {
    spawnSync('umount', ['--lazy', disk]);
    await rm(disk, { recursive: true, force: true });
  });
  return disk;
}

/** Takes all the room that there is. */
async function fill(disk: string): Promise<void> {
  const file = await open(path.join(disk, 'filler'), 'w');
  try {
    for (let bytes = 1 << 20; bytes >= 1;) {
      const written = await file.write(Buffer.alloc(bytes, 1)).then(
        (result) => result.bytesWritten,
        () => 0,
      );
      if (written < bytes) bytes = Math.floor(bytes / 2);
    }
  } finally {
    await file.close();
  }
}

const until = async (client: Client, runId: string, isThere: (view: RunView) => boolean): Promise<void> => {
  let view: RunView | undefined;
  await expect
    .poll(async () => isThere((view = await client.getRun(runId))), { timeout: 120_000 })
    .toBe(true)
    .catch((error: unknown) => {
      throw new Error(`run ${runId} is ${view?.status} at ${JSON.stringify(view?.gate)}`, { cause: error });
    });
};

it(
  'is refused with 507, is not ready, starts for reading after a kill, and its runs go on when there is room',
  { timeout: 300_000 },
  async (context) => {
    const disk = await smallDisk(context);
    const folder = await mkdtemp(path.join(tmpdir(), 'full-disk-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const remote = path.join(folder, 'remote.git');
    await makeRemote(remote, FILES);
    const script = path.join(folder, 'script.yaml');
    await writeFile(script, aScript());
    const start = (): Promise<ServerProcess> =>
      startServerProcess({
        dataFolder: path.join(disk, 'data'),
        port: '0',
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: folder,
          AUTONOMOUS_SCRIPT: script,
          RESUME_PROBE_SECONDS: '1',
          TMPDIR: folder,
        },
      });
    const clientOf = ({ url, token }: ServerProcess): Client => createClient({ baseUrl: url, token });
    let server = await start();
    onTestFinished(async () => void (await server.end('SIGKILL')));
    let client = clientOf(server);
    const project = await client.createProject({ name: 'notes', repository: remote });
    const launch = () => client.launchRun({ projectId: project.id, request: 'Add the feature' });
    const [waiting, cancelled] = [await launch(), await launch()];
    await until(client, waiting.id, ({ gate }) => gate?.kind === 'plan');
    await until(client, cancelled.id, ({ gate }) => gate?.kind === 'plan');

    await fill(disk);
    const upload = client.upload('notes.txt', new Uint8Array(200_000).fill(1));
    await expect(upload).rejects.toMatchObject({ problem: { status: 507, code: 'storage_full' } });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    expect((await client.readiness()).checks.find(({ name }) => name === 'storage')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('full'),
    });

    await server.end('SIGKILL');
    server = await start();
    client = clientOf(server);
    expect((await client.listRuns({})).items.map(({ id }) => id)).toContain(waiting.id);
    expect((await client.getRun(waiting.id)).gate?.kind).toBe('plan');
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    // Where the log has a page left, it is cancelled.
    const end = await client.cancelRun(cancelled.id).then(
      (view) => view.status,
      (error: unknown) => (error as ApiError).status,
    );
    expect(['cancelled', 507]).toContain(end);
    const { gate } = await client.getRun(waiting.id);
    const approved = { decision: 'approve' as const, ...(gate && shownAt(gate)) };
    const approval = await client.decideOpenGate(waiting.id, approved).then(
      () => 'taken',
      (error: unknown) => (error as ApiError).status,
    );
    expect(['taken', 507]).toContain(approval);

    await rm(path.join(disk, 'filler'));
    await expect.poll(async () => (await client.readiness()).ready).toBe(true);
    if (approval === 507) await client.decideOpenGate(waiting.id, approved);
    // Sandboxes keep a reserve that is larger than this disk.
    await until(client, waiting.id, ({ gate }) => gate?.reason === 'storage_full');
    execFileSync('mount', ['-o', 'remount,size=900m', disk]);
    await until(client, waiting.id, ({ evidence }) => evidence.length > 0);
    const events = await client.listEvents(waiting.id, 0, 1_000);
    expect(events.filter(({ type }) => type === 'RETRY_REQUESTED').map(({ payload }) => payload)).toEqual(
      expect.arrayContaining([expect.objectContaining({ by: 'server' })]),
    );
  },
);
