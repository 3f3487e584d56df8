/** The roles of the build workflow and their default models. */
import type { WorkflowRole } from '../../workflow.ts';
import { implementer } from './implementer.ts';
import { planReply } from './plan-reply.ts';
import { planner } from './planner.ts';
import { validator } from './validator.ts';

export const roles: readonly WorkflowRole[] = [
  { role: planner, title: 'Planner', defaultModel: 'deepseek-reasoner' },
  { role: planReply, title: 'Plan reply', configuredAs: 'planner' },
  { role: implementer, title: 'Implementer', defaultModel: 'claude-3-5-sonnet-20241022' },
  { role: validator, title: 'Validator', defaultModel: 'gpt-4o-mini' },
];
