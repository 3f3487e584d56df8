/** What an error of a model call means: who has to act, and when it is worth another try. */
import { NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import { APICallError } from 'ai';

/** An answer that did not come, or did not come whole. */
export class StreamCut extends Error {
  override readonly name = 'StreamCut';
}

/**
 * @param keyVariable environment variable that a person looks at when the key is refused
 * @returns `RetryableFailure` where another try may help: `rate_limited` for 429, else `model_unavailable`
 */
export function classifyModelError(
  error: unknown,
  modelId: string,
  keyVariable: string | undefined,
): NeedsHuman | RetryableFailure | TerminalFailure {
  const decided = chainOf(error).find(
    (link) => link instanceof NeedsHuman || link instanceof RetryableFailure || link instanceof TerminalFailure,
  );
  if (decided !== undefined) return decided;

  const status = statusOf(error);
  if (status === 401 || status === 403) {
    // The server's own words can hold a part of the key.
    const key = keyVariable === undefined ? 'its key' : `the key in ${keyVariable}`;
    return new NeedsHuman(
      'model_unavailable',
      `The provider of ${modelId} refused ${key} (HTTP ${status}). Set a valid key that may use this model, restart the server, then retry.`,
      { cause: error },
    );
  }
  if (status === 402 || (status === 429 && apiErrorIn(error)?.responseBody?.includes('insufficient_quota'))) {
    return new NeedsHuman(
      'model_unavailable',
      `The account behind ${modelId} has no credit left (HTTP ${status}). Top it up or choose another model, then retry.`,
      { cause: error },
    );
  }
  if (status === 429) {
    const retryAfterMs = retryAfterOf(error, Date.now());
    return new RetryableFailure(`The provider of ${modelId} limits the rate (HTTP 429): ${wordsOf(error)}`, {
      cause: error,
      reason: 'rate_limited',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  if (status !== undefined && status >= 400 && status < 500 && !TRANSIENT_CLIENT_ERRORS.has(status)) {
    return new NeedsHuman(
      'model_unavailable',
      `The provider of ${modelId} refused the request (HTTP ${status}): ${wordsOf(error)}`,
      { cause: error },
    );
  }
  const retryAfterMs = retryAfterOf(error, Date.now());
  return new RetryableFailure(
    `The model ${modelId} gave no usable answer: ${status === undefined || status < 400 ? '' : `HTTP ${status}, `}${wordsOf(error)}`,
    {
      cause: error,
      reason: 'model_unavailable',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
}

/** Time-out, conflict and "too early" pass by themselves. */
const TRANSIENT_CLIENT_ERRORS: ReadonlySet<number> = new Set([408, 409, 425]);

const MAX_WORDS = 300;

/** The error and all that it names as its cause, outermost first. */
function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (
    let link = error;
    link !== undefined && link !== null && chain.length < 10;
    link = link instanceof Error ? link.cause : undefined
  ) {
    chain.push(link);
  }
  return chain;
}

function apiErrorIn(error: unknown): APICallError | undefined {
  return chainOf(error).find((link) => APICallError.isInstance(link));
}

/** Status of the answer, or of an error that the provider sent inside a stream. */
function statusOf(error: unknown): number | undefined {
  for (const link of chainOf(error)) {
    if (typeof link === 'object' && link !== null && 'statusCode' in link && typeof link.statusCode === 'number')
      return link.statusCode;
  }
  return undefined;
}

/** Milliseconds that the server asks to wait, by `retry-after-ms` or `retry-after` (seconds or a date). */
function retryAfterOf(error: unknown, now: number): number | undefined {
  const headers = apiErrorIn(error)?.responseHeaders;
  const exact = Number.parseFloat(headers?.['retry-after-ms'] ?? '');
  const header = headers?.['retry-after'] ?? '';
  const seconds = /^\s*\d+(?:\.\d+)?\s*$/.test(header) ? Number.parseFloat(header) : Number.NaN;
  const candidates = [exact, seconds * 1_000, Date.parse(header) - now];
  const found = candidates.find((value) => Number.isFinite(value));
  return found === undefined ? undefined : Math.max(0, Math.ceil(found));
}

/** One line of what the error says; parsers quote whole answers. */
function wordsOf(error: unknown): string {
  if (chainOf(error).some(isLostConnection)) return 'the connection was lost in the middle of the answer';
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : JSON.stringify(error);
  const line = (text ?? 'no reason given').replace(/\s+/g, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}

/** What `fetch` throws for a body that stops before its end; the SDK wraps it in words that say nothing of it. */
function isLostConnection(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'terminated';
}
