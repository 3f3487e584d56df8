/** A few hundred schedules: the same each time, and others that nobody has seen. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { traceSchedule } from './chunk.ts';
import { addFaults, FAULTS, noFaults } from './faults.ts';
import { INVARIANTS } from './invariants.ts';
import { type Simulation, simulate } from './simulate.ts';

const FIXED_SEED = 1;

describe('the simulated engine', () => {
  let fixed: Simulation;
  let fresh: Simulation;
  const seed = 1 + Math.floor(Math.random() * 2 ** 30);

  beforeAll(async () => {
    fixed = await simulate({ schedules: 500, seed: FIXED_SEED });
    fresh = await simulate({ schedules: 100, seed });
  });

  it('keeps every invariant in the schedules that are always the same', () => {
    expect(described(fixed)).toEqual([]);
    expect(fixed.schedules).toBe(500);
    expect(fixed.crashes).toBeGreaterThan(400);
  });

  it('keeps every invariant in schedules that nobody has seen', () => {
    expect(described(fresh)).toEqual([]);
    expect(fresh.schedules).toBe(100);
  });

  it.each(FAULTS)('has met: %s', (fault) => {
    const counts = noFaults();
    addFaults(counts, fixed.faults);
    addFaults(counts, fresh.faults);
    expect(counts[fault]).toBeGreaterThan(0);
  });

  it('gives the same schedule for the same seed', async () => {
    for (const again of [FIXED_SEED, seed]) {
      const [one, other] = [await traceSchedule(again), await traceSchedule(again)];
      expect(one.trace.length).toBeGreaterThan(10);
      expect(other).toEqual(one);
    }
  });

  it('says nothing but what happens in the words of its command', () => {
    const { status, stdout } = simulateByCommand('--schedules', '2', '--seed', '7');
    expect(status).toBe(0);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^2 schedules, \d+ events, \d+ crashes, \d+ faults \(.*crash in recovery \d+.*\), 0 violations, [\d.]+ seconds$/,
    );
  });

  it('shows how a schedule that failed is repeated, with all that happened', () => {
    const { status, stdout } = simulateByCommand('--schedules', '50', '--seed', '1', '--bug', 'places-unlimited');
    expect(status).toBe(1);
    expect(stdout).toContain(INVARIANTS.places);
    const [, again = ''] =
      /npm run simulate -- (--schedules 1 --seed \d+ --trace --bug places-unlimited)/.exec(stdout) ?? [];
    const traced = simulateByCommand(...again.split(' '));
    expect(traced.status).toBe(1);
    expect(traced.stdout).toMatch(/VIOLATION places: .* work at the same time/);
  });

  it('answers 64 for what it does not understand', () => {
    expect(simulateByCommand('--schedules', 'many').status).toBe(64);
    expect(simulateByCommand('--bug', 'no-such-bug').stderr).toContain("There is no bug 'no-such-bug'.");
  });
});

function described({ violations }: Simulation): string[] {
  return violations.map(({ seed, violation }) => `seed ${seed}: ${violation?.invariant}: ${violation?.message}`);
}

function simulateByCommand(...args: string[]) {
  return spawnSync(process.execPath, [path.join(import.meta.dirname, 'main.ts'), ...args], { encoding: 'utf8' });
}
