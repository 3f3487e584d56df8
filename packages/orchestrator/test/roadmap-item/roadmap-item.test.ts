/** A roadmap's item on a real server with real git: its documents, its tasks, its tests, its release, and its state in the roadmap. */
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aRoadmap, ITEM, merging, OTHER, PROJECT, roadmap, type RoadmapServer } from './roadmap.fixture.ts';

const phases = async (server: RoadmapServer, run: RunView): Promise<string[]> => {
  const facts = (await server.payloads(run.id, 'ROADMAP_PHASE_CHANGED' as never)) as unknown as { phase: string }[];
  return facts.map(({ phase }) => phase).filter((phase, index, all) => phase !== all[index - 1]);
};

it('goes through all phases with an approval at the three named transitions, and keeps the state in the roadmap', async () => {
  const server = await aRoadmap();
  const run = await server.begin({}, merging);
  await server.until(run, { gate: 'item_ideation' });
  expect((await server.item()).workflowState).toMatchObject({
    phase: 'ideating',
    specSlug: 'sign-in-by-a-link',
    attempts: 0,
  });
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  const result = await server.approve(run, 'item_result');
  expect(result.codeTree).toMatch(/^[0-9a-f]{40}$/);
  const done = await server.until(run, { status: 'completed' });
  expect(done.merged?.baseBranch).toBe('main');
  expect(await phases(server, run)).toEqual([
    'ideating',
    'specifying',
    'decomposing',
    'implementing',
    'testing',
    'committing',
    'completed',
  ]);
  expect(await server.items()).toEqual([
    expect.objectContaining({
      ...ITEM,
      status: 'completed',
      workflowState: expect.objectContaining({ phase: 'completed', tasksTotal: 2, tasksCompleted: 2, blockers: [] }),
    }),
    OTHER,
  ]);
  expect((await server.item()).workflowState['metrics']).toMatchObject({ costUsd: expect.any(Number) });
  expect(await server.file('main', 'mail.sh')).toBe('sh link.sh\n');
  const folder = 'specs/sign-in-by-a-link';
  expect(await server.file('main', `${folder}/01-ideation.md`)).toContain('Nobody can sign in.');
  expect(await server.file('main', `${folder}/02-specification.md`)).toContain('A link is sent.');
  expect(await server.file('main', `${folder}/03-tasks.md`)).toContain('## T2: A mail\n\nDepends on: T1');
  expect(await server.file('main', `${folder}/04-implementation.md`)).toContain('2 of 2 tasks are done.');
});

it('asks nobody where only releases are approved and there is none', async () => {
  const server = await aRoadmap();
  const run = await server.begin({ approvals: 'release' }, merging);
  await server.until(run, { status: 'completed' });
  expect((await server.item()).status).toBe('completed');
});

it('asks about documents that the base has, and has them written again only when they are sent back', async () => {
  const begun = { ...ITEM, workflowState: { specSlug: 'login' } };
  const server = await aRoadmap(
    {},
    {
      files: {
        ...PROJECT,
        'roadmap/roadmap.json': roadmap(begun, OTHER),
        'specs/login/01-ideation.md': '# Problem\n\nOf an earlier run.\n',
        'specs/login/02-specification.md': '# Overview\n\nTake the login out.\n',
      },
    },
  );
  const run = await server.begin({}, merging);
  await server.approve(run, 'item_ideation');
  await server.until(run, { gate: 'item_specification' });
  await server.decide(run, { decision: 'reject', feedback: 'Keep the login.' });
  await server.approve(run, 'item_specification');
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'specs/login/01-ideation.md')).toContain('Of an earlier run.');
  expect(await server.file('main', 'specs/login/02-specification.md')).toContain('A link is sent.');
});

it('asks after every phase where all are approved', async () => {
  const server = await aRoadmap();
  const run = await server.begin({ approvals: 'all' }, merging);
  for (const gate of ['item_ideation', 'item_specification', 'item_tasks', 'item_implementation', 'item_result'])
    await server.approve(run, gate);
  await server.until(run, { status: 'completed' });
  expect((await server.item()).status).toBe('completed');
});
