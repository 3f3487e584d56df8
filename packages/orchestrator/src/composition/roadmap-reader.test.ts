import type { RoadmapContent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { contentOf } from './roadmap-reader.ts';

const ITEM = {
  id: 'sign-in',
  title: 'Sign in by a link',
  type: 'feature',
  moscow: 'must-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'now',
};
const textOf = (...items: readonly object[]): string => JSON.stringify({ items }, null, 2);
const read = (...items: readonly object[]): RoadmapContent => contentOf(textOf(...items), []);

function itemsOf(content: RoadmapContent) {
  if (content.kind !== 'items') throw new Error(`It is ${JSON.stringify(content)}`);
  return content;
}

describe('The reader of roadmaps', () => {
  it('gives the items without fields of a person, and the choice of the next one', () => {
    const state = { phase: 'testing', tasksTotal: 3, tasksCompleted: 2, mine: 1, metrics: { costUsd: 0.5, mine: 1 } };
    const { items, choice } = itemsOf(
      read(
        { ...ITEM, owner: 'Ada', dependencies: ['a', 'a'], status: 'in-progress', workflowState: state },
        { ...ITEM, id: 'a', moscow: 'could-have' },
      ),
    );
    expect(items).toEqual([
      {
        ...ITEM,
        status: 'in-progress',
        dependencies: ['a'],
        workflowState: { phase: 'testing', tasksTotal: 3, tasksCompleted: 2, metrics: { costUsd: 0.5 } },
        canStart: true,
      },
      { ...ITEM, id: 'a', moscow: 'could-have', dependencies: [], canStart: true },
    ]);
    expect(choice.selected).toMatchObject({ id: 'a', rationale: expect.stringContaining('could-have') });
    expect(choice.inProgress.map(({ id }) => id)).toEqual(['sign-in']);
  });

  it('lets a person start a wont-have whose dependencies are completed, and no item that waits or is held', () => {
    const { items, choice } = itemsOf(
      read(
        { ...ITEM, id: 'done', status: 'completed' },
        { ...ITEM, id: 'free', moscow: 'wont-have', dependencies: ['done'] },
        { ...ITEM, id: 'bound', moscow: 'wont-have', dependencies: ['free'] },
        { ...ITEM, id: 'waits', dependencies: ['free'] },
        { ...ITEM, id: 'held', status: 'on-hold' },
      ),
    );
    expect(items.filter(({ canStart }) => canStart).map(({ id }) => id)).toEqual(['free']);
    expect(choice.selected).toBeNull();
    expect(choice.others.find(({ id }) => id === 'free')?.rationale).toContain('only when it is named');
  });

  it('shows an item with a live run as in progress, with the state that the run has written to its own branch', () => {
    const state = { phase: 'testing', tasksTotal: 3 };
    const own = textOf({ ...ITEM, title: 'Another title', status: 'in-progress', workflowState: state });
    const text = textOf(ITEM, { ...ITEM, id: 'b' }, { ...ITEM, id: 'c' }, { ...ITEM, id: 'd', status: 'completed' });
    const { items, choice } = itemsOf(
      contentOf(text, [
        { item: 'sign-in', roadmap: own },
        { item: 'b', roadmap: null },
        { item: 'c', roadmap: 'nonsense' },
        { item: 'd', roadmap: null },
      ]),
    );
    expect(items.map(({ id, title, status, workflowState }) => [id, title, status, workflowState])).toEqual([
      ['sign-in', ITEM.title, 'in-progress', state],
      ['b', ITEM.title, 'in-progress', undefined],
      ['c', ITEM.title, 'in-progress', undefined],
      ['d', ITEM.title, 'completed', undefined],
    ]);
    expect(choice.inProgress).toHaveLength(3);
    expect(choice.selected).toBeNull();
  });

  it.each([
    [' A short one.\n', 'A short one.'],
    ['', undefined],
    [7, undefined],
    ['x'.repeat(600), 'x'.repeat(600)],
    ['x'.repeat(601), `${'x'.repeat(599)}…`],
    [`${'x'.repeat(598)}😀😀`, `${'x'.repeat(598)}…`],
    [`${'x'.repeat(599)}😀😀`, `${'x'.repeat(599)}…`],
  ])('shortens the description %j', (description, shown) => {
    expect(itemsOf(read({ ...ITEM, description })).items[0]?.description).toBe(shown);
  });

  it('gives faults with the line of the field, or of the item that lacks it', () => {
    const { moscow: _left, ...without } = ITEM;
    const text = JSON.stringify(
      {
        items: [
          { ...ITEM, workflowState: { blockers: ['a', 7] } },
          { ...without, id: 'b' },
        ],
      },
      null,
      2,
    );
    expect(contentOf(text, [])).toEqual({
      kind: 'faulty',
      total: 2,
      faults: [
        { line: 14, message: expect.stringContaining("Field 'workflowState.blockers[1]' of item 'sign-in' is 7.") },
        { line: 18, message: expect.stringContaining("Field 'moscow' of item 'b' is missing.") },
      ],
    });
    expect(text.split('\n')[13]).toBe('          7');
    expect(text.split('\n')[17]).toBe('    {');
  });

  it('points to the item of a fault, not to one whose id begins like its id, nor to another one with the same id', () => {
    const rows = [
      { ...ITEM, id: 'search-2' },
      { ...ITEM, id: 'search', health: 'bad' },
      { ...ITEM, id: 'twin' },
      { ...ITEM, id: 'twin', status: 'later' },
    ].map((item) => JSON.stringify(item));
    const content = contentOf(`{"items": [\n${rows.join(',\n')}\n]}`, []);
    if (content.kind !== 'faulty') throw new Error('It has no faults');
    const lines = content.faults.map(({ line, message }) => `${line} ${/Field '(\w+)'/.exec(message)?.[1]}`);
    expect(lines).toEqual(['3 health', '5 status', '4 id']);
  });

  it('points to the place of a field, also behind a byte order mark, and of an item without an id', () => {
    const text = `\uFEFF{\n"items": [\n${JSON.stringify({ ...ITEM, id: '' })},\n{"id": 7,\n"title": "x"}]}`;
    const content = contentOf(text, []);
    if (content.kind !== 'faulty') throw new Error('It has no faults');
    const lines = content.faults.map(({ line, message }) => `${line} ${/Field '(\w+)'/.exec(message)?.[1]}`);
    expect(lines).toContain('3 id');
    expect(lines).toContain('4 id');
    expect(lines).toContain('4 moscow');
  });

  it.each(['{"items": [}', 'null', '[]', `${'['.repeat(60)}${']'.repeat(60)}`])(
    'says in words what is wrong with the file %j',
    (text) => {
      const content = contentOf(text, []);
      expect(content).toMatchObject({ kind: 'faulty', total: 1, faults: [{ line: null }] });
    },
  );

  it('shows 50 faults of many, and their number', () => {
    const content = read(...Array.from({ length: 80 }, (_each, index) => ({ ...ITEM, id: `i${index}`, type: 'x' })));
    expect(content).toMatchObject({ kind: 'faulty', total: 80 });
    expect(content.kind === 'faulty' && content.faults.length).toBe(50);
  });
});
