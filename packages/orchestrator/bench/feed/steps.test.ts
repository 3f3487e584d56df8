import { describe, expect, it } from 'vitest';
import { matchSteps, type Step } from './steps.ts';

const step = (runId: string, step: number, at: number): Step => ({ runId, step, at });

describe('steps and what a screen shows of them', () => {
  it('are matched by run and name, each with its time', () => {
    const made = [step('a', 0, 100), step('b', 7, 105), step('a', 1, 200)];
    const painted = [step('a', 0, 130), step('b', 7, 131), step('a', 1, 260)];
    expect(matchSteps(made, painted, 1_000)).toEqual({ latenciesMs: [30, 60, 26], unseen: 0 });
  });

  it('count from when each was made where a screen shows only the later of two', () => {
    const made = [step('a', 0, 100), step('a', 1, 200), step('a', 2, 210)];
    expect(matchSteps(made, [step('a', 0, 110), step('a', 2, 230)], 1_000)).toEqual({
      latenciesMs: [10, 30, 20],
      unseen: 0,
    });
  });

  it('come round again', () => {
    const made = [step('a', 0, 100), step('a', 1, 200), step('a', 0, 300), step('a', 1, 400)];
    const painted = [step('a', 1, 205), step('a', 0, 310), step('a', 1, 415)];
    expect(matchSteps(made, painted, 1_000).latenciesMs).toEqual([5, 10, 15]);
  });

  it('are missing where there was time to show them, and not where a run is on no screen', () => {
    const made = [step('a', 0, 100), step('a', 1, 200), step('a', 2, 900), step('b', 0, 100)];
    expect(matchSteps(made, [step('a', 0, 110)], 500)).toEqual({ latenciesMs: [10], unseen: 1 });
  });
});
