/** Translates failures of requests to GitHub into errors that say who must act. */
import { NeedsHuman, RetryableFailure, TerminalFailure } from '@autonomous/shared';
import { ForgeRefusal, type RepositoryName } from '../forge.ts';
import { type GitHubCredentials, nameOfCredentials, renewalOf } from './github-credentials.ts';
import { MISDIRECTED } from './guarded-fetch.ts';

/** Octokit's error for an answer of 400 and more, and for a request without one (status 500 and a cause). */
export interface HttpError extends Error {
  readonly status: number;
  readonly request?: { readonly method?: string; readonly url?: string };
  readonly response?: { readonly headers: Readonly<Record<string, unknown>>; readonly data: unknown };
}

/** Octokit's error for a GraphQL answer with errors. */
interface GraphqlError extends Error {
  readonly errors: readonly { readonly type?: string; readonly message: string }[];
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A request, and the credentials that it was made with. */
export interface Attempt {
  readonly host: string;
  readonly credentials: GitHubCredentials;
  /** `null`: none in particular. */
  readonly repository: RepositoryName | null;
  /** To be read after "cannot" or "may not": `read pull request 12`. */
  readonly doing: string;
}

/** Wait for a limit whose end GitHub does not tell, as its documentation advises. */
const UNKNOWN_LIMIT_MS = 60_000;
const MAX_WORDS = 500;

/** @returns the error itself where GitHub has nothing to do with it */
export function explainFailure(error: unknown, attempt: Attempt): unknown {
  if (error instanceof NeedsHuman || error instanceof RetryableFailure || error instanceof TerminalFailure)
    return error;
  if (isGraphqlError(error)) return explainGraphql(error, attempt);
  if (!isHttpError(error)) return error;
  const { status } = error;
  if (isLimit(error)) return limited(error.response?.headers ?? {}, attempt, error);
  if (status === MISDIRECTED) return misdirected(error, attempt);
  if (status >= 500) return unavailable(error, attempt);
  if (status === 401 || isSignIn(error)) return unauthorized(error, attempt);
  if (status === 403) return forbidden(error, attempt);
  if (status === 404 || status === 410 || status === 451) return gone(error, attempt);
  return new ForgeRefusal(
    'invalid',
    `${placeOf(attempt)} does not let the server ${attempt.doing} (${status}: ${wordsOf(error)}). Correct this at GitHub, then retry.`,
    { cause: error },
  );
}

export function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && error.name === 'HttpError' && 'status' in error && typeof error.status === 'number';
}

function isGraphqlError(error: unknown): error is GraphqlError {
  return error instanceof Error && error.name === 'GraphqlResponseError' && 'errors' in error;
}

/** GitHub's own message in one line, without the address of its documentation. */
export function wordsOf({ response, message }: HttpError): string {
  const data = response?.data;
  const said = typeof data === 'object' && data !== null && 'message' in data ? String(data.message) : message;
  return said.replace(/\s+/g, ' ').trim().slice(0, MAX_WORDS);
}

/** Codes and messages of a 422, in the order in which GitHub lists them. */
export function validationsOf({ response }: HttpError): readonly { field: string; code: string; message: string }[] {
  const data = response?.data;
  const errors: unknown = typeof data === 'object' && data !== null && 'errors' in data ? data.errors : [];
  const all: readonly unknown[] = Array.isArray(errors) ? errors : [errors];
  return all.map((each) => {
    const { field = '', code = '', message = each } = typeof each === 'object' && each !== null ? fieldsOf(each) : {};
    return { field: String(field), code: String(code), message: typeof message === 'string' ? message : '' };
  });
}

function fieldsOf(error: object): { readonly field?: unknown; readonly code?: unknown; readonly message?: unknown } {
  return error;
}

function isLimit({ status, response, message }: HttpError): boolean {
  if (status === 429) return true;
  if (status !== 403 || response === undefined) return false;
  const { headers } = response;
  return headers['x-ratelimit-remaining'] === '0' || 'retry-after' in headers || /\brate limit\b/i.test(message);
}

function limited(headers: Readonly<Record<string, unknown>>, attempt: Attempt, cause: Error): RetryableFailure {
  const waitMs = limitEndsInMs(headers, Date.now());
  const at = new Date(Date.now() + waitMs).toISOString().slice(0, 19);
  return new RetryableFailure(
    `GitHub (${attempt.host}) limits the rate of requests, so that the server cannot ${attempt.doing}. The limit ends at ${at}Z; the work continues then.`,
    { cause, retryAfterMs: waitMs, reason: 'rate_limited' },
  );
}

/** @param now milliseconds */
export function limitEndsInMs(headers: Readonly<Record<string, unknown>>, now: number): number {
  const after = Number(headers['retry-after']);
  if (Number.isFinite(after) && after >= 0 && headers['retry-after'] !== undefined) return after * 1_000;
  const reset = Number(headers['x-ratelimit-reset']);
  if (headers['x-ratelimit-remaining'] !== '0' || !Number.isFinite(reset)) return UNKNOWN_LIMIT_MS;
  // A second later, since the reset is told in whole seconds.
  return Math.max(0, reset * 1_000 - now) + 1_000;
}

function misdirected(error: HttpError, { host, doing }: Attempt): NeedsHuman {
  return new NeedsHuman(
    'remote_unavailable',
    `GitHub (${host}) ${wordsOf(error)}, where the token is not sent, so that the server cannot ${doing}. Set GITHUB_API_URL to the address itself, and restart the server.`,
    { cause: error },
  );
}

function unavailable(error: HttpError, { host, doing }: Attempt): RetryableFailure {
  const said = error.response === undefined ? networkWordsOf(error) : `it answers ${error.status}`;
  return new RetryableFailure(
    `GitHub (${host}) cannot be reached (${said}), so that the server cannot ${doing}. Check the network and GITHUB_API_URL where it is set, then retry.`,
    { cause: error, reason: 'remote_unavailable' },
  );
}

function networkWordsOf(error: Error): string {
  const { cause } = error;
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'no answer in time';
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (inner instanceof Error && 'code' in inner && typeof inner.code === 'string') return inner.code;
  return error.message.slice(0, MAX_WORDS);
}

/** The App's installation cannot be used: it is gone, or of another App. */
function isSignIn({ request, status }: HttpError): boolean {
  return (status === 403 || status === 404) && /\/app\/installations\/\d+\/access_tokens$/.test(request?.url ?? '');
}

function unauthorized(error: HttpError, { host, credentials }: Attempt): NeedsHuman {
  return new NeedsHuman(
    'auth_expired',
    `GitHub (${host}) refuses ${nameOfCredentials(credentials)} (${error.status}: ${wordsOf(error)}): it has expired, was revoked or is wrong. ${renewalOf(credentials)}`,
    { cause: error },
  );
}

function forbidden(error: HttpError, attempt: Attempt): ForgeRefusal {
  const words = wordsOf(error);
  const options = { cause: error };
  if (/archived/i.test(words)) return archived(attempt, options);
  const { headers = {} } = error.response ?? {};
  const who = nameOfCredentials(attempt.credentials);
  const singleSignOn = /url=(https:\/\/\S{1,500})/.exec(String(headers['x-github-sso'] ?? ''))?.[1];
  if (singleSignOn !== undefined)
    return new ForgeRefusal(
      'forbidden',
      `The organisation of ${placeOf(attempt)} asks for single sign-on, and ${who} is not authorised for it. Authorise it at ${singleSignOn}, then retry.`,
      options,
    );
  const wanted = headers['x-accepted-github-permissions'] ?? headers['x-accepted-oauth-scopes'];
  const missing = typeof wanted === 'string' && wanted !== '' ? ` (${wanted})` : '';
  return new ForgeRefusal(
    'forbidden',
    `In ${placeOf(attempt)}, ${who} may not ${attempt.doing} (403: ${words}). Give it this permission${missing} at GitHub, then retry.`,
    options,
  );
}

export function archived(attempt: Attempt, options: { readonly cause?: unknown } = {}): ForgeRefusal {
  return new ForgeRefusal(
    'archived',
    `The repository ${placeOf(attempt)} is archived and cannot be changed, so that the server cannot ${attempt.doing}. Unarchive it at GitHub, then retry.`,
    options,
  );
}

function gone(error: HttpError, attempt: Attempt): ForgeRefusal {
  const { doing, credentials } = attempt;
  const why =
    error.status === 404
      ? `it is gone, was renamed, or ${nameOfCredentials(credentials)} does not see it`
      : `${error.status}: ${wordsOf(error)}`;
  return new ForgeRefusal(
    'gone',
    `The server cannot ${doing} in ${placeOf(attempt)}: ${why}. Check the address of the project and what the token covers, then retry.`,
    { cause: error },
  );
}

function explainGraphql(error: GraphqlError, attempt: Attempt): Error {
  const [first] = error.errors;
  const words = (first?.message ?? error.message).replace(/\s+/g, ' ').slice(0, MAX_WORDS);
  const options = { cause: error };
  const who = nameOfCredentials(attempt.credentials);
  switch (first?.type) {
    case 'RATE_LIMITED':
      return limited({ 'x-ratelimit-remaining': '0', ...error.headers }, attempt, error);
    case 'NOT_FOUND':
      return new ForgeRefusal(
        'gone',
        `The server cannot ${attempt.doing} in ${placeOf(attempt)}: it is gone, or ${who} does not see it. Check it at GitHub, then retry.`,
        options,
      );
    case 'FORBIDDEN':
    case 'INSUFFICIENT_SCOPES':
      if (/archived/i.test(words)) return archived(attempt, options);
      return new ForgeRefusal(
        'forbidden',
        `In ${placeOf(attempt)}, ${who} may not ${attempt.doing} (${words}). Give it this permission at GitHub, then retry.`,
        options,
      );
    default:
      return new ForgeRefusal(
        'invalid',
        `${placeOf(attempt)} does not let the server ${attempt.doing} (${words}). Correct this at GitHub, then retry.`,
        options,
      );
  }
}

function placeOf({ repository, host }: Attempt): string {
  return repository === null ? `GitHub (${host})` : `${repository.owner}/${repository.name}`;
}
