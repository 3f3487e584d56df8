/**
 * Octokit with what every request needs: sign-in by the credentials as they are now, pauses between writes, waits for short
 * limits, repetition after failures of GitHub, and conditional requests.
 */
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { Octokit } from '@octokit/rest';
import type { RepositoryName } from '../forge.ts';
import { AnswerCache } from './answer-cache.ts';
import { hostOfApi } from './github-address.ts';
import type { GitHubCredentials } from './github-credentials.ts';
import { explainFailure, isHttpError } from './github-failure.ts';
import { signInOptions } from './github-sign-in.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

export interface GitHubOptions {
  /** Base of the REST API, such as `https://api.github.com` or `https://HOST/api/v3`. */
  readonly apiUrl: string;
  readonly credentials: GitHubCredentials;
  /** Longest wait for the end of a rate limit (default 60,000 ms). A longer one fails at once, with its time. */
  readonly maxWaitMs?: number;
  /**
   * Pause after a write, and base of the waits before repetitions (1, 4 and 9 times as long). Default 1,000 ms, as GitHub asks for;
   * 0: writes follow at once.
   */
  readonly paceMs?: number;
  /** Time for a request (default 30,000 ms). */
  readonly timeoutMs?: number;
}

export type Client = Octokit;

/** A client, and what its failures name. */
export interface Connection {
  readonly host: string;
  readonly credentials: GitHubCredentials;
  readonly client: Client;
}

const MAX_WAITS = 2;
/** Everything but failures of GitHub and its network. The throttling plugin repeats 403 and 429 itself. */
const NOT_REPEATED = [400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 421, 422, 428, 429, 451];
const ThrottledOctokit: typeof Octokit = Octokit.plugin(retry, throttling);
let connections = 0;

export function connect(options: GitHubOptions): Connection {
  const { apiUrl, credentials } = options;
  return { host: hostOfApi(apiUrl), credentials, client: createOctokit(options) };
}

function createOctokit({
  apiUrl,
  credentials,
  maxWaitMs = 60_000,
  paceMs = 1_000,
  timeoutMs = 30_000,
}: GitHubOptions): Client {
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const isShort = (seconds: number, _options: unknown, _octokit: unknown, waits: number): boolean =>
    seconds * 1_000 <= maxWaitMs && waits < MAX_WAITS;
  const octokit = new ThrottledOctokit({
    ...signInOptions(credentials),
    baseUrl: apiUrl.replace(/\/$/, ''),
    userAgent: 'autonomous-orchestrator',
    // Its lines name addresses and people of the project.
    log: silent,
    request: { fetch: createGuardedFetch(apiUrl, timeoutMs), log: silent },
    retry: { doNotRetry: NOT_REPEATED, retryAfterBaseValue: paceMs },
    throttle: {
      // Its queues are shared by all clients with one id.
      id: `${process.pid}-${(connections += 1)}`,
      onRateLimit: isShort,
      onSecondaryRateLimit: isShort,
      // The plugin's types ask for all of a queue, and it calls this one method.
      ...(paceMs === 0 ? (UNPACED as object) : {}),
    },
  });
  makeConditional(octokit, new AnswerCache());
  return octokit;
}

/** Queues of the throttling plugin that let all through at once. */
const UNPACED = {
  triggersNotification: () => false,
  write: {
    key: () => ({
      schedule: (_options: unknown, job: (...args: readonly unknown[]) => unknown, ...args: readonly unknown[]) =>
        job(...args),
    }),
  },
};

/** Sends ETags along with reads, and answers from the cache what GitHub says is unchanged. */
function makeConditional(octokit: Octokit, cache: AnswerCache): void {
  octokit.hook.wrap('request', async (request, options) => {
    if (options.method !== 'GET') return request(options);
    const { url, headers } = octokit.request.endpoint.parse(options);
    const key = `${headers.accept ?? ''} ${url}`;
    const known = cache.get(key);
    if (known !== undefined) options.headers['if-none-match'] = known.etag;
    try {
      const answer = await request(options);
      const { etag } = answer.headers;
      if (etag !== undefined)
        cache.put(key, { etag, json: JSON.stringify(answer.data), headers: answer.headers, url: answer.url });
      return answer;
    } catch (error) {
      if (known === undefined || !isHttpError(error) || error.status !== 304) throw error;
      return {
        status: 200,
        url: known.url,
        headers: { ...known.headers, ...error.response?.headers } as typeof known.headers,
        data: JSON.parse(known.json) as unknown,
      };
    }
  });
}

/** Settings of one request. */
export type RequestSettings = {
  readonly request: { readonly signal?: AbortSignal; readonly retries?: number };
};

/** Calls of one repository, or of none: they end with the signal, and fail with errors that say who must act. */
export class Caller {
  readonly #connection: Connection;
  readonly #signal: AbortSignal | undefined;
  readonly repository: RepositoryName | null;

  constructor(connection: Connection, repository: RepositoryName | null, signal: AbortSignal | undefined) {
    this.#connection = connection;
    this.repository = repository;
    this.#signal = signal;
  }

  get client(): Client {
    return this.#connection.client;
  }

  /** Settings of a request that may be repeated. */
  get settings(): RequestSettings {
    return { request: this.#signal === undefined ? {} : { signal: this.#signal } };
  }

  /** Settings of a write that is not sent again after a failure, since GitHub may have carried it out. */
  get once(): RequestSettings {
    return { request: { ...this.settings.request, retries: 0 } };
  }

  /**
   * @param doing names it, to be read after "cannot": `read pull request 12`
   * @param call is not awaited any more when the signal is aborted, even while it waits for the end of a limit
   */
  async do<Result>(doing: string, call: () => Promise<Result>): Promise<Result> {
    const signal = this.#signal;
    signal?.throwIfAborted();
    try {
      return await (signal === undefined ? call() : untilAborted(call(), signal));
    } catch (error) {
      signal?.throwIfAborted();
      throw this.explain(error, doing);
    }
  }

  /** The error that says who must act. */
  explain(error: unknown, doing: string): unknown {
    const { host, credentials } = this.#connection;
    return explainFailure(error, { host, credentials, repository: this.repository, doing });
  }
}

async function untilAborted<Result>(call: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  // The other end of the race may come later, when nobody waits for it any more.
  call.catch(() => {});
  try {
    return await Promise.race([call, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

const PAGE_SIZE = 100;
const MAX_PAGES = 5;

const MAX_NEWEST_PAGES = 10;

type ReadPage<Item> = (page: {
  readonly page: number;
  readonly per_page: number;
}) => Promise<{ readonly items: readonly Item[]; readonly link: string | undefined }>;

/**
 * Reads pages of a list until its end, at most 500 items. Octokit's own iterator forgets the signal.
 * @param read reads a page; its number begins with 1
 */
export async function readPages<Item>(
  read: ReadPage<Item>,
): Promise<{ readonly items: readonly Item[]; readonly isComplete: boolean }> {
  const items: Item[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const found = await read({ page, per_page: PAGE_SIZE });
    items.push(...found.items);
    if (!hasNext(found.link)) return { items, isComplete: true };
  }
  return { items, isComplete: false };
}

/**
 * Reads a list whose oldest item is first from its end, until it has a wanted item: about 1,000 items at most, and the first
 * page.
 * @returns oldest first; not complete: neither the begin of the list nor a wanted item was reached from its end
 */
export async function readNewest<Item>(
  read: ReadPage<Item>,
  isWanted: (item: Item) => boolean,
): Promise<{ readonly items: readonly Item[]; readonly isComplete: boolean }> {
  const first = await read({ page: 1, per_page: PAGE_SIZE });
  if (!hasNext(first.link)) return { items: first.items, isComplete: true };
  let last = lastPageOf(first.link);
  const items: Item[] = [];
  let left = MAX_NEWEST_PAGES;
  // Items may have come since the first page was read.
  for (let page = last; left > 0; page += 1, left -= 1) {
    const found = await read({ page, per_page: PAGE_SIZE });
    items.push(...found.items);
    if (!hasNext(found.link)) break;
  }
  if (left === 0) return { items: [...first.items, ...items], isComplete: false };
  for (; !items.some(isWanted); left -= 1) {
    last -= 1;
    if (last <= 1) return { items: [...first.items, ...items], isComplete: true };
    if (left <= 1) return { items: [...first.items, ...items], isComplete: false };
    items.unshift(...(await read({ page: last, per_page: PAGE_SIZE })).items);
  }
  return { items, isComplete: true };
}

function hasNext(link = ''): boolean {
  return link.includes('rel="next"');
}

/** The second page, where GitHub does not say which one is the last. */
function lastPageOf(link = ''): number {
  const part = link.split(',').find((each) => each.includes('rel="last"'));
  return Number(part === undefined ? 2 : (/[?&]page=(\d+)/.exec(part)?.[1] ?? 2));
}
