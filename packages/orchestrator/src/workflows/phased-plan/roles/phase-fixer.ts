/** The fixer of one phase: removes exactly the issues that verification or review named. */
import { z } from 'zod';
import { allowedFilesPart, COMMON_RULES, fence, fixedPart } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';
import { commandsPart } from './phase-implementer.ts';
import { ONE_PHASE_RULE, type PhaseInput, phaseParts } from './phase-part.ts';

export interface PhaseFixerInput extends PhaseInput {
  /** Findings of verification or review, in full. */
  readonly issues: string;
  /** Shell commands that verify the phase. */
  readonly commands: readonly string[];
}

export const phaseFixerResultSchema = z.object({
  outcome: z.enum(['FIXED', 'UNABLE']).describe('FIXED: every issue is fixed. UNABLE: at least one is not'),
  summary: z.string().trim().min(1).max(10_000).describe('Summary of the fixes, or what could not be fixed and why'),
});
export type PhaseFixerResult = z.infer<typeof phaseFixerResultSchema>;

export const phaseFixer: Role<PhaseFixerInput, PhaseFixerResult> = {
  name: 'phase-fixer',
  version: 1,
  tools: ['read', 'write', 'edit', 'list', 'search', 'run'],
  maxSteps: 100,
  result: phaseFixerResultSchema,
  instructions: `You are fixing issues found in one phase of a plan. The phase is implemented already; its files lie in the project's
folder as the last attempt left them.

# Instructions
1. Read the relevant files.
2. Fix ONLY the listed issues. ${ONE_PHASE_RULE}
3. Do not refactor or improve other code.
4. Run the tests after fixing.

Find the cause before you change anything. Never delete, skip or loosen a test, change the test configuration or the test
command, or special-case the code for a test. Commit nothing: files are taken as they are.

# The result
- outcome FIXED with a summary of the fixes.
- outcome UNABLE with what could not be fixed and why.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('phase-fixer', input, {
      first: [fixedPart('issues', `Issues to fix:\n${fence('issues', input.issues, 20_000)}`), ...phaseParts(input)],
      last: [allowedFilesPart(input), commandsPart(input.commands)],
      task: 'Fix the issues and call "finish".',
    }),
};
