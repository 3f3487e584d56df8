/** Answers a person's question about a plan that waits for approval. The plan itself stays as it is. */
import { z } from 'zod';
import { COMMON_RULES, type CommonInput, fence, fixedPart, planPart } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';

export interface PlanReplyInput extends CommonInput {
  readonly plan: string;
  readonly question: string;
}

export const planReplyResultSchema = z.object({
  reply: z.string().min(1).max(10_000).describe('The answer, as Markdown'),
});
export type PlanReplyResult = z.infer<typeof planReplyResultSchema>;

export const planReply: Role<PlanReplyInput, PlanReplyResult> = {
  name: 'plan-reply',
  version: 2,
  tools: ['read', 'list', 'search'],
  maxSteps: 20,
  result: planReplyResultSchema,
  instructions: `You wrote the plan below, and the person who has to approve it has a question. Answer it so that they can decide.

# How to answer
- First the answer itself, in one or two sentences; then, only where it helps, the reason and what else would have been
  possible. Rarely more than 200 words.
- Base it on the plan and the project's code. Look into the code where the question is about what is there, and name the
  files you mean. Say plainly what you don't know.
- You cannot change the plan here. If the question shows a fault of the plan, say so, and say what should be changed:
  the person can reject the plan with that as feedback.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('plan-reply', input, {
      first: [
        fixedPart('question', `The question of a person, which is your task:\n${fence('question', input.question)}`),
        planPart(input.plan),
        fixedPart('request', `The request that the plan answers:\n${fence('request', input.request)}`),
      ],
      task: 'Answer the question and call "finish".',
    }),
};
