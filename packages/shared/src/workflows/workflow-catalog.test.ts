import { describe, expect, it } from 'vitest';
import { aWorkflow } from '../a-run.fixture.ts';
import { createRunStore } from '../run-store.ts';
import { createWorkflowCatalog, launchableOf, syncWorkflowCatalog, workflowOf } from './workflow-catalog.ts';

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

function aCatalog(answers: (() => Promise<readonly ReturnType<typeof aWorkflow>[]>)[]) {
  const catalog = createWorkflowCatalog();
  const runs = createRunStore();
  let asked = 0;
  const client = {
    listWorkflows: () => {
      asked += 1;
      return (answers.shift() ?? (() => Promise.resolve([])))();
    },
  };
  const sync = syncWorkflowCatalog({ catalog, runs, client: () => client });
  const connect = () => runs.trigger.statusChanged({ status: { state: 'live', feedId: 'f', position: 0 } });
  const lose = () => runs.trigger.statusChanged({ status: { state: 'offline', reason: 'away', retryInMs: 1 } });
  return { catalog, sync, connect, lose, asked: () => asked, now: () => catalog.getSnapshot().context };
}

describe('The catalog of workflows', () => {
  it('is listed at each connection, and keeps what it has while there is none', async () => {
    const list = aCatalog([async () => [aWorkflow()], async () => [aWorkflow(), aWorkflow({ name: 'other' })]]);
    expect(list.now()).toEqual({ workflows: [], isLoaded: false, fault: null });
    list.connect();
    list.connect();
    await settled();
    expect(list.asked()).toBe(1);
    expect(workflowOf(list.now(), 'build')?.title).toBe('Build');
    list.lose();
    expect(list.now().workflows).toHaveLength(1);
    list.connect();
    await settled();
    expect(list.now().workflows.map(({ name }) => name)).toEqual(['build', 'other']);
  });

  it('says why it could not be listed, until it is', async () => {
    const list = aCatalog([() => Promise.reject(new Error('away')), async () => [aWorkflow()]]);
    list.connect();
    await settled();
    expect(list.now()).toMatchObject({ isLoaded: false, fault: new Error('away') });
    await list.sync.refresh();
    expect(list.now()).toMatchObject({ isLoaded: true, fault: null });
  });

  it('takes no answer that comes after a newer question', async () => {
    const late = Promise.withResolvers<readonly ReturnType<typeof aWorkflow>[]>();
    const list = aCatalog([() => late.promise, async () => [aWorkflow({ name: 'newer' })]]);
    list.connect();
    await list.sync.refresh();
    late.resolve([aWorkflow({ name: 'older' })]);
    await settled();
    expect(list.now().workflows.map(({ name }) => name)).toEqual(['newer']);
  });

  it('offers for a launch what a person may start', () => {
    const workflows = [aWorkflow(), aWorkflow({ name: 'phase', isChildOnly: true })];
    expect(launchableOf({ workflows }).map(({ name }) => name)).toEqual(['build']);
    const earlier = aWorkflow({ name: 'backlog' });
    const all = [earlier, aWorkflow({ isDefault: true })];
    expect(launchableOf({ workflows: all }).map(({ name }) => name)).toEqual(['build', 'backlog']);
  });
});
