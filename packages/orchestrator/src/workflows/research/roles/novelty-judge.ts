/** The judge of novelty: says whether two claims that resemble each other say the same. */
import { z } from 'zod';
import { COMMON_RULES, type CommonInput, fixedPart, resultPart } from '../../../roles/prompt-parts.ts';
import { callLine, type Role } from '../../../roles/role.ts';

export const verdictsSchema = z.object({
  verdicts: z
    .array(
      z.object({
        number: z.number().int().min(1).max(100).describe('Of the pair'),
        isNew: z.boolean().describe('True: the first claim says something that the second does not'),
        why: z.string().trim().min(1).max(300),
      }),
    )
    .max(100),
});

export interface JudgeRoleInput extends CommonInput {
  /** Numbered pairs of a new claim and a known one. */
  readonly pairs: string;
}

export const noveltyJudge: Role<JudgeRoleInput, z.infer<typeof verdictsSchema>> = {
  name: 'novelty-judge',
  version: 1,
  tools: [],
  maxSteps: 4,
  result: verdictsSchema,
  instructions: `You compare claims of a research report. For each pair you say whether the first claim is new: whether it tells a reader who
knows the second one something more. Another wording, another order or a rounded number is not new. Another number, time, place,
cause or condition is. Judge each pair by itself, and call "finish" with a verdict for each.

${COMMON_RULES}`,
  parts: (input) => [
    fixedPart('call', callLine('novelty-judge', input.call)),
    resultPart('pairs', 'The pairs:', input.pairs, 40_000),
    fixedPart('task', 'Judge each pair and call "finish".'),
  ],
};
