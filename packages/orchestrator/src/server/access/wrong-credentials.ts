/**
 * Counts wrong tokens, tickets, signatures and sign-in codes by the address that they come from, and slows down clients that guess.
 * Only wrong credentials are refused: the users of one machine share an address, and so do all behind one proxy, and none
 * of them may lock out the owner of the right token.
 */
import { isIPv6 } from 'node:net';
import type { Logger } from 'pino';

export interface WrongCredentialsOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Wrong credentials that an address may show within a window before it has to wait. */
const ALLOWED = 10;
const WINDOW_MS = 60_000;
/** Most addresses that are remembered. Beyond that, the address whose window began first is forgotten. */
const MAX_ADDRESSES = 10_000;

export class WrongCredentials {
  readonly #options: WrongCredentialsOptions;
  /** By address, ordered by the beginning of their windows. */
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  constructor(options: WrongCredentialsOptions) {
    this.#options = options;
  }

  /**
   * Counts a wrong credential.
   * @param address of the socket, never of a header that anybody can write
   * @returns seconds until the address may try again; `null` while it may
   */
  note(address: string | undefined): number | null {
    const now = (this.#options.now ?? Date.now)();
    const key = keyOf(address ?? '');
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#windows.delete(key);
      this.#forgetOld(now);
      window = { endsAt: now + WINDOW_MS, count: 0 };
      this.#windows.set(key, window);
    }
    window.count += 1;
    if (window.count <= ALLOWED) return null;
    if (window.count === ALLOWED + 1) {
      this.#options.log.warn(
        { address: key },
        `more than ${ALLOWED} wrong tokens, tickets, signatures or codes came from one address within a minute; further ones are answered 429`,
      );
    }
    return Math.max(1, Math.ceil((window.endsAt - now) / 1_000));
  }

  /** Addresses that are remembered now. */
  get size(): number {
    return this.#windows.size;
  }

  #forgetOld(now: number): void {
    for (const [key, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size < MAX_ADDRESSES) return;
      this.#windows.delete(key);
    }
  }
}

/** A host has a whole /64 of IPv6 to itself. */
function keyOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address) || address === '::1') return address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - after.length }, () => '0');
  return `${[...groups, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
