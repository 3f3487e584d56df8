/** The present program takes up what servers of earlier programs left in every state, and brings each run to its end. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { judgeMoved } from '../crash/judge-moved.ts';
import { play } from '../crash/play.ts';
import { SCENARIOS } from '../crash/scenarios.ts';
import { listKeptWorlds, restore } from './kept-worlds.ts';

vi.setConfig({ testTimeout: 300_000 });

const worlds = await listKeptWorlds();
let compileCache: string;
beforeAll(async () => {
  compileCache = await mkdtemp(path.join(tmpdir(), 'autonomous-upgrade-'));
});
afterAll(() => rm(compileCache, { recursive: true, force: true }));

describe.concurrent('an upgrade', () => {
  it.for(worlds)('finishes the runs of $scenario $number as they were left on $date', async (world, { expect }) => {
    const scenario = SCENARIOS.find(({ name }) => name === world.scenario);
    if (scenario === undefined) throw new Error(`There is no scenario '${world.scenario}' any more.`);
    const options = { scenario, kills: [], isResumed: true, makePlace: () => restore(world), compileCache } as const;
    const { faults } = await play(options, (playback) => judgeMoved(scenario, undefined, playback));
    expect(faults).toEqual([]);
  });
});
