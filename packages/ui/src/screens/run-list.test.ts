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
        row.kind === 'heading'
          ? `# ${row.title} ${row.count}`
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
