/** Labels of a run, its stage and its gate for people. */
import {
  type BudgetName,
  type Gate,
  gateInfoOf,
  type PauseReason,
  sanitizeText,
  type RunStatus,
  type RunView,
  type Stage,
  stageTitleOf,
  type WorkflowInfo,
} from '@autonomous/shared';

const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  queued: 'Queued',
  running: 'Running',
  awaiting_children: 'Waiting for its child runs',
  awaiting_approval: 'Waiting for approval',
  awaiting_clarification: 'Waiting for an answer',
  paused: 'Paused',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

const PAUSE_LABELS: Readonly<Record<PauseReason, string>> = {
  timeout: 'time limit reached',
  agent_failed: 'the agent failed',
  setup_failed: 'the project could not be set up',
  stalled: 'no progress',
  model_unavailable: 'the model is unavailable',
  rate_limited: 'rate limit reached',
  budget: 'budget used up',
  merge_conflict: 'merge conflict',
  auth_expired: 'access to the repository expired',
  push_rejected: 'the push was rejected',
  remote_unavailable: 'the repository cannot be reached',
  sandbox_unavailable: 'no sandbox available',
  storage_full: 'the disk is full',
  secret_found: 'a secret was found in the result',
  review_needed: 'something in the result needs a review',
  definition_missing: 'its workflow version is missing',
  poisoned: 'quarantined',
};

export const BUDGET_LABELS: Readonly<Record<BudgetName, string>> = {
  maxCostUsd: 'US dollars of this run',
  maxTokens: 'Tokens of this run',
  maxToolCalls: 'Tool calls of this run',
  maxTreeCostUsd: 'US dollars of all its forks and approaches together',
  maxTreeTokens: 'Tokens of all its forks and approaches together',
  maxTreeToolCalls: 'Tool calls of all its forks and approaches together',
};

/** `Running`, `Queued, place 3`, `Paused: merge conflict`. */
export function statusLabel(run: RunView): string {
  const label = STATUS_LABELS[run.status];
  if (run.status === 'queued' && run.queuePosition !== undefined) return `${label}, place ${run.queuePosition}`;
  if (run.status === 'paused' && run.gate?.reason !== undefined) return `${label}: ${PAUSE_LABELS[run.gate.reason]}`;
  return label;
}

/**
 * A stage's title as its workflow declares it; else its name as one: `code_review` becomes `Code review`.
 * @param workflow absent while it is not known
 */
export function stageTitle(stage: Stage | null, workflow?: Pick<WorkflowInfo, 'stages'>): string {
  return stage === null ? 'Not started' : stageTitleOf(workflow, stage);
}

/** The one line about an open gate: where the run stands and what is asked. Text, to be escaped where it is shown. */
export function gateLine(gate: Gate, workflow?: Pick<WorkflowInfo, 'stages'>): string {
  const asked = sanitizeText(gate.question?.question ?? gate.summary);
  return gate.stage === null ? asked : `${stageTitle(gate.stage, workflow)}: ${asked}`;
}

/** Address of the pull request that publishing opened; `null` where there is none. */
export function pullRequestOf(run: RunView): string | null {
  const addresses = (run.published?.note ?? '').split(/[\s<>"']/);
  const isPullRequest = /^https?:\/\/.*\/(?:pull|pulls|merge_requests)\/\d+/;
  return addresses.map((address) => isPullRequest.exec(address)?.[0]).find((address) => address !== undefined) ?? null;
}

/** A kind of gate as a title: `Plan`, `Pause: merge conflict`. */
export function gateTitle(kind: string, reason?: PauseReason, workflow?: Pick<WorkflowInfo, 'gates'>): string {
  const { title } = gateInfoOf(workflow, kind);
  return reason === undefined ? title : `${title}: ${PAUSE_LABELS[reason]}`;
}
