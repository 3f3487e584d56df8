/**
 * Errors that say who must act: the caller, time, a person, or nobody.
 * Anything else that is thrown is a bug and is logged with its stack.
 */
import type { JsonObject } from './json.ts';
import type { PauseReason, RaisedConcerns, WayOn } from './run.ts';
import type { BudgetName } from './budgets.ts';

/** Stable machine-readable name of an error, part of the API. */
export type ErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'stale'
  | 'payload_too_large'
  | 'misdirected'
  | 'too_many_requests'
  | 'unprocessable'
  | 'storage_full'
  | 'unavailable'
  | 'internal';

/** One fault of a request, by the path of the field that has it. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

abstract class AutonomousError extends Error {
  abstract readonly code: ErrorCode;
  abstract readonly status: number;
  readonly faults: readonly Fault[];
  readonly extra: JsonObject;

  constructor(message: string, options: { cause?: unknown; faults?: readonly Fault[]; extra?: JsonObject } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.faults = options.faults ?? [];
    this.extra = options.extra ?? {};
  }
}

/** The caller sent something that cannot be taken; `faults` names every fault at once. */
export class InvalidRequest extends AutonomousError {
  readonly code = 'invalid_request';
  readonly status = 400;
}

/** A well-formed request that cannot be performed with this project or machine. */
export class Unprocessable extends AutonomousError {
  readonly code = 'unprocessable';
  readonly status = 422;
}

export class NotFound extends AutonomousError {
  readonly code = 'not_found';
  readonly status = 404;
}

/** The refusal of a request that names a run which is not there; `missing` in its problem details says which kind of thing it is. */
export function noSuchRun(runId: string): NotFound {
  return new NotFound(`There is no run '${runId}'.`, { extra: { missing: 'run' } });
}

/** The state moved on: another decision won, or no gate is open. `extra` may hold the winner. */
export class Conflict extends AutonomousError {
  readonly code = 'conflict';
  readonly status = 409;
}

/** An approval named an artifact or a code tree that is not the current one. `extra` holds the current values. */
export class Stale extends AutonomousError {
  readonly code = 'stale';
  readonly status = 409;
}

export class PayloadTooLarge extends AutonomousError {
  readonly code = 'payload_too_large';
  readonly status = 413;
}

/** The disk that holds the database is full. */
export class StorageFull extends AutonomousError {
  readonly code = 'storage_full';
  readonly status = 507;
}

/** The database, the remote or another part cannot be reached now; trying later may work. */
export class Unavailable extends AutonomousError {
  readonly code = 'unavailable';
  readonly status = 503;
}

/** An activity failed in a way that a later attempt may not. */
export class RetryableFailure extends Error {
  readonly retryAfterMs: number | undefined;
  /** Why the run pauses when all attempts are used up. */
  readonly reason: PauseReason;

  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number; reason?: PauseReason } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RetryableFailure';
    this.retryAfterMs = options.retryAfterMs;
    this.reason = options.reason ?? 'agent_failed';
  }
}

/** An activity needs a person before it can go on; the run pauses with `reason`. */
export class NeedsHuman extends Error {
  readonly reason: PauseReason;
  /** The exhausted budget, for reason `budget`. */
  readonly budget: BudgetName | undefined;
  /** The run above this one whose budget is exhausted. Absent: the run's own, or that of its run family. */
  readonly budgetOf: string | undefined;
  /** Concerns that the person has to accept, for reasons `review_needed` and `secret_found`. */
  readonly raised: RaisedConcerns | undefined;
  /** Ways on that the person may choose beside a retry. */
  readonly ways: readonly WayOn[] | undefined;

  constructor(
    reason: PauseReason,
    message: string,
    options: {
      cause?: unknown;
      budget?: BudgetName;
      budgetOf?: string;
      raised?: RaisedConcerns;
      ways?: readonly WayOn[];
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'NeedsHuman';
    this.reason = reason;
    this.budget = options.budget;
    this.budgetOf = options.budgetOf;
    this.raised = options.raised;
    this.ways = options.ways;
  }
}

/** An activity failed for good: no retry with this input can succeed. */
export class TerminalFailure extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TerminalFailure';
  }
}

/** RFC 9457 problem details as every error answer of the API carries them. */
export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly faults?: readonly Fault[];
  readonly [extension: string]: unknown;
}

/** The problem details of anything thrown; an unknown error becomes `internal` without its message or stack. */
export function toProblem(error: unknown): ProblemDetails {
  if (error instanceof AutonomousError) {
    return {
      type: `urn:autonomous:problem:${error.code}`,
      title: error.name,
      status: error.status,
      detail: error.message,
      code: error.code,
      ...(error.faults.length > 0 ? { faults: error.faults } : {}),
      ...error.extra,
    };
  }
  // A request that meets such a failure gets the message that a paused run would show.
  if (error instanceof NeedsHuman || error instanceof RetryableFailure) {
    if (error.reason === 'storage_full') return toProblem(new StorageFull(error.message, { cause: error }));
    return toProblem(new Unavailable(error.message, { cause: error, extra: waitOf(error) }));
  }
  return {
    type: 'urn:autonomous:problem:internal',
    title: 'InternalError',
    status: 500,
    detail: 'Something went wrong inside the server; its log has the details.',
    code: 'internal',
  };
}

/** When another try may help, in seconds: `null` where only a person can help, absent where nobody knows. */
function waitOf(error: NeedsHuman | RetryableFailure): { readonly retryAfterSeconds?: number | null } {
  if (error instanceof NeedsHuman) return { retryAfterSeconds: null };
  const { retryAfterMs } = error;
  return retryAfterMs !== undefined && Number.isFinite(retryAfterMs)
    ? { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) }
    : {};
}
