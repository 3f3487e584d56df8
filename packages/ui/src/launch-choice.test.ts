import { expect, it } from 'vitest';
import { type Choice, choiceLine, choiceOf, configOf } from './launch-choice.ts';

const CHOICE: Choice = {
  projectId: 'p-1',
  trust: { planning: 'manual', implementation: 'auto', fixes: 'auto' },
  models: {},
  budgets: {},
  baseBranch: '',
};

it('asks for nothing that was not written', () => {
  expect(configOf(CHOICE, false)).toEqual({ trustMode: CHOICE.trust });
});

it('asks for what was written, and for a budget of all approaches where there are several', () => {
  const choice: Choice = {
    ...CHOICE,
    models: { planner: ' openai:gpt-4o ', validator: ' ' },
    budgets: { maxCostUsd: '2.5', maxTreeCostUsd: '6' },
    baseBranch: ' next ',
  };
  const alone = {
    trustMode: CHOICE.trust,
    modelRouting: { planner: 'openai:gpt-4o' },
    git: { baseBranch: 'next' },
    maxCostUsd: 2.5,
  };
  expect(configOf(choice, false)).toEqual(alone);
  expect(configOf(choice, true)).toEqual({ ...alone, maxTreeCostUsd: 6 });
});

it('is read back from what a run was asked for with', () => {
  const choice: Choice = {
    ...CHOICE,
    trust: { planning: 'auto', implementation: 'manual', fixes: 'auto' },
    models: { implementer: 'openai:gpt-4o' },
    budgets: { maxCostUsd: '2.5', maxTreeCostUsd: '6' },
    baseBranch: 'next',
  };
  expect(choiceOf('p-1', configOf(choice, true))).toEqual(choice);
  expect(choiceOf('p-1')).toEqual(CHOICE);
});

it('is told in one line', () => {
  expect(choiceLine({ ...CHOICE, models: { planner: ' ' } }, false)).toBe(
    'models, budgets and base branch as configured by the project or the server',
  );
  const models = { planner: 'openai:gpt-5', validator: ' mistral:large ' };
  const budgets = { maxCostUsd: '5', maxToolCalls: '200' };
  expect(choiceLine({ ...CHOICE, models, budgets, baseBranch: 'next' }, false)).toBe(
    'planner openai:gpt-5, validator mistral:large, at most 5 US dollars, at most 200 tool calls, from next',
  );
});

it('names the budget of all approaches only where there are several, as it is sent', () => {
  const choice = { ...CHOICE, budgets: { maxTreeCostUsd: '5' } };
  expect(choiceLine(choice, true)).toBe('at most 5 US dollars for all approaches');
  expect(configOf(choice, true)).toMatchObject({ maxTreeCostUsd: 5 });
  expect(choiceLine(choice, false)).not.toContain('5');
  expect(configOf(choice, false)).not.toHaveProperty('maxTreeCostUsd');
});
