/** Classifies errors of model calls by who must act and when a retry makes sense. */
import { NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import { APICallError } from 'ai';

/** An answer that did not come, or did not come whole. */
export class StreamCut extends Error {
  override readonly name = 'StreamCut';
}

/** A request with more tokens than the model, or a minute of its account, takes. A shorter one may be taken. */
export class RequestTooLong extends NeedsHuman {
  /** Most tokens of a request and its answer, where the provider says it. */
  readonly most: number | null;

  constructor(modelId: string, words: string, most: number | null, options?: ErrorOptions) {
    super('model_unavailable', `The request is too long for ${modelId}: ${words}`, options);
    this.most = most;
  }
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
  if (isTooLong(error, status))
    return new RequestTooLong(modelId, wordsOf(error), mostIn(saidBy(error)), { cause: error });
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
      `The account behind ${modelId} has no credit left (HTTP ${status}). Top it up, then retry; or fork the run with another model.`,
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

/** Was the request refused, or never arrived? Nobody charges for it then. */
export function wasRefused(error: unknown): boolean {
  const status = statusOf(error);
  return status === undefined ? apiErrorIn(error) !== undefined : status >= 400;
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

/** Longest wait for a rate limit; longer ones are not believed. */
const MAX_RETRY_AFTER_MS = 7 * 24 * 60 * 60 * 1_000;

/** Milliseconds until the server says that it answers again; absent where it does not say. */
function retryAfterOf(error: unknown, now: number): number | undefined {
  const headers = apiErrorIn(error)?.responseHeaders ?? {};
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '');
  const header = headers['retry-after'] ?? '';
  const seconds = /^\s*\d+(?:\.\d+)?\s*$/.test(header) ? Number.parseFloat(header) : Number.NaN;
  return retryAfter([exact, seconds * 1_000, Date.parse(header) - now, resetAfter(headers, now)]);
}

/** The first of them that is a time, milliseconds, within what can be waited for. */
export function retryAfter(candidates: readonly (number | undefined)[]): number | undefined {
  const found = candidates.find((value) => Number.isFinite(value));
  return found === undefined ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(0, Math.ceil(found)));
}

/** `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-requests`, `x-ratelimit-reset` */
const RESET_HEADER = /^(?:anthropic-|x-)?ratelimit-(?:(.+)-reset|reset(?:-(.+))?)$/;

/**
 * When the limits that are used up begin anew, by the headers that name the state of each; the last of them counts.
 * Limits of which something remains are not what was hit.
 */
function resetAfter(headers: Readonly<Record<string, string>>, now: number): number {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    const match = RESET_HEADER.exec(name);
    if (match === null) return [];
    const remaining =
      match[1] === undefined
        ? headers[name.replace('reset', 'remaining')]
        : headers[name.replace(/reset$/, 'remaining')];
    if (remaining !== undefined && Number(remaining) > 0) return [];
    const ms = waitFrom(value, now);
    return Number.isFinite(ms) ? [ms] : [];
  });
  return waits.length === 0 ? Number.NaN : Math.max(...waits);
}

/**
 * `6m0s`, `120ms`, seconds, seconds or milliseconds since the epoch, or a date: as each provider has it.
 * @returns milliseconds; `NaN` where it is none of them
 */
export function waitFrom(value: string, now: number): number {
  const text = value.trim();
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const figure = Number(text);
    if (figure > 1e12) return figure - now;
    return figure > 1e9 ? figure * 1_000 - now : figure * 1_000;
  }
  const parts = [...text.matchAll(/(?<!\d)(\d+(?:\.\d+)?)(ms|[dhms])/g)];
  if (parts.length > 0 && parts.map(([part]) => part).join('') === text)
    return parts.reduce((sum, [, figure, unit = 's']) => sum + Number(figure) * (UNITS[unit] ?? 0), 0);
  return Date.parse(text) - now;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** One line of what the error says; parsers quote whole answers. */
function wordsOf(error: unknown): string {
  if (chainOf(error).some(isLostConnection)) return 'the connection was lost in the middle of the answer';
  const line = saidBy(error).replace(/\s+/g, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}

/** All that the provider says: of its answer, what the SDK does not find where OpenAI has it. */
function saidBy(error: unknown): string {
  const api = apiErrorIn(error);
  const ofAnswer = api?.responseBody === undefined ? null : wordsIn(api.responseBody);
  if (ofAnswer !== null) return ofAnswer;
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : JSON.stringify(error);
  return text ?? 'no reason given';
}

/** Names of the fields in which servers say what is wrong, the more exact ones first. */
const WORDS_FIELDS = ['raw', 'message', 'detail', 'error', 'msg', 'error_description', 'Message'];
const MAX_BODY = 20_000;

/** The words of an error's body: JSON in any of the forms that servers have, or plain text. `null`: it has none. */
function wordsIn(body: string): string | null {
  if (body.length > MAX_BODY) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    const text = body.trim();
    return text === '' || text.startsWith('<') ? null : text;
  }
  return wordsWithin(parsed, 0);
}

function wordsWithin(value: unknown, depth: number): string | null {
  if (typeof value === 'string' && value.trim() !== '')
    return depth < 8 && /^\s*[[{]/.test(value) ? wordsIn(value) : value;
  if (typeof value !== 'object' || value === null || depth > 8) return null;
  const fields = value as Readonly<Record<string, unknown>>;
  if (Array.isArray(value))
    return value.map((each) => wordsWithin(each, depth + 1)).find((words) => words !== null) ?? null;
  const inside = ['metadata', ...WORDS_FIELDS].filter((name) => Object.hasOwn(fields, name));
  return inside.map((name) => wordsWithin(fields[name], depth + 1)).find((words) => words !== null) ?? null;
}

/** Ways in which providers and local servers say that a request has too many tokens. */
const TOO_LONG =
  /context[ _-]?(?:length|window|size|limit)|prompt (?:is )?too long|prompt length|too many (?:input )?tokens|(?:input|prompt) (?:token count|tokens?|length) .{0,60}(?:exceed|maximum|limit|longer)|(?:input|prompt|request|messages?|conversation) (?:is|are) too (?:long|large)|request too large|maximum (?:number of )?(?:input |prompt )?tokens allowed|reduce the length|n_ctx/i;
/** Said of the answer that was asked for, which a shorter conversation does not change. */
const OF_ANSWER =
  /max_(?:completion_|output_)?tokens.{0,40}(?:too large|at most|greater than|must be)|supports at most \d+ completion/i;

function isTooLong(error: unknown, status: number | undefined): boolean {
  if (status === 413) return true;
  const isRefusal = status === undefined ? apiErrorIn(error) !== undefined : [400, 422, 429, 500, 503].includes(status);
  if (!isRefusal) return false;
  const said = `${saidBy(error)} ${apiErrorIn(error)?.responseBody?.slice(0, MAX_BODY) ?? ''}`;
  return TOO_LONG.test(said) && !OF_ANSWER.test(said);
}

const LIMITS: readonly RegExp[] = [
  />\s{0,3}(\d[\d,_]{2,12})/,
  /(\d[\d,_]{2,12}) maximum context/i,
  /(?:context[ _-]?(?:length|window|size|limit)|n_ctx|maximum(?: number of)?(?: \w+){0,3} allowed|limit)\D{0,40}?(\d[\d,_]{2,12})/i,
];

/** The limit that the words of a refusal name. */
function mostIn(said: string): number | null {
  for (const pattern of LIMITS) {
    const figure = Number(pattern.exec(said)?.[1]?.replaceAll(/[,_]/g, ''));
    if (figure >= LEAST_WINDOW) return figure;
  }
  return null;
}

const LEAST_WINDOW = 1_000;

/** True for the error that `fetch` throws for a body that ends early. The SDK's wrapper does not show that cause. */
function isLostConnection(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'terminated';
}
