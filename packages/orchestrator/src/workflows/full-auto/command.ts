/** The command that starts a full-auto run, as data. */
import type { WorkflowCommand } from '../workflow.ts';
import { fullAutoInputSchema } from './types.ts';

export const fullAutoCommand = {
  workflow: 'full-auto',
  input: fullAutoInputSchema,
  command: {
    name: 'full-auto',
    description: 'researches, plans and builds feature by feature, and asks nobody until the end',
    arguments: ['topic'],
    takesRequest: true,
    asks: { text: 'Say what is to be built', example: 'Your request' },
    options: { maxAttempts: 'attempts' },
    endsWhen: 'when no feature is left',
    review: { about: 'each result and the whole before it is published', trustMode: 'implementation' },
    ownRepository: true,
  },
} as const satisfies WorkflowCommand;
