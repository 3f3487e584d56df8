/** The command that starts a research with its plan, as data. */
import type { WorkflowCommand } from '../workflow.ts';
import { planInputSchema } from './types.ts';

export const planCommand = {
  workflow: 'research-and-plan',
  input: planInputSchema,
  command: {
    name: 'research-and-plan',
    description: 'researches a topic and makes an implementation plan of it',
    arguments: ['topic'],
    takesRequest: true,
    asks: { text: 'Say what is to be planned', example: 'Your request' },
    options: { maxRounds: 'rounds' },
    endsWhen: 'when the plan is done',
    review: {
      about: 'the report before the planning begins, and about the plan before it is published',
      trustMode: 'implementation',
    },
    ownRepository: true,
  },
} as const satisfies WorkflowCommand;
