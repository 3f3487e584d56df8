/** Figures as a person reads them: in a sentence or a table, and short beside the axis of a plot. */
import { dollars } from '@autonomous/shared';
import { durationText } from '@autonomous/shared/presentation';

export type Measure = 'count' | 'percent' | 'duration' | 'dollars';

/** @param value a duration is in milliseconds, a percentage a part of 1 */
export function measureText(measure: Measure, value: number): string {
  switch (measure) {
    case 'count':
      return value.toLocaleString();
    case 'percent':
      return `${Math.round(value * 100)} %`;
    case 'duration':
      return durationText(value);
    case 'dollars':
      return dollars(value);
    default:
      return measure satisfies never;
  }
}

/** Unit of an axis, chosen so that its steps are round numbers. */
export interface AxisUnit {
  /** So many of the value's own units make one of the axis's. */
  readonly size: number;
  /** Of a step, in units of the axis. */
  readonly text: (step: number) => string;
}

/** `950`, `12K`, `1.5M` */
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact' });
const MINUTE_MS = 60_000;
const TIMES: readonly (readonly [name: string, ms: number])[] = [
  ['d', 24 * 60 * MINUTE_MS],
  ['h', 60 * MINUTE_MS],
  ['min', MINUTE_MS],
  ['s', 1_000],
];

/** @param most the largest value that is drawn */
export function axisUnit(measure: Measure, most: number): AxisUnit {
  switch (measure) {
    case 'count':
      return { size: 1, text: (step) => (Number.isInteger(step) ? SHORT.format(step) : '') };
    case 'percent':
      return { size: 0.01, text: (step) => `${step} %` };
    case 'duration': {
      // Two steps at least.
      const [name, ms] = TIMES.find(([, size]) => most >= 2 * size) ?? ['s', 1_000];
      return { size: ms, text: (step) => `${trimmed(step)} ${name}` };
    }
    case 'dollars':
      return { size: 1, text: (step) => (step === 0 || step >= 1 ? `$${trimmed(step)}` : dollars(step)) };
    default:
      return measure satisfies never;
  }
}

/** Steps of a tenth are sums of binary fractions. */
function trimmed(step: number): string {
  return Number(step.toPrecision(6)).toLocaleString();
}
