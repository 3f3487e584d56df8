import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff.ts';

const shown = (before: string, after: string): readonly string[] =>
  lineDiff(before, after).map(
    ({ kind, before: was, after: is }) =>
      `${kind} ${was === null ? '-' : `${was.number}:${was.text}`} ${is === null ? '-' : `${is.number}:${is.text}`}`,
  );

describe('Two texts', () => {
  it('stand side by side, what took the place of a line beside it', () => {
    expect(shown('a\nb\nc\nd', 'a\nB\nc\nx\nd')).toEqual([
      'same 1:a 1:a',
      'changed 2:b 2:B',
      'same 3:c 3:c',
      'added - 4:x',
      'same 4:d 5:d',
    ]);
    expect(shown('a\nb', 'a')).toEqual(['same 1:a 1:a', 'removed 2:b -']);
    expect(shown('a', 'a')).toEqual(['same 1:a 1:a']);
  });

  it('keep every line of both, however long and different they are', () => {
    const [one, other] = ['x', 'y'].map((mark) => Array.from({ length: 3_000 }, (_, n) => `${mark}${n}`).join('\n'));
    const pairs = lineDiff(`a\n${one}\nz`, `a\n${other}\nz`);
    expect(pairs.map(({ before }) => before?.text).join('\n')).toBe(`a\n${one}\nz`);
    expect(pairs.map(({ after }) => after?.text).join('\n')).toBe(`a\n${other}\nz`);
  });
});
