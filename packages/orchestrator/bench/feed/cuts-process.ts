/**
 * Clients of a working server whose connections are cut again and again without a word, wherever they are: in
 * the handshake, in a replay, live. Then it is counted what each of them heard. `cuts-process.ts TASK`
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient, type WebSocketConstructor } from '@autonomous/shared';
import { WebSocket } from 'ws';
import { endWithParent, report } from '../contest/child.ts';
import { compare } from './deliveries.ts';
import { launchPulses } from './pulses.ts';
import type { CutsReport, CutsTask } from './tasks.ts';

/** A connection lives at most so long: some are cut before they stand, others after they have gone live. */
const LIFE_MS = 80;
const BACKOFF = { minMs: 5, maxMs: 50 };
const REPORT_EVERY = 50;

class CuttableSocket extends WebSocket {
  #isCut = false;

  /** @returns whether there was a connection to cut, or one that was being made */
  cut(): boolean {
    if (this.#isCut || this.readyState > WebSocket.OPEN) return false;
    this.#isCut = true;
    // What a connection says that is not made yet when it is ended.
    this.on('error', () => undefined);
    this.terminate();
    return true;
  }
}

endWithParent();
const task = JSON.parse(process.argv[2] ?? '') as CutsTask; // The bench wrote it.
const direct = clientWith(WebSocket);
const from = await endOf(direct);
const ids = await launchPulses(direct, { kind: 'works', count: task.runs, everyMs: task.everyMs, lines: 0 });
let cuts = 0;
const listeners = await Promise.all(Array.from({ length: task.clients }, () => listen()));
await Promise.all(ids.map((id) => direct.cancelRun(id)));
const until = await endOf(direct);
const deliveries = await Promise.all(listeners.map((listener) => listener.heardUntil(until)));
await report({ report: 'compared', cuts, ...compare(await positionsAfter(from, until), deliveries) } satisfies CutsReport);
process.exit();

/** Resolves when its share of cuts is done; it goes on listening, uncut. */
async function listen() {
  /** Of the connection that is there. */
  let socket: CuttableSocket | undefined;
  class Kept extends CuttableSocket {
    constructor(url: string) {
      super(url);
      socket = this;
    }
  }
  const positions: number[] = [];
  let look = (): void => {};
  const end = new AbortController();
  const over = clientWith(Kept).followFeed({
    after: from,
    signal: end.signal,
    onEvent({ position }) {
      positions.push(position);
      look();
    },
  });
  const share = Math.ceil(task.cuts / task.clients);
  for (let done = 0; done < share; ) {
    await Promise.race([delay(Math.random() * LIFE_MS), over]);
    if (socket === undefined || !socket.cut()) continue;
    socket = undefined;
    done += 1;
    cuts += 1;
    if (cuts % REPORT_EVERY === 0) await report({ report: 'cut', cuts } satisfies CutsReport);
  }
  return {
    async heardUntil(position: number): Promise<readonly number[]> {
      const heard = new Promise<void>((resolve) => {
        look = () => (positions.at(-1) ?? 0) >= position && resolve();
        look();
      });
      await Promise.race([heard, over]);
      end.abort();
      await over;
      return positions;
    },
  };
}

function clientWith(socket: new (url: string) => WebSocket): Client {
  const { url, token } = task;
  // The types of its events are wider than a browser's.
  return createClient({
    baseUrl: url,
    token,
    backoff: BACKOFF,
    WebSocket: socket as unknown as WebSocketConstructor,
  });
}

/** The position at which the feed is now. */
async function endOf(client: Client): Promise<number> {
  const stop = new AbortController();
  let position = 0;
  await client.followFeed({
    after: 'end',
    signal: stop.signal,
    onEvent: () => undefined,
    onStatus(status) {
      if (status.state !== 'live') return;
      ({ position } = status);
      stop.abort();
    },
  });
  return position;
}

/** What the log has, by a connection that nobody cuts. */
async function positionsAfter(after: number, until: number): Promise<readonly number[]> {
  const stop = new AbortController();
  const positions: number[] = [];
  await direct.followFeed({
    after,
    signal: stop.signal,
    onEvent({ position }) {
      positions.push(position);
      if (position >= until) stop.abort();
    },
  });
  return positions;
}
