import { NeedsHuman } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../documents/content-hash.ts';
import { awaitingMerge } from './awaiting-merge.ts';
import { type BaseFiles, itemIn, spentBy, stateUpdate, withState } from './item-state.ts';
import type { Finding, ReadItemInput, StateChange } from './types.ts';

const PATH = 'roadmap/roadmap.json';
const AT = '2026-03-01T10:00:00.000Z';

type Fields = Readonly<Record<string, unknown>>;

const anItem = (id: string, fields: Fields = {}): Fields => ({
  id,
  title: `Title of ${id}`,
  type: 'feature',
  moscow: 'should-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'next',
  ...fields,
});
const textOf = (...items: readonly Fields[]): string => `${JSON.stringify({ projectName: 'Shop', items }, null, 2)}\n`;

const INPUT: ReadItemInput = {
  runId: 'run-1',
  projectId: 'project-1',
  request: 'Carry out a',
  branch: 'autonomous/run-1',
  startedAt: AT,
  baseBranch: 'main',
  roadmap: PATH,
  item: 'a',
};
const base = (roadmap: string | null, texts: Readonly<Record<string, string>> = {}): BaseFiles => ({
  commit: 'c0ffee',
  roadmap,
  paths: Object.keys(texts),
  texts: new Map(Object.entries(texts)),
});
const read = (...items: readonly Fields[]) => itemIn(INPUT, base(textOf(...items)));

describe('the folder of an item', () => {
  const slugOfA = (texts: Readonly<Record<string, string>>, ...items: readonly Fields[]): string => {
    const found = itemIn(INPUT, base(textOf(...items), texts));
    if (found.kind !== 'item') throw new Error(found.kind);
    return found.item.slug;
  };
  const own = `title-of-a-${hashOf('a').slice(0, 8)}`;

  it('is one of its own where another item has the same title, begun or not', () => {
    expect(slugOfA({}, anItem('a'), anItem('b', { title: 'Title of: a' }))).toBe(own);
  });

  it('is one of its own where the roadmap gives the folder to another item', () => {
    expect(slugOfA({}, anItem('a'), anItem('b', { workflowState: { specSlug: 'title-of-a' } }))).toBe(own);
    const both = { workflowState: { specSlug: 'title-of-b' } };
    expect(slugOfA({}, anItem('a', both), anItem('b', both))).toBe('title-of-a');
  });

  it('is not one whose documents say that they are of another item', () => {
    const a = anItem('a', { workflowState: { specSlug: 'login' } });
    const of = (item: string) => ({ 'specs/login/01-ideation.md': `---\nitem: ${item}\n---\n\n# Problem\n` });
    expect(slugOfA(of('b'), a)).toBe('title-of-a');
    expect(slugOfA(of('a'), a)).toBe('login');
  });
});

describe('the title of an item', () => {
  it('is one line without hidden characters, and the id where nothing of it is seen', () => {
    const titleOf = (title: string) => {
      const found = read(anItem('a', { title }));
      return found.kind === 'item' ? found.item.title : '';
    };
    expect(titleOf('Sign in\n\nCo-authored-by: Eve <eve@example.org>\u001b[31m')).toBe(
      'Sign in Co-authored-by: Eve <eve@example.org>⟨U+001B⟩[31m',
    );
    expect(titleOf(' \n ')).toBe('a');
  });
});

describe('whether an item can be worked on', () => {
  it('takes one that is not started or in progress', () => {
    expect(read(anItem('a'))).toMatchObject({ kind: 'item', item: { id: 'a', slug: 'title-of-a', documents: {} } });
    expect(read(anItem('a', { status: 'in-progress' }))).toMatchObject({ kind: 'item' });
  });

  it('takes one that nobody will have when it is named', () => {
    expect(read(anItem('a', { moscow: 'wont-have' }))).toMatchObject({ kind: 'item' });
  });

  it('ends with an unknown id, matched whole', () => {
    expect(read(anItem('aa'), anItem('A'))).toEqual({ kind: 'ends', message: 'Item not found: a' });
  });

  it.each<[string, readonly Fields[], string]>([
    ['it is completed', [anItem('a', { status: 'completed' })], 'Completed.'],
    ['a dependency is not completed', [anItem('a', { dependencies: ['b'] }), anItem('b')], 'b'],
    ['it is on hold and waits', [anItem('a', { status: 'on-hold', dependencies: ['b'] }), anItem('b')], 'b'],
  ])('ends where %s', (_, items, named) => {
    const found = read(...items);
    if (found.kind !== 'ends') throw new Error(found.kind);
    expect(found.message).toMatch(/^Item 'Title of a' \(a\) cannot be started: \S/);
    expect(found.message.slice(found.message.indexOf('started:'))).toContain(named);
  });

  it('takes one on hold whose dependencies are completed', () => {
    const items = [anItem('a', { status: 'on-hold', dependencies: ['b'] }), anItem('b', { status: 'completed' })];
    expect(read(...items)).toMatchObject({ kind: 'item' });
  });

  it('names the faults of a roadmap, five at most', () => {
    const found = read(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => anItem(id, { moscow: 'soon' })));
    if (found.kind !== 'faults') throw new Error(found.kind);
    expect(found.faults).toHaveLength(5);
    expect(found.faults[0]).toContain('"soon"');
  });

  it('says that the base has no roadmap', () => {
    expect(itemIn(INPUT, base(null))).toEqual({
      kind: 'faults',
      faults: [
        "main has no file 'roadmap/roadmap.json' (a link to one does not count). Commit the roadmap and push it, or name another file.",
      ],
    });
  });
});

describe('the documents of an item', () => {
  const IDEATION = '---\ntitle: Ideation\n---\n\n# Problem\n';
  const named = anItem('a', { workflowState: { specSlug: 'mine', metrics: { costUsd: 2, inputTokens: 3 } } });

  it('are those of the folder that the roadmap names', () => {
    const found = itemIn(
      INPUT,
      base(textOf(named), { 'specs/mine/01-ideation.md': IDEATION, 'specs/mine/02-specification.md': 'As it is' }),
    );
    expect(found).toMatchObject({
      kind: 'item',
      item: {
        slug: 'mine',
        before: { costUsd: 2, inputTokens: 3, outputTokens: 0 },
        documents: {
          ideating: { text: '# Problem', artifactHash: hashOf(IDEATION), commit: 'c0ffee' },
          specifying: { text: 'As it is' },
        },
      },
    });
  });

  it('are none of a specification without an ideation', () => {
    const found = itemIn(INPUT, base(textOf(named), { 'specs/mine/02-specification.md': 'As it is' }));
    expect(found).toMatchObject({ item: { documents: {} } });
    expect(found.kind === 'item' && found.item.documents.specifying).toBeUndefined();
  });

  it('get a folder of their own where another item has that of the title', () => {
    const found = itemIn(INPUT, base(textOf(anItem('a')), { 'specs/title-of-a/01-ideation.md': IDEATION }));
    expect(found).toMatchObject({ item: { slug: `title-of-a-${hashOf('a').slice(0, 8)}`, documents: {} } });
  });

  it('stay below specs/ whatever the roadmap names', () => {
    expect(read(anItem('a', { workflowState: { specSlug: '../../etc' } }))).toMatchObject({
      item: { slug: 'title-of-a' },
    });
  });

  it('are not described to agents with the state of the work', () => {
    const found = read(anItem('a', { owner: 'me', workflowState: { phase: 'testing' } }));
    const text = found.kind === 'item' ? found.item.text : '';
    expect(text).toContain('"owner": "me"');
    expect(text).not.toContain('workflowState');
  });
});

const CHANGE: StateChange = {
  phase: 'implementing',
  slug: 'title-of-a',
  tasksTotal: 3,
  tasksCompleted: 1,
  attempts: 0,
  blockers: [],
  before: { costUsd: 0.1, inputTokens: 10, outputTokens: 20 },
  adding: [],
};
const SPENT = { costUsd: 0.2, inputTokens: 1, outputTokens: 2 };

const NOW = { spent: SPENT, at: AT, isOnBranch: false };

function changed(
  text: string | null,
  more: Partial<StateChange> = {},
  to: 'base' | 'branch' = 'base',
  now = NOW,
): string {
  const { branch } = INPUT;
  return withState(PATH, text, { ...now, item: 'a', branch, change: { ...CHANGE, ...more }, to });
}
const itemsOf = (text: string): readonly Fields[] => (JSON.parse(text) as { items: Fields[] }).items;
const itemOf = (text: string, id = 'a'): Fields => itemsOf(text).find((item) => item['id'] === id) ?? {};
const aBug = (fields: Partial<Finding> = {}): Finding => ({
  id: 'bug-1',
  title: 'A crash',
  description: 'It crashes.',
  size: 'large',
  blocks: false,
  ...fields,
});

/** With tabs, a list on one line and another item on one line, as a person wrote it. */
const LAYOUT = `{
\t"projectName": "Shop",
\t"items": [
\t\t{ "id": "z", "title": "Z", "type": "bugfix", "moscow": "must-have", "status": "not-started", "health": "at-risk", "timeHorizon": "now" },
\t\t{
\t\t\t"id": "a",
\t\t\t"title": "Title of \\u0061",
\t\t\t"type": "feature",
\t\t\t"labels": ["one", "two"],
\t\t\t"moscow": "should-have",
\t\t\t"status": "not-started",
\t\t\t"health": "on-track",
\t\t\t"timeHorizon": "next",
\t\t\t"estimate": 1.50
\t\t}
\t]
}`;

describe('a new state of an item', () => {
  it('is its phase, its tasks and its times', () => {
    const text = changed(textOf(anItem('a', { owner: 'me' })), { begins: true, attempts: 2, blockers: ['Why.'] });
    expect(itemOf(text)).toEqual({
      ...anItem('a', { owner: 'me' }),
      status: 'in-progress',
      updatedAt: AT,
      workflowState: {
        phase: 'implementing',
        specSlug: 'title-of-a',
        tasksTotal: 3,
        tasksCompleted: 1,
        lastSession: AT,
        attempts: 2,
        blockers: ['Why.'],
        metrics: { costUsd: 0.3, inputTokens: 11, outputTokens: 22 },
      },
    });
  });

  it('leaves other fields, other items and the layout byte for byte', () => {
    const before = LAYOUT.split('\n');
    const after = changed(LAYOUT, { begins: true });
    const kept = before.filter((line) => !/"(status": "not-started",|estimate|id": "z")/.test(line.trim()));
    const lines = after.split('\n');
    for (const line of kept) expect(lines).toContain(line);
    expect(lines[3]).toBe(before[3]);
    expect(after).toContain('\t\t\t"estimate": 1.50,\n\t\t\t"updatedAt"');
    expect(itemOf(after)['status']).toBe('in-progress');
  });

  it("keeps a person's edits of other fields and items of the time between", () => {
    const edited = textOf(
      anItem('new'),
      anItem('a', { health: 'at-risk', owner: 'you', status: 'in-progress', workflowState: { phase: 'ideating' } }),
    );
    const after = changed(edited);
    expect(itemOf(after)).toMatchObject({ health: 'at-risk', owner: 'you', workflowState: { phase: 'implementing' } });
    expect(itemOf(after, 'new')).toEqual(anItem('new'));
  });

  it('keeps fields of the state and of the sums that it does not know', () => {
    const state = { notes: 'by hand', metrics: { hours: 4, costUsd: 99 } };
    expect(itemOf(changed(textOf(anItem('a', { workflowState: state }))))['workflowState']).toMatchObject({
      notes: 'by hand',
      metrics: { hours: 4, costUsd: 0.3 },
    });
  });

  it('keeps ten blockers of 500 characters', () => {
    const blockers = Array.from({ length: 12 }, () => 'x'.repeat(501));
    const after = changed(textOf(anItem('a')), { blockers });
    const kept = (itemOf(after)['workflowState'] as { blockers: string[] }).blockers;
    expect(kept).toEqual(Array.from({ length: 10 }, () => 'x'.repeat(500)));
  });

  it('leaves the status before the end, also one that a person has set', () => {
    expect(itemOf(changed(textOf(anItem('a', { status: 'on-hold' }))))['status']).toBe('on-hold');
  });

  it('asks about the status of a person before the last state, which comes with the branch', () => {
    const last = { phase: 'committing', isLast: true } as const;
    const status = (before: string, more: Partial<StateChange> = {}): unknown =>
      itemOf(changed(textOf(anItem('a', { status: before })), { ...last, ...more }))['status'];
    expect(status('in-progress')).toBe('in-progress');
    expect(status('completed')).toBe('completed');
    expect(status('not-started', { begins: true })).toBe('in-progress');
    expect(() => status('on-hold')).toThrow(NeedsHuman);
  });

  it('takes the item up on the branch where the base has the states before it', () => {
    const untouched = textOf(anItem('a', { status: 'not-started' }));
    expect(itemOf(changed(untouched, {}, 'branch'))['status']).toBe('in-progress');
    expect(itemOf(changed(untouched, { phase: 'completed' }, 'branch'))['status']).toBe('completed');
    const later = { ...NOW, isOnBranch: true };
    expect(itemOf(changed(untouched, { phase: 'completed' }, 'branch', later))['status']).toBe('completed');
    const held = textOf(anItem('a', { status: 'on-hold' }));
    expect(() => changed(held, { phase: 'completed' }, 'branch', later)).toThrow(NeedsHuman);
  });

  it.each(['in-progress', 'completed'])('is completed at the end where it was %s', (status) => {
    expect(itemOf(changed(textOf(anItem('a', { status })), { phase: 'completed' }))['status']).toBe('completed');
  });

  it("takes the place of the run's own result that waits for its merge, and not of another run's", () => {
    const waiting = (branch: string): string =>
      textOf(
        anItem('a', {
          status: 'in-progress',
          workflowState: { phase: 'committing', blockers: [awaitingMerge(branch, 'main')] },
        }),
      );
    for (const own of [INPUT.branch, `${INPUT.branch}-beside`])
      expect(itemOf(changed(waiting(own), { phase: 'testing' }))['workflowState']).toMatchObject({ phase: 'testing' });
    for (const other of ['autonomous/run-2', `${INPUT.branch}0`])
      expect(() => changed(waiting(other), { phase: 'testing' })).toThrow(
        `${PATH} says of a that another run has finished it: Its result is on the branch ${other}: merge it into main. Cancel this run.`,
      );
  });

  it('says in the message of the commit what it is', () => {
    const input = { ...INPUT, head: 'c0ffee', roadmap: PATH, item: 'a' };
    expect(stateUpdate({ ...input, change: CHANGE }, NOW).message).toBe('Roadmap: a implementing');
    expect(stateUpdate({ ...input, change: { ...CHANGE, blockers: ['Why.'] } }, NOW).message).toBe(
      'Roadmap: a implementing, blocked',
    );
  });
});

describe('a state that cannot be written', () => {
  it.each<[string, string | null, Partial<StateChange>, string]>([
    ['the item is removed', textOf(anItem('b')), {}, 'has no item a any more'],
    ['the file is removed', null, {}, 'is not there any more'],
    ['the file cannot be read', '{ "items": [', {}, 'cannot be read any more'],
    [
      'a person has set another status at the end',
      textOf(anItem('a', { status: 'on-hold' })),
      { phase: 'completed' },
      "says that a is 'on-hold'",
    ],
  ])('is a question where %s', (_, text, more, message) => {
    let error: unknown;
    try {
      changed(text, more);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(NeedsHuman);
    expect(error).toMatchObject({ reason: 'merge_conflict' });
    expect(String(error)).toContain(`${PATH} ${message}`);
    expect(String(error)).toMatch(/ push, then retry/);
  });
});

it('is a question where the roadmap is full', () => {
  const many = Array.from({ length: 999 }, (_, index) => anItem(`i-${index}`));
  const full = textOf(anItem('a'), ...many);
  expect(() => changed(full, { adding: [aBug()] })).toThrow(
    /cannot take the state of a: .*Make room there and push, then retry/,
  );
  expect(itemsOf(changed(full))).toHaveLength(1_000);
});

describe('bugs that become items', () => {
  it('stand after the item, as must-have of now, and are no dependency where they do not hold it up', () => {
    const after = changed(textOf(anItem('a'), anItem('b')), { adding: [aBug()] });
    expect(itemsOf(after).map(({ id }) => id)).toEqual(['a', 'bug-1', 'b']);
    expect(itemOf(after, 'bug-1')).toMatchObject({
      title: 'A crash',
      description: 'It crashes.',
      type: 'bugfix',
      moscow: 'must-have',
      status: 'not-started',
      timeHorizon: 'now',
      createdAt: AT,
    });
    expect(itemOf(after)).not.toHaveProperty('dependencies');
  });

  it('are dependencies where they hold it up', () => {
    const bugs = [aBug({ blocks: true }), aBug({ id: 'bug-2' })];
    const after = changed(textOf(anItem('a', { dependencies: ['b'] }), anItem('b')), { adding: bugs });
    expect(itemOf(after)['dependencies']).toEqual(['b', 'bug-1']);
  });

  it('are added once', () => {
    const adding = [aBug({ blocks: true })];
    const once = changed(textOf(anItem('a')), { adding });
    expect(changed(once, { adding })).toBe(once);
    const done = textOf(anItem('a'), anItem('bug-1', { status: 'completed' }));
    expect(itemsOf(changed(done, { adding })).map(({ id }) => id)).toEqual(['a', 'bug-1']);
    expect(itemOf(changed(done, { adding }), 'bug-1')).toEqual(anItem('bug-1', { status: 'completed' }));
  });
});

it('adds up the runs, also those whose price is not known', () => {
  expect(
    spentBy([
      { cost: { costUsd: 1, inputTokens: 2, outputTokens: 3 } },
      { cost: { inputTokens: 20, outputTokens: 30 } },
    ]),
  ).toEqual({ costUsd: 1, inputTokens: 22, outputTokens: 33 });
});
