import { NotFound, type RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { childHead, withSources } from './child-heads.ts';

const fork = (id: string, source: string): RunView =>
  aRun({
    id,
    forkedFrom: { runId: source, at: 9, spent: { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 } },
  });
const child = aRun({
  id: 'child',
  parent: { runId: 'parent', key: 'parent/3/first', depth: 1 },
  status: 'completed',
  baseCommit: 'b',
  headCommit: 'h',
});
const runs = new Map(
  [
    child,
    aRun({ id: 'parent' }),
    fork('fork', 'parent'),
    fork('again', 'fork'),
    aRun({ id: 'other' }),
    fork('round', 'round'),
    fork('lonely', 'gone'),
  ].map((run) => [run.id, run]),
);
const view = async (id: string) => {
  const run = runs.get(id);
  if (run === undefined) throw new NotFound(`There is no run ${id}.`);
  return run;
};

it('takes a child of the run, and in a fork one of the run that it was forked from', async () => {
  for (const id of ['parent', 'fork', 'again'])
    expect(await childHead({ view }, id, 'child')).toMatchObject({ head: 'h' });
});

it('lists the runs that a fork comes from, as far as the server has them', async () => {
  const line = async (id: string) => (await withSources({ view }, id)).map((run) => run.id);
  expect(await line('again')).toEqual(['again', 'fork', 'parent']);
  expect([await line('round'), await line('lonely')]).toEqual([['round'], ['lonely']]);
});

it('refuses a child of another run', async () => {
  for (const id of ['other', 'round', 'lonely'])
    await expect(childHead({ view }, id, 'child')).rejects.toThrow(`Run child is not a child run of ${id}.`);
});
