/**
 * Authenticates callers by the local token and by credentials derived from it: browser sessions, one-time sign-in codes
 * and one-time WebSocket tickets. Only hashes are stored, and every comparison takes constant time. Codes and tickets
 * are valid for minutes and kept in memory; sessions are stored.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caller } from '@autonomous/shared';
import { newSecret } from './secret.ts';
import { type Session, Sessions, type SessionStore } from './sessions.ts';

const TICKET_MS = 30_000;
const SIGN_IN_CODE_MS = 10 * 60_000;

/**
 * The token of a data folder, made once: 256 bits in `<folder>/token`, which only its owner can read.
 * A file or folder that others can read is closed to them.
 */
export async function openToken(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const file = join(folder, 'token');
  // Also where the disk is full: a token that is there is enough.
  if (!existsSync(file)) await createTokenFile(file);
  await chmod(file, 0o600);
  const token = (await readFile(file, 'utf8')).trim();
  if (!/^[\w-]{43,}$/.test(token)) {
    throw new Error(`The token file ${file} is damaged. Delete it and start again: a new token is made.`);
  }
  return token;
}

/** Two servers that start at once on one folder end up with the same token: only one of their links can be made. */
async function createTokenFile(file: string): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${newSecret()}\n`);
    await handle.sync();
    await handle.close();
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

export interface CredentialsOptions {
  readonly token: string;
  /** Keeps the sessions of browsers. */
  readonly store: SessionStore;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An authenticated visitor. */
export interface Visitor {
  readonly caller: Caller;
  /** Hash of the browser session; `null` when the token was used. */
  readonly session: string | null;
}

/** Checks what requests show, and lends what lets browsers and WebSockets in. */
export class Credentials {
  readonly #tokenHash: Buffer;
  readonly #sessions: Sessions;
  readonly #signInCodes: Lent;
  readonly #tickets: Lent;

  constructor({ token, store, now = Date.now }: CredentialsOptions) {
    this.#tokenHash = hash(token);
    this.#sessions = new Sessions({ token, store, now });
    this.#signInCodes = new Lent(SIGN_IN_CODE_MS, now);
    this.#tickets = new Lent(TICKET_MS, now);
  }

  /** Returns the visitor with this token; `null` when it is not the server's token. */
  byToken(token: string): Visitor | null {
    return timingSafeEqual(hash(token), this.#tokenHash) ? { caller: LOCAL_CALLER, session: null } : null;
  }

  /** The session of this secret; `null` when it was ended or is too old. */
  bySession(secret: string): Promise<Session | null> {
    return this.#sessions.find(secret);
  }

  /** Whether the visitor may still be here: a session may end while the body of its request is on its way. */
  async isStill({ session }: Visitor): Promise<boolean> {
    return session === null || (await this.#sessions.isOpen(session));
  }

  /** Lets a session last as long as a new one. */
  renew(session: Session): Promise<void> {
    return this.#sessions.renew(session);
  }

  /** Takes the ticket: it opens one WebSocket. */
  byTicket(ticket: string): Visitor | null {
    return this.#tickets.take(ticket);
  }

  issueTicket(visitor: Visitor): string {
    return this.#tickets.issue(visitor);
  }

  issueSignInCode(caller: Caller): string {
    return this.#signInCodes.issue({ caller, session: null });
  }

  /** The secret of a new session for a one-time code; `null` when the code is unknown, used or too old. */
  async signIn(code: string): Promise<string | null> {
    const visitor = this.#signInCodes.take(code);
    return visitor && this.#sessions.begin(visitor.caller);
  }

  /**
   * Ends one session, or all of a user together with the codes that would make new ones.
   * @param session absent: all
   * @returns how many sessions there were
   */
  async signOut(caller: Caller, session?: string): Promise<number> {
    const isMeant = (visitor: Visitor): boolean =>
      visitor.caller.userId === caller.userId && (session === undefined || visitor.session === session);
    const ended = await this.#sessions.end(caller, session);
    // Afterwards: until then the session could lend more of them.
    this.#tickets.forget((visitor) => visitor.session !== null && isMeant(visitor));
    if (session === undefined) this.#signInCodes.forget(isMeant);
    return ended;
  }
}

/** The owner of the local token. */
export const LOCAL_CALLER: Caller = { userId: 'local' };

/** Secrets given out for a time. The map's keys are hashes, so that how long a look-up takes says nothing of a secret. */
class Lent {
  readonly #byHash = new Map<string, { readonly visitor: Visitor; readonly expiresAt: number }>();
  readonly #lifetimeMs: number;
  readonly #now: () => number;

  constructor(lifetimeMs: number, now: () => number) {
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  issue(visitor: Visitor): string {
    // The oldest come first in a map and all live equally long.
    for (const [key, { expiresAt }] of this.#byHash) {
      if (expiresAt > this.#now()) break;
      this.#byHash.delete(key);
    }
    const secret = newSecret();
    this.#byHash.set(keyOf(secret), { visitor, expiresAt: this.#now() + this.#lifetimeMs });
    return secret;
  }

  take(secret: string): Visitor | null {
    const key = keyOf(secret);
    const entry = this.#byHash.get(key);
    this.#byHash.delete(key);
    return entry && entry.expiresAt > this.#now() ? entry.visitor : null;
  }

  forget(isMeant: (visitor: Visitor) => boolean): void {
    for (const [key, { visitor }] of this.#byHash) if (isMeant(visitor)) this.#byHash.delete(key);
  }
}

const hash = (secret: string): Buffer => createHash('sha256').update(secret).digest();
const keyOf = (secret: string): string => hash(secret).toString('base64url');
