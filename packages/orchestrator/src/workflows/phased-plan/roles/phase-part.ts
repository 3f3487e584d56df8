/** Prompt parts that the roles of a phase share: the phase itself, and the plan that it belongs to. */
import type { PromptPart } from '../../../roles/prompt-budget.ts';
import { type CommonInput, fence, fixedPart, resultPart } from '../../../roles/prompt-parts.ts';

export interface PhaseInput extends CommonInput {
  /** Path of the plan as the person named it. */
  readonly planPath: string;
  /** The whole plan; `null` where only the phase is known. */
  readonly plan: string | null;
  readonly phase: {
    readonly number: number;
    readonly total: number;
    readonly title: string;
    /** Its section of the plan. */
    readonly text: string;
    readonly criteria: readonly string[];
  };
}

/** The phase's section in full, its success criteria, and the plan around it as far as there is room. */
export function phaseParts({ planPath, plan, phase }: PhaseInput): (PromptPart | null)[] {
  const { number, total, title, text, criteria } = phase;
  const heading = `Phase ${number}${title === '' ? '' : `: ${title}`}`;
  return [
    fixedPart(
      'phase',
      [
        `Plan path: ${planPath}`,
        `Phase: ${number} of ${total}`,
        `The section of this phase:\n${fence('phase', `${heading}\n\n${text}`, 60_000)}`,
        ...(criteria.length === 0
          ? []
          : [`Its success criteria:\n${fence('criteria', criteria.map((item) => `- ${item}`).join('\n'), 20_000)}`]),
      ].join('\n'),
    ),
    plan === null ? null : resultPart('plan', 'The whole plan, for orientation:', plan, 60_000),
  ];
}

/** Notes that tell a call which of the other roles it is not. */
export const ONE_PHASE_RULE =
  'Other phases of the plan have calls of their own, before, after or beside this one: leave them alone.';
