/** The workflows of this server, built in and custom, and the policy of run configuration that follows from them. */
import { InvalidRequest } from '@autonomous/shared';
import { type ServerConfig, unknownNames } from '../config.ts';
import { defaultModelOf, type ModelDefaults } from '../default-models.ts';
import { createRegistry, type WorkflowRegistry } from '../core/registry.ts';
import { loadCustomWorkflows } from '../custom-workflows.ts';
import type { Models } from '../models/model.ts';
import { createRunConfigPolicy, type RunConfigPolicy } from '../run-config/run-config-policy.ts';
import type { DescribedWorkflow } from '../server/workflow-descriptions.ts';
import { workflows as builtIn } from '../workflows/index.ts';
import { settingsOf } from '../workflows/workflow-settings.ts';
import { type Workflow, withChildren, workflowInfoOf } from '../workflows/workflow.ts';

export interface ServerWorkflows {
  /** Those that people may launch; the first one is the default. */
  readonly launchable: readonly Workflow[];
  /** Those, and the ones that only run as their children. */
  readonly all: readonly Workflow[];
  /** All versions of all. */
  readonly registry: WorkflowRegistry;
  readonly runConfig: RunConfigPolicy;
}

/** @throws {InvalidRequest} when the configuration names roles, stages or trust modes that no workflow has */
export async function loadServerWorkflows(
  config: ServerConfig,
  models: Pick<Models, 'check'>,
  modelDefaults: () => ModelDefaults,
): Promise<ServerWorkflows> {
  const { names, folder } = config.workflows;
  const custom = await loadCustomWorkflows({ names, folder, dataFolder: config.dataFolder, builtIn });
  const launchable = [...builtIn, ...custom];
  const all = withChildren(launchable);
  const unknown = unknownNames(config, launchable);
  if (unknown.length > 0)
    throw new InvalidRequest(unknown.map(({ message }) => message).join('\n'), { faults: unknown });
  const registry = createRegistry(all.flatMap(({ versions }) => versions));
  const { modelRouting: _models, ...defaults } = config.runDefaults;
  const policyFor = (chosen: ModelDefaults): RunConfigPolicy =>
    createRunConfigPolicy({
      settings: all.map((workflow) => settingsOf(workflow, (role, roles) => defaultModelOf(chosen, role, roles))),
      defaults,
      limits: config.runLimits,
      checkModel: (id) => models.check(id),
    });
  return { launchable, all, registry, runConfig: currentPolicy(modelDefaults, policyFor) };
}

/** A policy that follows the default models, which change while the server runs. */
function currentPolicy(
  modelDefaults: () => ModelDefaults,
  policyFor: (defaults: ModelDefaults) => RunConfigPolicy,
): RunConfigPolicy {
  let known: { readonly defaults: string; readonly policy: RunConfigPolicy } | null = null;
  const now = (): RunConfigPolicy => {
    const current = modelDefaults();
    const defaults = JSON.stringify(current);
    if (known?.defaults !== defaults) known = { defaults, policy: policyFor(current) };
    return known.policy;
  };
  return {
    check: (...given) => now().check(...given),
    unknownNames: (...given) => now().unknownNames(...given),
    resolve: (...given) => now().resolve(...given),
    child: (...given) => now().child(...given),
    budgetFaults: (...given) => now().budgetFaults(...given),
    rolesOf: (...given) => now().rolesOf(...given),
    undeclaredRole: (...given) => now().undeclaredRole(...given),
    configuredAs: (...given) => now().configuredAs(...given),
  };
}

/** @throws when this server has no such workflow */
export function describeWorkflow({ launchable, all }: ServerWorkflows, name: string): DescribedWorkflow {
  const workflow = all.find((each) => each.name === name);
  if (workflow === undefined) throw new Error(`workflow '${name}' is not on this server`);
  const isDefault = workflow === launchable[0];
  return {
    ...workflowInfoOf(workflow),
    isChildOnly: !launchable.includes(workflow),
    ...(isDefault ? { isDefault } : {}),
  };
}
