/** The runs that the ledger blames for crashes of the server. Processes are simulated: each reports only how far it came. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { StoredActivity } from '../../event-store/event-store.ts';
import { type CrashLedger, openCrashLedger } from './crash-ledger.ts';

let dataFolder: string;
let open: StoredActivity[];
let epoch: number;

beforeEach(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'autonomous-ledger-'));
  onTestFinished(() => rm(dataFolder, { recursive: true, force: true }));
  open = [];
  epoch = 0;
});

/** Opens the ledger of one more process. The process counts as crashed unless the test calls `stopping`. */
async function aProcess(): Promise<CrashLedger> {
  epoch += 1;
  return openCrashLedger(dataFolder, { epoch, openActivities: async () => open });
}

/** A process that is up and begins these activities. */
async function lives(...begun: readonly string[]): Promise<CrashLedger> {
  const ledger = await aProcess();
  ledger.takingUp();
  ledger.up();
  for (const key of begun) begins(key);
  return ledger;
}

function begins(key: string, notBefore: string | null = null): void {
  const [runId = ''] = key.split('/');
  const before = open.find((activity) => activity.key === key);
  const begun: StoredActivity = {
    key,
    runId,
    activity: 'work',
    src: 'work',
    input: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    attempt: (before?.attempt ?? 0) + 1,
    failures: 0,
    notBefore,
    heartbeat: null,
    epoch,
  };
  open = [...open.filter((activity) => activity.key !== key), begun];
}

const runsOf = ({ faults }: CrashLedger): readonly string[] => faults.map(({ runId }) => runId);

it('the ledger blames an activity that three crashed processes had begun, and not one that was merely open', async () => {
  begins('waits/1/work');
  for (let death = 1; death <= 3; death += 1) expect(runsOf(await lives('dies/1/work'))).toEqual([]);
  const ledger = await aProcess();
  expect(runsOf(ledger)).toEqual(['dies']);
  expect(ledger.faults[0]?.message).toContain('at each of the last 3 crashes of the server');
});

it('a start that fails before any recovery, as on an occupied port, is not a crash and keeps earlier counts', async () => {
  await lives('a/1/work');
  for (let start = 1; start <= 5; start += 1) expect(runsOf(await aProcess())).toEqual([]);
  await lives('a/1/work');
  await lives('a/1/work');
  expect(runsOf(await aProcess())).toEqual(['a']);
});

it('the ledger blames a run that crashes the server during its recovery, and not runs whose recovery had ended', async () => {
  begins('dies/1/work');
  begins('waits/1/work');
  for (let death = 1; death <= 3; death += 1) {
    const ledger = await aProcess();
    expect(runsOf(ledger)).toEqual([]);
    ledger.takingUp();
    const done = ledger.beginRecovery('waits');
    ledger.beginRecovery('dies');
    done();
  }
  expect(runsOf(await aProcess())).toEqual(['dies']);
});

it('the ledger holds back runs that were under way together, and quarantines none of them', async () => {
  for (let death = 1; death <= 2; death += 1)
    expect((await lives('a/1/work', 'b/1/work', 'c/1/work')).held).toEqual([]);
  await lives('a/1/work', 'b/1/work');
  const ledger = await aProcess();
  expect(runsOf(ledger)).toEqual([]);
  expect([...ledger.held].sort()).toEqual(['a', 'b', 'c']);
  expect(ledger.isHeld('a')).toBe(true);
});

/** A process that holds runs back and recovers one of them, while these other activities are under way. */
async function onProbation(runId: string, ...others: readonly string[]): Promise<CrashLedger> {
  const ledger = await lives(...others);
  ledger.onProbation(runId, false);
  ledger.onProbation(runId, true);
  begins(`${runId}/1/work`);
  return ledger;
}

it('the ledger counts a crash against the run that was recovered last, and clears the others once that run is quarantined', async () => {
  for (let death = 1; death <= 3; death += 1) await lives('a/1/work', 'b/1/work');
  for (let death = 1; death <= 3; death += 1) expect(runsOf(await onProbation('a', 'c/1/work'))).toEqual([]);
  const found = await lives();
  expect(runsOf(found)).toEqual(['a']);
  expect(found.held).toEqual([]);
  expect(found.faults[0]?.message).toContain('3 times as the only run');
  // A person has both runs retried.
  expect(runsOf(await lives('a/1/work', 'b/1/work'))).toEqual([]);
  expect((await lives('a/1/work', 'b/1/work')).held).toEqual([]);
});

it('a crash while no held-back run is under way clears all of them', async () => {
  for (let death = 1; death <= 3; death += 1) await lives('a/1/work', 'b/1/work');
  expect((await lives('c/1/work')).held).toHaveLength(2);
  const ledger = await aProcess();
  expect(ledger.held).toEqual([]);
  expect(runsOf(ledger)).toEqual([]);
});

it('the ledger neither holds back nor counts a run that was cleared', async () => {
  for (let death = 1; death <= 3; death += 1) await lives('a/1/work', 'b/1/work');
  const ledger = await onProbation('a');
  ledger.cleared('a');
  ledger.onProbation('b', true);
  begins('b/1/work');
  const next = await aProcess();
  expect(next.held).toEqual(['b']);
});

it('the ledger forgets all counts once the server has run for long enough', async () => {
  await lives('a/1/work');
  await lives('a/1/work');
  (await lives('a/1/work')).survived();
  await lives('a/1/work');
  expect(runsOf(await aProcess())).toEqual([]);
});

it('an activity that waits for its first attempt was not under way', async () => {
  for (let death = 1; death <= 3; death += 1) {
    await lives();
    begins('a/1/work');
    open = open.map((activity) => ({ ...activity, attempt: 0 }));
  }
  expect(runsOf(await aProcess())).toEqual([]);
});

it('the ledger blames an activity until its run is quarantined, and then counts from zero', async () => {
  for (let death = 1; death <= 3; death += 1) await lives('a/1/work');
  expect(runsOf(await aProcess())).toEqual(['a']);
  expect(runsOf(await lives())).toEqual(['a']);
  // Its run is quarantined now: the activity is open and not running.
  expect(runsOf(await lives('b/1/work'))).toEqual([]);
  // A person retries the run.
  expect(runsOf(await lives('a/1/work'))).toEqual([]);
  expect(runsOf(await aProcess())).toEqual([]);
});

it('a stop and a wait for the next attempt count nothing', async () => {
  await lives('a/1/work');
  await lives('a/1/work');
  const ledger = await lives('a/1/work');
  ledger.stopping();
  expect(runsOf(await lives())).toEqual([]);
  for (let death = 1; death <= 4; death += 1) {
    expect(runsOf(await lives())).toEqual([]);
    begins('a/1/work', '2026-01-01T00:00:00.000Z');
  }
  expect(runsOf(await aProcess())).toEqual([]);
});
