/** Inputs of activities, and the content that gates show, from the context of a run. */
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
});

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
