/** The settings that runs of a workflow have, from what the workflow declares and the server's default models. Pure. */
import type { WorkflowSettings } from '../run-config/workflow-settings.ts';
import { newestOf, type Workflow, type WorkflowRole } from './workflow.ts';

/** @param modelOf default model of a role on this server */
export function settingsOf(
  workflow: Pick<Workflow, 'name' | 'versions' | 'roles' | 'stages' | 'trustModes'>,
  modelOf: (role: WorkflowRole, roles: readonly WorkflowRole[]) => string,
): WorkflowSettings {
  const { name, roles, stages, trustModes } = workflow;
  const { maxConcurrency } = newestOf(workflow);
  const configurable = roles.filter(({ configuredAs }) => configuredAs === undefined);
  return {
    workflow: name,
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    models: Object.fromEntries(configurable.map((each) => [each.role.name, modelOf(each, roles)])),
    timeoutMinutes: Object.fromEntries(
      stages.flatMap(({ name: stage, timeoutMinutes }) =>
        timeoutMinutes === undefined ? [] : [[stage, timeoutMinutes] as const],
      ),
    ),
    trustMode: Object.fromEntries(trustModes.map((mode) => [mode.name, mode.default])),
    configuredAs: Object.fromEntries(
      roles.flatMap(({ role, configuredAs }) =>
        configuredAs === undefined ? [] : [[role.name, configuredAs] as const],
      ),
    ),
  };
}

/** The model that a role declares as its default, or that of the role whose defaults it has; `null` where neither has one. */
export function declaredModel(
  { defaultModel, defaultsOf }: WorkflowRole,
  roles: readonly WorkflowRole[],
): string | null {
  return defaultModel ?? roles.find(({ role }) => role.name === defaultsOf)?.defaultModel ?? null;
}
