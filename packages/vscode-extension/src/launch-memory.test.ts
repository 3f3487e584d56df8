import { aWorkflow } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { createLaunchMemory, type Memory } from './launch-memory.ts';

function aMemory(kept?: unknown): Memory {
  const values = new Map<string, unknown>(kept === undefined ? [] : [['autonomous.lastLaunch', kept]]);
  return {
    get: <Value>(key: string) => values.get(key) as Value | undefined,
    update: (key, value) => Promise.resolve(void values.set(key, value)),
  };
}
const build = aWorkflow();
const nothing = { models: {}, minutes: {}, budgets: {}, baseBranch: '', end: '', input: {} } as const;

it('begins with the trust modes that the workflow declares and everything else as the project has it', () => {
  expect(createLaunchMemory(aMemory()).last(build, 'p-1')).toEqual({
    ...nothing,
    workflow: 'build',
    projectId: 'p-1',
    trust: { planning: 'manual', implementation: 'auto' },
  });
});

it('gives the last choice of a workflow, with the base branch of each project', () => {
  const launches = createLaunchMemory(aMemory());
  const choice = {
    ...nothing,
    workflow: 'build',
    projectId: 'p-1',
    trust: { planning: 'auto', implementation: 'manual' },
    models: { planner: 'a:b' },
    budgets: { maxCostUsd: '3' },
    baseBranch: 'next',
    end: 'merge',
  } as const;
  launches.keep(choice);
  expect(launches.last(build)).toEqual(choice);
  expect(launches.last(build, 'p-2')).toEqual({ ...choice, projectId: 'p-2', baseBranch: '', end: '' });
  launches.keep({ ...choice, projectId: 'p-2', baseBranch: 'main' });
  expect(launches.last(build, 'p-1').baseBranch).toBe('next');
  expect(launches.draft(build)).toMatchObject({ requests: [], choice: { projectId: 'p-2', baseBranch: 'main' } });
  expect(launches.draft(build).id).not.toBe(launches.draft(build).id);
  expect(launches.draft(undefined).choice).toEqual({});
});

it('keeps the choices of each workflow apart', () => {
  const launches = createLaunchMemory(aMemory());
  const report = aWorkflow({
    name: 'report',
    needsProject: false,
    trustModes: [{ name: 'report', title: 'Report', description: '', default: 'manual' }],
  });
  launches.keep({ ...launches.last(build, 'p-1'), models: { planner: 'a:b' } });
  launches.keep({ ...launches.last(report), trust: { report: 'auto' } });
  expect(launches.last(report).trust).toEqual({ report: 'auto' });
  expect(launches.last(build).models).toEqual({ planner: 'a:b' });
  expect([launches.lastWorkflow, launches.lastProjectId]).toEqual(['report', 'p-1']);
});

it('learns from what a form has launched, a run or approaches', () => {
  const launches = createLaunchMemory(aMemory());
  const config = { trustMode: { planning: 'auto' }, modelRouting: { implementer: 'a:b' }, maxTokens: 9 } as const;
  launches.keepLaunched(build, { projectId: 'p-1', request: 'A login', config });
  expect(launches.last(build)).toMatchObject({
    projectId: 'p-1',
    trust: { planning: 'auto' },
    models: { implementer: 'a:b' },
    budgets: { maxTokens: '9' },
  });
  launches.keepLaunched(build, {
    projectId: 'p-2',
    variants: [{ request: 'One', config: { maxTreeCostUsd: 4 } }, { request: 'Two' }],
  });
  expect(launches.last(build)).toMatchObject({ projectId: 'p-2', models: {}, budgets: { maxTreeCostUsd: '4' } });
  launches.keepLaunched(aWorkflow({ name: 'invoice', needsProject: false }), { workflow: 'invoice', input: {} });
  expect(launches.last(build).projectId).toBe('p-2');
});
