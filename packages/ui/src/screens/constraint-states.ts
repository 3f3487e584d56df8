/** Determines the state of each constraint of a plan: approved, looked for, and the run's current evidence about it. */
import type { Artifact, Evidence, RunView } from '@autonomous/shared';
import { outcomeText, sanitizeText } from '@autonomous/shared/presentation';
import type { Constraint } from '@autonomous/shared/diagram';

export const DEMAND_STATES = ['proposed', 'bound', 'checked', 'failed', 'changed'] as const;
export type ConstraintState = (typeof DEMAND_STATES)[number];

export interface ConstraintStanding {
  readonly state: ConstraintState;
  /** A sentence that says why. */
  readonly reason: string;
}

export const DEMAND_LABELS: Readonly<Record<ConstraintState, string>> = {
  proposed: 'Not binding yet',
  bound: 'Bound',
  checked: 'Not decided',
  failed: 'Failed',
  changed: 'Changed since',
};

/**
 * Where a constraint of a plan stands. The server looks for its name alone, which is a hint and counts for nothing: tests and the
 * reviewer decide about it.
 * @param plan the version that makes the constraint
 */
export function constraintStanding(run: RunView, plan: Artifact, constraint: Constraint): ConstraintStanding {
  const unbound = whyNotBinding(run, plan);
  if (unbound !== null) return { state: 'proposed', reason: unbound };
  const evidence = newestEvidence(run);
  const [newest] = evidence;
  if (newest === undefined)
    return { state: 'bound', reason: 'Part of the plan that binds this run; nothing was checked yet.' };
  if (run.codeTree !== undefined && newest.codeTree !== run.codeTree) {
    return {
      state: 'changed',
      reason: 'The code has changed since it was checked; it counts when it is checked again.',
    };
  }
  const failed = evidence.find((each) => !each.passed && each.codeTree === newest.codeTree);
  if (failed !== undefined) return { state: 'failed', reason: whyFailed(failed, run) };
  const finding = currentFindings(run, newest)?.find(
    ({ kind, name }) => kind === constraint.kind && name === constraint.name,
  );
  const hint =
    finding?.where === undefined
      ? 'Its name was not found in the changed code.'
      : `The name is mentioned at ${sanitizeText(finding.where)}, which proves nothing.`;
  const ofRecord = evidence.find(({ rebuiltAt }) => rebuiltAt !== undefined);
  const outcome = ofRecord === undefined ? 'passed' : `were ${outcomeText(ofRecord, 'passed')}`;
  return { state: 'checked', reason: `The project’s checks ${outcome}. ${hint} Tests and the reviewer decide.` };
}

function whyNotBinding(run: RunView, plan: Artifact): string | null {
  const newest = run.artifacts.findLast(({ stage, type }) => stage === plan.stage && type === plan.type);
  if (newest !== undefined && newest.id !== plan.id)
    return `Version ${plan.version} of the plan was replaced by another.`;
  const isInReview = run.gate !== null && run.gate.stage === plan.stage && run.gate.decisions.includes('approve');
  if (plan.approvedBy !== undefined && !isInReview) return null;
  if (isInReview || run.currentStage === plan.stage) return 'It binds the run once the plan is approved.';
  return null;
}

/** The newest of each kind, the newest of all first. */
function newestEvidence({ evidence }: RunView): readonly Evidence[] {
  const asIs = evidence.findLast(({ mode }) => mode === 'as_is');
  const baseTests = evidence.findLast(({ mode }) => mode === 'base_tests');
  return [asIs, baseTests].filter((each) => each !== undefined);
}

function whyFailed({ mode, commands }: Evidence, run: RunView): string {
  const failed = commands.filter(({ exitCode }) => exitCode !== 0).map(({ command }) => `\`${command}\``);
  const where = mode === 'as_is' ? 'on this code' : 'with the base’s tests put back';
  const accepted = run.gates.findLast(({ decision }) => decision === 'accept');
  const word = accepted === undefined ? '' : ` ${sanitizeText(accepted.by)} accepted it anyway.`;
  return `The project’s checks failed ${where}${failed.length > 0 ? `: ${failed.join(', ')}` : ''}.${word}`;
}

/** Those of the report that was written after this evidence. */
function currentFindings(run: RunView, evidence: Evidence): Artifact['findings'] {
  const report = run.artifacts.findLast(({ findings }) => findings !== undefined);
  return report !== undefined && report.createdAt >= evidence.recordedAt ? report.findings : undefined;
}
