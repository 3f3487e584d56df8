import { describe, expect, it } from 'vitest';
import { axisUnit, measureText } from './formatters.ts';

const HOUR_MS = 3_600_000;

describe('A figure', () => {
  it.each([
    ['count', 1234, '1,234'],
    ['percent', 10 / 12, '83 %'],
    ['percent', 0, '0 %'],
    ['duration', 25.5 * HOUR_MS, '1 d 1 h'],
    ['dollars', 3, '$3.00'],
    ['dollars', 0.0042, '$0.0042'],
  ] as const)('that is a %s is said as a person says it: %d', (measure, value, text) => {
    expect(measureText(measure, value)).toBe(text);
  });
});

describe('The axis of a plot', () => {
  it.each([
    [90 * HOUR_MS, 3, '3 d'],
    [47 * HOUR_MS, 20, '20 h'],
    [0.5 * HOUR_MS, 10, '10 min'],
    [90_000, 30, '30 s'],
    [0, 1, '1 s'],
  ])('counts times of up to %d ms in round steps', (most, step, text) => {
    expect(axisUnit('duration', most).text(step)).toBe(text);
  });

  it('has no half runs, and shows no errors of binary fractions', () => {
    expect([0.5, 2, 1_500_000].map(axisUnit('count', 1).text)).toEqual(['', '2', '1.5M']);
    expect(axisUnit('dollars', 1).text(0.1 + 0.2)).toBe('$0.30');
    expect(axisUnit('duration', 3 * HOUR_MS).text(0.1 + 0.2)).toBe('0.3 h');
    expect([0, 12].map(axisUnit('dollars', 20).text)).toEqual(['$0', '$12']);
  });
});
