import { BUDGET_NAMES, type RunConfig, type RunConfigRequest } from '@autonomous/shared';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childConfig, requestedOfChild, withinLimitsAbove } from './child-config.ts';
import { BUILT_IN_RUN_CONFIG, resolveRunConfig, type RunLimits } from './run-config.ts';
import { createRunConfigPolicy } from './run-config-policy.ts';
import type { WorkflowSettings } from './workflow-settings.ts';

const PARENT: RunConfig = {
  ...BUILT_IN_RUN_CONFIG,
  trustMode: { planning: 'auto', fixes: 'manual' },
  maxClarifications: 2,
  maxConcurrency: 3,
  maxFixAttempts: 4,
  modelRouting: { planner: 'big', implementer: 'small' },
  timeoutMinutes: { planning: 10, implementation: 60 },
  git: { createPR: true, autoMerge: true, baseBranch: 'main', mergeStrategy: 'merge' },
  commands: { test: 'npm test' },
  egress: { setup: ['registry.example', 'mirror.example'] },
  maxCostUsd: 5,
  maxTreeCostUsd: 20,
};
const BRANCH = 'autonomous/p';
const childOf = (asked: RunConfigRequest, config = PARENT): RunConfig => childConfig({ config, branch: BRANCH }, asked);

describe('the configuration of a child', () => {
  it('is its parent’s where nothing is asked, on the branch of its parent, without merge, pull request and own budget', () => {
    const { maxCostUsd: _ofParent, ...rest } = PARENT;
    expect(childOf({})).toEqual({
      ...rest,
      git: { createPR: false, autoMerge: false, baseBranch: BRANCH, mergeStrategy: 'merge' },
    });
  });

  it('follows no pull request', () => {
    const parent = { ...PARENT, git: { ...PARENT.git, followPR: true, maxReviewRounds: 2 } };
    expect(childOf({ git: { followPR: true } }, parent).git).toMatchObject({ createPR: false, followPR: false });
  });

  it('is narrowed by what is asked', () => {
    const asked: RunConfigRequest = {
      trustMode: { planning: 'manual' },
      maxClarifications: 0,
      maxConcurrency: 1,
      maxFixAttempts: 0,
      modelRouting: { planner: 'small' },
      timeoutMinutes: { implementation: 5 },
      egress: { setup: ['mirror.example'], check: [] },
      maxCostUsd: 1,
      maxTokens: 1_000,
    };
    expect(childOf(asked)).toMatchObject({
      trustMode: { planning: 'manual', fixes: 'manual' },
      maxClarifications: 0,
      maxConcurrency: 1,
      maxFixAttempts: 0,
      modelRouting: { planner: 'small', implementer: 'small' },
      timeoutMinutes: { planning: 10, implementation: 5 },
      egress: { setup: ['mirror.example'], check: [] },
      maxCostUsd: 1,
      maxTokens: 1_000,
      maxTreeCostUsd: 20,
    });
  });

  it('is not widened by anything that is asked', () => {
    const asked: RunConfigRequest = {
      trustMode: { fixes: 'auto', publishing: 'auto' },
      maxClarifications: 10,
      maxConcurrency: 16,
      maxFixAttempts: 10,
      modelRouting: { implementer: 'biggest', reviewer: 'big' },
      timeoutMinutes: { planning: 999, publishing: 999 },
      git: { createPR: true, autoMerge: true, baseBranch: 'main', mergeStrategy: 'ff' },
      commands: { test: 'true', setup: 'curl evil.example' },
      egress: { setup: ['registry.example', 'mirror.example', 'evil.example'] },
      maxCostUsd: 50,
      maxTreeCostUsd: 5_000,
    };
    expect(childOf(asked)).toEqual(childOf({}));
    expect(childOf({ maxCostUsd: null, maxTreeCostUsd: null })).toEqual(childOf({}));
  });

  it('is at most its parent’s, whatever is asked at each generation', () => {
    const level = fc.constantFrom('auto' as const, 'manual' as const);
    const hosts = fc.subarray(['a.example', 'b.example', 'c.example']);
    const model = fc.constantFrom('big', 'small', 'other');
    const wish = fc.record(
      {
        trustMode: fc.record({ planning: level, fixes: level, other: level }, { requiredKeys: [] }),
        maxClarifications: fc.integer({ min: 0, max: 10 }),
        maxConcurrency: fc.integer({ min: 1, max: 16 }),
        maxFixAttempts: fc.integer({ min: 0, max: 10 }),
        modelRouting: fc.record({ planner: model, implementer: model, other: model }, { requiredKeys: [] }),
        timeoutMinutes: fc.record({ planning: fc.integer({ min: 1, max: 99 }) }, { requiredKeys: [] }),
        egress: fc.record({ setup: hosts, check: hosts }, { requiredKeys: [] }),
        maxCostUsd: fc.option(fc.integer({ min: 1, max: 9 })),
        maxTokens: fc.option(fc.integer({ min: 1, max: 9 })),
        maxTreeCostUsd: fc.option(fc.integer({ min: 1, max: 99 })),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<RunConfigRequest>; // absent keys instead of undefined ones
    fc.assert(
      fc.property(fc.array(wish, { minLength: 1, maxLength: 4 }), (wishes) => {
        let config = PARENT;
        for (const asked of wishes) {
          const child = childOf(asked, config);
          expect(beyond(child, config)).toEqual([]);
          config = child;
        }
      }),
    );
  });
});

/** Names of all in which one configuration allows more than another. */
function beyond(child: RunConfig, parent: RunConfig): readonly string[] {
  const models = Object.values(parent.modelRouting);
  const names = (section: 'trustMode' | 'modelRouting' | 'timeoutMinutes') => Object.keys(child[section]);
  const limits = ['maxClarifications', 'maxConcurrency', 'maxFixAttempts'] as const;
  return [
    ...names('trustMode').filter((name) => child.trustMode[name] === 'auto' && parent.trustMode[name] !== 'auto'),
    ...names('modelRouting').filter((name) => !models.includes(child.modelRouting[name] ?? '')),
    ...names('timeoutMinutes').filter(
      (name) => (child.timeoutMinutes[name] ?? Infinity) > (parent.timeoutMinutes[name] ?? 0),
    ),
    ...limits.filter((name) => child[name] > parent[name]),
    // A budget that the child lacks is that of the runs above it.
    ...BUDGET_NAMES.filter((name) => (child[name] ?? 0) > (parent[name] ?? Infinity)),
    ...Object.entries(parent.egress ?? {}).flatMap(([role, hosts]) =>
      (child.egress?.[role] ?? ['everything']).filter((host) => !hosts.includes(host)),
    ),
  ];
}

describe('the configuration of a child of another workflow', () => {
  const workflow = (name: string, role: string, trust: string): WorkflowSettings => ({
    workflow: name,
    models: { [role]: `${role}-model` },
    timeoutMinutes: { [trust]: 30 },
    trustMode: { [trust]: 'auto' },
    configuredAs: {},
  });
  const limits: RunLimits = { autoStages: ['phases', 'planning'], autoMerge: true, models: null };
  const policy = createRunConfigPolicy({
    settings: [workflow('phases', 'overseer', 'phases'), workflow('build', 'planner', 'planning')],
    defaults: {},
    limits,
    checkModel: (model) => ({ ok: true, id: model }),
  });
  const parent = { ...BUILT_IN_RUN_CONFIG, modelRouting: { overseer: 'overseer-model' } };
  const childOfPhases = (config: Partial<RunConfig>, asked: RunConfigRequest = {}): RunConfig =>
    policy.child({ config: { ...parent, ...config }, branch: BRANCH }, 'build', asked);

  it('has the defaults of its own settings, which what is asked narrows', () => {
    expect(childOfPhases({})).toMatchObject({
      trustMode: { planning: 'auto' },
      modelRouting: { planner: 'planner-model' },
      timeoutMinutes: { planning: 30 },
    });
    const asked = { trustMode: { planning: 'manual' as const }, timeoutMinutes: { planning: 60 } };
    expect(childOfPhases({}, asked)).toMatchObject({
      trustMode: { planning: 'manual' },
      timeoutMinutes: { planning: 30 },
    });
  });

  it('reaches no host with roles that its parent lacks, where the hosts of its parent are limited', () => {
    expect(childOfPhases({}).egress).toBeUndefined();
    expect(childOfPhases({ egress: { overseer: [] } }).egress).toMatchObject({ planner: [] });
    const asked = { egress: { planner: ['evil.example'] } };
    expect(childOfPhases({ egress: { overseer: [] } }, asked).egress).toMatchObject({ planner: [] });
  });

  it('takes a model that only a role of its parent uses, and no other one', () => {
    const asked = (planner: string) => childOfPhases({}, { modelRouting: { planner } }).modelRouting;
    expect(asked('overseer-model')).toEqual({ planner: 'overseer-model' });
    expect(asked('another-model')).toEqual({ planner: 'planner-model' });
  });

  it('takes no commands but those of its parent', () => {
    const commands = { test: 'npm test' };
    expect(childOfPhases({ commands }, { commands: { test: 'true' } }).commands).toEqual(commands);
  });
});

describe('the configuration of a child whose parent lacks settings', () => {
  const config = (own: Partial<RunConfig>): RunConfig => ({ ...BUILT_IN_RUN_CONFIG, ...own });
  const child = config({
    trustMode: { planning: 'auto', implementation: 'auto' },
    modelRouting: { planner: 'm', implementer: 'm' },
    timeoutMinutes: { planning: 30 },
  });

  it('asks for nothing that neither the runs above nor the parent name, so that the project decides', () => {
    const parent = config({ trustMode: { planning: 'auto' }, modelRouting: {}, timeoutMinutes: {} });
    expect(requestedOfChild(child, [parent], {})).toMatchObject({
      trustMode: { planning: 'auto' },
      modelRouting: {},
      timeoutMinutes: {},
    });
    const asked = { trustMode: { implementation: 'auto' as const }, modelRouting: { planner: 'm' } };
    const requested = requestedOfChild(child, [parent], asked);
    expect(requested.trustMode).toEqual({ planning: 'auto' });
    expect(requested.modelRouting).toEqual({ planner: 'm' });
    const manual = config({ ...child, trustMode: { planning: 'auto', implementation: 'manual' } });
    const careful = { trustMode: { implementation: 'manual' as const } };
    expect(requestedOfChild(manual, [parent], careful).trustMode).toEqual(manual.trustMode);
  });

  it('keeps the trust modes and hosts of the runs further above', () => {
    const above = config({
      trustMode: { planning: 'manual' },
      modelRouting: { implementer: 'm' },
      egress: { planner: ['a.example'] },
    });
    const within = withinLimitsAbove(child, [above]);
    expect(within.trustMode).toEqual({ planning: 'manual', implementation: 'auto' });
    expect(within.egress).toEqual({ planner: ['a.example'] });
    const wishes = config({ ...child, egress: { planner: ['a.example', 'b.example'], implementer: ['b.example'] } });
    expect(withinLimitsAbove(wishes, [above]).egress).toEqual({ planner: ['a.example'], implementer: ['b.example'] });
    expect(withinLimitsAbove(child, [config({ egress: {} })]).egress).toEqual({ planner: [], implementer: [] });
    expect(withinLimitsAbove(child, [])).toEqual(child);
  });

  it('has budgets of its own where they are less than those of the runs further above', () => {
    const above = [config({ maxCostUsd: 5 }), config({ maxCostUsd: 3, maxTokens: 100 })];
    expect(withinLimitsAbove(config({ maxCostUsd: 2, maxTokens: 100 }), above)).toMatchObject({ maxCostUsd: 2 });
    expect(withinLimitsAbove(config({ maxCostUsd: 4, maxTokens: 100 }), above)).toEqual(config({}));
  });

  it('has no budget of the server or the project: those of the runs above are its bound', () => {
    const server = {
      defaults: { maxCostUsd: 1, maxTokens: 10 },
      limits: { autoStages: null, autoMerge: true, models: null },
    };
    const project = { defaultRunConfig: { maxToolCalls: 5 } };
    const request = requestedOfChild(config({ maxTokens: 20 }), [config({ maxCostUsd: 5 })], { maxTokens: 20 });
    const resolved = resolveRunConfig({ server, project, request, isChild: true });
    expect(BUDGET_NAMES.flatMap((name) => resolved.config[name] ?? [])).toEqual([20]);
    expect(resolved.config.maxTokens).toBe(20);
    expect(resolved.notices).toEqual([]);
  });
});
