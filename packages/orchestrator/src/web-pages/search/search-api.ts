/**
 * Requests to a search API of the server's configuration: one try, with limits on time and size, and failures as errors that say
 * who must act. The key goes to the API's own address and is not sent after a redirect.
 */
import { NeedsHuman, replaceHidden, RetryableFailure } from '@autonomous/shared';
import type { z } from 'zod';
import { retryAfterMs } from '../host-pauses.ts';
import type { SearchHit } from '../web-page.ts';

export interface SearchApi {
  /** For messages: `Exa`. */
  readonly title: string;
  /** Environment variable of the key. */
  readonly keyVariable: string;
}

export interface SearchCall<Answer> {
  readonly api: SearchApi;
  readonly address: string;
  readonly init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  readonly schema: z.ZodType<Answer>;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Longest wait for a limit; longer ones are not believed. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;
const MAX_EXCERPT = 1_000;
const MAX_LINE = 300;

/**
 * @throws {RetryableFailure} `rate_limited` for 429; `agent_failed` when the API is down or sends something else than an answer
 * @throws {NeedsHuman} when it refuses the key or the request, or the account has no credit left
 */
export async function callSearchApi<Answer>(call: SearchCall<Answer>): Promise<Answer> {
  const { api, schema, signal } = call;
  const { response, body } = await ask(call).catch((error: unknown) => {
    signal.throwIfAborted();
    throw failed(api, `cannot be reached: ${networkWordsOf(error)}`, error);
  });
  if (!response.ok) throw refusalOf(api, response, body);
  const answer = schema.safeParse(parseJson(body));
  if (answer.success) return answer.data;
  throw failed(api, `sent something that is not an answer: ${shownBody(body)}`);
}

/** Hits with an address of the web, cleaned of hidden characters and cut to a bounded length. */
export function cleanHits(hits: readonly SearchHit[], limit: number): readonly SearchHit[] {
  return hits
    .filter(({ address }) => address.length <= 4_000 && /^https?:$/.test(protocolOf(address)))
    .slice(0, limit)
    .map(({ title, address, excerpt, published }) => ({
      title: oneLine(title, MAX_LINE) || address,
      address,
      excerpt: oneLine(excerpt, MAX_EXCERPT),
      published: published === null ? null : oneLine(published, MAX_LINE) || null,
    }));
}

async function ask({ address, init, signal }: SearchCall<unknown>): Promise<{ response: Response; body: string }> {
  const response = await fetch(address, {
    ...init,
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Its type says that it gives anything; fetch gives bytes.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return { response, body: Buffer.concat(chunks).toString('utf8') };
}

function refusalOf(api: SearchApi, { status, headers }: Response, body: string): Error {
  const said = body.trim() === '' ? '' : `: ${shownBody(body)}`;
  const { title, keyVariable } = api;
  if (status === 429) {
    const waitMs = retryAfterMs(headers.get('retry-after') ?? undefined, Date.now());
    return new RetryableFailure(`The search API ${title} limits the rate (HTTP 429)${said}`, {
      reason: 'rate_limited',
      ...(waitMs === null ? {} : { retryAfterMs: Math.min(waitMs, MAX_RETRY_AFTER_MS) }),
    });
  }
  if (status === 401 || status === 403 || isAboutTheKey(status, body))
    return new NeedsHuman(
      'agent_failed',
      `The search API ${title} refuses the key in ${keyVariable} (HTTP ${status})${said}. Set a valid key, restart the server, then retry.`,
    );
  if (status === 402)
    return new NeedsHuman(
      'agent_failed',
      `The account of ${keyVariable} at the search API ${title} has no credit left (HTTP 402)${said}. Top it up, then retry.`,
    );
  if (status >= 300 && status < 400)
    return new NeedsHuman(
      'agent_failed',
      `The search API ${title} redirects to another address, where its key is not sent. Set SEARCH_API_URL to the right address, restart the server, then retry.`,
    );
  if (status >= 400 && status < 500 && !TRANSIENT.has(status))
    return new NeedsHuman('agent_failed', `The search API ${title} refuses the request (HTTP ${status})${said}`);
  return failed(api, `answers ${status}${said}`);
}

/** Brave answers 422 to a key that it does not know. */
function isAboutTheKey(status: number, body: string): boolean {
  return status === 422 && body.includes('SUBSCRIPTION_TOKEN_INVALID');
}

/** Time-out, conflict and "too early" pass by themselves. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425]);

function failed({ title }: SearchApi, what: string, cause?: unknown): RetryableFailure {
  return new RetryableFailure(`The search API ${title} ${what}`, { cause });
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function shownBody(body: string): string {
  return body.trim() === '' ? 'an empty answer' : oneLine(body.slice(0, 2_000), 200);
}

function networkWordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `it did not answer within ${TIMEOUT_MS / 1_000} seconds`;
  const { cause } = error;
  return cause instanceof Error ? cause.message || cause.name : error.message;
}

function protocolOf(address: string): string {
  return URL.canParse(address) ? new URL(address).protocol : '';
}

function oneLine(text: string, length: number): string {
  const line = replaceHidden(text, () => ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toWellFormed();
  return line.length > length ? `${line.slice(0, length)}…`.toWellFormed() : line;
}
