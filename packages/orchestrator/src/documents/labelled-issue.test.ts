import { expect, it } from 'vitest';
import { commentOfRun, requestOfIssue } from './labelled-issue.ts';

const issue = {
  url: 'https://github.example/acme/shop/issues/7',
  title: 'Add a page',
  body: 'Please.',
  isClipped: false,
};

it.each([
  ['title and body', {}, 'Add a page\n\nPlease.'],
  ['a title alone', { body: '' }, 'Add a page'],
  ['Windows line ends', { body: 'one\r\ntwo' }, 'Add a page\n\none\ntwo'],
  ['comments that are not shown', { body: 'a<!-- x -->b<!--->c--> d\n\n<!--\n\nto the end' }, 'Add a page\n\nabc--> d'],
  ['hidden characters', { title: 'Add\u200B', body: 'a\u{E0041}b' }, 'Add⟨U+200B⟩\n\na⟨U+E0041⟩b'],
])('the request of an issue with %s', (_, change, request) => {
  expect(requestOfIssue({ ...issue, ...change })).toBe(request);
});

it('the request of a long issue is short enough to be taken, and says where the rest is', () => {
  for (const body of ['x'.repeat(19_500), '😀'.repeat(10_000), '\u200B'.repeat(16_000), '<!--'.repeat(4_000)]) {
    const request = requestOfIssue({ ...issue, body, isClipped: true });
    expect(request.length).toBeLessThan(20_000);
    expect(request).toMatch(/\[The issue is longer: https:.*issues\/7\]$/);
    expect(request.isWellFormed()).toBe(true);
  }
});

it('the comment says nothing of the reason in words, which may be nobody else’s business', () => {
  const gate = { kind: 'pause', reason: 'auth_expired', summary: 'The token of /home/ada is wrong, @ada' } as never;
  expect(commentOfRun({ id: 'abc-def', status: 'paused', gate })).toBe(
    'Run `abc-def` was started for this issue. It waits for a person at the gate `pause` (`auth_expired`).',
  );
});

it('names no pull request that stands in a record of others', () => {
  const published = { branch: 'b', commit: 'c', pushed: true, pullRequest: { number: 7, url: 'https://evil.example' } };
  const view = { id: 'abc-def', status: 'completed', gate: null, published } as const;
  expect(commentOfRun(view)).toContain('[Pull request 7](https://evil.example)');
  expect(commentOfRun({ ...view, rebuiltUpTo: 9 })).toBe('Run `abc-def` was started for this issue. It has completed.');
});
