/**
 * Settles the configuration of a run. Defaults go run over project over server over built-in. Limits are what server and
 * project allow together: a project can tighten what the server allows and never widen it. Pure.
 */
import { isBranchName, isOwnBranch } from '../path-rules/branch-names.ts';
import {
  BUDGET_NAMES,
  type BudgetName,
  type Budgets,
  type Fault,
  type ProjectConfig,
  projectConfigSchema,
  type RunConfig,
  type RunConfigRequest,
  runConfigRequestSchema,
  SETUP_ROLE,
  type TrustLevel,
} from '@autonomous/shared';
import {
  namesBySection,
  NO_SETTINGS,
  unknownSettings,
  type WorkflowSettings,
  withoutUnknown,
} from './workflow-settings.ts';

/** Limits for all runs of this server. */
export interface RunLimits {
  /** Trust modes that may be `auto`; `null` allows all. */
  readonly autoStages: readonly string[] | null;
  readonly autoMerge: boolean;
  /** Models that may be used; `null` allows all. */
  readonly models: readonly string[] | null;
  /**
   * Hosts that sandboxes may reach, by role; a role that is absent reaches none, and `setup`, if absent, has a list that is not
   * known here. Absent: nothing is known.
   */
  readonly egress?: Readonly<Record<string, readonly string[]>>;
  /** The most that a run's own budgets may be; absent ones are not limited. */
  readonly budgets?: Budgets;
}

/** The environment variables by which a server limits the budgets of runs. */
export const BUDGET_LIMIT_VARIABLES = {
  maxCostUsd: 'LIMIT_MAX_COST_USD',
  maxTokens: 'LIMIT_MAX_TOKENS',
  maxToolCalls: 'LIMIT_MAX_TOOL_CALLS',
  maxTreeCostUsd: 'LIMIT_MAX_TREE_COST_USD',
  maxTreeTokens: 'LIMIT_MAX_TREE_TOKENS',
  maxTreeToolCalls: 'LIMIT_MAX_TREE_TOOL_CALLS',
} as const satisfies Readonly<Record<BudgetName, string>>;

/** `Models.check`: gives the full id, or says why the model cannot be used here. */
export type ModelCheck = (
  id: string,
) => { readonly ok: true; readonly id: string } | { readonly ok: false; readonly message: string };

/**
 * Settings that every workflow has, where nobody sets them; a workflow adds its own. An empty `baseBranch` stands for the
 * project's.
 */
export const BUILT_IN_RUN_CONFIG: RunConfig = {
  trustMode: {},
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: {},
  timeoutMinutes: {},
  git: { createPR: false, autoMerge: false, baseBranch: '', mergeStrategy: 'squash' },
  commands: {},
};

/** Commands of a roadmap's item, none of which is derived from the project's files. */
const ITEM_COMMANDS = ['browserCheck', 'performanceCheck', 'docsCheck', 'release'] as const;

export interface RunConfigSources {
  /** Names that the run's workflow has, with their defaults. Default: none. */
  readonly settings?: WorkflowSettings;
  readonly server: { readonly defaults: RunConfigRequest; readonly limits: RunLimits };
  /** `.autonomous/config.json` of the base commit; `null` where there is none or it was malformed. */
  readonly project: ProjectConfig | null;
  readonly request: RunConfigRequest;
  /** A child run has the budgets that are asked for alone: those of the runs above limit it too. Default: it is none. */
  readonly isChild?: boolean;
  /** With it a limit on models compares full ids, so that a bare name is recognised; without it ids are compared as they are written. */
  readonly checkModel?: ModelCheck;
}

export interface ResolvedRunConfig {
  readonly config: RunConfig;
  /** Requested settings that do not apply, with the reason: one sentence each, for a person. */
  readonly notices: readonly string[];
  /** Merge strategy that the request, the project or the server names. Absent: none of them does. */
  readonly namedMergeStrategy?: RunConfig['git']['mergeStrategy'];
}

/**
 * The configuration that a run has. Never fails: what goes beyond a limit is ignored and said so in a notice. Requests are refused
 * before by `checkRunConfigRequest`; a limit holds here all the same.
 */
export function resolveRunConfig(sources: RunConfigSources): ResolvedRunConfig {
  const { settings = NO_SETTINGS, server, project, request, checkModel } = sources;
  const builtIn = BUILT_IN_RUN_CONFIG;
  const names = namesBySection(settings);
  const notices: string[] = [];
  const within = (layer: RunConfigRequest, who: string): RunConfigRequest =>
    withinLimits(withoutUnknown(settings, layer), names, server.limits, who, checkModel, notices);
  const ofRun = within(request, 'The run');
  const ofProject = within(projectDefaults(project), "The project's configuration");
  const layers = [
    ofRun,
    withoutInstallScripts(ofProject),
    server.defaults,
    {
      trustMode: settings.trustMode,
      modelRouting: settings.models,
      timeoutMinutes: settings.timeoutMinutes,
      ...(settings.maxConcurrency === undefined ? {} : { maxConcurrency: settings.maxConcurrency }),
    },
    builtIn,
  ];
  const choose = <Value>(read: (layer: RunConfigRequest) => Value | undefined): Value | undefined =>
    firstChoice(layers, read);
  /** Whether the project alone chose a value that lets the run go on without asking. */
  const isLoosened = <Value>(read: (layer: RunConfigRequest) => Value | undefined, loose: Value): boolean =>
    read(ofRun) === undefined && read(ofProject) === loose && firstChoice(layers.slice(2), read) !== loose;
  /** The chosen value of each name; settings hold a default for all of them. */
  const chosen = <Value>(
    defaults: Readonly<Record<string, Value>>,
    read: (layer: RunConfigRequest, name: string) => Value | undefined,
  ): Record<string, Value> =>
    Object.fromEntries(
      Object.entries(defaults).map(([name, byDefault]) => [name, choose((layer) => read(layer, name)) ?? byDefault]),
    );
  const trust = (stage: string): TrustLevel => {
    const asked = choose((layer) => layer.trustMode?.[stage]);
    if (asked !== 'auto' || !allowsAuto(server.limits, stage)) return 'manual';
    if (!(project?.git?.requireApprovalFor ?? []).includes(stage)) return 'auto';
    notices.push(`The project requires an approval for ${stage}: trustMode.${stage} is manual.`);
    return 'manual';
  };
  const commands = commandsOf(layers);
  if (
    ofProject.commands?.installScripts === true &&
    ofRun.commands?.installScripts === undefined &&
    !commands.installScripts
  )
    notices.push(INSTALL_SCRIPTS_NOTICE);
  const followPR = choose((layer) => layer.git?.followPR);
  const maxReviewRounds = choose((layer) => layer.git?.maxReviewRounds);
  const namedMergeStrategy = choose((layer) => (layer === builtIn ? undefined : layer.git?.mergeStrategy));

  const config: RunConfig = {
    trustMode: Object.fromEntries(names.trustMode.map((stage) => [stage, trust(stage)])),
    maxClarifications: choose((layer) => layer.maxClarifications) ?? builtIn.maxClarifications,
    maxConcurrency: choose((layer) => layer.maxConcurrency) ?? builtIn.maxConcurrency,
    maxFixAttempts: choose((layer) => layer.maxFixAttempts) ?? builtIn.maxFixAttempts,
    modelRouting: chosen(settings.models, (layer, role) => layer.modelRouting?.[role]),
    timeoutMinutes: chosen(settings.timeoutMinutes, (layer, stage) => layer.timeoutMinutes?.[stage]),
    git: {
      createPR: choose((layer) => layer.git?.createPR) ?? builtIn.git.createPR,
      autoMerge: choose((layer) => layer.git?.autoMerge) ?? builtIn.git.autoMerge,
      baseBranch: choose((layer) => layer.git?.baseBranch) ?? builtIn.git.baseBranch,
      mergeStrategy: namedMergeStrategy ?? builtIn.git.mergeStrategy,
      ...(followPR === undefined ? {} : { followPR }),
      ...(maxReviewRounds === undefined ? {} : { maxReviewRounds }),
    },
    commands,
    ...narrowedEgress(layers, names.egress),
    ...budgetsOf(sources, notices),
  };
  const autoMerge = mayMerge(config, server.limits, project, notices);
  const loosened = [
    ...names.trustMode
      .filter((stage) => config.trustMode[stage] === 'auto')
      .filter((stage) => isLoosened((layer) => layer.trustMode?.[stage], 'auto'))
      .map((stage) => ({ name: stage, undo: `trustMode.${stage} to manual` })),
    ...(autoMerge && isLoosened((layer) => layer.git?.autoMerge, true)
      ? [{ name: 'the merge', undo: 'git.autoMerge to false' }]
      : []),
  ];
  if (loosened.length > 0) notices.push(loosenedNotice(loosened));
  return {
    config: { ...config, git: { ...config.git, autoMerge } },
    notices,
    ...(namedMergeStrategy === undefined ? {} : { namedMergeStrategy }),
  };
}

/** The value of the first layer that has one. */
function firstChoice<Value>(
  layers: readonly RunConfigRequest[],
  read: (layer: RunConfigRequest) => Value | undefined,
): Value | undefined {
  for (const layer of layers) {
    const value = read(layer);
    if (value !== undefined) return value;
  }
  return undefined;
}

function commandsOf(layers: readonly RunConfigRequest[]): RunConfig['commands'] {
  const chosen = (['setup', 'test', 'lint', ...ITEM_COMMANDS, 'installScripts'] as const).flatMap((name) => {
    const command = firstChoice(layers, ({ commands }) => commands?.[name]);
    return command === undefined ? [] : [[name, command] as const];
  });
  return Object.fromEntries(chosen);
}

/**
 * Faults of what a request asks, all at once; an empty list where it can be taken as it is. Paths are relative to the run
 * configuration (`git.baseBranch`). The request has passed its schema already.
 */
export function checkRunConfigRequest(
  request: RunConfigRequest,
  settings: WorkflowSettings,
  limits: RunLimits,
  checkModel: ModelCheck,
): readonly Fault[] {
  const faults: Fault[] = [...unknownSettings(settings, request)];
  const names = namesBySection(settings);
  for (const stage of names.trustMode) {
    if (request.trustMode?.[stage] !== 'auto' || allowsAuto(limits, stage)) continue;
    const autoStages = limits.autoStages ?? [];
    const allowed = autoStages.length === 0 ? 'for no stage' : `only for ${autoStages.join(', ')}`;
    faults.push({
      path: `trustMode.${stage}`,
      message: `This server allows "auto" ${allowed}; use "manual" for ${stage}.`,
    });
  }
  if (request.git?.autoMerge === true && !limits.autoMerge) {
    faults.push({
      path: 'git.autoMerge',
      message: 'This server does not allow auto-merge (ALLOW_AUTO_MERGE); use false.',
    });
  }
  for (const role of names.modelRouting) {
    const model = request.modelRouting?.[role];
    if (model === undefined) continue;
    const checked = checkModel(model);
    if (!checked.ok) faults.push({ path: `modelRouting.${role}`, message: checked.message });
    else if (!allowsModel(limits, model, checkModel)) {
      const allowed = limits.models?.join(', ') ?? '';
      faults.push({
        path: `modelRouting.${role}`,
        message: `This server does not allow the model "${model}"; allowed are ${allowed} (ALLOWED_MODELS).`,
      });
    }
  }
  for (const role of names.egress) {
    for (const host of beyondEgress(request, limits, role)) {
      faults.push({
        path: `egress.${role}`,
        message: `This server does not let the ${role} reach ${host} (EGRESS_ALLOW).`,
      });
    }
  }
  faults.push(...budgetFaults(request, limits));
  const branchFault = request.git?.baseBranch === undefined ? null : baseBranchFault(request.git.baseBranch);
  if (branchFault !== null) faults.push({ path: 'git.baseBranch', message: branchFault });
  return faults;
}

/** Budgets that are asked for and lie beyond the server's limits. */
export function budgetFaults(request: Pick<RunConfigRequest, BudgetName>, limits: RunLimits): readonly Fault[] {
  return BUDGET_NAMES.flatMap((name) => {
    const asked = request[name];
    const limit = limits.budgets?.[name];
    if (asked === undefined || limit === undefined || (asked !== null && asked <= limit)) return [];
    const given = asked === null ? 'no bound' : `${asked}`;
    const message = `This server allows a ${name} of at most ${limit} (${BUDGET_LIMIT_VARIABLES[name]}), and ${given} is asked for.`;
    return [{ path: name, message }];
  });
}

/** A run's complete configuration as a request for the same configuration. */
export function requestedConfigOf(config: RunConfig): RunConfigRequest {
  const { baseBranch, ...git } = config.git;
  return { ...config, git: baseBranch === '' ? git : { ...git, baseBranch } };
}

/** Merges two requests; the second wins in every setting that it contains. */
export function mergeRunConfigRequests(first: RunConfigRequest, second: RunConfigRequest): RunConfigRequest {
  const merged: Record<string, unknown> = { ...first };
  for (const [name, requested] of Object.entries(second)) {
    const before = merged[name];
    // Sections hold plain settings: nothing lies deeper.
    merged[name] =
      typeof requested === 'object' && requested !== null && typeof before === 'object'
        ? { ...before, ...requested }
        : requested;
  }
  return merged;
}

export type ParsedProjectConfig =
  | {
      readonly ok: true;
      readonly config: ProjectConfig;
      /** Keys that are not known and were passed over, one sentence each. */
      readonly notices: readonly string[];
    }
  | { readonly ok: false; readonly faults: readonly Fault[] };

const MAX_PROJECT_CONFIG = 100_000;

/**
 * Reads `.autonomous/config.json`. Unknown keys are passed over and reported, so that what the file tightens holds whatever else
 * stands in it; a wrong value makes the whole file malformed.
 */
export function parseProjectConfig(text: string): ParsedProjectConfig {
  if (text.length > MAX_PROJECT_CONFIG) {
    return {
      ok: false,
      faults: [{ path: '', message: `has ${text.length} characters; at most ${MAX_PROJECT_CONFIG} are read` }],
    };
  }
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    return {
      ok: false,
      faults: [{ path: '', message: `is not valid JSON: ${error instanceof Error ? error.message : String(error)}` }],
    };
  }
  const first = projectConfigSchema.safeParse(json);
  if (first.success) return { ok: true, config: first.data, notices: [] };

  const unknown = first.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path.map(String), key]) : [],
  );
  const second = projectConfigSchema.safeParse(unknown.reduce(withoutKey, json));
  if (!second.success) {
    return {
      ok: false,
      faults: first.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message })),
    };
  }
  return {
    ok: true,
    config: second.data,
    notices: unknown.map(
      (path) =>
        `The key "${path.join('.')}" of the project's configuration is not known and is ignored.${rightPathOf(path)}`,
    ),
  };
}

/** A sentence for settings of runs that stand one level too high; else nothing. */
function rightPathOf([key = '', ...below]: readonly string[]): string {
  const isOfRuns = below.length === 0 && Object.hasOwn(runConfigRequestSchema.shape, key);
  return isOfRuns ? ` Write it as "defaultRunConfig.${key}".` : '';
}

const INSTALL_SCRIPTS_NOTICE =
  "The project's configuration asks for install scripts, which only the configuration of the run allows: they stay off. If you trust the project's packages, start the run with commands.installScripts set to true.";

/** Many can write to a repository: its configuration cannot let packages run their own code. */
function withoutInstallScripts(layer: RunConfigRequest): RunConfigRequest {
  if (layer.commands?.installScripts !== true) return layer;
  const { installScripts: _asked, ...commands } = layer.commands;
  return { ...layer, commands };
}

function loosenedNotice(loosened: readonly { readonly name: string; readonly undo: string }[]): string {
  const listed = (words: readonly string[]): string =>
    words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
  const names = listed(loosened.map(({ name }) => name));
  const undo = listed(loosened.map((each) => each.undo));
  return `The project's configuration lets ${names} pass without asking. To be asked, set ${undo} in the configuration of the run.`;
}

/** The project's own defaults; what its `git` block says comes before the same key of `defaultRunConfig`. */
function projectDefaults(project: ProjectConfig | null): RunConfigRequest {
  const defaults = project?.defaultRunConfig ?? {};
  const { createPR, autoMerge, mergeStrategy, followPR, maxReviewRounds } = project?.git ?? {};
  return {
    ...defaults,
    git: {
      ...defaults.git,
      ...(createPR === undefined ? {} : { createPR }),
      ...(autoMerge === undefined ? {} : { autoMerge }),
      ...(mergeStrategy === undefined ? {} : { mergeStrategy }),
      ...(followPR === undefined ? {} : { followPR }),
      ...(maxReviewRounds === undefined ? {} : { maxReviewRounds }),
    },
  };
}

/** A layer without what goes beyond the server's limits; each thing left out gives a notice. */
function withinLimits(
  layer: RunConfigRequest,
  names: ReturnType<typeof namesBySection>,
  limits: RunLimits,
  who: string,
  checkModel: ModelCheck | undefined,
  notices: string[],
): RunConfigRequest {
  const trustMode = { ...layer.trustMode };
  for (const stage of names.trustMode) {
    if (trustMode[stage] !== 'auto' || allowsAuto(limits, stage)) continue;
    notices.push(`${who} asks for trustMode.${stage} auto, which this server does not allow: it is ignored.`);
    delete trustMode[stage];
  }
  const git = { ...layer.git };
  if (git.autoMerge === true && !limits.autoMerge) {
    notices.push(`${who} asks for git.autoMerge, which this server does not allow: it is ignored.`);
    delete git.autoMerge;
  }
  if (git.baseBranch !== undefined) {
    const fault = baseBranchFault(git.baseBranch);
    if (fault !== null) {
      notices.push(`${who} names a git.baseBranch that is ignored. ${fault}`);
      delete git.baseBranch;
    }
  }
  const modelRouting = { ...layer.modelRouting };
  for (const role of names.modelRouting) {
    const model = modelRouting[role];
    if (model === undefined || allowsModel(limits, model, checkModel)) continue;
    notices.push(`${who} names the model "${model}" for the ${role}, which this server does not allow: it is ignored.`);
    delete modelRouting[role];
  }
  for (const role of names.egress) {
    for (const host of beyondEgress(layer, limits, role))
      notices.push(`${who} lets the ${role} reach ${host}, which this server does not allow: it is ignored.`);
  }
  return { ...layer, trustMode, git, modelRouting };
}

/** Hosts that a layer names and the server does not have; those of an unknown list are sorted out where they are used. */
function beyondEgress({ egress }: RunConfigRequest, limits: RunLimits, role: string): readonly string[] {
  if (limits.egress === undefined || (role === SETUP_ROLE && limits.egress[role] === undefined)) return [];
  const allowed = new Set((limits.egress[role] ?? []).map((entry) => entry.replace(/^internal:/, '')));
  return (egress?.[role] ?? []).filter((host) => !allowed.has(host));
}

/** Intersects the hosts of all layers that name a role: each layer can only remove hosts. */
function narrowedEgress(layers: readonly RunConfigRequest[], roles: readonly string[]): Pick<RunConfig, 'egress'> {
  const egress: Record<string, string[]> = {};
  for (const role of roles) {
    const lists = layers.flatMap((layer) => (layer.egress?.[role] === undefined ? [] : [layer.egress[role]]));
    const [first, ...others] = lists;
    if (first !== undefined) egress[role] = first.filter((host) => others.every((list) => list.includes(host)));
  }
  return Object.keys(egress).length === 0 ? {} : { egress };
}

/**
 * The smallest of what the run asks for, what the project says and what the server allows; the server's default is for runs
 * that ask for nothing. Many can write to a repository: it may lower that default, and only a run may exceed it.
 */
function budgetsOf({ project, server, request, isChild = false }: RunConfigSources, notices: string[]): Budgets {
  const chosen = BUDGET_NAMES.flatMap((name) => {
    const ofProject = isChild ? undefined : project?.defaultRunConfig?.[name];
    const isOfRun = isChild || request[name] !== undefined;
    const requested = isOfRun ? request[name] : ofProject;
    const asked = requested ?? Infinity;
    const ofServer = (isChild ? undefined : server.limits.budgets?.[name]) ?? Infinity;
    const byDefault = isOfRun ? Infinity : (server.defaults[name] ?? Infinity);
    const budget = Math.min(asked, ofProject ?? Infinity, ofServer, byDefault);
    if (requested !== undefined && budget < asked) {
      const who = isOfRun ? 'was asked for' : "the project's configuration asks for";
      const ofOthers = isOfRun ? 'the project allows' : 'the default of this server, which only a run may exceed';
      const most = budget === ofServer ? 'this server allows' : ofOthers;
      notices.push(`The ${name} of ${requested} that ${who} is more than ${most}: it is ${budget}.`);
    }
    return budget === Infinity ? [] : [[name, budget] as const];
  });
  return Object.fromEntries(chosen);
}

/** `git.autoMerge: false` of a project is a limit, not only a default: whoever may start a run cannot merge past it. */
function mayMerge(config: RunConfig, limits: RunLimits, project: ProjectConfig | null, notices: string[]): boolean {
  if (!config.git.autoMerge || !limits.autoMerge) return false;
  if (project?.git?.autoMerge === false) {
    notices.push(
      'The project does not allow auto-merge (git.autoMerge is false in its configuration): the branch is left for a person.',
    );
    return false;
  }
  if (config.git.createPR) {
    notices.push(
      'Both git.createPR and git.autoMerge are set; the pull request wins and nothing is merged automatically.',
    );
    return false;
  }
  return true;
}

function allowsAuto({ autoStages }: RunLimits, stage: string): boolean {
  return autoStages === null || autoStages.includes(stage);
}

function allowsModel(limits: RunLimits, model: string, checkModel: ModelCheck | undefined): boolean {
  if (limits.models === null) return true;
  const fullId = (id: string): string => {
    const checked = checkModel?.(id);
    return checked?.ok ? checked.id : id;
  };
  return limits.models.map(fullId).includes(fullId(model));
}

/** Why a run cannot start from this branch; `null` if it can. */
function baseBranchFault(branch: string): string | null {
  const name = JSON.stringify(branch);
  if (isOwnBranch(branch)) return `The base branch ${name} belongs to a run; name a branch of the project.`;
  return isBranchName(branch) ? null : `${name} is not a valid branch name. Use one such as main or release/2.x.`;
}

/** The same JSON without the key at `path`. */
function withoutKey(json: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const entries = Object.entries(json).flatMap(([name, value]): [string, unknown][] => {
    if (name !== key) return [[name, value]];
    return rest.length === 0 ? [] : [[name, withoutKey(value, rest)]];
  });
  return Object.fromEntries(entries);
}
