/**
 * A POST that is sent twice is done once: the answer to an idempotency key is kept and given again.
 * Where the process died between doing and remembering, the engine's own checks (a run by its key, a gate decided once) hold.
 */
import { createHash } from 'node:crypto';
import { type Caller, InvalidRequest, Unprocessable } from '@autonomous/shared';
import type { Context, MiddlewareHandler } from 'hono';
import type { EventStore } from '../event-store/event-store.ts';

export interface IdempotencyOptions {
  readonly store: Pick<EventStore, 'recall' | 'remember'>;
  readonly caller: (c: Context) => Caller;
  /** The request was done but its answer could not be kept. */
  readonly onForgotten: (error: unknown) => void;
}

/** What is kept of an answer beside its status. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * What they answer is a secret of a few seconds that belongs in no database, or takes a cookie away; and asking twice does
 * no harm.
 */
const NEVER_KEPT: ReadonlySet<string> = new Set(['/api/tickets', '/api/sign-in-links', '/api/sign-out']);
/** Only these headers say something about the answer itself. */
const KEPT_HEADERS = ['content-type', 'location'];

/** For POST routes, after the body was read within its limits. */
export function idempotency({ store, caller, onForgotten }: IdempotencyOptions): MiddlewareHandler {
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

    // One at a time for a key; who finds the first one failed does it again.
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
      await next();
      if (isWorthKeeping(c.res.status)) {
        const body = JSON.stringify(await read(c));
        await store
          .remember(key, { requestHash, status: c.res.status, body }, new Date().toISOString())
          .catch(onForgotten);
      }
    } finally {
      inFlight.delete(key);
      resolve();
    }
  };
}

/** A faulty request was not done, and a failure of the server may pass: both may be sent again under the same key. */
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
