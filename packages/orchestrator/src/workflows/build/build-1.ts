/** The build workflow's first version: no new run takes it, and runs that did go on with it. */
import { defineWorkflow } from '../../core/definition.ts';
import { buildMachine } from './machine.ts';
import { decisionSignals } from '../parts/signals.ts';
import type { BuildContext } from './types.ts';

/** The build workflow, version 1. Input: `BuildInput`. */
export const buildV1 = defineWorkflow({
  name: 'build',
  version: 1,
  description:
    'Plans a change, implements it, checks it against the plan and the project’s own tests, and publishes it',
  machine: buildMachine(1),
  signals: decisionSignals,
  needsProject: true,
  workspace: (context: BuildContext) => context.head || null,
});
