/** The architect: proposes changes of the sections of the plan that it looks after. */
import { z } from 'zod';
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { planDataSchema } from '../output.ts';
import type { Draft } from '../types.ts';
import { planParts, type PlanRoleInput } from './plan-part.ts';

const prose = (most: number) => z.string().trim().min(1).max(most);
const short = prose(160);
const level = z.enum(['high', 'medium', 'low']);
const { id } = planDataSchema.shape.tasks.element.shape;

export const draftSchema = z.object({
  summary: z.string().trim().max(1_500).describe('What you propose and why, in a few sentences'),
  vision: prose(6_000).optional().describe('The whole text; leave it out where it stays as it is'),
  architecture: prose(10_000).optional().describe('As above'),
  components: z
    .array(
      z.object({
        name: short,
        purpose: prose(2_000),
        interfaces: prose(3_000),
        approach: prose(4_000),
        dependencies: z.array(short).max(20).describe('Names of other components'),
      }),
    )
    .max(30)
    .optional()
    .describe('All components; leave it out where they stay as they are'),
  technologyStack: prose(6_000).optional(),
  tasks: z
    .array(
      z.object({
        id,
        title: short,
        description: prose(3_000),
        component: short.nullable().describe('Name of the component that it belongs to; null for none'),
        dependencies: z.array(id).max(30).describe('Ids of tasks that have to be done before'),
        acceptanceCriteria: z.array(prose(500)).min(1).max(12).describe('How one sees that it is done'),
      }),
    )
    .max(60)
    .optional()
    .describe('All tasks; leave it out where they stay as they are'),
  risks: z
    .array(z.object({ risk: prose(400), likelihood: level, impact: level, mitigation: prose(1_500) }))
    .max(30)
    .optional(),
  defensibility: prose(6_000).optional(),
  openDecisions: z
    .array(z.object({ decision: prose(300), detail: prose(1_500) }))
    .max(20)
    .optional(),
  answers: z
    .array(z.object({ issue: z.string().regex(/^I[1-9]\d{0,5}$/), answer: prose(1_000) }))
    .max(40)
    .describe('Answers to open issues: what you changed, or why you did not'),
  claims: z
    .array(
      z.object({
        claim: prose(600).describe('A statement about the world that the plan would rest on'),
        question: prose(600).describe('What a researcher has to look up, understandable by itself'),
      }),
    )
    .max(2)
    .describe('New claims that no finding supports'),
});

export const planArchitect: Role<PlanRoleInput, Draft> = {
  name: 'plan-architect',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 30,
  result: draftSchema,
  instructions: `You are one of two architects who work on an implementation plan at the same time, each on sections of its own. The plan rests
on a research report; critics examine it after you. You read the project in /workspace where that helps.

# The plan
- Change only your own sections; all others are dropped. Leave a section out where it stays as it is. A plan that is good enough is
  left alone: when no issue is open and nothing is missing, propose no change.
- Text is plain prose in paragraphs; "- " begins an item of a list. No headings, no tables, no LaTeX.
- What the plan takes from the report cites its findings: "… [F3]." Only ids that you were shown.
- Tasks are in the order of their dependencies, without a circle. Each can be carried out and tested by itself, and has criteria by
  which one sees that it is done.
- No estimates of time or effort: no hours, days, weeks, months or sprints of work, anywhere. Say what comes before what.
- A statement about the world that no finding supports goes into "claims": a researcher looks it up, and you can cite what was
  found in the next round. Do not rest the plan on it before.

# Issues
Answer every open issue about your sections: change the plan and say how, or say why not. Your answer closes nothing: the critic who raised
the issue withdraws it, or does not.

${COMMON_RULES}`,
  parts: (input) => planParts('plan-architect', input),
};
