import { expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';
import { answerReviewers, type Answering } from './answer-reviewers.ts';

const SHOP = { owner: 'acme', name: 'shop' };

/** Answers on pull request 2 of branch `b`, which follows number 1; number 3 is of others. Each has two threads. */
async function answer(answering: Partial<Answering>) {
  const told: string[] = [];
  const repository = {
    pullRequest: async (number: number) => ({ head: { branch: number === 3 ? 'other' : 'b' }, isFromFork: false }),
    discussion: async (number: number, _since?: string, from = 'a') => ({
      reviews: [],
      threads: [{ id: `${number}-${from}` }],
      comments: [],
      next: from === 'a' ? 'b' : null,
    }),
    replyToThread: async (id: string) => void told.push(`reply ${id}`),
    resolveThread: async (id: string) => void told.push(`resolve ${id}`),
  };
  // The tools that the activity uses.
  const tools = {
    forge: { repositoryAt: () => SHOP, repository: () => repository },
    project: async () => ({ name: 'shop', repository: 'r' }),
    view: async () => ({ branch: 'b' }),
    scrub: (text: string) => text,
  } as unknown as ActivityTools;
  const context = { signal: AbortSignal.timeout(60_000), progress: () => undefined } as unknown as ActivityContext;
  const all = { threads: [], others: [], commit: 'c', summary: '', number: 2, ...answering };
  const input = { projectId: 'p', runId: 'r', number: 2, published: 'c', answering: all };
  await answerReviewers(tools).perform(
    input as unknown as Parameters<ReturnType<typeof answerReviewers>['perform']>[0],
    context,
  );
  return told;
}

it('answers and resolves the threads of the own pull request', async () => {
  expect(await answer({ threads: ['2-a', '2-b'] })).toEqual(['reply 2-a', 'resolve 2-a', 'reply 2-b', 'resolve 2-b']);
  expect(await answer({ threads: ['1-b'], number: 1 })).toEqual(['reply 1-b', 'resolve 1-b']);
});

it('leaves a thread of another pull request alone, and refuses one of another branch', async () => {
  expect(await answer({ threads: ['3-a', '2-a', 'T_of_another_repository'] })).toEqual(['reply 2-a', 'resolve 2-a']);
  await expect(answer({ threads: ['3-a'], number: 3 })).rejects.toThrow(/Pull request 3 has the commits of 'other'/);
});
