/**
 * Remembers which activities were under way when a process died without a word, so that one that brings the server down again
 * and again is not taken up for ever. Counted are deaths of the process alone: not a stop, and not a fall of the machine.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { EventStore, IntegrityFault, StoredActivity } from '../event-store/event-store.ts';
import { takeBlockedBy } from './event-loop-watch.ts';

/** Deaths during one activity after which its run is set aside. */
const MOST_DEATHS = 3;

const ledger = z.object({
  /** The machine's current life; a process that ended with its machine did not die of its work. */
  boot: z.string(),
  /** The store's count of its openings, by which the attempts of this process are known. */
  epoch: z.number(),
  /** How far it came: a start that fails before any work is taken up, or a process that was told to stop, is no death. */
  phase: z.enum(['starting', 'takingUp', 'up', 'stopping']),
  /** Deaths by key of the activity. */
  deaths: z.record(z.string(), z.number()),
});
type Ledger = z.infer<typeof ledger>;
type Phase = Ledger['phase'];

export interface CrashLedger {
  /** Runs that are not to be taken up again by themselves. */
  readonly faults: readonly IntegrityFault[];
  /** What is open is taken up from now on: a death may be any one's. */
  takingUp(): void;
  /** All is taken up, and the faulty runs are set aside: their count begins anew. */
  up(): void;
  /** The process begins to stop: what is under way from now on is not to blame for its end. */
  stopping(): void;
}

/** Counts the death of the last process, if it was one, and opens the ledger of this one. */
export async function openCrashLedger(
  dataFolder: string,
  store: Pick<EventStore, 'openActivities' | 'epoch'>,
): Promise<CrashLedger> {
  const file = path.join(dataFolder, 'under-way.json');
  const boot = bootOf();
  const last = readLedger(file);
  const counts = last !== null && last.boot === boot && last.phase !== 'stopping' ? last : null;
  const blocked = takeBlockedBy(dataFolder);
  const deaths: Record<string, number> = {};
  const faults: IntegrityFault[] = [];
  for (const activity of counts === null ? [] : await store.openActivities()) {
    const { key } = activity;
    if (blocked?.key === key) {
      faults.push(faultOf(activity, `blocked the server until it was ended, in ${blocked.where}`));
      continue;
    }
    const count = (counts?.deaths[key] ?? 0) + (blocked === null && wasUnderWay(activity, counts) ? 1 : 0);
    if (count > 0) deaths[key] = count;
    if (count >= MOST_DEATHS)
      faults.push(
        faultOf(activity, `was under way each of the last ${count} times that the server died without a word`),
      );
  }
  const write = (phase: Phase, known: Ledger['deaths']): void =>
    writeFileSync(file, JSON.stringify({ boot, epoch: store.epoch, phase, deaths: known } satisfies Ledger), {
      mode: 0o600,
    });
  // A start that fails before the faulty runs are set aside leaves their count to the next one.
  write('starting', deaths);
  return {
    faults,
    takingUp: () => write('takingUp', deaths),
    up: () => write('up', Object.fromEntries(Object.entries(deaths).filter(([, count]) => count < MOST_DEATHS))),
    stopping: () => write('stopping', {}),
  };
}

/** Whether the process of this ledger had begun the activity, or died while it took up all that was open. */
function wasUnderWay({ epoch, notBefore }: StoredActivity, last: Ledger | null): boolean {
  if (last === null || notBefore !== null) return false;
  return last.phase === 'takingUp' || (last.phase === 'up' && epoch === last.epoch);
}

function faultOf({ runId, activity }: StoredActivity, what: string): IntegrityFault {
  const message = `The activity '${activity}' of run ${runId} ${what}; the run is set aside so that the others go on. Look at what it reads and does, then retry or cancel it.`;
  return { runId, sequence: 0, message };
}

function readLedger(file: string): Ledger | null {
  try {
    return ledger.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // The first start, or a file that was cut off: nothing is counted.
    return null;
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
