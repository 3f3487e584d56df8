/** Inputs of activities, limits that follow from the baseline, and the content that gates show, from the context of a run. */
import type { Baseline } from '@autonomous/shared';
import type { BaselineInput, Checked, CheckInput } from '../../activities/types.ts';
import type { Shown } from '../parts/gate.ts';
import { headerOf } from '../parts/run-context.ts';
import type { AgentInput, BuildContext, CommittedPlan, ReportInput } from './types.ts';

export const agentInput = (context: BuildContext, role: keyof BuildContext['calls']): AgentInput => ({
  ...headerOf(context),
  config: context.config,
  head: context.head,
  baseCommit: context.baseCommit,
  excludePaths: context.excludePaths,
  notes: context.notes,
  call: context.calls[role] + 1,
});

export const checkInput = (context: BuildContext, mode: Checked['mode']): CheckInput => ({
  ...headerOf(context),
  mode,
  commit: context.head,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

export const baselineInput = (context: BuildContext): BaselineInput => ({
  ...headerOf(context),
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

/** Time limit of validation where nobody sets one, in minutes. It grows with the baseline. */
export const VALIDATION_MINUTES = 30;
const REVIEW_MINUTES = 10;
const LONGEST_MINUTES = 24 * 60;

/**
 * The limit of validation that follows from how long the baseline took: four times a checkout with its dependencies and two
 * runs of the tests, and the review.
 * @returns minutes; `null` where the limit stays: somebody set it, it is enough, or the baseline did not come to its end
 */
export function validationLimit({ config }: BuildContext, { command, preparedMs = 0 }: Baseline): number | null {
  if (config.timeoutMinutes.validation !== VALIDATION_MINUTES || command.exitCode === null) return null;
  const measured = (4 * (preparedMs + 2 * command.durationMs)) / 60_000;
  const minutes = Math.min(Math.ceil(measured + REVIEW_MINUTES), LONGEST_MINUTES);
  return minutes > VALIDATION_MINUTES ? minutes : null;
}

export const reportInput = (context: BuildContext): ReportInput => ({
  ...headerOf(context),
  head: context.head,
  plan: context.plan,
  evidence: context.evidence,
  review: context.review,
  failure: context.failure,
  codeTree: context.codeTree ?? '',
});

/** Additions that the run proposes to the project's memory. */
export const memoryOf = (context: BuildContext) => ({
  title: context.plan?.title ?? '',
  decisions: context.decisions,
  techStack: context.techStack,
  patterns: context.patterns,
  ...solutionsOf(context),
});

/** Problems that the implementer met and solved; nothing where there are none. */
export const solutionsOf = ({ solutions }: BuildContext) => (solutions === undefined ? {} : { solutions });

/** The approved, committed plan: implementation and later stages are only reachable with one. */
export function planOf(context: BuildContext): CommittedPlan {
  if (context.plan === null) throw new Error('there is no committed plan');
  return context.plan;
}

export const commitMessage = (context: BuildContext) =>
  `${context.codeVersion === 0 ? '' : 'Fix: '}${context.plan?.title ?? context.request.slice(0, 60)}\n\n${context.implemented?.summary ?? ''}`;

/** The plan that a person approves, with its additions to the project's memory. */
export const shownPlan = ({ plan }: BuildContext): Shown => ({
  artifactHash: plan?.artifactHash,
  codeTree: plan?.codeTree,
});

/** The result that a person approves, with its concerns. */
export const shownResult = ({ report, codeTree, concerns }: BuildContext): Shown => ({
  artifactHash: report?.hash,
  codeTree,
  concerns,
});
