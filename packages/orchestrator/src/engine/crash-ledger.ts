/**
 * Remembers which activities were under way when a process died without a word, so that a run that brings the server down
 * again and again is not taken up for ever. Counted are deaths of the process alone: not a stop, and not a fall of the
 * machine. Where several runs were under way, none of them is blamed: they are held back at the next start and taken up one
 * after the other (`crash-probation.ts`), and a death counts against the one that was taken up last.
 */
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { EventStore, IntegrityFault, StoredActivity } from '../event-store/event-store.ts';
import { takeBlockedBy } from './event-loop-watch.ts';

/** Deaths during one activity after which its run is a suspect; it is set aside once so many were during this run alone. */
const MOST_DEATHS = 3;

const suspicion = z.object({
  runId: z.string(),
  /** Deaths while it was under way. */
  deaths: z.number(),
  /** Those of them in which no other run can be to blame. */
  alone: z.number(),
});
/** By key of the activity; that of a run whose taking up is suspected is the run's id. */
type Suspicions = Map<string, z.infer<typeof suspicion>>;

const ledger = z.object({
  /** The machine's current life; a process that ended with its machine did not die of its work. */
  boot: z.string(),
  /** The store's count of its openings, by which the attempts of this process are known. */
  epoch: z.number(),
  /** How far it came: a start that fails before any work is taken up, or a process that was told to stop, is no death. */
  phase: z.enum(['starting', 'takingUp', 'up', 'stopping']),
  suspicions: z.record(z.string(), suspicion),
  /** Runs that are held back, the one on probation among them. */
  held: z.array(z.string()),
  /** The run that was taken up last of those that were held back. */
  probation: z.object({ runId: z.string(), isTakenUp: z.boolean() }).nullable(),
});
type Ledger = z.infer<typeof ledger>;

export interface CrashLedger {
  /** Runs that are not to be taken up again by themselves. */
  readonly faults: readonly IntegrityFault[];
  /** Runs that are held back, those that died alone least often first. */
  readonly held: readonly string[];
  /** Deaths that count against runs which are held back now: the more, the longer the server is watched without them. */
  readonly accusations: number;
  /** Whether a run is not to be taken up with the others. */
  isHeld(runId: string): boolean;
  /** What is open is taken up from now on. */
  takingUp(): void;
  /** To be called when a run begins to be taken up. @returns to be called when it is */
  takesUp(runId: string): () => void;
  /** All but those held back are taken up, and the faulty runs are set aside: what was counted for them is forgotten. */
  up(): void;
  /** A run that was held back is about to be taken up, or is. A death is its own from now on. */
  onProbation(runId: string, isTakenUp: boolean): void;
  /** Activities of a run have ended, or gone on for long enough: nothing is counted for it. */
  cleared(runId: string): void;
  /** The server has lived for long enough: nothing is counted for runs that were taken up at its start. */
  survived(): void;
  /** The process begins to stop: what is under way from now on is not to blame for its end. */
  stopping(): void;
}

/** Counts the death of the last process, if it was one, and opens the ledger of this one. */
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
  const faults = open
    .filter(({ key }) => key === blocked?.key)
    .map((activity) => blockedBy(activity, blocked?.where ?? ''));
  for (const [key, { runId, deaths, alone }] of suspicions)
    if (alone >= MOST_DEATHS)
      faults.push(
        faultOf(
          runId,
          open.find((activity) => activity.key === key),
          deaths,
          alone,
        ),
      );
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
    // A process that dies while it writes leaves the file as it was; on a full disk nothing new is counted.
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
  // A start that fails before the faulty runs are set aside leaves their count to the next one.
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
    takesUp: (runId) => {
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

/** What is counted of activities that are open yet, and of runs whose taking up is suspected. */
function stillOpen({ suspicions, phase, held }: Ledger, open: readonly StoredActivity[]): Suspicions {
  const keys = new Set(open.map(({ key }) => key));
  // A process that came up has taken up all runs that it did not hold back.
  const isOver = (key: string, runId: string): boolean =>
    key === runId ? phase === 'up' && !held.includes(runId) : !keys.has(key);
  return new Map(Object.entries(suspicions).filter(([key, { runId }]) => !isOver(key, runId)));
}

/** Runs by the keys of what the last process had begun when it died. */
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
    // The server died although none of these runs was under way, so none of them caused it.
    for (const [key, { runId }] of suspicions) if (last.held.includes(runId)) suspicions.delete(key);
  }
  const isTheirs = onProbation !== undefined && heldUnderWay.length === 1 && heldUnderWay[0] === onProbation;
  for (const [key, runId] of begun) {
    if (isTheirs && runId !== onProbation) continue;
    const { deaths, alone } = suspicions.get(key) ?? { deaths: 0, alone: 0 };
    suspicions.set(key, { runId, deaths: deaths + 1, alone: alone + (isTheirs || runs.size === 1 ? 1 : 0) });
  }
}

/** What faulty runs have done explains the deaths that others saw, but for those in which these were the only ones to blame. */
function explainDeaths(suspicions: Suspicions, faulty: ReadonlySet<string>): void {
  for (const [key, { runId, alone }] of suspicions) {
    if (alone === 0 || faulty.has(runId)) suspicions.delete(key);
    else suspicions.set(key, { runId, deaths: alone, alone });
  }
}

/** Runs whose taking up had begun and not ended, by the notes of a process that died at it. */
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

function faultOf(runId: string, activity: StoredActivity | undefined, deaths: number, alone: number): IntegrityFault {
  const what =
    activity === undefined
      ? `Run ${runId} was being taken up`
      : `The activity '${activity.activity}' of run ${runId} was under way`;
  const when = `each of the last ${deaths} times that the server died without a word`;
  return faultBy(runId, `${what} ${when}${alone < deaths ? `, ${alone} times with no other run to blame` : ''}`);
}

function faultBy(runId: string, what: string): IntegrityFault {
  const message = `${what}; the run is set aside so that the others go on. Look at what it reads and does, then retry or cancel it.`;
  return { runId, sequence: 0, message };
}

function tolerating(work: () => void): void {
  try {
    work();
  } catch {
    // The server does its work without a ledger.
  }
}

function readLedger(file: string): Ledger | null {
  try {
    return ledger.parse(JSON.parse(readText(file)));
  } catch {
    // The first start, or a file of an older version: nothing is counted.
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

/** Where the system does not tell, every life of it is taken for the same. */
function bootOf(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
