import { expect, it } from 'vitest';
import { type Choice, configOf } from './launch-options.tsx';

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
    models: { planner: ' openai:gpt-4o ' },
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
