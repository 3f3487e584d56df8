/**
 * The one place that says which configuration a run may ask for and which it gets: for launches, forks and child runs, and
 * for the activities that read the project's own configuration. Pure.
 */
import type { BudgetChange, Fault, ProjectConfig, RunConfig, RunConfigRequest } from '@autonomous/shared';
import { childConfig } from './child-config.ts';
import {
  budgetFaults,
  checkRunConfigRequest,
  type ModelCheck,
  requestedConfigOf,
  type ResolvedRunConfig,
  resolveRunConfig,
  type RunLimits,
} from './run-config.ts';
import {
  namedSettings,
  namesBySection,
  NO_SETTINGS,
  unknownSettings,
  type WorkflowSettings,
  withoutUnknown,
} from './workflow-settings.ts';

export interface RunConfigPolicy {
  /**
   * All faults of what a request asks for, with paths relative to the run configuration; none where it can be taken.
   * @param workflow one that this server does not have may have any setting of the others
   */
  check(workflow: string, request: RunConfigRequest): readonly Fault[];
  /** Faults of the names in a configuration that does not have its form otherwise: a request that did not pass its schema. */
  unknownNames(workflow: unknown, config: unknown): readonly Fault[];
  /** The configuration that a run of this workflow gets, as a run that a person starts or as a child run. Never fails. */
  resolve(
    workflow: string,
    project: ProjectConfig | null,
    request: RunConfigRequest,
    kind?: { readonly isChild: boolean },
  ): ResolvedRunConfig;
  /**
   * The configuration of a child run: its parent's, for the settings that its workflow has, narrowed by what the parent asks
   * for. Settings that the parent's workflow lacks have their defaults; roles that it lacks reach no host where the parent's
   * own are limited.
   */
  child(
    parent: { readonly config: RunConfig; readonly branch: string },
    workflow: string,
    asked: RunConfigRequest,
  ): RunConfig;
  /** Budgets beyond what the server allows. */
  budgetFaults(budgets: BudgetChange): readonly Fault[];
  /** Roles of a workflow that need a model. */
  rolesOf(workflow: string): readonly string[];
  /** Why a role cannot be called by runs of a workflow, in one sentence; `null` where the workflow declares it. */
  undeclaredRole(workflow: string, role: string): string | null;
  /** The role whose model and network a role has: mostly itself. */
  configuredAs(workflow: string, role: string): string;
}

export interface PolicySources {
  /** Settings of each workflow of this server. */
  readonly settings: readonly WorkflowSettings[];
  readonly defaults: RunConfigRequest;
  readonly limits: RunLimits;
  readonly checkModel: ModelCheck;
}

export function createRunConfigPolicy({ settings: all, defaults, limits, checkModel }: PolicySources): RunConfigPolicy {
  const byName = new Map(all.map((each) => [each.workflow, each]));
  const settingsOf = (workflow: string): WorkflowSettings => byName.get(workflow) ?? { ...NO_SETTINGS, workflow };
  return {
    check: (workflow, request) =>
      checkRunConfigRequest(request, byName.get(workflow) ?? everyName(all), limits, checkModel),
    unknownNames: (workflow, config) =>
      unknownSettings(
        (typeof workflow === 'string' ? byName.get(workflow) : undefined) ?? everyName(all),
        namedSettings(config),
      ),
    resolve: (workflow, project, request, { isChild } = { isChild: false }) => {
      const resolved = resolveRunConfig({
        settings: settingsOf(workflow),
        server: { defaults, limits },
        project,
        request,
        isChild,
        checkModel,
      });
      return { ...resolved, notices: [...resolved.notices, ...namesOfNobody(project, all)] };
    },
    child: (parent, workflow, asked) => {
      const settings = settingsOf(workflow);
      const { config } = resolveRunConfig({
        settings,
        server: { defaults, limits },
        project: null,
        request: withoutUnknown(settings, requestedConfigOf(parent.config)),
        isChild: true,
        checkModel,
      });
      const { egress } = parent.config;
      const unlisted = namesBySection(settings).egress.filter(
        (role) => !Object.hasOwn(parent.config.modelRouting, role) && egress?.[role] === undefined,
      );
      const closed = egress === undefined ? {} : Object.fromEntries(unlisted.map((role) => [role, []]));
      const base = egress === undefined ? config : { ...config, egress: { ...closed, ...config.egress } };
      return childConfig(
        { config: { ...base, commands: parent.config.commands }, branch: parent.branch },
        asked,
        Object.values(parent.config.modelRouting),
      );
    },
    budgetFaults: (budgets) => budgetFaults(budgets, limits),
    rolesOf: (workflow) => Object.keys(settingsOf(workflow).models),
    undeclaredRole: (workflow, role) => {
      const { models, configuredAs } = settingsOf(workflow);
      const roles = [...Object.keys(models), ...Object.keys(configuredAs)];
      if (roles.includes(role)) return null;
      const known = roles.length === 0 ? '' : `, or use one of ${roles.join(', ')}`;
      return `workflow '${workflow}' calls the role '${role}', which 'roles' does not declare; add it${known}.`;
    },
    configuredAs: (workflow, role) => {
      const { configuredAs } = settingsOf(workflow);
      return (Object.hasOwn(configuredAs, role) ? configuredAs[role] : undefined) ?? role;
    },
  };
}

/** The names of all workflows, for a request whose workflow is not known: its other faults are named all the same. */
function everyName(settings: readonly WorkflowSettings[]): WorkflowSettings {
  const merge = <Value>(read: (each: WorkflowSettings) => Readonly<Record<string, Value>>): Record<string, Value> =>
    Object.assign({}, ...settings.map(read)) as Record<string, Value>;
  return {
    workflow: '',
    models: merge(({ models }) => models),
    timeoutMinutes: merge(({ timeoutMinutes }) => timeoutMinutes),
    trustMode: merge(({ trustMode }) => trustMode),
    configuredAs: {},
  };
}

/** Names in the project's configuration that no workflow of this server has: one sentence each, for a person. */
function namesOfNobody(project: ProjectConfig | null, settings: readonly WorkflowSettings[]): string[] {
  const known = settings.map(namesBySection);
  const sections = ['modelRouting', 'timeoutMinutes', 'trustMode', 'egress'] as const;
  const unknown = sections.flatMap((section) =>
    Object.keys(project?.defaultRunConfig?.[section] ?? {})
      .filter((name) => !known.some((names) => names[section].includes(name)))
      .map((name) => `defaultRunConfig.${section}.${name}`),
  );
  const approvals = (project?.git?.requireApprovalFor ?? []).filter(
    (name) => !known.some(({ trustMode }) => trustMode.includes(name)),
  );
  return [
    ...unknown.map((path) => `The key "${path}" of the project's configuration is not known and is ignored.`),
    ...approvals.map(
      (name) =>
        `git.requireApprovalFor of the project's configuration names "${name}", which no workflow has: it is ignored.`,
    ),
  ];
}
