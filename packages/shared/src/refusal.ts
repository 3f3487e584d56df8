/** Texts of the server's refusals for a person. */
import { ApiError, ServerUnreachable } from './api/api-error.ts';
import type { ProblemDetails } from './errors.ts';
import { sanitizeText } from './sanitize-text.ts';
import type { GateOutcome } from './run.ts';
import { agoText } from './times.ts';

const DECIDED: Readonly<Record<GateOutcome['decision'], string>> = {
  approve: 'approved',
  reject: 'rejected',
  answer: 'answered',
  ignore: 'ignored',
  ask: 'answered with a question',
  retry: 'sent back for another try',
  accept: 'accepted as it is',
  extend: 'extended',
  cancel: 'cancelled',
};

/**
 * One sentence or two: why it was not done and, where somebody else was first, who decided what and when.
 * @param now milliseconds since the epoch
 */
export function explainRefusal(error: unknown, now: number): string {
  return sanitizeText(reasonOf(error, now));
}

function reasonOf(error: unknown, now: number): string {
  if (error instanceof ApiError) {
    const winner = winnerOf(error.problem);
    if (winner !== null) {
      const ago = agoText(winner.at, now);
      const notes = winner.notes === undefined ? '' : `: “${winner.notes}”`;
      return `Somebody was first: ${winner.by} has ${DECIDED[winner.decision] ?? winner.decision} this ${ago === 'now' ? 'just now' : ago}${notes}.`;
    }
    const faults = error.problem.faults ?? [];
    return [error.problem.detail, ...faults.map(({ path, message }) => `${path} ${message}`)].join(' ');
  }
  return error instanceof Error ? error.message : String(error);
}

/** Who decided the gate before; `null` where nobody did. */
export function winnerOf(problem: ProblemDetails): GateOutcome | null {
  const { winner } = problem;
  if (typeof winner !== 'object' || winner === null) return null;
  const outcome = winner as Partial<GateOutcome>;
  const isOne =
    typeof outcome.decision === 'string' && typeof outcome.by === 'string' && typeof outcome.at === 'string';
  return isOne ? (outcome as GateOutcome) : null;
}

/** Anything thrown by a call as problem details: what a web view is told. */
export function problemOf(error: unknown): ProblemDetails {
  if (error instanceof ApiError) return error.problem;
  const isUnreachable = error instanceof ServerUnreachable;
  return {
    type: 'about:blank',
    title: isUnreachable ? 'ServerUnreachable' : 'CallFailed',
    status: isUnreachable ? 503 : 500,
    detail: error instanceof Error ? error.message : String(error),
    code: isUnreachable ? 'unavailable' : 'internal',
  };
}
