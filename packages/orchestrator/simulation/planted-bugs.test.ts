/** The simulation is tested by bugs: each that is planted has to be found, by an invariant that is about it. */
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { runChunk } from './chunk.ts';
import { GIT_CHECKS, type GitCheck } from './git-checks.ts';
import { plantedBugs, plantedGitBugs, plantedStoreBugs } from './planted-bugs.ts';
import type { Replacement } from './planted-source.ts';
import { simulate } from './simulate.ts';
import { STORE_CHECKS, type StoreCheck } from './store-checks.ts';

/** Most are found within the first ten schedules, some by one in hundreds (see `seed`). */
const SCHEDULES = 3_000;

describe('a planted bug', () => {
  it.each(plantedBugs)(
    'is found: $name ($what)',
    async ({ name, caughtBy, source, plants, seed = 1 }) => {
      const order = { schedules: SCHEDULES, seed, mostViolations: 1 };
      // Sources are loaded once in a thread, so that a bug in them needs one of its own.
      const { violations } = source
        ? await simulate({ ...order, threads: 1, bug: name })
        : await runChunk(order, plants);
      expect(violations).toHaveLength(1);
      expect(caughtBy).toContain(violations[0]?.violation?.invariant);
    },
    240_000,
  );

  it.each(plantedStoreBugs)('of the store is found: $name ($what)', async ({ seenBy, source }) => {
    expect(await STORE_CHECKS[seenBy]()).toBe(true);
    expect(await checkWith(seenBy, source)).toBe(false);
  });

  it('is none where git is as it should be', async () => {
    for (const [name, check] of Object.entries(GIT_CHECKS))
      expect({ name, holds: await check() }).toEqual({ name, holds: true });
  });

  it.each(plantedGitBugs)(
    'in git is found: $name ($what)',
    async ({ seenBy, source }) => expect(await checkWith(seenBy, source)).toBe(false),
    120_000,
  );
});

/** @returns whether the check holds with the bug planted */
function checkWith(check: StoreCheck | GitCheck, source: readonly Replacement[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('store-check-thread.ts', import.meta.url), { workerData: { check, source } });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
