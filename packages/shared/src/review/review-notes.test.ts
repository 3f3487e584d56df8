import { expect, it } from 'vitest';
import { feedbackOf } from './review-notes.ts';

it('puts general words first and comments in the order of files and lines', () => {
  const notes = [
    { path: 'src/b.ts', line: 2, text: 'shorter' },
    { path: 'src/a.ts', line: 10, text: ' a test for this \n' },
    { path: 'src/a.ts', line: 9, text: 'another name' },
    { path: 'README.md', line: 0, text: 'mention it' },
  ];
  expect(feedbackOf(' Not yet. ', notes)).toBe(
    'Not yet.\n\nREADME.md: mention it\n\nsrc/a.ts:9: another name\n\nsrc/a.ts:10: a test for this\n\nsrc/b.ts:2: shorter',
  );
  expect(feedbackOf('', [])).toBe('');
});
