import { describe, expect, it } from 'vitest';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { rowsOf } from './run-list.tsx';

const titles = (search = '') =>
  rowsOf(RUNS, search).map((row) => (row.kind === 'heading' ? `# ${row.title} ${row.count}` : row.run.id));

const RUNS = [
  aRun({ id: 'done', branch: 'autonomous/done', status: 'completed', originalRequest: 'Fix the <b>header</b>' }),
  aRun({ id: 'busy', branch: 'autonomous/busy', status: 'running', originalRequest: 'Add a login page' }),
  aRun({
    id: 'asks',
    branch: 'autonomous/asks',
    status: 'awaiting_approval',
    gate: aGate({ runId: 'asks' }),
    originalRequest: 'Add search',
  }),
];

describe('The list of runs', () => {
  it('has who waits for a person first, then who works, then who is done, each under its heading', () => {
    expect(titles()).toEqual(['# Waiting for you 1', 'asks', '# Active 1', 'busy', '# Finished 1', 'done']);
  });

  it.each([
    ['ADD login', ['# Active 1', 'busy']],
    ['completed', ['# Finished 1', 'done']],
    ['  <b>header  ', ['# Finished 1', 'done']],
    ['nothing of the kind', []],
  ])('shows of %j only what has all its words', (search, shown) => {
    expect(titles(search)).toEqual(shown);
  });

  it('orders thousands without comparing them by hand', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => aRun({ id: `r-${index}`, status: 'completed' }));
    expect(rowsOf(many, '')).toHaveLength(5_001);
  });
});
