/** Classifies the failure of an activity: who must act on it, and its description as it is stored. */
import { type ActivityError, NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import { jsonCopy } from '../json-copy.ts';

/** Most causes that are kept of an error; each may have a cause of its own. */
const MOST_CAUSES = 5;
/** Longest message that is kept, in characters. */
const LONGEST_MESSAGE = 20_000;

/** Classifies a thrown value by who must act. Never throws itself, whatever the value is, and its result can be stored. */
export function classify(error: unknown): ActivityError {
  try {
    return jsonCopy(classified(error));
  } catch {
    const message = 'something was thrown that cannot be read';
    return {
      kind: 'bug',
      reason: 'agent_failed',
      message: `Unexpected error: ${message}`,
      error: { name: '', message },
    };
  }
}

function classified(error: unknown): ActivityError {
  if (error instanceof RetryableFailure) {
    const { reason, retryAfterMs } = error;
    // A `retryAfterMs` that is not a finite number would be stored as another value.
    const isTime = retryAfterMs !== undefined && Number.isFinite(retryAfterMs);
    return { kind: 'retryable', reason, message: wordsOf(error.message), ...(isTime ? { retryAfterMs } : {}) };
  }
  if (error instanceof NeedsHuman) {
    const { reason, budget, budgetOf, raised, ways } = error;
    const known = {
      ...(budget === undefined ? {} : { budget }),
      ...(budgetOf === undefined ? {} : { budgetOf }),
      ...(raised === undefined ? {} : { raised }),
      ...(ways === undefined ? {} : { ways }),
    };
    return { kind: 'needs_human', reason, message: wordsOf(error.message), ...known };
  }
  if (error instanceof TerminalFailure)
    return { kind: 'terminal', reason: 'agent_failed', message: wordsOf(error.message) };
  const described = describeThrown(error);
  return {
    kind: 'bug',
    reason: 'agent_failed',
    message: `Unexpected error: ${described.message}`,
    error: described,
  };
}

/** Whether an error is retried. One that does not state who must act may be temporary, such as a reset connection. */
export function isRetried({ kind }: ActivityError): boolean {
  return kind === 'retryable' || kind === 'bug';
}

/**
 * Describes a thrown value by the fields that programs tell errors apart by. The stack is left out: it names files of
 * this machine and belongs in the log alone.
 */
function describeThrown(error: unknown, depth = 0): NonNullable<ActivityError['error']> {
  if (!(error instanceof Error)) return { name: typeof error, message: wordsOf(error) };
  const name = wordsOf(fieldOf(error, 'name'));
  const code = fieldOf(error, 'code');
  const cause = fieldOf(error, 'cause');
  return {
    // A class that does not set its name has that of the one it extends.
    name: name === 'Error' ? wordsOf(error.constructor.name) || name : name,
    message: wordsOf(fieldOf(error, 'message')),
    ...(typeof code === 'string' || Number.isFinite(code) ? { code: code as string | number } : {}),
    ...(cause === undefined || depth >= MOST_CAUSES ? {} : { cause: describeThrown(cause, depth + 1) }),
  };
}

function fieldOf(error: Error, name: string): unknown {
  try {
    return (error as unknown as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** A text for any value; not all of them give one. */
function wordsOf(value: unknown): string {
  try {
    const text = typeof value === 'string' ? value : String(value);
    return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
  } catch {
    return `${typeof value} without a message`;
  }
}
