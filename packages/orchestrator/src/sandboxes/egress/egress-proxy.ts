/**
 * The one way out of a sandbox: an HTTP proxy on a unix socket that lets through what an allow-list names.
 *
 * The name that is checked is the name that is dialled: the proxy resolves it itself, checks the address it got, and dials
 * that address. CONNECT carries TLS and whatever else a client speaks; the server name of TLS has to be the host that was
 * asked for. Plain HTTP, inside a tunnel or not, is read request by request, and so has its Host. What lies inside TLS is not
 * seen.
 */
import {
  type ClientRequest,
  createServer as createHttpServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connectChecked, PrivateAddress, type Resolve, systemAddresses } from '../../network/checked-connection.ts';
import { PrivateSocket } from '../../processes/private-socket.ts';
import { drainAndClose, RequestSerializer } from './http-request-serializer.ts';
import {
  checkTarget,
  EGRESS_ENTRY_FORM,
  type EgressEntry,
  parseEgressEntry,
  printable,
} from '../../network/egress-rules.ts';
import { readTunnelStart } from './egress-tunnel.ts';
import type { EgressRefusal } from '../sandbox.ts';

export interface EgressLimits {
  /** Connections at the same time. */
  readonly connections: number;
  /** Bytes in both directions, in all. */
  readonly bytes: number;
  /** A connection over which nothing comes for so long is closed. */
  readonly idleMs: number;
}

export interface EgressProxyOptions {
  /** Entries as `parseEgressEntry` reads them; none lets nothing through. */
  readonly allow: readonly string[];
  /** Told once of each host, port and reason. */
  readonly onRefused?: ((refusal: EgressRefusal) => void) | undefined;
  readonly limits?: Partial<EgressLimits>;
  /** All addresses of a name; the system's resolver when absent. */
  readonly resolve?: Resolve;
}

export interface EgressProxy {
  /**
   * Absolute path of the socket on the host; only this user can connect to it. It listens with the first question, and at another path
   * once the socket is gone.
   * @throws {NoSocketFolder} where no folder of temporary files takes a socket
   */
  socketPath(): Promise<string>;
  /** Ends every connection. May be called twice. */
  close(): Promise<void>;
}

const LIMITS: EgressLimits = { connections: 128, bytes: 4 * 1024 ** 3, idleMs: 120_000 };
const COUNTING_MS = 500;
/** Different refusals that are told; a program that tries all ports of all hosts is not worth more lines. */
const TOLD_REFUSALS = 100;
/** After so many answers that are refusals or failures, each further one waits. */
const PACED_AFTER = 200;
const PACE_MS = 500;

/** Headers that concern one connection and not the message (RFC 9110, 7.6.1), and what is said to a proxy alone. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Never of the connection, also where its Connection header says so: without them a body would be a second request. */
const OF_THE_MESSAGE = new Set(['content-length', 'host']);

interface Target {
  readonly host: string;
  readonly port: number;
}

/** Something that is answered with a status and a line, and closes the connection. */
class Refused extends Error {
  readonly status: number;
  /** `null` where nothing was refused: the other side is away. */
  readonly refusal: EgressRefusal | null;

  constructor(status: number, message: string, refusal: EgressRefusal | null) {
    super(message);
    this.status = status;
    this.refusal = refusal;
  }
}

/** @throws {Error} for an entry that cannot be read: the configuration has checked it before */
export function createEgressProxy(options: EgressProxyOptions): EgressProxy {
  const entries = options.allow.map((text): EgressEntry => {
    const entry = parseEgressEntry(text);
    if (entry === null) throw new Error(`"${text}" is not a valid allow-list entry; write ${EGRESS_ENTRY_FORM}`);
    return entry;
  });
  return new ProxyServer(options, entries);
}

class ProxyServer implements EgressProxy {
  readonly #entries: readonly EgressEntry[];
  readonly #limits: EgressLimits;
  readonly #resolve: Resolve;
  readonly #onRefused: EgressProxyOptions['onRefused'];
  readonly #socket = new PrivateSocket(() => this.#makeServer());
  /** Listens nowhere: it reads the requests behind a gate. The Host header is checked here; of a tunnel it does not count. */
  readonly #http = createHttpServer({ maxHeaderSize: 32_768, requireHostHeader: false });
  readonly #clients = new Set<Socket>();
  readonly #upstreams = new Set<Socket>();
  /** Connection slots in use: connections to the outside, including those that are being opened. */
  #connectionSlots = 0;
  #closed = false;
  /** Tunnels in which plain HTTP is spoken, by their client's end. */
  readonly #tunnels = new WeakMap<Duplex, Target>();
  readonly #reported = new Set<string>();
  /** Of connections that are closed. */
  #bytes = 0;
  #counting: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor({ limits, resolve, onRefused }: EgressProxyOptions, entries: readonly EgressEntry[]) {
    this.#entries = entries;
    this.#limits = { ...LIMITS, ...limits };
    this.#resolve = resolve ?? systemAddresses;
    this.#onRefused = onRefused;
    this.#http.on('connect', (request, client) => {
      const gate = gateOf(client);
      gate.hold();
      this.#tunnel(request, gate).catch((error: unknown) => this.#pace(() => this.#endTunnel(gate, error)));
    });
    this.#http.on('request', (request, response) => {
      gateOf(request.socket).holdFor(request, response);
      this.#forward(request, response).catch((error: unknown) => this.#pace(() => this.#endRequest(response, error)));
    });
    this.#http.on('clientError', (error: NodeJS.ErrnoException, client) => {
      const gate = gateOf(client);
      gate.hold();
      if (error.code?.startsWith('HPE_') !== true) gate.destroy();
      else {
        const error = refused('malformed', '', 0, 'a request could not be read', 400);
        this.#pace(() => this.#endTunnel(gate, error));
      }
    });
  }

  socketPath(): Promise<string> {
    return this.#socket.path();
  }

  close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#counting);
    for (const socket of [...this.#clients, ...this.#upstreams]) socket.destroy();
    return this.#socket.close();
  }

  #makeServer(): Server {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      this.#keep(this.#clients, client);
      this.#read(client, null);
    });
    server.maxConnections = 2 * this.#limits.connections;
    // Of connections that could not be taken.
    return server.on('error', () => {});
  }

  #read(client: Duplex, tunnel: Target | null): void {
    const gate = new RequestSerializer(client);
    if (tunnel !== null) this.#tunnels.set(gate, tunnel);
    this.#http.emit('connection', gate);
  }

  // ---- CONNECT

  async #tunnel(request: IncomingMessage, gate: RequestSerializer): Promise<void> {
    const target = this.#targetOf(request.url ?? '', null);
    const upstream = await this.#dial(target, gate);
    // With all that came behind the request.
    const client = gate.release();
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.pipe(client);
    const either = (): void => {
      upstream.destroy();
      client.destroy();
    };
    const onUpstreamClose = (): void => {
      client.end();
      drainAndClose(client);
    };
    upstream.once('error', either).once('close', onUpstreamClose);
    client.once('error', either).once('close', () => upstream.destroy());
    // Not before its first bytes is it known what the client speaks; a server may speak first.
    let first: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      first = Buffer.concat([first, chunk]);
      const start = readTunnelStart(first, target.host);
      if (start.kind === 'undecided') return;
      client.pause();
      client.removeListener('data', onData).removeListener('end', onEnd);
      if (start.kind === 'refused') {
        // This protocol has no message for an answer of the proxy.
        this.#answerTo(refused(start.reason, target.host, target.port, start.message));
        this.#pace(either);
        return;
      }
      client.unshift(first);
      if (start.kind === 'bytes') {
        client.pipe(upstream);
        return;
      }
      upstream.removeListener('close', onUpstreamClose);
      upstream.unpipe(client);
      upstream.destroy();
      this.#read(client, target);
      client.resume();
    };
    const onEnd = (): void => {
      upstream.end(first);
    };
    client.on('data', onData).once('end', onEnd);
    client.resume();
  }

  #endTunnel(gate: RequestSerializer, error: unknown): void {
    const { status, message } = this.#answerTo(error);
    if (gate.writable) {
      const body = `${message}\n`;
      gate.end(
        `HTTP/1.1 ${status} ${status === 502 ? 'Bad Gateway' : 'Forbidden'}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
    }
    gate.destroySoon();
  }

  // ---- plain HTTP

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const tunnel = this.#tunnels.get(request.socket) ?? null;
    const { path, ...target } = this.#urlOf(request, tunnel);
    this.#checkHost(request, target);
    const socket = await this.#dial(target, gateOf(request.socket));
    const outgoing = requestOver(socket, request, path);
    outgoing.once('response', (incoming) => {
      incoming.once('error', () => response.destroy());
      try {
        writeHead(response, incoming);
        incoming.pipe(response);
      } catch (error) {
        // Nobody catches what a listener throws.
        this.#endRequest(response, unreachable(target, error));
        outgoing.destroy();
      }
    });
    outgoing.once('error', (error) => this.#endRequest(response, unreachable(target, error)));
    // Without an error where the server changes to another protocol.
    outgoing.once('close', () => {
      if (!response.headersSent) this.#endRequest(response, unreachable(target, 'it gave no answer'));
    });
    response.once('close', () => outgoing.destroy());
    request.pipe(outgoing);
  }

  #endRequest(response: ServerResponse, error: unknown): void {
    const { status, message } = this.#answerTo(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
    response.end(`${message}\n`);
  }

  /** Read by hand: URL brings 0x7f000001, upper case and other spellings into a form of its own. */
  #urlOf(request: IncomingMessage, tunnel: Target | null): Target & { readonly path: string } {
    const url = request.url ?? '';
    if (tunnel !== null && url.startsWith('/')) return { ...tunnel, path: url };
    const [, authority, path] = /^http:\/\/([^/?#@\\]+)([/?][^#]*)?$/.exec(url) ?? [];
    if (authority === undefined) {
      throw refused('malformed', url, 0, `"${printable(url)}" is not an http address; for https use CONNECT`, 400);
    }
    const target = this.#targetOf(authority, 80);
    if (tunnel !== null && (tunnel.host !== target.host || tunnel.port !== target.port)) {
      throw refused(
        'fronting',
        target.host,
        target.port,
        `${printable(authority)} was asked for in a tunnel to ${tunnel.host}:${tunnel.port}`,
      );
    }
    return { ...target, path: path === undefined ? '/' : path.startsWith('?') ? `/${path}` : path };
  }

  #checkHost(request: IncomingMessage, { host, port }: Target): void {
    const named = request.rawHeaders.filter(
      (_, index) => index % 2 === 0 && request.rawHeaders[index]?.toLowerCase() === 'host',
    );
    const name = host.includes(':') ? `[${host}]` : host;
    const asked = request.headers.host;
    if (named.length === 1 && (asked === `${name}:${port}` || (port === 80 && asked === name))) return;
    const message = `the Host header ${printable(asked ?? '(none)')} is not the host that is asked for, ${name}:${port}`;
    throw refused('fronting', host, port, message);
  }

  // ---- both

  /** @param defaultPort `null` where a port has to be named */
  #targetOf(authority: string, defaultPort: number | null): Target {
    const [, named, port] = /^(\[[^\]]*\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(authority) ?? [];
    if (named === undefined || (port === undefined && defaultPort === null)) {
      throw refused('malformed', authority, 0, `"${printable(authority)}" is not a host with a port`, 400);
    }
    return { host: named.replace(/^\[(.*)\]$/, '$1'), port: port === undefined ? (defaultPort ?? 0) : Number(port) };
  }

  /** @throws {Refused} also when the client is gone */
  async #dial(target: Target, client: RequestSerializer): Promise<Socket> {
    const { host, port } = target;
    const answer = checkTarget(this.#entries, host, port);
    if (!answer.ok) throw refused(answer.reason, host, port, answer.message);
    if (this.#connectionSlots >= this.#limits.connections) {
      throw refused('limit', host, port, `more than ${this.#limits.connections} connections at the same time`);
    }
    if (this.#bytesSoFar() > this.#limits.bytes) {
      throw refused('limit', host, port, `more than ${this.#limits.bytes} bytes went over the network`);
    }
    // Taken before anything is waited for: others ask meanwhile.
    this.#connectionSlots += 1;
    try {
      const socket = await this.#connected(target, answer.entry, client);
      socket.once('close', () => (this.#connectionSlots -= 1));
      return socket;
    } catch (error) {
      this.#connectionSlots -= 1;
      throw error;
    }
  }

  async #connected(target: Target, entry: EgressEntry, client: RequestSerializer): Promise<Socket> {
    const { host, port } = target;
    try {
      return await connectChecked(
        { host, port, internal: entry.internal },
        {
          resolve: this.#resolve,
          onSocket: (socket) => this.#keep(this.#upstreams, socket),
          assertAwaited: () => this.#assertAwaited(target, client),
        },
      );
    } catch (error) {
      if (!(error instanceof PrivateAddress)) throw unreachable(target, error);
      const message = `${error.message}; to allow it, the operator writes internal: before the entry`;
      throw refused('address', host, port, message);
    }
  }

  #assertAwaited(target: Target, client: RequestSerializer): void {
    if (this.#closed || client.isGone) throw unreachable(target, 'the client has closed the connection');
  }

  /** Bounds a connection of either side, and remembers it until it is closed. */
  #keep(side: Set<Socket>, socket: Socket): void {
    if (side.has(socket)) return;
    side.add(socket);
    socket.setTimeout(this.#limits.idleMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      side.delete(socket);
      if (side === this.#upstreams) this.#bytes += socket.bytesRead + socket.bytesWritten;
    });
    this.#counting ??= setInterval(() => {
      // Their clients end with them, and new clients are told why they get nothing.
      if (this.#bytesSoFar() > this.#limits.bytes) for (const upstream of this.#upstreams) upstream.destroy();
    }, COUNTING_MS).unref();
  }

  /** Over the outer side; the inner one carries the same once more. */
  #bytesSoFar(): number {
    return [...this.#upstreams].reduce(
      (sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten,
      this.#bytes,
    );
  }

  /** A program that asks for ever what it does not get must not keep the server busy. */
  #pace(answer: () => void): void {
    this.#failures += 1;
    if (this.#failures <= PACED_AFTER) answer();
    else setTimeout(answer, PACE_MS);
  }

  /** Returns the answer for a client. Reports each refusal once to `onRefused`. */
  #answerTo(error: unknown): { readonly status: number; readonly message: string } {
    if (!(error instanceof Refused)) return { status: 502, message: `The proxy failed: ${String(error)}` };
    const { refusal, status, message } = error;
    if (refusal === null) return { status, message };
    const key = `${refusal.reason} ${refusal.host} ${refusal.port}`;
    if (!this.#reported.has(key) && this.#reported.size < TOLD_REFUSALS) {
      this.#reported.add(key);
      this.#onRefused?.(refusal);
    }
    return { status, message };
  }
}

function refused(reason: EgressRefusal['reason'], host: string, port: number, message: string, status = 403): Refused {
  return new Refused(status, `Refused: ${message}.`, { reason, host: printable(host), port, message });
}

/** A request as it came, over a connection that is made and ends with it. */
function requestOver(socket: Socket, request: IncomingMessage, path: string): ClientRequest {
  try {
    return httpRequest({
      createConnection: () => socket,
      method: request.method ?? 'GET',
      path,
      headers: [...forwardedHeaders(request), ...framing(request), 'Connection', 'close'],
      setHost: false,
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Every connection of `#http` is one: `#read` makes them. */
function gateOf(client: Duplex): RequestSerializer {
  return client as RequestSerializer;
}

function unreachable({ host, port }: Target, error: unknown): Refused {
  if (error instanceof Refused) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new Refused(502, `${host}:${port} is allowed and could not be reached: ${why}.`, null);
}

/**
 * The reason phrase is this server's own: a stranger's may hold what no header may.
 * @throws {Error} for an answer that cannot be passed on
 */
function writeHead(response: ServerResponse, incoming: IncomingMessage): void {
  const status = incoming.statusCode ?? 0;
  if (status < 200 || status > 599) throw new Error(`it answered with the status ${status}`);
  response.writeHead(status, forwardedHeaders(incoming));
}

/** Headers as they were written, without those of the connection. */
function forwardedHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && (OF_THE_MESSAGE.has(lower) || !named.has(lower)))
      kept.push(name, rawHeaders[index + 1] ?? '');
  }
  return kept;
}

/** A body without its length stays one in chunks: what follows it must not be read as a second request. */
function framing({ headers }: IncomingMessage): string[] {
  return headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
}
