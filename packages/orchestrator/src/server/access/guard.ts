/**
 * Stands before every handler, WebSocket upgrades included: the Host must be ours (a page cannot rebind its name to this
 * machine), an Origin must be allowed (no other site's page may call), and all but a few paths need a credential. Deliveries of
 * webhooks are let through to a handler that checks their signature. Loopback names are ours at any port, since a container's may be
 * published at another one: no page can rebind them.
 */
import type { IncomingMessage } from 'node:http';
import type { ErrorCode, ProblemDetails } from '@autonomous/shared';
import { WEBHOOK_PATH } from '@autonomous/shared/api';
import { isDashboardFile, isDashboardPath } from '../pages/dashboard.ts';
import type { Session } from './sessions.ts';
import type { Credentials, Visitor } from './token.ts';
import type { WrongCredentials } from './wrong-credentials.ts';

export interface GuardOptions {
  readonly credentials: Pick<Credentials, 'byToken' | 'bySession' | 'byTicket'>;
  /** `host:port` as a Host header writes it, in lower case. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages that may call, the server's own included. */
  readonly origins: ReadonlySet<string>;
  readonly sessionCookie: string;
  /** Counts what was shown and is wrong. */
  readonly wrong: Pick<WrongCredentials, 'note'>;
}

export type Verdict =
  | { readonly admitted: true; readonly visitor: Visitor | null; readonly renewable: RenewableSession | null }
  | { readonly admitted: false; readonly problem: ProblemDetails };

/** A session that is due to be renewed, and what its browser showed. */
export interface RenewableSession {
  readonly session: Session;
  readonly secret: string;
}

/** Throws what the store throws where it has to be asked for a session. */
export type Guard = (request: IncomingMessage) => Promise<Verdict>;

/** Paths that anyone may read. They are compared with the raw request line, so that no encoding or dot segment gets past. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/', '/auth', '/healthz', '/readyz']);
/** Tells only that the server is up, under whatever name it is asked. */
const LIVENESS_PATH = '/healthz';
const HEALTH_PATHS: ReadonlySet<string> = new Set([LIVENESS_PATH, '/readyz']);
export const FEED_PATH = '/ws';
/** Paths of POST requests that show a signature of their own in place of a token or session. Their handlers check it. */
export const SIGNED_PATHS: ReadonlySet<string> = new Set([WEBHOOK_PATH]);

export function createGuard(options: GuardOptions): Guard {
  return async (request) => {
    const path = pathOf(request);
    const fault =
      checkTarget(request) ??
      (path === LIVENESS_PATH ? null : checkHost(request, options.hosts)) ??
      checkOrigin(request, options.origins);
    if (fault) return { admitted: false, problem: fault };
    // Files of the dashboard are public and may be cached: no session is looked up, and no cookie is sent. Health checks do
    // not depend on the store of sessions either.
    const isNobodys = isDashboardFile(path) || HEALTH_PATHS.has(path);
    if (request.method === 'GET' && isNobodys && request.headers.upgrade === undefined) {
      return { admitted: true, visitor: null, renewable: null };
    }
    if (request.method === 'POST' && SIGNED_PATHS.has(path) && request.headers.upgrade === undefined) {
      const fault = checkNoPage(request);
      return fault ? { admitted: false, problem: fault } : { admitted: true, visitor: null, renewable: null };
    }
    const found = await authenticate(request, path, options);
    if (found !== null) return { admitted: true, ...found };
    const waitSeconds = showsCredential(request, path) ? options.wrong.note(request.socket.remoteAddress) : null;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && (PUBLIC_PATHS.has(path) || isDashboardPath(path)) && request.headers.upgrade === undefined) {
      return { admitted: true, visitor: null, renewable: null };
    }
    return {
      admitted: false,
      problem: waitSeconds === null ? unauthorized() : tooManyWrong(waitSeconds),
    };
  };
}

/** Hosts and origins of the server's own addresses, and of the loopback names at its port. */
export function ownAddresses(
  urls: readonly string[],
  port: number,
): { readonly hosts: Set<string>; readonly origins: Set<string> } {
  const hosts = new Set<string>();
  const origins = new Set<string>();
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `http://${name}:${port}`);
  for (const { host, port: written, protocol, origin } of [...loopback, ...urls].map((url) => new URL(url))) {
    hosts.add(host);
    // URLs leave out the scheme's own port; a client may write it.
    if (written === '') hosts.add(`${host}:${protocol === 'https:' ? 443 : 80}`);
    origins.add(origin);
  }
  return { hosts, origins };
}

/** Path of the request line, without query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

function checkTarget(request: IncomingMessage): ProblemDetails | null {
  // An absolute-form target would name a host of its own, past the Host header.
  if (request.url?.startsWith('/')) return null;
  return refusal(421, 'misdirected', 'Misdirected', 'The request line must hold a path, not an address.');
}

function checkHost(request: IncomingMessage, hosts: ReadonlySet<string>): ProblemDetails | null {
  const given = valuesOf(request, 'host');
  const host = given[0]?.toLowerCase();
  if (given.length === 1 && host !== undefined && (hosts.has(host) || isLoopbackHost(host))) return null;
  const named = given.length === 1 ? `'${given[0]?.slice(0, 100)}'` : `${given.length} Host headers`;
  return refusal(
    421,
    'misdirected',
    'Misdirected',
    `This server does not answer to ${named}. If people reach it under that name, set ORCHESTRATOR_PUBLIC_URL to the address that they use.`,
  );
}

/** @param host value of a Host header, in lower case */
function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(host);
}

function checkOrigin(request: IncomingMessage, origins: ReadonlySet<string>): ProblemDetails | null {
  const given = valuesOf(request, 'origin');
  // A page of this server under a loopback name: its port is the one that the browser asked.
  const host = valuesOf(request, 'host')[0]?.toLowerCase() ?? '';
  const own = isLoopbackHost(host) ? `http://${host}` : null;
  if (given.every((origin) => origins.has(origin) || origin === own)) return null;
  const named = given.map((origin) => `'${origin.slice(0, 100)}'`).join(', ');
  return refusal(403, 'forbidden', 'Forbidden', `Pages of ${named} may not call this server.`);
}

/** A forge's server sends no Origin: with one, even the server's own, a browser is made to post. */
function checkNoPage(request: IncomingMessage): ProblemDetails | null {
  if (valuesOf(request, 'origin').length === 0) return null;
  return refusal(403, 'forbidden', 'Forbidden', 'Deliveries of webhooks come from a forge, and never from a page.');
}

type Found = Pick<Extract<Verdict, { admitted: true }>, 'visitor' | 'renewable'>;

/** A token that is shown must be right: a wrong one is not made up for by a cookie. */
async function authenticate(
  request: IncomingMessage,
  path: string,
  { credentials, sessionCookie }: GuardOptions,
): Promise<Found | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    return token === undefined ? null : asFound(credentials.byToken(token));
  }
  if (path === FEED_PATH) {
    const ticket = new URLSearchParams(request.url?.slice(path.length)).get('ticket');
    if (ticket !== null) return asFound(credentials.byTicket(ticket));
  }
  const secret = readCookie(request.headers.cookie, sessionCookie);
  const session = secret === undefined ? null : await credentials.bySession(secret);
  if (secret === undefined || session === null) return null;
  const visitor = { caller: session.caller, session: session.hash };
  return { visitor, renewable: session.isDue ? { session, secret } : null };
}

/** A token or a ticket, which somebody may guess. The cookie of a session that has ended is shown by every browser that had one. */
function showsCredential(request: IncomingMessage, path: string): boolean {
  if (request.headers.authorization !== undefined) return true;
  return path === FEED_PATH && new URLSearchParams(request.url?.slice(path.length)).has('ticket');
}

function asFound(visitor: Visitor | null): Found | null {
  return visitor && { visitor, renewable: null };
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [key, value] = pair.split('=', 2);
    if (key?.trim() === name) return value?.trim();
  }
  return undefined;
}

/** All values of a header as they came; Node's own view keeps the first Host only. */
function valuesOf(request: IncomingMessage, name: string): readonly string[] {
  const raw = request.rawHeaders;
  return raw.filter((_value, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
}

/** Refusal of a request without a credential that the server knows. */
export function unauthorized(): ProblemDetails {
  return refusal(
    401,
    'unauthorized',
    'Unauthorized',
    'This needs the server’s token: send `Authorization: Bearer …`, or sign in with a link that the server shows.',
  );
}

/** Refusal of a delivery whose signature is missing or wrong. */
export function wrongSignature(): ProblemDetails {
  return refusal(
    401,
    'unauthorized',
    'Unauthorized',
    'The signature of this delivery (X-Hub-Signature-256) is missing or wrong. Give the webhook at GitHub the secret that GITHUB_WEBHOOK_SECRET has here.',
  );
}

/** Refusal of an address that has shown too many wrong credentials. */
export function tooManyWrong(waitSeconds: number): ProblemDetails {
  return {
    ...refusal(
      429,
      'too_many_requests',
      'TooManyRequests',
      `Too many wrong tokens, tickets, signatures or sign-in codes came from this address. Try again in ${waitSeconds} seconds; the right one is accepted at any time.`,
    ),
    retryAfterSeconds: waitSeconds,
  };
}

function refusal(status: number, code: ErrorCode, title: string, detail: string): ProblemDetails {
  return { type: `urn:autonomous:problem:${code}`, title, status, detail, code };
}
