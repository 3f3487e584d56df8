/** Version 1 of the workflow. */
import type { JsonObject } from '@autonomous/shared';
import { defineWorkflow } from '../../core/definition.ts';
import { ownedPathsOfPlan } from './files.ts';
import { planMachine } from './machine.ts';
import { planSignals } from './setup.ts';
import { type PlanContext, planInputSchema } from './types.ts';

export const researchAndPlanV1 = defineWorkflow({
  name: 'research-and-plan',
  version: 1,
  description:
    'Researches a topic and makes an implementation plan of it: architects and critics work on the plan in rounds until no blocker is open and it has stopped changing',
  machine: planMachine,
  signals: planSignals,
  input: planInputSchema,
  exclusiveInput: ['topic'],
  needsProject: true,
  ownedFiles: ({ topic }: JsonObject) => ownedPathsOfPlan(String(topic)),
  ownedResults: 'all',
  workspace: (context: PlanContext) => context.head || null,
});
