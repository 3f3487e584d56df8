/** Turns of runs that merge into one branch; the runs are views alone. */
import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import { aView } from '../../event-store/sqlite/steps.fixture.ts';
import type { Repository } from '../../repository/repository.ts';
import { takeMergeTurn } from './merge-turns.ts';

it('A run that waits for its turn names the run before it, and gets the turn when that one is merged', async () => {
  const views = new Map(['r-1', 'r-2', 'r-3'].map((id) => [id, aView(id)]));
  const said = new Map<string, string[]>([...views.keys()].map((id) => [id, []]));
  const merge = (id: string): void => {
    const merged = { baseBranch: 'main', commit: 'c', strategy: 'squash' };
    views.set(id, aView(id, { status: 'completed', merged }));
  };
  const tools = {
    // Only its identity counts here.
    repository: {} as Repository,
    view: async (id: string): Promise<RunView> => views.get(id) ?? aView(id),
  };
  const takes = (runId: string): Promise<void> => {
    const progress: ActivityContext['progress'] = ({ text }) => void said.get(runId)?.push(text);
    const context = { runId, signal: new AbortController().signal, progress } as ActivityContext; // It needs no more.
    return takeMergeTurn(tools, context, { projectId: 'p-1', baseBranch: 'main' });
  };
  await takes('r-1');
  const [second, third] = [takes('r-2'), takes('r-3')];
  await expect
    .poll(() => [...said.values()].map((lines) => lines.at(-1)))
    .toEqual([undefined, 'waiting to merge behind run r-1', 'waiting to merge behind run r-1, 2 runs before this one']);
  merge('r-1');
  await second;
  await expect.poll(() => said.get('r-3')?.at(-1)).toBe('waiting to merge behind run r-2');
  merge('r-2');
  await third;
});
