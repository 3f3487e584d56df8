import { DEFAULT_TRUST } from '@autonomous/ui';
import { expect, it } from 'vitest';
import { createLaunchMemory, type Memory } from './launch-memory.ts';

function aMemory(kept?: unknown): Memory {
  const values = new Map<string, unknown>(kept === undefined ? [] : [['autonomous.lastLaunch', kept]]);
  return {
    get: <Value>(key: string) => values.get(key) as Value | undefined,
    update: (key, value) => Promise.resolve(void values.set(key, value)),
  };
}

it('begins with a plan that is approved and everything else as the project has it', () => {
  expect(createLaunchMemory(aMemory()).last('p-1')).toEqual({
    projectId: 'p-1',
    trust: DEFAULT_TRUST,
    models: {},
    budgets: {},
    baseBranch: '',
  });
});

it('gives the last choice, with the base branch of each project', () => {
  const launches = createLaunchMemory(aMemory());
  const trust = { planning: 'auto', implementation: 'manual', fixes: 'auto' } as const;
  const choice = {
    projectId: 'p-1',
    trust,
    models: { planner: 'a:b' },
    budgets: { maxCostUsd: '3' },
    baseBranch: 'next',
  };
  launches.keep(choice);
  expect(launches.last()).toEqual(choice);
  expect(launches.last('p-2')).toEqual({ ...choice, projectId: 'p-2', baseBranch: '' });
  launches.keep({ ...choice, projectId: 'p-2', baseBranch: 'main' });
  expect(launches.last('p-1').baseBranch).toBe('next');
  expect(launches.draft()).toMatchObject({ requests: [], choice: { projectId: 'p-2', baseBranch: 'main' } });
  expect(launches.draft().id).not.toBe(launches.draft().id);
});

it('learns from what a form has launched, a run or approaches', () => {
  const launches = createLaunchMemory(aMemory());
  const config = { trustMode: { planning: 'auto' }, modelRouting: { implementer: 'a:b' }, maxTokens: 9 } as const;
  launches.keepLaunched({ projectId: 'p-1', request: 'A login', config });
  expect(launches.last()).toMatchObject({
    projectId: 'p-1',
    trust: { planning: 'auto' },
    models: { implementer: 'a:b' },
    budgets: { maxTokens: '9' },
  });
  launches.keepLaunched({
    projectId: 'p-2',
    variants: [{ request: 'One', config: { maxTreeCostUsd: 4 } }, { request: 'Two' }],
  });
  expect(launches.last()).toMatchObject({ projectId: 'p-2', models: {}, budgets: { maxTreeCostUsd: '4' } });
  launches.keepLaunched({ workflow: 'invoice', input: {} });
  expect(launches.last().projectId).toBe('p-2');
});

it('reads what an earlier version has kept', () => {
  const launches = createLaunchMemory(aMemory({ projectId: 'p-1', manual: ['fixes'], baseBranch: { 'p-1': 'main' } }));
  const trust = { planning: 'auto', implementation: 'auto', fixes: 'manual' };
  expect(launches.last()).toEqual({ projectId: 'p-1', trust, models: {}, budgets: {}, baseBranch: 'main' });
});
