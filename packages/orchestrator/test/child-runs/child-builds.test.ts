/** A `build` that runs as the child of another run, on a whole server with real git. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { aServer, FILES, projectConfig } from '../fixtures/orchestrator.fixture.ts';

const WORKFLOWS = fileURLToPath(new URL('parent-of-builds.fixture.ts', import.meta.url));

it('begins at its parent, is pushed nowhere, and is merged into the branch of its parent', async () => {
  const server = await aServer({ env: { AUTONOMOUS_WORKFLOWS: WORKFLOWS } });
  const { client, project } = server;
  const parent = await client.launchRun({ projectId: project.id, workflow: 'phases', request: 'Add the feature' });
  const waiting = await server.event(parent.id, 'RUN_CONFIGURED');
  const children = async () => (await client.listRuns({ parentId: parent.id })).items;
  await expect.poll(async () => (await children()).length).toBe(1);
  const [child] = await children();
  const childId = child?.id ?? '';
  expect(child).toMatchObject({
    workflow: { name: 'build' },
    treeId: parent.id,
    parent: { runId: parent.id, depth: 1 },
  });
  expect(child?.branch).toBe(`autonomous/${childId}-phase-1`);
  expect((await client.getRun(parent.id)).status).toBe('awaiting_children');

  let rested = await server.rests(childId);
  while (rested.gate !== null) {
    await server.decide(childId, { decision: 'approve' });
    rested = await server.rests(childId);
  }
  expect(rested).toMatchObject({ status: 'completed', published: { pushed: false } });
  expect(rested.baseCommit).toBe(waiting.payload.baseCommit);
  expect(rested.notices.join(' ')).not.toContain('baseBranch');

  const ended = await server.until(parent.id, { status: 'completed' });
  expect(ended.published).toMatchObject({ branch: parent.branch, pushed: false });
  expect(await server.mirror('show', `${parent.branch}:feature.sh`)).toBe('echo feature\n');
  expect(await server.mirror('rev-parse', `${parent.branch}^2`)).toBe(`${rested.headCommit}\n`);
  expect(await server.git('branch', '--list', '--format=%(refname:short)', 'autonomous/*-*')).toBe('');
});

it("has the project's settings where the workflow of its parent lacks them", async () => {
  const config = projectConfig({
    defaultRunConfig: {
      commands: { test: 'sh test/app.test.sh' },
      trustMode: { planning: 'auto', implementation: 'manual' },
      timeoutMinutes: { implementation: 7 },
    },
  });
  const server = await aServer({
    files: { ...FILES, '.autonomous/config.json': config },
    env: { AUTONOMOUS_WORKFLOWS: WORKFLOWS },
  });
  const { client, project } = server;
  const parent = await client.launchRun({ projectId: project.id, workflow: 'phases', request: 'Add the feature' });
  const children = async () => (await client.listRuns({ parentId: parent.id })).items;
  await expect.poll(async () => (await children()).length).toBe(1);
  const [child] = await children();
  const rested = await server.rests(child?.id ?? '');
  expect(rested.config).toMatchObject({
    trustMode: { planning: 'auto', implementation: 'manual' },
    timeoutMinutes: { implementation: 7 },
  });
  expect(rested.gate?.kind).toBe('implementation');
});
