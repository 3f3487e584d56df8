import { describe, expect, it } from 'vitest';
import { decideStop, type ItemInPhase, type LastAnswer, type StopRequest } from './stop-decision.ts';

const item = (id: string, phase: string): ItemInPhase => ({ id, title: `Title of ${id}`, phase });
const claim = (phase: string): string => `Done. <promise>PHASE_COMPLETE:${phase}</promise>`;
const answered = (fields: Partial<LastAnswer> = {}): LastAnswer => ({
  itemId: 'a',
  phase: 'implementing',
  promptId: 'p1',
  refusals: 1,
  ...fields,
});

const decide = (request: Partial<StopRequest>) =>
  decideStop({
    items: [item('a', 'implementing')],
    said: 'I stop here.',
    promptId: 'p1',
    isContinuation: false,
    earlier: null,
    maxBlocks: 3,
    ...request,
  });

describe('a stop', () => {
  it('is refused while an item is in progress, and the session remembers which one', () => {
    expect(decide({})).toEqual({ allows: false, item: item('a', 'implementing'), answer: answered() });
  });

  it.each(['ideating', 'specifying', 'decomposing', 'testing', 'committing', 'releasing', 'a word of mine'])(
    'is refused in phase %s',
    (phase) => {
      expect(decide({ items: [item('done', 'completed'), item('a', phase)] })).toMatchObject({
        allows: false,
        item: { id: 'a' },
      });
    },
  );

  it.each([
    ['there are no items', []],
    ['none is begun', [item('a', 'not-started')]],
    ['all are completed', [item('a', 'completed')]],
  ])('is allowed when %s', (_, items) => {
    expect(decide({ items, said: claim('implementing') })).toEqual({ allows: true, because: 'nothing-in-progress' });
  });

  it('is allowed when the agent aborts', () => {
    expect(decide({ said: 'I cannot. <promise>ABORT</promise>' })).toEqual({ allows: true, because: 'aborted' });
  });
});

it('names the item that the session was refused for while that is in progress, else the first one', () => {
  const items = [item('b', 'ideating'), item('a', 'testing')];
  expect(decide({ items, earlier: answered() })).toMatchObject({ allows: false, item: { id: 'a' } });
  expect(decide({ items, earlier: answered({ itemId: 'gone' }) })).toMatchObject({ allows: false, item: { id: 'b' } });
});

describe('PHASE_COMPLETE', () => {
  it.each([
    ['is the phase of the item', 'implementing', 'implementing'],
    ['is a later phase', 'testing', 'implementing'],
    ['is a phase from which the item went back', 'testing', 'implementing'],
    ['is not-started', 'not-started', 'implementing'],
    ['is no phase', 'everything', 'implementing'],
    ['cannot be compared with the item', 'implementing', 'my-own'],
  ])('allows nothing when what it names %s', (_, claimed, phase) => {
    expect(decide({ items: [item('a', phase)], said: claim(claimed) })).toMatchObject({ allows: false });
  });

  it('allows the stop when the roadmap has the item in a later phase', () => {
    expect(decide({ items: [item('a', 'testing')], said: claim('implementing') })).toEqual({
      allows: true,
      because: 'phase-completed',
      answer: answered({ phase: 'testing', refusals: 0 }),
    });
  });

  it('counts for the item that the session was refused for', () => {
    const items = [item('other', 'ideating'), item('a', 'testing')];
    expect(decide({ items, said: claim('implementing') })).toMatchObject({ allows: false, item: { id: 'other' } });
    expect(decide({ items, said: claim('implementing'), earlier: answered() })).toMatchObject({
      allows: true,
      because: 'phase-completed',
    });
  });

  it('counts for that item also when it is completed', () => {
    const items = [item('other', 'ideating'), item('a', 'completed')];
    const earlier = answered({ phase: 'releasing' });
    expect(decide({ items, said: claim('releasing'), earlier })).toMatchObject({ because: 'phase-completed' });
    expect(decide({ items, earlier })).toMatchObject({ allows: false, item: { id: 'other' }, answer: { refusals: 1 } });
  });

  it('allows nothing by a phase before the one of the last refusal', () => {
    expect(decide({ said: claim('decomposing') })).toMatchObject({ allows: true });
    expect(decide({ said: claim('decomposing'), earlier: answered() })).toMatchObject({ allows: false });
  });

  it('allows the stop again in the same prompt, and not in the next one', () => {
    const request = {
      items: [item('a', 'testing')],
      said: claim('implementing'),
      earlier: answered({ phase: 'testing', refusals: 0 }),
    };
    expect(decide(request)).toMatchObject({ allows: true, because: 'phase-completed' });
    expect(decide({ ...request, promptId: 'p2' })).toMatchObject({ allows: false, answer: { refusals: 1 } });
  });

  it('is read among other words, also when it stands twice', () => {
    const said = `${claim('ideating')} ${claim('implementing')} so it is`;
    expect(decide({ items: [item('a', 'testing')], said, earlier: answered() })).toMatchObject({ allows: true });
    expect(decide({ items: [item('a', 'testing')], said: '<promise>PHASE_COMPLETE:' })).toMatchObject({
      allows: false,
    });
  });
});

describe('refusals in a row', () => {
  it('end at the limit', () => {
    expect(decide({ earlier: answered({ refusals: 2 }) })).toMatchObject({ allows: false, answer: { refusals: 3 } });
    expect(decide({ earlier: answered({ refusals: 3 }) })).toEqual({
      allows: true,
      because: 'limit',
      item: item('a', 'implementing'),
    });
  });

  it.each<[string, Partial<StopRequest>]>([
    ['another prompt', { promptId: 'p2' }],
    ['another phase', { items: [item('a', 'testing')] }],
    ['another item', { items: [item('b', 'implementing')] }],
    ['a stop that follows no refusal, of a session that names no prompts', { promptId: null, isContinuation: false }],
  ])('begin again with %s', (_, request) => {
    expect(decide({ earlier: answered({ refusals: 3 }), ...request })).toMatchObject({
      allows: false,
      answer: { refusals: 1 },
    });
  });

  it('go on in a session that names no prompts while the agent works because of a refusal, or nobody knows', () => {
    const earlier = answered({ refusals: 3, promptId: null });
    for (const isContinuation of [true, null])
      expect(decide({ promptId: null, isContinuation, earlier })).toMatchObject({ allows: true, because: 'limit' });
  });
});
