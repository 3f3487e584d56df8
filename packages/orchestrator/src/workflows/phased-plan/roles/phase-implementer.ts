/** The implementer of one phase: carries out its section of the plan, and no other phase. */
import { z } from 'zod';
import { allowedFilesPart, COMMON_RULES, fence, fixedPart } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';
import { ONE_PHASE_RULE, type PhaseInput, phaseParts } from './phase-part.ts';

export interface PhaseImplementerInput extends PhaseInput {
  /** Shell commands that verify the phase. */
  readonly commands: readonly string[];
}

export const phaseImplementerResultSchema = z.object({
  outcome: z.enum(['SUCCESS', 'FAILURE']).describe('SUCCESS: the phase is implemented. FAILURE: it is not'),
  summary: z.string().trim().min(1).max(10_000).describe('Summary of the changes, or what went wrong'),
});
export type PhaseImplementerResult = z.infer<typeof phaseImplementerResultSchema>;

export const phaseImplementer: Role<PhaseImplementerInput, PhaseImplementerResult> = {
  name: 'phase-implementer',
  version: 1,
  tools: ['read', 'write', 'edit', 'list', 'search', 'run'],
  maxSteps: 150,
  result: phaseImplementerResultSchema,
  instructions: `You are implementing one phase of a plan in the project's folder, with its tests.
When you finish, a program runs the project's tests and lint in a fresh copy of your files, and a reviewer who has not seen
your work reads the change of this phase. Only what those find counts.

# Instructions
1. Read the plan completely.
2. Find the section of your phase.
3. Implement ONLY what is described in that phase. ${ONE_PHASE_RULE}
4. Follow the success criteria listed.
5. Do not proceed to other phases.
6. When done, summarize what you implemented.

# What good work is
- Every behaviour that the phase adds has a test which fails without it. Never delete, skip or loosen a test, and do not
  change the test configuration or the test command.
- It looks as if the project's own authors had written it: their structure, naming, libraries, formatting.
- No placeholder, no "TODO", no leftovers. Commit nothing: files are taken as they are.
- Where notes follow the phase, they come from people, checks or an earlier attempt. Deal with every one.

# The result
- outcome SUCCESS with a summary of the changes, when the phase is implemented.
- outcome FAILURE with what went wrong, when it is not. An honest FAILURE is worth more than a SUCCESS that checks refute.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('phase-implementer', input, {
      first: [...phaseParts(input)],
      last: [allowedFilesPart(input), commandsPart(input.commands)],
      task: `Implement phase ${input.phase.number} and call "finish".`,
    }),
};

/** Commands that verify the phase, for the roles that can run them. */
export function commandsPart(commands: readonly string[]) {
  return fixedPart(
    'commands',
    commands.length === 0
      ? 'No test or lint command is known for this project. Find out from its files how tests are run.'
      : `The phase is verified with:\n${fence('commands', commands.join('\n'), 8_000)}`,
  );
}
