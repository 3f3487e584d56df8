/** The driven histories of a workflow, which lie in its folder: `golden/scenarios.fixture.ts`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkflowEvent } from '@autonomous/shared';
import { folderOf } from './folders.ts';

/** One way through a workflow; the key of each says what it shows. */
export type Scenarios = Readonly<Record<string, () => { readonly events: readonly WorkflowEvent[] }>>;

/** Scenarios of a workflow in order of their recording; none if it has no such file. */
export async function scenariosOf(workflow: string): Promise<Scenarios> {
  const file = path.join(folderOf(workflow), 'golden/scenarios.fixture.ts');
  if (!existsSync(file)) return {};
  // The module is our own; each exports `scenarios`.
  return ((await import(pathToFileURL(file).href)) as { readonly scenarios: Scenarios }).scenarios;
}
