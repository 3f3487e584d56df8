/** Words for a child run that is one of several attempts, and for one that its parent gave up. */
import type { RunView } from './run.ts';
import { sanitizeText } from './text/sanitize-text.ts';

/** Characters of a cause in a list. */
const LONGEST_CAUSE = 160;

/**
 * Where a run stands, with its attempt and the cause for which its parent gave it up: `Attempt 1 of 3 – 1 of 4 tests failed`,
 * `Cancelled: 1 of 4 tests failed`. A first attempt of an unknown number is not named. Without hidden characters of the cause.
 * @param standing words for its status or stage
 */
export function withAttempt(run: Pick<RunView, 'attempt' | 'status' | 'failure'>, standing: string): string {
  const attempt = attemptText(run);
  const cause = givenUpText(run);
  if (attempt === null) return cause === null ? standing : `${standing}: ${cause}`;
  return `${attempt} – ${cause ?? standing}`;
}

function attemptText({ attempt }: Pick<RunView, 'attempt'>): string | null {
  if (attempt === undefined) return null;
  const { number, of } = attempt;
  if (of !== undefined) return `Attempt ${number} of ${of}`;
  return number === 1 ? null : `Attempt ${number}`;
}

function givenUpText({ status, failure }: Pick<RunView, 'status' | 'failure'>): string | null {
  if (status !== 'cancelled' || failure === undefined) return null;
  const line = sanitizeText(failure).trim().replaceAll(/\s+/g, ' ');
  return line.length > LONGEST_CAUSE ? `${line.slice(0, LONGEST_CAUSE).toWellFormed()}…` : line;
}
