/** The workflows that this product ships, one line each. */
import { build } from './build/index.ts';
import { phasedPlan } from './phased-plan/index.ts';
import type { Workflow } from './workflow.ts';

export const workflows: readonly Workflow[] = [build, phasedPlan];
