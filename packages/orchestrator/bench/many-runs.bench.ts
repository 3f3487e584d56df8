/**
 * Ten runs at once on one server: real git, agents and checks in real sandboxes, a scripted model. The server is a process of
 * its own, whose memory and event loop are watched from the first request until the last run has ended.
 *
 * A run takes no place in the base branch, so that the ten do not wait for each other: each ends with its branch pushed.
 *
 * Options: --runs N
 */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { FINAL_STATUSES } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { makePlace, removePlace } from '../demo/place.ts';
import { decide, DEMO_REQUEST, DEMO_SCRIPT } from '../test/fixtures/demo-server.fixture.ts';
import { startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import type { BenchResult } from './bench.ts';
import { readNumbers } from './contest/options.ts';
import { describeProbe, probeMachine } from './contest/processes.ts';
import { median, rounded } from './contest/statistics.ts';
import type { LoopWatch } from './many-runs/loop-watch.ts';

export const name = 'many-runs';
export const description = 'ten runs at once with agents in sandboxes: memory and event loop of the server';

const WATCH = path.join(import.meta.dirname, 'many-runs', 'loop-watch.ts');
/** A run that has come no further for so long stands still. */
const STALLED_MS = 60_000;
const LOOK_MS = 200;

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { runs } = readNumbers(args, { runs: 10 });
  const place = await makePlace(null, null);
  try {
    const probe = probeMachine(place.folder);
    await mkdir(place.data, { recursive: true });
    const watchFile = path.join(place.folder, 'watch.json');
    const { PATH = '', HOME = '' } = process.env;
    const server = await startServerProcess({
      dataFolder: place.data,
      port: '0',
      imports: [WATCH],
      env: {
        PATH,
        HOME,
        LOOP_WATCH: watchFile,
        AUTONOMOUS_SCRIPT: DEMO_SCRIPT,
        MAX_CONCURRENT_RUNS_PER_USER: String(runs),
        LOG_LEVEL: 'warn',
      },
    });
    let seconds: readonly number[];
    const from = performance.now();
    try {
      const client = createClient({ baseUrl: server.url, token: server.token });
      const project = await client.createProject({ name: 'notes', repository: place.remote });
      server.signal('SIGUSR2');
      seconds = await Promise.all(Array.from({ length: runs }, () => play(client, project.id)));
    } finally {
      await server.end('SIGTERM');
    }
    const allS = (performance.now() - from) / 1_000;
    const { p50Ms, p99Ms, maxMs, rssMb } = JSON.parse(await readFile(watchFile, 'utf8')) as LoopWatch; // written by WATCH
    const medianS = rounded(median(seconds) ?? Number.NaN);
    return {
      table: {
        columns: ['runs', 'all s', 'a run s (p50)', 'loop delay p50 ms', 'p99 ms', 'longest ms', 'server MB at most'],
        rows: [[runs, rounded(allS), medianS, rounded(p50Ms), rounded(p99Ms), rounded(maxMs), Math.round(rssMb)]],
      },
      notes: [describeProbe([probe])],
      figures: {
        runs,
        allS: rounded(allS),
        runP50S: medianS,
        loopDelayP99Ms: rounded(p99Ms),
        loopDelayMaxMs: rounded(maxMs),
        serverRssMb: Math.round(rssMb),
      },
    };
  } finally {
    await removePlace(place, false);
  }
}

/** One run as a person leads it. @returns seconds that it took */
async function play(client: Client, projectId: string): Promise<number> {
  const from = performance.now();
  const { id } = await client.launchRun({ projectId, request: DEMO_REQUEST, config: { git: { autoMerge: false } } });
  let sequence = 0;
  let movedAt = from;
  while (true) {
    const view = await client.getRun(id);
    if (view.status === 'completed') return (performance.now() - from) / 1_000;
    if (FINAL_STATUSES.has(view.status) || view.status === 'paused')
      throw new Error(`A run is ${view.status}: ${view.gate?.summary ?? 'without a reason'}`);
    if (view.gate) await decide(client, view.gate);
    if (view.lastSequence > sequence) movedAt = performance.now();
    else if (performance.now() - movedAt > STALLED_MS)
      throw new Error(`A run has come no further than ${view.currentStage ?? view.status} for ${STALLED_MS / 1_000} s`);
    sequence = view.lastSequence;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
