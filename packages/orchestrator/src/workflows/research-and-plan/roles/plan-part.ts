/** Parts that the prompts of architects and critics share. Pure. */
import type { PromptPart } from '../../../roles/prompt-budget.ts';
import { type CommonInput, fixedPart, noteParts, requestPart, resultPart } from '../../../roles/prompt-parts.ts';
import { callLine } from '../../../roles/role.ts';

export interface PlanRoleInput extends CommonInput {
  /** Sections or point of view of this agent, in words. */
  readonly duty: string;
  /** The plan as JSON; empty: there is none yet. */
  readonly plan: string;
  /** Findings of the report, one a line. */
  readonly findings: string;
  /** Path of the report in the project. */
  readonly report: string;
  readonly issues: string;
  /** What was not taken of the last proposals or reviews; empty: all was. */
  readonly refused: string;
  /** Its first result with what was not taken of it; `null`: it begins. */
  readonly correction: string | null;
  readonly task: string;
}

const LONGEST = { plan: 80_000, findings: 60_000, issues: 30_000, correction: 60_000 } as const;

export function planParts(role: string, input: PlanRoleInput): readonly (PromptPart | null)[] {
  const { duty, plan, findings, report, issues, refused, correction, task } = input;
  return [
    fixedPart('call', callLine(role, input.call)),
    requestPart(input),
    fixedPart('duty', duty),
    plan === ''
      ? fixedPart('plan', 'There is no plan yet.')
      : resultPart('plan', 'The plan as it stands, with the names of its fields:', plan, LONGEST.plan),
    findings === ''
      ? fixedPart('findings', 'The report has no findings.')
      : resultPart('findings', `The findings of the report, which is ${report}:`, findings, LONGEST.findings),
    issues === '' ? null : resultPart('issues', 'Open issues of the critics:', issues, LONGEST.issues),
    refused === '' ? null : resultPart('refused', 'Not taken in the round before:', refused, 8_000),
    correction === null
      ? null
      : resultPart(
          'correction',
          'You have given this. What is named at its end was not taken:',
          correction,
          LONGEST.correction,
        ),
    ...noteParts(input),
    fixedPart(
      'task',
      correction === null
        ? task
        : 'Correct what is named, keep the rest, and call "finish" with the whole result. There is no further correction.',
    ),
  ];
}
