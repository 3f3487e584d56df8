/** Runs that are migrated by the command line, with a real server: they are forked, and rebuilt from the remote alone. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shownAt } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { flow } from '../../src/engine/two-versions.fixture.ts';
import { BUILT_IN_RUN_CONFIG } from '../../src/run-config/run-config.ts';
import { newRunId } from '../../src/server/run-ids.ts';
import { commandLine } from '../fixtures/command-line.fixture.ts';
import { aServer, type Fixture } from '../fixtures/orchestrator.fixture.ts';
import { aClone, aFolder, approve, rebuiltBy, retry, startedOn, storedIn, until } from '../record/rebuild.fixture.ts';

const env = {
  AUTONOMOUS_WORKFLOWS: fileURLToPath(new URL('../../src/engine/two-versions.fixture.ts', import.meta.url)),
};

/** A run of the first version at its gate. New runs take the second. */
async function atGate(server: Fixture): Promise<string> {
  const id = newRunId();
  await server.orchestrator.engine.launch(id, {
    projectId: server.project.id,
    userId: 'local',
    workflow: { name: 'flow', version: 1, fingerprint: flow[0]?.fingerprint ?? '' },
    request: 'Do it',
    config: BUILT_IN_RUN_CONFIG,
    requestedConfig: {},
    branch: `autonomous/${id}`,
  });
  await server.until(id, { gate: 'plan' });
  return id;
}

it('a run that the command migrate took to the next version goes on there, is forked on both sides of it, and is rebuilt from git', async () => {
  const server = await aServer({ env });
  const { client } = server;
  const [id, other] = [await atGate(server), await atGate(server)];
  expect(await commandLine(server, 'migrate', id, '--to', '2')).toMatchObject({
    exitCode: 0,
    stdout: `flow version 2; the run is awaiting approval in planning; follow it with: autonomous watch ${id}\n`,
  });
  const events = await server.events(id);
  const at = events.find(({ type }) => type === 'RUN_MIGRATED')?.sequence ?? 0;
  expect(events.find(({ sequence }) => sequence === at)?.payload).toMatchObject({ from: 1, to: 2, how: 'converted' });

  const early = await client.forkRun(id, { at: at - 1 });
  const late = await client.forkRun(id, { at });
  expect([early, late].map(({ workflow }) => workflow.version)).toEqual([1, 2]);
  for (const { id: forked } of [early, late]) {
    const { gate } = await server.until(forked, { gate: 'plan' });
    await client.decideOpenGate(forked, { decision: 'approve', ...(gate && shownAt(gate)) });
    await server.until(forked, { status: 'completed' });
  }

  await server.orchestrator.settled();
  await server.close();
  const before = await storedIn(server.dataFolder);
  const folder = await aFolder(server);
  expect(await rebuiltBy(folder, ['--from', await aClone(server)], { env })).toMatchObject({ code: 0 });
  const after = await storedIn(path.join(folder, 'data'));
  // The rebuilt run waits at its gate, so that it pauses first.
  expect(after[id]?.events.slice(0, -1)).toEqual(before[id]?.events);
  const again = await startedOn(folder, { env });
  expect(await again.client.getRun(other)).toMatchObject({ workflow: { version: 1 } });
  await retry(again, id);
  await approve(again, id);
  await until(again, id, ({ status, workflow }) => status === 'completed' && workflow.version === 2);
}, 120_000);
