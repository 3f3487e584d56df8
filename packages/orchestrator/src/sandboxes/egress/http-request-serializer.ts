/**
 * A client's connection as an HTTP server reads it: one request at a time. Node's parser takes all that came at once and
 * answers it in order; a client that sends a thousand requests without waiting would keep the server busy with each.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';

/** After so many pieces others have their turn. */
const PIECES_A_TURN = 64;
/** Most bytes that a client may send after its last answer. They are discarded; beyond this the connection is cut. */
const DISCARDED_BYTES = 256 * 1024;
/** How long a client has to read its last answer. */
const LINGER_MS = 1_000;
const LF = 10;
const CR = 13;
const NOTHING = Buffer.alloc(0);

export class RequestSerializer extends Duplex {
  readonly #client: Duplex;
  /** Data received and not yet passed on. The client is paused while there is any. */
  #rest: Buffer = NOTHING;
  /** Bytes of the line that is being passed on: an empty line may end a request, and a piece ends with it. */
  #lineBytes = 0;
  #waitsFor: IncomingMessage | 'release' | null = null;
  #ended = false;
  #closing = false;
  #feeding = false;

  constructor(client: Duplex) {
    // Not more than one piece is ever kept for the parser.
    super({ readableHighWaterMark: 1 });
    this.#client = client;
    client.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onClose).on('close', this.#onClose);
  }

  /** True when the client does not wait for an answer any more. */
  get isGone(): boolean {
    return this.destroyed || this.#ended;
  }

  /** Passes nothing on behind this request until it is answered. */
  holdFor(request: IncomingMessage, response: ServerResponse): void {
    this.#waitsFor = request;
    response.once('close', () => {
      this.#waitsFor = null;
      this.#feed();
    });
  }

  /** Passes nothing on until `release` or `destroySoon`. */
  hold(): void {
    this.#waitsFor = 'release';
  }

  /** The connection itself, paused, with all that was not passed on; the gate is of no more use. */
  release(): Duplex {
    const client = this.#client;
    client.removeListener('data', this.#onData).removeListener('end', this.#onEnd);
    client.removeListener('error', this.#onClose).removeListener('close', this.#onClose);
    client.pause();
    if (this.#rest.length > 0) client.unshift(this.#rest);
    this.#rest = NOTHING;
    return client;
  }

  /** Ends the connection when what was written is read: a client that sends on must not lose its answer, nor hold the place. */
  destroySoon(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.end();
    this.#rest = NOTHING;
    this.#client.removeListener('data', this.#onData);
    drainAndClose(this.#client);
  }

  override _read(): void {
    // Within this call a piece would wait for the parser, and the next one be passed on before it was read.
    process.nextTick(() => this.#feed());
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.#client.write(chunk)) callback();
    else this.#client.once('drain', () => callback());
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#client.end();
    callback();
  }

  override _destroy(_error: Error | null, callback: (error?: Error | null) => void): void {
    this.#client.destroy();
    // A client that went away is no fault of anybody here.
    callback(null);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#client.pause();
    this.#rest = chunk;
    this.#feed();
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    this.push(null);
  };

  readonly #onClose = (): void => {
    this.destroy();
  };

  #feed(): void {
    if (this.#feeding || this.#rest.length === 0) return;
    this.#feeding = true;
    try {
      for (let pieces = 0; this.#rest.length > 0; pieces += 1) {
        if (this.#closing || this.destroyed || this.#isWaiting()) return;
        if (pieces === PIECES_A_TURN) {
          setImmediate(() => this.#feed());
          return;
        }
        // `_read` tells when there is room for more.
        if (!this.push(this.#nextPiece())) break;
      }
    } finally {
      this.#feeding = false;
    }
    if (this.#rest.length === 0) this.#client.resume();
  }

  #isWaiting(): boolean {
    return this.#waitsFor !== null && (this.#waitsFor === 'release' || this.#waitsFor.complete);
  }

  /** Up to the next empty line, so that no piece holds more than one request. */
  #nextPiece(): Buffer {
    const bytes = this.#rest;
    let end = 0;
    while (end < bytes.length) {
      const byte = bytes[end];
      end += 1;
      if (byte !== LF) {
        if (byte !== CR) this.#lineBytes += 1;
        continue;
      }
      const isEmpty = this.#lineBytes === 0;
      this.#lineBytes = 0;
      if (isEmpty) break;
    }
    this.#rest = bytes.subarray(end);
    return bytes.subarray(0, end);
  }
}

/** Of a connection that is ended for writing: closes it when all of that could be read. */
export function drainAndClose(client: Duplex): void {
  let bytes = 0;
  client.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARDED_BYTES) client.destroy();
  });
  client.resume();
  const startTimer = (): void => {
    const timer = setTimeout(() => client.destroy(), LINGER_MS).unref();
    client.once('close', () => clearTimeout(timer));
  };
  // Not before all of it is written: a slow reader of a long answer is no reason to cut it.
  if (client.writableFinished) startTimer();
  else client.once('finish', startTimer);
}
