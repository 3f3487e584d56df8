import { describe, expect, it } from 'vitest';
import { createDrawer, type DrawingReply, type DrawingRequest, sharedThreadFault } from './drawing.ts';

const flow = (...lines: readonly string[]): string => `flowchart TD\n${lines.join('\n')}\n`;
const numbered = (count: number, line: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => line(index));

describe('E02 where nothing can stop a drawing', () => {
  it('a diagram as people draw it is begun', () => {
    expect(sharedThreadFault(flow(...numbered(40, (index) => `a${index} --> a${index + 1}`)))).toBeNull();
  });

  it.each([
    ['many nodes', flow(...numbered(500, (index) => `n${index}`)), 'lines'],
    ['many nodes on one line', flow(numbered(500, (index) => `n${index}`).join(';')), 'lines'],
    ['a long text', flow(`a["${'x'.repeat(500)}"]`), 'a line of it'],
    ['much text', flow(...numbered(60, () => `a["${'x '.repeat(100)}"]`)), 'characters'],
    [
      'deep nesting',
      flow(...numbered(20, (index) => `subgraph s${index}`), 'a --> b', ...numbered(20, () => 'end')),
      'groups',
    ],
    ['nested states', `stateDiagram-v2\n${numbered(20, (index) => `state s${index} {`).join('\n')}`, 'groups'],
  ])('%s is not', (_, source, reason) => {
    expect(sharedThreadFault(source)).toContain(reason);
  });
});

describe('A diagram', () => {
  const look = { isDark: false, fontFamily: 'serif' };

  it('is drawn once: a second look at it finds what is kept, another look or a refused one does not', async () => {
    const { drawer, turns } = aDrawer((source) => (source === 'bad' ? 'refused' : 'drawn'));
    const [one, other] = await Promise.all([drawer.draw('a', look), drawer.draw('a', look)]);
    expect(one.svg).toBe('<svg>a</svg>');
    expect([other, await drawer.draw('a', { ...look })]).toEqual([one, one]);
    expect(turns).toHaveLength(1);
    await drawer.draw('a', { ...look, isDark: true });
    for (const _ of [1, 2]) await expect(drawer.draw('bad', look)).rejects.toThrow('not a diagram');
    expect(turns.map(({ source }) => source)).toEqual(['a', 'a', 'bad', 'bad']);
  });

  it('that is slow gives way to the others, and gets more time until it is drawn', async () => {
    const { drawer, turns } = aDrawer((source, ms) => (source === 'slow' && ms < 100_000 ? 'late' : 'drawn'));
    const order: string[] = [];
    const draw = async (source: string): Promise<void> => {
      await drawer.draw(source, look);
      order.push(source);
    };
    await Promise.all(['a', 'slow', 'b', 'c'].map(draw));
    expect(order).toEqual(['a', 'b', 'c', 'slow']);
    expect(turns.flatMap(({ source, ms }) => (source === 'slow' ? ms : []))).toEqual([5_000, 15_000, 45_000, 135_000]);
  });

  it('that is asked for while a slow one has a further turn is drawn at once', async () => {
    const begun = Promise.withResolvers<void>();
    const { drawer, turns } = aDrawer((source, ms) => {
      if (source !== 'endless') return 'drawn';
      if (ms < 40_000) return 'late';
      begun.resolve();
      return 'endless';
    });
    void drawer.draw('endless', look);
    await begun.promise;
    await drawer.draw('quick', look);
    await expect
      .poll(() => turns.map(({ source, ms }) => `${source} ${ms}`))
      .toEqual([
        'endless 5000',
        'endless 15000',
        'endless 45000',
        'quick 5000',
        // The interrupted turn begins again, no longer than it was.
        'endless 45000',
      ]);
  });

  it('that takes long is drawn only while somebody looks at it', async () => {
    const begun = Promise.withResolvers<void>();
    const { drawer, turns, frames } = aDrawer((source, ms) => {
      if (source !== 'endless') return 'drawn';
      if (ms < 10_000) return 'late';
      begun.resolve();
      return 'endless';
    });
    const [one, other] = [new AbortController(), new AbortController()];
    for (const { signal } of [one, other]) void drawer.draw('endless', look, { signal });
    await begun.promise;
    one.abort();
    expect(frames).toEqual(['opened', 'ended', 'opened']);
    other.abort();
    expect(frames).toEqual(['opened', 'ended', 'opened', 'ended']);
    await drawer.draw('quick', look);
    expect(turns.map(({ source }) => source)).toEqual(['endless', 'endless', 'quick']);
  });
});

type Turn = 'drawn' | 'refused' | 'late' | 'endless';

/**
 * There is no document here: frames that draw as they are told.
 * @param turn outcome by source and time of the turn; `endless` is over when its frame is ended
 */
function aDrawer(turn: (source: string, ms: number) => Turn) {
  const turns: { readonly source: string; readonly ms: number }[] = [];
  const frames: string[] = [];
  const open = () => {
    frames.push('opened');
    const ended = Promise.withResolvers<null>();
    const ask = async (request: DrawingRequest, _isReply: unknown, ms: number): Promise<DrawingReply | null> => {
      if (request.kind !== 'draw') return null;
      const { id, source } = request;
      turns.push({ source, ms });
      const outcome = turn(source, ms);
      if (outcome === 'endless') return ended.promise;
      if (outcome === 'late') return null;
      if (outcome === 'refused') return { kind: 'refused', id, reason: 'not a diagram' };
      const graph = { type: 'flowchart', nodes: [], edges: [] } as const;
      return { kind: 'drawn', id, svg: `<svg>${source}</svg>`, graph, names: { nodes: {}, edges: [] } };
    };
    const end = (): void => {
      frames.push('ended');
      ended.resolve(null);
    };
    return Promise.resolve({ frame: { ask, end }, isIsolated: true });
  };
  return { drawer: createDrawer(open), turns, frames };
}
