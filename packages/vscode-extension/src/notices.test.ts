import type { RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aRun, aWaitingRun, aWorkflow, byId } from '@autonomous/shared/a-run.fixture';
import { isOver, linksOf, messageOf, type Notice, noticesOf as noticesWith, ToldNotices } from './notices.ts';

const noticesOf = (runs: Readonly<Record<string, RunView>>) => noticesWith(runs, () => aWorkflow());

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

  it('are failures of a run that completed, also where it was merged', () => {
    const failures = ['F003 Pictures is skipped.', 'F004 Both cannot be reached.'];
    const [notice, ...others] = noticesOf(byId(aRun({ id: 'partly', status: 'completed', merged, failures })));
    expect(others).toEqual([]);
    expect(notice).toMatchObject({
      key: 'partly/failed',
      kind: 'failed',
      text: '“Add a login page” has completed with failures: F003 Pictures is skipped. F004 Both cannot be reached.',
    });
  });

  it('are the gates of child runs, with the name of their parent, and their ends as their parent tells them', () => {
    const parent = { runId: 'plan', key: 'plan/1/phase', depth: 1 };
    const started = { id: 'plan', originalRequest: 'Carry out the plan', progress: { done: 1, total: 3 } } as const;
    const children = [
      aRun({ id: 'done', status: 'completed', parent, merged }),
      aRun({ id: 'broken', status: 'failed', failure: 'no disk', parent }),
      aWaitingRun('asks', { parent }),
    ];
    const open = noticesOf(byId(aRun({ ...started, status: 'awaiting_children' }), ...children));
    expect(open.map(({ text }) => text)).toEqual([
      '“Add a login page” of “Carry out the plan” – Planning: Approve the plan?',
    ]);
    const ended = aRun({
      ...started,
      status: 'completed',
      progress: { done: 3, total: 3 },
      published: { branch: 'autonomous/plan', commit: 'c', pushed: true },
    });
    const counted = aWorkflow({ progressWord: 'phases merged' });
    const over = noticesWith(byId(ended, ...children.slice(0, 2)), () => counted);
    expect(over.map(({ text }) => text)).toEqual([
      '“Carry out the plan” is complete: 3 of 3 phases merged. Its result is pushed as autonomous/plan.',
    ]);
    expect(keys(noticesOf(byId({ ...ended, merged }, ...children.slice(0, 2))))).toEqual(['plan/merged']);
  });

  it('is no wait that ends by itself', () => {
    expect(noticesOf(byId(aWaitingRun('r', { status: 'paused' }, { kind: 'pause', reason: 'rate_limited' })))).toEqual(
      [],
    );
  });
});

describe('The notice of a gate', () => {
  const noticeOf = (run: RunView): Notice => {
    const [notice] = noticesOf(byId(run));
    if (notice === undefined) throw new Error('there is no notice');
    return notice;
  };

  it('offers decisions of the gate and the hashes that it shows, and of no other', () => {
    const words = linksOf(noticeOf(aWaitingRun('r', {}, { artifactHash: 'a1', codeTree: 'b2' })));
    const links = [...words.matchAll(/\[([^\]]+)\]\(command:([\w.]+)\?([^ ]+) "/g)];
    expect(links.map(([, title, command]) => `${title} ${command}`)).toEqual([
      'Review autonomous.openPlan',
      'Approve autonomous.approve',
    ]);
    // A decision that vouches for nothing names the gate alone.
    expect(links.map(([, , , given = '']) => JSON.parse(decodeURIComponent(given)) as unknown)).toEqual([
      [{ runId: 'r', shown: { gateId: 'r.4' } }],
      [{ runId: 'r', shown: { gateId: 'r.4', artifactHash: 'a1', codeTree: 'b2' } }],
    ]);
  });

  it('offers no approval of concerns, which it does not show, and the review instead', () => {
    const concerns = [{ kind: 'memory', title: 'Memory', items: [{ reason: 'pattern: x' }], hash: 'h' }] as const;
    const decisions = ['approve', 'reject', 'retry'] as const;
    const words = linksOf(noticeOf(aWaitingRun('r', {}, { decisions, concerns })));
    expect([...words.matchAll(/\[([^\]]+)\]/g)].map(([, title]) => title)).toEqual(['Review', 'Retry']);
    const without = linksOf(noticeOf(aWaitingRun('r', {}, { decisions, concerns: [] })));
    expect(without).toContain('[Approve]');
    const gate = { kind: 'pause', reason: 'rebuilt', decisions: ['retry'] } as const;
    expect(linksOf(noticeOf(aWaitingRun('r', {}, gate)))).not.toContain('[Retry]');
  });

  it('is over as soon as its gate is not the open one', () => {
    const notice = noticeOf(aWaitingRun('r'));
    expect(isOver(notice, byId(aWaitingRun('r')))).toBe(false);
    expect(isOver(notice, byId(aRun({ id: 'r' })))).toBe(true);
    expect(isOver(notice, byId(aWaitingRun('r', {}, { id: 'r.9' })))).toBe(true);
    expect(isOver(notice, {})).toBe(true);
  });

  it('makes no link of what others wrote', () => {
    const hostile = '[Approve](command:workbench.action.terminal.new) [Show';
    const notice = noticeOf(aWaitingRun('r', { originalRequest: hostile }, { summary: 'Plan [now' }));
    const words = messageOf(notice.text, linksOf(notice));
    const labels = [...words.matchAll(/\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)/gi)];
    expect(labels.map(([, label]) => label)).toEqual(['Review', 'Approve']);
  });
});

describe('The message of a gate', () => {
  const messageAbout = (summary: string): string => {
    const hashes = { artifactHash: 'a'.repeat(64), codeTree: 'b'.repeat(40) };
    const [notice] = noticesOf(byId(aWaitingRun('abcdef-ghijkl', {}, { summary, ...hashes })));
    return notice === undefined ? '' : messageOf(notice.text, linksOf(notice));
  };

  it('says what is asked as it was written, and what can be done about it', () => {
    expect(messageAbout('Approve the plan?')).toMatch(/Approve the plan\? \[Review\]\(command:/);
    expect(messageAbout("Review the plan 'Login'")).toMatch(/'Login'\. \[Review\]\(command:/);
  });

  it('keeps its links whole where the words are longer than the editor shows', () => {
    const message = messageAbout('The provider refuses. '.repeat(200));
    expect(message.length).toBeLessThanOrEqual(1_000);
    expect(message).toMatch(/… \[Review\]\([^)]+\) · \[Approve\]\([^)]+ "Approve"\)$/);
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
