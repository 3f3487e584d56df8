import { expect, it } from 'vitest';
import { withoutVolatile } from './normalize-output.ts';

it.each([
  ['# duration_ms 12.3', '# duration_ms <duration>'],
  ['{"time": 0.5}', '{"time": <duration>}'],
  ['elapsed = 7', 'elapsed = <duration>'],
  ['time\t12', 'time\t<duration>'],
])('%j differs each time', (text, without) => {
  expect(withoutVolatile(text)).toBe(without);
});

it.each([
  ['spaces', ' '],
  ['lines', '\n'],
  ['digits', '1'],
  ['hexadecimal digits', 'a'],
  ['words', 'time '],
  ['words with spaces', `time${' '.repeat(50)}`],
  ['times', '12:12:12.1'],
  ['durations', '1.1 '],
])('takes in proportion to a text of %s', (_what, piece) => {
  const textOf = (length: number) => `time${piece.repeat(length / piece.length)}x`;
  // The least of many, since other work only ever adds to it.
  const least = (text: string) => {
    const times = Array.from({ length: 9 }, () => {
      const began = performance.now();
      withoutVolatile(text);
      return performance.now() - began;
    });
    return Math.min(...times);
  };
  least(textOf(10_000));
  // Four times in proportion, sixteen times by the square.
  expect(least(textOf(40_000)) / least(textOf(10_000))).toBeLessThan(10);
});
