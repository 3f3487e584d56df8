/**
 * Long histories and many runs, through the engine's public interface, each step in a process of its own.
 *
 * open100kMs: a fresh process opens a run of 100,000 events and 1 MB of state: from before the store is opened until view
 * and state are there; median of the openings · append100kP99Ms: signals to that run, one after the other · ready10kS:
 * 10,000 runs waited for their approval when the process was killed, and one of them is damaged on the disk since; from
 * the start of a new process until its engine takes approvals · poisonedParked: that one is quarantined and all others
 * wait · list50Ms: the newest 50 of them · approved100Ms: 100 of them, approved at once, are completed.
 *
 * Options: --events N --runs N --openings N
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import type { BenchResult } from './bench.ts';
import { runChild } from './contest/child.ts';
import { readNumbers } from './contest/options.ts';
import { describeProbe, probeMachine } from './contest/processes.ts';
import { median, percentile, rounded } from './contest/statistics.ts';
import { damage, MARKER } from './scale/damage.ts';
import type { ScaleReport, Task } from './scale/scale-process.ts';

export const name = 'scale';
export const description =
  'opening a run of 100,000 events, and a restart with 10,000 waiting runs, one of them damaged';

const PROGRAM = path.join(import.meta.dirname, 'scale', 'scale-process.ts');
const STATE_BYTES = 2 ** 20;
const APPENDS = 500;
const SILENCE_S = 120;

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { events, runs, openings } = readNumbers(args, { events: 100_000, runs: 10_000, openings: 5 });
  const folder = mkdtempSync(path.join(tmpdir(), 'scale-'));
  try {
    const before = probeMachine(folder);
    const long = await measureLongRun(path.join(folder, 'long.db'), events, openings);
    const many = await measureManyRuns(path.join(folder, 'many.db'), runs);
    const after = probeMachine(folder);
    const rows = Object.entries({ ...long, ...many }).map(([figure, value]) => [figure, rounded(value)] as const);
    return {
      table: { columns: ['figure', 'value'], rows },
      notes: [describeProbe([before, after])],
      figures: Object.fromEntries(rows),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureLongRun(file: string, events: number, openings: number): Promise<Record<string, number>> {
  say(`a run of ${events} events`);
  const talk = await carryOut({ task: 'talk', file, events, stateBytes: STATE_BYTES });
  const talked = talk.find((report) => report.report === 'talked');
  const replayed = (talked?.events ?? 0) - lastStoredState(file);
  say('opening it');
  const opened: number[] = [];
  const appended: number[] = [];
  for (let opening = 0; opening < openings; opening++) {
    for (const report of await carryOut({ task: 'open', file, appends: APPENDS })) {
      if (report.report === 'opened') opened.push(report.ms);
      if (report.report === 'appended') appended.push(...report.latenciesMs);
    }
  }
  return {
    events: talked?.events ?? 0,
    stateKb: (talked?.stateBytes ?? 0) / 1_024,
    open100kMs: median(opened) ?? Number.NaN,
    slowestOpen100kMs: Math.max(...opened),
    replayed100k: replayed,
    append100kP50Ms: percentile(appended, 50) ?? Number.NaN,
    append100kP99Ms: percentile(appended, 99) ?? Number.NaN,
  };
}

/** @returns the sequence of the event after which the state of the file's only run was stored */
function lastStoredState(file: string): number {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], number>('SELECT max(sequence) FROM snapshots').pluck().get() ?? 0;
  } finally {
    database.close();
  }
}

async function measureManyRuns(file: string, runs: number): Promise<Record<string, number>> {
  say(`${runs} runs that wait`);
  await carryOut({ task: 'wait', file, runs });
  if (damage(file, MARKER) === 0) throw new Error('The run that is to be damaged is not in the file.');
  say('taking them up again');
  const startedAt = performance.now();
  let readyMs = Number.NaN;
  const reports = await carryOut({ task: 'resume', file, runs }, ({ report }) => {
    if (report === 'ready') readyMs = performance.now() - startedAt;
  });
  const resumed = reports.find((report) => report.report === 'resumed');
  if (!resumed) throw new Error('The process that took the runs up again did not say how.');
  return {
    ready10kS: readyMs / 1_000,
    poisonedParked: resumed.damagedIsParked && resumed.waiting === runs - 1 ? 1 : 0,
    list50Ms: resumed.listMs,
    rss10kMb: resumed.rssMb,
    approved100Ms: resumed.approved100Ms,
  };
}

/** One that makes runs wait is killed as soon as they do. */
async function carryOut(task: Task, onReport?: (report: ScaleReport) => void): Promise<readonly ScaleReport[]> {
  const reports: ScaleReport[] = [];
  const failure = await runChild<ScaleReport>(PROGRAM, task, {
    silenceS: SILENCE_S,
    onMessage: (report, kill) => {
      reports.push(report);
      onReport?.(report);
      if (report.report === 'waiting') kill();
    },
  });
  if (failure !== undefined) throw new Error(`The process for '${task.task}' failed: ${failure}`);
  return reports;
}

function say(what: string): void {
  console.error(`[scale] ${what}`);
}
