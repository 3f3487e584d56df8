/**
 * Who may come in: the local token and what is lent on its strength – browser sessions, one-time sign-in codes and
 * one-time WebSocket tickets. Only hashes are kept in memory, and every comparison takes the same time.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caller } from '@autonomous/shared';

const TICKET_MS = 30_000;
const SIGN_IN_CODE_MS = 10 * 60_000;
const SESSION_MS = 30 * 24 * 60 * 60_000;

/**
 * The token of a data folder, made once: 256 bits in `<folder>/token`, which only its owner can read.
 * A file or folder that others can read is closed to them.
 */
export async function openToken(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const file = join(folder, 'token');
  await createTokenFile(file);
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
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Checks what requests show, and lends what lets browsers and WebSockets in. */
export class Credentials {
  readonly #tokenHash: Buffer;
  readonly #sessions: Lent;
  readonly #signInCodes: Lent;
  readonly #tickets: Lent;

  constructor({ token, now = Date.now }: CredentialsOptions) {
    this.#tokenHash = hash(token);
    this.#sessions = new Lent(SESSION_MS, now);
    this.#signInCodes = new Lent(SIGN_IN_CODE_MS, now);
    this.#tickets = new Lent(TICKET_MS, now);
  }

  /** Who holds this token; `null` when it is not the server's. */
  byToken(token: string): Caller | null {
    return timingSafeEqual(hash(token), this.#tokenHash) ? LOCAL_CALLER : null;
  }

  bySession(session: string): Caller | null {
    return this.#sessions.look(session);
  }

  /** Takes the ticket: it opens one WebSocket. */
  byTicket(ticket: string): Caller | null {
    return this.#tickets.take(ticket);
  }

  issueTicket(caller: Caller): string {
    return this.#tickets.issue(caller);
  }

  issueSignInCode(caller: Caller): string {
    return this.#signInCodes.issue(caller);
  }

  /** A new session for a one-time code; `null` when the code is unknown, used or too old. */
  signIn(code: string): { readonly session: string; readonly maxAgeSeconds: number } | null {
    const caller = this.#signInCodes.take(code);
    return caller && { session: this.#sessions.issue(caller), maxAgeSeconds: SESSION_MS / 1000 };
  }
}

/** The owner of the local token. */
export const LOCAL_CALLER: Caller = { userId: 'local' };

/** Secrets given out for a time. The map's keys are hashes, so that how long a look-up takes says nothing of a secret. */
class Lent {
  readonly #byHash = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>();
  readonly #lifetimeMs: number;
  readonly #now: () => number;

  constructor(lifetimeMs: number, now: () => number) {
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  issue(caller: Caller): string {
    // The oldest come first in a map and all live equally long.
    for (const [key, { expiresAt }] of this.#byHash) {
      if (expiresAt > this.#now()) break;
      this.#byHash.delete(key);
    }
    const secret = newSecret();
    this.#byHash.set(keyOf(secret), { caller, expiresAt: this.#now() + this.#lifetimeMs });
    return secret;
  }

  look(secret: string): Caller | null {
    const entry = this.#byHash.get(keyOf(secret));
    return entry && entry.expiresAt > this.#now() ? entry.caller : null;
  }

  take(secret: string): Caller | null {
    const caller = this.look(secret);
    this.#byHash.delete(keyOf(secret));
    return caller;
  }
}

const newSecret = (): string => randomBytes(32).toString('base64url');
const hash = (secret: string): Buffer => createHash('sha256').update(secret).digest();
const keyOf = (secret: string): string => hash(secret).toString('base64url');
