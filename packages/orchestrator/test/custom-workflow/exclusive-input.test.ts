/** Launches at a real server whose input names work that another run is doing, and launches without a request. */
import type { NewRun } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { aScript, aServer, FILES, type Fixture } from '../fixtures/orchestrator.fixture.ts';

const TABLE = '| ID | Status |\n|---|---|\n| A-1 | blocked |\n| A-2 | queued |\n';
const PLAN = '# A plan\n\n## Phase 1: A bell\n\nAdd bell.sh.\n';

/** No agent answers: what is launched does not end. */
const aServerWithFiles = (): Promise<Fixture> =>
  aServer({
    files: { ...FILES, 'ai/backlog.md': TABLE, 'ai/other.md': TABLE, 'docs/plan.md': PLAN },
    script: aScript({}),
  });

const refusalOf = async (launch: Promise<unknown>): Promise<ApiError> => {
  const error = await launch.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('It was not refused.', { cause: error });
  return error;
};

it.each([
  ['backlog', 'file', 'ai/backlog.md', ' ai/backlog.md'],
  ['phased-plan', 'planPath', 'docs/plan.md', 'docs\\plan.md'],
])(
  'a second run of workflow %s with the same %s is refused while the first is not finished',
  async (workflow, field, one, same) => {
    const { client, project } = await aServerWithFiles();
    const wanted = (value: string): NewRun => ({ projectId: project.id, workflow, input: { [field]: value } });
    const first = await client.launchRun(wanted(one), 'the-first');
    for (const value of [one, same]) {
      const refused = await refusalOf(client.launchRun(wanted(value)));
      expect([refused.status, refused.message]).toEqual([
        409,
        `Run ${first.id} of workflow '${workflow}' works on '${one}' and is not finished. Follow or cancel that run, or launch this one after it.`,
      ]);
      expect(refused.problem.faults).toEqual([{ path: `input.${field}`, message: refused.message }]);
    }
    // The same request again is the same run.
    expect((await client.launchRun(wanted(one), 'the-first')).id).toBe(first.id);
    // Another file, or the same one after the first run, is taken.
    await client.launchRun(wanted('ai/other.md'));
    await client.cancelRun(first.id);
    expect((await client.launchRun(wanted(one))).id).not.toBe(first.id);
  },
);

it('a topic whose files another run writes is refused, however it is spelled', async () => {
  const { client, project } = await aServerWithFiles();
  const launched = (topic: string) =>
    client.launchRun({ projectId: project.id, workflow: 'full-auto', request: 'Build the bells', input: { topic } });
  const first = await launched('Bells and towers');
  for (const topic of ['bells and towers', 'Bells, and towers']) {
    const refused = await refusalOf(launched(topic));
    expect([refused.status, refused.message]).toEqual([409, expect.stringContaining(`Run ${first.id} `)]);
  }
  await launched('Bells');
});

it('a fork is refused where both runs would write the same table, and taken where they are compared', async () => {
  const { client, project } = await aServerWithFiles();
  const table = await client.launchRun({ projectId: project.id, workflow: 'backlog' });
  const refused = await refusalOf(client.forkRun(table.id, { at: 1 }));
  expect([refused.status, refused.message]).toEqual([
    409,
    `Run ${table.id} of workflow 'backlog' works on 'ai/backlog.md' and is not finished. Follow or cancel that run, or launch this one after it.`,
  ]);
  await client.cancelRun(table.id);
  const fork = await client.forkRun(table.id, { at: 1 });
  expect(fork.forkedFrom?.runId).toBe(table.id);
  expect((await refusalOf(client.forkRun(table.id, { at: 1 }))).message).toContain(fork.id);
  const plan = await client.launchRun({
    projectId: project.id,
    workflow: 'phased-plan',
    input: { planPath: 'docs/plan.md' },
  });
  expect((await client.forkRun(plan.id, { at: 1 })).forkedFrom?.runId).toBe(plan.id);
});

it('of launches at the same time one is taken', async () => {
  const { client, project } = await aServerWithFiles();
  const launches = Array.from({ length: 4 }, () => client.launchRun({ projectId: project.id, workflow: 'backlog' }));
  const settled = await Promise.allSettled(launches);
  expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  expect((await client.listRuns({ workflow: 'backlog' })).items).toHaveLength(1);
});

it('another project has its own file of that path', async () => {
  const { client, project, remote } = await aServerWithFiles();
  const other = await client.createProject({ name: 'other', repository: remote });
  for (const { id } of [project, other]) await client.launchRun({ projectId: id, workflow: 'backlog' });
  expect((await client.listRuns({ workflow: 'backlog' })).items).toHaveLength(2);
});

it('approaches to a plan stand side by side, and those to a table, which would write its statuses, do not', async () => {
  const { client, project } = await aServerWithFiles();
  const explore = (workflow: string, input: NonNullable<NewRun['input']>) =>
    client.explore({
      projectId: project.id,
      workflow,
      variants: ['One', 'Two'].map((request) => ({ request, input })),
    });
  const refused = await refusalOf(explore('backlog', { file: 'ai/backlog.md' }));
  expect([refused.status, refused.problem.faults?.map(({ path }) => path)]).toEqual([
    400,
    ['variants.0.input.file', 'variants.1.input.file'],
  ]);
  expect((await explore('phased-plan', { planPath: 'docs/plan.md' })).runs).toHaveLength(2);
  const again = await refusalOf(explore('phased-plan', { planPath: 'docs/plan.md' }));
  expect(again.status).toBe(409);
  expect((await client.listRuns({})).items).toHaveLength(2);
});

it('a run that is launched without a request gets the words that its workflow makes of the input', async () => {
  const { client, project } = await aServerWithFiles();
  const requestOf = async (wanted: Omit<NewRun, 'projectId'>): Promise<string> =>
    (await client.launchRun({ projectId: project.id, ...wanted })).originalRequest;
  expect(await requestOf({ workflow: 'backlog' })).toBe('Work through ai/backlog.md');
  expect(await requestOf({ workflow: 'backlog', input: { file: 'ai/other.md', item: 'A-2' } })).toBe(
    'Work through ai/other.md: A-2',
  );
  expect(await requestOf({ workflow: 'phased-plan', input: { planPath: 'docs/plan.md' } })).toBe(
    'Carry out docs/plan.md',
  );
  expect(await requestOf({ workflow: 'phased-plan', request: 'My words', input: { planPath: 'docs/b.md' } })).toBe(
    'My words',
  );
  const refused = await refusalOf(client.launchRun({ projectId: project.id, workflow: 'build' }));
  expect(refused.problem.faults).toEqual([{ path: 'request', message: "Workflow 'build' needs it." }]);
  const summaries = await client.listWorkflows();
  expect(
    summaries.flatMap(({ name, defaultRequest }) => (defaultRequest === undefined ? [] : [[name, defaultRequest]])),
  ).toEqual([
    ['backlog', 'Work through {file}[: {item}]'],
    ['phased-plan', 'Carry out {planPath}'],
    ['roadmap-item', 'Carry out the item {item} of {roadmap}'],
  ]);
});
