/** The critic: examines the plan against the findings of the report from one point of view. */
import { z } from 'zod';
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { type Review, SEVERITIES } from '../types.ts';
import { planParts, type PlanRoleInput } from './plan-part.ts';

export const reviewSchema = z.object({
  summary: z.string().trim().max(1_500).describe('Your judgement in a few sentences'),
  issues: z
    .array(
      z.object({
        severity: z.enum(SEVERITIES),
        about: z.string().trim().min(1).max(120).describe('Section, component or task of the plan'),
        text: z.string().trim().min(1).max(1_000).describe('What is wrong, and why'),
        evidence: z
          .array(z.string().regex(/^F[1-9]\d{0,6}$/))
          .max(10)
          .describe('Ids of findings of the report that show it'),
        proposal: z.string().trim().max(1_000).describe('How it could be resolved'),
      }),
    )
    .max(5)
    .describe('New issues only'),
  withdrawn: z
    .array(z.object({ issue: z.string().regex(/^I[1-9]\d{0,5}$/), why: z.string().trim().min(1).max(500) }))
    .max(40)
    .describe('Issues of yours that are settled'),
});

export const planCritic: Role<PlanRoleInput, Review> = {
  name: 'plan-critic',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 30,
  result: reviewSchema,
  instructions: `You are one of two critics of an implementation plan, each with a point of view of its own. You examine the plan against the findings of
a research report. You read the project in /workspace where that helps.

# Issues
- "blocker": the plan must not be carried out like this. "concern": it should be changed. "suggestion": it could be better.
- A blocker and a concern name the findings of the report that show them. The server looks each id up; an issue with an id that
  does not exist is not taken. What no finding shows is a suggestion at most.
- Raise what is new. Do not repeat an issue that is open, and do not raise an issue about wording alone.
- Withdraw an issue of yours when the plan as it stands, or the answer of an architect, settles it, and say why. Only you can withdraw it.
  An answer that does not convince you leaves it open.
- A plan without issues is an honest result.

${COMMON_RULES}`,
  parts: (input) => planParts('plan-critic', input),
};
