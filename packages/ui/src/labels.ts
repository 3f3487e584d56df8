/** Labels of a run, its stage and its gate for people. */
import {
  type BudgetName,
  type Gate,
  gateInfoOf,
  type PauseReason,
  type RunStatus,
  type RunView,
  type Stage,
  stageTitleOf,
  type WorkflowInfo,
} from '@autonomous/shared';
import { PAUSE_LABELS, sanitizeText, withAttempt, withoutTerminal } from '@autonomous/shared/presentation';

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

/** Kind of the gate of an ordinary pause, whose reason says more than its name. */
const PAUSE_KIND = 'pause';

export const BUDGET_LABELS: Readonly<Record<BudgetName, string>> = {
  maxCostUsd: 'US dollars of this run and its child runs',
  maxTokens: 'Tokens of this run and its child runs',
  maxToolCalls: 'Tool calls of this run and its child runs',
  maxTreeCostUsd: 'US dollars of its whole family: child runs, forks and approaches',
  maxTreeTokens: 'Tokens of its whole family: child runs, forks and approaches',
  maxTreeToolCalls: 'Tool calls of its whole family: child runs, forks and approaches',
};

/**
 * `Running`, `Queued, place 3`, `Paused: merge conflict`; at a gate that the workflow calls by a name of its own, that name. Of an attempt
 * `Attempt 1 of 3 – 1 of 4 tests failed`.
 * @param workflow absent while it is not known
 */
export function statusLabel(run: RunView, workflow?: Pick<WorkflowInfo, 'gates'>): string {
  return withAttempt(run, labelOf(run, workflow));
}

function labelOf(run: RunView, workflow?: Pick<WorkflowInfo, 'gates'>): string {
  const label = STATUS_LABELS[run.status];
  if (run.status === 'queued' && run.queuePosition !== undefined) return `${label}, place ${run.queuePosition}`;
  if (run.failures !== undefined) return `${label} with failures`;
  const own = run.gate === null ? undefined : workflow?.gates[run.gate.kind]?.waiting;
  if (run.status === 'paused' && own !== undefined && run.gate?.kind !== PAUSE_KIND) return own;
  if (run.status === 'paused' && run.gate?.reason !== undefined) return `${label}: ${PAUSE_LABELS[run.gate.reason]}`;
  return label;
}

/**
 * A run's title: the first line of its request. A run without a request has its workflow's title.
 * @param workflow absent while it is not known
 */
export function runTitle(
  { originalRequest, workflow: { name } }: Pick<RunView, 'originalRequest' | 'workflow'>,
  workflow?: Pick<WorkflowInfo, 'title'>,
): string {
  return splitRequest(originalRequest)[0] || (workflow?.title ?? name);
}

/** Characters of a title. */
const LONGEST_TITLE = 160;

/**
 * The first line of a request, and the lines after it; the latter are empty where there is one line. A line that is too long for a title
 * is cut after a word, and the whole request follows.
 */
export function splitRequest(request: string): readonly [first: string, rest: string] {
  const text = withoutTerminal(request).trim();
  const [line = '', ...others] = text.split('\n');
  const first = line.trim();
  if (first.length <= LONGEST_TITLE) return [first, others.join('\n').trim()];
  const cut = first.slice(0, LONGEST_TITLE).toWellFormed();
  const word = cut.lastIndexOf(' ');
  return [`${cut.slice(0, word > LONGEST_TITLE / 2 ? word : undefined)}…`, text];
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

/**
 * Web address of the run's pull request: the one that the forge gave, else one in what publishing noted; `null` where there is none.
 * It is http or https, without credentials, and ends in the number of the pull request.
 */
export function pullRequestOf(run: RunView): string | null {
  const { pullRequest, note = '' } = run.published ?? {};
  const given = pullRequest === undefined ? [] : [pullRequest.url];
  const isPullRequest = /^https?:\/\/[^/?#@]+\/.*\/(?:pull|pulls|merge_requests)\/\d+/;
  const addresses = [...given, ...note.split(/[\s<>"']/)].filter((address) => URL.canParse(address));
  return addresses.map((address) => isPullRequest.exec(address)?.[0]).find((address) => address !== undefined) ?? null;
}

/** A kind of gate as a title: `Plan`, `Pause: merge conflict`. */
export function gateTitle(kind: string, reason?: PauseReason, workflow?: Pick<WorkflowInfo, 'gates'>): string {
  const { title } = gateInfoOf(workflow, kind);
  return reason === undefined ? title : `${title}: ${PAUSE_LABELS[reason]}`;
}
