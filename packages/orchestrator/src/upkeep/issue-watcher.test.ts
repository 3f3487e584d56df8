/** Looks at labelled issues of a forge in memory: which get a run, when, and what the comment on them says. */
import { setImmediate } from 'node:timers/promises';
import { type Project, RetryableFailure, type RunView } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { runIdOf } from '../core/run-id.ts';
import { ManualClock } from '../engine/engine.fixture.ts';
import { ForgeRefusal, type LabelledIssue, type OwnComment, type RepositoryName } from '../forges/forge.ts';
import { type IssueLaunchOutcome, IssueWatcher } from './issue-watcher.ts';

const MINUTE_MS = 60_000;
const GAP_MS = 5_000;

/** A watcher of a forge where each repository has these issues. */
function aWatcher(names: readonly string[] = ['shop']) {
  const clock = new ManualClock();
  const issues = new Map<string, LabelledIssue[]>(names.map((name) => [name, []]));
  const comments: string[] = [];
  const views = new Map<string, RunView>();
  const marks = new Map<string, string>();
  const launched: string[] = [];
  const logged: string[] = [];
  const looks: (string | undefined)[] = [];
  const forge = {
    onLook: async (_name: string): Promise<void> => {},
    onComment: async (_number: number): Promise<void> => {},
    outcome: null as IssueLaunchOutcome | null,
  };
  const wake = new Set<(news: boolean) => void>();
  const watcher = () =>
    new IssueWatcher({
      clock,
      label: 'autonomous',
      log: pino({}, { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) }),
      store: {
        getMark: async (key) => marks.get(key) ?? null,
        setMark: async (key, mark) => void marks.set(key, mark),
        loadView: async (id) => views.get(id) ?? null,
      },
      forge: {
        repository: ({ name }: RepositoryName) =>
          ({
            issuesWithLabel: async (_: string, since?: string) => {
              looks.push(since);
              await forge.onLook(name);
              return (issues.get(name) ?? []).filter(({ updatedAt }) => since === undefined || updatedAt >= since);
            },
            putComment: async (number: number, { body }: OwnComment) => {
              await forge.onComment(number);
              comments.push(`${number}: ${body}`);
              return { url: '' };
            },
          }) as never,
      },
      forgeNews: {
        next: (_name, _ms, signal) =>
          new Promise((resolve, reject) => {
            wake.add(resolve);
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      },
      projects: async () =>
        names.map((name) => ({ project: { id: name } as Project, name: { owner: 'acme', name } as RepositoryName })),
      launch: async ({ issue, key, login }) => {
        launched.push(`${issue.number} by ${login}`);
        if (forge.outcome !== null) return forge.outcome;
        const view = aRun({ id: runIdOf(key), status: 'running' });
        views.set(view.id, view);
        return view;
      },
    });
  const settled = async () => {
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  };
  return {
    forge,
    comments,
    launched,
    logged,
    looks,
    views,
    marks,
    settled,
    start: async () => {
      const started = watcher();
      onTestFinished(() => started.stop());
      started.start();
      await settled();
      return started;
    },
    /** News at the forge, and all that follows from them at once. */
    async news() {
      for (const tell of wake) tell(true);
      await settled();
    },
    async passes(ms: number) {
      clock.advance(ms);
      await settled();
    },
    labels(number: number, parts: Partial<LabelledIssue> = {}, name = 'shop') {
      const at = parts.labelledAt ?? `2026-03-01T10:00:0${number % 10}Z`;
      const labelledBy = { login: 'anna', mayWrite: true } as LabelledIssue['labelledBy'];
      const issue = { number, labelledBy, isChangedSince: false, updatedAt: at, ...parts, labelledAt: at };
      issues.set(name, [
        ...(issues.get(name) ?? []).filter((other) => other.number !== number),
        issue as LabelledIssue,
      ]);
      return runIdOf(`issue/${name}/${number}/${at}`);
    },
  };
}

const STARTED = /^7: Run `[^`]+` was started for this issue\. It works\./;
const endOf = (id: string, status: 'completed' | 'awaiting_approval') =>
  aRun({ id, status, gate: null, lastSequence: 9 });

it('a labelling starts one run, whose comment follows it with a pause between two edits, until it has ended', async () => {
  const shop = aWatcher();
  const id = shop.labels(7);
  const watcher = await shop.start();
  await shop.passes(0);
  expect(shop.launched).toEqual(['7 by anna']);
  expect(shop.comments).toEqual([expect.stringMatching(STARTED)]);
  watcher.receive({ events: [], view: endOf(id, 'awaiting_approval') });
  await shop.passes(GAP_MS - 1);
  expect(shop.comments).toHaveLength(1);
  await shop.passes(1);
  expect(shop.comments.at(-1)).toContain('It waits for a person.');
  expect(shop.marks.get('issues.looked/shop')).toContain(id);
  watcher.receive({ events: [], view: endOf(id, 'completed') });
  await shop.passes(GAP_MS);
  expect(shop.comments.at(-1)).toContain('It has completed.');
  expect(shop.marks.get('issues.looked/shop')).toBe('{"since":"2026-03-01T10:00:07Z","runs":[]}');
  // The same labelling leads to no other run and no other comment.
  await shop.news();
  await shop.passes(MINUTE_MS);
  expect([shop.launched.length, shop.comments.length]).toEqual([1, 3]);
});

it('an issue that changed asks the forge from the newest change on, whichever is told last', async () => {
  const shop = aWatcher();
  shop.labels(9);
  shop.labels(8);
  await shop.start();
  await shop.news();
  await shop.passes(GAP_MS);
  expect(shop.looks).toEqual([undefined, '2026-03-01T10:00:09Z']);
});

it('another labelling of an issue starts another run, once the first one has ended', async () => {
  const shop = aWatcher();
  const first = shop.labels(7);
  const watcher = await shop.start();
  await shop.passes(0);
  shop.labels(7, { labelledAt: '2026-03-01T10:01:00Z' });
  await shop.news();
  await shop.passes(GAP_MS);
  expect(shop.launched).toHaveLength(1);
  const ended = endOf(first, 'completed');
  shop.views.set(first, ended);
  watcher.receive({ events: [], view: ended });
  await shop.passes(GAP_MS);
  await shop.news();
  await shop.passes(GAP_MS);
  expect(shop.launched).toHaveLength(2);
});

it.each([
  ['by a person who may not write', { labelledBy: { login: 'otto', mayWrite: false } }],
  ['by nobody knows whom', { labelledBy: null }],
])('a labelling %s starts nothing and is not answered', async (_, parts) => {
  const shop = aWatcher();
  shop.labels(7, parts);
  await shop.start();
  await shop.passes(MINUTE_MS);
  expect([shop.launched, shop.comments]).toEqual([[], []]);
});

it.each([
  ['changed since', { isChangedSince: true }, null, 'it was changed after it got its label'],
  ['without a budget', {}, 'no_budget', 'this project has no budget'],
  ['refused', {}, 'refused', 'the server refused it'],
  ['started by another server', {}, 'started_elsewhere', undefined],
] as const)('an issue that is %s gets no run, and one comment at most', async (_, parts, outcome, says) => {
  const shop = aWatcher();
  shop.labels(7, parts);
  shop.forge.outcome = outcome;
  await shop.start();
  for (let look = 0; look < 3; look += 1) {
    await shop.news();
    await shop.passes(MINUTE_MS);
  }
  expect(shop.comments).toEqual(says === undefined ? [] : [expect.stringContaining(says)]);
  expect(shop.looks.length).toBeGreaterThan(2);
  expect(shop.logged).toEqual([]);
});

it('more issues than a look starts come with the next ones', async () => {
  const shop = aWatcher();
  for (let number = 1; number <= 7; number += 1) shop.labels(number);
  await shop.start();
  expect(shop.launched).toHaveLength(5);
  await shop.news();
  await shop.passes(GAP_MS);
  expect(shop.launched).toHaveLength(7);
});

it('a server that starts again takes up the comments of its runs, and starts none anew', async () => {
  const shop = aWatcher();
  const id = shop.labels(7);
  const first = await shop.start();
  await shop.passes(0);
  await first.stop();
  shop.views.set(id, endOf(id, 'completed'));
  await shop.start();
  await shop.passes(GAP_MS);
  expect(shop.launched).toHaveLength(1);
  expect(shop.comments.at(-1)).toContain('It has completed.');
});

it('a forge that fails is asked again after a minute or as long as it says, and told of once', async () => {
  const shop = aWatcher();
  const failures: Error[] = [new Error('down'), new RetryableFailure('slow down', { retryAfterMs: 3 * MINUTE_MS })];
  shop.forge.onLook = async () => {
    const failure = failures.shift();
    if (failure) throw failure;
  };
  shop.labels(7);
  await shop.start();
  await shop.passes(MINUTE_MS - 1);
  expect(shop.looks).toHaveLength(1);
  await shop.passes(1);
  expect(shop.looks).toHaveLength(2);
  await shop.passes(3 * MINUTE_MS - 1);
  expect(shop.looks).toHaveLength(2);
  await shop.passes(1);
  expect(shop.launched).toEqual(['7 by anna']);
  const what = 'its issues cannot be read';
  expect(shop.logged).toEqual([`${what}; it is tried again: down`, `no longer so: ${what}`]);
});

it('a comment that cannot be written is tried again, and one that the forge refuses is not', async () => {
  const shop = aWatcher();
  let failure: Error | null = new Error('down');
  shop.forge.onComment = async () => {
    if (failure) throw failure;
  };
  const id = shop.labels(7);
  const watcher = await shop.start();
  await shop.passes(0);
  failure = null;
  await shop.passes(MINUTE_MS);
  expect(shop.comments).toEqual([expect.stringMatching(STARTED)]);
  failure = new ForgeRefusal('gone', 'the issue was deleted');
  watcher.receive({ events: [], view: endOf(id, 'awaiting_approval') });
  await shop.passes(GAP_MS);
  await shop.passes(2 * MINUTE_MS);
  expect(shop.comments).toHaveLength(1);
  expect(shop.logged.at(-1)).toBe('the comment on issue 7 is not written: the issue was deleted');
});

it('eight repositories are looked at at once, and the others in their turn', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `shop-${index}`);
  const shops = aWatcher(names);
  const held = Promise.withResolvers<void>();
  shops.forge.onLook = () => held.promise;
  await shops.start();
  expect(shops.looks).toHaveLength(8);
  held.resolve();
  await shops.settled();
  expect(shops.looks).toHaveLength(10);
});

it('a watcher that stops during a look says nothing of it', async () => {
  const shop = aWatcher();
  const held = Promise.withResolvers<void>();
  shop.forge.onLook = () => held.promise;
  const watcher = await shop.start();
  const stopping = watcher.stop();
  held.reject(new Error('aborted'));
  await stopping;
  expect([shop.logged, shop.looks.length]).toEqual([[], 1]);
});
