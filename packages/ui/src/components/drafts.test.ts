import { expect, it } from 'vitest';
import { countLineDrafts, draftOf, drafts, leftDrafts, linesOf } from './drafts.ts';

it('keeps what was begun at a gate that somebody else decides, until it is dropped', () => {
  drafts.trigger.wrote({ owner: 'r-1.4', name: 'reject', text: 'Half written' });
  drafts.trigger.wrote({ owner: 'r-10.4', name: 'reject', text: 'of another run' });
  drafts.trigger.wrote({ owner: 'r-1.9', name: 'ask', text: ' ' });
  const all = () => drafts.getSnapshot().context;
  expect(draftOf({ owner: 'r-1.4', name: 'reject' })).toBe('Half written');
  expect(leftDrafts(all(), 'r-1', ['r-1.4'])).toEqual([]);
  expect(leftDrafts(all(), 'r-1', [undefined])).toEqual([{ owner: 'r-1.4', text: 'Half written' }]);
  drafts.trigger.dropped({ owner: 'r-1.4' });
  expect(leftDrafts(all(), 'r-1', [undefined])).toEqual([]);
});

it('name their lines once no gate takes comments any more', () => {
  drafts.trigger.wrote({ owner: linesOf('r-2'), name: 'a.js:1', text: 'Why?' });
  drafts.trigger.wrote({ owner: linesOf('r-2'), name: 'a.js:2', text: ' ' });
  const { context } = drafts.getSnapshot();
  expect([countLineDrafts(context, 'r-2'), countLineDrafts(context, 'r-1')]).toEqual([1, 0]);
  expect(leftDrafts(context, 'r-2', [linesOf('r-2')])).toEqual([]);
  expect(leftDrafts(context, 'r-2', [])).toEqual([{ owner: 'r-2.lines', text: 'a.js:1: Why?' }]);
});
