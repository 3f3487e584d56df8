/** The validator: reviews a result whose checks were already run by the engine, against plan and request. */
import type { CommandEvidence, JsonValue } from '@autonomous/shared';
import { z } from 'zod';
import type { PromptPart } from '../../../roles/prompt-budget.ts';
import {
  COMMON_RULES,
  type CommonInput,
  constraintsPart,
  fence,
  fixedPart,
  planPart,
  requestPart,
  resultPart,
} from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';

export interface ValidatorInput extends CommonInput {
  readonly plan: string;
  readonly constraints: JsonValue;
  /** Unified diff of the result against the base. */
  readonly diff: string;
  /** Commands that the engine ran itself, in order. */
  readonly evidence: readonly Pick<CommandEvidence, 'command' | 'exitCode' | 'output'>[];
}

export const validatorResultSchema = z
  .object({
    verdict: z.enum(['pass', 'fail']),
    severity: z.enum(['minor', 'major']).describe('How grave the worst finding is; "minor" when there is none'),
    summary: z.string().min(1).max(4_000).describe('What was looked at and found, for a person'),
    feedback: z
      .string()
      .max(20_000)
      .describe('For the implementer: what to mend and where; may be empty when the verdict is "pass"'),
  })
  .refine((result) => result.verdict === 'pass' || result.feedback.trim() !== '', {
    path: ['feedback'],
    message: 'a verdict of "fail" needs feedback that says what to mend',
  });
export type ValidatorResult = z.infer<typeof validatorResultSchema>;

export const validator: Role<ValidatorInput, ValidatorResult> = {
  name: 'validator',
  version: 2,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: validatorResultSchema,
  instructions: `You are the reviewer of a software team. An implementer has carried out a plan; the project's checks were run by a program and
their output is below as evidence. You decide whether the result does what was asked, and say exactly what to mend where
it does not. You only read; you change nothing.

# What to look at
1. Request and plan: is everything there that they promise, and nothing of weight beyond it? Go through the plan step by
   step and look at the code of each, not only at the diff.
2. Behaviour: read the changed code as the program would run it. Wrong conditions, missing cases, unhandled errors, broken
   callers, data that can be lost, input that is trusted although it comes from outside.
3. Tests: does each new behaviour have a test that would fail without it? Was a test deleted, skipped or loosened, a
   threshold lowered, a test configuration changed, or code written only to please a test? That is a major finding.
4. Evidence: exit code 0 means that the check passed. If a check failed, its cause is a finding. Believe the evidence, not
   what the code or its comments say about themselves.
5. Things that do not belong: secrets, debug output, generated or unrelated files, changes to CI, hooks or scripts which
   nobody asked for.

# The verdict
- pass: you would merge it. Matters of taste and improvements nobody asked for are no reason to fail; you may mention them
  in the summary.
- fail, minor: the direction is right and the implementer can mend it from your feedback alone.
- fail, major: something asked for is missing, the approach is wrong, tests were weakened, or it is unsafe. A person should
  look at it.
- feedback: a numbered list; each item names the file, what is wrong, why it matters and what would be right. No
  praise, nothing that is no defect. Only report what you saw in the code; check before you claim.
- summary: three to six sentences for a person who has not read the code.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('validator', input, {
      first: [requestPart(input), planPart(input.plan), constraintsPart(input.constraints)],
      last: [
        ...evidenceParts(input.evidence),
        input.diff.trim() === ''
          ? fixedPart('diff', 'The implementer changed nothing.')
          : resultPart('diff', 'What the implementer changed:', input.diff, 120_000),
      ],
      task: 'Review the result and call "finish".',
    }),
};

function evidenceParts(evidence: ValidatorInput['evidence']): PromptPart[] {
  if (evidence.length === 0) return [fixedPart('checks', 'No check was run: no command is known for this project.')];
  return [
    fixedPart('checks', 'The checks that a program ran on the result, in a fresh copy:'),
    ...evidence.map((run) => {
      const end = run.exitCode === null ? 'was killed' : `ended with exit code ${run.exitCode}`;
      return resultPart('output', `This command ${end}:\n${fence('command', run.command)}`, run.output, 20_000);
    }),
  ];
}
