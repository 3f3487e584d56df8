/** The repairer corrects a report that LaTeX does not compile. */
import { z } from 'zod';
import { COMMON_RULES, type CommonInput, fixedPart, resultPart } from '../../../roles/prompt-parts.ts';
import { callLine, type Role } from '../../../roles/role.ts';

export const repairSchema = z.object({
  replacements: z
    .array(
      z.object({
        line: z.number().int().min(1).max(100_000).describe('Number of the line that is replaced'),
        text: z.string().max(4_000).describe('The new line'),
      }),
    )
    .min(1)
    .max(50),
  summary: z.string().trim().min(1).max(500),
});

export interface RepairerInput extends CommonInput {
  /** Errors of LaTeX with the lines around each. */
  readonly errors: string;
}

export const reportRepairer: Role<RepairerInput, z.infer<typeof repairSchema>> = {
  name: 'report-repairer',
  version: 1,
  tools: [],
  maxSteps: 6,
  result: repairSchema,
  instructions: `A report in LaTeX does not compile. You are shown the errors and the lines around them, and replace lines so that it does.
Change no word that a reader sees, no citation and no comment; use no command that reads, writes or runs anything.

${COMMON_RULES}`,
  parts: (input) => [
    fixedPart('call', callLine('report-repairer', input.call)),
    resultPart('errors', 'The errors and the lines around them:', input.errors, 30_000),
    fixedPart('task', 'Replace what has to be replaced and call "finish".'),
  ],
};
