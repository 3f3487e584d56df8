/** The cookie by which a browser shows its session. */
import { randomBytes } from 'node:crypto';
import { generateCookie } from 'hono/cookie';
import type { EventStore } from '../../event-store/event-store.ts';
import { SESSION_SECONDS } from './sessions.ts';

const MARK = 'server.session_cookie';

/**
 * The cookie's name, made once for a database. Browsers send a cookie to every port of a host, so that servers beside each
 * other need names of their own; and the port is not one, since a server may come back on another.
 */
export async function nameSessionCookie(store: Pick<EventStore, 'getMark' | 'setMark'>): Promise<string> {
  const known = await store.getMark(MARK);
  if (known !== null) return known;
  const name = `autonomous_session_${randomBytes(6).toString('hex')}`;
  await store.setMark(MARK, name);
  return name;
}

export interface SessionCookie {
  /** Header that gives a browser this secret, or lets it keep the one that it has for longer. */
  give(secret: string): string;
  /** Header that takes it away. */
  take(): string;
}

/** @param isSecure browsers send it over TLS alone */
export function createSessionCookie(name: string, isSecure: boolean): SessionCookie {
  const write = (value: string, maxAge: number): string =>
    generateCookie(name, value, { httpOnly: true, sameSite: 'Strict', secure: isSecure, path: '/', maxAge });
  return { give: (secret) => write(secret, SESSION_SECONDS), take: () => write('', 0) };
}
