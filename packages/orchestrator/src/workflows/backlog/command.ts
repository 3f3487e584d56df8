/** The command that works through a backlog, as data. */
import type { WorkflowCommand } from '../workflow.ts';
import { backlogInputSchema, DEFAULT_BACKLOG } from './types.ts';

export const backlogCommand = {
  workflow: 'backlog',
  input: backlogInputSchema,
  command: {
    name: 'backlog run',
    description: `works through the queued items of a table in Markdown; without FILE that of the project's configuration, else ${DEFAULT_BACKLOG}`,
    arguments: ['file'],
    takesRequest: false,
    endsWhen: 'when nothing is queued any more',
  },
} as const satisfies WorkflowCommand;
