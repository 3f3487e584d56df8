/** Schedules one after the other in this thread. */
import { addFaults, noFaults } from './faults.ts';
import type { Plants } from './plants.ts';
import { runSchedule, type ScheduleResult } from './schedule.ts';
import type { ChunkOrder, ChunkResult } from './simulate.ts';
import { openStore } from './store.ts';

/** One store for all of them, made anew after a violation, of which it may still hold runs. */
export async function runChunk({ seed, schedules, mostViolations }: ChunkOrder, plants?: Plants): Promise<ChunkResult> {
  const faults = noFaults();
  const violations: ScheduleResult[] = [];
  let crashes = 0;
  let events = 0;
  let done = 0;
  let store = openStore();
  try {
    for (let index = 0; index < schedules && violations.length < mostViolations; index += 1) {
      const result = await runSchedule(seed + index, { store, ...(plants ? { plants } : {}) });
      done += 1;
      crashes += result.crashes;
      events += result.events;
      addFaults(faults, result.counts);
      if (result.violation === null) continue;
      violations.push(result);
      await store.close();
      store = openStore();
    }
  } finally {
    await store.close();
  }
  return { schedules: done, crashes, events, faults, violations };
}

/** One schedule with everything that happened in it. */
export async function traceSchedule(seed: number, plants?: Plants): Promise<ScheduleResult> {
  const store = openStore();
  try {
    return await runSchedule(seed, { store, traces: true, ...(plants ? { plants } : {}) });
  } finally {
    await store.close();
  }
}
