/** The roles of the workflow full-auto. Its features are runs of their own, with the roles of those. */
import type { WorkflowRole } from '../../workflow.ts';
import { featureLister } from './feature-lister.ts';

export const roles: readonly WorkflowRole[] = [
  { role: featureLister, title: 'Feature lister', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
];
