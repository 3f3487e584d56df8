/**
 * Sums up a run's spending and waiting by time: a fold of its events that continues from its last position, so that no
 * event is read twice. Pure.
 */
import {
  type CallCost,
  type EventPayloads,
  isEvent,
  type PauseReason,
  type Stage,
  type WorkflowEvent,
} from '@autonomous/shared';

/** Version of the fold's output. Summaries stored under an older version are computed again. */
export const SUMMARY_VERSION = 1;

/** Times are milliseconds since 1970. */
export interface RunSummary {
  /** Spending, summed per quarter of an hour, because days of all time zones begin with one. */
  readonly spent: readonly Spent[];
  /** Calls whose answer is not known, by their name. They count at what they can come to at most. */
  readonly booked: Readonly<Record<string, Spent>>;
  /** Gates that closed. */
  readonly waits: readonly Wait[];
  /** The gate at which the run stands. */
  readonly open: Omit<Wait, 'to'> | null;
  readonly stage: Stage | null;
  /** The run completed, and parts of its work came to nothing. Absent: it did not. */
  readonly withFailures?: true;
  /** Its parent gave it up, since it came to nothing. Absent: it did not. */
  readonly givenUp?: true;
}

export interface Spent {
  /** When the quarter of an hour began. */
  readonly at: number;
  readonly stage: Stage | null;
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  readonly unpricedCalls: number;
}

export interface Wait {
  readonly gate: string;
  readonly reason?: PauseReason;
  readonly from: number;
  readonly to: number;
}

export const NO_SUMMARY: RunSummary = { spent: [], booked: {}, waits: [], open: null, stage: null };

const QUARTER_MS = 15 * 60_000;

/** Decisions and changes of state with which an open gate is none any more. */
const CLOSING: ReadonlySet<string> = new Set([
  'RUN_QUEUED',
  'STATE_CHANGED',
  'APPROVAL_GRANTED',
  'APPROVAL_REJECTED',
  'CLARIFICATION_ANSWERED',
  'CLARIFICATION_IGNORED',
  'QUESTION_ASKED',
  'RETRY_REQUESTED',
  'STAGE_EXTENDED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_CANCELLED',
] satisfies readonly (keyof EventPayloads)[]);

/** @param events those of one run that follow what was summarised, in order */
export function summarize(before: RunSummary, events: readonly WorkflowEvent[]): RunSummary {
  const draft = { ...before, spent: [...before.spent], booked: { ...before.booked }, waits: [...before.waits] };
  for (const event of events) apply(draft, event, Date.parse(event.timestamp));
  return draft;
}

interface Draft {
  spent: Spent[];
  booked: Record<string, Spent>;
  waits: Wait[];
  open: RunSummary['open'];
  stage: Stage | null;
  withFailures?: true;
  givenUp?: true;
}

function apply(draft: Draft, event: WorkflowEvent, at: number): void {
  if (closes(draft, event)) close(draft, at);
  if (isEvent(event, 'RUN_FORKED')) {
    // All before is the source's; a gate that is open begins to wait for the fork's own people now.
    draft.spent = [];
    draft.booked = {};
    draft.waits = [];
    if (draft.open !== null) draft.open = { ...draft.open, from: at };
  } else if (isEvent(event, 'STAGE_STARTED') || isEvent(event, 'STATE_CHANGED')) {
    draft.stage = event.payload.stage;
  } else if (isEvent(event, 'APPROVAL_REQUESTED') || isEvent(event, 'CLARIFICATION_REQUESTED')) {
    open(draft, { gate: event.payload.gate, from: at });
  } else if (isEvent(event, 'RUN_PAUSED')) {
    open(draft, { gate: event.payload.gate, reason: event.payload.reason, from: at });
  } else if (isEvent(event, 'RUN_COMPLETED')) {
    if (event.payload.failures !== undefined) draft.withFailures = true;
  } else if (isEvent(event, 'RUN_CANCELLED')) {
    if (event.payload.cause !== undefined) draft.givenUp = true;
  } else if (isEvent(event, 'COST_RECORDED')) {
    const { metered = false, model, calls, inputTokens, outputTokens } = event.payload;
    // A call without a reservation has no known price.
    const spent = { at, stage: draft.stage, model, calls, inputTokens, outputTokens, costUsd: 0, unpricedCalls: calls };
    if (!metered) add(draft, spent);
  } else if (isEvent(event, 'CALL_BOOKED')) {
    draft.booked[event.payload.call] = callAt(at, event.payload);
  } else if (isEvent(event, 'CALL_SETTLED')) {
    delete draft.booked[event.payload.call];
    add(draft, callAt(at, event.payload));
  }
}

/** Policy decides at no gate, and budgets only where the run stands for want of one. */
function closes({ open: gate }: Draft, event: WorkflowEvent): boolean {
  if (isEvent(event, 'FIX_DECIDED')) return event.payload.by !== 'policy';
  if (isEvent(event, 'BUDGET_CHANGED')) return gate?.reason === 'budget';
  return CLOSING.has(event.type);
}

function open(draft: Draft, gate: NonNullable<RunSummary['open']>): void {
  if (draft.open !== null) close(draft, gate.from);
  draft.open = gate;
}

function close(draft: Draft, at: number): void {
  // A clock that was set back makes nobody wait less than not at all.
  if (draft.open !== null) draft.waits.push({ ...draft.open, to: Math.max(at, draft.open.from) });
  draft.open = null;
}

function callAt(at: number, call: CallCost & { readonly stage: Stage | null; readonly model: string }): Spent {
  const { stage, model, inputTokens, outputTokens, costUsd } = call;
  const unpricedCalls = costUsd === null ? 1 : 0;
  return { at, stage, model, calls: 1, inputTokens, outputTokens, costUsd: costUsd ?? 0, unpricedCalls };
}

function add(draft: Draft, { at, ...call }: Spent): void {
  const quarter = Math.floor(at / QUARTER_MS) * QUARTER_MS;
  const index = draft.spent.findLastIndex(
    (sum) => sum.at === quarter && sum.stage === call.stage && sum.model === call.model,
  );
  const sum = draft.spent[index];
  if (sum === undefined) {
    draft.spent.push({ at: quarter, ...call });
    return;
  }
  draft.spent[index] = {
    ...sum,
    calls: sum.calls + call.calls,
    inputTokens: sum.inputTokens + call.inputTokens,
    outputTokens: sum.outputTokens + call.outputTokens,
    costUsd: sum.costUsd + call.costUsd,
    unpricedCalls: sum.unpricedCalls + call.unpricedCalls,
  };
}
