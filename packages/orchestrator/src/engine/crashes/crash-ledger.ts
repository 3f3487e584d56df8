/**
 * Remembers which work was under way when the server process crashed, so that a run that crashes the server again and
 * again is quarantined instead of being recovered at each start. Only crashes of the process count. Stops of the
 * server and failures of the machine do not. When several runs were under way, the ledger blames none of them: it
 * holds them back at the next start. They are recovered one after the other (`crash-probation.ts`), and a crash then
 * counts against the run that was recovered last.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { EventStore, IntegrityFault, StoredActivity } from '../../event-store/event-store.ts';
import { takeBlockedBy } from './event-loop-watch.ts';

/**
 * Crashes during one activity that make its run a suspect. It is quarantined after the
 * same number that no other run can have caused.
 */
const MOST_DEATHS = 3;

const suspicion = z.object({
  runId: z.string(),
  /** Crashes while the activity or recovery was under way. */
  deaths: z.number(),
  /** The part of `deaths` that no other run can have caused. */
  alone: z.number(),
});
/** By key of the activity, or by run id where the recovery of the run itself is suspected. */
type Suspicions = Map<string, z.infer<typeof suspicion>>;

const ledger = z.object({
  /** Boot id of the machine. A process that ended with its machine did not crash. */
  boot: z.string(),
  /** The store's count of its openings, which marks the attempts of this process. */
  epoch: z.number(),
  /**
   * Progress of the process. Its end is a crash only in `takingUp` and `up`: before, it
   * had no work; later, it was stopping.
   */
  phase: z.enum(['starting', 'takingUp', 'up', 'stopping']),
  suspicions: z.record(z.string(), suspicion),
  /** Runs that are held back, including the one on probation. */
  held: z.array(z.string()),
  /** The run that was recovered last of those that were held back. `isTakenUp` is false until its recovery has ended. */
  probation: z.object({ runId: z.string(), isTakenUp: z.boolean() }).nullable(),
});
type Ledger = z.infer<typeof ledger>;

export interface CrashLedger {
  /** Runs to quarantine instead of recovering them. */
  readonly faults: readonly IntegrityFault[];
  /** Runs that are held back, sorted by the number of crashes that no other run can have caused, fewest first. */
  readonly held: readonly string[];
  /**
   * Crashes counted against runs that are held back now. The more there are, the longer the server is watched without them.
   */
  readonly accusations: number;
  /** Whether a run is held back at the start. */
  isHeld(runId: string): boolean;
  /** To be called before the first run is recovered. */
  takingUp(): void;
  /** To be called when the recovery of a run begins. @returns to be called when it ends */
  beginRecovery(runId: string): () => void;
  /**
   * To be called when all runs but those held back are recovered and the faulty runs are quarantined.
   * Forgets what was counted for the faulty runs.
   */
  up(): void;
  /** To be called before and after the recovery of a run that was held back. Crashes count against this run from then on. */
  onProbation(runId: string, isTakenUp: boolean): void;
  /**
   * To be called when the activities of a run have ended, or have run for long enough.
   * Forgets what was counted for the run.
   */
  cleared(runId: string): void;
  /**
   * To be called when the server has run for long enough. Forgets what was counted for
   * runs that were recovered at its start.
   */
  survived(): void;
  /** To be called when the process begins to stop. Work that is under way later is not blamed for its end. */
  stopping(): void;
}

/** Counts the end of the last process if it was a crash, and opens the ledger of this one. */
export async function openCrashLedger(
  dataFolder: string,
  store: Pick<EventStore, 'openActivities' | 'epoch'>,
): Promise<CrashLedger> {
  const file = path.join(dataFolder, 'under-way.json');
  const taken = path.join(dataFolder, 'taking-up.log');
  const boot = bootOf();
  const last = readLedger(file);
  const blocked = takeBlockedBy(dataFolder);
  const counts = last !== null && last.boot === boot && last.phase !== 'stopping' ? last : null;
  const open = counts === null ? [] : await store.openActivities();
  const suspicions: Suspicions = counts === null ? new Map() : stillOpen(counts, open);
  if (counts !== null && blocked === null) countDeath(suspicions, counts, underWay(counts, open, taken));
  const faults = [
    ...open.filter(({ key }) => key === blocked?.key).map((activity) => blockedBy(activity, blocked?.where ?? '')),
    ...crashFaults(suspicions, open),
  ];
  const isDoubtful = faults.length === 0 && [...suspicions.values()].some(({ deaths }) => deaths >= MOST_DEATHS);
  const held = new Set(
    isDoubtful ? [...suspicions.values()].toSorted((a, b) => a.alone - b.alone).map(({ runId }) => runId) : [],
  );
  const accusations = [...suspicions.values()].reduce((most, { alone }) => most + alone, 0);
  let phase: Ledger['phase'] = 'starting';
  let probation: Ledger['probation'] = null;
  let journal: number | null = null;
  const write = (): void => {
    const content: Ledger = {
      boot,
      epoch: store.epoch,
      phase,
      suspicions: Object.fromEntries(suspicions),
      held: [...held],
      probation,
    };
    // A crash during the write leaves the old file intact. On a full disk nothing new is counted.
    tolerating(() => {
      writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    });
  };
  const note = (line: string): void => {
    const into = journal;
    if (into !== null) tolerating(() => writeSync(into, `${line}\n`));
  };
  const closeJournal = (): void => {
    const opened = journal;
    journal = null;
    if (opened !== null) tolerating(() => closeSync(opened));
  };
  const forget = (isMeant: (runId: string) => boolean): void => {
    for (const [key, { runId }] of suspicions) if (isMeant(runId)) suspicions.delete(key);
    write();
  };
  // When a start fails before the faulty runs are quarantined, the next start still finds their counts.
  write();
  return {
    faults,
    held: [...held],
    accusations,
    isHeld: (runId) => held.has(runId),
    takingUp: () => {
      tolerating(() => {
        journal = openSync(taken, 'w', 0o600);
      });
      phase = 'takingUp';
      write();
    },
    beginRecovery: (runId) => {
      note(`+${runId}`);
      return () => note(`-${runId}`);
    },
    up: () => {
      closeJournal();
      phase = 'up';
      if (faults.length > 0) explainDeaths(suspicions, new Set(faults.map(({ runId }) => runId)));
      write();
      tolerating(() => rmSync(taken, { force: true }));
    },
    onProbation: (runId, isTakenUp) => {
      probation = { runId, isTakenUp };
      write();
    },
    cleared: (runId) => {
      held.delete(runId);
      if (probation?.runId === runId) probation = null;
      forget((each) => each === runId);
    },
    survived: () => forget((runId) => !held.has(runId)),
    stopping: () => {
      closeJournal();
      suspicions.clear();
      phase = 'stopping';
      write();
    },
  };
}

/** Keeps the counts of activities that are still open, and of recoveries that are still suspected. */
function stillOpen({ suspicions, phase, held }: Ledger, open: readonly StoredActivity[]): Suspicions {
  const keys = new Set(open.map(({ key }) => key));
  // A process in phase `up` has recovered all runs that it did not hold back.
  const isOver = (key: string, runId: string): boolean =>
    key === runId ? phase === 'up' && !held.includes(runId) : !keys.has(key);
  return new Map(Object.entries(suspicions).filter(([key, { runId }]) => !isOver(key, runId)));
}

/** Work that was under way when the last process crashed: run ids by activity key, or by run id for a recovery. */
function underWay(last: Ledger, open: readonly StoredActivity[], taken: string): ReadonlyMap<string, string> {
  if (last.phase === 'starting') return new Map();
  const begun = open.filter(
    ({ epoch, attempt, notBefore }) => epoch === last.epoch && attempt > 0 && notBefore === null,
  );
  const { probation } = last;
  const runs = [
    ...(last.phase === 'takingUp' ? runsBeingTakenUp(taken) : []),
    ...(probation?.isTakenUp === false ? [probation.runId] : []),
  ];
  return new Map([
    ...begun.map(({ key, runId }) => [key, runId] as const),
    ...runs.map((runId) => [runId, runId] as const),
  ]);
}

function countDeath(suspicions: Suspicions, last: Ledger, begun: ReadonlyMap<string, string>): void {
  if (last.phase === 'starting') return;
  const runs = new Set(begun.values());
  const heldUnderWay = last.held.filter((runId) => runs.has(runId));
  const onProbation = last.probation?.runId;
  if (last.held.length > 0 && heldUnderWay.length === 0) {
    // The server crashed while none of these runs was under way, so none of them caused the crash.
    for (const [key, { runId }] of suspicions) if (last.held.includes(runId)) suspicions.delete(key);
  }
  const isTheirs = onProbation !== undefined && heldUnderWay.length === 1 && heldUnderWay[0] === onProbation;
  for (const [key, runId] of begun) {
    if (isTheirs && runId !== onProbation) continue;
    const { deaths, alone } = suspicions.get(key) ?? { deaths: 0, alone: 0 };
    suspicions.set(key, { runId, deaths: deaths + 1, alone: alone + (isTheirs || runs.size === 1 ? 1 : 0) });
  }
}

/** Removes crashes that the faulty runs explain. Other runs keep only those that no other run can have caused. */
function explainDeaths(suspicions: Suspicions, faulty: ReadonlySet<string>): void {
  for (const [key, { runId, alone }] of suspicions) {
    if (alone === 0 || faulty.has(runId)) suspicions.delete(key);
    else suspicions.set(key, { runId, deaths: alone, alone });
  }
}

/** Runs whose recovery had begun and not ended when the last process crashed, from its journal. */
function runsBeingTakenUp(file: string): readonly string[] {
  const depths = new Map<string, number>();
  for (const line of readText(file).split('\n')) {
    const runId = line.slice(1);
    if (line !== '') depths.set(runId, (depths.get(runId) ?? 0) + (line.startsWith('+') ? 1 : -1));
  }
  return [...depths].filter(([, depth]) => depth > 0).map(([runId]) => runId);
}

function blockedBy({ runId, activity }: StoredActivity, where: string): IntegrityFault {
  return faultBy(
    runId,
    `The activity '${activity}' of run ${runId} blocked the server until it was ended, in ${where}`,
  );
}

/** Faults of the runs that crashed the server too often. */
function crashFaults(suspicions: Suspicions, open: readonly StoredActivity[]): readonly IntegrityFault[] {
  return [...suspicions]
    .filter(([, { alone }]) => alone >= MOST_DEATHS)
    .map(([key, { runId, deaths, alone }]) => {
      const activity = open.find((each) => each.key === key);
      return faultOf(runId, activity, deaths, alone);
    });
}

function faultOf(runId: string, activity: StoredActivity | undefined, deaths: number, alone: number): IntegrityFault {
  const what =
    activity === undefined
      ? `Run ${runId} was being recovered`
      : `The activity '${activity.activity}' of run ${runId} was under way`;
  const when = `at each of the last ${deaths} crashes of the server`;
  return faultBy(runId, `${what} ${when}${alone < deaths ? `, ${alone} times as the only run` : ''}`);
}

function faultBy(runId: string, what: string): IntegrityFault {
  const message = `${what}; the run is quarantined so that other runs continue. Check what it reads and does, then retry or cancel it.`;
  return { runId, sequence: 0, message };
}

function tolerating(work: () => void): void {
  try {
    work();
  } catch {
    // The server works without a ledger.
  }
}

function readLedger(file: string): Ledger | null {
  try {
    return ledger.parse(JSON.parse(readText(file)));
  } catch {
    // The first start, or a file that cannot be read: nothing is counted.
    return null;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Boot id of the machine. Where the system gives none, all its boots count as the same. */
function bootOf(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
