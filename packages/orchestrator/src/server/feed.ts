/**
 * The WebSocket feed: replays the log after a client's position, then goes on live without gap or double, with progress
 * beside it. A client that reads too slowly is cut off and comes back by its position.
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import {
  FEED_PROTOCOL,
  type FeedMessage,
  type FeedPage,
  type FeedPageRequest,
  type ForeseenConflict,
  type Progress,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import { z } from 'zod';

/** Where events come from. */
export interface FeedSource {
  /** Changes when the log is another one: clients then start afresh. */
  readonly feedId: string;
  lastPosition(): Promise<number>;
  /** Events up to here may be missing since their runs were archived; 0 when none is. */
  archivedPosition(): Promise<number>;
  /** Events after a position, oldest first; fewer than `limit` means the end was reached. */
  readAll(after: number, limit: number): Promise<readonly WorkflowEvent[]>;
  /** Conflicts of live runs as they are now; absent where nothing foresees any. */
  readonly foreseen?: ForeseenSource;
  /**
   * Hears of events after they are stored and can be read, of progress, and of changes of foreseen conflicts.
   * @returns ends the subscription
   */
  subscribe(listener: (message: LiveMessage) => void): () => void;
}

export interface ForeseenSource {
  /** Grows with each change. */
  readonly revision: number;
  /** Conflicts of a run. Default: of all runs. */
  conflicts(filter?: { readonly runId: string }): readonly ForeseenConflict[];
}

export type LiveMessage =
  | { readonly events: readonly WorkflowEvent[] }
  | { readonly progress: Progress }
  /** All conflicts of a run from now on. */
  | { readonly runId: string; readonly conflicts: readonly ForeseenConflict[] };

export interface FeedOptions {
  readonly source: FeedSource;
  readonly log: Pick<Logger, 'error'>;
  /** 30 seconds when absent. */
  readonly heartbeatMs?: number;
}

/** Largest message taken from a client, in bytes. */
export const MAX_CLIENT_MESSAGE_BYTES = 64 * 1024;
/** Most bytes that wait in memory for one client. Beyond this its connection is closed. */
export const MAX_BACKLOG_BYTES = 1024 * 1024;
/** Above this a replay waits for the client, and progress is left out. */
const COMFORTABLE_BACKLOG_BYTES = 256 * 1024;
const PAGE = 100;
/** Clients learn by it that the server was started anew, and its work with it. */
const PROCESS = randomUUID();
const HELLO_MS = 10_000;
const HEARTBEAT_MS = 30_000;
/** A client that does not answer the closing handshake is cut after this. */
const CLOSE_HANDSHAKE_MS = 3_000;

const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;
const CLOSE_INTERNAL = 1011;
const CLOSE_TRY_AGAIN = 1013;

/** All connected clients of one source. */
export class Feed {
  readonly #source: FeedSource;
  readonly #log: Pick<Logger, 'error'>;
  readonly #connections = new Set<Connection>();
  readonly #unsubscribe: () => void;
  readonly #heartbeat: NodeJS.Timeout;

  constructor({ source, log, heartbeatMs = HEARTBEAT_MS }: FeedOptions) {
    this.#source = source;
    this.#log = log;
    this.#unsubscribe = source.subscribe((message) => this.#broadcast(message));
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs);
  }

  /**
   * Serves a socket whose handshake the guard let through.
   * @param stream what the socket writes to
   */
  accept(socket: WebSocket, stream: Duplex): void {
    const connection = new Connection(socket, stream, this.#source, this.#log);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }

  /** Tells all clients to come back later. */
  close(): void {
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    for (const connection of this.#connections) connection.close(CLOSE_GOING_AWAY, 'the server is stopping');
  }

  #broadcast(message: LiveMessage): void {
    for (const connection of this.#connections) {
      if ('events' in message) connection.onEvents(message.events);
      else if ('progress' in message) connection.onProgress(message.progress);
      else connection.onConflicts(message.runId, message.conflicts);
    }
  }

  #beat(): void {
    for (const connection of this.#connections) connection.beat();
  }
}

const subscribeSchema = z.strictObject({
  type: z.literal('subscribe'),
  protocol: z.number().int(),
  feedId: z.string().max(200).optional(),
  after: z.union([z.number().int().min(0), z.literal('end')]),
  runIds: z.array(z.string().min(1).max(200)).max(1_000).optional(),
});

type Phase = 'greeting' | 'replaying' | 'live' | 'closed';

class Connection {
  readonly #socket: WebSocket;
  readonly #stream: Duplex;
  readonly #source: FeedSource;
  readonly #log: Pick<Logger, 'error'>;
  readonly #helloTimer: NodeJS.Timeout;
  #phase: Phase = 'greeting';
  /** Position up to which everything was sent or did not concern the client. */
  #position = 0;
  /** Events were stored while a page was read; the replay is not over. */
  #moreCame = false;
  #runIds: ReadonlySet<string> | null = null;
  #isWelcome = false;
  #answeredBeat = true;

  constructor(socket: WebSocket, stream: Duplex, source: FeedSource, log: Pick<Logger, 'error'>) {
    this.#socket = socket;
    this.#stream = stream;
    this.#source = source;
    this.#log = log;
    this.#helloTimer = setTimeout(() => this.#refuse('invalid_message', 'No subscribe message came.'), HELLO_MS);
    socket.on('message', (data, isBinary) => this.#onMessage(isBinary ? null : String(data)));
    socket.on('pong', () => {
      this.#answeredBeat = true;
    });
    socket.on('close', () => this.#end());
    // A close event follows; a message that is too large or a broken frame has been answered by the library.
    socket.on('error', () => this.#end());
  }

  onEvents(events: readonly WorkflowEvent[]): void {
    if (this.#phase === 'replaying') this.#moreCame = true;
    if (this.#phase !== 'live') return;
    // The messages of one step are sent in one write, which costs as much as a write per message.
    this.#stream.cork();
    this.#sendLive(events);
    this.#stream.uncork();
  }

  #sendLive(events: readonly WorkflowEvent[]): void {
    for (const event of events) {
      if (event.position <= this.#position) continue;
      if (event.position !== this.#position + 1) {
        // Not the next one: whatever lies between is in the log.
        this.#replay();
        return;
      }
      this.#position = event.position;
      if (!this.#isWanted(event.workflowRunId)) continue;
      if (this.#socket.bufferedAmount > MAX_BACKLOG_BYTES) {
        this.close(CLOSE_TRY_AGAIN, 'too slow; come back with your position');
        return;
      }
      this.#socket.send(encodeEvent(event), { binary: false });
    }
  }

  onProgress(progress: Progress): void {
    if (this.#phase !== 'live' || !this.#isWanted(progress.runId)) return;
    if (this.#socket.bufferedAmount < COMFORTABLE_BACKLOG_BYTES) this.#send({ type: 'progress', progress });
  }

  onConflicts(runId: string, conflicts: readonly ForeseenConflict[]): void {
    // Before the welcome nothing is lost: it is followed by the conflicts as they are then.
    if (!this.#isWelcome || this.#phase === 'closed' || !this.#isWanted(runId)) return;
    if (this.#socket.bufferedAmount > MAX_BACKLOG_BYTES) this.close(CLOSE_TRY_AGAIN, 'too slow; come back');
    else this.#send({ type: 'conflicts', runId, conflicts });
  }

  /** A client that did not answer the last beat is gone, whatever its connection says. */
  beat(): void {
    if (!this.#answeredBeat) {
      this.#socket.terminate();
      return;
    }
    this.#answeredBeat = false;
    this.#socket.ping();
    // Browsers see no pings; this tells them that the server is there, and how far they are.
    if (this.#phase === 'live' && this.#socket.bufferedAmount < COMFORTABLE_BACKLOG_BYTES) this.#sendCaughtUp();
  }

  close(code: number, reason: string): void {
    if (this.#phase === 'closed') return;
    this.#end();
    this.#socket.close(code, reason);
    const cut = setTimeout(() => this.#socket.terminate(), CLOSE_HANDSHAKE_MS);
    this.#socket.once('close', () => clearTimeout(cut));
  }

  #onMessage(text: string | null): void {
    if (this.#phase === 'closed') return;
    if (this.#phase !== 'greeting') return this.#refuse('invalid_message', 'Nothing is expected after subscribe.');
    const message = subscribeSchema.safeParse(parseJson(text));
    if (!message.success) return this.#refuse('invalid_message', 'The first message must be a subscribe message.');
    if (message.data.protocol !== FEED_PROTOCOL) {
      const detail = `This server speaks feed protocol ${FEED_PROTOCOL}, the client ${message.data.protocol}; update the older one.`;
      return this.#refuse('unsupported_protocol', detail);
    }
    clearTimeout(this.#helloTimer);
    this.#runIds = message.data.runIds ? new Set(message.data.runIds) : null;
    this.#phase = 'replaying';
    void this.#begin(message.data.after, message.data.feedId).catch((error: unknown) => this.#fail(error));
  }

  async #begin(from: number | 'end', feedId: string | undefined): Promise<void> {
    const { position, after, reset } = await beginning(this.#source, from, feedId);
    this.#position = after;
    const { feedId: own } = this.#source;
    this.#send({ type: 'welcome', protocol: FEED_PROTOCOL, feedId: own, position, reset, process: PROCESS });
    this.#isWelcome = true;
    await this.#sendForeseen();
    await this.#sendStored();
    this.#sendCaughtUp();
  }

  async #sendForeseen(): Promise<void> {
    const { foreseen } = this.#source;
    const runIds = new Set(foreseen?.conflicts().map(({ runId }) => runId));
    for (const runId of runIds) {
      if (this.#phase === 'closed') return;
      if (!this.#isWanted(runId)) continue;
      // Asked for at the last moment: another change may have been sent meanwhile.
      const conflicts = foreseen?.conflicts({ runId }) ?? [];
      const message: FeedMessage = { type: 'conflicts', runId, conflicts };
      await this.#sendWhenRead(Buffer.from(JSON.stringify(message)));
    }
  }

  #replay(): void {
    this.#phase = 'replaying';
    void this.#sendStored().catch((error: unknown) => this.#fail(error));
  }

  /** Sends the log page by page as fast as the client reads, until there is nothing that was not sent. */
  async #sendStored(): Promise<void> {
    while (this.#phase === 'replaying') {
      this.#moreCame = false;
      const page = await this.#source.readAll(this.#position, PAGE);
      for (const event of page) {
        if (this.#phase !== 'replaying') return;
        this.#position = event.position;
        if (this.#isWanted(event.workflowRunId)) await this.#sendWhenRead(encodeEvent(event));
      }
      // Nothing can come in between this test and the change of phase.
      if (page.length < PAGE && !this.#moreCame && this.#isReplaying()) this.#phase = 'live';
    }
  }

  #isReplaying(): boolean {
    return this.#phase === 'replaying';
  }

  async #sendWhenRead(data: Buffer): Promise<void> {
    if (this.#socket.bufferedAmount < COMFORTABLE_BACKLOG_BYTES) {
      this.#socket.send(data, { binary: false });
      return;
    }
    // Called when the socket has taken this and all before it, or is gone.
    await new Promise<void>((resolve) => this.#socket.send(data, { binary: false }, () => resolve()));
  }

  #sendCaughtUp(): void {
    if (this.#phase === 'live') this.#send({ type: 'caught_up', position: this.#position });
  }

  #send(message: FeedMessage): void {
    if (this.#phase !== 'closed') this.#socket.send(JSON.stringify(message));
  }

  #isWanted(runId: string): boolean {
    return this.#runIds === null || this.#runIds.has(runId);
  }

  #refuse(code: string, detail: string): void {
    this.#send({ type: 'error', code, detail });
    this.close(CLOSE_POLICY, code);
  }

  #fail(error: unknown): void {
    this.#log.error({ err: error }, 'the feed could not be read');
    this.#send({ type: 'error', code: 'unavailable', detail: 'The server cannot read its log now.' });
    this.close(CLOSE_INTERNAL, 'unavailable');
  }

  #end(): void {
    clearTimeout(this.#helloTimer);
    this.#phase = 'closed';
  }
}

/** Where a client goes on that asks for what comes `from` there on, and whether it has to start afresh for that. */
async function beginning(
  source: FeedSource,
  from: number | 'end',
  feedId: string | undefined,
): Promise<{ readonly position: number; readonly after: number; readonly reset: boolean }> {
  const [position, archived] = await Promise.all([source.lastPosition(), source.archivedPosition()]);
  const after = from === 'end' ? position : from;
  const isOther = feedId !== undefined && feedId !== source.feedId;
  // A client that was away for so long would miss the ends of archived runs.
  const reset = isOther || after > position || (after > 0 && after < archived);
  return { position, after: reset ? 0 : after, reset };
}

const HTTP_PAGE = 200;

/** One page of the feed for a client that no WebSocket reaches. */
export async function readFeedPage(source: FeedSource, { after: from, feedId }: FeedPageRequest): Promise<FeedPage> {
  const { position, after, reset } = await beginning(source, from, feedId);
  const events = await source.readAll(after, HTTP_PAGE);
  return {
    feedId: source.feedId,
    position,
    reset,
    events,
    hasMore: events.length === HTTP_PAGE,
    ...(source.foreseen === undefined ? {} : { conflictsRevision: `${PROCESS}.${source.foreseen.revision}` }),
  };
}

const encoded = new WeakMap<WorkflowEvent, Buffer>();

/** One buffer for all clients: a hundred slow ones then hold an event once, not a hundred times. */
function encodeEvent(event: WorkflowEvent): Buffer {
  let data = encoded.get(event);
  if (!data) {
    data = Buffer.from(JSON.stringify({ type: 'event', event } satisfies FeedMessage));
    encoded.set(event, data);
  }
  return data;
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
