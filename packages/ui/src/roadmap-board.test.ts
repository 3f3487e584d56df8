import type { RoadmapBoardItem, RoadmapChoice, RoadmapReason } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import {
  completedOf,
  dependenciesOf,
  lanesOf,
  reasonOf,
  roadmapMark,
  runsByItem,
  standingText,
  summaryOf,
  tasksOf,
  waitingFor,
} from './roadmap-board.ts';

function anItem(id: string, given: Partial<RoadmapBoardItem> = {}): RoadmapBoardItem {
  return {
    id,
    title: `Item ${id}`,
    type: 'feature',
    moscow: 'must-have',
    timeHorizon: 'now',
    health: 'on-track',
    status: 'not-started',
    dependencies: [],
    canStart: true,
    ...given,
  };
}

const reason = (id: string, rationale = `Reason of ${id}.`): RoadmapReason => ({ id, title: id, rationale });

function aChoice(given: Partial<RoadmapChoice> = {}): RoadmapChoice {
  return {
    selected: null,
    inProgress: [],
    eligible: [],
    others: [],
    circles: [],
    unknownDependencies: [],
    pullIns: [],
    ...given,
  };
}

describe('The board of a roadmap', () => {
  it('has a lane for each MoSCoW priority that has open items, with a cell for each horizon', () => {
    const items = [
      anItem('late', { timeHorizon: 'later' }),
      anItem('could', { moscow: 'could-have', timeHorizon: 'next' }),
      anItem('done', { status: 'completed', moscow: 'should-have' }),
    ];
    const lanes = lanesOf(items, aChoice()).map(({ moscow, count, cells }) => [
      moscow,
      count,
      ...cells.map((cell) => `${cell.horizon}: ${cell.items.map(({ id }) => id).join(', ')}`),
    ]);
    expect(lanes).toEqual([
      ['must-have', 1, 'now: ', 'next: ', 'later: late'],
      ['could-have', 1, 'now: ', 'next: could', 'later: '],
    ]);
    expect(completedOf(items, aChoice()).map(({ id }) => id)).toEqual(['done']);
  });

  it('orders a cell by rank: in progress, then what can be started, then the others', () => {
    const items = ['d', 'c', 'b', 'a'].map((id) => anItem(id));
    const choice = aChoice({ others: [reason('c')], eligible: [reason('a'), reason('d')], inProgress: [reason('b')] });
    expect(lanesOf(items, choice)[0]?.cells[0]?.items.map(({ id }) => id)).toEqual(['b', 'a', 'd', 'c']);
  });

  it('gives the selected item the reason of the choice, and others their own', () => {
    const choice = aChoice({
      selected: reason('a', 'It comes before b.'),
      eligible: [reason('a', 'Facts.'), reason('b')],
      others: [reason('c')],
    });
    expect(['a', 'b', 'c', 'd'].map((id) => reasonOf(choice, id))).toEqual([
      'It comes before b.',
      'Reason of b.',
      'Reason of c.',
      null,
    ]);
  });

  it('shows dependencies that are waited for before those that are completed', () => {
    const items = [
      anItem('done', { status: 'completed' }),
      anItem('open'),
      anItem('x', { dependencies: ['done', 'gone', 'open'] }),
    ];
    const byId = new Map(items.map((item) => [item.id, item]));
    expect(dependenciesOf(items[2]!, byId).map(({ id, item }) => [id, item?.status ?? null])).toEqual([
      ['gone', null],
      ['open', 'not-started'],
      ['done', 'completed'],
    ]);
    expect(waitingFor('open', items).map(({ id }) => id)).toEqual(['x']);
  });

  it('links an item to the newest of its live runs', () => {
    const runs = [
      { item: 'a', runId: 'r-2', status: 'running' as const },
      { item: 'a', runId: 'r-1', status: 'paused' as const },
    ];
    expect(runsByItem(runs).get('a')?.runId).toBe('r-2');
  });
});

describe('The mark of a roadmap', () => {
  const ofItem = { projectId: 'p-1', workflow: { name: 'roadmap-item', version: 1 } };
  const owned = { paths: ['roadmap/roadmap.json'], to: 'base' as const };
  const mark = (...runs: readonly Parameters<typeof aRun>[0][]) =>
    roadmapMark(
      runs.map((run) => aRun(run)),
      'p-1',
      'roadmap-item',
    );

  it('changes when a run of an item waits, and when a run commits engine-owned files', () => {
    const before = mark({ ...ofItem, id: 'r-1', status: 'running' });
    expect(mark({ ...ofItem, id: 'r-1', status: 'paused' })).not.toBe(before);
    expect(mark({ ...ofItem, id: 'r-1', status: 'running', ownedFiles: { ...owned, commit: 'c' } })).not.toBe(before);
  });

  it('stays for other workflows, other projects, and any order of the runs', () => {
    const other = { ...ofItem, workflow: { name: 'build', version: 1 } };
    expect(mark({ ...other, status: 'running' })).toBe(mark({ ...other, status: 'completed' }));
    expect(mark({ ...ofItem, projectId: 'p-2' })).toBe('');
    const [one, two] = [
      { ...ofItem, id: 'r-1' },
      { ...ofItem, id: 'r-2' },
    ] as const;
    expect(mark(one, two)).toBe(mark(two, one));
  });
});

describe('What a card says', () => {
  it.each([
    [{ status: 'not-started' }, 'Not started'],
    [{ status: 'in-progress', workflowState: { phase: 'implementing' } }, 'In progress: implementing'],
    [{ status: 'in-progress', workflowState: { phase: 'testing', attempts: 2 } }, 'In progress: testing, attempt 2'],
    [{ status: 'completed', workflowState: { phase: 'completed' } }, 'Completed'],
    [{ status: 'on-hold' }, 'On hold'],
  ] as const)('of the standing %j is %j', (given, text) => {
    expect(standingText(anItem('a', given))).toBe(text);
  });

  it.each([
    [{}, null],
    [{ tasksTotal: 0 }, null],
    [{ tasksTotal: 5 }, { done: 0, total: 5 }],
    [
      { tasksTotal: 5, tasksCompleted: 7 },
      { done: 5, total: 5 },
    ],
    [
      { tasksTotal: 5, tasksCompleted: -1 },
      { done: 0, total: 5 },
    ],
  ])('of the tasks %j is %j', (workflowState, tasks) => {
    expect(tasksOf(anItem('a', { workflowState }))).toEqual(tasks);
  });

  it('sums up the items', () => {
    expect(summaryOf([anItem('a')])).toBe('1 item');
    expect(summaryOf([anItem('a', { status: 'on-hold' }), anItem('b', { status: 'in-progress' }), anItem('c')])).toBe(
      '3 items: 1 in progress, 1 on hold',
    );
  });
});
