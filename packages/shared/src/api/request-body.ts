/** Reads a request's body once, within limits, before any schema or handler sees it. */
import type { Context } from 'hono';
import { InvalidRequest, PayloadTooLarge } from '../errors.ts';

/** Bytes of a request in JSON, at most. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Bytes of an uploaded file, at most. */
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;

const SEND_LESS =
  'Send less; a long text, such as a plan, can be committed to the repository of the project and named by its path.';

/** Deeper JSON than any request has; what is nested further only wants to exhaust a recursive function. */
const MAX_NESTING = 64;

/**
 * Reads a JSON body so that later readers (`c.req.json()`, `c.req.arrayBuffer()`) get what was checked here.
 * @throws {PayloadTooLarge} above 1 MB
 * @throws {InvalidRequest} for another content type, invalid UTF-8, malformed or absurdly nested JSON
 */
export async function readJsonBody(c: Context): Promise<void> {
  const bytes = await readBytes(c, MAX_JSON_BYTES, SEND_LESS);
  const contentType = c.req.header('content-type');
  if (bytes.byteLength > 0 && !/^application\/json\s*(?:;|$)/i.test(contentType ?? '')) {
    throw new InvalidRequest(
      `The content type ${contentType === undefined ? 'is missing' : `'${contentType}' is not taken`}; send application/json.`,
    );
  }
  parseJsonBytes(bytes);
  replaceBody(c, bytes);
}

/**
 * Parses a body; `undefined` for an empty one.
 * @throws {InvalidRequest} for invalid UTF-8, malformed or absurdly nested JSON
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  if (text.length === 0) return undefined;
  const parsed = parse(text);
  checkTree(parsed);
  return parsed;
}

/**
 * Reads the body of an upload.
 * @throws {PayloadTooLarge} above 10 MB
 */
export async function readUploadBody(c: Context): Promise<void> {
  replaceBody(c, await readBytes(c, MAX_UPLOAD_BYTES, 'Upload a smaller file.'));
}

/** The stream is used up; later readers find the same bytes in a request of their own. */
function replaceBody(c: Context, body: Uint8Array<ArrayBuffer>): void {
  const headers = new Headers(c.req.raw.headers);
  // An empty body has no type: `fetch` says text/plain for an empty string.
  if (body.byteLength === 0) headers.delete('content-type');
  const { url, method } = c.req;
  c.req.raw = new Request(url, { method, headers, body });
}

/** Times within which a body has to arrive, in milliseconds. */
export interface BodyTimes {
  /** Between two parts of it. */
  readonly partMs: number;
  readonly wholeMs: number;
}

/**
 * Reads a body whole, without keeping more of it than the limit.
 * @param wayOut sentence for a person whose request has more bytes than the limit
 * @param times absent: only the server's own limit of a request counts
 * @throws {PayloadTooLarge} @throws {InvalidRequest} when it ends early or arrives too slowly
 */
export async function readBytes(
  c: Context,
  limit: number,
  wayOut: string,
  times?: BodyTimes,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () =>
    new PayloadTooLarge(
      `The request body has more than ${limit.toLocaleString('en')} bytes, the most that is taken. ${wayOut}`,
    );
  if (Number(c.req.header('content-length') ?? 0) > limit) throw tooLarge();
  // The platform's types say nothing of the chunks; a request's body consists of bytes.
  const body: ReadableStream<Uint8Array> | null = c.req.raw.body;
  const reader = body?.getReader();
  if (!reader) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const endsAt = times === undefined ? 0 : performance.now() + times.wholeMs;
  for (;;) {
    const part = reader.read().catch((cause: unknown) => {
      throw new InvalidRequest('The request body ended before it was complete.', { cause });
    });
    const { done, value } =
      times === undefined ? await part : await within(part, Math.min(times.partMs, endsAt - performance.now()));
    if (done) break;
    size += value.byteLength;
    if (size > limit) throw tooLarge();
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** @throws {InvalidRequest} when the part of a body does not arrive in this time */
async function within<Part>(part: Promise<Part>, ms: number): Promise<Part> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new InvalidRequest('The request body arrived too slowly. Send it again, all at once.')),
    Math.max(0, ms),
  );
  // The other end of the race may come later, when nobody waits for it any more.
  part.catch(() => undefined);
  try {
    return await Promise.race([part, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new InvalidRequest('The request body is not valid UTF-8.', { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.slice(0, 200) : String(cause);
    throw new InvalidRequest(`The request body is not valid JSON: ${reason}`, { cause });
  }
}

/** Goes through the tree without recursion: the tree may be as deep as the body is long. */
function checkTree(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING) throw new InvalidRequest(`The request body is nested deeper than ${MAX_NESTING} levels.`);
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      if (Object.hasOwn(value, '__proto__')) {
        throw new InvalidRequest("The request body has a key '__proto__', which is never taken.");
      }
      for (const inner of Object.values(value)) next.push(inner);
    }
    level = next;
  }
}
