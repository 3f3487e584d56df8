import { describe, expect, it } from 'vitest';
import { lateStepMs, median, percentile, ratio, rounded } from './statistics.ts';

describe('the median', () => {
  it('is the middle of the sorted values, or the mean of the two in the middle', () => {
    expect(median([30, 1, 20])).toBe(20);
    expect(median([40, 1, 30, 20])).toBe(25);
  });

  it('of nothing is null', () => {
    expect(median([])).toBeNull();
  });
});

describe('a percentile', () => {
  it('is the smallest value that so many percent do not exceed', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(percentile(values, 50)).toBe(100);
    expect(percentile(values, 99)).toBe(198);
    expect(percentile(values, 100)).toBe(200);
  });

  it('of few values is one of them, and of none null', () => {
    expect(percentile([7], 1)).toBe(7);
    expect(percentile([7, 9], 99)).toBe(9);
    expect(percentile([], 50)).toBeNull();
  });
});

describe('a ratio', () => {
  it('is null where one of both was not measured', () => {
    expect(ratio(10, 4)).toBe(2.5);
    expect(ratio(null, 4)).toBeNull();
    expect(ratio(10, null)).toBeNull();
    expect(ratio(10, 0)).toBeNull();
  });
});

describe('the cost of a late step', () => {
  it('is the mean of the second half, in which a rare expensive step counts', () => {
    // Ten steps: the first half takes 100 ms each, the second 1 ms, but for one of 6 ms.
    expect(lateStepMs([0, 100, 200, 300, 400, 500, 501, 502, 508, 509])).toBe(9 / 4);
  });

  it('is null for a run that is too short to have one', () => {
    expect(lateStepMs([])).toBeNull();
    expect(lateStepMs([5])).toBeNull();
  });
});

describe('what is shown', () => {
  it('has three digits, and no fraction from a hundred on', () => {
    expect([0.123_45, 9.876_5, 99.99, 1_234.5].map(rounded)).toEqual([0.123, 9.88, 100, 1_235]);
  });
});
