/**
 * Deliveries of GitHub's webhooks. A delivery never carries a fact into a run: its signature has no time, so that anyone who
 * recorded one can send it again. It only wakes those who look at the repository, and they read what happened from GitHub
 * itself. A repeated delivery costs at most one more look, which changes nothing.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidRequest, NotFound, PayloadTooLarge, toProblem, Unavailable } from '@autonomous/shared';
import { parseJsonBytes, readBytes } from '@autonomous/shared/client';
import { answerProblem } from '@autonomous/shared/api';
import type { Context } from 'hono';
import { z } from 'zod';
import type { EventStore } from '../event-store/event-store.ts';
import type { RepositoryName } from '../forges/forge.ts';
import { tooManyWrong, wrongSignature } from './access/guard.ts';

export interface WebhookSettings {
  /** Secret with which the forge signs; at least 16 characters. */
  readonly secret: string;
  /**
   * Wakes those who look at a repository.
   * @returns false when no project of this server lies there
   */
  readonly wake: (repository: RepositoryName) => Promise<boolean>;
}

export interface WebhookHandlerOptions {
  /** Absent: every delivery is answered 404. */
  readonly settings: WebhookSettings | undefined;
  readonly store: Pick<EventStore, 'recall' | 'remember'>;
  /** Counts a wrong signature. @returns seconds that its sender has to wait; `null` while it may try again */
  readonly noteWrong: (c: Context) => number | null;
}

/** GitHub sends up to 25 MB. What wakes a look is far smaller. */
const MAX_BYTES = 5 * 1024 * 1024;
/** Bodies that are read at the same time: nobody has proved anything before the end of one. */
const MOST_AT_ONCE = 8;
/** GitHub sends a body at once, and gives a whole delivery up after 10 seconds. */
const BODY_TIMES = { partMs: 2_000, wholeMs: 8_000 };
/** Events after which a look may find something new. */
export const WEBHOOK_EVENTS: ReadonlySet<string> = new Set([
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'issue_comment',
  'issues',
  'check_run',
  'check_suite',
  'status',
]);
const DELIVERY_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SIGNATURE = /^sha256=([0-9a-f]{64})$/i;

const payloadSchema = z.object({
  repository: z.object({ name: z.string().max(200), owner: z.object({ login: z.string().max(200) }) }),
});

/** Answers 202 with `taken`: whether the delivery is new and woke something. A ping is answered 200. */
export function createWebhookHandler({
  settings,
  store,
  noteWrong,
}: WebhookHandlerOptions): (c: Context) => Promise<Response> {
  const underWay = new Set<string>();
  let readings = 0;

  const refuse = (c: Context): Response => {
    const waitSeconds = noteWrong(c);
    if (waitSeconds === null) return answerProblem(c, wrongSignature());
    c.header('Connection', 'close');
    return answerProblem(c, tooManyWrong(waitSeconds));
  };

  const read = async (c: Context): Promise<Uint8Array> => {
    const isTooLong = Number(c.req.header('content-length') ?? 0) > MAX_BYTES;
    if (readings >= MOST_AT_ONCE && !isTooLong)
      throw new Unavailable(`The server reads ${readings} other deliveries. Send it later.`);
    readings += 1;
    try {
      return await readBytes(c, MAX_BYTES, 'Select fewer events for the webhook at GitHub.', BODY_TIMES);
    } catch (error) {
      // Nobody reads the rest of it.
      if (error instanceof PayloadTooLarge || error instanceof InvalidRequest) c.header('Connection', 'close');
      throw error;
    } finally {
      readings -= 1;
    }
  };

  /** Whether this body came for the first time. Its digest is remembered: the id of a delivery is not signed. */
  const takeOnce = async (digest: string, take: () => Promise<boolean>): Promise<boolean> => {
    const key = `webhooks/github:${digest}`;
    if (underWay.has(key) || (await store.recall(key)) !== null || underWay.has(key)) return false;
    underWay.add(key);
    try {
      if (!(await take())) return false;
      await store.remember(key, { requestHash: digest, status: 202, body: '{}' }, new Date().toISOString());
      return true;
    } finally {
      underWay.delete(key);
    }
  };

  return async (c) => {
    if (settings === undefined) {
      return answerProblem(
        c,
        toProblem(
          new NotFound(
            'This server takes no webhooks. Set GITHUB_WEBHOOK_SECRET (openssl rand -hex 32) and give the webhook at GitHub the same secret.',
          ),
        ),
      );
    }
    const shown = SIGNATURE.exec(c.req.header('x-hub-signature-256') ?? '')?.[1];
    if (shown === undefined) return refuse(c);
    const event = eventOf(c);
    const bytes = await read(c);
    const expected = createHmac('sha256', settings.secret).update(bytes).digest();
    if (!timingSafeEqual(Buffer.from(shown, 'hex'), expected)) return refuse(c);

    if (event === 'ping') return c.json({ taken: true }, 200);
    const body = parseJsonBytes(bytes);
    const payload = WEBHOOK_EVENTS.has(event) ? payloadSchema.safeParse(body) : null;
    if (payload?.success !== true) return c.json({ taken: false }, 202);
    const { name, owner } = payload.data.repository;
    const digest = createHash('sha256').update(bytes).digest('hex');
    return c.json({ taken: await takeOnce(digest, () => settings.wake({ owner: owner.login, name })) }, 202);
  };
}

/** Name of the event. A delivery with other headers is refused before its body is read. @throws {InvalidRequest} */
function eventOf(c: Context): string {
  const contentType = c.req.header('content-type') ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(contentType))
    throw new InvalidRequest(
      'A delivery must be application/json. Choose this content type for the webhook at GitHub.',
    );
  if (!DELIVERY_ID.test(c.req.header('x-github-delivery') ?? ''))
    throw new InvalidRequest('The delivery has no id: X-GitHub-Delivery must be a UUID.');
  const event = c.req.header('x-github-event') ?? '';
  if (!/^[a-z_]{1,100}$/.test(event)) throw new InvalidRequest('The delivery names no event in X-GitHub-Event.');
  return event;
}
