import { expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import type { CheckResult, PullRequest } from '../../forges/forge.ts';
import { ForgeNews } from '../../forges/forge-news.ts';
import { followPullRequest } from './follow-pull-request.ts';
import { NOTHING_SEEN, type SeenAtForge } from './review-remarks.ts';
import type { ActivityTools } from '../tools.ts';

const SHOP = { owner: 'acme', name: 'shop' };
const POLL_MS = 300;

interface Following {
  readonly parts: number;
  readonly looksAtAll: number;
  readonly seen: SeenAtForge;
  readonly checks: readonly CheckResult[];
  readonly shownHead: string;
  readonly branch: string;
  readonly isFromFork: boolean;
}

/**
 * Follows a pull request that is merged at the last look; each look brings news.
 * @param parts parts in which its discussion is read
 */
async function follow({
  parts = 1,
  looksAtAll = 3,
  seen = NOTHING_SEEN,
  checks = [],
  shownHead = 'c',
  branch = 'b',
  isFromFork = false,
}: Partial<Following>) {
  const forgeNews = new ForgeNews();
  const looks: number[] = [];
  const read: string[] = [];
  const head = { branch, commit: shownHead };
  const repository = {
    pullRequest: async (): Promise<Partial<PullRequest>> => {
      looks.push(performance.now());
      forgeNews.tell(SHOP);
      const state: PullRequest['state'] = looks.length === looksAtAll ? 'merged' : 'open';
      return { state, mergeCommit: 'm', mergedBy: null, base: head, head, isFromFork, updatedAt: 'now' };
    },
    discussion: async (_number: number, _since?: string, from = '1') => {
      read.push(from);
      return { reviews: [], threads: [], comments: [], next: Number(from) < parts ? String(Number(from) + 1) : null };
    },
    checks: async () => checks,
  };
  // The tools that the activity uses.
  const tools = {
    forge: { repositoryAt: () => SHOP, repository: () => repository },
    forgeNews,
    forgePollMs: POLL_MS,
    project: async () => ({ name: 'shop', repository: 'r' }),
    view: async () => ({ branch: 'b' }),
    repository: { isAncestor: async () => true },
    scrub: (text: string) => text.replaceAll('hunter2hunter2', '[secret]'),
  } as unknown as ActivityTools;
  const context = {
    signal: AbortSignal.timeout(60_000),
    progress: () => undefined,
  } as unknown as ActivityContext;
  const input = { projectId: 'p', runId: 'r', number: 1, commit: 'c', seen };
  const found = await followPullRequest(tools).perform(
    input as Parameters<ReturnType<typeof followPullRequest>['perform']>[0],
    context,
  );
  return { found, looks, read };
}

it('keeps a time between two looks, however many news there are', async () => {
  const { found, looks } = await follow({});
  expect(found.kind).toBe('merged');
  const [one = 0, two = 0, three = 0] = looks;
  expect(Math.min(two - one, three - two)).toBeGreaterThan(POLL_MS - 10);
});

it('follows failed checks of the head of the branch alone', async () => {
  const checks: CheckResult[] = [
    { name: 'ci', by: null, state: 'failed', conclusion: 'failure', url: null, summary: 'red' },
  ];
  expect((await follow({ checks })).found).toMatchObject({ kind: 'asked', asked: { checks: [{ name: 'ci' }] } });
  // The forge shows an older head of the branch for a while.
  expect((await follow({ checks, shownHead: 'older' })).found.kind).toBe('merged');
});

it('refuses a pull request of another branch, whose number a record from elsewhere may give', async () => {
  expect((await follow({ branch: 'b-beside' })).found.kind).toBe('merged');
  await expect(follow({ branch: 'somebodys' })).rejects.toThrow(
    "Pull request 1 has the commits of 'somebodys', and this run works on 'b': nothing was done there.",
  );
  await expect(follow({ isFromFork: true })).rejects.toThrow(
    "Pull request 1 has the commits of 'b' in another repository, and this run works on 'b': nothing was done there.",
  );
});

function red(name: string, by: string | null = null): CheckResult {
  return { name, by, state: 'failed', conclusion: 'failure', url: null, summary: 'red' };
}

it('follows a check that fails after others of the same commit, and none of them twice', async () => {
  const first = (await follow({ checks: [red('ci')] })).found;
  const { seen } = first as { readonly seen: SeenAtForge };
  expect((await follow({ seen, checks: [red('ci')] })).found.kind).toBe('merged');
  for (const other of [red('lint'), red('ci', 'app')]) {
    const { found } = await follow({ seen, checks: [red('ci'), other] });
    expect(found).toMatchObject({ kind: 'asked', asked: { checks: [{ name: 'ci' }, { name: other.name }] } });
  }
  // A result is stored without secrets, such as this password.
  const secret = [red('deploy https://u:hunter2hunter2@host.example')];
  const told = (await follow({ checks: secret })).found as { readonly seen: SeenAtForge };
  expect(JSON.stringify(told)).not.toContain('hunter2');
  expect((await follow({ seen: told.seen, checks: secret })).found.kind).toBe('merged');
});

it('tells when a failed check passes at last, and that it failed again', async () => {
  const { seen } = (await follow({ checks: [red('ci'), red('ci', 'app')] })).found as { readonly seen: SeenAtForge };
  const green: CheckResult = { ...red('ci', 'app'), state: 'passed', conclusion: 'success' };
  const running: CheckResult = { ...green, state: 'pending', conclusion: null };
  expect((await follow({ seen, checks: [red('ci'), running] })).found.kind).toBe('merged');
  expect((await follow({ seen, checks: [red('ci'), red('ci', 'app'), green] })).found.kind).toBe('merged');
  const { found } = await follow({ seen, checks: [red('ci'), green] });
  expect(found).toMatchObject({ kind: 'reading', seen: { checksOf: 'c', failed: ['/ci'] } });
  const after = (found as { readonly seen: SeenAtForge }).seen;
  expect((await follow({ seen: after, checks: [red('ci'), green] })).found.kind).toBe('merged');
  expect((await follow({ seen: after, checks: [red('ci'), red('ci', 'app')] })).found.kind).toBe('asked');
});

it('goes on with a discussion that one look does not read to its end', async () => {
  const { found, read } = await follow({ parts: 2, looksAtAll: 4 });
  expect([found.kind, read]).toEqual(['merged', ['1', '2', '1']]);
});

it('tells that it is not at the end of a discussion after some looks, and tells when it is', async () => {
  const begun = await follow({ parts: 5, looksAtAll: 20 });
  expect(begun).toMatchObject({ found: { kind: 'reading', seen: { unread: true } }, read: ['1', '2', '3'] });
  const seen = { ...NOTHING_SEEN, unread: true as const };
  const ended = await follow({ parts: 5, looksAtAll: 20, seen });
  expect(ended).toMatchObject({ found: { kind: 'reading', seen: NOTHING_SEEN }, read: ['1', '2', '3', '4', '5'] });
  expect(ended.found).not.toHaveProperty('seen.unread');
});
