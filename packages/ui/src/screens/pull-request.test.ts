import type { PullRequestRemark, RunPullRequest } from '@autonomous/shared';
import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { mergeWords, PullRequestFacts } from './pull-request.tsx';

const aRemark = (parts: Partial<PullRequestRemark> = {}): PullRequestRemark => ({
  id: 'c-1',
  author: { login: 'anna', mayWrite: true },
  isOwn: false,
  body: 'Say why.',
  isClipped: false,
  url: 'https://github.com/acme/shop/pull/7#c-1',
  at: '2030-01-01T00:00:00.000Z',
  ...parts,
});
const aPullRequest = (parts: Partial<RunPullRequest> = {}): RunPullRequest => ({
  number: 7,
  url: 'https://github.com/acme/shop/pull/7',
  title: 'Greet',
  state: 'open',
  isDraft: false,
  mergeability: 'ready',
  head: { branch: 'autonomous/greet', commit: 'c'.repeat(40) },
  base: { branch: 'main', commit: 'd'.repeat(40) },
  checks: [],
  reviews: [],
  threads: [],
  comments: [],
  isComplete: true,
  ...parts,
});
const thread = { id: 't-1', path: 'greet.txt', line: 2, isResolved: false, isOutdated: false, comments: [aRemark()] };
const shown = (pullRequest: RunPullRequest): string =>
  shownIn({}, createElement(PullRequestFacts, { runId: 'r-1', pullRequest, isLoading: false, onRefresh: () => {} }));

it('leads to the pull request and says how it stands', () => {
  const html = shown(aPullRequest({ mergeability: 'behind' }));
  expect(html).toContain('<a href="https://github.com/acme/shop/pull/7" target="_blank" rel="noreferrer noopener">');
  expect(html).toContain('Cannot be merged yet: main has moved and must be merged in first');
  expect(html).toContain('No checks have reported on this commit.');
  expect(html).toContain('Review threads <span class="quiet">none</span>');
  expect(html).not.toContain('There is more at the forge');
  expect(shown(aPullRequest({ isComplete: false }))).toContain('There is more at the forge');
  expect(shown(aPullRequest({ isDraft: true, mergeability: 'draft' }))).toContain('> Draft</span>');
});

it('says nothing of merging once it is not open', () => {
  expect(shown(aPullRequest({ state: 'merged', mergeability: 'unknown' }))).not.toContain(
    mergeWords(aPullRequest({ mergeability: 'unknown' })),
  );
});

it('counts checks and names the host of their details', () => {
  const html = shown(
    aPullRequest({
      checks: [
        { name: 'ci/test', state: 'failed', conclusion: 'timed_out', url: 'https://ci.example.org/7' },
        { name: 'lint', state: 'pending', conclusion: null, url: null },
      ],
    }),
  );
  expect(html).toContain('1 failed, 1 pending');
  expect(html).toContain('timed out');
  expect(html).toContain('</span> at ci.example.org</a>');
});

it('shows texts of the forge as text: no HTML, no loaded image, hidden characters as escapes', () => {
  const body = '<img src=x onerror=alert(1)> ![a](https://e.example/a.png) [b](javascript:alert(1)) \u202eabc';
  const html = shown(aPullRequest({ title: 'Greet \u202e', comments: [aRemark({ body })] }));
  expect(html).not.toMatch(/<img|href="javascript:|\u202e/);
  expect(html).toContain('⟨U+202E⟩');
});

it('hides nothing of a text that begins like a document of a run', () => {
  expect(shown(aPullRequest({ comments: [aRemark({ body: '---\nrm: everything\n---\nFine.' })] }))).toContain(
    'rm: everything',
  );
});

it('says who may not write, which texts are the server’s, and where the rest of a long one is', () => {
  const html = shown(
    aPullRequest({
      comments: [
        aRemark({ id: '1', author: { login: 'otto', mayWrite: false } }),
        aRemark({ id: '2', isOwn: true }),
        aRemark({ id: '3', body: 'x'.repeat(2_000), isClipped: true }),
        aRemark({ id: '4', isClipped: true }),
      ],
    }),
  );
  expect(html).toContain('<bdi>otto</bdi> (may not write to the repository)');
  expect(html).toContain('<bdi>anna</bdi> (this server)');
  expect(html).toContain('aria-expanded="false">Show all of it</button>');
  expect(html).not.toContain('x'.repeat(1_501));
  expect(html.split('The rest of this text is at the forge only.')).toHaveLength(2);
});

it('offers an answer in each thread, and the resolution of those that are open', () => {
  const html = shown(
    aPullRequest({ threads: [thread, { ...thread, id: 't-2', line: null, isResolved: true, isOutdated: true }] }),
  );
  expect(html).toContain('1 open, 1 resolved');
  expect(html).toContain('<code>greet.txt:2</code>');
  expect(html).toContain('label="Answer in the thread at greet.txt:2"');
  expect(html).toContain('<summary>1 resolved thread</summary>');
  expect(html).toContain('the lines have changed since');
  expect(html.split('>Resolve<')).toHaveLength(2);
});
