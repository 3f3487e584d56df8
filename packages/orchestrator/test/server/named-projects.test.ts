/** Launches that name a project which is not stored yet, several at once and refused ones: at most one project is left. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { FILES, makeRemote, startServer, type StartedServer } from '../fixtures/orchestrator.fixture.ts';

let server: StartedServer;
let remote: string;
let database: Database.Database;

beforeEach(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'named-projects-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  remote = path.join(folder, 'remote.git');
  await makeRemote(remote, FILES);
  server = await startServer(folder);
  onTestFinished(() => server.stop());
  database = new Database(path.join(server.dataFolder, 'orchestrator.db'));
  onTestFinished(() => void database.close());
});

const launch = (name = 'notes') =>
  server.client.launchRun({ project: { name, repository: remote }, request: 'Add the feature' });

/** Ids of the projects, and of those that have a mirror. */
async function left() {
  const names = await readdir(path.join(server.dataFolder, 'mirrors'));
  const projects = (await server.client.listProjects()).items.map(({ id }) => id);
  return { projects, mirrors: names.flatMap((name) => (name.endsWith('.git') ? [path.basename(name, '.git')] : [])) };
}

it('launches that come at the same time share one project', async () => {
  const views = await Promise.all(Array.from({ length: 6 }, () => launch()));
  const { projects, mirrors } = await left();
  expect(projects).toHaveLength(1);
  expect(mirrors).toEqual(projects);
  expect(new Set(views.map(({ projectId }) => projectId))).toEqual(new Set(projects));
  expect(new Set(views.map(({ id }) => id)).size).toBe(6);
});

it('requests that add a project at the same time get the same one', async () => {
  const wanted = { name: 'notes', repository: remote };
  const ids = await Promise.all(Array.from({ length: 6 }, () => server.client.createProject(wanted)));
  expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
});

it('a launch that cannot be stored leaves no project; the next one adds it', async () => {
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON workflow_runs BEGIN SELECT RAISE(ABORT, 'refused'); END");
  await Promise.all(Array.from({ length: 3 }, () => expect(launch()).rejects.toMatchObject({ name: 'ApiError' })));
  expect(await left()).toEqual({ projects: [], mirrors: [] });
  database.exec('DROP TRIGGER refuse');
  const { projectId } = await launch();
  expect(await left()).toEqual({ projects: [projectId], mirrors: [projectId] });
});
