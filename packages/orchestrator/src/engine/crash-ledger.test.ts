/** Whom the ledger blames for deaths of the server, told by processes that say how far they came and no more. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { StoredActivity } from '../event-store/event-store.ts';
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

/** One more process, which ends without a word unless it is told to stop. */
async function aProcess(): Promise<CrashLedger> {
  epoch += 1;
  return openCrashLedger(dataFolder, { epoch, openActivities: async () => open });
}

/** A process that serves, and begins these activities. */
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

it('an activity that each of three dead processes had begun is to blame, and one that was merely open is not', async () => {
  begins('waits/1/work');
  for (let death = 1; death <= 3; death += 1) expect(runsOf(await lives('dies/1/work'))).toEqual([]);
  const ledger = await aProcess();
  expect(runsOf(ledger)).toEqual(['dies']);
  expect(ledger.faults[0]?.message).toContain('each of the last 3 times that the server died without a word');
});

it('a start that fails before work is taken up, as on an occupied port, is no death and forgets none', async () => {
  await lives('a/1/work');
  for (let start = 1; start <= 5; start += 1) expect(runsOf(await aProcess())).toEqual([]);
  await lives('a/1/work');
  await lives('a/1/work');
  expect(runsOf(await aProcess())).toEqual(['a']);
});

it('a death while the open work is taken up may be due to any of it', async () => {
  begins('a/1/work');
  for (let death = 1; death <= 3; death += 1) {
    const ledger = await aProcess();
    expect(runsOf(ledger)).toEqual([]);
    ledger.takingUp();
  }
  expect(runsOf(await aProcess())).toEqual(['a']);
});

it('what is to blame stays so until its run is set aside, and then begins anew', async () => {
  for (let death = 1; death <= 3; death += 1) await lives('a/1/work');
  expect(runsOf(await aProcess())).toEqual(['a']);
  expect(runsOf(await lives())).toEqual(['a']);
  // Its run is set aside now; its activity is open and nobody carries it out.
  expect(runsOf(await lives('b/1/work'))).toEqual([]);
  // A person has it go on.
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
