/** The workflows that this product ships, one line each. */
import { backlog } from './backlog/index.ts';
import { build } from './build/index.ts';
import { fullAuto } from './full-auto/index.ts';
import { phasedPlan } from './phased-plan/index.ts';
import { researchAndPlan } from './research-and-plan/index.ts';
import { research } from './research/index.ts';
import { roadmapItem } from './roadmap-item/index.ts';
import type { Workflow } from './workflow.ts';

export const workflows: readonly Workflow[] = [
  build,
  phasedPlan,
  backlog,
  roadmapItem,
  research,
  researchAndPlan,
  fullAuto,
];
