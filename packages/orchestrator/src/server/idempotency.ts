/**
 * Carries out a POST only once, also when it is sent twice: the answer to an idempotency key is kept
 * and given again. The engine stores the key with the step that the request makes, so this also holds
 * when the process crashes before it answers.
 */
import { createHash } from 'node:crypto';
import { type Caller, InvalidRequest, type RequestKey, type RunView, Unprocessable } from '@autonomous/shared';
import type { Context, MiddlewareHandler } from 'hono';
import type { EventStore, RequestedStep } from '../event-store/event-store.ts';

export interface IdempotencyOptions {
  readonly store: Pick<EventStore, 'recall' | 'recallStep' | 'remember'>;
  readonly caller: (c: Context) => Caller;
  /** The run as it was after a step. */
  readonly viewAfter: (step: RequestedStep) => Promise<RunView>;
  /** The request was done but its answer could not be kept. */
  readonly onForgotten: (error: unknown) => void;
}

/** The stored part of an answer, besides its status. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Routes whose answers are not kept: they give a secret that is valid for seconds and belongs in no database, or take
 * a cookie away. Repeating them does no harm.
 */
const NEVER_KEPT: ReadonlySet<string> = new Set(['/api/tickets', '/api/sign-in-links', '/api/sign-out']);
/** Only these headers say something about the answer itself. */
const KEPT_HEADERS = ['content-type', 'location'];

const REQUEST = 'request';

/** Identifies a request that is carried out once; `undefined` when it has no key, or before the middleware has seen it. */
export function requestKeyOf(c: Context): RequestKey | undefined {
  return c.get(REQUEST) as RequestKey | undefined; // Only the middleware sets it.
}

/** For POST routes, after the body was read within its limits. */
export function idempotency({ store, caller, viewAfter, onForgotten }: IdempotencyOptions): MiddlewareHandler {
  const inFlight = new Map<string, { readonly requestHash: string; readonly done: Promise<void> }>();

  return async (c, next) => {
    const header = c.req.header('idempotency-key');
    if (header === undefined || NEVER_KEPT.has(c.req.path)) return next();
    if (!/^[\x21-\x7e]{1,200}$/.test(header)) {
      throw new InvalidRequest('The Idempotency-Key must have 1 to 200 visible ASCII characters.');
    }
    const key = `${caller(c).userId}:${header}`;
    const requestHash = await hashRequest(c);
    const refuseOther = (known: string) => {
      if (known !== requestHash) {
        throw new Unprocessable(`The Idempotency-Key '${header}' was used for another request; send a new key.`);
      }
    };

    // One request at a time for a key. When the first one failed, the next one is carried out.
    for (let first = inFlight.get(key); first; first = inFlight.get(key)) {
      refuseOther(first.requestHash);
      await first.done;
    }
    const { promise: done, resolve } = Promise.withResolvers<void>();
    inFlight.set(key, { requestHash, done });
    try {
      const known = await store.recall(key);
      if (known) {
        refuseOther(known.requestHash);
        return replay(known);
      }
      const keep = async (status: number, answer: Answer) => {
        const kept = { requestHash, status, body: JSON.stringify(answer) };
        await store.remember(key, kept, new Date().toISOString()).catch(onForgotten);
        return kept;
      };
      const done = await store.recallStep(key);
      if (done) {
        refuseOther(done.requestHash);
        const { status, ...answer } = answerOf(c, await viewAfter(done));
        return replay(await keep(status, answer));
      }
      c.set(REQUEST, { key, hash: requestHash } satisfies RequestKey);
      await next();
      if (isWorthKeeping(c.res.status)) await keep(c.res.status, await read(c));
    } finally {
      inFlight.delete(key);
      resolve();
    }
  };
}

/** Rebuilds the answer of a route: the run after its step, and for a new run also its location. */
function answerOf({ req }: Context, view: RunView): Answer & { readonly status: number } {
  const isNewRun = req.path === '/api/runs' || req.path.endsWith('/fork');
  const headers = { 'content-type': 'application/json', ...(isNewRun ? { location: `/api/runs/${view.id}` } : {}) };
  const status = isNewRun || req.path.endsWith('/comments') ? 201 : 200;
  return { status, headers, body: JSON.stringify(view) };
}

/**
 * Keeps answers of requests that were carried out, and conflicts. A faulty request was not carried out, and temporary
 * failures (429, 503, 507, or a failure of the server) may be over: all of them may be sent again under the same key.
 */
function isWorthKeeping(status: number): boolean {
  return status < 400 || status === 409;
}

async function hashRequest(c: Context): Promise<string> {
  const url = new URL(c.req.url);
  const body = Buffer.from(await c.req.arrayBuffer());
  return createHash('sha256').update(`${url.pathname}${url.search}\n`).update(body).digest('hex');
}

async function read(c: Context): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = c.res.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { headers, body: await c.res.clone().text() };
}

function replay(known: { readonly status: number; readonly body: string }): Response {
  const { headers, body } = JSON.parse(known.body) as Answer;
  return new Response(body, { status: known.status, headers: { ...headers, 'Idempotency-Replayed': 'true' } });
}
