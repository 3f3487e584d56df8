/** HTTP and WebSocket in front of the engine: guard first, then the API, the feed and the few pages of the server. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import {
  type Caller,
  type Fault,
  InvalidRequest,
  NotFound,
  type Orchestrator,
  type ProblemDetails,
  toProblem,
  Unavailable,
} from '@autonomous/shared';
import { LINK_REFUSED } from '@autonomous/shared/presentation';
import { answerProblem, createApi, retryAfterOf } from '@autonomous/shared/api';
import type { Context } from 'hono';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { EventStore } from '../event-store/event-store.ts';
import { DASHBOARD_PAGES, dashboardPolicy, isPagePath, openDashboard, pageBeforeSlash } from './pages/dashboard.ts';
import { Feed, type FeedSource, MAX_CLIENT_MESSAGE_BYTES, readFeedPage } from './feed.ts';
import {
  createGuard,
  FEED_PATH,
  type Guard,
  ownAddresses,
  pathOf,
  type RenewableSession,
  tooManyWrong,
  unauthorized,
  type Verdict,
} from './access/guard.ts';
import { idempotency, requestKeyOf } from './idempotency.ts';
import { CONTENT_SECURITY_POLICY, landingPage, missingPage, signInPage, spentLinkPage } from './pages/landing-page.ts';
import { wantsPage } from './pages/page-request.ts';
import { createSessionCookie, nameSessionCookie, type SessionCookie } from './access/session-cookie.ts';
import type { SessionStore } from './access/sessions.ts';
import { Credentials, LOCAL_CALLER, type Visitor } from './access/token.ts';
import { createWebhookHandler, type WebhookSettings } from './webhooks.ts';
import { WrongCredentials } from './access/wrong-credentials.ts';

export interface ServerOptions {
  readonly orchestrator: Orchestrator;
  readonly feed: FeedSource;
  readonly store: Pick<EventStore, 'recall' | 'recallStep' | 'remember' | 'getMark' | 'setMark'> & SessionStore;
  /** Bearer token of the clients. */
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
  /** Faults of the settings that a launch names and its workflow does not have. Default: none is looked for. */
  readonly unknownNames?: (workflow: unknown, config: unknown) => readonly Fault[];
  /** Deliveries of the forge. Absent: they are answered 404 with the way to turn them on. */
  readonly webhooks?: WebhookSettings | undefined;
  /** Folder of the built dashboard; without one, a plain page says what the server is. */
  readonly dashboardFolder?: string | undefined;
  /** Longest time for a whole request to arrive; 30 seconds when absent. */
  readonly requestTimeoutMs?: number;
}

export interface RunningServer {
  /** Address that it listens on, such as `http://127.0.0.1:3001`. */
  readonly url: string;
  /** An address that signs one browser in, once, within 10 minutes. */
  createSignInLink(): string;
  /** Takes nothing new, lets what runs come to its end for up to 4 seconds, then closes every connection. */
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const DRAIN_MS = 4_000;
/** Close code for a policy violation: a client that reconnects without a session is refused. */
const CLOSE_SIGNED_OUT = 1008;

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
  const cookieName = await nameSessionCookie(options.store);
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const url = `http://${urlHost(options.host)}:${port}`;

  const credentials = new Credentials({ token: options.token, store: options.store });
  const { hosts, origins } = ownAddresses([url, options.publicUrl ?? url], port);
  for (const host of options.allowedHosts ?? []) hosts.add(host.toLowerCase());
  for (const origin of options.allowedOrigins) origins.add(origin);
  const wrong = new WrongCredentials({ log });
  const guard = createGuard({ credentials, hosts, origins, sessionCookie: cookieName, wrong });
  const visitors = new WeakMap<IncomingMessage, Visitor>();
  const baseUrl = options.publicUrl?.replace(/(?<!\/)\/+$/, '') ?? url;
  const cookie = createSessionCookie(cookieName, baseUrl.startsWith('https:'));
  const following = new Map<WebSocket, Visitor>();
  const onSignedOut = ({ caller }: Visitor, session: string | undefined): void => {
    for (const [webSocket, of] of following) {
      if (of.session === null || of.caller.userId !== caller.userId) continue;
      if (session === undefined || of.session === session) webSocket.close(CLOSE_SIGNED_OUT, 'signed out');
    }
  };
  const app = createServerApp({ ...options, credentials, wrong, cookie, visitors, baseUrl, onSignedOut });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });

  let isClosing = false;
  server.on('request', (request, response) => {
    response.once('close', () => isClosing && server.closeIdleConnections());
    if (isClosing) response.setHeader('Connection', 'close');
    for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
    void askGuard(guard, request, log).then(async (verdict) => {
      if (!verdict.admitted) return refuseRequest(request, response, verdict.problem);
      if (verdict.visitor) visitors.set(request, verdict.visitor);
      if (verdict.renewable !== null) await renew(verdict.renewable, response);
      return listener(request, response);
    });
  });
  const renew = async ({ session, secret }: RenewableSession, response: ServerResponse): Promise<void> => {
    try {
      await credentials.renew(session);
      response.setHeader('Set-Cookie', cookie.give(secret));
    } catch (error) {
      log.warn({ err: error }, 'a browser’s session could not be renewed; that is tried again with its next request');
    }
  };

  const feed = new Feed({ source: options.feed, log });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_CLIENT_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (socket.writable && error.code !== 'ECONNRESET') refuseUpgrade(socket, problemOfParser(error));
    else socket.destroy();
  });
  server.on('upgrade', (request, socket, head) => {
    // Without a listener, a reset would end the process.
    socket.on('error', () => socket.destroy());
    void askGuard(guard, request, log).then((verdict) => {
      if (isClosing) return refuseUpgrade(socket, toProblem(new Unavailable('The server is stopping.')));
      const visitor = visitorOfUpgrade(request, verdict);
      if ('status' in visitor) return refuseUpgrade(socket, visitor);
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        following.set(webSocket, visitor);
        webSocket.once('close', () => following.delete(webSocket));
        feed.accept(webSocket, socket);
      });
    });
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
  'orchestrator' | 'feed' | 'store' | 'log' | 'dashboardFolder' | 'unknownNames' | 'webhooks'
> {
  readonly credentials: Credentials;
  /** Counts wrong sign-in codes and signatures. */
  readonly wrong: Pick<WrongCredentials, 'note'>;
  readonly cookie: SessionCookie;
  /** Visitors by request, as the guard found them. */
  readonly visitors: Pick<WeakMap<IncomingMessage, Visitor>, 'get'>;
  readonly baseUrl: string;
  /** Called after a session was ended, or with `undefined` after all sessions of the visitor's user were. */
  readonly onSignedOut: (visitor: Visitor, session: string | undefined) => void;
}

/** All routes of the server. It trusts that the guard stands before it. */
export function createServerApp(options: ServerAppOptions) {
  const { log, credentials, cookie, baseUrl } = options;
  const visitor = (c: Context): Visitor => {
    const found = options.visitors.get((c.env as HttpBindings).incoming);
    if (!found) throw new Error(`${c.req.method} ${c.req.path} is public and has no caller`);
    return found;
  };
  const caller = (c: Context): Caller => {
    const request = requestKeyOf(c);
    return { ...visitor(c).caller, ...(request === undefined ? {} : { request }) };
  };
  const once = idempotency({
    store: options.store,
    caller,
    viewAfter: ({ runId, sequence }) =>
      // The run as it is now, when the beginning of its log was erased.
      options.orchestrator.getRun(runId, sequence).catch(() => options.orchestrator.getRun(runId)),
    onForgotten: (error) => log.error({ err: error }, 'the answer to an idempotency key could not be kept'),
  });
  const app = createApi(options.orchestrator, {
    caller,
    issueTicket: (c) => credentials.issueTicket(visitor(c)),
    readFeed: (request) => readFeedPage(options.feed, request),
    issueSignInLink: (who) => signInLink(baseUrl, credentials, who),
    async signOut(c, everywhere) {
      const who = visitor(c);
      if (who.session === null && !everywhere) {
        throw new InvalidRequest(
          'This request uses the token and no browser session. Set `everywhere` to end all sessions.',
        );
      }
      const session = everywhere ? undefined : (who.session ?? undefined);
      const ended = await credentials.signOut(who.caller, session);
      options.onSignedOut(who, session);
      if (who.session !== null) c.header('Set-Cookie', cookie.take());
      return ended;
    },
    ...(options.unknownNames === undefined ? {} : { unknownNames: options.unknownNames }),
    onInternalError: (error, c) =>
      log.error({ err: error, method: c.req.method, path: c.req.path }, 'a request failed'),
    receiveWebhook: createWebhookHandler({
      settings: options.webhooks,
      store: options.store,
      noteWrong: (c) => options.wrong.note((c.env as HttpBindings).incoming.socket.remoteAddress),
    }),
    async onPost(c, next) {
      if (!(await credentials.isStill(visitor(c)))) return answerProblem(c, unauthorized());
      return once(c, next);
    },
    async onChange(c, next) {
      if (!(await credentials.isStill(visitor(c)))) return answerProblem(c, unauthorized());
      return next();
    },
  });

  addDashboardRoutes(app, options);
  app.get(FEED_PATH, (c) =>
    answerProblem(c, toProblem(new NotFound('The feed speaks WebSocket: connect with an upgrade.'))),
  );
  // The API answers all else that it does not know.
  app.get('*', async (c, next) => {
    const { incoming } = c.env as HttpBindings;
    const page = pageBeforeSlash(pathOf(incoming));
    if (page !== null) return c.redirect(`${page}${new URL(c.req.url).search}`, 308);
    return wantsPage(incoming) ? c.html(missingPage(), 404) : next();
  });
  return app;
}

/** Pages of the dashboard, its files, and links that sign a browser in. */
function addDashboardRoutes(app: ReturnType<typeof createApi>, options: ServerAppOptions): void {
  const { credentials, cookie } = options;
  const dashboard = options.dashboardFolder === undefined ? null : openDashboard(options.dashboardFolder);
  const isSignedIn = (c: Context): boolean => options.visitors.get((c.env as HttpBindings).incoming) !== undefined;
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
    if (file === null) return answerProblem(c, toProblem(new NotFound('There is no such file. Reload the page.')));
    c.header('Content-Type', file.type);
    c.header('Cache-Control', 'public, max-age=31536000, immutable');
    c.header('Vary', 'Accept-Encoding');
    if (file.isGzip) c.header('Content-Encoding', 'gzip');
    return c.body(file.body);
  });
  app.get('/auth', async (c) => {
    // Mail and chat programs look at links before a person opens them: that does not use up the code.
    if (c.req.method === 'HEAD') return c.body(null);
    const secret = await credentials.signIn(c.req.query('code') ?? '');
    // Redirects only to a page of this server: the author of a link could name any place.
    const asked = c.req.query('to') ?? '/';
    const to = isPagePath(asked) ? asked : '/';
    if (secret === null) {
      const waitSeconds = options.wrong.note((c.env as HttpBindings).incoming.socket.remoteAddress);
      if (waitSeconds === null) {
        if (dashboard === null) return c.html(spentLinkPage(), 401);
        // The page there has the form for another link.
        return c.redirect(isSignedIn(c) ? to : `${to}${LINK_REFUSED}`, 303);
      }
      c.header('Retry-After', String(waitSeconds));
      c.header('Connection', 'close');
      return answerProblem(c, tooManyWrong(waitSeconds));
    }
    c.header('Set-Cookie', cookie.give(secret));
    return c.redirect(to, 303);
  });
}

/** Headers of every answer, refusals included. There is no CORS header among them, so other pages cannot read anything. */
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

/** The guard's verdict. When the guard fails, a refusal that describes the failure to the client. */
async function askGuard(guard: Guard, request: IncomingMessage, log: Logger): Promise<Verdict> {
  try {
    return await guard(request);
  } catch (error) {
    const problem = toProblem(error);
    if (problem.code === 'internal') log.error({ err: error }, 'the caller could not be identified');
    return { admitted: false, problem };
  }
}

/** Converts an error of Node's HTTP parser into the form of all other refusals. */
function problemOfParser({ code }: NodeJS.ErrnoException): ProblemDetails {
  const invalid = toProblem(new InvalidRequest('The request is not valid HTTP.'));
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { ...invalid, status: 431, detail: 'The address and headers of the request are too long: at most 16 KB.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { ...invalid, status: 408, detail: 'The request did not arrive whole in time.' };
    default:
      return invalid;
  }
}

function visitorOfUpgrade(request: IncomingMessage, verdict: Verdict): Visitor | ProblemDetails {
  if (!verdict.admitted) return verdict.problem;
  if (verdict.visitor !== null && pathOf(request) === FEED_PATH) return verdict.visitor;
  return toProblem(new NotFound(`There is no WebSocket at ${pathOf(request)}; the feed is at ${FEED_PATH}.`));
}

function refuseRequest(request: IncomingMessage, response: ServerResponse, problem: ProblemDetails): void {
  if (problem.status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="autonomous"');
  // Closes the connection, so that a client that guesses needs a new one for each try.
  if (problem.status === 429) response.setHeader('Connection', 'close');
  const retryAfter = retryAfterOf(problem);
  if (retryAfter !== null) response.setHeader('Retry-After', retryAfter);
  const [type, body] =
    problem.status === 401 && wantsPage(request)
      ? ['text/html; charset=UTF-8', signInPage()]
      : ['application/problem+json', JSON.stringify(problem)];
  response.writeHead(problem.status, { 'Content-Type': type }).end(body);
}

/** Answers an upgrade in plain HTTP, so that a client learns why there is no WebSocket. */
function refuseUpgrade(socket: Duplex, problem: ProblemDetails): void {
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
    'Connection: close',
    'Content-Type: application/problem+json',
    ...(retryAfterOf(problem) === null ? [] : [`Retry-After: ${retryAfterOf(problem)}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
