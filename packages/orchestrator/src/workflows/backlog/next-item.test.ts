/** Rules of a backlog's loop. */
import { describe, expect, it } from 'vitest';
import type { BacklogItem, ItemStatus } from './backlog-table.ts';
import { type Attempt, MAX_ITERATIONS, type LoopState, afterAttempt, nextItem } from './next-item.ts';
import { choices } from './random.fixture.ts';

/** `A:queued P1 <B,C`: an item with its status, priority and dependencies. */
const anItem = (text: string, line: number): BacklogItem => {
  const [id = '', status = ''] = text.split(' ', 1)[0]?.split(':') ?? [];
  const priority = / P(\d)/.exec(text)?.[1];
  return {
    id,
    title: id,
    status: status as ItemStatus,
    priority: priority === undefined ? null : Number(priority),
    line,
    specPath: null,
    dependsOn: / <(\S+)/.exec(text)?.[1]?.split(',') ?? [],
  };
};
const backlogOf = (...items: readonly string[]) => ({ items: items.map(anItem) });
const FRESH: LoopState = { iterations: 0, begun: [], waiting: [] };
/** The answer in short: `item A`, `blocked A, skipped B C`. */
const next = (items: readonly string[], state: Partial<LoopState> = {}) => {
  const answer = nextItem(backlogOf(...items), { ...FRESH, ...state });
  const ids = (list: readonly BacklogItem[]): string => list.map(({ id }) => id).join(' ');
  switch (answer.kind) {
    case 'item':
      return `item ${answer.item.id}`;
    case 'blocked':
      return `blocked ${answer.item.id}, skipped ${ids(answer.skipped)}`;
    case 'waiting':
      return `waiting ${ids(answer.items)}`;
    case 'refused':
      return answer.message;
    default:
      return answer.kind;
  }
};

describe('nextItem', () => {
  it.each([
    [['A:queued', 'B:queued P1', 'C:queued P0', 'D:queued P0'], 'item C'],
    [['A:queued', 'B:queued'], 'item A'],
    [['A:queued P0', 'B:in_progress', 'C:in_progress P3'], 'item C'],
    [['A:blocked P0', 'B:queued'], 'item B'],
    [['A:queued P0 <B', 'B:queued'], 'item B'],
    [['A:done', 'B:queued P1 <A'], 'item B'],
    [['A:queued <B', 'B:blocked', 'C:queued'], 'item C'],
    [['A:done', 'B:done'], 'done'],
    [['A:done', 'B:blocked'], 'done'],
    [[], 'done'],
    [['A:queued <B', 'B:queued <C', 'C:blocked', 'D:done'], 'blocked C, skipped A B'],
  ])('of %j gives %s', (items, expected) => {
    expect(next(items)).toBe(expected);
    expect(next(items, { keepGoing: true })).toBe(expected);
  });

  it('stops at an item that the run found blocked, and goes on with others when it is to keep going', () => {
    const items = ['A:blocked', 'B:queued <A', 'C:queued <B', 'D:queued'];
    expect(next(items, { begun: ['A'] })).toBe('blocked A, skipped B C');
    expect(next(items, { begun: ['A'], keepGoing: true })).toBe('item D');
    const last = [...items.slice(0, 3), 'D:done'];
    expect(next(last, { begun: ['A', 'D'], keepGoing: true })).toBe('blocked A, skipped B C');
    expect(next(['A:blocked', 'D:done'], { begun: ['A', 'D'], keepGoing: true })).toBe('blocked A, skipped ');
  });

  it('waits for a person, and begins the next item meanwhile when it is to keep going', () => {
    const items = ['A:in_progress P0', 'B:queued <A', 'C:queued'];
    expect(next(items, { begun: ['A'], waiting: ['A'] })).toBe('waiting A');
    expect(next(items, { begun: ['A'], waiting: ['A'], keepGoing: true })).toBe('item C');
    const last = ['A:in_progress', 'B:queued <A', 'C:done', 'D:blocked'];
    expect(next(last, { begun: ['A', 'C', 'D'], waiting: ['A'], keepGoing: true })).toBe('waiting A');
    expect(next(['A:done', 'B:queued <A'], { begun: ['A'], waiting: ['A'] })).toBe('item B');
  });

  it('begins no more attempts than are allowed, and says what is left without them', () => {
    expect(next(['A:queued'], { iterations: MAX_ITERATIONS - 1 })).toBe('item A');
    expect(next(['A:queued'], { iterations: MAX_ITERATIONS })).toBe('iterations');
    expect(next(['A:queued'], { iterations: 1, maxIterations: 1 })).toBe('iterations');
    expect(next(['A:queued'], { iterations: 1, maxIterations: 1, only: 'A' })).toBe('iterations');
    expect(next(['A:done'], { iterations: MAX_ITERATIONS })).toBe('done');
    expect(next(['A:blocked', 'B:queued'], { iterations: MAX_ITERATIONS, begun: ['A'] })).toBe('blocked A, skipped ');
  });

  it.each([
    ['B', 'item B'],
    ['TECH', 'Item not found: TECH'],
    ['TECH-65', 'Item not found: TECH-65'],
    ['constructor', 'Item not found: constructor'],
    ['D', "Item D is done already. Set its status to 'queued' to take it again."],
    ['E', 'blocked E, skipped G'],
    ['F', 'Item F depends on A (queued), C (in_progress). Do that first, or take the dependency out.'],
  ])('takes %s alone: %s', (only, expected) => {
    const items = [
      'A:queued P0',
      'B:queued P5',
      'C:in_progress',
      'D:done',
      'E:blocked',
      'F:queued <A,C,D',
      'TECH-6:queued',
      'G:queued <E',
    ];
    expect(next(items, { only })).toBe(expected);
  });

  it('ends when the one item is done, and waits with it', () => {
    expect(next(['A:queued', 'B:done'], { only: 'B', begun: ['B'] })).toBe('done');
    expect(next(['A:queued', 'B:in_progress'], { only: 'B', begun: ['B'], waiting: ['B'], keepGoing: true })).toBe(
      'waiting B',
    );
  });

  it('gives the same in any order of the items', () => {
    const statuses = ['queued', 'queued', 'in_progress', 'blocked', 'done'] as const;
    for (let seed = 0; seed < 300; seed += 1) {
      const { below, pick, shuffled } = choices(seed);
      const items = Array.from({ length: 1 + below(8) }, (_, n) => {
        const dependency = n > 0 && below(2) === 0 ? ` <I${below(n)}` : '';
        return anItem(`I${n}:${pick(statuses)} P${below(3)}${dependency}`, n);
      });
      const state = {
        ...FRESH,
        keepGoing: below(2) === 0,
        begun: below(2) === 0 ? ['I0'] : [],
        waiting: below(3) === 0 ? ['I1'] : [],
      };
      const answer = nextItem({ items }, state);
      expect(nextItem({ items: shuffled(items) }, state)).toEqual(answer);
      if (answer.kind === 'item') {
        expect(['queued', 'in_progress']).toContain(answer.item.status);
        for (const id of answer.item.dependsOn) expect(items.find((item) => item.id === id)?.status).toBe('done');
      }
    }
  });

  it('takes linear time', () => {
    const items = Array.from({ length: 20_000 }, (_, n) =>
      anItem(`I${n}:${n === 0 ? 'blocked' : 'queued'} <I${Math.max(0, n - 1)}`, n),
    );
    items[0] = anItem('I0:blocked', 0);
    const started = process.cpuUsage();
    expect(nextItem({ items }, FRESH)).toMatchObject({ kind: 'blocked', skipped: { length: 19_999 } });
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000);
  });
});

const DONE: Attempt = { ended: 'done', checks: 'green', hasCommits: true };
const RED: Attempt = { ended: 'done', checks: 'red', hasCommits: true };
const UNCHECKED: Attempt = { ended: 'done', checks: null, hasCommits: true };
const LEFT: Attempt = { ended: 'in_progress', checks: null, hasCommits: true };
const GREEN_LEFT: Attempt = { ended: 'in_progress', checks: 'green', hasCommits: true };
const UNTOUCHED: Attempt = { ended: 'in_progress', checks: null, hasCommits: false };
const ASKED: Attempt = { ended: 'asked', checks: null, hasCommits: false };
const ESCALATED: Attempt = { ended: 'escalated', checks: 'green', hasCommits: true };
const BLOCKED: Attempt = { ended: 'blocked', checks: null, hasCommits: true };

describe('afterAttempt', () => {
  const after = (attempts: readonly Attempt[]) => {
    const answer = afterAttempt(attempts);
    if (answer.kind === 'blocked') return `blocked: ${answer.reason}`;
    return answer.kind === 'again' && answer.handOver ? 'again with a hand-over' : answer.kind;
  };

  it.each([
    [[], 'again'],
    [[DONE], 'done'],
    [[LEFT, LEFT, DONE], 'done'],
    [[{ ...DONE, hasCommits: false }], 'done'],
    [[RED], 'again with a hand-over'],
    [[UNCHECKED], 'again with a hand-over'],
    [[GREEN_LEFT], 'again with a hand-over'],
    [[LEFT, LEFT], 'again with a hand-over'],
    [[LEFT, RED, LEFT], 'blocked: unfinished'],
    [[RED, UNCHECKED, RED], 'blocked: unfinished'],
    [[UNTOUCHED], 'again'],
    [[UNTOUCHED, UNTOUCHED], 'blocked: no_progress'],
    [[{ ...RED, hasCommits: false }, UNTOUCHED], 'blocked: no_progress'],
    [[LEFT, UNTOUCHED], 'again with a hand-over'],
    [[UNTOUCHED, LEFT, UNTOUCHED], 'again with a hand-over'],
    [[LEFT, UNTOUCHED, UNTOUCHED], 'blocked: no_progress'],
    [[UNTOUCHED, ASKED, UNTOUCHED], 'again'],
    [[ASKED], 'waiting'],
    [[ESCALATED], 'waiting'],
    [[LEFT, ASKED, LEFT, ESCALATED, LEFT], 'blocked: unfinished'],
    [[BLOCKED], 'blocked: agent'],
  ])('of %j: %s', (attempts, expected) => {
    expect(after(attempts)).toBe(expected);
  });

  it('says in words why an item is blocked', () => {
    expect(afterAttempt([{ ended: 'cancelled', checks: null, hasCommits: false }])).toEqual({
      kind: 'blocked',
      reason: 'cancelled',
      why: 'its attempt was cancelled',
    });
    expect(afterAttempt([UNTOUCHED, UNTOUCHED])).toEqual({
      kind: 'blocked',
      reason: 'no_progress',
      why: '2 attempts one after the other changed nothing',
    });
  });

  it('ends after a few attempts, whatever they come to', () => {
    const unfinished = [RED, UNCHECKED, LEFT, UNTOUCHED] as const;
    for (let seed = 0; seed < 200; seed += 1) {
      const { pick } = choices(seed);
      const attempts: Attempt[] = [];
      while (after(attempts).startsWith('again')) attempts.push(pick(unfinished));
      expect(attempts.length).toBeLessThanOrEqual(6);
      expect(after(attempts)).toMatch(/^blocked/);
    }
  });
});
