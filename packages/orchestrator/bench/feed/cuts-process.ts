/**
 * Clients of a working server whose connections are cut again and again without a word, wherever they are: in
 * the handshake, in a replay, live. Then it is counted what each of them heard. `cuts-process.ts TASK`
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient, type WebSocketConstructor } from '@autonomous/shared/client';
import { WebSocket } from 'ws';
import { endWithParent, report } from '../contest/child.ts';
import { compare } from './deliveries.ts';
import { launchPulses } from './pulses.ts';
import type { CutsReport, CutsTask } from './tasks.ts';

/** A connection lives at most so long: some are cut before they stand, others after they have gone live. */
const LIFE_MS = 80;
const BACKOFF = { minMs: 5, maxMs: 50 };
const REPORT_EVERY = 50;
const PAGE = 500;

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
const direct = clientOver((url) => new WebSocket(url));
const from = await endOf(direct);
const ids = await launchPulses(direct, { kind: 'works', count: task.runs, everyMs: task.everyMs, lines: 0 });
let cuts = 0;
const listeners = await Promise.all(Array.from({ length: task.clients }, () => listen()));
await Promise.all(ids.map((id) => direct.cancelRun(id)));
const until = await endOf(direct);
const deliveries = await Promise.all(listeners.map((listener) => listener.heardUntil(until)));
await report({ report: 'compared', cuts, ...compare(await positionsOf(ids), deliveries) } satisfies CutsReport);
process.exit();

/** Resolves when its share of cuts is done; it goes on listening, uncut. */
async function listen() {
  /** Of the connection that is there. */
  let socket: CuttableSocket | undefined;
  const positions: number[] = [];
  let look = (): void => {};
  const end = new AbortController();
  const over = clientOver((url) => (socket = new CuttableSocket(url))).followFeed({
    after: from,
    signal: end.signal,
    onEvent({ position }) {
      positions.push(position);
      look();
    },
  });
  const share = Math.ceil(task.cuts / task.clients);
  for (let done = 0; done < share;) {
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

function clientOver(connect: (url: string) => WebSocket): Client {
  const { url, token } = task;
  // A constructor may give another object than its own. The types of its events are wider than a browser's.
  const socket = function connectTo(address: string) {
    return connect(address);
  } as unknown as WebSocketConstructor;
  return createClient({ baseUrl: url, token, backoff: BACKOFF, WebSocket: socket });
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

/** What the log has of the runs, by HTTP: nothing of the feed is taken for granted. */
async function positionsOf(runIds: readonly string[]): Promise<readonly number[]> {
  const positions: number[] = [];
  for (const id of runIds) {
    for (let after = 0; ;) {
      const events = await direct.listEvents(id, after, PAGE);
      positions.push(...events.map(({ position }) => position));
      const last = events.at(-1);
      if (last === undefined || events.length < PAGE) break;
      after = last.sequence;
    }
  }
  return positions.toSorted((one, other) => one - other);
}
