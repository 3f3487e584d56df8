/** Branches of finished runs are removed, and what people look at of these runs is still there. */
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { runCli } from '../src/cli/program.ts';
import { BranchCleaner } from '../src/engine/branch-cleaner.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { createGitRepository } from '../src/repository/git-repository.ts';
import { aServer, type Fixture, startServer } from './orchestrator.fixture.ts';

const SIXTY_DAYS_MS = 60 * 24 * 60 * 60_000;

/** What the cleaner does two months from now, while no server runs. */
async function cleanLater({ dataFolder, project }: Fixture): Promise<readonly string[]> {
  const store = openSqliteEventStore({ file: path.join(dataFolder, 'orchestrator.db'), writer: 'inline' });
  try {
    const cleaner = new BranchCleaner({
      store,
      repository: createGitRepository({
        folder: path.join(dataFolder, 'mirrors'),
        author: { name: 'Autonomous', email: 'autonomous@example.test' },
      }),
      clock: { now: () => new Date(Date.now() + SIXTY_DAYS_MS) },
      afterDays: 30,
    });
    const cleaned = await cleaner.clean(project, {});
    return cleaned.removed.map(({ branch }) => branch);
  } finally {
    await store.close();
  }
}

async function cli({ orchestrator, dataFolder, folder }: Fixture, ...args: readonly string[]) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const env = {
    AUTONOMOUS_SERVER: orchestrator.server.url,
    AUTONOMOUS_TOKEN: orchestrator.token,
    AUTONOMOUS_DATA: dataFolder,
  };
  const code = await runCli(args, {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env,
    cwd: folder,
    program: 'autonomous',
  });
  return { code, out: String(stdout.read() ?? ''), err: String(stderr.read() ?? '') };
}

it('a finished run loses its branch after its time, and nothing else', async () => {
  const server = await aServer();
  const run = await server.launch('Add the feature', { trustMode: { planning: 'auto', implementation: 'auto' } });
  const done = await server.until(run, { status: 'completed' });
  const diff = await server.client.getDiff(run.id);
  const { kept } = await server.client.cleanBranches(server.project.id, { dryRun: true });
  expect(kept).toEqual([{ branch: done.branch, runId: run.id, reason: 'the run ended not long ago' }]);
  const said = await cli(server, 'clean', server.remote, '--dry-run');
  expect(said).toEqual({ code: 0, err: '', out: `stays: ${done.branch}, because the run ended not long ago\n` });
  expect((await cli(server, 'clean', '/nowhere/at/all')).code).toBe(64);
  await expect(server.client.cleanBranches('none', {})).rejects.toThrow("There is no project 'none'");
  await expect(server.client.cleanBranches(server.project.id, { afterDays: 0 })).rejects.toMatchObject({ status: 400 });
  await server.close();

  expect(await cleanLater(server)).toEqual([done.branch]);
  expect(await server.git('branch', '--list', '--format=%(refname:short)')).toBe('autonomous/record\nmain\n');

  const again = await startServer(server.folder);
  try {
    expect(await again.client.getDiff(run.id)).toEqual(diff);
    const planned = (await again.client.listEvents(run.id, 0, 1_000)).find(({ type }) => type === 'STAGE_COMPLETED');
    const fork = await again.client.forkRun(run.id, { at: planned?.sequence ?? 0 });
    await expect.poll(async () => (await again.client.getRun(fork.id)).status, { timeout: 60_000 }).toBe('completed');
  } finally {
    await again.stop();
  }
});
