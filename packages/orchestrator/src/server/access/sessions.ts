/**
 * Browsers that are signed in. Each has a secret in its cookie; the store has a hash of it, and so a session outlasts the
 * process. The hash is keyed by the server's token: with another token none of them is known any more.
 */
import { createHmac } from 'node:crypto';
import type { Caller } from '@autonomous/shared';
import type { EventStore } from '../../event-store/event-store.ts';
import { newSecret } from './secret.ts';

/** Since a browser was last there. */
const SESSION_MS = 30 * 24 * 60 * 60_000;
/** Not with every request: each renewal is a write. */
const RENEW_AFTER_MS = 24 * 60 * 60_000;
/** Of one user; the ones that were not used for longest make room. */
const MAX_SESSIONS = 100;

export const SESSION_SECONDS = SESSION_MS / 1_000;

export type SessionStore = Pick<EventStore, 'findSession' | 'beginSession' | 'renewSession' | 'endSessions'>;

export interface SessionsOptions {
  readonly token: string;
  readonly store: SessionStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Session {
  readonly hash: string;
  readonly caller: Caller;
  /** It was begun or renewed long enough ago to be renewed. */
  readonly isDue: boolean;
}

export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** @returns the secret of a new session, once it is stored */
  async begin({ userId }: Caller): Promise<string> {
    const secret = newSecret();
    const session = { hash: this.#hash(secret), userId, expiresAt: this.#time(SESSION_MS) };
    await this.#options.store.beginSession(session, this.#time(), MAX_SESSIONS);
    return secret;
  }

  /** `null` for what is no session's secret, or that of one that was ended or has expired. */
  async find(secret: string): Promise<Session | null> {
    const hash = this.#hash(secret);
    const stored = await this.#options.store.findSession(hash);
    const leftMs = stored === null ? 0 : Date.parse(stored.expiresAt) - this.#options.now();
    if (stored === null || leftMs <= 0) return null;
    return {
      hash,
      caller: { userId: stored.userId },
      isDue: leftMs <= SESSION_MS - RENEW_AFTER_MS || leftMs > SESSION_MS,
    };
  }

  /** Whether the session of this hash was not ended since. */
  async isOpen(hash: string): Promise<boolean> {
    const stored = await this.#options.store.findSession(hash);
    return stored !== null && Date.parse(stored.expiresAt) > this.#options.now();
  }

  /** Lets it last as long as a new one; one that was ended meanwhile stays ended. */
  async renew({ hash }: Session): Promise<void> {
    await this.#options.store.renewSession({ hash, expiresAt: this.#time(SESSION_MS) }, this.#time());
  }

  /**
   * @param hash absent: all of the user's
   * @returns how many there were
   */
  end({ userId }: Caller, hash?: string): Promise<number> {
    return this.#options.store.endSessions(userId, hash);
  }

  #hash(secret: string): string {
    return createHmac('sha256', this.#options.token).update(secret).digest('base64url');
  }

  #time(inMs = 0): string {
    return new Date(this.#options.now() + inMs).toISOString();
  }
}
