import { expect, it } from 'vitest';
import { RecentAnswers } from './recent-answers.ts';

const answers = (): RecentAnswers<string> => new RecentAnswers(10, (text) => text.length);

it('keeps what was asked for last, up to a weight of all together', () => {
  const kept = answers();
  kept.keep('a', 'aaaa');
  kept.keep('b', 'bbbb');
  expect(kept.get('a')).toBe('aaaa');
  kept.keep('c', 'cccc');
  expect(['a', 'b', 'c'].map((key) => kept.get(key))).toEqual(['aaaa', undefined, 'cccc']);
});

it('keeps nothing that is heavier than all together, and counts an answer once that comes twice', () => {
  const kept = answers();
  kept.keep('a', 'a'.repeat(11));
  kept.keep('b', 'bbbbb');
  kept.keep('b', 'bbbbb');
  kept.keep('c', 'ccccc');
  expect(['a', 'b', 'c'].map((key) => kept.get(key))).toEqual([undefined, 'bbbbb', 'ccccc']);
});
