/** A run that was only just launched: where it can be found is told, and it comes back when the data folder is lost. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aPlan, aScript, aServer } from '../fixtures/orchestrator.fixture.ts';
import { aClone, aFolder, rebuiltBy, retry, startedOn, storedIn } from './rebuild.fixture.ts';

/** A planner that does not end. */
const ENDLESS = aScript({ planner: [{ turns: aPlan().turns.map((turn) => ({ ...turn, delayMs: 600_000 })) }] });
const ONE_SLOT = { MAX_CONCURRENT_RUNS_PER_USER: '1' };
const MANUAL = { planning: 'manual' } as const;

it('is found from its remote while it is planned for the first time, or waits for a run slot', async () => {
  const server = await aServer({ script: ENDLESS, env: ONE_SLOT });
  const launched: RunView[] = [];
  for (const request of ['First', 'Second']) launched.push(await server.launch(request, { trustMode: MANUAL }));
  expect(launched.map(({ status, recordPlace }) => [status, recordPlace])).toEqual([
    ['running', 'pending'],
    ['queued', 'pending'],
  ]);
  for (const { id } of launched)
    await expect.poll(async () => (await server.client.getRun(id)).recordPlace, { timeout: 60_000 }).toBe('remote');
  // The clone is made before the server stops, which writes its record once more.
  const clone = await aClone(server);
  await server.close();
  await rm(server.dataFolder, { recursive: true });

  const folder = await aFolder(server);
  expect(await rebuiltBy(folder, ['--from', clone])).toMatchObject({ code: 0 });
  const stored = await storedIn(path.join(folder, 'data'));
  expect(Object.keys(stored).toSorted()).toEqual(launched.map(({ id }) => id).toSorted());
  const plans = aScript({ planner: [aPlan()] });
  const again = await startedOn(folder, { script: plans, env: ONE_SLOT });
  for (const { id } of launched) await retry(again, id);
});
