/** The roadmap of a project through the HTTP API, read from real git. */
import { expect, it } from 'vitest';
import { aServer, FILES } from '../fixtures/orchestrator.fixture.ts';

const PATH = 'roadmap/roadmap.json';
const ITEM = {
  id: 'sign-in',
  title: 'Sign in by a link',
  type: 'feature',
  moscow: 'must-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'now',
};

it('follows the base branch of the remote: no roadmap, faults, items', async () => {
  const server = await aServer({ files: FILES });
  const { client, project } = server;
  expect(await client.getRoadmap(project.id)).toMatchObject({
    content: { kind: 'absent' },
    branch: 'main',
    path: PATH,
  });

  await server.commit({ [PATH]: JSON.stringify({ items: [{ ...ITEM, moscow: 'urgent' }] }, null, 2) });
  await expect
    .poll(() => client.getRoadmap(project.id))
    .toMatchObject({
      content: { kind: 'faulty', faults: [{ line: 7, message: expect.stringContaining('"urgent"') }] },
    });

  const commit = await server.commit({ [PATH]: JSON.stringify({ items: [ITEM] }) });
  await expect
    .poll(() => client.getRoadmap(project.id))
    .toMatchObject({
      commit,
      notFetched: null,
      content: { kind: 'items', items: [{ id: 'sign-in', canStart: true }], choice: { selected: { id: 'sign-in' } } },
      runs: [],
    });
});

it('refuses an unknown project', async () => {
  const { client } = await aServer({ files: FILES });
  await expect(client.getRoadmap('none')).rejects.toThrow("There is no project 'none'");
});
