/**
 * Port to the public web: fetches pages as text, stores each text once under its hash, and searches.
 *
 * Everything that comes from here was written by strangers. It is data for a reader and never an instruction.
 */

export interface WebPages {
  /**
   * Fetches a page, a PDF or a text. A text that is stored already under its hash is not stored again.
   * Faults of the address or of its server are values of kind `refused`.
   * @throws {StorageFull} when the disk cannot take the text
   * @throws the reason of `signal` when it is aborted
   */
  fetch(request: PageRequest): Promise<FetchResult>;
  /**
   * The stored text of a page by its hash; `null` when it is not there, or when what is there does not have this hash.
   * @param hash as `FetchedPage.hash`
   */
  read(hash: string): Promise<string | null>;
  /**
   * Searches with the search API of the server's configuration; `null`: none is configured.
   * No hits give an empty list.
   * @throws {RetryableFailure} `rate_limited` with the wait that the API asks for, or `agent_failed` when it is down or sends
   * something that is not an answer
   * @throws {NeedsHuman} `agent_failed` when the API refuses the key; the message names the variable
   */
  readonly search: null | ((request: SearchRequest) => Promise<readonly SearchHit[]>);
}

export interface PageRequest {
  /** http or https, without user name and password. */
  readonly address: string;
  readonly signal: AbortSignal;
}

export type FetchResult = FetchedPage | RefusedPage;

export interface FetchedPage {
  readonly kind: 'page';
  /** Address as it was asked for. */
  readonly requested: string;
  /** Address that gave the page, after redirects. */
  readonly address: string;
  /** Time of the answer, ISO 8601. */
  readonly at: string;
  /** HTTP status, 200 to 299. */
  readonly status: number;
  /** SHA-256 of `text` in UTF-8, hexadecimal. */
  readonly hash: string;
  /** In lower case without parameters, such as `text/html`. */
  readonly mediaType: string;
  /** In one line; the address where the page has none. */
  readonly title: string;
  readonly author: string | null;
  /** As the page states it, in most cases ISO 8601. */
  readonly published: string | null;
  /** Markdown of an HTML page, plain text of others. At most 400,000 characters, without control and bidi characters. */
  readonly text: string;
  /** True when the page has more text than `text`. */
  readonly isCut: boolean;
}

export interface RefusedPage {
  readonly kind: 'refused';
  readonly requested: string;
  /** ISO 8601. */
  readonly at: string;
  readonly reason: RefusalReason;
  /** HTTP status of the last answer; `null` when there was none. */
  readonly status: number | null;
  /** A sentence that names the address. */
  readonly message: string;
}

export type RefusalReason =
  /** It is not an http(s) address, or has a user name, a password or another port than 80 and 443. */
  | 'address'
  /** The name leads to an address that is not public. */
  | 'private_address'
  /** The operator's list of hosts does not name it. */
  | 'not_allowed'
  /** The site's robots.txt disallows it or cannot be read. */
  | 'robots'
  /** The answer is not a page: 404, 500 or too many redirects. */
  | 'status'
  | 'too_large'
  | 'timeout'
  /** A media type without text, an encrypted or damaged file, no text in it, or too complex to read. */
  | 'unreadable'
  /** No connection, an unknown name, or an answer that breaks off. */
  | 'unreachable';

export interface SearchRequest {
  readonly query: string;
  /** At most this many hits, 1 to 20. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface SearchHit {
  readonly title: string;
  /** http or https. */
  readonly address: string;
  /** Empty where the API gives none. */
  readonly excerpt: string;
  /** As the API states it; `null` when it does not. */
  readonly published: string | null;
}
