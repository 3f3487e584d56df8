/** The item's reviewer: looks for bugs in a result whose checks pass, and says how large each is. */
import { z } from 'zod';
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { BUG_SIZES } from '../types.ts';
import { type ItemRoleInput, itemParts } from './item-part.ts';

export const reviewResultSchema = z.object({
  summary: z.string().trim().min(1).max(4_000).describe('What was looked at and found, for a person'),
  bugs: z
    .array(
      z.object({
        title: z
          .string()
          .trim()
          .min(1)
          .max(200)
          .regex(/^[^\r\n]*$/, 'the title is one line')
          .describe('Names the bug'),
        description: z
          .string()
          .trim()
          .min(1)
          .max(4_000)
          .describe('File and place, what happens, what should happen, how it is seen'),
        size: z.enum(BUG_SIZES).describe('Work of a person: trivial < 5 minutes, small < 30, medium < 2 hours, large'),
        blocks: z.boolean().describe('True only where the item cannot be finished before the bug is mended'),
      }),
    )
    .max(20)
    .default([]),
});
export type ReviewResult = z.infer<typeof reviewResultSchema>;

export const itemReviewer: Role<ItemRoleInput, ReviewResult> = {
  name: 'item-reviewer',
  version: 1,
  tools: ['read', 'list', 'search', 'run'],
  maxSteps: 40,
  result: reviewResultSchema,
  instructions: `All tasks of a roadmap's item are done, and a program has seen the project's tests pass. You look for bugs before the result
is published: in the new code, and in the code that it touches. You change nothing that is kept.

# How to work
1. Hold the code against each requirement of the specification.
2. Report only what you have seen in the code or by running it. Style, wishes and missing comments are no bugs.
3. Say for each bug how much work it is for a person: trivial (under 5 minutes), small (under 30), medium (under 2 hours) or
   large. Trivial and small ones are mended now; medium and large ones become items of the roadmap. "blocks" is true only
   where the item cannot be finished before.
No bugs is a fine answer.

${COMMON_RULES}`,
  parts: (input) => itemParts('item-reviewer', input, 'Look for bugs and call "finish".'),
};
