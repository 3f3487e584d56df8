/** Versions of the workflows of this product: all of them, and those that a release has given to users. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { workflows } from '../src/workflows/index.ts';
import { withChildren } from '../src/workflows/workflow.ts';

/** Every version of every workflow, child workflows included. */
export const shipped: readonly WorkflowDefinition[] = withChildren(workflows).flatMap(({ versions }) => versions);

/** Version numbers by workflow. */
export type Released = Readonly<Record<string, readonly number[]>>;

const FILE = 'released.json';

/** Versions that users can have, which are kept for ever: what they decided is replayed, and their sources are pinned. */
export function readReleased(folder: string = import.meta.dirname): Released {
  return JSON.parse(readFileSync(path.join(folder, FILE), 'utf8')) as Released; // our own file
}

/** Adds the version that new runs take of each workflow. */
export function addReleased(folder: string = import.meta.dirname): Released {
  const released: Record<string, readonly number[]> = { ...readReleased(folder) };
  for (const { name, version } of shipped.filter(isNewest))
    released[name] = [...new Set([...(released[name] ?? []), version])].sort((a, b) => a - b);
  const lines = Object.entries(released).map(([name, versions]) => `  "${name}": [${versions.join(', ')}]`);
  writeFileSync(path.join(folder, FILE), `{\n${lines.join(',\n')}\n}\n`);
  return released;
}

export function isReleased(
  { name, version }: Pick<WorkflowDefinition, 'name' | 'version'>,
  released: Released,
): boolean {
  return released[name]?.includes(version) ?? false;
}

export function isNewest({ name, version }: Pick<WorkflowDefinition, 'name' | 'version'>): boolean {
  return shipped.every((other) => other.name !== name || other.version <= version);
}
