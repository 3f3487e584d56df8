/** Texts of the server's refusals for a person. */
import { ApiError, ServerUnreachable } from '../api/api-error.ts';
import type { ProblemDetails } from '../errors.ts';
import { sanitizeText } from '../text/sanitize-text.ts';
import type { GateOutcome } from '../run.ts';
import { agoText } from '../times.ts';

const DECIDED: Readonly<Record<GateOutcome['decision'], string>> = {
  approve: 'approved',
  reject: 'rejected',
  answer: 'answered',
  ignore: 'ignored',
  ask: 'answered with a question',
  retry: 'sent back for another try',
  accept: 'accepted as it is',
  extend: 'extended',
  close: 'closed',
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
    const { detail, faults = [] } = error.problem;
    // Most refusals name their faults in the detail as well.
    const unsaid = faults.filter(({ message }) => !detail.includes(withoutDot(message)));
    return [detail, ...unsaid.map(({ path, message }) => `${path} ${message}`)].join(' ');
  }
  return error instanceof Error ? error.message : String(error);
}

/**
 * A refusal in lines, for a terminal: what was refused, then each fault on a line of its own. One line where there are
 * fewer than two faults.
 */
export function refusalLines({ detail, faults = [] }: Pick<ProblemDetails, 'detail' | 'faults'>): readonly string[] {
  const [first, ...others] = faults;
  if (first === undefined || others.length === 0) return [detail];
  const lines = faults.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`);
  const isList = withoutDot(detail).endsWith(withoutDot(faults.at(-1)?.message ?? ''));
  const start = [`${first.path}: ${first.message}`, first.message]
    .map((text) => detail.indexOf(text))
    .find((at) => at >= 0);
  if (!isList || start === undefined) return [detail, ...lines];
  const heading = detail.slice(0, start).trim().replace(/:$/, '');
  return [`${heading === '' ? 'The server refuses the request' : heading}:`, ...lines];
}

function withoutDot(text: string): string {
  return text.replace(/\.$/, '');
}

/** Returns the earlier decision of the gate; `null` when there is none. */
export function winnerOf(problem: ProblemDetails): GateOutcome | null {
  const { winner } = problem;
  if (typeof winner !== 'object' || winner === null) return null;
  const outcome = winner as Partial<GateOutcome>;
  const isOne =
    typeof outcome.decision === 'string' && typeof outcome.by === 'string' && typeof outcome.at === 'string';
  return isOne ? (outcome as GateOutcome) : null;
}

/** Converts any error of a call to problem details for a web view. */
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
