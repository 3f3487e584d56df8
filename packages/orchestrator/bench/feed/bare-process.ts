/**
 * Baselines for the product: a server that sends each step to each of its sockets with a page that records it, and a
 * page that fetches as much data as a list of runs has and shows what fits. No events, no store, no screens.
 * `bare-process.ts TASK`
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { endWithParent, report } from '../contest/child.ts';
import { ids } from '../contest/load.ts';
import { STEPS } from './stages.ts';
import type { Step } from './steps.ts';
import type { BareReport, BareTask } from './tasks.ts';

/** What a list of the server comes to: the runs of its newest page, and how large each is. */
const LISTED = 200;
const RUN_BYTES = 1_000;

endWithParent();
const task = JSON.parse(process.argv[2] ?? '') as BareTask; // The bench wrote it.
const runs = ids('run', task.runs);
const list = JSON.stringify(ids('run', LISTED).map((id) => ({ id, step: 0, more: '-'.repeat(RUN_BYTES) })));
const server = createServer(({ url }, response) => {
  const isData = url === '/list.json';
  response.writeHead(200, { 'content-type': isData ? 'application/json' : 'text/html; charset=utf-8' });
  response.end(isData ? list : url === '/list' ? listPage() : page());
});
const sockets = new WebSocketServer({ server });
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
await report({ report: 'listening', url: `http://127.0.0.1:${port}` } satisfies BareReport);
await Promise.all(runs.map(beat));

/** One run, as `pulse.ts` goes. */
async function beat(runId: string): Promise<void> {
  for (let step = 0; ; step = (step + 1) % STEPS) {
    await delay(task.everyMs * (0.5 + Math.random()));
    const data = JSON.stringify({ runId, step, at: Date.now() } satisfies Step);
    for (const socket of sockets.clients) socket.send(data);
  }
}

function listPage(): string {
  return `<!doctype html><meta charset="utf-8"><title>Bare</title><style>a { display: block; height: 64px }</style>
<script type="module">
const runs = await (await fetch('/list.json')).json();
document.body.innerHTML = runs.slice(0, 20).map(({ id, step }) => '<a class="run-row" href="/runs/' + id + '"><span class="facts"><span>Step ' + step + '</span></span></a>').join('');
</script>`;
}

/** The rows have the names by which those of the dashboard are found. */
function page(): string {
  const rows = runs.map(
    (id) => `<a class="run-row" href="/runs/${id}"><span class="facts"><span>Step 0</span></span></a>`,
  );
  return `<!doctype html><meta charset="utf-8"><title>Bare</title><style>a { display: block; height: 64px }</style>
${rows.join('\n')}
<script>
const rows = new Map([...document.querySelectorAll('a')].map((row) => [row.getAttribute('href').slice(6), row.querySelector('span span')]));
new WebSocket('ws://' + location.host).onmessage = ({ data }) => {
  const { runId, step } = JSON.parse(data);
  rows.get(runId).textContent = 'Step ' + step;
};
</script>`;
}
