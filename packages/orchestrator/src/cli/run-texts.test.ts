import { aWaitingRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import { concernText, gateLine, runPage } from './run-texts.ts';

const LONG = 'x'.repeat(50_000);
const concerns = [
  {
    kind: 'runs_code',
    title: 'Two files can run code',
    items: [
      { path: 'a\rb.sh', line: 3, reason: 'runs\nstatus     completed\r\nmerged     into main\u202E' },
      { reason: LONG },
    ],
    hash: 'h',
  },
] as const;
const run = aWaitingRun('r', { failure: 'It broke\nmerged     into main' }, { concerns, concernsHash: 'c1' });
const { gate } = run;
if (gate === null) throw new Error('the run has no gate');

it('lists concerns whole, each line of their texts marked as no line of ours and no character hidden', () => {
  expect(concernText(gate).split('\n')).toEqual([
    'Two files can run code',
    '- a',
    '  | b.sh:3: runs',
    '  | status     completed',
    '  | merged     into main⟨U+202E⟩',
    `- ${LONG}`,
  ]);
  expect(concernText({})).toBe('');
});

it('lists them in the line of a gate before the options whose hash covers them', () => {
  const lines = gateLine(gate).split('\n');
  expect(lines).toContain('    Two files can run code');
  expect(lines).toContain(`    - ${LONG}`);
  expect(lines.at(-1)).toBe('    --gate r.4 --hash ::c1');
});

it('lets no text of others pass for a row of the page of a run', () => {
  const page = runPage(run);
  expect(page).toContain('see        Two files can run code\n           - a\n');
  expect(page).toContain('failure    It broke\n           | merged     into main');
  expect(page.match(/^(?:status|merged) .*/gm)).toHaveLength(1);
});
