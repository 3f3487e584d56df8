/** Messages to a family of runs, with stand-ins for the engine and the store. */
import { Conflict, InvalidRequest, type RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aView } from '../../event-store/sqlite/steps.fixture.ts';
import { sendMessage } from './messages.ts';

const run = (id: string, status: RunView['status'] = 'running'): RunView => ({ ...aView(id), status });
const below: Readonly<Record<string, readonly RunView[]>> = {
  top: [run('works'), run('waits', 'queued'), run('deaf')],
  works: [run('grandchild')],
};

function sendAs(refusals: Readonly<Record<string, Error>>) {
  const told: string[] = [];
  const engine = {
    signal: async (id: string) => {
      const refusal = refusals[id];
      if (refusal !== undefined) throw refusal;
      told.push(id);
      return run(id);
    },
  };
  // The part of the store that messages read.
  const store = { listRuns: async ({ parentId = '' }) => ({ items: below[parentId] ?? [], nextCursor: null }) };
  return { told, sent: sendMessage({ engine, store }, { userId: 'me' }, 'top', 'Mind the gap.') };
}

it('reach a run and all generations below it', async () => {
  const { told, sent } = sendAs({});
  expect(await sent).not.toHaveProperty('unreached');
  expect(told).toEqual(['top', 'works', 'grandchild', 'waits', 'deaf']);
});

it('name the runs that they did not reach, and why', async () => {
  const { told, sent } = sendAs({
    waits: new Conflict('It cannot take it now.'),
    deaf: new InvalidRequest("Workflow 'deaf' takes no messages."),
  });
  expect((await sent).unreached).toEqual([
    { runId: 'waits', why: 'It waits in the queue and has no agents yet: send it again once it works.' },
    { runId: 'deaf', why: "Workflow 'deaf' takes no messages." },
  ]);
  expect(told).toEqual(['top', 'works', 'grandchild']);
});
