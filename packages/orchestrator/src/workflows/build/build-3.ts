/** The build workflow as new runs take it. */
import { defineWorkflow } from '../../core/definition.ts';
import { buildMachine } from './machine.ts';
import { decisionSignals } from '../parts/signals.ts';
import { NOTHING_FOLLOWED } from '../parts/pull-request.ts';
import type { BuildContext } from './types.ts';

/** The build workflow, version 3. Input: `BuildInput`. */
export const buildV3 = defineWorkflow({
  name: 'build',
  version: 3,
  description:
    'Plans a change, implements it, checks it against the plan and the project’s own tests, publishes it, and follows its pull request',
  machine: buildMachine(3),
  signals: decisionSignals,
  needsProject: true,
  workspace: (context: BuildContext) => context.head || null,
  migrations: {
    // No baseline is made of a run that is under way: what it comes to is compared with nothing.
    1: ({ value, context, history }) => ({
      value,
      context: {
        ...context,
        baseline: 'none',
        concerns: [],
        openConcerns: [],
        emptyResults: 0,
        following: NOTHING_FOLLOWED,
      },
      history,
    }),
    2: ({ value, context, history }) => ({ value, context: { ...context, following: NOTHING_FOLLOWED }, history }),
  },
});
