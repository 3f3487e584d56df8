import { describe, expect, it } from 'vitest';
import { aGate, aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { CompletedFold, rowsOf, RunRow } from './run-list.tsx';

const titles = (search = '') =>
  rowsOf(RUNS, search).map((row) => (row.kind === 'run' ? row.run.id : `# ${titleOf(row)} ${row.count}`));

const titleOf = (row: Exclude<ReturnType<typeof rowsOf>[number], { kind: 'run' }>): string =>
  row.kind === 'fold' ? 'completed' : row.title;

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

  describe('with child runs', () => {
    const parent = aRun({ id: 'parent', status: 'awaiting_children', originalRequest: 'The whole' });
    const child = (id: string, parts: Parameters<typeof aRun>[0] = {}) =>
      aRun({
        id,
        parent: { runId: 'parent', key: `parent/1/${id}`, depth: 1 },
        originalRequest: `Phase ${id}`,
        ...parts,
      });
    const lines = (...[runs, ...more]: Parameters<typeof rowsOf>) =>
      rowsOf(runs, ...more).map((row) =>
        row.kind !== 'run'
          ? `# ${titleOf(row)} ${row.count}`
          : `${'  '.repeat(row.depth)}${row.run.id}${row.children === undefined ? '' : ` (${row.children.progress})`}`,
      );

    it('shows them below their parent, in the order in which they were started, with how far it came', () => {
      const done = child('1', { status: 'completed' });
      const later = child('2', { createdAt: '2030-01-02T00:00:00.000Z' });
      expect(lines([later, parent, done], '')).toEqual(['# Active 1', 'parent (1 of 2 child runs)', '  1', '  2']);
      const counted = { ...parent, progress: { done: 3, total: 7 } };
      expect(lines([counted, done], '')[1]).toBe('parent (3 of 7)');
    });

    it('has a parent among those that wait where one below it waits for a person', () => {
      const waits = child('1', { status: 'awaiting_approval', gate: aGate({ runId: '1' }) });
      expect(lines([parent, waits], '')).toEqual(['# Waiting for you 1', 'parent (0 of 1 child run)', '  1']);
    });

    it('names what the workflow counts, and how many runs below a parent wait', () => {
      const waits = child('1', { status: 'paused', gate: aGate({ runId: '1' }) });
      const counted = { ...parent, progress: { done: 0, total: 7 } };
      const rows = rowsOf([counted, waits, child('2')], '', new Map([['parent', false]]), () => ({
        ...({ name: 'w', title: 'W', roles: [], stages: [], trustModes: [], gates: {}, documents: {} } as const),
        progressWord: 'merged',
      }));
      expect(rows[1]).toMatchObject({ children: { progress: '0 of 7 merged', isOpen: false, waiting: 1 } });
    });

    it('counts each child that waits, and the parent that waits for them not at all', () => {
      const waits = (id: string) => child(id, { status: 'awaiting_approval', gate: aGate({ runId: id }) });
      expect(lines([parent, waits('1'), waits('2')], '')[0]).toBe('# Waiting for you 2');
    });

    it('is closed once all is over, until somebody opens it', () => {
      const runs = [aRun({ id: 'parent', status: 'completed' }), child('1', { status: 'completed' })];
      expect(lines(runs, '')).toEqual(['# Finished 1', 'parent (1 of 1 child run)']);
      expect(lines(runs, '', new Map([['parent', true]]))).toHaveLength(3);
      expect(lines([parent, child('1')], '', new Map([['parent', false]]))).toEqual([
        '# Active 1',
        'parent (0 of 1 child run)',
      ]);
    });

    it('folds none that completed with failures', () => {
      const completed = ['1', '2', '3', '4', '5', '6'].map((id) => child(id, { status: 'completed' }));
      const partly = child('7', { status: 'completed', failures: ['F003 is skipped.'] });
      expect(lines([parent, ...completed, partly], '').slice(2)).toEqual(['# completed 6', '  7']);
    });

    it('folds more than five completed ones, and shows them when the fold is opened', () => {
      const completed = ['1', '2', '3', '4', '5', '6'].map((id) => child(id, { status: 'completed' }));
      const others = [child('7', { status: 'failed' }), child('8')];
      const shown = lines([parent, ...completed, ...others], '');
      expect(shown).toEqual(['# Active 1', 'parent (7 of 8 child runs)', '# completed 6', '  7', '  8']);
      const opened = lines([parent, ...completed, ...others], '', new Map([['completed below parent', true]]));
      expect(opened.slice(2)).toEqual(['# completed 6', '  1', '  2', '  3', '  4', '  5', '  6', '  7', '  8']);
      expect(lines([parent, ...completed.slice(1), ...others], '')).not.toContain('# completed 5');
      expect(lines([parent, ...completed, ...others], 'completed')).toEqual([
        '# Finished 6',
        '1',
        '2',
        '3',
        '4',
        '5',
        '6',
      ]);
    });

    it('has a button for the fold that says what it opens and whether it is open', () => {
      const fold = { id: 'f', parent: 'The whole', count: 24, depth: 1, onToggle: () => undefined };
      const html = (isOpen: boolean) => shownIn({}, createElement(CompletedFold, { ...fold, isOpen }));
      expect(html(false)).toContain(
        '<button type="button" class="fold" aria-expanded="false" aria-label="24 completed child runs of The whole">',
      );
      expect(html(false)).toContain('24 completed</button>');
      expect(html(true)).toContain('aria-expanded="true"');
    });

    it('finds a child whose parent does not match, and says whose it is', () => {
      const [, row] = rowsOf([parent, child('1')], 'phase 1');
      expect(row).toMatchObject({ kind: 'run', depth: 0, parent: 'The whole' });
    });

    it('shows a child at the top where its parent is not known', () => {
      expect(lines([child('1')], '')).toEqual(['# Active 1', '1']);
    });
  });

  it('orders thousands without comparing them by hand', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => aRun({ id: `r-${index}`, status: 'completed' }));
    expect(rowsOf(many, '')).toHaveLength(5_001);
  });
});

it('The row of a run that completed with failures names them, with the sign of a warning', () => {
  const failures = ['F003 Pictures is skipped.', 'F004 Both cannot be reached.'];
  const row = (parts: Parameters<typeof aRun>[0]): string => {
    const common = { project: null, depth: 0, progress: null, waitingBelow: 0, isOpen: false, parent: null };
    const run = aRun({ status: 'completed', ...parts });
    return shownIn({ runs: [run] }, createElement(RunRow, { run, ...common, onToggle: () => undefined }));
  };
  const html = row({ failures });
  expect(html).toContain('<span>Completed with failures</span><span>F003 Pictures is skipped. F004 Both');
  expect(html).toContain('status failed');
  expect(html).not.toContain('status completed');
  expect(row({})).toContain('status completed');
});
