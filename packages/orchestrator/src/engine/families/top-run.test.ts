import type { RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aView } from '../../event-store/sqlite/steps.fixture.ts';
import { topOf } from './top-run.ts';

const child = (id: string, parent: string): RunView =>
  aView(id, { parent: { runId: parent, key: `${parent}/1/x`, depth: 1 } });

/** Ends a search that would go on for ever. */
function storeOf(...views: readonly RunView[]) {
  let asked = 0;
  return {
    loadView: async (runId: string): Promise<RunView | null> => {
      asked += 1;
      if (asked > 100) throw new Error('the search does not end');
      return views.find(({ id }) => id === runId) ?? null;
    },
  };
}

it('is the highest run that the store has', async () => {
  const [top, middle, low] = [child('a', 'gone'), child('b', 'a'), child('c', 'b')];
  expect((await topOf(storeOf(top, middle, low), low)).id).toBe('a');
});

it('is found where a run says that it is its own parent, or two that each is below the other', async () => {
  const own = child('a', 'a');
  expect((await topOf(storeOf(own), own)).id).toBe('a');
  const [one, two] = [child('b', 'c'), child('c', 'b')];
  expect(['b', 'c']).toContain((await topOf(storeOf(one, two), one)).id);
});
