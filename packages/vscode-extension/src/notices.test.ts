import { describe, expect, it } from 'vitest';
import { aRun, aWaitingRun, byId } from '@autonomous/shared/a-run.fixture';
import { noticesOf, ToldNotices } from './notices.ts';

const merged = { baseBranch: 'main', commit: 'c', strategy: 'squash' };
const keys = (notices: readonly { readonly key: string }[]) => notices.map(({ key }) => key);

describe('Worth a word', () => {
  it('are a person needed, a merge and a failure, and nothing else', () => {
    const notices = noticesOf(
      byId(
        aWaitingRun('waits'),
        aRun({ id: 'merged', status: 'completed', completedAt: '2030-01-01T00:02:00.000Z', merged }),
        aRun({ id: 'failed', status: 'failed', completedAt: '2030-01-01T00:03:00.000Z', failure: 'no disk' }),
        aRun({ id: 'pushed', status: 'completed' }),
        aRun({ id: 'cancelled', status: 'cancelled' }),
        aRun({ id: 'works' }),
      ),
    );
    expect(keys(notices)).toEqual(['waits.4', 'merged/merged', 'failed/failed']);
    expect(notices.map(({ text }) => text)).toEqual([
      '“Add a login page” – Planning: Approve the plan?',
      '“Add a login page” was merged into main.',
      '“Add a login page” failed: no disk',
    ]);
  });

  it('is no wait that ends by itself', () => {
    expect(noticesOf(byId(aWaitingRun('r', { status: 'paused' }, { kind: 'pause', reason: 'rate_limited' })))).toEqual(
      [],
    );
  });
});

describe('What was told', () => {
  const one = noticesOf(byId(aWaitingRun('one')));
  const both = noticesOf(byId(aWaitingRun('one'), aWaitingRun('two', {}, { openedAt: '2030-01-01T00:09:00.000Z' })));

  const LONG_AGO = '2000-01-01T00:00:00.000Z';
  const NOW = '2030-01-01T00:05:00.000Z';

  it('is not told again, also when the connection was lost in between', () => {
    const told = new ToldNotices(LONG_AGO, NOW);
    expect(keys(told.fresh(one))).toEqual(['one.4']);
    expect(told.fresh([])).toEqual([]);
    expect(told.fresh(one)).toEqual([]);
  });

  it('is remembered by the next window, which tells what came since', () => {
    const first = new ToldNotices(LONG_AGO, NOW);
    first.fresh(one);
    expect(keys(new ToldNotices(first.until, NOW).fresh(both))).toEqual(['two.4']);
  });

  it('is all there is where nobody looked before: old runs are no news', () => {
    expect(keys(new ToldNotices(null, NOW).fresh(both))).toEqual(['two.4']);
  });

  it('may come in any order', () => {
    const told = new ToldNotices(LONG_AGO, NOW);
    expect(keys(told.fresh(both.slice(1)))).toEqual(['two.4']);
    expect(keys(told.fresh(both))).toEqual(['one.4']);
  });

  it('counts by gate: the same run may need a person again', () => {
    const told = new ToldNotices(LONG_AGO, NOW);
    told.fresh(one);
    expect(keys(told.fresh(noticesOf(byId(aWaitingRun('one', {}, { id: 'one.9' })))))).toEqual(['one.9']);
  });

  it('says nothing of another server', () => {
    const told = new ToldNotices(LONG_AGO, NOW);
    told.forget(NOW);
    expect(told.fresh(one)).toEqual([]);
  });
});
