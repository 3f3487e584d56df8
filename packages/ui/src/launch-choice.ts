/** Options of a new run beside its request, the same in the form and in the editor's steps. */
import { fieldsOf, inputOf, type InputTexts } from '@autonomous/shared/presentation';
import {
  BUDGET_NAMES,
  type BudgetName,
  configuredRoles,
  type NewExploration,
  type NewRun,
  type TrustLevel,
  type WorkflowInfo,
  type WorkflowSummary,
} from '@autonomous/shared';

export type Texts<Name extends string> = { readonly [Key in Name]?: string };

/** The parts of a workflow's description that a choice depends on. */
export type Launchable = Pick<WorkflowSummary, 'name' | 'needsProject' | 'input'> &
  Pick<WorkflowInfo, 'roles' | 'stages' | 'trustModes'>;

/** How a run ends once its result is approved. */
export const RUN_ENDS = {
  '': 'as configured by the project or the server',
  pullRequest: 'open a pull request',
  merge: 'merge into the base branch',
  branch: 'leave the branch',
} as const;
export type RunEnd = keyof typeof RUN_ENDS;

/** Settings of the configuration for each of them. */
const END_SETTINGS = {
  '': {},
  pullRequest: { createPR: true, autoMerge: false },
  merge: { createPR: false, autoMerge: true },
  branch: { createPR: false, autoMerge: false },
} as const satisfies Record<RunEnd, object>;

export interface Choice {
  readonly workflow: string;
  /** Empty for a workflow that needs no project. */
  readonly projectId: string;
  /** By trust mode. */
  readonly trust: Readonly<Record<string, TrustLevel>>;
  /** As they were written; empty ones are the server's or the project's own. By role. */
  readonly models: Readonly<Record<string, string>>;
  /** Minutes, as they were written. By stage. */
  readonly minutes: Readonly<Record<string, string>>;
  readonly budgets: Texts<BudgetName>;
  readonly baseBranch: string;
  readonly end: RunEnd;
  /** The fields of the workflow's own input, as they were filled in. */
  readonly input: InputTexts;
}

/** Initial content of a form for new runs. */
export interface LaunchDraft {
  /** Another one is another form; the same again leaves what is written in it. */
  readonly id: string;
  /** Requests typed so far, one per approach. Empty: none. */
  readonly requests: readonly string[];
  /** Absent: what was chosen last. */
  readonly choice: Partial<Choice>;
}

/**
 * A choice for a workflow that begins with an earlier one.
 * @param found an earlier choice, perhaps for another version of the workflow: what the workflow does not have is left out
 */
export function choiceFor(workflow: Launchable, projectId: string, found: Partial<Choice> = {}): Choice {
  const trust = workflow.trustModes.map((mode) => [mode.name, found.trust?.[mode.name] ?? mode.default] as const);
  const roles = configuredRoles(workflow).map(({ name }) => name);
  const stages = timedStages(workflow).map(({ name }) => name);
  const names = new Set(fieldsOf(workflow.input).map(({ name }) => name));
  return {
    workflow: workflow.name,
    projectId: workflow.needsProject ? projectId : '',
    trust: Object.fromEntries(trust),
    models: picked(found.models, roles),
    minutes: picked(found.minutes, stages),
    budgets: found.budgets ?? {},
    baseBranch: found.baseBranch ?? '',
    // A merge that one project was to end with is nobody's choice for another one.
    end: found.projectId === undefined || found.projectId === projectId ? endNamed(found.end) : '',
    input: Object.fromEntries(Object.entries(found.input ?? {}).filter(([name]) => names.has(name))),
  };
}

/** Stages of which a person may set the time limit. */
export function timedStages({ stages }: Pick<Launchable, 'stages'>): Launchable['stages'] {
  return stages.filter(({ timeoutMinutes }) => timeoutMinutes !== undefined);
}

/** Returns the configuration that a choice requests. Empty fields are left to the project and the server. */
export function configOf(choice: Choice, isExploration: boolean): NonNullable<NewRun['config']> {
  const { trust, models, minutes, budgets, baseBranch, end } = choice;
  const git = { ...(baseBranch.trim() === '' ? {} : { baseBranch: baseBranch.trim() }), ...END_SETTINGS[end] };
  const named = writtenOf(models);
  const limits = writtenOf(minutes).map(([stage, text]) => [stage, Number(text)] as const);
  const numbers = budgetsOf(budgets, isExploration).map(([name, value]) => [name, Number(value)] as const);
  const config = {
    ...(Object.keys(trust).length === 0 ? {} : { trustMode: trust }),
    ...(named.length === 0 ? {} : { modelRouting: Object.fromEntries(named) }),
    ...(limits.length === 0 ? {} : { timeoutMinutes: Object.fromEntries(limits) }),
    ...(Object.keys(git).length === 0 ? {} : { git }),
    ...Object.fromEntries(numbers),
  };
  // Names of roles, stages and trust modes are those of the workflow: the server checks them.
  return config;
}

/** The request of one run; its faults are in the workflow's own input, by `input.<field>`. */
export function launchOf(workflow: Launchable, choice: Choice, request: string) {
  const { input, faults } = inputOf(fieldsOf(workflow.input), choice.input);
  const config = configOf(choice, false);
  const launch: NewRun = {
    workflow: workflow.name,
    ...(workflow.needsProject ? { projectId: choice.projectId } : {}),
    ...(request.trim() === '' ? {} : { request: request.trim() }),
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(input === undefined ? {} : { input }),
  };
  return { launch, faults };
}

/** The request of several runs side by side, one a text; its faults are in the workflow's own input, by `input.<field>`. */
export function explorationOf(workflow: Launchable, choice: Choice, requests: readonly string[]) {
  const { input, faults } = inputOf(fieldsOf(workflow.input), choice.input);
  const config = configOf(choice, true);
  const rest = { config, ...(input === undefined ? {} : { input }) };
  const exploration: NewExploration = {
    projectId: choice.projectId,
    workflow: workflow.name,
    variants: requests.map((request) => ({ request: request.trim(), ...rest })),
  };
  return { exploration, faults };
}

/** The choice that a run was asked for with; what else its configuration says is nobody's choice here. */
export function choiceOf(launch: Pick<NewRun, 'projectId' | 'workflow' | 'config'>): Partial<Choice> {
  const { projectId, workflow, config = {} } = launch;
  const budgets = FORM_BUDGETS.flatMap((name) => {
    const value = config[name];
    return value === undefined || value === null ? [] : [[name, String(value)]];
  });
  const minutes = Object.entries(config.timeoutMinutes ?? {}).map(([stage, value]) => [stage, String(value)] as const);
  return {
    ...(workflow === undefined ? {} : { workflow }),
    projectId: projectId ?? '',
    ...(config.trustMode === undefined ? {} : { trust: { ...config.trustMode } }),
    // A name that is present has a model.
    models: { ...config.modelRouting },
    minutes: Object.fromEntries(minutes),
    budgets: Object.fromEntries(budgets) as Choice['budgets'], // `fromEntries` loses the names of the keys.
    baseBranch: config.git?.baseBranch ?? '',
    end: endOf(config.git),
  };
}

function endOf(git: NonNullable<NonNullable<NewRun['config']>['git']> = {}): RunEnd {
  const { createPR, autoMerge } = git;
  if (createPR === true) return 'pullRequest';
  if (autoMerge === true) return 'merge';
  return createPR === false && autoMerge === false ? 'branch' : '';
}

/** An earlier choice may be of another version. */
function endNamed(name: string = ''): RunEnd {
  return Object.keys(RUN_ENDS).find((end): end is RunEnd => end === name) ?? '';
}

/** `implementer openai:gpt-5, at most 5 US dollars, from next`: models, time limits, budgets, base branch and end in one line. */
export function choiceLine({ models, minutes, budgets, baseBranch, end }: Choice, isExploration: boolean): string {
  const written = [
    ...writtenOf(models).map(([role, model]) => `${role} ${model}`),
    ...writtenOf(minutes).map(([stage, text]) => `${stage} ${text} min`),
    ...budgetsOf(budgets, isExploration).map(([name, value]) => `at most ${value} ${UNITS[name] ?? name}`),
    ...(baseBranch.trim() === '' ? [] : [`from ${baseBranch.trim()}`]),
    ...(end === '' ? [] : [`in the end ${RUN_ENDS[end]}`]),
  ];
  return written.length === 0
    ? 'models, budgets and end as configured by the project or the server'
    : written.join(', ');
}

/** Budgets that the form has. */
export const FORM_BUDGETS = [
  'maxCostUsd',
  'maxTokens',
  'maxToolCalls',
  'maxTreeCostUsd',
] as const satisfies BudgetName[];
const UNITS: Readonly<Record<string, string>> = {
  maxCostUsd: 'US dollars',
  maxTokens: 'tokens',
  maxToolCalls: 'tool calls',
  maxTreeCostUsd: 'US dollars for all approaches',
};

/** A single run has no budget for all approaches. */
function budgetsOf(budgets: Choice['budgets'], isExploration: boolean): readonly (readonly [string, string])[] {
  const known = writtenOf(budgets).filter(([name]) => BUDGET_NAMES.some((budget) => budget === name));
  return known.filter(([name]) => isExploration || !name.startsWith('maxTree'));
}

function picked(
  texts: Readonly<Record<string, string>> = {},
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => names.includes(name)));
}

/** Those that say something, without the blanks around them. */
function writtenOf(texts: Texts<string>): readonly (readonly [string, string])[] {
  return Object.entries(texts).flatMap(([name, text]) => (text?.trim() ? [[name, text.trim()] as const] : []));
}

/** Choices of earlier launches. */
export interface KeptChoices extends Partial<Choice> {
  readonly byWorkflow?: Readonly<Record<string, Pick<Choice, 'trust' | 'models' | 'minutes'>>>;
}

/** Last choice for a workflow, with the project, budgets, base branch and end of the last choice for any. */
export function keptFor(kept: KeptChoices, workflow: string): Partial<Choice> {
  const { byWorkflow, trust: _trust, models: _models, minutes: _minutes, input: _input, ...common } = kept;
  return { ...common, ...byWorkflow?.[workflow] };
}

/** Choice to keep after a launch, without the workflow's own input, which may be confidential. */
export function keptAfter(kept: KeptChoices, { input: _input, ...choice }: Choice): KeptChoices {
  const { trust, models, minutes } = choice;
  // A choice that names no project or base branch of its own leaves the last ones.
  const projectId = choice.projectId === '' ? (kept.projectId ?? '') : choice.projectId;
  return {
    ...choice,
    projectId,
    byWorkflow: { ...kept.byWorkflow, [choice.workflow]: { trust, models, minutes } },
  };
}
