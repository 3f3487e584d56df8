import { describe, expect, it } from 'vitest';
import { circlesOf, dependencyFaults, waitingCounts } from './item-dependencies.ts';
import { awaitingMerge } from './awaiting-merge.ts';
import { chooseNextItem } from './next-item.ts';
import { HEALTHS, ITEM_STATUSES, MAX_ITEMS, MOSCOW, type RoadmapItem, TIME_HORIZONS } from './roadmap-file.ts';

type Fields = Partial<RoadmapItem>;

const anItem = (id: string, fields: Fields = {}): RoadmapItem => ({
  id,
  title: id.toUpperCase(),
  type: 'feature',
  moscow: 'should-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'next',
  createdAt: '2026-01-01T10:00:00Z',
  ...fields,
});
const items = (all: Readonly<Record<string, Fields>>): readonly RoadmapItem[] =>
  Object.entries(all).map(([id, fields]) => anItem(id, fields));
const ids = (all: readonly { readonly id: string }[]): readonly string[] => all.map(({ id }) => id);
const reasonsOf = (all: readonly RoadmapItem[], named: string | null = null): Readonly<Record<string, string>> =>
  Object.fromEntries(chooseNextItem(all, named).others.map(({ id, rationale }) => [id, rationale]));
const on = (...dependencies: readonly string[]): Fields => ({ dependencies });
const DONE: Fields = { status: 'completed' };

describe('the order', () => {
  it.each<[string, Readonly<Record<string, Fields>>, readonly string[]]>([
    [
      'MoSCoW before time horizon and health',
      {
        a: { moscow: 'should-have', timeHorizon: 'now', health: 'at-risk' },
        b: { moscow: 'must-have', timeHorizon: 'later', health: 'on-track' },
      },
      ['b', 'a'],
    ],
    [
      'MoSCoW in its order, without wont-have',
      { a: { moscow: 'wont-have' }, b: { moscow: 'could-have' }, c: {}, d: { moscow: 'must-have' } },
      ['d', 'c', 'b'],
    ],
    [
      'time horizon before health',
      {
        a: { timeHorizon: 'next', health: 'blocked' },
        b: { timeHorizon: 'now' },
        c: { timeHorizon: 'later', health: 'at-risk' },
      },
      ['b', 'a', 'c'],
    ],
    [
      'at-risk and blocked alike before on-track and off-track alike',
      { a: { health: 'off-track' }, b: { health: 'on-track' }, c: { health: 'blocked' }, d: { health: 'at-risk' } },
      ['c', 'd', 'a', 'b'],
    ],
    [
      'health before the number of items that wait',
      { a: {}, b: { health: 'at-risk' }, c: on('a'), d: on('c') },
      ['b', 'a'],
    ],
    [
      'the number of items that wait, by way of each other too',
      { a: {}, b: {}, c: on('a'), d: on('a'), e: on('b'), f: on('e'), g: on('f') },
      ['b', 'a'],
    ],
    ['items that are completed wait for nothing', { a: {}, b: {}, c: on('b'), d: { ...on('a'), ...DONE } }, ['b', 'a']],
    ['an item that waits twice counts once', { a: {}, b: {}, c: on('a', 'a'), d: on('b'), e: on('b') }, ['b', 'a']],
    [
      'the number of items that wait before createdAt',
      { a: { createdAt: '2025-01-01T10:00:00Z' }, b: {}, c: on('b') },
      ['b', 'a'],
    ],
    [
      'createdAt by time, older first and absent last',
      {
        a: { createdAt: undefined },
        b: { createdAt: '2026-01-01T11:00:00+02:00' },
        c: { createdAt: '2026-01-01T09:30:00Z' },
        d: { createdAt: '2026-01-01T09:30:00.000001+00:00' },
        e: { createdAt: '2026-01-01T08:00:00-05:00' },
      },
      ['b', 'c', 'd', 'e', 'a'],
    ],
    [
      'parts of a second beyond milliseconds',
      { a: { createdAt: '2026-01-01T10:00:00.0002Z' }, b: { createdAt: '2026-01-01T10:00:00.00015Z' } },
      ['b', 'a'],
    ],
    ['the id at last, by code units', { b: {}, a: {}, B: {}, 'a-1': {}, a1: {} }, ['B', 'a', 'a-1', 'a1', 'b']],
    ['dependencies that are completed are met', { a: on('z'), z: DONE, b: {} }, ['a', 'b']],
    [
      'an item on hold whose dependencies are completed',
      { a: { status: 'on-hold', moscow: 'must-have', ...on('z') }, z: DONE, b: {} },
      ['a', 'b'],
    ],
  ])('%s', (_, all, expected) => {
    const { eligible, selected } = chooseNextItem(items(all));
    expect(ids(eligible)).toEqual(expected);
    expect(selected?.id).toBe(expected[0]);
  });

  it('is the same for any order of the items, in all answers', () => {
    const random = seeded(11);
    for (let round = 0; round < 150; round += 1) {
      const all = aRoadmap(random, 8);
      const expected = chooseNextItem(all);
      for (let turn = 0; turn < 3; turn += 1) expect(chooseNextItem(shuffled(all, random))).toEqual(expected);
      const everyone = [...expected.inProgress, ...expected.eligible, ...expected.others];
      expect(ids(everyone).toSorted()).toEqual(ids(all).toSorted());
      expect(everyone.every(({ rationale }) => rationale.endsWith('.'))).toBe(true);
      expect(expected.selected?.id ?? null).toBe(expected.eligible[0]?.id ?? null);
    }
  });
});

describe('the rationale', () => {
  it.each<[string, Readonly<Record<string, Fields>>, string]>([
    [
      'of MoSCoW',
      { a: { moscow: 'must-have' }, b: { timeHorizon: 'now' } },
      "must-have, next, on-track; 0 items wait for it. It comes before 'B' (b): must-have before should-have.",
    ],
    [
      'of the time horizon',
      { a: { timeHorizon: 'now' }, b: {} },
      "should-have, now, on-track; 0 items wait for it. It comes before 'B' (b): now before next.",
    ],
    [
      'of health',
      { a: { health: 'blocked', workflowState: { blockers: ['no key', 'no\n disk'] } }, b: {} },
      "should-have, next, blocked; 0 items wait for it. Blocked by: no key; no disk. It comes before 'B' (b): blocked before on-track.",
    ],
    [
      'of items that wait',
      { a: {}, b: {}, c: on('a') },
      "should-have, next, on-track; 1 item waits for it. It comes before 'B' (b): more items wait for it (1, for the other 0).",
    ],
    [
      'of createdAt',
      { a: {}, b: { createdAt: '2026-01-02T10:00:00Z' } },
      "should-have, next, on-track; 0 items wait for it. It comes before 'B' (b): created earlier (2026-01-01T10:00:00Z, the other 2026-01-02T10:00:00Z).",
    ],
    [
      'of the id',
      { a: {}, b: {} },
      "should-have, next, on-track; 0 items wait for it. It comes before 'B' (b): the lower id.",
    ],
    ['of the only one', { a: {} }, 'should-have, next, on-track; 0 items wait for it. Nothing else can be started.'],
    [
      'of one on hold',
      { a: { status: 'on-hold', ...on('z') }, z: DONE },
      'should-have, next, on-track; 0 items wait for it. It is on hold, and its dependencies are completed. Nothing else can be started.',
    ],
  ])('%s names what decided', (_, all, expected) => {
    expect(chooseNextItem(items(all)).selected).toEqual({ id: 'a', title: 'A', rationale: expected });
  });

  it('of each other eligible item names the one that it comes after', () => {
    const { eligible } = chooseNextItem(items({ a: { moscow: 'must-have' }, b: {} }));
    expect(eligible[1]?.rationale).toContain("It comes after 'A' (a): must-have before should-have.");
  });
});

describe('an item that cannot be started', () => {
  it('waits for dependencies that are not completed, highest rank first with the status of each, and for those that are not there', () => {
    const all = items({ a: on('gone', 'b', 'c'), b: { status: 'in-progress' }, c: { moscow: 'must-have' } });
    expect(reasonsOf(all)).toEqual({
      a: "Waits for 'C' (c), which is not-started; 'B' (b), which is in-progress; 'gone', which is not in the roadmap.",
    });
    expect(chooseNextItem(all)).toMatchObject({
      selected: { id: 'c' },
      unknownDependencies: [{ item: 'a', dependency: 'gone' }],
    });
    expect(chooseNextItem(items({ a: { ...on('gone'), ...DONE } })).unknownDependencies).toEqual([]);
  });

  it('stands in a circle, which is named in order from the lowest id, while others proceed', () => {
    const all = items({ c: on('b'), b: on('a'), a: on('c'), d: on('d'), e: on('a'), f: {} });
    const { selected, circles } = chooseNextItem(all);
    expect(selected?.id).toBe('f');
    expect(circles).toEqual([['a', 'c', 'b'], ['d']]);
    expect(reasonsOf(all)).toEqual({
      a: 'Depends on itself: a → c → b → a. Take one of these dependencies out.',
      b: 'Depends on itself: a → c → b → a. Take one of these dependencies out.',
      c: 'Depends on itself: a → c → b → a. Take one of these dependencies out.',
      d: 'Depends on itself: d → d. Take one of these dependencies out.',
      e: "Waits for 'A' (a), which is not-started.",
    });
  });

  it('is in no circle with one that is completed', () => {
    const all = items({ a: { ...on('b'), ...DONE }, b: on('a') });
    expect(chooseNextItem(all)).toMatchObject({ selected: { id: 'b' }, circles: [] });
  });

  it('is on hold without dependencies, or with blockers', () => {
    expect(
      reasonsOf(
        items({
          a: { status: 'on-hold' },
          b: { status: 'on-hold', ...on('z'), workflowState: { phase: 'testing', blockers: ['3 tests fail'] } },
          c: { status: 'on-hold', ...on('a') },
          z: DONE,
        }),
      ),
    ).toEqual({
      a: "On hold, and it has no dependencies that would end that. Set its status to 'not-started' to take it up.",
      b: 'On hold. Blocked by: 3 tests fail.',
      c: "Waits for 'A' (a), which is on-hold.",
      z: 'Completed.',
    });
  });

  it('is a wont-have that nobody named', () => {
    const all = items({ a: { moscow: 'wont-have' }, b: { moscow: 'wont-have', ...on('a') } });
    expect(chooseNextItem(all).selected).toBeNull();
    expect(reasonsOf(all)['a']).toBe('wont-have: chosen only when it is named.');
    expect(chooseNextItem(all, 'a').selected?.id).toBe('a');
    expect(chooseNextItem(all, 'b')).toMatchObject({ selected: null, pullIns: [{ id: 'a', unblocks: 'b' }] });
  });

  it('has a reason where no item can be started', () => {
    const all = items({ a: on('gone'), b: on('b'), c: { status: 'on-hold' }, d: { moscow: 'wont-have' }, e: DONE });
    const next = chooseNextItem(all);
    expect(next.selected).toBeNull();
    expect(ids(next.others)).toEqual(['a', 'b', 'c', 'e', 'd']);
  });

  it('is none in an empty roadmap, and each one where all are completed', () => {
    expect(chooseNextItem([])).toEqual({
      selected: null,
      inProgress: [],
      eligible: [],
      others: [],
      circles: [],
      unknownDependencies: [],
      pullIns: [],
    });
    expect(reasonsOf(items({ a: DONE, b: { ...DONE, ...on('a') } }))).toEqual({ a: 'Completed.', b: 'Completed.' });
  });
});

describe('an item whose result is on a branch that is not merged', () => {
  const workflowState = { phase: 'committing' as const, blockers: [awaitingMerge('autonomous/r-a', 'main')] };

  it('is not started again, and nothing that depends on it is', () => {
    const all = items({ a: { status: 'in-progress', workflowState }, b: on('a') });
    expect(reasonsOf(all)).toEqual({
      a: 'Done. Its result is on the branch autonomous/r-a: merge it into main. To do without that result, set the item back with the command: roadmap reset a',
      b: "Waits for 'A' (a), which is done on a branch that is not merged.",
    });
    expect(chooseNextItem(all, 'a')).toMatchObject({ selected: null, inProgress: [] });
  });

  it('is in progress with another blocker, or in another phase', () => {
    const other = { ...workflowState, blockers: ['Its result is lost.'] };
    const earlier = { ...workflowState, phase: 'testing' as const };
    const all = items({
      a: { status: 'in-progress', workflowState: other },
      b: { status: 'in-progress', workflowState: earlier },
      c: { ...DONE, workflowState },
    });
    expect(chooseNextItem(all).inProgress).toMatchObject([{ id: 'a' }, { id: 'b' }]);
    expect(reasonsOf(all)).toEqual({ c: 'Completed.' });
  });
});

describe('items in progress', () => {
  it('come first, highest rank first, with where they are', () => {
    const all = items({
      a: { status: 'in-progress', moscow: 'could-have' },
      b: {
        status: 'in-progress',
        workflowState: { phase: 'testing', tasksTotal: 7, tasksCompleted: 3, blockers: ['x'] },
      },
      c: { workflowState: { phase: 'implementing', tasksTotal: 2 } },
      d: { workflowState: { phase: 'not-started' } },
      e: { ...DONE, workflowState: { phase: 'testing' } },
    });
    expect(chooseNextItem(all)).toMatchObject({
      selected: { id: 'd' },
      inProgress: [
        { id: 'b', rationale: 'In progress (testing, 3 of 7 tasks): go on with it. Blocked by: x.' },
        { id: 'c', rationale: 'In progress (implementing, 0 of 2 tasks): go on with it.' },
        { id: 'a', rationale: 'In progress: go on with it.' },
      ],
    });
  });
});

describe('a higher item that waits for a lower one', () => {
  it('is named with the lower one that can be started, by way of others too', () => {
    const all = items({
      high: { moscow: 'must-have', ...on('mid') },
      mid: { moscow: 'must-have', ...on('low') },
      low: { moscow: 'could-have', timeHorizon: 'later' },
      chosen: {},
    });
    expect(chooseNextItem(all)).toMatchObject({
      selected: { id: 'chosen' },
      pullIns: [
        {
          id: 'low',
          unblocks: 'mid',
          rationale:
            "'MID' (mid; must-have, next, on-track) ranks before 'CHOSEN' (chosen) and waits for 'LOW' (low; could-have, later, on-track). Pull that in to get to it.",
        },
      ],
    });
  });

  it('is a reason of the selected item where it waits for that', () => {
    const all = items({ high: { moscow: 'must-have', ...on('low') }, low: {}, other: { moscow: 'could-have' } });
    expect(chooseNextItem(all)).toMatchObject({ selected: { id: 'low' }, pullIns: [] });
    expect(chooseNextItem(all).selected?.rationale).toContain("'HIGH' (high), which ranks before it, waits for it.");
  });

  it('may wait for a wont-have, which a person can name', () => {
    const all = items({ high: on('low'), low: { moscow: 'wont-have' } });
    expect(chooseNextItem(all)).toMatchObject({ selected: null, pullIns: [{ id: 'low', unblocks: 'high' }] });
  });

  it.each<[string, Readonly<Record<string, Fields>>]>([
    [
      'ranks below the selected one',
      { chosen: {}, below: { moscow: 'could-have', ...on('low') }, low: { moscow: 'could-have' } },
    ],
    [
      'waits for one in progress',
      { chosen: {}, high: { moscow: 'must-have', ...on('low') }, low: { status: 'in-progress' } },
    ],
    [
      'waits for one that is held',
      { chosen: {}, high: { moscow: 'must-have', ...on('low') }, low: { status: 'on-hold' } },
    ],
    [
      'stands in a circle',
      { chosen: {}, high: { moscow: 'must-have', ...on('low', 'high') }, low: { moscow: 'could-have' } },
    ],
    ['waits for nothing that is there', { chosen: {}, high: { moscow: 'must-have', ...on('gone') } }],
    ['is a wont-have', { chosen: {}, high: { moscow: 'wont-have', ...on('low') }, low: { moscow: 'could-have' } }],
  ])('offers nothing where it %s', (_, all) => {
    expect(chooseNextItem(items(all)).pullIns).toEqual([]);
  });
});

describe('a named item', () => {
  it('is selected whatever ranks before it', () => {
    expect(chooseNextItem(items({ a: { moscow: 'must-have' }, b: {} }), 'b').selected).toEqual({
      id: 'b',
      title: 'B',
      rationale:
        "should-have, next, on-track; 0 items wait for it. It is the one that was asked for; 'A' (a) ranks before it: must-have before should-have.",
    });
  });

  it('that waits is not selected; the items that it waits for are offered', () => {
    const all = items({ a: { moscow: 'must-have' }, b: on('c'), c: { moscow: 'could-have' }, d: on('a') });
    expect(chooseNextItem(all, 'b')).toMatchObject({ selected: null, pullIns: [{ id: 'c', unblocks: 'b' }] });
  });
});

describe('dependencies', () => {
  it('have faults for those that are not there and for circles, also of completed items', () => {
    const all = items({ b: { ...on('a'), ...DONE }, a: on('b'), c: on('y', 'x', 'x') });
    expect(dependencyFaults(all).map(({ message }) => message)).toEqual([
      `Field 'dependencies' of item 'c' has "x", which is not in the roadmap. Allowed: ids of its items.`,
      `Field 'dependencies' of item 'c' has "y", which is not in the roadmap. Allowed: ids of its items.`,
      "Field 'dependencies' of item 'a' leads back to it: a → b → a. Allowed: dependencies without a circle; take one of these out.",
    ]);
    expect(dependencyFaults(all).map(({ item, field, value }) => [item, field, value])).toEqual([
      ['c', 'dependencies', '"x"'],
      ['c', 'dependencies', '"y"'],
      ['a', 'dependencies', 'a → b → a'],
    ]);
  });

  it('have every item that depends on itself in a circle, each step of which is a dependency', () => {
    const random = seeded(5);
    for (let round = 0; round < 200; round += 1) {
      const all = aRoadmap(random, 7);
      const circles = circlesOf(all);
      const edges = new Map(all.map(({ id, dependencies = [] }) => [id, dependencies]));
      for (const circle of circles)
        circle.forEach((id, index) => expect(edges.get(id)).toContain(circle[(index + 1) % circle.length]));
      const inSome = all.filter(({ id }) => circles.some((circle) => circle.includes(id)));
      expect(ids(inSome)).toEqual(ids(all.filter(({ id }) => reaches(id, id, edges))));
    }
  });

  it('are named for the largest circle in a text that stays short', () => {
    const all = Array.from({ length: MAX_ITEMS }, (_, index) =>
      anItem(`i${String(index).padStart(3, '0')}`, on(`i${String((index + 1) % MAX_ITEMS).padStart(3, '0')}`)),
    );
    const { circles, others } = chooseNextItem(all);
    expect(circles.map(({ length }) => length)).toEqual([MAX_ITEMS]);
    expect(others[0]?.rationale).toBe(
      'Depends on itself: i000 → i001 → i002 → i003 → i004 → i005 → i006 → i007 → i008 → i009 → … (990 more) → i000. Take one of these dependencies out.',
    );
  });

  it('are counted for the largest roadmap in time', () => {
    const all = Array.from({ length: MAX_ITEMS }, (_, index) =>
      anItem(`i${index}`, on(...Array.from({ length: Math.min(index, 100) }, (_each, back) => `i${index - back - 1}`))),
    );
    expect(waitingCounts(all).get('i0')).toBe(MAX_ITEMS - 1);
    expect(chooseNextItem(all).selected?.id).toBe('i0');
  });
});

function reaches(from: string, to: string, edges: ReadonlyMap<string, readonly string[]>): boolean {
  const reached = new Set(edges.get(from));
  for (const id of reached) for (const next of edges.get(id) ?? []) reached.add(next);
  return reached.has(to);
}

/** A repeatable row of numbers from 0 to below 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function oneOf<T>(random: () => number, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

function aRoadmap(random: () => number, size: number): readonly RoadmapItem[] {
  return Array.from({ length: size }, (_, index) =>
    anItem(`i${index}`, {
      moscow: oneOf(random, MOSCOW),
      timeHorizon: oneOf(random, TIME_HORIZONS),
      health: oneOf(random, HEALTHS),
      status: oneOf(random, ['not-started', ...ITEM_STATUSES]),
      dependencies: Array.from({ length: Math.floor(random() * 3) }, () => `i${Math.floor(random() * (size + 1))}`),
      createdAt: oneOf(random, ['2026-01-01T10:00:00Z', '2026-01-01T12:00:00+02:00', '2026-01-02T10:00:00Z']),
    }),
  );
}

function shuffled<T>(values: readonly T[], random: () => number): readonly T[] {
  return values
    .map((value) => ({ value, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ value }) => value);
}
