/** The build workflow's second version: no new run takes it, and runs that did go on with it. */
import { defineWorkflow } from '../../core/definition.ts';
import { buildMachine } from './machine.ts';
import { decisionSignals } from '../parts/signals.ts';
import type { BuildContext } from './types.ts';

/** The build workflow, version 2. Input: `BuildInput`. */
export const buildV2 = defineWorkflow({
  name: 'build',
  version: 2,
  description:
    'Plans a change, implements it, checks it against the plan and the project’s own tests, and publishes it',
  machine: buildMachine(2),
  signals: decisionSignals,
  needsProject: true,
  workspace: (context: BuildContext) => context.head || null,
  migrations: {
    // No baseline is made of a run that is under way: what it comes to is compared with nothing.
    1: ({ value, context, history }) => ({
      value,
      context: { ...context, baseline: 'none', concerns: [], openConcerns: [], emptyResults: 0 },
      history,
    }),
  },
});
