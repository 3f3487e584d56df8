/**
 * One GET over a connection whose address was checked, with limits on what comes back. Follows nothing and repeats nothing.
 * The body is counted as it is sent and again as it is decompressed, and reading stops at the limit.
 */
import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { connectChecked, type Resolve } from '../network/checked-connection.ts';
import type { PageTarget } from './page-address.ts';
import { untilAborted } from './until-aborted.ts';

export interface WebRequestOptions {
  readonly resolve: Resolve;
  /** Certificates to trust instead of the system's; `undefined`: the system's. */
  readonly certificates: string | undefined;
  readonly maxBytes: number;
  /** Value of the header Accept. */
  readonly accept: string;
  readonly signal: AbortSignal;
}

export interface WebAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Empty for answers that are no success. Cut at the limit. */
  readonly body: Buffer;
  /** True when the body has more bytes than the limit. */
  readonly isCut: boolean;
}

/** Name by which the server introduces itself; robots.txt files may name it. */
export const USER_AGENT = 'autonomous';

/** An answer came and cannot be read. */
export class BrokenAnswer extends Error {
  override readonly name = 'BrokenAnswer';
}

/**
 * @throws {PrivateAddress} when the host leads to no public address
 * @throws {BrokenAnswer} when the body is compressed in an unknown way or is damaged
 * @throws {Error} when there is no answer, or with the reason of `signal`
 */
export async function requestPage(target: PageTarget, options: WebRequestOptions): Promise<WebAnswer> {
  const { signal } = options;
  const open = new Set<Socket>();
  const end = (): void => {
    for (const socket of open) socket.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    return await untilAborted(signal, async () => {
      const socket = await connectChecked(target, {
        resolve: options.resolve,
        onSocket: (each) => {
          // Sockets outlive the attempts that failed; an error without a listener would end the process.
          each.on('error', () => undefined);
          open.add(each);
        },
        assertAwaited: () => signal.throwIfAborted(),
      });
      const secured = target.url.protocol === 'https:' ? await secure(socket, target, options) : socket;
      const incoming = await ask(secured, target, options);
      return await readAnswer(incoming, options.maxBytes);
    });
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

function secure(socket: Socket, { host }: PageTarget, { certificates }: WebRequestOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secured = connectTls({
      socket,
      host,
      ...(/[a-z]/i.test(host) && !host.includes(':') ? { servername: host } : {}),
      ...(certificates === undefined ? {} : { ca: certificates }),
      ALPNProtocols: ['http/1.1'],
    });
    secured.on('error', reject);
    secured.once('close', () => reject(new Error('the connection was ended')));
    secured.once('secureConnect', () => resolve(secured));
  });
}

function ask(socket: Socket, { url }: PageTarget, { accept }: WebRequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      createConnection: () => socket,
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: {
        Host: url.host,
        'User-Agent': USER_AGENT,
        Accept: accept,
        'Accept-Language': 'en, *;q=0.5',
        'Accept-Encoding': 'gzip, br',
        Connection: 'close',
      },
    });
    outgoing.once('response', (incoming) => {
      // One that is not read to its end must not end the process when its connection is closed.
      incoming.on('error', () => undefined);
      resolve(incoming);
    });
    outgoing.on('error', reject);
    // Without an error where the server changes to another protocol or ends the connection.
    outgoing.once('close', () => reject(new Error('it gave no answer')));
    outgoing.end();
  });
}

async function readAnswer(incoming: IncomingMessage, maxBytes: number): Promise<WebAnswer> {
  const { statusCode: status = 0, headers } = incoming;
  const isSuccess = status >= 200 && status < 300;
  if (!isSuccess) return { status, headers, body: Buffer.alloc(0), isCut: false };
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > maxBytes) return { status, headers, body: Buffer.alloc(0), isCut: true };
  let sentBytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    sentBytes += chunk.length;
    // Compressed data may hold nothing at all for ever.
    if (sentBytes > maxBytes) incoming.destroy(new BrokenAnswer('its compressed body is too large'));
  });
  incoming.pause();
  const body = decompressed(incoming);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return { status, headers, body: cut(chunks, chunk, maxBytes), isCut: true };
      chunks.push(chunk);
    }
  } catch (error) {
    if (sentBytes > maxBytes) return { status, headers, body: Buffer.concat(chunks), isCut: true };
    throw isDecompression(error) ? new BrokenAnswer('its compressed body is damaged', { cause: error }) : error;
  }
  return { status, headers, body: Buffer.concat(chunks), isCut: false };
}

function cut(chunks: readonly Buffer[], last: Buffer, maxBytes: number): Buffer {
  return Buffer.concat([...chunks, last]).subarray(0, maxBytes);
}

/** @throws {BrokenAnswer} for a coding that was not asked for */
function decompressed(incoming: IncomingMessage): Readable {
  const coding = (incoming.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const through =
    coding === 'identity' || coding === ''
      ? null
      : coding === 'gzip' || coding === 'x-gzip'
        ? createGunzip()
        : coding === 'deflate'
          ? createInflate()
          : coding === 'br'
            ? createBrotliDecompress()
            : undefined;
  if (through === undefined) throw new BrokenAnswer(`its body is compressed in an unknown way`);
  if (through === null) return incoming;
  // An error of the connection must end the reader of the decompressed side.
  incoming.once('error', (error) => through.destroy(error));
  incoming.once('aborted', () => through.destroy(new Error('the answer breaks off')));
  return incoming.pipe(through);
}

function isDecompression(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:Z_|ERR_(?:BROTLI|_BROTLI|ZLIB))/.test(String(error.code));
}
