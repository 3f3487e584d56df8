import { projectConfigSchema, type RunConfig, type RunConfigRequest, runConfigSchema } from '@autonomous/shared';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BUILT_IN_RUN_CONFIG,
  checkRunConfigRequest,
  type ModelCheck,
  parseProjectConfig,
  resolveRunConfig,
  type RunConfigSources,
  type RunLimits,
} from './run-config.ts';
import { createRunConfigPolicy } from './run-config-policy.ts';
import { NO_SETTINGS } from './workflow-settings.ts';
import { build as buildWorkflow } from '../workflows/build/index.ts';
import { declaredModel, settingsOf } from '../workflows/workflow-settings.ts';

const build = settingsOf(buildWorkflow, (role, roles) => declaredModel(role, roles) ?? '');
/** Configuration of a run of `build` for which nobody sets anything. */
const BUILD_CONFIG: RunConfig = {
  ...BUILT_IN_RUN_CONFIG,
  trustMode: build.trustMode,
  modelRouting: build.models,
  timeoutMinutes: build.timeoutMinutes,
};
const everything: RunLimits = { autoStages: ['planning', 'implementation', 'fixes'], autoMerge: true, models: null };
const nothing: RunLimits = { autoStages: [], autoMerge: false, models: ['deepseek-reasoner'] };

const resolve = (
  sources: Partial<Omit<RunConfigSources, 'server'>> & { limits?: RunLimits; defaults?: RunConfigRequest } = {},
) => {
  const { limits = everything, defaults = {}, ...rest } = sources;
  return resolveRunConfig({ settings: build, project: null, request: {}, server: { defaults, limits }, ...rest });
};

describe('defaults', () => {
  it('are planning by hand, all else by itself, and nothing merged, where nobody says otherwise', () => {
    expect(resolve()).toEqual({ config: BUILD_CONFIG, notices: [] });
    expect(BUILD_CONFIG).toMatchObject({
      trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
      maxClarifications: 3,
      maxFixAttempts: 3,
      maxConcurrency: 4,
      timeoutMinutes: { planning: 10, implementation: 60, validation: 30 },
      git: { createPR: false, autoMerge: false, mergeStrategy: 'squash' },
    });
    runConfigSchema.parse({ ...BUILD_CONFIG, git: { ...BUILD_CONFIG.git, baseBranch: 'main' } });
  });

  it('go run over project over server over built-in, each value by itself', () => {
    const layer = (n: number): RunConfigRequest => ({
      maxClarifications: n,
      ...(n < 3 ? { maxConcurrency: n } : {}),
      ...(n < 2 ? { maxFixAttempts: n } : {}),
      modelRouting: {
        planner: `p${n}`,
        ...(n < 3 ? { implementer: `i${n}` } : {}),
        ...(n < 2 ? { validator: `v${n}` } : {}),
      },
      timeoutMinutes: { planning: n, ...(n < 3 ? { implementation: n } : {}) },
      git: { baseBranch: `b${n}`, ...(n < 3 ? { mergeStrategy: 'merge' } : {}) },
      commands: { setup: `s${n}`, ...(n < 3 ? { test: null } : {}) },
    });
    const { config } = resolve({ request: layer(3), project: { defaultRunConfig: layer(2) }, defaults: layer(1) });
    expect(config).toEqual({
      trustMode: BUILD_CONFIG.trustMode,
      maxClarifications: 3,
      maxConcurrency: 2,
      maxFixAttempts: 1,
      modelRouting: { planner: 'p3', implementer: 'i2', validator: 'v1' },
      timeoutMinutes: { planning: 3, implementation: 2, validation: 30 },
      git: { createPR: false, autoMerge: false, baseBranch: 'b3', mergeStrategy: 'merge' },
      commands: { setup: 's3', test: null },
    });
  });

  it("take what the project's git block says before its run defaults", () => {
    const project = {
      defaultRunConfig: { git: { createPR: false, mergeStrategy: 'ff' as const } },
      git: { createPR: true, mergeStrategy: 'merge' as const },
    };
    expect(resolve({ project }).config.git).toMatchObject({ createPR: true, mergeStrategy: 'merge' });
  });
});

describe('the pull request', () => {
  it('is followed as the run, the project or the server says, and nothing is added where nobody says it', () => {
    expect(resolve({ request: { git: { createPR: true } } }).config.git).not.toHaveProperty('followPR');
    expect(resolve({ request: { git: { createPR: true } } }).config.git).not.toHaveProperty('maxReviewRounds');
    const project = { git: { followPR: false, maxReviewRounds: 1 } };
    expect(resolve({ project }).config.git).toMatchObject({ followPR: false, maxReviewRounds: 1 });
    const request = { git: { followPR: true } };
    expect(resolve({ project, request }).config.git).toMatchObject({ followPR: true, maxReviewRounds: 1 });
  });
});

describe('budgets', () => {
  const limits: RunLimits = { ...everything, budgets: { maxCostUsd: 10, maxTokens: 1_000 } };
  const project = { defaultRunConfig: { maxCostUsd: 4, maxToolCalls: 9 } };

  it('are what the run, the project or the server says, and none where nobody does', () => {
    const budgetsOf = ({ config }: ReturnType<typeof resolve>) => [
      config.maxCostUsd,
      config.maxTokens,
      config.maxToolCalls,
    ];
    expect(budgetsOf(resolve())).toEqual([undefined, undefined, undefined]);
    expect(budgetsOf(resolve({ defaults: { maxCostUsd: 2, maxTokens: 5 } }))).toEqual([2, 5, undefined]);
    expect(budgetsOf(resolve({ project, defaults: { maxCostUsd: 20, maxTokens: 5 } }))).toEqual([4, 5, 9]);
    expect(budgetsOf(resolve({ project, request: { maxCostUsd: 1, maxToolCalls: 3 } }))).toEqual([1, undefined, 3]);
    expect(budgetsOf(resolve({ defaults: { maxTokens: 5 }, request: { maxTokens: null } }))[1]).toBeUndefined();
  });

  it('are at most what server and project allow, and it is said where that is less than was asked for', () => {
    const { config, notices } = resolve({ limits, project, request: { maxCostUsd: 7, maxTokens: 5_000 } });
    expect(config).toMatchObject({ maxCostUsd: 4, maxTokens: 1_000, maxToolCalls: 9 });
    expect(notices).toEqual([
      'The maxCostUsd of 7 that was asked for is more than the project allows: it is 4.',
      'The maxTokens of 5000 that was asked for is more than this server allows: it is 1000.',
    ]);
    expect(resolve({ limits }).config).toMatchObject({ maxCostUsd: 10, maxTokens: 1_000 });
    expect(resolve({ limits, project, request: { maxCostUsd: null } }).config.maxCostUsd).toBe(4);
  });

  it.each([1_000_000, null])('of the server by default are not exceeded by a project that asks for %s', (asked) => {
    const generous = { defaultRunConfig: { maxCostUsd: asked } };
    const defaults = { maxCostUsd: 5 };
    const { config, notices } = resolve({ project: generous, defaults });
    expect(config.maxCostUsd).toBe(5);
    expect(notices).toEqual([
      `The maxCostUsd of ${asked} that the project's configuration asks for is more than the default of this server, which only a run may exceed: it is 5.`,
    ]);
    // A run's own wish is another thing, and the project's does not stand in its way.
    const ofRun = resolve({ project: generous, defaults, limits, request: { maxCostUsd: 8 } });
    expect(ofRun).toMatchObject({ config: { maxCostUsd: 8 }, notices: [] });
    const beyond = resolve({ project: generous, defaults: { maxCostUsd: 10 }, limits });
    expect(beyond.config.maxCostUsd).toBe(10);
    expect(beyond.notices).toEqual([expect.stringContaining('more than this server allows: it is 10.')]);
  });

  it('beyond the limits of the server are faults of a request', () => {
    const check = (request: RunConfigRequest) =>
      checkRunConfigRequest(request, build, limits, (id) => ({ ok: true, id })).map(({ path }) => path);
    expect(check({ maxCostUsd: 10, maxTokens: 1_000, maxToolCalls: 1_000_000 })).toEqual([]);
    expect(check({ maxCostUsd: 10.01, maxTokens: null })).toEqual(['maxCostUsd', 'maxTokens']);
  });
});

describe('limits of the server', () => {
  const loosening = {
    defaultRunConfig: {
      trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
      modelRouting: { planner: 'evil:model' },
    },
    git: { autoMerge: true },
  } as const;

  it('let a project loosen what the server allows', () => {
    const { config, notices } = resolve({ project: loosening });
    expect(config.trustMode).toEqual({ planning: 'auto', implementation: 'auto', fixes: 'auto' });
    expect(config.git.autoMerge).toBe(true);
    // The stages of implementation and fixes are "auto" without it.
    expect(notices).toEqual([
      "The project's configuration lets planning and the merge pass without asking. To be asked, set trustMode.planning to manual and git.autoMerge to false in the configuration of the run.",
    ]);
  });

  it('report no loosening by a project that the run or the server has chosen, or that has no effect', () => {
    const asksFor = { trustMode: { planning: 'auto' }, git: { autoMerge: true } } as const;
    expect(resolve({ project: loosening, request: asksFor }).notices).toEqual([]);
    expect(resolve({ project: loosening, defaults: asksFor }).notices).toEqual([]);
    const manual = { trustMode: { planning: 'manual' }, git: { autoMerge: false } } as const;
    expect(resolve({ project: loosening, request: manual }).notices).toEqual([]);
    const both = { git: { ...loosening.git, createPR: true, requireApprovalFor: ['planning'] } };
    expect(resolve({ project: { ...loosening, ...both } }).notices.join()).not.toContain('without asking');
  });

  it('take install scripts only from the run or the server, and a project can turn them off', () => {
    const commands = (installScripts: boolean) => ({ commands: { installScripts } });
    const project = { defaultRunConfig: commands(true) };
    const alone = resolve({ project });
    expect(alone.config.commands).toEqual({});
    expect(alone.notices).toEqual([
      "The project's configuration asks for install scripts, which only the configuration of the run allows: they stay off. If you trust the project's packages, start the run with commands.installScripts set to true.",
    ]);
    expect(resolve({ project, request: commands(true) })).toMatchObject({ config: commands(true), notices: [] });
    expect(resolve({ project, request: commands(false) })).toMatchObject({ config: commands(false), notices: [] });
    expect(resolve({ project, defaults: commands(true) })).toMatchObject({ config: commands(true), notices: [] });
    const off = resolve({ project: { defaultRunConfig: commands(false) }, defaults: commands(true) });
    expect(off).toMatchObject({ config: commands(false), notices: [] });
  });

  it('stand against whatever a project or a run asks, and each thing ignored is said', () => {
    const fromProject = resolve({ project: loosening, limits: nothing });
    expect(fromProject.config.trustMode).toEqual({ planning: 'manual', implementation: 'manual', fixes: 'manual' });
    expect(fromProject.config.git.autoMerge).toBe(false);
    expect(fromProject.config.modelRouting['planner']).toBe('deepseek-reasoner');
    expect(fromProject.notices).toHaveLength(5);
    expect(fromProject.notices.every((notice) => notice.startsWith("The project's configuration"))).toBe(true);

    const request: RunConfigRequest = { ...loosening.defaultRunConfig, git: { autoMerge: true } };
    const fromRun = resolve({ request, limits: nothing });
    expect(fromRun.config).toEqual(fromProject.config);
    expect(fromRun.notices).toHaveLength(5);
  });

  it('hold for the built-in defaults too', () => {
    expect(resolve({ limits: { ...everything, autoStages: ['planning'] } }).config.trustMode).toEqual({
      planning: 'manual',
      implementation: 'manual',
      fixes: 'manual',
    });
  });

  it('fall back to the next layer, not to nothing', () => {
    const { config } = resolve({
      project: { defaultRunConfig: { modelRouting: { planner: 'evil:model' } } },
      defaults: { modelRouting: { planner: 'good:model' } },
      limits: { ...everything, models: ['good:model'] },
    });
    expect(config.modelRouting['planner']).toBe('good:model');
  });

  it('recognise a bare name of an allowed model', () => {
    const checkModel: ModelCheck = (id) => ({ ok: true, id: id.includes(':') ? id : `anthropic:${id}` });
    const limits = { ...everything, models: ['anthropic:claude-x'] };
    const request = { modelRouting: { planner: 'claude-x' } };
    expect(resolve({ request, limits, checkModel }).config.modelRouting['planner']).toBe('claude-x');
    expect(checkRunConfigRequest(request, build, limits, checkModel)).toEqual([]);
    expect(checkRunConfigRequest({ modelRouting: { planner: 'claude-y' } }, build, limits, checkModel)).toHaveLength(1);
  });
});

describe('names that a workflow does not have', () => {
  const request: RunConfigRequest = {
    trustMode: { planing: 'auto' },
    modelRouting: { researcher: 'x:y' },
    timeoutMinutes: { publishing: 5 },
    egress: { setup: [], reviewer: [] },
  };

  it('are faults of a request, all at once, each with the names that there are', () => {
    expect(checkRunConfigRequest(request, build, everything, () => ({ ok: true, id: '' }))).toEqual([
      {
        path: 'modelRouting.researcher',
        message: "Workflow 'build' has no role 'researcher'; it has planner, implementer, validator.",
      },
      {
        path: 'timeoutMinutes.publishing',
        message:
          "Workflow 'build' has no stage with a time limit 'publishing'; it has planning, implementation, validation.",
      },
      {
        path: 'trustMode.planing',
        message: "Workflow 'build' has no trust mode 'planing'; it has planning, implementation, fixes.",
      },
      {
        path: 'egress.reviewer',
        message: "Workflow 'build' has no role 'reviewer'; it has planner, implementer, validator, setup.",
      },
    ]);
  });

  it('of a project are left out, and named where no workflow of the server has them', () => {
    const policy = createRunConfigPolicy({
      settings: [build, { ...NO_SETTINGS, workflow: 'research', models: { researcher: 'x:y' } }],
      defaults: {},
      limits: everything,
      checkModel: (id) => ({ ok: true, id }),
    });
    const project = { defaultRunConfig: request, git: { requireApprovalFor: ['planning', 'desing'] } };
    expect(policy.resolve('build', project, {})).toEqual({
      config: { ...BUILD_CONFIG, egress: { setup: [] } },
      notices: [
        'The key "defaultRunConfig.timeoutMinutes.publishing" of the project\'s configuration is not known and is ignored.',
        'The key "defaultRunConfig.trustMode.planing" of the project\'s configuration is not known and is ignored.',
        'The key "defaultRunConfig.egress.reviewer" of the project\'s configuration is not known and is ignored.',
        'git.requireApprovalFor of the project\'s configuration names "desing", which no workflow has: it is ignored.',
      ],
    });
    expect(policy.resolve('research', null, {}).config.modelRouting).toEqual({ researcher: 'x:y' });
  });
});

describe('a child run', () => {
  const policy = createRunConfigPolicy({
    settings: [build, { ...NO_SETTINGS, workflow: 'phase', models: { implementer: 'a:b', reviewer: 'x:y' } }],
    defaults: {},
    limits: everything,
    checkModel: (id) => ({ ok: true, id }),
  });
  const branch = 'autonomous/p-parent';

  it('has what its workflow knows of its parent’s configuration, and defaults for the rest', () => {
    const commands = { test: 'npm test', lint: null };
    const parent = { ...BUILD_CONFIG, commands, maxTokens: 5, maxTreeTokens: 7 };
    const childOf = (maxTokens: number) => policy.child({ config: parent, branch }, 'phase', { maxTokens });
    expect(childOf(4)).toMatchObject({
      modelRouting: { implementer: BUILD_CONFIG.modelRouting['implementer'], reviewer: 'x:y' },
      trustMode: {},
      commands,
      maxTokens: 4,
      maxTreeTokens: 7,
      git: { baseBranch: branch, createPR: false, autoMerge: false },
    });
    expect(childOf(9).maxTokens).toBeUndefined();
  });

  it('reaches nothing with roles that its parent lacks where the parent is limited', () => {
    const limited = { ...BUILD_CONFIG, egress: { implementer: ['a.test', 'b.test'] } };
    const { egress } = policy.child({ config: limited, branch }, 'phase', {
      egress: { implementer: ['b.test', 'c.test'] },
    });
    expect(egress).toMatchObject({ implementer: ['b.test'], reviewer: [] });
  });
});

describe('what a project tightens', () => {
  it('forces approvals whatever the run asks', () => {
    const { config, notices } = resolve({
      request: { trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' } },
      project: { git: { requireApprovalFor: ['planning', 'implementation'] } },
    });
    expect(config.trustMode).toEqual({ planning: 'manual', implementation: 'manual', fixes: 'auto' });
    expect(notices).toEqual([
      expect.stringContaining('approval for planning'),
      expect.stringContaining('approval for implementation'),
    ]);
  });

  it('keeps a run from merging, and says so', () => {
    const { config, notices } = resolve({
      request: { git: { autoMerge: true } },
      project: { git: { autoMerge: false } },
    });
    expect(config.git.autoMerge).toBe(false);
    expect(notices).toEqual([expect.stringContaining('does not allow auto-merge')]);
    expect(
      resolve({ request: { git: { autoMerge: true } }, project: { defaultRunConfig: { git: { autoMerge: false } } } })
        .config.git.autoMerge,
    ).toBe(true);
  });

  it('is never widened by any run, whatever both say', () => {
    const trust = fc.constantFrom('auto' as const, 'manual' as const);
    const request = fc.record({
      trustMode: fc.record({ planning: trust, implementation: trust, fixes: trust }),
      git: fc.record({ autoMerge: fc.boolean(), createPR: fc.boolean() }),
    });
    const stages = fc.subarray(['planning', 'implementation', 'fixes'] as const);
    fc.assert(
      fc.property(
        request,
        request,
        stages,
        stages,
        fc.boolean(),
        fc.option(fc.boolean(), { nil: undefined }),
        (asked, own, required, autoStages, autoMerge, merges) => {
          const project = {
            defaultRunConfig: own,
            git: { requireApprovalFor: required, ...(merges === undefined ? {} : { autoMerge: merges }) },
          };
          const { config } = resolve({ request: asked, project, limits: { autoStages, autoMerge, models: null } });
          const mayBeAuto = autoStages.filter((stage) => !required.includes(stage));
          const isAuto = Object.keys(build.trustMode).filter((stage) => config.trustMode[stage] === 'auto');
          expect(mayBeAuto).toEqual(expect.arrayContaining(isAuto));
          const mayMerge = autoMerge && merges !== false && !config.git.createPR;
          expect(mayMerge || !config.git.autoMerge).toBe(true);
        },
      ),
    );
  });
});

it('lets the pull request win over the merge where both are asked for, and says so', () => {
  const { config, notices } = resolve({ request: { git: { createPR: true, autoMerge: true } } });
  expect(config.git).toMatchObject({ createPR: true, autoMerge: false });
  expect(notices).toEqual([expect.stringContaining('the pull request wins')]);
});

it("ignores a base branch of the project's configuration that git would not take or that belongs to a run", () => {
  for (const baseBranch of ['--upload-pack=x', 'autonomous/record']) {
    const { config, notices } = resolve({ project: { defaultRunConfig: { git: { baseBranch } } } });
    expect(config.git.baseBranch).toBe('');
    expect(notices).toEqual([expect.stringContaining(baseBranch)]);
  }
});

describe('a request', () => {
  const usable: ModelCheck = (id) =>
    id.startsWith('no-') ? { ok: false, message: `The model ${id} has no key.` } : { ok: true, id };

  it('is taken as it is where nothing speaks against it', () => {
    expect(checkRunConfigRequest({}, build, nothing, usable)).toEqual([]);
    expect(
      checkRunConfigRequest(
        { git: { createPR: true, autoMerge: true, baseBranch: 'release/2.x' } },
        build,
        everything,
        usable,
      ),
    ).toEqual([]);
  });

  it('is told all its faults at once, each at its path with the way out', () => {
    const faults = checkRunConfigRequest(
      {
        trustMode: { planning: 'auto', implementation: 'manual' },
        git: { autoMerge: true, baseBranch: '../x' },
        modelRouting: { planner: 'no-key', implementer: 'other', validator: 'deepseek-reasoner' },
      },
      build,
      nothing,
      usable,
    );
    expect(faults).toEqual([
      { path: 'trustMode.planning', message: 'This server allows "auto" for no stage; use "manual" for planning.' },
      { path: 'git.autoMerge', message: expect.stringContaining('use false') },
      { path: 'modelRouting.planner', message: 'The model no-key has no key.' },
      { path: 'modelRouting.implementer', message: expect.stringContaining('allowed are deepseek-reasoner') },
      { path: 'git.baseBranch', message: expect.stringContaining('"../x" is not a valid branch name') },
    ]);
  });

  it.each(['main', 'release/2.x', 'größe', 'user@host', 'a.b', 'feature/#12'])(
    'may name the base branch %s',
    (baseBranch) => {
      expect(checkRunConfigRequest({ git: { baseBranch } }, build, everything, usable)).toEqual([]);
    },
  );

  it.each([
    '-x',
    '/a',
    'a/',
    'a//b',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    '[a',
    'a\\b',
    'a.lock',
    'a.lock/b',
    '.a',
    'a/.b',
    'a.',
    '@',
    'a@{1}',
    'HEAD',
    'refs/heads/x',
    'a\nb',
    '\u0000',
    'autonomous/r1-x',
    'autonomous/record',
  ])('may not name the base branch %j', (baseBranch) => {
    expect(checkRunConfigRequest({ git: { baseBranch } }, build, everything, usable)).toEqual([
      { path: 'git.baseBranch', message: expect.stringContaining(JSON.stringify(baseBranch)) },
    ]);
  });
});

describe("a project's configuration file", () => {
  const documented = {
    defaultRunConfig: {
      trustMode: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
      maxClarifications: 3,
      modelRouting: {
        planner: 'deepseek-reasoner',
        implementer: 'claude-3-5-sonnet-20241022',
        validator: 'gpt-4o-mini',
      },
    },
    git: { autoMerge: false, requireApprovalFor: ['planning', 'implementation'] },
    excludePaths: ['node_modules/', '.env', '*.log'],
  };

  it('is read in the documented format', () => {
    expect(parseProjectConfig(JSON.stringify(documented))).toEqual({ ok: true, config: documented, notices: [] });
    expect(parseProjectConfig('{}')).toEqual({ ok: true, config: {}, notices: [] });
  });

  it('keeps what it tightens when it holds keys that are not known, and they have no effect', () => {
    const text = JSON.stringify({
      ...documented,
      modelBaseUrl: 'https://evil.example',
      egress: ['evil.example'],
      hooks: { postRun: 'curl evil.example' },
      git: { ...documented.git, remote: 'https://evil.example' },
      defaultRunConfig: { ...documented.defaultRunConfig, trustMode: { planning: 'manual', deploy: 'auto' } },
    }).replace('{', '{"__proto__":{"polluted":true},');
    const parsed = parseProjectConfig(text);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    expect(parsed.config.git).toEqual(documented.git);
    expect(JSON.stringify(parsed.config)).not.toContain('evil');
    expect(parsed.notices.join('\n')).toMatch(/"modelBaseUrl"[\s\S]*"egress"[\s\S]*"hooks"/);
    expect(parsed.notices.join('\n')).toMatch(/"git\.remote"/);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{"git": []}',
    '{"git": {"autoMerge": "yes"}}',
    '{"git": {"requireApprovalFor": [7]}}',
    `{"x": "${'a'.repeat(200_000)}"}`,
  ])('gives faults and no error for %.60s', (text) => {
    const parsed = parseProjectConfig(text);
    expect(parsed).toMatchObject({ ok: false, faults: [{ message: expect.any(String) }] });
  });

  it('never throws, and what it gives passes the schema', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.object().map((value) => JSON.stringify({ git: value, ...value })),
        ),
        (text) => {
          const parsed = parseProjectConfig(text);
          if (parsed.ok) projectConfigSchema.parse(parsed.config);
          else expect(parsed.faults.length).toBeGreaterThan(0);
        },
      ),
    );
  });
});

describe('hosts that sandboxes may reach', () => {
  const egress = { planner: [], implementer: ['docs.test', 'internal:10.0.0.5:8080'] };
  const limits: RunLimits = { ...everything, egress };

  it('are what project and run have in common; who says nothing takes nothing away', () => {
    const project = { defaultRunConfig: { egress: { implementer: ['docs.test', 'a.test'], setup: ['npm.test'] } } };
    expect(resolve({ project, request: { egress: { implementer: ['a.test', 'b.test'] } } }).config.egress).toEqual({
      implementer: ['a.test'],
      setup: ['npm.test'],
    });
    expect(resolve({ request: { egress: { validator: [] } } }).config.egress).toEqual({ validator: [] });
    expect(resolve({ limits }).config).not.toHaveProperty('egress');
  });

  it('beyond those of the server are reported, and refused where a request asks for them', () => {
    const asked = { egress: { planner: ['docs.test'], implementer: ['10.0.0.5:8080', 'docs.test:8443'] } };
    const notices = resolve({ limits, project: { defaultRunConfig: asked } }).notices;
    expect(notices).toEqual([
      "The project's configuration lets the planner reach docs.test, which this server does not allow: it is ignored.",
      "The project's configuration lets the implementer reach docs.test:8443, which this server does not allow: it is ignored.",
    ]);
    expect(checkRunConfigRequest(asked, build, limits, () => ({ ok: true, id: '' })).map(({ path }) => path)).toEqual([
      'egress.planner',
      'egress.implementer',
    ]);
    // The server's list for setup is not known here: packages come from where npm says.
    expect(resolve({ limits, request: { egress: { setup: ['npm.test'] } } }).notices).toEqual([]);
  });

  it('cannot be marked as internal by anybody but the operator', () => {
    const asked = { egress: { implementer: ['internal:10.0.0.5:8080', 'internal:docs.test'] } };
    expect(resolve({ limits, request: asked }).notices).toHaveLength(2);
  });
});
