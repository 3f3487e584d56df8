/** Engine-owned files of a custom workflow, on a whole server with real git. */
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import {
  aScript,
  aServer,
  type Files,
  FILES,
  type Fixture,
  projectConfig,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

const WORKFLOWS = fileURLToPath(new URL('owned-files.fixture.ts', import.meta.url));
const STATUS = 'ai/status.md';

/** The implementer does its work, and sets its own status beside it. */
const SCRIPT = aScript({ implementer: [writes({ 'feature.sh': 'echo feature\n', [STATUS]: 'all is done, I say\n' })] });

async function aPlace(files: Files = FILES): Promise<Fixture> {
  return aServer({ files, script: SCRIPT, env: { AUTONOMOUS_WORKFLOWS: WORKFLOWS } });
}

const launch = ({ client, project }: Fixture, request: string, input?: { readonly file: string }): Promise<RunView> =>
  client.launchRun({ projectId: project.id, workflow: 'statuses', request, ...(input === undefined ? {} : { input }) });

/** Approves what the child shows until the run has ended. */
async function ends(server: Fixture, run: RunView): Promise<{ readonly run: RunView; readonly child: RunView }> {
  const children = async () => (await server.client.listRuns({ parentId: run.id })).items;
  await expect.poll(async () => (await children()).length).toBe(1);
  const [child] = await children();
  const childId = child?.id ?? '';
  for (let rested = await server.rests(childId); rested.gate !== null; rested = await server.rests(childId))
    await server.decide(childId, { decision: 'approve' });
  return { run: await server.until(run.id, { status: 'completed' }), child: await server.client.getRun(childId) };
}

async function protectMain({ remote }: Fixture): Promise<void> {
  const hook = path.join(remote, 'hooks', 'pre-receive');
  await writeFile(hook, '#!/bin/sh\nwhile read o n ref; do [ "$ref" != refs/heads/main ] || exit 1; done\n');
  await chmod(hook, 0o755);
}

it('commits statuses to the base, says so at the launch, and takes none from the agent of a child', async () => {
  const server = await aPlace();
  const launched = await launch(server, 'Add the feature');
  expect(launched.ownedFiles).toEqual({ paths: [STATUS], to: 'base' });
  expect(launched.notices).toEqual([
    `Engine-owned files (${STATUS}) are committed to the base branch main. Changes of agents to them are left out.`,
  ]);
  const { run, child } = await ends(server, launched);
  expect(child.ownedFiles).toEqual({ paths: [], inherited: [STATUS], to: 'base' });
  expect(child.notices.filter((notice) => notice.includes(STATUS))).toEqual([
    `Not taken from the sandbox: ${STATUS} (it is engine-owned: the server alone writes it)`,
  ]);
  expect(await server.file('main', STATUS)).toBe('# Statuses\n- Add the feature: begun\n- Add the feature: done\n');
  expect(await server.mirror('show', `${run.branch}:feature.sh`)).toBe('echo feature\n');
  await expect(server.mirror('show', `${run.branch}:${STATUS}`)).rejects.toThrow('does not exist');
  expect(await server.payloads(run.id, 'OWNED_FILES_COMMITTED')).toMatchObject([
    { to: 'base', branch: 'main', paths: [STATUS] },
    { to: 'base', branch: 'main', paths: [STATUS] },
  ]);
  expect(run.ownedFiles?.commit).toBe((await server.git('rev-parse', 'main')).trim());
});

it("stays on the run's branch once the base has refused, says so at the next launch, and is in no check", async () => {
  // The child begins with the status that its parent committed to the branch.
  const server = await aPlace({
    ...FILES,
    'test/app.test.sh': countedTest(`sh app.sh | grep -q hello && ! test -e ${STATUS}`),
  });
  await protectMain(server);
  const first = await launch(server, 'Add the feature');
  expect(first.ownedFiles?.to).toBe('base');
  const { run } = await ends(server, first);
  expect(run.ownedFiles).toMatchObject({ to: 'branch', refused: true });
  expect(run.notices.join('\n')).toContain(
    `are committed to the run's branch ${run.branch}, because main refused a push of run ${run.id}`,
  );
  expect(await server.file('main', STATUS)).toBeNull();
  expect(await server.mirror('show', `${run.branch}:${STATUS}`)).toBe(
    '# Statuses\n- Add the feature: begun\n- Add the feature: done\n',
  );
  expect(await server.mirror('show', `${run.branch}:feature.sh`)).toBe('echo feature\n');
  const second = await launch(server, 'Add another feature');
  expect(second.ownedFiles).toMatchObject({ to: 'branch', refused: true });
  expect(second.notices.join('\n')).toContain(`because main refused a push of run ${run.id}`);
});

it("follows the project's configuration from the launch on", async () => {
  const server = await aPlace({
    ...FILES,
    '.autonomous/config.json': projectConfig({
      defaultRunConfig: { commands: { test: 'sh test/app.test.sh' } },
      git: { ownedFiles: 'branch' },
    }),
  });
  const launched = await launch(server, 'Add the feature', { file: 'ai/other.md' });
  expect(launched.ownedFiles).toMatchObject({ paths: ['ai/other.md'], to: 'branch' });
  expect(launched.notices.join()).toContain('git.ownedFiles in .autonomous/config.json is "branch"');
});

it('refuses an input whose paths nobody may own, naming the path', async () => {
  const server = await aPlace();
  await expect(launch(server, 'Add the feature', { file: '../outside.md' })).rejects.toThrow(
    "Workflow 'statuses' cannot own files with this input: its owned file '../outside.md' is invalid: it must not lead out of its folder by '.' or '..'.",
  );
  expect((await server.client.listRuns({})).items).toEqual([]);
});
