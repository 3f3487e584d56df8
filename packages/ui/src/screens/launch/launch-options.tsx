/** Options of a new run besides its request: approvals, models, budgets, base branch and how it ends. */
import { type BudgetName, configuredRoles, type Fault } from '@autonomous/shared';
import { useState } from 'react';
import { useHost } from '../../hosts/host.ts';
import { BUDGET_LABELS } from '../../labels.ts';
import { type Choice, FORM_BUDGETS, type Launchable, RUN_ENDS, type RunEnd, timedStages } from '../../launch-choice.ts';
import { faultAt } from '../../launch-faults.ts';
import { useLoaded } from '../../components/loading.tsx';
import { FormField } from './form-field.tsx';

const AS_ELSEWHERE = 'as configured by the project or the server';

/** Fields of the options, as the server's faults name them. */
export function optionPaths(workflow: Launchable): readonly string[] {
  return [
    ...configuredRoles(workflow).map(({ name }) => `config.modelRouting.${name}`),
    ...timedStages(workflow).map(({ name }) => `config.timeoutMinutes.${name}`),
    ...FORM_BUDGETS.map((name) => `config.${name}`),
    ...(workflow.needsProject ? ['config.git.baseBranch', 'config.git.createPR', 'config.git.autoMerge'] : []),
  ];
}

/** Options that most runs leave to the project. */
export function MoreOptions(props: {
  readonly workflow: Launchable;
  readonly choice: Choice;
  readonly faults: readonly Fault[];
  readonly onChoice: (choice: Choice) => void;
  readonly isExploration: boolean;
  /** The person came for them. */
  readonly isAsked: boolean;
}) {
  const { workflow, choice, faults, onChoice, isExploration, isAsked } = props;
  const { client } = useHost();
  const models = useLoaded('models', () => client.listModels());
  const usable = models.value?.filter((model) => model.usable).map(({ id }) => id) ?? [];
  const byDefault = (role: string) => models.value?.find((model) => model.defaultFor.includes(role))?.id;
  const roles = configuredRoles(workflow);
  const stages = timedStages(workflow);
  const budgets: readonly BudgetName[] = FORM_BUDGETS.filter((name) => isExploration || !name.startsWith('maxTree'));
  // As it was when the form opened: it does not close under somebody who empties its last field.
  const [wasOpen] = useState(
    () =>
      isAsked ||
      choice.baseBranch !== '' ||
      choice.end !== '' ||
      [choice.models, choice.minutes, choice.budgets].some((texts) => Object.keys(texts).length > 0),
  );
  const isFaulty = optionPaths(workflow).some((path) => faultAt(faults, path) !== null);
  const titles = [
    ...(roles.length === 0 ? [] : ['models']),
    ...(stages.length === 0 ? [] : ['time limits']),
    'budgets',
    ...(workflow.needsProject ? ['base branch', 'how it ends'] : []),
  ];
  return (
    <details className="more" open={wasOpen || isFaulty}>
      <summary>{sentence(titles.join(', '))}</summary>
      <datalist id="usable-models">
        {usable.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      {roles.map(({ name, title }) => (
        <FormField key={name} label={`Model or agent: ${title}`} fault={faultAt(faults, `config.modelRouting.${name}`)}>
          {(field) => (
            <input
              {...field}
              type="text"
              list="usable-models"
              placeholder={byDefault(name) ?? AS_ELSEWHERE}
              value={choice.models[name] ?? ''}
              onChange={({ target }) => onChoice({ ...choice, models: withText(choice.models, name, target.value) })}
            />
          )}
        </FormField>
      ))}
      {stages.map(({ name, title, timeoutMinutes }) => (
        <FormField
          key={name}
          label={`Time limit in minutes: ${title}`}
          fault={faultAt(faults, `config.timeoutMinutes.${name}`)}
        >
          {(field) => (
            <input
              {...field}
              type="number"
              min="1"
              step="any"
              placeholder={`${timeoutMinutes ?? ''}, or as the project says`}
              value={choice.minutes[name] ?? ''}
              onChange={({ target }) => onChoice({ ...choice, minutes: withText(choice.minutes, name, target.value) })}
            />
          )}
        </FormField>
      ))}
      {budgets.map((name) => (
        <FormField key={name} label={`At most: ${BUDGET_LABELS[name]}`} fault={faultAt(faults, `config.${name}`)}>
          {(field) => (
            <input
              {...field}
              type="number"
              min="0"
              step={name.endsWith('CostUsd') ? 'any' : '1'}
              placeholder={AS_ELSEWHERE}
              value={choice.budgets[name] ?? ''}
              onChange={({ target }) => onChoice({ ...choice, budgets: withText(choice.budgets, name, target.value) })}
            />
          )}
        </FormField>
      ))}
      {workflow.needsProject && (
        <FormField label="Base branch" fault={faultAt(faults, 'config.git.baseBranch')}>
          {(field) => (
            <input
              {...field}
              type="text"
              placeholder="the project's own"
              value={choice.baseBranch}
              onChange={({ target }) => onChoice({ ...choice, baseBranch: target.value })}
            />
          )}
        </FormField>
      )}
      {workflow.needsProject && (
        <FormField
          label="When the result is approved"
          fault={faultAt(faults, 'config.git.createPR') ?? faultAt(faults, 'config.git.autoMerge')}
        >
          {(field) => (
            <select
              {...field}
              value={choice.end}
              // The options below are all there is.
              onChange={({ target }) => onChoice({ ...choice, end: target.value as RunEnd })}
            >
              {Object.entries(RUN_ENDS).map(([end, title]) => (
                <option key={end} value={end}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </FormField>
      )}
    </details>
  );
}

function withText<Texts extends { readonly [name: string]: string | undefined }>(
  texts: Texts,
  name: string,
  text: string,
): Texts {
  const { [name]: _before, ...rest } = texts;
  return (text === '' ? rest : { ...rest, [name]: text }) as Texts; // A computed key has the type `string`.
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
