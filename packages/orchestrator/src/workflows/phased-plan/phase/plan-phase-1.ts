/** Version 1 of the workflow of a phase. */
import { defineWorkflow } from '../../../core/definition.ts';
import { signals } from '../signals.ts';
import { phaseMachine } from './machine.ts';
import { type PhaseContext, phaseInputSchema } from './types.ts';

export const planPhaseV1 = defineWorkflow({
  name: 'plan-phase',
  version: 1,
  description: 'Implements one phase of a plan, verifies and reviews it, and commits it',
  machine: phaseMachine,
  signals,
  input: phaseInputSchema,
  needsProject: true,
  workspace: (context: PhaseContext) => context.head || null,
});
