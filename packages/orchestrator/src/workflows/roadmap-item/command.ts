/** The command that has an item of a roadmap carried out, as data. */
import type { WorkflowCommand } from '../workflow.ts';
import { itemInputSchema } from './types.ts';

export const itemCommand = {
  workflow: 'roadmap-item',
  input: itemInputSchema,
  command: {
    name: 'roadmap work',
    description: 'has an item carried out: ideation, specification, tasks, tests, publication and release',
    arguments: ['item'],
    takesRequest: false,
    endsWhen: 'when the result is approved',
  },
} as const satisfies WorkflowCommand;
