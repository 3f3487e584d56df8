/**
 * A rebuild from the record of many runs. One run is played on a server, with agents and checks in sandboxes and a scripted model.
 * The others are its copies, with ids, hashes and commits of their own, recorded by the product's own writer. Then `autonomous rebuild`
 * fills a new data folder from a plain clone, in a process of its own, and what it made is compared with what was there.
 *
 * The clone is made as over a network: every object is sent. With `--parts clone` it ends there.
 *
 * Options: --runs N --parts clone,rebuild
 */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FINAL_STATUSES } from '@autonomous/shared';
import { createClient } from '@autonomous/shared/client';
import { type DemoPlace, makePlace, removePlace } from '../demo/place.ts';
import type { EventStore } from '../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { decide, DEMO_REQUEST, DEMO_SCRIPT } from '../test/fixtures/demo-server.fixture.ts';
import { startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import type { BenchResult } from './bench.ts';
import { readPartsAndNumbers } from './contest/options.ts';
import { describeProbe, probeMachine } from './contest/processes.ts';
import { rounded } from './contest/statistics.ts';
import { copyRuns } from './rebuild/copied-runs.ts';

export const name = 'rebuild';
export const description = 'a database filled from the record of 1,000 runs in git';

const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const LOOK_MS = 200;
const PAGE = 200;

const execute = promisify(execFile);

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { parts, numbers } = readPartsAndNumbers(args, ['clone', 'rebuild'], { runs: 1_000 });
  const { runs } = numbers;
  const place = await makePlace(null, null);
  try {
    const probe = probeMachine(place.folder);
    await playOne(place);
    const before = openSqliteEventStore({ file: path.join(place.data, 'orchestrator.db') });
    try {
      const recordS = await timed(() => copyRuns({ dataFolder: place.data, store: before, copies: runs - 1 }));
      const clone = path.join(place.folder, 'clone');
      const cloneS = await timed(() => execute('git', ['clone', '--quiet', '--no-local', place.remote, clone]));
      if (!parts.has('rebuild'))
        return {
          table: { columns: ['runs', 'recorded s', 'cloned s'], rows: [[runs, rounded(recordS), rounded(cloneS)]] },
          notes: [describeProbe([probe])],
          figures: { runs, recordS: rounded(recordS), cloneS: rounded(cloneS) },
        };
      await rm(path.join(place.data, 'mirrors'), { recursive: true });
      const again = path.join(place.folder, 'again');
      let said = '';
      const rebuildS = await timed(async () => {
        said = await rebuild(clone, again);
      });
      const events = await compared(before, path.join(again, 'orchestrator.db'), runs);
      return {
        table: {
          columns: ['runs', 'events', 'recorded s', 'cloned s', 'rebuilt s'],
          rows: [[runs, events, rounded(recordS), rounded(cloneS), rounded(rebuildS)]],
        },
        notes: [said, describeProbe([probe])],
        figures: {
          runs,
          events,
          recordS: rounded(recordS),
          cloneS: rounded(cloneS),
          rebuildS: rounded(rebuildS),
          rebuild1000S: runs === 1_000 ? rounded(rebuildS) : null,
        },
      };
    } finally {
      await before.close();
    }
  } finally {
    await removePlace(place, false);
  }
}

/** One run as a person leads it, to its end. */
async function playOne(place: DemoPlace): Promise<void> {
  const { PATH = '', HOME = '' } = process.env;
  const server = await startServerProcess({
    dataFolder: place.data,
    port: '0',
    env: { PATH, HOME, AUTONOMOUS_SCRIPT: DEMO_SCRIPT, LOG_LEVEL: 'warn' },
  });
  try {
    const client = createClient({ baseUrl: server.url, token: server.token });
    const { id: projectId } = await client.createProject({ name: 'notes', repository: place.remote });
    const { id } = await client.launchRun({ projectId, request: DEMO_REQUEST });
    for (let view = await client.getRun(id); view.status !== 'completed'; view = await client.getRun(id)) {
      if (FINAL_STATUSES.has(view.status) || view.status === 'paused')
        throw new Error(`A run is ${view.status}: ${view.gate?.summary ?? 'without a reason'}`);
      if (view.gate) await decide(client, view.gate);
      else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    await server.end('SIGTERM');
  }
}

/** @returns the last line that it printed */
async function rebuild(clone: string, data: string): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const { stdout } = await execute(process.execPath, [PROGRAM, 'rebuild', '--from', clone, '--data', data], {
    env: { PATH, HOME, AUTONOMOUS_SCRIPT: DEMO_SCRIPT, LOG_LEVEL: 'warn' },
    maxBuffer: 2 ** 26,
  });
  return (
    stdout
      .trim()
      .split('\n')
      .find((line) => line.includes(' runs: ')) ?? stdout.trim()
  );
}

/**
 * Compares the ends of all hash chains.
 * @returns events of all runs before the rebuild
 */
async function compared(before: EventStore, database: string, runs: number): Promise<number> {
  const after = openSqliteEventStore({ file: database });
  try {
    let events = 0;
    let count = 0;
    let cursor: string | undefined;
    do {
      const page = await before.listRuns({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      for (const { id } of page.items) {
        const tip = await before.tipOf(id);
        if (tip === null || (await after.tipOf(id, tip.sequence))?.hash !== tip.hash)
          throw new Error(`Run ${id} is not what it was.`);
        events += tip.sequence;
        count += 1;
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    if (count !== runs) throw new Error(`${count} runs were there, not ${runs}.`);
    return events;
  } finally {
    await after.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1_000;
}
