/** Version 1 of the workflow. */
import { defineWorkflow } from '../../core/definition.ts';
import { planMachine } from './machine.ts';
import { planSignals } from './setup.ts';
import { type PlanContext, planInputSchema } from './types.ts';

export const phasedPlanV1 = defineWorkflow({
  name: 'phased-plan',
  version: 1,
  description: 'Carries out a plan phase by phase: each is implemented, verified, reviewed, committed and merged',
  machine: planMachine,
  signals: planSignals,
  input: planInputSchema,
  defaultRequest: 'Carry out {planPath}',
  exclusiveInput: ['planPath'],
  needsProject: true,
  workspace: (context: PlanContext) => context.head || null,
});
