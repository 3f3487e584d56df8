/** Commits with the guidance for agents. */
import { NotFound, type RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { guidanceCommitOf } from './start-commits.ts';

const runs: Readonly<Record<string, { readonly parent?: string; readonly started: string }>> = {
  child: { parent: 'middle', started: 'b-child' },
  middle: { parent: 'top', started: 'b-middle' },
  top: { started: 'b-top' },
  orphan: { parent: 'lost', started: 'b-orphan' },
};
const tools = {
  async view(id: string) {
    const run = runs[id];
    if (run === undefined) throw new NotFound(`run ${id} is not in the database`);
    return { id, projectId: 'p', ...(run.parent === undefined ? {} : { parent: { runId: run.parent } }) } as RunView;
  },
  events: async (id: string) => [{ type: 'RUN_CONFIGURED', payload: { baseCommit: runs[id]?.started } }] as never,
};

it('gives the commit at which the topmost run began', async () => {
  expect(await guidanceCommitOf(tools, 'child', 'b-child')).toBe('b-top');
  expect(await guidanceCommitOf(tools, 'top', 'b-top')).toBe('b-top');
});

it('gives its own commit to a child run whose parent did not come back from a record', async () => {
  expect(await guidanceCommitOf(tools, 'orphan', 'b-orphan')).toBe('b-orphan');
});
