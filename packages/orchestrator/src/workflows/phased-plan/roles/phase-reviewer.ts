/** The reviewer of one phase: names blockers in exactly the change of that phase, and nothing else. */
import type { CommandEvidence } from '@autonomous/shared';
import { z } from 'zod';
import { COMMON_RULES, resultPart } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';
import { type PhaseInput, phaseParts } from './phase-part.ts';

export interface PhaseReviewerInput extends PhaseInput {
  /** Unified diff of this phase alone, new files included. */
  readonly diff: string;
  /** Commands that the server ran on the same files. */
  readonly evidence: readonly Pick<CommandEvidence, 'command' | 'exitCode' | 'output'>[];
}

/** Kinds of blockers; everything else is no reason to hold a phase up. */
export const BLOCKER_KINDS = ['security', 'logic', 'missing_tests', 'breaking_api'] as const;

const blockerSchema = z.object({
  kind: z.enum(BLOCKER_KINDS),
  where: z.string().trim().min(1).max(500).describe('File, and line or name'),
  problem: z.string().trim().min(1).max(4_000).describe('What is wrong, and what would be right'),
});

export const phaseReviewerResultSchema = z
  .object({
    outcome: z.enum(['APPROVED', 'BLOCKERS']),
    summary: z.string().trim().min(1).max(4_000).describe('What was looked at and found, for a person'),
    blockers: z.array(blockerSchema).max(50).default([]).describe('Empty when the outcome is APPROVED'),
  })
  .refine(({ outcome, blockers }) => (outcome === 'BLOCKERS') === blockers.length > 0, {
    path: ['blockers'],
    message: 'BLOCKERS needs at least one blocker, and APPROVED has none',
  });
export type PhaseReviewerResult = z.infer<typeof phaseReviewerResultSchema>;

export const phaseReviewer: Role<PhaseReviewerInput, PhaseReviewerResult> = {
  name: 'phase-reviewer',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: phaseReviewerResultSchema,
  instructions: `You are reviewing the code changes of one phase of a plan. The project's tests and lint were run by a program, and
passed. You only read; you change nothing.

Focus ONLY on blockers:
- security: security vulnerabilities
- logic: critical logic bugs, among them what the phase demands and the code does not do
- missing_tests: missing tests for new logic
- breaking_api: breaking API changes that the plan does not ask for

Ignore:
- style suggestions
- minor improvements
- documentation gaps

Look at the code around the change before you call something a blocker, and name the file and the place of each. The change
of this phase is all that you judge: earlier phases were reviewed, later ones will be.

# The result
- outcome APPROVED with a brief summary, and no blockers.
- outcome BLOCKERS with the list of blocking issues.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('phase-reviewer', input, {
      first: [
        ...phaseParts(input),
        resultPart('diff', 'The change of this phase, new files included:', input.diff, 110_000),
        input.evidence.length === 0
          ? null
          : resultPart(
              'checks',
              'What was run on these files:',
              input.evidence
                .map(
                  ({ command, exitCode, output }) =>
                    `$ ${command}\nexit code ${exitCode ?? 'none'}\n${output.slice(-2_000)}`,
                )
                .join('\n\n'),
              20_000,
            ),
      ],
      task: `Review the change of phase ${input.phase.number} and call "finish".`,
    }),
};

/** Blockers as the fixer reads them. */
export function blockersText(blockers: PhaseReviewerResult['blockers']): string {
  return blockers.map(({ kind, where, problem }, index) => `${index + 1}. [${kind}] ${where}: ${problem}`).join('\n');
}
