import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { rebuiltPause } from './rebuilt-pause.ts';
import { faultOfConfigs } from './recorded-config.ts';

const event = (type: string, payload: object): WorkflowEvent =>
  ({ type, sequence: 3, payload: payload as JsonObject }) as WorkflowEvent;
const faultOf = (config: object): string | null => faultOfConfigs([event('RUN_STARTED', { config })]);

const CONFIG = {
  trustMode: { planning: 'manual', implementation: 'manual', fixes: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { planner: 'a', implementer: 'b', validator: 'c' },
  timeoutMinutes: { planning: 10, implementation: 60, validation: 20 },
  git: { createPR: true, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: { setup: null },
};

describe('the configuration of a recorded run', () => {
  it('may be any that a server has written, also with extended time limits', () => {
    expect(faultOf(CONFIG)).toBeNull();
    expect(faultOf(BUILT_IN_RUN_CONFIG)).toBeNull();
    expect(faultOf({ ...CONFIG, timeoutMinutes: { planning: 20_000 } })).toBeNull();
    expect(faultOfConfigs([event('RUN_FORKED', {}), event('ERASED', { type: 'RUN_STARTED' })])).toBeNull();
  });

  it.each([
    ['config.git.autoMerge', { git: { ...CONFIG.git, autoMerge: 1 } }],
    ['config.git.createPR', { git: { ...CONFIG.git, createPR: 'no' } }],
    ['config.trustMode.planning', { trustMode: { planning: 'AUTO' } }],
    ['config.trustMode.(a name that is none)', { trustMode: { 'planning: manual, x': 'auto' } }],
    ['config.modelRouting.(a name that is none)', { modelRouting: { 'Two words': 'a' } }],
    ['config.timeoutMinutes.planning', { timeoutMinutes: { planning: -1 } }],
    ['config.commands.installScripts', { commands: { installScripts: 'false' } }],
    ['config.egress.planner', { egress: { planner: 'all' } }],
    ['config.maxCostUsd', { maxCostUsd: '1' }],
    ['config.maxFixAttempts', { maxFixAttempts: undefined }],
    ['config.surprise', { surprise: true }],
  ])('is refused by its field %s', (field, change) => {
    const config = { ...CONFIG, ...change };
    const said = `line 3 of its events.jsonl has a configuration that no server writes: ${field} is not valid`;
    expect(faultOf(config)).toBe(said);
    expect(faultOfConfigs([event('RUN_QUEUED', { start: { config } })])).toBe(said);
    expect(faultOfConfigs([event('RUN_CONFIGURED', { config })])).toBe(said);
  });
});

it('the pause of a rebuilt run shows each trust mode, role and model by itself, and settings as they act', () => {
  const view = aView('r-1');
  const long = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`stage${index}`.padEnd(60, 'x'), 'manual']),
  );
  const config = {
    ...view.config,
    trustMode: { ...long, implementation: 'auto' },
    modelRouting: { planner: 'one', implementer: 'two' },
    egress: { planner: [], setup: ['a.test', 'b.test'] },
    git: { ...view.config.git, autoMerge: 1 as never },
  } as typeof view.config;
  const { details } = rebuiltPause({ ...view, config }, null);
  expect(details['applies']).toEqual(
    expect.arrayContaining([
      { what: 'trust: implementation', value: 'auto' },
      { what: 'model: implementer', value: 'two' },
      { what: 'network: planner', value: 'none' },
      { what: 'network: setup', value: 'a.test b.test' },
      { what: 'autoMerge', value: 'on' },
    ]),
  );
});
