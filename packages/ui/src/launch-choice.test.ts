import { aWorkflow } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import {
  type Choice,
  choiceFor,
  choiceLine,
  choiceOf,
  configOf,
  explorationOf,
  keptAfter,
  keptFor,
  launchOf,
} from './launch-choice.ts';

const workflow = aWorkflow();
const CHOICE: Choice = {
  workflow: 'build',
  projectId: 'p-1',
  trust: { planning: 'manual', implementation: 'auto' },
  models: {},
  minutes: {},
  budgets: {},
  baseBranch: '',
  end: '',
  input: {},
};

it('begins with what the workflow declares', () => {
  expect(choiceFor(workflow, 'p-1')).toEqual(CHOICE);
});

it('takes of an earlier choice what the workflow has, for roles, stages and fields alike', () => {
  const input = { type: 'object', properties: { topic: { type: 'string' } } };
  const research = aWorkflow({
    name: 'research',
    needsProject: false,
    trustModes: [{ name: 'report', title: 'Report', description: '', default: 'manual' }],
    roles: [{ name: 'reader', title: 'Reader' }],
    stages: [{ name: 'reading', title: 'Reading', timeoutMinutes: 5 }],
    input,
  });
  const found = {
    trust: { planning: 'auto', report: 'auto' },
    models: { planner: 'a:b', reader: 'c:d' },
    minutes: { planning: '3', reading: '4' },
    input: { topic: 'bees', gone: 'x' },
  } as const;
  expect(choiceFor(research, 'p-1', found)).toEqual({
    workflow: 'research',
    projectId: '',
    trust: { report: 'auto' },
    models: { reader: 'c:d' },
    minutes: { reading: '4' },
    budgets: {},
    baseBranch: '',
    end: '',
    input: { topic: 'bees' },
  });
});

it('asks for nothing that was not written', () => {
  expect(configOf(CHOICE, false)).toEqual({ trustMode: CHOICE.trust });
});

it('asks for what was written, and for a budget of all approaches where there are several', () => {
  const choice: Choice = {
    ...CHOICE,
    models: { planner: ' openai:gpt-4o ', implementer: ' ' },
    minutes: { planning: ' 20 ' },
    budgets: { maxCostUsd: '2.5', maxTreeCostUsd: '6' },
    baseBranch: ' next ',
  };
  const alone = {
    trustMode: CHOICE.trust,
    modelRouting: { planner: 'openai:gpt-4o' },
    timeoutMinutes: { planning: 20 },
    git: { baseBranch: 'next' },
    maxCostUsd: 2.5,
  };
  expect(configOf(choice, false)).toEqual(alone);
  expect(configOf(choice, true)).toEqual({ ...alone, maxTreeCostUsd: 6 });
});

it('is read back from what a run was asked for with', () => {
  const choice: Choice = {
    ...CHOICE,
    trust: { planning: 'auto', implementation: 'manual' },
    models: { implementer: 'openai:gpt-4o' },
    minutes: { implementation: '90' },
    budgets: { maxCostUsd: '2.5', maxTreeCostUsd: '6' },
    baseBranch: 'next',
    end: 'branch',
  };
  const launch = { workflow: 'build', projectId: 'p-1', config: configOf(choice, true) };
  expect(choiceFor(workflow, 'p-1', choiceOf(launch))).toEqual(choice);
  expect(choiceFor(workflow, 'p-1', choiceOf({ projectId: 'p-1' }))).toEqual(CHOICE);
});

describe('A launch', () => {
  it('of a workflow without a project, a request and choices is its name alone', () => {
    const bare = aWorkflow({ name: 'ping', needsProject: false, trustModes: [], roles: [], stages: [] });
    expect(launchOf(bare, choiceFor(bare, 'p-1'), ' ')).toEqual({ launch: { workflow: 'ping' }, faults: [] });
  });

  it('has the input that its fields make, with the faults of those', () => {
    const input = {
      type: 'object',
      properties: { customer: { type: 'string' }, cents: { type: 'integer' } },
      required: ['customer', 'cents'],
    };
    const invoice = aWorkflow({ name: 'invoice', needsProject: false, trustModes: [], input });
    const choice = choiceFor(invoice, '', { input: { cents: '5' } });
    const { launch, faults } = launchOf(invoice, choice, '');
    expect(launch.input).toEqual({ cents: 5 });
    expect(faults).toEqual([{ path: 'input.customer', message: 'This is needed.' }]);
  });
});

it('is kept by workflow, without the input', () => {
  const research = {
    ...CHOICE,
    workflow: 'research',
    projectId: '',
    trust: { report: 'auto' },
    input: { key: 's' },
  } as const;
  const kept = keptAfter(keptAfter({}, { ...CHOICE, models: { planner: 'a:b' } }), research);
  expect(JSON.stringify(kept)).not.toContain('"key"');
  expect(kept.projectId).toBe('p-1');
  expect(keptFor(kept, 'build')).toMatchObject({ models: { planner: 'a:b' }, trust: CHOICE.trust });
  expect(keptFor(kept, 'research')).toMatchObject({ trust: { report: 'auto' } });
  expect(keptFor(kept, 'unknown').trust).toBeUndefined();
});

it('is told in one line', () => {
  expect(choiceLine({ ...CHOICE, models: { planner: ' ' } }, false)).toBe(
    'models, budgets and end as configured by the project or the server',
  );
  const models = { planner: 'openai:gpt-5', validator: ' mistral:large ' };
  const budgets = { maxCostUsd: '5', maxToolCalls: '200' };
  const choice = { ...CHOICE, models, minutes: { planning: '20' }, budgets, baseBranch: 'next' };
  expect(choiceLine(choice, false)).toBe(
    'planner openai:gpt-5, validator mistral:large, planning 20 min, at most 5 US dollars, at most 200 tool calls, from next',
  );
});

it('says how the run ends, and nothing where that is left to the project', () => {
  const ends = {
    '': undefined,
    pullRequest: { createPR: true, autoMerge: false },
    merge: { createPR: false, autoMerge: true },
    branch: { createPR: false, autoMerge: false },
  } as const;
  for (const [end, git] of Object.entries(ends)) {
    const choice = choiceFor(workflow, 'p-1', { ...CHOICE, end: end as Choice['end'] }); // the names above
    expect(configOf(choice, false).git).toEqual(git);
    expect(choiceOf({ projectId: 'p-1', config: configOf(choice, false) }).end).toBe(end);
  }
  expect(choiceFor(workflow, 'p-2', { ...CHOICE, end: 'merge' }).end).toBe('');
  expect(choiceFor(workflow, 'p-1', { end: 'rocket' as Choice['end'] }).end).toBe('');
  expect(choiceLine({ ...CHOICE, end: 'pullRequest' }, false)).toBe('in the end open a pull request');
});

it('asks for several runs of the chosen workflow, each with its input', () => {
  const input = { type: 'object', properties: { planPath: { type: 'string' } }, required: ['planPath'] };
  const workflow = aWorkflow({ name: 'phased-plan', input });
  const choice: Choice = { ...CHOICE, workflow: 'phased-plan', trust: {}, input: { planPath: 'PLAN.md' } };
  const rest = { config: {}, input: { planPath: 'PLAN.md' } };
  expect(explorationOf(workflow, choice, ['One ', 'Two'])).toEqual({
    exploration: {
      projectId: CHOICE.projectId,
      workflow: 'phased-plan',
      variants: [
        { request: 'One', ...rest },
        { request: 'Two', ...rest },
      ],
    },
    faults: [],
  });
});

it('names the budget of all approaches only where there are several, as it is sent', () => {
  const choice = { ...CHOICE, budgets: { maxTreeCostUsd: '5' } };
  expect(choiceLine(choice, true)).toBe('at most 5 US dollars for all approaches');
  expect(configOf(choice, true)).toMatchObject({ maxTreeCostUsd: 5 });
  expect(choiceLine(choice, false)).not.toContain('5');
  expect(configOf(choice, false)).not.toHaveProperty('maxTreeCostUsd');
});
