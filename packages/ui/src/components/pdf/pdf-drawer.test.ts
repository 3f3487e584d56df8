import { expect, it } from 'vitest';
import { boundedScale } from './pdf-drawer.ts';

it('draws large pages and far zooms coarser, so that no page has more than 4,000 pixels a side', () => {
  const a4 = { width: 595, height: 842 };
  expect(boundedScale(a4, 2)).toBe(2);
  expect(842 * boundedScale(a4, 50)).toBeCloseTo(4_000);
  expect(boundedScale({ width: 100_000, height: 10 }, 1)).toBe(0.04);
});
