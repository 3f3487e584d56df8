/** Options of a new run besides its request: approvals, models, budgets and base branch. */
import type { BudgetName } from '@autonomous/shared';
import { useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { BUDGET_LABELS } from '../labels.ts';
import { type Choice, ROLES, type Texts } from '../launch-choice.ts';
import { useLoaded } from '../components/loading.tsx';

const MODEL_TITLES: Readonly<Record<(typeof ROLES)[number], string>> = {
  planner: 'Model of the planner',
  implementer: 'Model or agent of the implementer',
  validator: 'Model of the validator',
};
const OWN_BUDGETS = ['maxCostUsd', 'maxTokens', 'maxToolCalls'] as const;

const AS_ELSEWHERE = 'as configured by the project or the server';

/** What most runs leave as the project has it. */
export function MoreOptions(props: {
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  readonly isExploration: boolean;
  /** The person came for them. */
  readonly isAsked: boolean;
}) {
  const { choice, onChoice, isExploration, isAsked } = props;
  const { client } = useHost();
  const models = useLoaded('models', () => client.listModels());
  const usable = models.value?.filter((model) => model.usable).map(({ id }) => id) ?? [];
  const byDefault = (role: string) => models.value?.find((model) => model.defaultFor.includes(role))?.id;
  const budgets: readonly BudgetName[] = [...OWN_BUDGETS, ...(isExploration ? (['maxTreeCostUsd'] as const) : [])];
  // As it was when the form opened: it does not close under somebody who empties its last field.
  const [isOpen] = useState(
    () =>
      isAsked ||
      choice.baseBranch !== '' ||
      [choice.models, choice.budgets].some((texts) => Object.keys(texts).length > 0),
  );
  return (
    <details className="more" open={isOpen}>
      <summary>Models, budgets, base branch</summary>
      <datalist id="usable-models">
        {usable.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      {ROLES.map((role) => (
        <label className="field" key={role}>
          {MODEL_TITLES[role]}
          <input
            type="text"
            list="usable-models"
            placeholder={byDefault(role) ?? AS_ELSEWHERE}
            value={choice.models[role] ?? ''}
            onChange={({ target }) => onChoice({ ...choice, models: withText(choice.models, role, target.value) })}
          />
        </label>
      ))}
      {budgets.map((name) => (
        <label className="field" key={name}>
          {`At most: ${BUDGET_LABELS[name]}`}
          <input
            type="number"
            min="0"
            step={name.endsWith('CostUsd') ? 'any' : '1'}
            placeholder={AS_ELSEWHERE}
            value={choice.budgets[name] ?? ''}
            onChange={({ target }) => onChoice({ ...choice, budgets: withText(choice.budgets, name, target.value) })}
          />
        </label>
      ))}
      <label className="field">
        Base branch
        <input
          type="text"
          placeholder="the project's own"
          value={choice.baseBranch}
          onChange={({ target }) => onChoice({ ...choice, baseBranch: target.value })}
        />
      </label>
    </details>
  );
}

function withText<Name extends string>(texts: Texts<Name>, name: Name, text: string): Texts<Name> {
  const { [name]: _before, ...rest } = texts;
  return (text === '' ? rest : { ...rest, [name]: text }) as Texts<Name>; // What is computed loses its names.
}
