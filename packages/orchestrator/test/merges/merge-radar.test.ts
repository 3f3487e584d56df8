/** Runs that change the same lines at the same time: what a person hears of it before the first of them is merged. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { foreseenConflictText } from '@autonomous/shared/presentation';
import { createRunStore, syncRecentRuns } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { aPlan, aScript, aServer, passes, startServer, when, writes } from '../fixtures/orchestrator.fixture.ts';

const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const PATIENCE = { timeout: 120_000, interval: 50 };
const asked = (request: string) => `BEGIN request =====\n${request}`;
const [FIRST, SECOND, THIRD] = ['Greet the first.', 'Greet the second.', 'Write notes.'] as const;
const FEEDBACK = 'Leave the greeting as main has it.';
const CONFIG = { trustMode: { planning: 'auto', implementation: 'manual' }, git: { autoMerge: true } } as const;

it('names the other run and the file before either is merged, then the base, and no conflict after it is resolved', async () => {
  const options = {
    script: aScript({
      planner: [FIRST, SECOND, THIRD].map((request) => when(asked(request), aPlan({ title: request }))),
      implementer: [
        when(FEEDBACK, writes({ 'app.sh': 'echo hello first\n', 'second.sh': 'echo second\n' })),
        when(asked(FIRST), writes({ 'app.sh': 'echo hello first\n' })),
        when(asked(SECOND), writes({ 'app.sh': 'echo hello second\n' })),
        when(asked(THIRD), writes({ 'notes.sh': 'echo notes\n' })),
      ],
      validator: Array.from({ length: 12 }, () => passes()),
    }),
  };
  const server = await aServer(options);
  const { client } = server;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const store = createRunStore();
  void syncRecentRuns({ client, store, signal: stop.signal, onFault: (error) => expect.fail(String(error)) });
  /** Lines about a run, as a client has them that only follows the feed. */
  const told = (runId: string) => () =>
    (store.getSnapshot().context.conflicts[runId] ?? []).map((each) => foreseenConflictText(each));

  const third = await server.launch(THIRD, CONFIG);
  await server.until(third, { gate: 'implementation' });
  const first = await server.launch(FIRST, CONFIG);
  await server.until(first, { gate: 'implementation' });
  const second = await server.launch(SECOND, CONFIG);
  await server.until(second, { gate: 'implementation' });
  await expect.poll(told(first.id), PATIENCE).toEqual([`Conflicts with run ${second.id}: app.sh`]);
  await expect.poll(told(second.id), PATIENCE).toEqual([`Conflicts with run ${first.id}: app.sh`]);
  expect(told(third.id)()).toEqual([]);
  expect((await client.listConflicts({ projectId: server.project.id })).map(({ runId }) => runId).toSorted()).toEqual(
    [first.id, second.id].toSorted(),
  );
  expect(await client.listConflicts({ runId: third.id })).toEqual([]);

  await server.approveResult(first);
  await server.until(first, { status: 'completed' });
  await expect.poll(told(second.id), PATIENCE).toEqual(['Conflicts with main: app.sh']);
  expect(told(first.id)()).toEqual([]);
  const typed = [PROGRAM, 'show', second.id, '--server', server.orchestrator.server.url];
  const env = { PATH: process.env['PATH'] ?? '', HOME: server.folder, AUTONOMOUS_DATA: server.dataFolder };
  const { stdout } = await promisify(execFile)(process.execPath, typed, { cwd: server.folder, env });
  expect(stdout).toContain('\nnotice     Conflicts with main: app.sh\n');

  // Another process finds it again, in git alone.
  await server.close();
  const restarted = await startServer(server.folder, options);
  onTestFinished(restarted.stop);
  const conflicts = async () =>
    (await restarted.client.listConflicts()).map((each) => `${each.runId}: ${foreseenConflictText(each)}`);
  await expect.poll(conflicts, PATIENCE).toEqual([`${second.id}: Conflicts with main: app.sh`]);
  await restarted.client.decideOpenGate(second.id, { decision: 'reject', feedback: FEEDBACK });
  await expect.poll(conflicts, PATIENCE).toEqual([]);
});
