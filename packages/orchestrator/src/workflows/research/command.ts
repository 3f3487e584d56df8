/** The command that starts a research, as data. */
import type { WorkflowCommand } from '../workflow.ts';
import { researchInputSchema } from './types.ts';

export const researchCommand = {
  workflow: 'research',
  input: researchInputSchema,
  command: {
    name: 'research',
    description: 'researches a topic in rounds and writes a report with its sources',
    arguments: ['topic'],
    takesRequest: true,
    asks: { text: 'Say what is to be found out', example: 'Your question' },
    options: { maxRounds: 'rounds', maxRepairs: 'repairs' },
    endsWhen: 'when the report is written',
    review: { about: 'the report before it is published', trustMode: 'implementation' },
    ownRepository: true,
  },
} as const satisfies WorkflowCommand;
