/** The roles of the workflow: those of the research, which its child run and the look-up of claims use, and those that plan. */
import type { WorkflowRole } from '../../workflow.ts';
import { roles as researchRoles } from '../../research/roles/index.ts';
import { planArchitect } from './plan-architect.ts';
import { planCritic } from './plan-critic.ts';

export const roles: readonly WorkflowRole[] = [
  ...researchRoles,
  { role: planArchitect, title: 'Architect of the plan', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
  { role: planCritic, title: 'Critic of the plan', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
];
