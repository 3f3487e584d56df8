import { expect, it } from 'vitest';
import { compare } from './deliveries.ts';

it('counts what each client missed, heard twice, or heard too late', () => {
  const wanted = [11, 12, 13, 14];
  expect(
    compare(wanted, [
      [11, 12, 13, 14, 15],
      [11, 12, 13, 14],
    ]),
  ).toEqual({
    events: 4,
    missed: 0,
    doubled: 0,
    disordered: 0,
  });
  expect(compare(wanted, [[11, 12, 12, 14], [12, 11, 13, 14], []])).toEqual({
    events: 4,
    missed: 5,
    doubled: 1,
    disordered: 1,
  });
});
