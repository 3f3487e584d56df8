/** A run can be cancelled wherever it is: its processes end, its branch stays, its record says so, its folders are gone. */
import { access, chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunConfigRequest } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aPlan, aScript, aServer, type Fixture, processesWith, runs, when } from '../fixtures/orchestrator.fixture.ts';

const TRUSTED: RunConfigRequest = { trustMode: { planning: 'auto' } };

/** A sleep that can be told from all others. */
const SLEEP = 'sleep 36';

interface Place {
  readonly where: string;
  readonly config?: RunConfigRequest;
  /** Resolves when the run is there. */
  readonly reached: (server: Fixture, runId: string) => Promise<unknown>;
  readonly stage: string;
  readonly hasBranch: boolean;
}

const asleep = async (seconds: string) => {
  await expect.poll(() => processesWith(`${SLEEP}${seconds}`), { interval: 20 }).not.toEqual([]);
};

const places: readonly Place[] = [
  {
    where: 'in a slow model',
    reached: (server, id) => server.event(id, 'RUN_CONFIGURED'),
    stage: 'planning',
    hasBranch: false,
  },
  {
    where: 'at the plan gate',
    config: { trustMode: { planning: 'manual' } },
    reached: (server, id) => server.until(id, { gate: 'plan' }),
    stage: 'planning',
    hasBranch: true,
  },
  {
    where: 'in the install step',
    config: { ...TRUSTED, commands: { setup: `${SLEEP}01` } },
    reached: () => asleep('01'),
    stage: 'planning',
    hasBranch: false,
  },
  { where: 'in a command of the agent', reached: () => asleep('02'), stage: 'implementation', hasBranch: true },
  {
    where: 'in a check',
    // Not in the baseline, which has no such file.
    config: { ...TRUSTED, commands: { test: `test ! -e done.sh || ${SLEEP}03` } },
    reached: async (server, id) => {
      await expect.poll(async () => (await server.client.getRun(id)).currentStage).toBe('validation');
      await asleep('03');
    },
    stage: 'validation',
    hasBranch: true,
  },
  {
    where: 'in a pause',
    // The step fails on what the agent writes.
    config: { ...TRUSTED, commands: { setup: 'test ! -e done.sh' } },
    reached: (server, id) => server.until(id, { gate: 'pause' }),
    stage: 'validation',
    hasBranch: true,
  },
];

it('in each stage: processes end, the branch is kept, the record is written, no folder is left', async () => {
  const server = await aServer({
    script: aScript({
      planner: [
        when('in a slow model', { turns: [{ delayMs: 3_600_000, text: 'Thinking.' }, ...aPlan().turns] }),
        aPlan(),
      ],
      implementer: [
        when('in a command of the agent', runs(`echo half > half.sh; ${SLEEP}02`)),
        runs('echo done > done.sh'),
      ],
    }),
    env: { MAX_CONCURRENT_RUNS_PER_USER: '10' },
  });
  for (const { where, config, reached, stage, hasBranch } of places) {
    const run = await server.launch(where, config ?? TRUSTED);
    await reached(server, run.id);
    const cancelled = await server.client.cancelRun(run.id, `because it is ${where}`);
    expect(cancelled).toMatchObject({ status: 'cancelled', gate: null });
    expect(cancelled.stages.at(-1)?.stage).toBe(stage);
    await expect.poll(() => processesWith(SLEEP), { interval: 20 }).toEqual([]);
    await expect.poll(() => server.workFolders(), { interval: 20 }).toEqual([]);
    expect((await server.mirror('branch', '--list', run.branch)).trim() !== '').toBe(hasBranch);
    expect(await server.client.listGates(run.id)).toEqual([]);

    await server.orchestrator.settled();
    const record = `autonomous/record:.autonomous/runs/${run.id}`;
    expect(JSON.parse(await server.git('show', `${record}/context.json`))).toMatchObject({
      status: 'cancelled',
      completedAt: cancelled.completedAt,
    });
    const last = JSON.parse(
      (await server.git('show', `${record}/events.jsonl`)).trim().split('\n').at(-1) ?? '',
    ) as object;
    expect(last).toMatchObject({ payload: { status: 'cancelled' } });
    await expect(server.client.cancelRun(run.id)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('already ended'),
    });
    await expect(server.decide(run, { decision: 'retry' })).rejects.toMatchObject({ status: 409 });
  }
});

it('in the middle of a push: what follows it does not happen', async () => {
  const server = await aServer();
  const [hold, held] = ['hold', 'held'].map((name) => path.join(server.remote, name)) as [string, string];
  const hook = path.join(server.remote, 'hooks', 'pre-receive');
  await writeFile(
    hook,
    `#!/bin/sh\ngrep -q hold-the-push && [ -e ${hold} ] && { touch ${held}; while [ -e ${hold} ]; do sleep 0.02; done; }\nexit 0\n`,
  );
  await chmod(hook, 0o755);
  const run = await server.launch('Hold the push', {
    trustMode: { planning: 'auto', implementation: 'manual' },
    git: { autoMerge: true },
  });
  await server.until(run, { gate: 'implementation' });
  await writeFile(hold, '');
  await server.decide(run, { decision: 'approve' });
  await expect
    .poll(
      () =>
        access(held).then(
          () => true,
          () => false,
        ),
      { interval: 20 },
    )
    .toBe(true);
  const cancelled = await server.client.cancelRun(run.id);
  expect(cancelled).toMatchObject({ status: 'cancelled' });
  expect(cancelled.stages.at(-1)?.stage).toBe('publishing');
  // Nor does the server wait for a remote that says nothing.
  await server.close();
  await rm(hold);
  await expect.poll(() => processesWith(hold)).toEqual([]);
  expect((await server.git('rev-parse', 'main')).trim()).toBe(cancelled.baseCommit);
  expect(await server.workFolders()).toEqual([]);
});
