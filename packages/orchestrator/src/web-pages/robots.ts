/**
 * Honours robots.txt (RFC 9309): the file of a site is fetched once and kept for an hour. A site without one (4xx) allows
 * everything; one whose file cannot be had (5xx, no answer) allows nothing, and is asked again after a minute.
 */
import { type PageTarget, shown } from './page-address.ts';
import type { PageReader } from './page-reader.ts';
import { untilAborted } from './until-aborted.ts';
import type { RefusalReason } from './web-page.ts';

/** Answer to a GET, after redirects, or why there is none. */
export type RobotsAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: Buffer }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly status: number | null;
      readonly message: string;
    };

export interface RobotsOptions {
  readonly reader: PageReader;
  /** Has a time limit of its own: all pages of a site wait for the same file. */
  readonly fetch: (address: string) => Promise<RobotsAnswer>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export type RobotsDecision =
  | { readonly kind: 'allowed' }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly status: number | null;
      readonly message: string;
    };

interface KnownFile {
  readonly file: Promise<RobotsFile>;
  until: number;
}

type RobotsFile =
  | { readonly kind: 'rules'; readonly address: string; readonly text: string }
  | { readonly kind: 'none' }
  /** It cannot be had; `why` is a sentence. */
  | {
      readonly kind: 'unknown';
      readonly address: string;
      readonly reason: RefusalReason;
      readonly status: number | null;
      readonly why: string;
    };

const KEPT_MS = 60 * 60_000;
const RETRIED_AFTER_MS = 60_000;
const MAX_KNOWN = 1_000;
/** Reasons that hold for every page of the site. */
const OF_THE_SITE: ReadonlySet<RefusalReason> = new Set(['private_address', 'unreachable', 'timeout']);
/** At least so much has to be read by RFC 9309; the rest of a longer file does not count. */
export const MAX_ROBOTS_BYTES = 512 * 1024;

export class Robots {
  readonly #options: RobotsOptions;
  /** By origin, the oldest first. */
  readonly #known = new Map<string, KnownFile>();

  constructor(options: RobotsOptions) {
    this.#options = options;
  }

  async check({ url }: PageTarget, signal: AbortSignal): Promise<RobotsDecision> {
    const file = await untilAborted(signal, () => this.#fileOf(url.origin));
    const refused = (reason: RefusalReason, status: number | null, why: string): RobotsDecision => ({
      kind: 'refused',
      reason,
      status,
      message: `${shown(url.href)} is not fetched: ${why}`,
    });
    if (file.kind === 'none') return { kind: 'allowed' };
    if (file.kind === 'unknown') {
      const { reason, status, why, address } = file;
      if (!OF_THE_SITE.has(reason) || !why.startsWith(address)) return refused(reason, status, why);
      return { kind: 'refused', reason, status, message: `${shown(url.href)}${why.slice(address.length)}` };
    }
    if (await this.#options.reader.robotsAllow(file.address, file.text, url.href, signal)) return { kind: 'allowed' };
    return refused('robots', null, `${file.address} does not allow it.`);
  }

  #fileOf(origin: string): Promise<RobotsFile> {
    const now = this.#options.now();
    const known = this.#known.get(origin);
    if (known !== undefined && known.until > now) return known.file;
    const asked: KnownFile = { file: this.#ask(origin), until: now + KEPT_MS };
    this.#known.delete(origin);
    this.#known.set(origin, asked);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(oldest);
    }
    asked.file.then(
      (file) => {
        if (file.kind === 'unknown') asked.until = now + RETRIED_AFTER_MS;
      },
      // A bug, which the next page shows again.
      () => (asked.until = now),
    );
    return asked.file;
  }

  async #ask(origin: string): Promise<RobotsFile> {
    const address = `${origin}/robots.txt`;
    const answer = await this.#options.fetch(address);
    if (answer.kind === 'answer') {
      const { status, body } = answer;
      if (status >= 200 && status < 300) return { kind: 'rules', address, text: body.toString('utf8') };
      if (status >= 400 && status < 500) return { kind: 'none' };
      const why = `${address} answers ${status}, so that nothing of its site is fetched for a minute.`;
      return { kind: 'unknown', address, reason: 'robots', status, why };
    }
    const { reason, status, message: why } = answer;
    return { kind: 'unknown', address, reason: OF_THE_SITE.has(reason) ? reason : 'robots', status, why };
  }
}
