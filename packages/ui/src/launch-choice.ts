/** Options of a new run beside its request, the same in the form and in the editor's steps. */
import type { BudgetName, NewRun } from '@autonomous/shared';

export const STAGES = ['planning', 'implementation', 'fixes'] as const;
export type Trust = Readonly<Record<(typeof STAGES)[number], 'manual' | 'auto'>>;
export const DEFAULT_TRUST: Trust = { planning: 'manual', implementation: 'auto', fixes: 'auto' };

export const ROLES = ['planner', 'implementer', 'validator'] as const;
export type Texts<Name extends string> = { readonly [Key in Name]?: string };

export interface Choice {
  readonly projectId: string;
  readonly trust: Trust;
  /** As they were written; empty ones are the server's or the project's own. */
  readonly models: Texts<(typeof ROLES)[number]>;
  readonly budgets: Texts<BudgetName>;
  readonly baseBranch: string;
}

/** What a form for new runs begins with. */
export interface LaunchDraft {
  /** Another one is another form; the same again leaves what is written in it. */
  readonly id: string;
  /** What was typed so far, one text an approach; none where nothing was. */
  readonly requests: readonly string[];
  readonly choice: Choice;
}

/** What a choice asks for. What is empty is left to the project and the server. */
export function configOf({ trust, models, budgets, baseBranch }: Choice, isExploration: boolean): NewRun['config'] {
  const numbers = budgetsOf(budgets, isExploration);
  const named = writtenOf(models);
  return {
    trustMode: trust,
    ...(named.length === 0 ? {} : { modelRouting: Object.fromEntries(named) }),
    ...(baseBranch.trim() === '' ? {} : { git: { baseBranch: baseBranch.trim() } }),
    ...Object.fromEntries(numbers.map(([name, value]) => [name, Number(value)])),
  };
}

/** The choice that a run was asked for with; what else its configuration says is nobody's choice here. */
export function choiceOf(projectId: string, config: NewRun['config'] = {}): Choice {
  const { trustMode, modelRouting = {}, git } = config;
  const budgets = BUDGETS.flatMap((name) => {
    const value = config[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  const models = ROLES.flatMap((role) => {
    const model = modelRouting[role];
    return model === undefined ? [] : [[role, model]];
  });
  return {
    projectId,
    trust: {
      planning: trustMode?.['planning'] ?? DEFAULT_TRUST.planning,
      implementation: trustMode?.['implementation'] ?? DEFAULT_TRUST.implementation,
      fixes: trustMode?.['fixes'] ?? DEFAULT_TRUST.fixes,
    },
    models: Object.fromEntries(models) as Choice['models'], // What is computed loses its names.
    budgets: Object.fromEntries(budgets) as Choice['budgets'],
    baseBranch: git?.baseBranch ?? '',
  };
}

/** `implementer openai:gpt-5, at most 5 US dollars, from next`: models, budgets and base branch in one line. */
export function choiceLine({ models, budgets, baseBranch }: Choice, isExploration: boolean): string {
  const written = [
    ...writtenOf(models).map(([role, model]) => `${role} ${model}`),
    ...budgetsOf(budgets, isExploration).map(([name, value]) => `at most ${value} ${UNITS[name] ?? name}`),
    ...(baseBranch.trim() === '' ? [] : [`from ${baseBranch.trim()}`]),
  ];
  return written.length === 0
    ? 'models, budgets and base branch as configured by the project or the server'
    : written.join(', ');
}

/** What the form has. */
const BUDGETS = ['maxCostUsd', 'maxTokens', 'maxToolCalls', 'maxTreeCostUsd'] as const satisfies readonly BudgetName[];
const UNITS: Readonly<Record<string, string>> = {
  maxCostUsd: 'US dollars',
  maxTokens: 'tokens',
  maxToolCalls: 'tool calls',
  maxTreeCostUsd: 'US dollars for all approaches',
};

/** Of one run alone, the budget of all approaches is none. */
function budgetsOf(budgets: Choice['budgets'], isExploration: boolean): readonly (readonly [string, string])[] {
  return writtenOf(budgets).filter(([name]) => isExploration || !name.startsWith('maxTree'));
}

/** Those that say something, without the blanks around them. */
function writtenOf(texts: Texts<string>): readonly (readonly [string, string])[] {
  return Object.entries(texts).flatMap(([name, text]) => (text?.trim() ? [[name, text.trim()] as const] : []));
}
