/** HTTP and WebSocket in front of the engine: guard first, then the API, the feed and the few pages of the server. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import {
  type Caller,
  NotFound,
  type Orchestrator,
  type ProblemDetails,
  toProblem,
  Unavailable,
} from '@autonomous/shared';
import { answerProblem, createApi } from '@autonomous/shared/api';
import type { Context } from 'hono';
import { setCookie } from 'hono/cookie';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { EventStore } from '../event-store/event-store.ts';
import { DASHBOARD_PAGES, dashboardPolicy, isPagePath, openDashboard } from './dashboard.ts';
import { Feed, type FeedSource, MAX_CLIENT_MESSAGE_BYTES, readFeedPage } from './feed.ts';
import { createGuard, FEED_PATH, type Guard, ownAddresses, pathOf } from './guard.ts';
import { idempotency } from './idempotency.ts';
import { CONTENT_SECURITY_POLICY, landingPage, spentLinkPage } from './landing-page.ts';
import { Credentials, LOCAL_CALLER } from './token.ts';

export interface ServerOptions {
  readonly orchestrator: Orchestrator;
  readonly feed: FeedSource;
  readonly store: Pick<EventStore, 'recall' | 'remember'>;
  /** What a client sends as Bearer token. */
  readonly token: string;
  /** Address to listen on, such as `127.0.0.1`. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Address under which people reach the server when it is not a loopback one; its host and origin are allowed. */
  readonly publicUrl?: string | undefined;
  /** Further host names (`host:port`, or `host` for the scheme's port), such as that of a platform's health check. */
  readonly allowedHosts?: readonly string[];
  /** Origins of other pages that may call, such as a dashboard served from elsewhere. */
  readonly allowedOrigins: readonly string[];
  readonly log: Logger;
  /** Folder of the built dashboard; without one, a plain page says what the server is. */
  readonly dashboardFolder?: string | undefined;
  /** Longest time for a whole request to arrive; 30 seconds when absent. */
  readonly requestTimeoutMs?: number;
}

export interface RunningServer {
  /** Where it listens, such as `http://127.0.0.1:3001`. */
  readonly url: string;
  /** An address that signs one browser in, once, within 10 minutes. */
  createSignInLink(): string;
  /** Takes nothing new, lets what runs come to its end for up to 4 seconds, then closes every connection. */
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const DRAIN_MS = 4_000;

/**
 * @throws {Unavailable} when the port is taken or may not be used, with the way out
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const server = createServer({
    requestTimeout,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
    connectionsCheckingInterval: Math.min(1_000, requestTimeout),
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const url = `http://${urlHost(options.host)}:${port}`;

  const credentials = new Credentials({ token: options.token });
  const sessionCookie = `autonomous_session_${port}`;
  const { hosts, origins } = ownAddresses([url, options.publicUrl ?? url], port);
  for (const host of options.allowedHosts ?? []) hosts.add(host.toLowerCase());
  for (const origin of options.allowedOrigins) origins.add(origin);
  const guard = createGuard({ credentials, hosts, origins, sessionCookie });
  const callers = new WeakMap<IncomingMessage, Caller>();
  const baseUrl = options.publicUrl?.replace(/\/+$/, '') ?? url;
  const app = createServerApp({ ...options, credentials, sessionCookie, callers, baseUrl });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });

  let isClosing = false;
  server.on('request', (request, response) => {
    response.once('close', () => isClosing && server.closeIdleConnections());
    if (isClosing) response.setHeader('Connection', 'close');
    for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
    const verdict = guard(request);
    if (!verdict.admitted) return refuseRequest(response, verdict.problem);
    if (verdict.caller) callers.set(request, verdict.caller);
    void listener(request, response);
  });

  const feed = new Feed({ source: options.feed, log });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_CLIENT_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request, socket, head) => {
    // A reset while nobody listens for it would end the process.
    socket.on('error', () => socket.destroy());
    const problem = isClosing ? toProblem(new Unavailable('The server is stopping.')) : checkUpgrade(request, guard);
    if (problem) return refuseUpgrade(socket, problem);
    sockets.handleUpgrade(request, socket, head, (webSocket) => feed.accept(webSocket, socket));
  });
  log.info({ url }, 'the server listens');

  return {
    url,
    createSignInLink: () => signInLink(baseUrl, credentials, LOCAL_CALLER),
    async close() {
      isClosing = true;
      feed.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const cut = setTimeout(() => {
        for (const webSocket of sockets.clients) webSocket.terminate();
        server.closeAllConnections();
      }, DRAIN_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

export interface ServerAppOptions extends Pick<
  ServerOptions,
  'orchestrator' | 'feed' | 'store' | 'log' | 'dashboardFolder'
> {
  readonly credentials: Credentials;
  readonly sessionCookie: string;
  /** Whom the guard found behind a request. */
  readonly callers: Pick<WeakMap<IncomingMessage, Caller>, 'get'>;
  readonly baseUrl: string;
}

/** All routes of the server. It trusts that the guard stands before it. */
export function createServerApp(options: ServerAppOptions) {
  const { log, credentials, baseUrl } = options;
  const caller = (c: Context): Caller => {
    const found = options.callers.get((c.env as HttpBindings).incoming);
    if (!found) throw new Error(`${c.req.method} ${c.req.path} is public and has no caller`);
    return found;
  };
  const app = createApi(options.orchestrator, {
    caller,
    issueTicket: (who) => credentials.issueTicket(who),
    readFeed: (request) => readFeedPage(options.feed, request),
    issueSignInLink: (who) => signInLink(baseUrl, credentials, who),
    onInternalError: (error, c) =>
      log.error({ err: error, method: c.req.method, path: c.req.path }, 'a request failed'),
    onPost: idempotency({
      store: options.store,
      caller,
      onForgotten: (error) => log.error({ err: error }, 'the answer to an idempotency key could not be kept'),
    }),
  });

  const dashboard = options.dashboardFolder === undefined ? null : openDashboard(options.dashboardFolder);
  const isSignedIn = (c: Context): boolean => options.callers.get((c.env as HttpBindings).incoming) !== undefined;
  const showPage = async (c: Context): Promise<Response> => {
    if (dashboard === null) return c.html(landingPage(isSignedIn(c)));
    const nonce = randomBytes(16).toString('base64');
    c.header('Content-Security-Policy', dashboardPolicy(nonce));
    return c.html(await dashboard.page(nonce, isSignedIn(c), c.req.path));
  };
  for (const path of DASHBOARD_PAGES) app.get(path, showPage);
  app.get('/assets/*', async (c) => {
    const takesGzip = /\bgzip\b/.test(c.req.header('Accept-Encoding') ?? '');
    const file = (await dashboard?.file(c.req.path, takesGzip)) ?? null;
    if (file === null) return answerProblem(c, toProblem(new NotFound('There is no such file; load the page anew.')));
    c.header('Content-Type', file.type);
    c.header('Cache-Control', 'public, max-age=31536000, immutable');
    c.header('Vary', 'Accept-Encoding');
    if (file.isGzip) c.header('Content-Encoding', 'gzip');
    return c.body(file.body);
  });
  app.get('/auth', (c) => {
    const signedIn = credentials.signIn(c.req.query('code') ?? '');
    if (!signedIn) return c.html(spentLinkPage(), 401);
    setCookie(c, options.sessionCookie, signedIn.session, {
      httpOnly: true,
      sameSite: 'Strict',
      secure: baseUrl.startsWith('https:'),
      path: '/',
      maxAge: signedIn.maxAgeSeconds,
    });
    // Only to a page of ours: whoever made the link could name any place.
    const to = c.req.query('to') ?? '/';
    return c.redirect(isPagePath(to) ? to : '/', 303);
  });
  app.get(FEED_PATH, (c) =>
    answerProblem(c, toProblem(new NotFound('The feed speaks WebSocket: connect with an upgrade.'))),
  );
  return app;
}

/** Of every answer, refusals included. There is no CORS header among them: no other page may read anything. */
const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', CONTENT_SECURITY_POLICY],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
];

function signInLink(baseUrl: string, credentials: Credentials, caller: Caller): string {
  return `${baseUrl}/auth?code=${credentials.issueSignInCode(caller)}`;
}

async function listen(server: Server, { host, port }: ServerOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host, port }, resolve);
  try {
    await promise;
  } catch (error) {
    throw new Unavailable(whyNotListening(error as NodeJS.ErrnoException, host, port), { cause: error });
  }
  server.off('error', reject);
}

function whyNotListening({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  const wayOut = 'Set ORCHESTRATOR_PORT or pass --port with a free one.';
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use; perhaps another server runs already. ${wayOut}`;
    case 'EACCES':
      return `This user may not listen on port ${port}. ${wayOut}`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host} to listen on; 127.0.0.1 always works.`;
    default:
      return `The server cannot listen on ${host}:${port}: ${message}`;
  }
}

/** A name for the address in a URL; who listens everywhere is reached on loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function checkUpgrade(request: IncomingMessage, guard: Guard): ProblemDetails | null {
  const verdict = guard(request);
  if (!verdict.admitted) return verdict.problem;
  if (pathOf(request) === FEED_PATH) return null;
  return toProblem(new NotFound(`There is no WebSocket at ${pathOf(request)}; the feed is at ${FEED_PATH}.`));
}

function refuseRequest(response: ServerResponse, problem: ProblemDetails): void {
  if (problem.status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="autonomous"');
  response.writeHead(problem.status, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem));
}

/** Answers an upgrade in plain HTTP, so that a client learns why there is no WebSocket. */
function refuseUpgrade(socket: Duplex, problem: ProblemDetails): void {
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
