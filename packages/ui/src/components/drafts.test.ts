import { expect, it } from 'vitest';
import { draftOf, drafts, leftDrafts } from './drafts.ts';

it('keeps what was begun at a gate that somebody else decides, until it is dropped', () => {
  drafts.trigger.wrote({ gateId: 'r-1.4', decision: 'reject', text: 'Half written' });
  drafts.trigger.wrote({ gateId: 'r-10.4', decision: 'reject', text: 'of another run' });
  drafts.trigger.wrote({ gateId: 'r-1.9', decision: 'ask', text: ' ' });
  const all = () => drafts.getSnapshot().context;
  expect(draftOf('r-1.4', 'reject')).toBe('Half written');
  expect(leftDrafts(all(), 'r-1', 'r-1.4')).toEqual([]);
  expect(leftDrafts(all(), 'r-1', undefined)).toEqual([{ gateId: 'r-1.4', text: 'Half written' }]);
  drafts.trigger.dropped({ gateId: 'r-1.4' });
  expect(leftDrafts(all(), 'r-1', undefined)).toEqual([]);
});
