/** Branches and records of finished runs are put away, and what people look at of these runs is still there. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { BranchCleaner } from '../../src/upkeep/branch-cleaner.ts';
import { RecordMover } from '../../src/record/record-mover.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/sqlite-event-store.ts';
import { createGitRepository } from '../../src/repository/git-repository.ts';
import { aServer, type Fixture, startServer } from '../fixtures/orchestrator.fixture.ts';
import { aClone, aFolder, approve, rebuiltBy, retry, startedOn, storedIn, until } from './rebuild.fixture.ts';

const SIXTY_DAYS_MS = 60 * 24 * 60 * 60_000;

interface Upkeep {
  /** Branches that were removed. */
  readonly removed: readonly string[];
  /** Number of runs whose records were moved. */
  readonly moved: number;
}

/** Carries out the upkeep of two months from now, while no server runs. */
async function keepUpLater({ dataFolder, project }: Fixture): Promise<Upkeep> {
  const store = openSqliteEventStore({ file: path.join(dataFolder, 'orchestrator.db'), writer: 'inline' });
  try {
    const repository = createGitRepository({
      folder: path.join(dataFolder, 'mirrors'),
      author: { name: 'Autonomous', email: 'autonomous@example.test' },
    });
    const clock = { now: () => new Date(Date.now() + SIXTY_DAYS_MS) };
    const parts = { store, repository, clock, afterDays: 30 };
    const { removed } = await new BranchCleaner(parts).clean(project, {});
    return { removed: removed.map(({ branch }) => branch), moved: await new RecordMover(parts).move(project) };
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

  expect(await keepUpLater(server)).toEqual({ removed: [done.branch], moved: 1 });
  const year = `autonomous/record-${done.updatedAt.slice(0, 4)}`;
  expect(await server.git('branch', '--list', '--format=%(refname:short)')).toBe(`autonomous/record\n${year}\nmain\n`);

  const again = await startServer(server.folder);
  try {
    expect(await again.client.getDiff(run.id)).toEqual(diff);
    const planned = (await again.client.listEvents(run.id, 0, 1_000)).find(({ type }) => type === 'STAGE_COMPLETED');
    const fork = await again.client.forkRun(run.id, { at: planned?.sequence ?? 0 });
    await expect.poll(async () => (await again.client.getRun(fork.id)).status).toBe('completed');
  } finally {
    await again.stop();
  }
});

it('a rebuild brings back the runs of the record and those of years', async () => {
  const server = await aServer();
  const done = await server.until(await server.launch(), { status: 'completed' });
  const open = await server.until(await server.launch('Plan it', { trustMode: { planning: 'manual' } }), {
    gate: 'plan',
  });
  await server.close();
  const before = await storedIn(server.dataFolder);
  expect((await keepUpLater(server)).moved).toBe(1);
  const clone = await aClone(server);
  await rm(server.dataFolder, { recursive: true });

  const folder = await aFolder(server);
  expect(await rebuiltBy(folder, ['--from', clone])).toMatchObject({ code: 0, err: '' });
  const after = await storedIn(path.join(folder, 'data'));
  expect(after[done.id]?.events.slice(0, -1)).toEqual(before[done.id]?.events);
  const again = await startedOn(folder);
  await retry(again, open.id);
  await approve(again, open.id);
  await until(again, open.id, ({ status }) => status === 'completed');
  await again.orchestrator.settled();
  expect((await again.client.listProjects({})).items.flatMap(({ notices }) => notices ?? [])).toEqual([]);
});
