/** The roles of the workflow of a roadmap's item. Its tasks are runs of their own, with the roles of those. */
import type { WorkflowRole } from '../../workflow.ts';
import { decomposer } from './decomposer.ts';
import { ideator } from './ideator.ts';
import { itemReviewer } from './item-reviewer.ts';
import { specifier } from './specifier.ts';

export const roles: readonly WorkflowRole[] = [
  { role: ideator, title: 'Ideator', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
  { role: specifier, title: 'Specifier', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
  { role: decomposer, title: 'Decomposer', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
  { role: itemReviewer, title: 'Reviewer', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
];
