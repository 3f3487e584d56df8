import { expect, it } from 'vitest';
import { type FollowingContext, NOTHING_FOLLOWED, withInherited } from './pull-request.ts';

it('answers nobody in a fork who waits at the pull request of its source', () => {
  const remark = { login: 'anna', text: 'Rename it.', threadId: 't1', path: 'a.js', line: 3 };
  const context = {
    published: { commit: 'c', pushed: true, pullRequest: { number: 7, url: 'https://forge.test/pull/7' } },
    following: { ...NOTHING_FOLLOWED, held: { remarks: [remark], unheard: 0, checks: [] } },
  } as Partial<FollowingContext> as FollowingContext;
  expect(withInherited(context).following).toMatchObject({
    inherited: 7,
    answering: null,
    held: { remarks: [{ ...remark, threadId: null }] },
  });
});
