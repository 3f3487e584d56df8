/** Checks custom workflows as a server does at its start, without its adapters: no database, no network, nothing is performed. */
import type { ActivityTools } from '../activities/tools.ts';
import { childrenOf } from '../core/child-runs.ts';
import { sourcesOf } from '../core/definition.ts';
import { diagramOf } from '../core/diagram.ts';
import { nodesOf } from '../core/machine-nodes.ts';
import { createRegistry } from '../core/registry.ts';
import { type CustomWorkflowOptions, filesOf, readActivities, readCustomWorkflows } from '../custom-workflows.ts';
import { gateKindsOf } from '../workflows/complete-workflow.ts';
import { workflows as builtIn } from '../workflows/index.ts';
import { newestOf, type Workflow, withChildren } from '../workflows/workflow.ts';

/** A custom workflow, with the parts of its newest version. */
export interface CheckedWorkflow {
  readonly name: string;
  /** As the caller named it; of a workflow in several files, all of them. */
  readonly file: string;
  /** Oldest first. */
  readonly versions: readonly number[];
  /** Ids of its states, without that of the machine. */
  readonly states: readonly string[];
  /** Kinds of its gates. */
  readonly gates: readonly string[];
  readonly signals: readonly string[];
  readonly activities: readonly string[];
  /** Names of the workflows that its child runs have. */
  readonly childRuns: readonly string[];
  /** State diagram. */
  readonly mermaid: string;
}

export interface WorkflowCheck {
  /** Empty where there are faults. */
  readonly workflows: readonly CheckedWorkflow[];
  /** Everything for which a server would not start, one sentence each with the file and the way out. */
  readonly faults: readonly string[];
}

/** @param options as the configuration of a server gives them */
export async function checkWorkflows(options: Omit<CustomWorkflowOptions, 'builtIn'>): Promise<WorkflowCheck> {
  const { workflows, faults: read } = await readCustomWorkflows({ ...options, builtIn });
  const custom = withChildren(workflows);
  const faults = [...new Set([...read, ...readActivities(custom, NO_TOOLS).faults])];
  if (faults.length === 0) faults.push(...registryFaults(withChildren([...builtIn, ...workflows])));
  return { workflows: faults.length === 0 ? custom.map(described) : [], faults };
}

/**
 * Stands for the tools of a server while activities are listed: each of its parts is the same again, whether it is read or called.
 * Activities use their tools when they are performed, which nothing is here.
 */
const NO_TOOLS: ActivityTools = new Proxy(() => undefined, {
  // Neither a promise nor a list.
  get: (_, name) => (name === 'then' || typeof name === 'symbol' ? undefined : NO_TOOLS),
  apply: () => NO_TOOLS,
}) as unknown as ActivityTools; // It has a part of any name.

function registryFaults(workflows: readonly Workflow[]): readonly string[] {
  try {
    createRegistry(workflows.flatMap(({ versions }) => versions));
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function described(workflow: Workflow): CheckedWorkflow {
  const newest = newestOf(workflow);
  const { machine } = newest;
  return {
    name: workflow.name,
    file: filesOf(workflow) ?? '',
    versions: workflow.versions.map(({ version }) => version),
    states: [...nodesOf(machine.root)].slice(1).map(({ id }) => id),
    gates: [...gateKindsOf([newest])].sort(),
    signals: Object.keys(newest.signals).sort(),
    activities: [...sourcesOf(newest)].sort(),
    childRuns: [...new Set(childrenOf(newest).values())].sort(),
    mermaid: diagramOf(newest),
  };
}
