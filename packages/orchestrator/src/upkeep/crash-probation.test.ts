/**
 * Servers that crash because of their runs, or at given times. Checks which runs are
 * quarantined, and after how many crashes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import type { StoredActivity } from '../event-store/event-store.ts';
import { openCrashLedger } from '../engine/crashes/crash-ledger.ts';
import { CrashProbation } from './crash-probation.ts';
import { ManualClock } from '../engine/engine.fixture.ts';

interface Run {
  readonly id: string;
  /** Milliseconds that its activity needs without interruption. */
  readonly takesMs: number;
  /** Milliseconds after which its activity crashes the server; `null` for a healthy one. */
  readonly killsAfterMs: number | null;
}

interface Story {
  readonly runs: readonly Run[];
  /** Milliseconds that each process lasts unless a run ends it. The process after the last entry keeps running. */
  readonly livesMs: readonly number[];
}

const STEP_MS = 500;
const LONGEST_LIFE_MS = 600_000;

/** @returns the quarantined runs with the number of crashes until then, and the runs that have ended */
async function play({ runs, livesMs }: Story) {
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'autonomous-probation-'));
  onTestFinished(() => rm(dataFolder, { recursive: true, force: true }));
  let open: StoredActivity[] = runs.map(({ id }) => anActivity(id));
  const quarantined = new Map<string, number>();
  const ended = new Set<string>();
  for (let life = 0; ; life += 1) {
    const epoch = life + 1;
    const clock = new ManualClock();
    const ledger = await openCrashLedger(dataFolder, { epoch, openActivities: async () => open });
    for (const { runId } of ledger.faults) quarantined.set(runId, life);
    const begunAt = new Map<string, number>();
    let now = 0;
    const recoverRun = async (runId: string): Promise<void> => {
      if (!quarantined.has(runId) && !ended.has(runId)) {
        begunAt.set(runId, now);
        open = open.map((activity) => (activity.runId === runId ? { ...activity, epoch } : activity));
      }
    };
    const openKeys = async (runId: string) => ({
      activities: open.flatMap((activity) => (activity.runId === runId ? [activity.key] : [])),
      timers: [],
    });
    ledger.takingUp();
    for (const { id } of runs) if (!ledger.isHeld(id)) await recoverRun(id);
    ledger.up();
    const probation = new CrashProbation({
      ledger,
      store: { openKeys },
      clock,
      log: pino({ level: 'silent' }),
      recoverRun,
    });
    probation.start();
    let hasDied = false;
    for (; now < (livesMs[life] ?? LONGEST_LIFE_MS) && !hasDied; now += STEP_MS) {
      for (const { id, takesMs, killsAfterMs } of runs) {
        const age = begunAt.has(id) && !ended.has(id) ? now - (begunAt.get(id) ?? 0) : -1;
        if (killsAfterMs !== null && age >= killsAfterMs) hasDied = true;
        if (killsAfterMs === null && age >= takesMs) {
          ended.add(id);
          open = open.filter(({ runId }) => runId !== id);
        }
      }
      clock.advance(STEP_MS);
      await setImmediate();
    }
    probation.stop();
    if (!hasDied && livesMs[life] === undefined) return { quarantined, ended, deaths: life };
    if (life > 200) throw new Error('it dies for ever');
  }
}

function anActivity(runId: string): StoredActivity {
  const startedAt = '2026-01-01T00:00:00.000Z';
  return {
    key: `${runId}/1/work`,
    runId,
    activity: 'work',
    src: 'work',
    input: null,
    startedAt,
    attempt: 1,
    failures: 0,
    notBefore: null,
    heartbeat: null,
    epoch: 0,
  };
}

const healthy = (count: number, takesMs = 120_000): readonly Run[] =>
  Array.from({ length: count }, (_, index) => ({ id: `healthy-${index}`, takesMs, killsAfterMs: null }));
const killer = (id: string, killsAfterMs: number): Run => ({ id, takesMs: Infinity, killsAfterMs });

/** Numbers that look random and are the same each time. */
function* random(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

it.each([
  ['of a few seconds', 6_000],
  ['of half a minute', 30_000],
  ['of a minute', 60_000],
])(
  'six healthy runs end and are never quarantined when the server is killed forty times after lives %s',
  async (_what, longestMs) => {
    for (let seed = 1; seed <= 4; seed += 1) {
      const chance = random(seed);
      const livesMs = Array.from({ length: 40 }, () => 100 + Number(chance.next().value) * longestMs);
      const { quarantined, ended } = await play({ runs: healthy(6), livesMs });
      expect([...quarantined.keys()]).toEqual([]);
      expect(ended.size).toBe(6);
    }
  },
  60_000,
);

it('a single run that crashes its server is quarantined after three crashes', async () => {
  const { quarantined, deaths } = await play({ runs: [killer('k', 500)], livesMs: [] });
  expect({ quarantined: [...quarantined], deaths }).toEqual({ quarantined: [['k', 3]], deaths: 3 });
});

it.each([500, 5_000, 40_000])(
  'one of seven runs that crashes the server after %d ms is found, and the others end',
  async (ms) => {
    const runs = [...healthy(3), killer('k', ms), ...healthy(6).slice(3)];
    const { quarantined, ended } = await play({ runs, livesMs: [] });
    expect([...quarantined.keys()]).toEqual(['k']);
    expect(quarantined.get('k')).toBeLessThanOrEqual(6);
    expect(ended.size).toBe(6);
  },
);

it('two runs that crash the server are both found', async () => {
  const { quarantined, ended } = await play({
    runs: [...healthy(2), killer('k', 500), killer('l', 2_000)],
    livesMs: [],
  });
  expect([...quarantined.keys()].sort()).toEqual(['k', 'l']);
  expect(Math.max(...quarantined.values())).toBeLessThanOrEqual(10);
  expect(ended.size).toBe(2);
});

it('a run that crashes the server is found although the server is killed as well', async () => {
  for (let seed = 1; seed <= 4; seed += 1) {
    const chance = random(seed);
    const livesMs = Array.from({ length: 8 }, () => 100 + Number(chance.next().value) * 20_000);
    const { quarantined, ended } = await play({ runs: [...healthy(4), killer('k', 1_000)], livesMs });
    expect([...quarantined.keys()]).toEqual(['k']);
    expect(quarantined.get('k')).toBeLessThanOrEqual(8 + 6);
    expect(ended.size).toBe(4);
  }
});
