import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Screen } from '@autonomous/ui';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPanelMemory } from './panel-memory.ts';

const run = (runId: string): Screen => ({ name: 'run', runId });
const plan: Screen = { name: 'run', runId: 'r-1', tab: 'plan' };

describe('Panels that were open', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'autonomous-panels-'));
    file = path.join(folder, 'not-there-yet', 'panels.json');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are known to the next window: what they showed last, and which of them the editor has not restored', () => {
    const memory = createPanelMemory(file);
    memory.keep('One', run('r-1'));
    memory.keep('Two', run('r-2'));
    memory.keep('One, looked at', plan);
    const next = createPanelMemory(file);
    expect(next.recall('Two')).toEqual(run('r-2'));
    expect(next.recall('One')).toBeNull();
    expect(next.latest(run('r-1'))).toEqual(plan);
    expect(next.latest(run('r-3'))).toEqual(run('r-3'));
    expect(next.lost(new Set())).toEqual([run('r-2'), plan]);
    expect(next.lost(new Set(['Two']))).toEqual([plan]);
  });

  it('are not lost when the person closed them, and what they showed is known all the same', () => {
    const memory = createPanelMemory(file);
    memory.keep('One', plan);
    memory.forget(run('r-1'));
    expect(memory.lost(new Set())).toEqual([]);
    expect(memory.recall('One')).toEqual(plan);
  });

  it('are left to the editor once it has had the time to note them down', () => {
    let now = 1_000_000;
    const memory = createPanelMemory(file, () => now);
    memory.keep('One', plan);
    now += 60 * 60_000;
    expect(memory.lost(new Set())).toEqual([]);
  });

  it.each(['', '{}', '[{"title":"One"}]', '[null]', '[{"title":"One","at":1,"screen":{"name":"elsewhere"}}]'])(
    'are none where the file has %j',
    async (text) => {
      await writeFile(path.join(folder, 'panels.json'), text);
      const memory = createPanelMemory(path.join(folder, 'panels.json'), () => 2);
      expect(memory.recall('One')).toBeNull();
      memory.keep('One', plan);
      expect(memory.lost(new Set())).toEqual([plan]);
    },
  );

  it('are forgotten where nothing can be written', () => {
    const memory = createPanelMemory(null);
    memory.keep('One', plan);
    expect(memory.recall('One')).toBeNull();
  });
});
