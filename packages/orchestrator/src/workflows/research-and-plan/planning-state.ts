/** The state file of a topic while its plan is made: the one that the research left, with the figures of the planning. Pure. */

export interface PlanningState {
  readonly status: 'in_progress' | 'completed';
  readonly rounds: number;
  readonly components: number;
  readonly resolved: number;
  readonly openDecisions: number;
  /** Path of the plan. */
  readonly plan: string;
}

const PHASE = 'Phase B: Planning';

/** @param text the state file of the research, or of an earlier round of planning */
export function withPlanning(text: string, state: PlanningState): string {
  const { status, rounds, components, resolved, openDecisions, plan } = state;
  const research = Number(/^total_iterations_research: (\d{1,6})$/m.exec(text)?.[1] ?? 0);
  const lines: readonly (readonly [RegExp, string])[] = [
    [/^workflow_type: .*$/m, 'workflow_type: autonomous-research-and-plan'],
    [/^status: .*$/m, `status: ${status}`],
    [/^current_phase: .*$/m, `current_phase: "${PHASE}"`],
    [/^iteration: .*$/m, `iteration: ${research + rounds}`],
    [/^total_iterations_planning: .*$/m, `total_iterations_planning: ${rounds}`],
    [/^(?<head>## Current Phase\n).*$/m, `$<head>${PHASE}`],
    [/^- Components designed: .*$/m, `- Components designed: ${components}`],
    [/^- Critic issues resolved: .*$/m, `- Critic issues resolved: ${resolved}`],
    [/^- Open design decisions: .*$/m, `- Open design decisions: ${openDecisions}`],
    [
      /^- \[[ x]\] Phase A: Research$(?:\n- \[[ x]\] Phase B: Planning$)?/m,
      `- [x] Phase A: Research\n- [${status === 'completed' ? 'x' : ' '}] ${PHASE}`,
    ],
  ];
  const updated = lines.reduce((before, [line, next]) => before.replace(line, next), text);
  return updated.includes(`3. ${plan}`) ? updated : `${updated.trimEnd()}\n3. ${plan}\n`;
}
