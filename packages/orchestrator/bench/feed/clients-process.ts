/** The clients beside the screen that is measured, in a process of their own: `clients-process.ts TASK`. */
import { setInterval } from 'node:timers/promises';
import { isEvent, type WorkflowEvent } from '@autonomous/shared';
import { createClient, type WebSocketConstructor } from '@autonomous/shared/client';
import { WebSocket } from 'ws';
import { endWithParent, report } from '../contest/child.ts';
import { stepOf } from './stages.ts';
import type { Step } from './steps.ts';
import type { ClientsReport, ClientsTask } from './tasks.ts';

const REPORT_MS = 250;

let steps: Step[] = [];
let agesMs: number[] = [];
let messages = 0;

endWithParent();
const task = JSON.parse(process.argv[2] ?? '') as ClientsTask; // The bench wrote it.
const connect = task.isBare ? followBare : followFeed;
await Promise.all(Array.from({ length: task.clients }, (_, number) => connect(number === 0)));
await report({ report: 'connected' } satisfies ClientsReport);
for await (const _ of setInterval(REPORT_MS)) {
  const heard: ClientsReport = { report: 'heard', steps, agesMs, messages };
  steps = [];
  agesMs = [];
  messages = 0;
  await report(heard);
}

/** Resolves when it is live, and goes on. */
function followFeed(isFirst: boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const client = createClient({
    baseUrl: task.url,
    token: task.token,
    WebSocket: WebSocket as unknown as WebSocketConstructor, // Its types of events are wider than a browser's.
  });
  client
    .followFeed({
      after: 'end',
      signal: new AbortController().signal,
      onEvent(event) {
        messages += 1;
        const step = isFirst ? stepFrom(event) : null;
        if (step !== null) hear(step);
      },
      onProgress: () => void (messages += 1),
      onStatus: ({ state }) => state === 'live' && resolve(),
    })
    .catch(reject);
  return promise;
}

function stepFrom(event: WorkflowEvent): Step | null {
  if (!isEvent(event, 'STATE_CHANGED')) return null;
  const step = stepOf(event.payload.stage ?? '');
  return step === null ? null : { runId: event.workflowRunId, step, at: Date.parse(event.timestamp) };
}

function followBare(isFirst: boolean): Promise<void> {
  const socket = new WebSocket(task.url.replace(/^http/, 'ws'));
  socket.on('message', (data) => {
    messages += 1;
    const step = JSON.parse(String(data)) as Step; // Of bare-process.ts.
    if (isFirst) hear(step);
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve()).once('error', reject);
  });
}

function hear(step: Step): void {
  steps.push(step);
  agesMs.push(Date.now() - step.at);
}
