/** All workflow definitions by name and version. Versions are never deleted: runs are bound to theirs. */
import { InvalidRequest } from '@autonomous/shared';
import { childrenOf } from './child-runs.ts';
import { sourcesOf, type WorkflowDefinition } from './definition.ts';
import { isOwnEvent } from './vocabulary.ts';

export interface WorkflowRegistry {
  /** The newest version of a workflow; `undefined` when there is none of this name. */
  latest(name: string): WorkflowDefinition | undefined;
  find(name: string, version: number): WorkflowDefinition | undefined;
  /** All versions of a workflow, newest first; none when there is none of this name. */
  versions(name: string): readonly number[];
  /** The newest version of each workflow, by name. */
  list(): readonly WorkflowDefinition[];
  /** Checks whether activities of any workflow are given events of a type. Those that every workflow has, they are. */
  isRead(type: string): boolean;
}

export function createRegistry(definitions: readonly WorkflowDefinition[]): WorkflowRegistry {
  const byName = new Map<string, WorkflowDefinition[]>();
  for (const definition of definitions) {
    const versions = byName.get(definition.name) ?? [];
    if (versions.some((other) => other.version === definition.version)) {
      throw new InvalidRequest(
        `Workflow '${definition.name}' has two definitions of version ${definition.version}: give the newer one a version of its own.`,
      );
    }
    byName.set(
      definition.name,
      [...versions, definition].sort((a, b) => b.version - a.version),
    );
  }
  const faults = [...byName.values()].flatMap((versions) => childFaults(versions, byName));
  if (faults.length > 0) throw new InvalidRequest(faults.join(' '));
  const read = new Set(definitions.flatMap(({ readsEvents = [] }) => readsEvents));
  const latest = (name: string) => byName.get(name)?.[0];
  return {
    latest,
    find: (name, version) => byName.get(name)?.find((definition) => definition.version === version),
    versions: (name) => (byName.get(name) ?? []).map((definition) => definition.version),
    list: () => [...byName.keys()].sort().flatMap((name) => latest(name) ?? []),
    isRead: (type) => !isOwnEvent(type) || read.has(type),
  };
}

/** Faults of the child runs that a workflow's versions declare, one sentence each. */
function childFaults(
  versions: readonly WorkflowDefinition[],
  byName: ReadonlyMap<string, readonly WorkflowDefinition[]>,
): readonly string[] {
  const faults = new Set<string>();
  for (const definition of versions) {
    for (const [src, workflow] of childrenOf(definition)) {
      if (!byName.has(workflow))
        faults.add(
          `Workflow '${definition.name}' starts child runs of '${workflow}', which this server does not have: register it too, or correct the name in childRun('${workflow}').`,
        );
      const other = versions.find(
        (each) => sourcesOf(each).includes(src) || (childrenOf(each).get(src) ?? workflow) !== workflow,
      );
      if (other !== undefined)
        faults.add(
          `Workflow '${definition.name}' declares '${src}' as child runs of '${workflow}' in version ${definition.version} and as something else in version ${other.version}: give one of them another name.`,
        );
    }
  }
  return [...faults];
}
