/**
 * Tests mistakes of people at every place where they can make them: each gives a clear error that names the thing and
 * the way out, has the right status code, and leaves nothing half-done. These tests may run as root, who can write to
 * every folder. "Not writable" is therefore a path at which no folder can be created: a file, below one, or in /sys.
 */
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NewExploration, NewRun, ProblemDetails } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readServerConfig } from '../../src/config.ts';
import { startCommand } from '../../src/server/start-command.ts';
import { workflows } from '../../src/workflows/index.ts';
import {
  aScript,
  FILES,
  git,
  makeRemote,
  projectConfig,
  type StartedServer,
  startServer,
  writeTree,
} from '../fixtures/orchestrator.fixture.ts';

const WORKFLOWS = workflows
  .map(({ name }) => `'${name}'`)
  .toSorted()
  .join(', ');

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bad-input-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What the server answered instead of doing it. */
async function problemOf(call: Promise<unknown>): Promise<ProblemDetails> {
  const error: unknown = await call.then(
    () => new Error('it was taken'),
    (refusal: unknown) => refusal,
  );
  if (error instanceof ApiError) return error.problem;
  throw error;
}

async function messageOf(start: () => unknown): Promise<string> {
  try {
    await start();
  } catch (error) {
    expect(error).toMatchObject({ code: expect.any(String), status: expect.any(Number) });
    return (error as Error).message;
  }
  throw new Error('it started');
}

describe('a request that cannot be taken', () => {
  let folder: string;
  let server: StartedServer;
  let remote: string;
  let projectId: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bad-input-'));
    remote = path.join(folder, 'remote.git');
    await makeRemote(remote, FILES);
    server = await startServer(folder, { env: { ALLOW_AUTO_STAGES: 'implementation', ALLOW_AUTO_MERGE: 'false' } });
    ({ id: projectId } = await server.client.createProject({ name: 'notes', repository: remote }));
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const launch = (run: Partial<NewRun>) =>
    problemOf(server.client.launchRun({ projectId, request: 'Add the feature', ...run }));
  const create = (repository: string, baseBranch?: string) =>
    problemOf(
      server.client.createProject({ name: 'other', repository, ...(baseBranch === undefined ? {} : { baseBranch }) }),
    );

  /** After every refusal: one project, no run, no branch but the base, no mirror of anything else. */
  const expectNothingMade = async (): Promise<void> => {
    expect((await server.client.listProjects()).items.map(({ id }) => id)).toEqual([projectId]);
    expect((await server.client.listRuns()).items).toEqual([]);
    expect(await server.client.listGates()).toEqual([]);
    expect((await git('--git-dir', remote, 'for-each-ref', '--format=%(refname)')).trim()).toBe('refs/heads/main');
    const below = (name: string) => readdir(path.join(server.dataFolder, name)).catch(() => []);
    expect(
      (await below('mirrors')).filter((name) => !['.home', '.scratch'].includes(name) && name !== `${projectId}.git`),
    ).toEqual([]);
    expect(await below('work')).toEqual([]);
    expect(await below('transcripts')).toEqual([]);
    const refs = await git(
      '--git-dir',
      path.join(server.dataFolder, 'mirrors', `${projectId}.git`),
      'for-each-ref',
      '--format=%(refname)',
    ).catch(() => '');
    expect(refs.trim()).toMatch(/^(?:refs\/remotes\/origin\/main)?$/);
    expect(server.logged).toEqual([]);
  };

  it('names unknown settings beside the faults of its form', async () => {
    const config = { trustMode: { planning: 'always', phases: 'auto' }, modelRouting: { planner: 'x:y', poet: 'x:y' } };
    const ofBuild = await launch({ config } as unknown as Partial<NewRun>); // a value that the type refuses
    expect(ofBuild).toMatchObject({ status: 400 });
    expect(ofBuild.faults?.map(({ path }) => path).toSorted()).toEqual([
      'config.modelRouting.poet',
      'config.trustMode.phases',
      'config.trustMode.planning',
    ]);
    const ofPlan = await launch({ workflow: 'phased-plan', config } as unknown as Partial<NewRun>);
    expect(ofPlan.detail).toContain("Workflow 'phased-plan' has no role 'planner'");
    expect(ofPlan.detail).toContain("Workflow 'phased-plan' has no trust mode 'phases'");
    const variant = { request: 'Add it', config };
    const exploration = { projectId, workflow: 'phased-plan', variants: [variant] } as unknown as NewExploration;
    expect((await problemOf(server.client.explore(exploration))).faults?.map(({ path }) => path)).toContain(
      'variants.0.config.modelRouting.planner',
    );
    await expectNothingMade();
  });

  it('launches no workflow that only runs of other workflows start', async () => {
    const message = `Workflow 'plan-phase' is started by runs of other workflows alone; launch one of ${WORKFLOWS}.`;
    const fault = { path: 'workflow', message };
    const refused = await launch({ workflow: 'plan-phase' });
    expect([refused.status, refused.faults?.[0]]).toEqual([400, fault]);
    const variants = [{ request: 'Add it' }];
    const exploration = { projectId, workflow: 'plan-phase', variants };
    expect((await problemOf(server.client.explore(exploration))).faults?.[0]).toEqual(fault);
    await expectNothingMade();
  });

  it('names the route of a signal that has one, so that nobody passes by what is asked there', async () => {
    const signal = { type: 'FIX_DECIDED', decision: 'accept' };
    const problem = await problemOf(server.client.sendSignal('abcdef-ghijkl', signal));
    expect(problem).toMatchObject({ status: 400, detail: expect.stringContaining('POST /api/gates/:id/decision') });
  });

  it('names the project that does not exist', async () => {
    const problem = await launch({ projectId: 'nothing' });
    expect(problem).toMatchObject({
      status: 404,
      code: 'not_found',
      detail: "There is no project 'nothing'. Create it with POST /api/projects.",
    });
    await expectNothingMade();
  });

  it.each([
    { what: 'empty', request: '   \n', fault: 'must not be empty' },
    { what: 'of 100 kB', request: 'x'.repeat(100_000), fault: 'must have at most 20,000 characters' },
  ])('says that the request is $what', async ({ request, fault }) => {
    const problem = await launch({ request });
    expect(problem).toMatchObject({
      status: 400,
      code: 'invalid_request',
      faults: [{ path: 'request', message: fault }],
    });
    await expectNothingMade();
  });

  it('says what to do with a plan of 5 MB', async () => {
    const input = { planPath: 'plan.md', plan: `## Phase 1\n${'x'.repeat(5_000_000)}` };
    expect(await launch({ workflow: 'phased-plan', input })).toMatchObject({
      status: 413,
      detail: expect.stringMatching(
        /^The request body has more than 1,048,576 bytes, the most that is taken\. Send less; a long text, such as a plan, can be committed/,
      ),
    });
    await expectNothingMade();
  });

  it('names the workflow that does not exist, and those that do', async () => {
    const problem = await launch({ workflow: 'biuld' });
    expect(problem).toMatchObject({
      status: 400,
      code: 'invalid_request',
      faults: [
        {
          path: 'workflow',
          message: expect.stringContaining(`no workflow 'biuld'; there are ${WORKFLOWS}`),
        },
      ],
    });
    await expectNothingMade();
  });

  it.each([
    { model: 'gpt-9-ultra-typo:x', says: 'names the unknown provider "gpt-9-ultra-typo"; known are anthropic' },
    { model: 'mystery', says: 'names no known provider; write provider:model' },
    { model: 'scripted:other', says: 'the script of this server is scripted:test' },
    {
      model: 'claude-sonnet-4-5',
      says: `there is no key for it. Give one in the setup of the dashboard, with "${startCommand().program} keys set anthropic"`,
    },
  ])('says why the model $model cannot be used', async ({ model, says }) => {
    const problem = await launch({ config: { modelRouting: { planner: model } } });
    expect(problem).toMatchObject({
      status: 400,
      code: 'invalid_request',
      faults: [{ path: 'config.modelRouting.planner', message: expect.stringContaining(says) }],
    });
    await expectNothingMade();
  });

  it('names all faults of a configuration at once', async () => {
    const problem = await launch({
      workflow: 'biuld',
      config: {
        trustMode: { planning: 'auto', fixes: 'auto' },
        git: { autoMerge: true, baseBranch: 'autonomous/x-y' },
        modelRouting: { validator: 'mystery' },
      },
    });
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(problem.faults?.map((fault) => fault.path)).toEqual([
      'workflow',
      'config.trustMode.planning',
      'config.trustMode.fixes',
      'config.git.autoMerge',
      'config.modelRouting.validator',
      'config.git.baseBranch',
    ]);
    for (const { message } of problem.faults ?? []) expect(problem.detail).toContain(message);

    const unknown = await launch({
      config: { trustMode: { planning: 'always' }, maxFixAttempts: -1, speed: 'high' } as never,
    });
    expect(unknown.faults?.map((fault) => fault.path)).toEqual(
      expect.arrayContaining(['config.trustMode.planning', 'config.maxFixAttempts']),
    );
    expect(unknown.detail).toContain('speed');
    await expectNothingMade();
  });

  it('checks all variants of an exploration before the first begins', async () => {
    const problem = await problemOf(
      server.client.explore({
        projectId,
        variants: [{ request: 'one' }, { request: 'two', config: { git: { baseBranch: 'nope' } } }],
      }),
    );
    expect(problem).toMatchObject({
      status: 422,
      code: 'unprocessable',
      detail: expect.stringContaining("has no branch 'nope'; it has main"),
    });
    await expectNothingMade();
  });

  it('checks the workflow of an exploration and the input of each variant', async () => {
    const plain = { request: 'one' };
    const problem = await problemOf(
      server.client.explore({ projectId, workflow: 'phased-plan', variants: [{ ...plain, input: { planPath: 1 } }] }),
    );
    expect(problem).toMatchObject({ status: 400, faults: [{ path: 'input.planPath' }] });
    const unknown = await problemOf(server.client.explore({ projectId, workflow: 'nope', variants: [plain] }));
    expect(unknown).toMatchObject({ status: 400, faults: [{ path: 'workflow' }] });
    await expectNothingMade();
  });

  it('names the base branch that does not exist, and those that do', async () => {
    const problem = await launch({ config: { git: { baseBranch: 'develop' } } });
    expect(problem).toMatchObject({
      status: 422,
      code: 'unprocessable',
      detail: `${remote} has no branch 'develop'; it has main`,
    });
    expect(await create(remote, 'develop')).toMatchObject({
      status: 422,
      detail: `${remote} has no branch 'develop'; it has main`,
    });
    expect(await create(remote, '-x')).toMatchObject({
      status: 400,
      code: 'invalid_request',
      detail: expect.stringContaining("'-x' is not a valid branch name"),
    });
    await expectNothingMade();
  });

  it('says that a repository has no commits, and how to make one', async () => {
    const empty = path.join(await temporaryFolder(), 'empty');
    await git('init', '--quiet', empty);
    expect(await create(empty)).toMatchObject({
      status: 422,
      code: 'unprocessable',
      detail: `${empty} has no commits yet; make a first commit there (git add -A && git commit), then try again`,
    });
    await expectNothingMade();
  });

  it('says what is wrong with an address that is no repository', async () => {
    const plain = await temporaryFolder();
    const file = path.join(plain, 'file');
    await writeFile(file, '');
    expect(await create(path.join(plain, 'gone'))).toMatchObject({
      status: 422,
      detail: expect.stringMatching(/There is no folder .*\/gone on the server's machine; give/),
    });
    expect(await create(file)).toMatchObject({
      status: 422,
      detail: `${file} is a file; give the folder of a git repository`,
    });
    expect(await create(plain)).toMatchObject({
      status: 422,
      detail: expect.stringContaining(`${plain} is not a git repository: give the folder`),
    });
    expect(await create('not an address')).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await create('https://me:secret-password@example.com/x.git')).toMatchObject({
      status: 400,
      detail: expect.not.stringContaining('secret-password'),
    });
    await expectNothingMade();
  });

  it('says that no server is at an address', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    closed.close();
    expect(await create(`http://127.0.0.1:${port}/x.git`)).toMatchObject({
      status: 422,
      code: 'unprocessable',
      detail: expect.stringContaining(`127.0.0.1:${port}`),
    });
    await expectNothingMade();
  });
});

it('a remote with changes that are in no commit is used, and the run says that it does not see them', async () => {
  const folder = await temporaryFolder();
  const working = path.join(folder, 'working');
  await git('init', '--quiet', '--initial-branch=main', working);
  await writeTree(working, {
    ...FILES,
    '.autonomous/config.json': projectConfig({ defaultRunConfig: { trustMode: { planning: 'manual' } } }),
  });
  await git('-C', working, 'add', '--all');
  await git('-C', working, 'commit', '--quiet', '-m', 'Start');
  await writeFile(path.join(working, 'app.sh'), 'echo changed\n');
  const server = await startServer(folder, { script: aScript() });
  onTestFinished(() => server.stop());
  const { id } = await server.client.createProject({ name: 'notes', repository: working });
  const gate = Promise.withResolvers<void>();
  server.orchestrator.engine.subscribe((message) => 'view' in message && message.view.gate && gate.resolve());
  const run = await server.client.launchRun({ projectId: id, request: 'Add the feature' });
  await gate.promise;
  const { notices } = await server.client.getRun(run.id);
  expect(notices).toEqual([
    `${working} has changes that are in no commit; runs start from the last commit of main and do not see them`,
  ]);
  expect(await readFile(path.join(working, 'app.sh'), 'utf8')).toBe('echo changed\n');
  expect((await git('-C', working, 'status', '--porcelain')).trim()).toBe('M app.sh');
});

describe('a server that cannot start', () => {
  it('names every fault of its variables at once', async () => {
    const message = await messageOf(() =>
      readServerConfig({
        ORCHESTRATOR_HOST: '0.0.0.0',
        ORCHESTRATOR_PORT: 'eighty',
        GITHUB_REPO_OWNER: 'me',
        DEFAULT_AUTO_MERGE: 'true',
        ALLOW_AUTO_MERGE: 'false',
        ANTHROPIC_API_KEY: 'two words',
        EXA_API_KEY: 'also two words',
        WEB_ALLOW: '*.example.com',
      }),
    );
    for (const words of [
      'ORCHESTRATOR_HOST is "0.0.0.0"',
      'ORCHESTRATOR_PORT is "eighty"; allowed is',
      'GITHUB_REPO_NAME is not',
      'DEFAULT_AUTO_MERGE is true and ALLOW_AUTO_MERGE is false',
      'ANTHROPIC_API_KEY',
      'EXA_API_KEY is set to something else (not shown here)',
      'WEB_ALLOW is "*.example.com"; allowed is hosts with commas between them: * for all public ones',
    ]) {
      expect(message).toContain(words);
    }
    expect(message).not.toContain('two words');
  });

  it('names line and path of what is wrong in a script', async () => {
    const folder = await temporaryFolder();
    const start = (script: string) => messageOf(() => startServer(folder, { script }));
    const malformed = await start(
      'name: demo\nroles:\n  planner:\n    - turns:\n        - says: hello\n  plannner: []\n',
    );
    expect(malformed).toContain('AUTONOMOUS_SCRIPT');
    expect(malformed).toMatch(
      /script\.yaml, line 5, roles\.planner\[0\]\.turns\[0\]\.says: unknown key "says"; known here: text, tools, delayMs/,
    );
    expect(malformed).toMatch(/line 6, .*plannner/);
    expect(await start('name: [\n')).toMatch(/script\.yaml, line \d/);
    const missing = await messageOf(() => readServerConfig({ AUTONOMOUS_SCRIPT: path.join(folder, 'gone.yaml') }));
    expect(missing).toContain(
      `AUTONOMOUS_SCRIPT names ${path.join(folder, 'gone.yaml')}, which cannot be read (ENOENT)`,
    );
    expect(await readdir(folder)).toEqual(['script.yaml']);
  });

  it('names the port that is in use; what it opened is free again', async () => {
    const folder = await temporaryFolder();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const message = await messageOf(() => startServer(folder, { env: { ORCHESTRATOR_PORT: String(port) } }));
    expect(message).toBe(
      `Port ${port} on 127.0.0.1 is in use; perhaps another server runs already. Set ORCHESTRATOR_PORT or pass --port with a free one.`,
    );
    const server = await startServer(folder);
    await server.stop();
  });

  it('names the other server that uses its database', async () => {
    const folder = await temporaryFolder();
    const server = await startServer(folder);
    onTestFinished(() => server.stop());
    const message = await messageOf(() => startServer(folder));
    expect(message).toBe(
      `Another server (pid ${process.pid}) is using the data folder ${server.dataFolder}. Stop it first, or name another folder with AUTONOMOUS_DATA. It answers at ${server.orchestrator.server.url}.`,
    );
    expect(await server.client.listProjects()).toMatchObject({ items: [] });
  });

  it.each(['file', 'file/data', '/sys/autonomous'])('names the data folder that it cannot make: %s', async (name) => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, 'file'), '');
    const data = path.resolve(folder, name);
    const message = await messageOf(() => startServer(folder, { env: { AUTONOMOUS_DATA: data } }));
    expect(message).toContain(`The data folder ${data} cannot be made or written`);
    expect(message).toContain('Name a folder that this user may write with AUTONOMOUS_DATA.');
    expect((await readdir(folder)).toSorted()).toEqual(['file', 'script.yaml']);
  });

  it('names a database that cannot be written, and the variable', async () => {
    const folder = await temporaryFolder();
    await mkdir(path.join(folder, 'database'));
    const message = await messageOf(() =>
      startServer(folder, { env: { DATABASE_URL: `sqlite:${path.join(folder, 'database')}` } }),
    );
    expect(message).toContain(`The database ${path.join(folder, 'database')} cannot be made or written`);
    expect(message).toContain('DATABASE_URL');
  });

  it('leaves a database with an unknown migration as it is', async () => {
    const folder = await temporaryFolder();
    await (await startServer(folder)).stop();
    const file = path.join(folder, 'data', 'orchestrator.db');
    const database = new Database(file);
    database.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('from the future', 99999999999999)");
    database.close();
    const before = await readFile(file);
    const message = await messageOf(() => startServer(folder));
    expect(message).toMatch(
      /orchestrator\.db has a migration that this program does not know\. Start the version that wrote it\. Otherwise restore a copy/,
    );
    expect((await readFile(file)).equals(before)).toBe(true);
  });
});
