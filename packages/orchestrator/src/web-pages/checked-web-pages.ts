/**
 * Fetches pages of the web over connections that are checked as those of the egress proxy are: by the same code, without the proxy
 * itself, which serves sandboxes. A page is fetched by the server's own process; what it says is read in workers.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { PrivateAddress, type Resolve, systemAddresses } from '../network/checked-connection.ts';
import { cleanLine, cleanText, parseMediaType } from './decoded-text.ts';
import { HostPauses, retryAfterMs } from './host-pauses.ts';
import { checkAddress, type PageHosts, type PageTarget, shown } from './page-address.ts';
import { createPageReader, type PageReader } from './page-reader.ts';
import { PageStore } from './page-store.ts';
import { actualType, readBody } from './page-text.ts';
import { MAX_ROBOTS_BYTES, Robots, type RobotsAnswer } from './robots.ts';
import type { FetchResult, PageRequest, RefusalReason, RefusedPage, WebPages } from './web-page.ts';
import { BrokenAnswer, requestPage, type WebAnswer } from './web-request.ts';

export interface WebPagesOptions {
  /** Absolute folder of the stored texts; made when it is missing. */
  readonly folder: string;
  readonly hosts: PageHosts;
  readonly search: WebPages['search'];
  readonly limits?: Partial<PageLimits>;
  /** All addresses of a name; the system's resolver when absent. */
  readonly resolve?: Resolve;
  /** Certificates in PEM to trust instead of the system's. */
  readonly certificates?: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export interface PageLimits {
  /** Bytes of a page, as it is sent and again as it is decompressed. */
  readonly bytes: number;
  /** For all of a fetch: robots.txt, redirects and pauses included. */
  readonly totalMs: number;
  /** For reading what came, in addition. */
  readonly readingMs: number;
}

export interface OpenedWebPages extends WebPages {
  /** Ends the workers. */
  close(): Promise<void>;
}

const LIMITS: PageLimits = { bytes: 10 * 1024 * 1024, totalMs: 30_000, readingMs: 30_000 };
const MAX_REDIRECTS = 5;
const ROBOTS_MS = 10_000;
/** A pause that a site asks for is waited for within the fetch when it is no longer than this. */
const WAITED_PAUSE_MS = 10_000;
const MAX_TRIES = 3;
const ACCEPT =
  'text/html, application/xhtml+xml, application/pdf, text/plain;q=0.9, text/markdown;q=0.9, application/json;q=0.8';
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PAUSES: ReadonlySet<number> = new Set([429, 503]);

type Refusal = Pick<RefusedPage, 'reason' | 'status' | 'message'>;
/** The answer to a request, whatever its status, or why there is none. */
type Outcome =
  | { readonly kind: 'answer'; readonly target: PageTarget; readonly answer: WebAnswer }
  | ({ readonly kind: 'refused' } & Refusal);

export async function openWebPages(options: WebPagesOptions): Promise<OpenedWebPages> {
  const store = await PageStore.open(options.folder);
  const reader = createPageReader(options.limits?.readingMs ?? LIMITS.readingMs);
  const fetcher = new PageFetcher(options, store, reader);
  return {
    fetch: (request) => fetcher.fetch(request),
    read: (hash) => store.read(hash),
    search: options.search,
    close: () => reader.close(),
  };
}

class PageFetcher {
  readonly #options: WebPagesOptions;
  readonly #limits: PageLimits;
  readonly #store: PageStore;
  readonly #reader: PageReader;
  readonly #robots: Robots;
  readonly #pauses = new HostPauses();
  readonly #now: () => number;

  constructor(options: WebPagesOptions, store: PageStore, reader: PageReader) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#store = store;
    this.#reader = reader;
    this.#now = options.now ?? Date.now;
    this.#robots = new Robots({ reader, now: this.#now, fetch: (address) => this.#fetchRobots(address) });
  }

  async fetch({ address, signal }: PageRequest): Promise<FetchResult> {
    signal.throwIfAborted();
    const outcome = await this.#follow(address, this.#limits.totalMs, signal, (target, within) =>
      this.#visit(target, within),
    );
    const at = new Date(this.#now()).toISOString();
    if (outcome.kind === 'refused') return { ...outcome, requested: address, at };
    const { target, answer } = outcome;
    const { status } = answer;
    const refusal = this.#refusalOf(target, answer);
    if (refusal !== null) return { kind: 'refused', requested: address, at, ...refusal };
    const media = parseMediaType(answer.headers['content-type']);
    const page = { address: target.url.href, media, body: answer.body };
    const reading = await readBody(page, this.#reader, signal);
    const clean = cleanText(reading.ok ? reading.page.text : '');
    if (!reading.ok || clean.text.trim() === '') {
      const message = `${shown(page.address)} ${reading.ok ? 'has no text' : reading.why}.`;
      return { kind: 'refused', requested: address, at, reason: 'unreadable', status, message };
    }
    const { title, author, published, isCut } = reading.page;
    return {
      kind: 'page',
      requested: address,
      address: page.address,
      at,
      status,
      hash: await this.#store.keep(clean.text),
      mediaType: actualType(page),
      title: cleanLine(title) || cleanLine(page.address),
      author: cleanLine(author) || null,
      published: cleanLine(published) || null,
      text: clean.text,
      isCut: clean.isCut || isCut,
    };
  }

  /** Follows redirects within a time limit. Each address is checked as the first one is. */
  async #follow(
    address: string,
    totalMs: number,
    signal: AbortSignal,
    visit: (target: PageTarget, signal: AbortSignal) => Promise<Outcome>,
  ): Promise<Outcome> {
    const deadline = AbortSignal.timeout(totalMs);
    const within = AbortSignal.any([signal, deadline]);
    let next = address;
    let base: URL | undefined;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const checked = checkAddress(next, this.#options.hosts, base);
      if (!checked.ok) return { kind: 'refused', reason: checked.reason, status: null, message: checked.message };
      const { target } = checked;
      const outcome = await visit(target, within).catch((error: unknown): Outcome => {
        signal.throwIfAborted();
        return { kind: 'refused', ...explainFailure(error, target, deadline.aborted ? totalMs : null) };
      });
      if (outcome.kind === 'refused') return outcome;
      const { location } = outcome.answer.headers;
      if (!REDIRECTS.has(outcome.answer.status) || location === undefined) return outcome;
      [next, base] = [location, target.url];
    }
    const message = `${shown(address)} is redirected more than ${MAX_REDIRECTS} times.`;
    return { kind: 'refused', reason: 'status', status: null, message };
  }

  /** Asks for one page where its site allows it, and again after a short pause that the site asks for. */
  async #visit(target: PageTarget, signal: AbortSignal): Promise<Outcome> {
    const { origin, href } = target.url;
    const decision = await this.#robots.check(target, signal);
    if (decision.kind === 'refused') return decision;
    for (let tries = 1; ; tries += 1) {
      const pausedMs = this.#pauses.remainingMs(origin, this.#now());
      if (pausedMs > WAITED_PAUSE_MS) {
        const message = `${shown(href)} is not fetched: ${origin} asked to wait ${seconds(pausedMs)} more.`;
        return { kind: 'refused', reason: 'status', status: null, message };
      }
      if (pausedMs > 0) await wait(pausedMs, undefined, { signal });
      const answer = await this.#request(target, this.#limits.bytes, signal);
      const askedMs = PAUSES.has(answer.status) ? retryAfterMs(answer.headers['retry-after'], this.#now()) : null;
      if (askedMs === null) return { kind: 'answer', target, answer };
      this.#pauses.pause(origin, askedMs, this.#now());
      if (askedMs > WAITED_PAUSE_MS || tries === MAX_TRIES) {
        const message = `${shown(href)} answers ${answer.status} and asks to wait ${seconds(askedMs)}.`;
        return { kind: 'refused', reason: 'status', status: answer.status, message };
      }
    }
  }

  async #fetchRobots(address: string): Promise<RobotsAnswer> {
    const outcome = await this.#follow(address, ROBOTS_MS, NEVER, async (target, signal) => ({
      kind: 'answer',
      target,
      answer: await this.#request(target, MAX_ROBOTS_BYTES, signal),
    }));
    if (outcome.kind === 'refused') return outcome;
    return { kind: 'answer', status: outcome.answer.status, body: outcome.answer.body };
  }

  #request(target: PageTarget, maxBytes: number, signal: AbortSignal): Promise<WebAnswer> {
    return requestPage(target, {
      resolve: this.#options.resolve ?? systemAddresses,
      certificates: this.#options.certificates,
      maxBytes,
      accept: ACCEPT,
      signal,
    });
  }

  /** Why an answer is no page; `null` when it may be one. */
  #refusalOf(target: PageTarget, { status, isCut }: WebAnswer): Refusal | null {
    const name = shown(target.url.href);
    if (status < 200 || status > 299) return { reason: 'status', status, message: `${name} answers ${status}.` };
    if (!isCut) return null;
    const limit = `${Math.floor(this.#limits.bytes / 1024).toLocaleString('en')} KB`;
    return { reason: 'too_large', status, message: `${name} is larger than ${limit}, the limit of a page.` };
  }
}

/** @param lateMs the time limit, where it has passed */
function explainFailure(error: unknown, { url }: PageTarget, lateMs: number | null): Refusal {
  const name = shown(url.href);
  const refusal = (reason: RefusalReason, what: string): Refusal => ({
    reason,
    status: null,
    message: `${name} ${what}.`,
  });
  if (lateMs !== null) return refusal('timeout', `took longer than ${seconds(lateMs)}`);
  if (error instanceof PrivateAddress) {
    const way = 'Where that is meant, name it in WEB_ALLOW with internal: before it';
    return refusal('private_address', `is not fetched: ${error.message}. ${way}`);
  }
  if (error instanceof BrokenAnswer) return refusal('unreadable', `cannot be read: ${error.message}`);
  // No failure of the network is one of these.
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error;
  return refusal('unreachable', `cannot be reached: ${error.message.slice(0, 200)}`);
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} seconds`;
}

const NEVER = new AbortController().signal;
