import { expect, it } from 'vitest';
import { detailLines } from './gate-details.ts';

it('shows a text of a gate as it is, and nothing for what is empty or no text', () => {
  expect(detailLines('$ npm test\n  exit code 1')).toEqual(['$ npm test\n  exit code 1']);
  for (const empty of [undefined, null, ' ', true, { a: 'b' }, []]) expect(detailLines(empty)).toEqual([]);
});

it('shows a list of a gate with a line for each item', () => {
  expect(detailLines(['one', 2, ''])).toEqual(['one', '2']);
  const attempts = [
    { action: 'implement', summary: '', error: 'exit\n code 1' },
    { action: 'fix', summary: 'Rounded.', error: `${'x'.repeat(300)}${'y'.repeat(200)}` },
    { action: 'fix', summary: 'No idea.', error: 'No idea.' },
  ];
  expect(detailLines(attempts)).toEqual([
    'implement → exit code 1',
    `fix → Rounded. → ${'x'.repeat(100)} … ${'y'.repeat(200)}`,
    'fix → No idea.',
  ]);
});
