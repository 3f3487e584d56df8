import type { RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { childHead } from './child-heads.ts';

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
  ].map((run) => [run.id, run]),
);
const view = async (id: string) => runs.get(id) as RunView;

it('takes a child of the run, and in a fork one of the run that it was forked from', async () => {
  for (const id of ['parent', 'fork', 'again'])
    expect(await childHead({ view }, id, 'child')).toMatchObject({ head: 'h' });
});

it('refuses a child of another run', async () => {
  for (const id of ['other', 'round'])
    await expect(childHead({ view }, id, 'child')).rejects.toThrow(`Run child is not a child run of ${id}.`);
});
