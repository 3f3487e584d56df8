import type { RunView } from '@autonomous/shared';
import { aRun, aWaitingRun, aWorkflow, byId } from '@autonomous/shared/a-run.fixture';
import { pullRequestOf } from '@autonomous/ui';
import { describe, expect, it } from 'vitest';
import {
  activeCount,
  changedNodes,
  childrenOf,
  titleOf,
  tooltipOf,
  type TreeInput,
  type TreeNode,
  treesOf,
} from './run-tree-view.ts';

const NOW = Date.parse('2030-01-01T02:00:00.000Z');
const treesFor = (runs: readonly RunView[], more: Partial<TreeInput> = {}) =>
  treesOf({
    runs: byId(...runs),
    projects: new Map([['p-1', 'Shop']]),
    workflowOf: () => aWorkflow(),
    pending: new Map(),
    resuming: new Set(),
    pulses: {},
    conflicts: {},
    now: NOW,
    ...more,
  });
const outline = (nodes: readonly TreeNode[]): unknown =>
  nodes.map((node) => (node.kind === 'run' ? node.runId : { [node.label]: outline(childrenOf(node)) }));

describe('The views', () => {
  it('tell apart who waits, what works and what is over', () => {
    const trees = treesFor([
      aRun({ id: 'works' }),
      aWaitingRun('waits'),
      aRun({ id: 'queued', status: 'queued', queuePosition: 2 }),
      aRun({ id: 'over', status: 'completed' }),
    ]);
    expect(outline(trees.waiting)).toEqual(['waits']);
    expect(outline(trees.active)).toEqual(['works', 'queued']);
    expect(outline(trees.finished)).toEqual(['over']);
  });

  it('show a run that completed with failures as no success, and name them in its tooltip', () => {
    const failures = ['F003 Pictures is skipped.', 'F004 Both cannot be reached.'];
    const merged = { baseBranch: 'main', commit: 'c', strategy: 'squash' };
    const partly = aRun({ id: 'partly', status: 'completed', merged, failures });
    const [line] = treesFor([partly]).finished;
    expect(line).toMatchObject({
      icon: { name: 'warning' },
      description: expect.stringContaining('Completed with failures'),
    });
    const tooltip = tooltipOf(partly, undefined).join('\n');
    for (const words of ['Completed with failures', ...failures]) expect(tooltip).toContain(words);
    const [whole] = treesFor([aRun({ id: 'whole', status: 'completed', merged })]).finished;
    expect(whole).toMatchObject({ icon: { name: 'git-merge' }, description: expect.stringContaining('Merged') });
  });

  it('draw another gate as another line, which carries what it shows', () => {
    const lineOf = (gateId: string, artifactHash: string) => {
      const [line] = treesFor([aWaitingRun('r', {}, { id: gateId, artifactHash })]).waiting;
      return line?.kind === 'run' ? line : undefined;
    };
    const [plan, result] = [lineOf('r.4', 'a1'), lineOf('r.9', 'b2')];
    expect(plan?.shown).toEqual({ gateId: 'r.4', artifactHash: 'a1' });
    expect(result?.shown).toEqual({ gateId: 'r.9', artifactHash: 'b2' });
    // An action that was pressed on the one cannot be taken for one on the other.
    expect(result?.id).not.toBe(plan?.id);
  });

  it('show child runs below their parent, where the most urgent of them belongs, with how far it came', () => {
    const child = (id: string, parts: Partial<RunView> = {}): Partial<RunView> => ({
      parent: { runId: 'parent', key: `parent/1/${id}`, depth: 1 },
      ...parts,
    });
    const parent = aRun({ id: 'parent', status: 'awaiting_children', progress: { done: 1, total: 3 } });
    const done = aRun({ id: 'done', ...child('done', { status: 'completed' }) });
    const works = aRun({ id: 'works', ...child('works', { createdAt: '2030-01-01T00:00:02.000Z' }) });
    const [line] = treesFor([works, parent, done]).active;
    expect([line, ...(line === undefined ? [] : childrenOf(line))].map((node) => node?.id)).toEqual([
      'active/run/parent',
      'active/run/done',
      'active/run/works',
    ]);
    expect(line?.description).toBe('1 of 3 · Waiting for its child runs');
    expect(line === undefined ? [] : childrenOf(line).map(({ spoken }) => spoken.slice(0, 10))).toEqual([
      'Child run:',
      'Child run:',
    ]);
    const asks = aWaitingRun('asks', child('asks'));
    expect(treesFor([parent, asks]).active).toEqual([]);
    expect(treesFor([parent, asks]).waiting.map(({ id }) => id)).toEqual(['waiting/run/parent']);
    expect(treesFor([asks]).waiting.map(({ id }) => id)).toEqual(['waiting/run/asks/asks.4']);
  });

  it('draw again the one child run that changed', () => {
    const parent = aRun({ id: 'parent' });
    const child = aRun({ id: 'child', parent: { runId: 'parent', key: 'k', depth: 1 } });
    const before = treesFor([parent, child]).active;
    const after = treesFor([parent, { ...child, currentStage: 'implementation' }]).active;
    expect(changedNodes(before, after)).toEqual(['active/run/child']);
  });

  it('name a gate as its workflow does, and after its kind while that is not known', () => {
    const failed = aWaitingRun('r', {}, { kind: 'fix' });
    expect(treesFor([failed]).waiting[0]).toMatchObject({
      description: 'Checks failed · 1 h',
      icon: { name: 'warning' },
    });
    expect(treesFor([failed], { workflowOf: () => undefined }).waiting[0]?.description).toBe('Fix · 1 h');
  });

  it('put the longest wait first', () => {
    const late = aWaitingRun('late', {}, { openedAt: '2030-01-01T01:00:00.000Z' });
    const { waiting } = treesFor([late, aWaitingRun('early')]);
    expect(outline(waiting)).toEqual(['early', 'late']);
    expect(waiting.map(({ description }) => description)).toEqual(['Plan · 1 h', 'Plan · 1 h']);
  });

  it('group by project only where there are several', () => {
    const runs = [aRun({ id: 'a' }), aRun({ id: 'b' })];
    expect(outline(treesFor(runs).active)).toEqual(['a', 'b']);
    const several = [...runs, aRun({ id: 'c', projectId: 'p-2' }), aRun({ id: 'd', projectId: '' })];
    expect(outline(treesFor(several).active)).toEqual([
      { 'p-2': ['c'] },
      { Shop: ['a', 'b'] },
      { 'Without a project': ['d'] },
    ]);
  });

  it('group the approaches of an exploration in the order in which they were asked for', () => {
    const first = aWaitingRun('b-first', { explorationId: 'x', originalRequest: 'With a cookie' });
    const second = aWaitingRun(
      'a-second',
      { explorationId: 'x', createdAt: '2030-01-01T00:00:01.000Z' },
      { openedAt: '2030-01-01T00:00:30.000Z' },
    );
    const alone = aWaitingRun('alone', { explorationId: 'y' });
    expect(outline(treesFor([first, second, alone]).waiting)).toEqual([
      { 'With a cookie': ['b-first', 'a-second'] },
      'alone',
    ]);
  });

  it('say which decisions the gate takes, between semicolons', () => {
    const [node] = treesFor([aWaitingRun('r-1')]).waiting;
    expect(node?.contextValue).toMatch(/;approve;/);
    expect(node?.contextValue).toMatch(/;reject;/);
    expect(node?.contextValue).not.toMatch(/;answer;/);
  });

  it('show a decision under way, and take no other meanwhile', () => {
    const [node] = treesFor([aWaitingRun('r-1')], { pending: new Map([['r-1', 'Approving…']]) }).waiting;
    expect(node).toMatchObject({ description: 'Approving…', contextValue: ';run;' });
  });

  it('say of a run that it is taken up again', () => {
    const [node] = treesFor([aRun()], { resuming: new Set(['r-1']) }).active;
    expect(node).toMatchObject({ description: 'Resuming…', spoken: expect.stringContaining('Resuming…') });
  });

  it('say what a running run is at, and for how long', () => {
    const pulse = {
      runId: 'r-1',
      activity: 'checkAsIs',
      kind: 'pulse' as const,
      text: 'npm test',
      what: 'npm test',
      elapsedMs: 75_000,
      lastLine: 'ok 12',
      at: '2030-01-01T02:00:00.000Z',
    };
    const [node] = treesFor([aRun()], { pulses: { 'r-1': { checkAsIs: pulse } } }).active;
    expect(node?.description).toMatch(/ · npm test · 1 min 15 s$/);
  });

  it('say of an attempt which one it is, and why its parent gave it up', () => {
    const attempt = { number: 1, of: 3 };
    const [works] = treesFor([aRun({ attempt })]).active;
    expect(works?.description).toMatch(/^Attempt 1 of 3 – /);
    const givenUp = aRun({ attempt, status: 'cancelled', failure: '1 of 4 tests failed: adds' });
    const [ended] = treesFor([givenUp]).finished;
    expect(ended?.description).toMatch(/^Attempt 1 of 3 – 1 of 4 tests failed: adds · /);
  });

  it('say which runs conflict, and with what', () => {
    const conflict = { projectId: 'p-1', runId: 'r-1', files: ['src/a.ts'], fileCount: 1 };
    const conflicts = {
      'r-1': [
        { ...conflict, with: { kind: 'base' as const, branch: 'main' } },
        { ...conflict, with: { kind: 'run' as const, runId: 'r-2' } },
      ],
    };
    const [node, other] = treesFor([aRun(), aRun({ id: 'r-2' })], { conflicts }).active;
    expect(node?.description).toMatch(/ · conflicts with main and 1 run$/);
    expect(node?.spoken).toContain('conflicts with main and 1 run');
    expect(other?.description).not.toContain('conflicts');
    const lines = tooltipOf(aRun(), undefined, undefined, undefined, ['Conflicts with main: src/\u202ea.ts']);
    expect(lines).toContain('Conflicts with main: src/⟨U+202E⟩a.ts');
  });

  it('keep long requests to their first line', () => {
    expect(titleOf(aRun({ originalRequest: '\n  Add a page\nwith much text' }))).toBe('Add a page');
    expect(titleOf(aRun({ originalRequest: 'x'.repeat(200) }))).toHaveLength(90);
  });

  it('E06 show words alone of what others wrote, beside the line as well', () => {
    expect(titleOf(aRun({ originalRequest: '\u001b[31mAdd\u202e a page' }))).toBe('Add⟨U+202E⟩ a page');
    const failure = 'no\u202e credit \u001b]8;;https://evil.example\u0007here';
    const lines = tooltipOf(aRun({ status: 'failed', failure }), 'no\u2067tes');
    expect(lines).toContain('no⟨U+202E⟩ credit here');
    expect(lines).toContain('Project no⟨U+2067⟩tes');
  });
});

it('A plan that waits for its child runs is not counted beside them', () => {
  const parent = aRun({ id: 'plan', status: 'awaiting_children' });
  const child = (id: string) => aRun({ id, parent: { runId: 'plan', key: `plan/1/${id}`, depth: 1 } });
  expect(activeCount([parent, child('a'), child('b'), aRun({ id: 'other' })])).toBe(3);
});

describe('What is drawn again', () => {
  const before = [aRun({ id: 'a' }), aRun({ id: 'b' }), aRun({ id: 'c', projectId: 'p-2' })];

  it('is nothing where nothing changed', () => {
    expect(changedNodes(treesFor(before).active, treesFor(before).active)).toEqual([]);
  });

  it('is one run where one changed', () => {
    const after = before.map((run) => (run.id === 'b' ? { ...run, currentStage: 'validation' } : run));
    expect(changedNodes(treesFor(before).active, treesFor(after).active)).toEqual(['active/run/b']);
  });

  it('is its group where a run came or went', () => {
    const after = [...before, aRun({ id: 'd', projectId: 'p-1' })];
    expect(changedNodes(treesFor(before).active, treesFor(after).active)).toEqual(['active/project/p-1']);
  });

  it('is the whole view where its root changed', () => {
    expect(changedNodes(treesFor(before).active, treesFor(before.slice(0, 2)).active)).toBe('all');
  });

  it('is one run of five hundred', () => {
    const many = Array.from({ length: 500 }, (_, index) => aRun({ id: `r-${index}` }));
    const after = many.map((run) => (run.id === 'r-250' ? { ...run, status: 'queued' as const } : run));
    expect(changedNodes(treesFor(many).active, treesFor(after).active)).toEqual(['active/run/r-250']);
  });
});

it('finds the address of a pull request in what publishing noted, and no other address', () => {
  const published = { branch: 'b', commit: 'c', pushed: true };
  const note = 'Opened https://github.com/o/r/pull/12, see https://example.org/docs';
  expect(pullRequestOf(aRun({ published: { ...published, note } }))).toBe('https://github.com/o/r/pull/12');
  expect(pullRequestOf(aRun({ published: { ...published, note: 'see https://example.org/docs' } }))).toBeNull();
  expect(pullRequestOf(aRun({ published }))).toBeNull();
  const given = (url: string) => pullRequestOf(aRun({ published: { ...published, pullRequest: { number: 7, url } } }));
  expect(given('https://forge.example/o/r/pull/7')).toBe('https://forge.example/o/r/pull/7');
  expect(given('javascript:alert(1)//https://forge.example/o/r/pull/7')).toBeNull();
  expect(given('https://forge.example@evil.example/o/r/pull/7')).toBeNull();
});
