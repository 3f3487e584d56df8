import type { Progress } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { ActivityContext } from '../core/activity.ts';
import type { PullRequest } from '../forges/forge.ts';
import { ForgeNews } from '../forges/forge-news.ts';
import { followPullRequest } from './follow-pull-request.ts';
import { NOTHING_SEEN } from './review-remarks.ts';
import type { ActivityTools } from './tools.ts';

const SHOP = { owner: 'acme', name: 'shop' };
const POLL_MS = 300;

/** Follows a pull request that is merged at the third look; each look brings news. */
async function follow(isComplete: boolean) {
  const forgeNews = new ForgeNews();
  const looks: number[] = [];
  const told: Progress[] = [];
  const head = { branch: 'b', commit: 'c' };
  const repository = {
    pullRequest: async (): Promise<Partial<PullRequest>> => {
      looks.push(performance.now());
      forgeNews.tell(SHOP);
      const state: PullRequest['state'] = looks.length === 3 ? 'merged' : 'open';
      return { state, mergeCommit: 'm', mergedBy: null, base: head, head, updatedAt: 'now' };
    },
    discussion: async () => ({ reviews: [], threads: [], comments: [], isComplete }),
    checks: async () => [],
  };
  // What the activity uses of its surroundings.
  const tools = {
    forge: { repositoryAt: () => SHOP, repository: () => repository },
    forgeNews,
    forgePollMs: POLL_MS,
    project: async () => ({ name: 'shop', repository: 'r' }),
  } as unknown as ActivityTools;
  const context = {
    signal: AbortSignal.timeout(60_000),
    progress: (each: Progress) => told.push(each),
  } as unknown as ActivityContext;
  const input = { projectId: 'p', runId: 'r', number: 1, commit: 'c', seen: NOTHING_SEEN };
  const found = await followPullRequest(tools).perform(
    input as Parameters<ReturnType<typeof followPullRequest>['perform']>[0],
    context,
  );
  return { found, looks, notes: told.flatMap((each) => (each.kind === 'note' ? [each.text] : [])) };
}

it('keeps a time between two looks, however many news there are', async () => {
  const { found, looks } = await follow(true);
  expect(found.kind).toBe('merged');
  const [one = 0, two = 0, three = 0] = looks;
  expect(Math.min(two - one, three - two)).toBeGreaterThan(POLL_MS - 10);
});

it('says once that there are more remarks than are read', async () => {
  expect((await follow(false)).notes).toEqual([
    'There are more remarks than the server reads (500 of each kind, 100 of a thread). Read the rest at the forge and answer at the gate.',
  ]);
  expect((await follow(true)).notes).toEqual([]);
});
