/** Faults at GitHub, as people and limits make them, and how the server takes them. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import { refusalOf } from '../forge.contract.ts';
import { AnswerCache } from './answer-cache.ts';
import { type GitHubGround, openGitHubGround, SERVER_TOKEN, SHOP } from './github.fixture.ts';
import { tokenInFile } from './github-credentials.ts';

let ground: GitHubGround;
beforeEach(async () => {
  ground = await openGitHubGround();
});
afterEach(() => ground.close());

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('the call did not fail');
  return error;
}

describe('a token', () => {
  it('that is refused pauses with its variable and the way out, and is never shown', async () => {
    ground.server.tokens.delete(SERVER_TOKEN);
    const error = await failureOf(ground.repository.facts());
    expect(error).toBeInstanceOf(NeedsHuman);
    expect(error).toMatchObject({ reason: 'auth_expired' });
    expect(error.message).toBe(
      `GitHub (${ground.server.host}) refuses the token of GITHUB_TOKEN (401: Bad credentials): it has expired, was revoked or is wrong. Set a valid GITHUB_TOKEN and restart the server.`,
    );
    expect(everythingIn(error)).not.toContain(SERVER_TOKEN);
  });

  it('in a file is replaced without a restart', async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const file = join(folder.path, 'token');
    const learnt: string[] = [];
    const credentials = tokenInFile(file, 'GITHUB_TOKEN_FILE', (token) => learnt.push(token));
    const repository = ground.connect({ credentials }).repository(SHOP);
    const missing = await failureOf(repository.facts());
    expect(missing).toMatchObject({
      reason: 'auth_expired',
      message: expect.stringContaining('cannot be read (ENOENT)'),
    });
    writeFileSync(file, 'ghp_expired0123456789\n');
    const expired = await failureOf(repository.facts());
    expect(expired.message).toMatch(
      /Write a valid token to the file that GITHUB_TOKEN_FILE names; no restart is needed\.$/,
    );
    writeFileSync(file, `${SERVER_TOKEN}\n`);
    expect(await repository.facts()).toMatchObject(SHOP);
    writeFileSync(file, 'two words\n');
    expect((await failureOf(repository.facts())).message).toMatch(/holds no token in one line/);
    expect(new Set(learnt)).toEqual(new Set(['ghp_expired0123456789', SERVER_TOKEN]));
  });

  it('that lacks a permission names it', async () => {
    ground.server.tokens.set(SERVER_TOKEN, {
      login: 'octo-server',
      permissions: { pull_requests: 'read', contents: 'write' },
    });
    const { name } = await ground.push({ 'a.txt': 'a' });
    const request = { head: name, base: 'main', title: 'A', body: '', isDraft: false };
    const refused = await refusalOf(ground.repository.openPullRequest(request));
    expect(refused).toMatchObject({ refusal: 'forbidden', reason: 'auth_expired' });
    expect(refused.message).toMatch(
      /^In acme\/shop, the token of GITHUB_TOKEN may not open a pull request of the branch \S+ \(403: Resource not accessible by personal access token\)\. Give it this permission \(pull_requests=write\) at GitHub, then retry\.$/,
    );
  });

  it('goes to no other host, where the API redirects to one', async () => {
    const seen: string[] = [];
    const trap = createServer((request, response) => {
      seen.push(request.url ?? '');
      response.end('{}');
    });
    await new Promise<void>((listening) => trap.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void trap.close());
    const to = `http://localhost:${(trap.address() as AddressInfo).port}`;
    ground.server.fail({ kind: 'redirect', to }, { times: 9 });
    const error = await failureOf(ground.repository.facts());
    expect(error).toMatchObject({ reason: 'remote_unavailable' });
    expect(error.message).toBe(
      `GitHub (${ground.server.host}) redirects to ${to}, where the token is not sent, so that the server cannot read the repository. Set GITHUB_API_URL to the address itself, and restart the server.`,
    );
    expect(seen).toEqual([]);
  });
});

describe('the installation of an App', () => {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });

  it('signs in, renews its token, and gives git a password', async () => {
    const permissions = {
      contents: 'write',
      pull_requests: 'write',
      issues: 'write',
      checks: 'read',
      statuses: 'read',
    } as const;
    ground.server.apps.set(7, { id: 7, slug: 'octo', publicKey: keys.publicKey, installationId: 42, permissions });
    const credentials = { kind: 'app', appId: 7, privateKey: keys.privateKey, installationId: 42 } as const;
    const forge = ground.connect({ credentials });
    const found = await forge.examine(SHOP);
    expect(found).toMatchObject({ account: 'octo[bot]', repository: SHOP, findings: [] });
    const password = await forge.gitPassword();
    expect(password).toMatch(/^ghs_/);
    const { number } = await ground.open();
    const repository = forge.repository(SHOP);
    await repository.putComment(number, { marker: 'status', body: 'One.' });
    await repository.putComment(number, { marker: 'status', body: 'Two.' });
    expect((await repository.discussion(number)).comments).toMatchObject([
      { author: { login: 'octo[bot]', mayWrite: false }, isOwn: true },
    ]);
  });

  it('that was suspended or belongs to another key pauses with what to check', async () => {
    const app = { id: 7, slug: 'octo', publicKey: keys.publicKey, installationId: 42, permissions: {} };
    ground.server.apps.set(7, { ...app, isSuspended: true });
    const credentials = { kind: 'app', appId: 7, privateKey: keys.privateKey, installationId: 42 } as const;
    const suspended = await failureOf(ground.connect({ credentials }).repository(SHOP).facts());
    expect(suspended).toMatchObject({ reason: 'auth_expired', message: expect.stringContaining('suspended') });
    const unknown = await failureOf(
      ground
        .connect({ credentials: { ...credentials, installationId: 43 } })
        .repository(SHOP)
        .facts(),
    );
    expect(unknown.message).toMatch(
      /refuses the GitHub App 7 \(404: Not Found\).*Check GITHUB_APP_ID, GITHUB_APP_INSTALLATION_ID/,
    );
    ground.server.apps.clear();
    const foreign = await failureOf(ground.connect({ credentials }).repository(SHOP).facts());
    expect(foreign).toMatchObject({ reason: 'auth_expired', message: expect.stringContaining('401') });
    expect(everythingIn(foreign)).not.toContain('PRIVATE KEY');
  });
});

describe('a rate limit', () => {
  it('that ends soon is waited for', async () => {
    ground.server.fail({ kind: 'secondary', retryAfterSeconds: 1 });
    ground.server.fail({ kind: 'primary', resetInSeconds: 1 });
    const startedAt = Date.now();
    expect(await ground.repository.facts()).toMatchObject(SHOP);
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(2_000);
    expect(ground.server.requests.map(({ status }) => status)).toEqual([403, 403, 200]);
  });

  it.for([
    ['secondary', { kind: 'secondary', retryAfterSeconds: 120 }, 120_000],
    ['primary', { kind: 'primary', resetInSeconds: 1_800 }, 1_800_000],
    ['of another server', { kind: 'status', status: 429, message: 'slow down' }, 60_000],
  ] as const)('(%s) that ends late fails with the time of its end', async ([, fault, waitMs]) => {
    ground.server.fail(fault);
    const error = await failureOf(ground.repository.facts());
    expect(error).toBeInstanceOf(RetryableFailure);
    expect(error).toMatchObject({ reason: 'rate_limited' });
    const { retryAfterMs = 0 } = error as RetryableFailure; // the line before the last
    expect(Math.abs(retryAfterMs - waitMs)).toBeLessThan(5_000);
    expect(error.message).toMatch(/limits the rate of requests.*The limit ends at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/);
    expect(ground.server.requests).toHaveLength(1);
  });

  it('does not keep a call whose activity is ended', async () => {
    ground.server.fail({ kind: 'secondary', retryAfterSeconds: 50 });
    const ended = new AbortController();
    const call = failureOf(ground.forge.repository(SHOP, ended.signal).facts());
    await expect.poll(() => ground.server.requests.length).toBe(1);
    ended.abort(new Error('cancelled by a person'));
    expect((await call).message).toBe('cancelled by a person');
  });
});

describe('GitHub that is down', () => {
  it('for a moment is asked again', async () => {
    ground.server.fail({ kind: 'status', status: 502 });
    ground.server.fail({ kind: 'reset' });
    ground.server.fail({ kind: 'status', status: 503 });
    expect(await ground.repository.facts()).toMatchObject(SHOP);
  });

  it.for([
    ['an error', { kind: 'status', status: 500 }, 'it answers 500'],
    ['a broken connection', { kind: 'reset' }, 'UND_ERR_SOCKET'],
    ['silence', { kind: 'silent' }, 'no answer in time'],
  ] as const)('with %s fails so that it can be retried', async ([, fault, said]) => {
    ground.server.fail(fault, { times: 9 });
    const error = await failureOf(ground.connect({ timeoutMs: 200 }).repository(SHOP).facts());
    expect(error).toBeInstanceOf(RetryableFailure);
    expect(error).toMatchObject({
      reason: 'remote_unavailable',
      message: expect.stringContaining(`cannot be reached (${said})`),
    });
  });

  it('and cannot be connected to says so', async () => {
    const forge = ground.connect({ apiUrl: 'http://127.0.0.1:9/api/v3' });
    expect((await failureOf(forge.repository(SHOP).facts())).message).toMatch(
      /cannot be reached \((?:ECONNREFUSED|bad port)\)/,
    );
  });

  it('right after it carried out a write makes no second pull request, comment, reply or merge', async () => {
    const { server, repository, shop } = ground;
    const { name, commit } = await ground.push({ 'a.txt': 'one\n' });
    const lost = (method: string, path: string): void => server.fail({ kind: 'lost' }, { method, path });
    lost('POST', '/pulls');
    const request = { head: name, base: 'main', title: 'A', body: '', isDraft: false };
    const { pullRequest, isNew } = await repository.openPullRequest(request);
    expect([isNew, [...shop.issues.keys()]]).toEqual([false, [pullRequest.number]]);
    const { number } = pullRequest;

    lost('POST', '/comments');
    const comment = { marker: 'status', body: 'Checking.' };
    expect(await failureOf(repository.putComment(number, comment))).toMatchObject({ reason: 'remote_unavailable' });
    await repository.putComment(number, comment);
    expect(shop.issues.get(number)?.comments).toHaveLength(1);

    const comments = [{ path: 'a.txt', line: 1, body: 'Why?' }];
    await ground.as('anna', 'POST', `/pulls/${number}/reviews`, { event: 'REQUEST_CHANGES', body: '', comments });
    const [thread] = (await repository.discussion(number)).threads;
    const reply = { marker: 'r1', body: 'Because.' };
    server.fail({ kind: 'lost' }, { body: 'addPullRequestReviewThreadReply' });
    expect(await failureOf(repository.replyToThread(thread?.id ?? '', reply))).toMatchObject({
      reason: 'remote_unavailable',
    });
    await repository.replyToThread(thread?.id ?? '', reply);
    expect(shop.issues.get(number)?.pull?.threads[0]?.comments).toHaveLength(2);

    lost('PUT', '/merge');
    expect(await repository.merge({ number, method: 'squash', head: commit })).toMatchObject({ merged: true });
    expect(shop.git('rev-list', '--count', 'main')).toBe('2');
  });
});

describe('a repository', () => {
  it('that was renamed is followed, for reads and writes, and told', async () => {
    const { server, repository, shop } = ground;
    const { name } = await ground.push({ 'a.txt': 'a' });
    server.rename(shop, 'acme-corp', 'store');
    shop.collaborators.set('acme', 'admin');
    expect(await repository.facts()).toMatchObject({ owner: 'acme-corp', name: 'store', renamedFrom: 'acme/shop' });
    const request = { head: name, base: 'main', title: 'A', body: '', isDraft: false };
    const { pullRequest } = await repository.openPullRequest(request);
    expect(await repository.openPullRequest(request)).toMatchObject({ isNew: false });
    expect(await repository.findPullRequest(name)).toMatchObject({ number: pullRequest.number });
    expect((await repository.discussion(pullRequest.number)).comments).toEqual([]);
    expect((await ground.forge.examine(SHOP)).findings).toMatchObject([
      { weight: 'warns', text: 'acme/shop is acme-corp/store now' },
    ]);
  });

  it('that is archived refuses writes with the way out', async () => {
    const { number } = await ground.open();
    ground.shop.isArchived = true;
    expect(await ground.repository.facts()).toMatchObject({ isArchived: true });
    for (const call of [
      () => ground.repository.putComment(number, { marker: 'a', body: 'a' }),
      () => ground.repository.updatePullRequest(number, { isDraft: true }),
    ]) {
      const refused = await refusalOf(call());
      expect(refused).toMatchObject({ refusal: 'archived', reason: 'push_rejected' });
      expect(refused.message).toMatch(
        /^The repository acme\/shop is archived .* Unarchive it at GitHub, then retry\.$/,
      );
    }
    expect((await ground.forge.examine(SHOP)).findings).toMatchObject([
      { weight: 'stops', text: 'acme/shop is archived and cannot be changed' },
    ]);
  });

  it('without issues refuses them as gone', async () => {
    ground.shop.hasIssues = false;
    const refused = await refusalOf(ground.repository.issuesWithLabel('autonomous'));
    expect(refused).toMatchObject({ refusal: 'gone', message: expect.stringContaining('410: Issues are disabled') });
  });

  it('without drafts opens a pull request as ready, and with notices for wishes that it refuses', async () => {
    ground.shop.hasDrafts = false;
    const { name } = await ground.push({ 'a.txt': 'a' });
    const opened = await ground.repository.openPullRequest({
      head: name,
      base: 'main',
      title: 'A',
      body: '',
      isDraft: true,
      labels: ['autonomous'],
      reviewers: ['anna', 'nobody-here', 'team/core'],
    });
    expect(opened).toMatchObject({ isNew: true, pullRequest: { isDraft: false } });
    expect(opened.notices).toEqual([
      'The repository does not support draft pull requests, so that this one was opened as ready for review.',
      expect.stringMatching(
        /^nobody-here was not asked for a review: Reviews may only be requested from collaborators/,
      ),
      expect.stringMatching(/^team\/core was not asked for a review: /),
    ]);
    const issue = ground.shop.issues.get(opened.pullRequest.number);
    expect([[...(issue?.labels ?? [])], [...(issue?.pull?.reviewers ?? [])]]).toEqual([['autonomous'], ['anna']]);
  });
});

describe('a merge', () => {
  it('waits for the checks and reviews that the base branch requires', async () => {
    const { repository, shop } = ground;
    const { number, branch } = await ground.open();
    shop.protect('main', { checks: ['unit'], approvals: 1 });
    const request = { number, method: 'squash', head: branch.commit } as const;
    const blocked = async (words: string): Promise<void> => {
      expect(await repository.pullRequest(number)).toMatchObject({ mergeability: 'blocked' });
      const message = `Pull request ${number} was not merged: a rule of main is not met (${words}). Meet it at GitHub, then try again.`;
      expect(await repository.merge(request)).toEqual({ merged: false, refusal: 'blocked', message });
    };
    await blocked('Required status check "unit" is expected.');
    await ground.as('anna', 'POST', '/check-runs', {
      name: 'unit',
      head_sha: branch.commit,
      status: 'completed',
      conclusion: 'failure',
      output: { title: '1 failed', summary: 'adds › two numbers' },
      details_url: 'https://ci.example.test/7',
    });
    expect(await repository.checks(branch.commit)).toEqual([
      {
        name: 'unit',
        by: 'anna',
        state: 'failed',
        conclusion: 'failure',
        url: 'https://ci.example.test/7',
        summary: '1 failed\n\nadds › two numbers',
      },
    ]);
    await blocked('Required status check "unit" is failing.');
    await ground.as('anna', 'POST', '/check-runs', { name: 'unit', head_sha: branch.commit, conclusion: 'success' });
    await blocked('At least 1 approving review is required by reviewers with write access.');
    await ground.as('otto', 'POST', `/pulls/${number}/reviews`, { event: 'APPROVE', body: '' });
    await blocked('At least 1 approving review is required by reviewers with write access.');
    await ground.as('anna', 'POST', `/pulls/${number}/reviews`, { event: 'APPROVE', body: '' });
    expect(await repository.pullRequest(number)).toMatchObject({ mergeability: 'ready' });
    expect(await repository.merge(request)).toMatchObject({ merged: true });
  });

  it('tells a base that moved, a draft and a method that is not allowed', async () => {
    const { repository, shop, server } = ground;
    const { number, branch } = await ground.open();
    const request = { number, method: 'rebase', head: branch.commit } as const;
    server.fail(
      { kind: 'status', status: 405, message: 'Base branch was modified. Review and try the merge again.' },
      { path: '/merge' },
    );
    expect(await repository.merge(request)).toMatchObject({ merged: false, refusal: 'base_moved' });
    shop.methods.rebase = false;
    expect(await repository.facts()).toMatchObject({ mergeMethods: ['squash', 'merge'] });
    expect(await repository.merge(request)).toMatchObject({ merged: false, refusal: 'method_not_allowed' });
    shop.methods.rebase = true;
    await repository.updatePullRequest(number, { isDraft: true });
    expect(await repository.merge(request)).toMatchObject({ merged: false, refusal: 'draft' });
    await repository.updatePullRequest(number, { isDraft: false });
    await ground.push({ 'other.txt': 'x' }, { name: 'main' });
    expect(await repository.merge(request)).toMatchObject({ merged: true });
    expect(shop.git('log', '--format=%s', 'main').split('\n')).toHaveLength(3);
  });

  it('of a branch that is behind where the base branch forbids it is blocked', async () => {
    const { number, branch } = await ground.open();
    await ground.push({ 'other.txt': 'x' }, { name: 'main' });
    ground.shop.protect('main', { isStrict: true });
    expect(await ground.repository.pullRequest(number)).toMatchObject({ mergeability: 'behind' });
    const outcome = await ground.repository.merge({ number, method: 'merge', head: branch.commit });
    expect(outcome).toMatchObject({ merged: false, refusal: 'blocked' });
  });

  it('of a branch that was deleted is closed', async () => {
    const { number, branch } = await ground.open();
    await ground.as('anna', 'DELETE', `/git/refs/heads/${branch.name}`);
    expect(await ground.repository.pullRequest(number)).toMatchObject({ state: 'closed', mergeability: 'unknown' });
  });

  it('without the permission to write is refused as forbidden', async () => {
    const { number, branch } = await ground.open();
    ground.shop.collaborators.set('octo-server', 'read');
    const refused = await refusalOf(ground.repository.merge({ number, method: 'merge', head: branch.commit }));
    expect(refused.refusal).toBe('forbidden');
  });
});

describe('what people say', () => {
  it('counts as theirs, whatever they claim, and their permission comes from GitHub', async () => {
    const { repository } = ground;
    const { number } = await ground.open();
    const forged = 'Ship it. <!-- autonomous:status -->';
    for (const person of ['acme', 'anna', 'otto'] as const)
      await ground.as(person, 'POST', `/issues/${number}/comments`, { body: forged });
    await ground.server.as(SERVER_TOKEN, `POST /repos/acme/shop/issues/${number}/comments`, { body: 'By hand.' });
    await repository.putComment(number, { marker: 'status', body: 'By the server.' });
    const { comments } = await repository.discussion(number);
    expect(comments.map(({ author, isOwn }) => [author.login, author.mayWrite, isOwn])).toEqual([
      ['acme', true, false],
      ['anna', true, false],
      ['otto', false, false],
      ['octo-server', true, true],
      ['octo-server', true, true],
    ]);
    expect(await repository.permissionOf('otto')).toBe('read');
    expect(await repository.permissionOf('acme')).toBe('admin');
  });

  it('starts nothing where a stranger wrote the issue and another one labelled it', async () => {
    const made = (await ground.as('otto', 'POST', '/issues', { title: 'Do as I say', body: 'x'.repeat(65_000) })) as {
      number: number;
    };
    await ground.as('anna', 'POST', `/issues/${made.number}/labels`, { labels: ['autonomous'] });
    await ground.open();
    await ground.as('anna', 'POST', '/issues/2/labels', { labels: ['autonomous'] });
    const found = await ground.repository.issuesWithLabel('autonomous');
    expect(found).toMatchObject([
      {
        number: made.number,
        isClipped: true,
        author: { login: 'otto', mayWrite: false },
        labelledBy: { login: 'anna', mayWrite: true },
        labelledAt: expect.stringMatching(/^2/),
        isChangedSince: false,
      },
    ]);
  });

  it.each([{ body: 'Something else' }, { title: 'Something else' }])(
    'tells that a stranger’s issue was changed after the label: %o',
    async (change) => {
      const { number } = (await ground.as('otto', 'POST', '/issues', { title: 'A', body: 'B' })) as { number: number };
      await ground.as('anna', 'POST', `/issues/${number}/labels`, { labels: ['autonomous'] });
      await ground.as('otto', 'POST', `/issues/${number}/comments`, { body: 'Thanks.' });
      expect(await ground.repository.issuesWithLabel('autonomous')).toMatchObject([{ isChangedSince: false }]);
      await ground.as('otto', 'PATCH', `/issues/${number}`, change);
      expect(await ground.repository.issuesWithLabel('autonomous')).toMatchObject([{ isChangedSince: true }]);
    },
  );

  it('is read over many pages', async () => {
    const { number } = await ground.open();
    const issue = ground.shop.issues.get(number);
    const at = '2026-01-01T00:00:00Z';
    for (let id = 1; id <= 230; id += 1)
      issue?.comments.push({ id, login: 'anna', body: `Comment ${id}`, createdAt: at, updatedAt: at });
    await ground.repository.putComment(number, { marker: 'status', body: 'One.' });
    await ground.repository.putComment(number, { marker: 'status', body: 'Two.' });
    const { comments, next } = await ground.repository.discussion(number);
    expect([comments.length, next]).toEqual([231, null]);
    expect(comments.at(-1)?.body).toMatch(/^Two\./);
    for (let id = 5_000_000; id < 5_001_000; id += 1)
      issue?.comments.push({ id, login: 'anna', body: 'more', createdAt: at, updatedAt: at });
    const first = await ground.repository.discussion(number);
    expect(first.comments).toHaveLength(1_000);
    const second = await ground.repository.discussion(number, undefined, first.next ?? '');
    expect([second.comments.length, second.next]).toEqual([231, null]);
    expect(new Set([...first.comments, ...second.comments].map(({ id }) => id)).size).toBe(1_231);
  });

  it('is answered once in a thread, however many others comment there meanwhile', async () => {
    const { number } = await ground.open({ 'a.txt': 'one\n' });
    await ground.as('anna', 'POST', `/pulls/${number}/reviews`, {
      event: 'COMMENT',
      body: 'See below.',
      comments: [{ path: 'a.txt', line: 1, body: 'First.' }],
    });
    const id = (await ground.repository.discussion(number)).threads[0]?.id ?? '';
    const reply = { marker: 'answer-1', body: 'Changed.' };
    const first = await ground.repository.replyToThread(id, reply);
    const remarks = ground.shop.issues.get(number)?.pull?.threads[0]?.comments;
    const at = '2026-01-01T00:00:00Z';
    const flood = (count: number) => {
      for (let own = 1; own <= count; own += 1)
        remarks?.push({ id: 5_000_000 + own, login: 'otto', body: 'me too', createdAt: at, updatedAt: at });
    };
    flood(250);
    expect(await ground.repository.replyToThread(id, reply)).toEqual(first);
    expect(remarks).toHaveLength(252);
    flood(3_000);
    expect(await failureOf(ground.repository.replyToThread(id, reply))).toMatchObject({ refusal: 'too_many' });
    expect(remarks).toHaveLength(3_252);
  });

  it('is read to the end of each thread, also from call to call', async () => {
    const { number, branch } = await ground.open({ 'a.txt': 'one\n' });
    await ground.as('anna', 'POST', `/pulls/${number}/reviews`, {
      event: 'COMMENT',
      body: 'See below.',
      comments: [{ path: 'a.txt', line: 1, body: 'First.' }],
    });
    const at = '2026-01-01T00:00:00Z';
    const remarks = ground.shop.issues.get(number)?.pull?.threads[0]?.comments;
    for (let id = 1; id <= 1_150; id += 1)
      remarks?.push({ id, login: 'otto', body: 'me too', createdAt: at, updatedAt: at });
    remarks?.push({ id: 9_999, login: 'anna', body: `Last of ${branch.name}`, createdAt: at, updatedAt: at });
    const first = await ground.repository.discussion(number);
    expect(first.threads.map(({ comments }) => comments.length)).toEqual([1_000]);
    const second = await ground.repository.discussion(number, undefined, first.next ?? '');
    expect(second.threads.map(({ id, comments }) => [id, comments.length])).toEqual([[first.threads[0]?.id, 152]]);
    expect(second.threads[0]?.comments.at(-1)?.body).toMatch(/^Last of/);
    expect(second.next).toBeNull();
  });
});

describe('many entries of strangers at an issue', () => {
  const OLD = '2026-01-01T00:00:00Z';
  const flood = (number: number, count: number) => {
    const issue = ground.shop.issues.get(number);
    for (let id = 5_000_000; id < 5_000_000 + count; id += 1) {
      issue?.events.push({ id, event: 'renamed', login: 'otto', at: OLD });
      issue?.comments.push({ id, login: 'otto', body: 'more', createdAt: OLD, updatedAt: OLD });
    }
    return issue;
  };
  const open = async () =>
    (await ground.as('otto', 'POST', '/issues', { title: 'Fix a typo', body: 'x' })) as { number: number };
  const label = (number: number) => ground.as('anna', 'POST', `/issues/${number}/labels`, { labels: ['autonomous'] });
  const read = async () => (await ground.repository.issuesWithLabel('autonomous'))[0];

  it.each([0, 99, 100, 499, 500, 800])('do not hide its label, nor a change after it: %d', async (count) => {
    const { number } = await open();
    const issue = flood(number, count);
    await label(number);
    expect(await read()).toMatchObject({ labelledBy: { login: 'anna' }, isChangedSince: false });
    issue?.events.push({ id: 9, event: 'renamed', login: 'otto', at: '2999-01-01T00:00:00Z' });
    expect(await read()).toMatchObject({ labelledBy: { login: 'anna' }, isChangedSince: true });
  });

  it('after its label count as a change where they are too many to be read', async () => {
    const { number } = await open();
    await label(number);
    flood(number, 300);
    expect(await read()).toMatchObject({ isChangedSince: false });
    flood(number, 1_200);
    expect(await read()).toMatchObject({ labelledBy: { login: 'anna' }, isChangedSince: true });
  });

  it('do not multiply the comment of the server', async () => {
    const { number } = await open();
    const issue = flood(number, 700);
    await ground.repository.putComment(number, { marker: 'status', body: 'One.' });
    await ground.repository.putComment(number, { marker: 'status', body: 'Two.' });
    flood(number, 150);
    await ground.repository.putComment(number, { marker: 'status', body: 'Three.' });
    const own = issue?.comments.filter(({ login }) => login !== 'otto').map(({ body }) => body);
    expect(own).toEqual([expect.stringMatching(/^Three\./)]);
  });
});

describe('polling', () => {
  it('costs nothing of the rate limit while nothing has changed', async () => {
    const { repository, server } = ground;
    const { number, branch } = await ground.open();
    const poll = async () => ({
      pull: await repository.pullRequest(number),
      checks: await repository.checks(branch.commit),
      found: await repository.findPullRequest(branch.name),
      permission: await repository.permissionOf('anna'),
    });
    const first = await poll();
    const before = [server.counted, server.requests.length] as const;
    expect(await poll()).toEqual(first);
    expect(server.counted - before[0]).toBe(0);
    expect(server.requests.slice(before[1]).map(({ status }) => status)).toEqual(Array<number>(7).fill(304));
    await ground.as('anna', 'POST', `/issues/${number}/comments`, { body: 'Look here.' });
    await ground.as('anna', 'PATCH', `/pulls/${number}`, { title: 'Renamed by hand' });
    expect(await repository.pullRequest(number)).toMatchObject({ title: 'Renamed by hand' });
  });

  it('keeps no more answers than fit', () => {
    const cache = new AnswerCache();
    const answer = (json: string) => ({ etag: 'e', json, headers: {}, url: '' });
    for (let index = 0; index < 1_001; index += 1) cache.put(`key ${index}`, answer('1'));
    expect(cache.get('key 0')).toBeUndefined();
    expect(cache.get('key 1')).toBeDefined();
    cache.put('key 1001', answer('1'));
    expect([cache.get('key 1') !== undefined, cache.get('key 2')]).toEqual([true, undefined]);
    const large = 'x'.repeat(2 * 1024 * 1024);
    for (let index = 0; index < 9; index += 1) cache.put(`large ${index}`, answer(large));
    expect(cache.get('large 0')).toBeUndefined();
    expect(cache.get('large 8')).toBeDefined();
    cache.put('too large', answer(`${large}x`));
    expect(cache.get('too large')).toBeUndefined();
  });
});

describe('an examination', () => {
  const stops = async () => {
    const { findings } = await ground.forge.examine(SHOP);
    return findings.map(({ weight, text }) => [weight, text]);
  };

  it('finds what a fine-grained token lacks, and makes nothing', async () => {
    const { server } = ground;
    server.tokens.set(SERVER_TOKEN, {
      login: 'octo-server',
      permissions: { contents: 'write', pull_requests: 'read' },
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    expect(await stops()).toEqual([
      ['warns', expect.stringMatching(/^the token of GITHUB_TOKEN expires at \d{4}-.*Z$/)],
      ['stops', 'the token of GITHUB_TOKEN lacks pull_requests=write in acme/shop, for opening pull requests'],
      ['warns', 'the token of GITHUB_TOKEN lacks issues=write in acme/shop, for status comments and labelled issues'],
      ['warns', 'the token of GITHUB_TOKEN lacks checks=read in acme/shop, for reading check runs'],
      ['warns', 'the token of GITHUB_TOKEN lacks statuses=read in acme/shop, for reading commit statuses'],
    ]);
    expect(ground.shop.issues.size).toBe(0);
    expect(ground.shop.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });

  it('finds a classic token without scope, and a refused one', async () => {
    const { server, forge } = ground;
    server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['gist'] });
    expect((await stops())[0]).toEqual(['stops', expect.stringContaining('lacks contents=write')]);
    expect((await stops()).at(-1)).toEqual(['risks', expect.stringContaining('than the server needs: gist')]);
    server.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['public_repo'] });
    expect(await stops()).toEqual([]);
    server.tokens.delete(SERVER_TOKEN);
    expect(await forge.examine(SHOP)).toMatchObject({
      account: null,
      findings: [{ weight: 'stops', way: 'Set a valid GITHUB_TOKEN and restart the server.' }],
    });
  });
});

describe('the GitHub of this machine', () => {
  it('signs webhooks, and delivers one once more with the same id', async () => {
    const received: { readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }[] = [];
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        response.writeHead(202).end();
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void receiver.close());
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    await ground.as('acme', 'POST', '/hooks', {
      config: { url, secret: 's3cret' },
      events: ['pull_request', 'issue_comment'],
    });
    const { number, branch } = await ground.open();
    await ground.as('anna', 'POST', `/issues/${number}/comments`, { body: 'Look.' });
    await ground.push({ 'more.txt': 'x' }, { from: branch.name, name: branch.name });
    await expect.poll(() => ground.shop.issues.get(number)?.pull?.headCommit).not.toBe(branch.commit);
    await ground.server.hooks.settled();
    expect(ground.server.hooks.deliveries.map(({ event, action, status }) => [event, action, status])).toEqual([
      ['pull_request', 'opened', 202],
      ['issue_comment', 'created', 202],
      ['pull_request', 'synchronize', 202],
    ]);
    const [first] = ground.server.hooks.deliveries;
    if (first === undefined) throw new Error('nothing was delivered');
    await ground.server.hooks.redeliver(first);
    expect(received.map(({ headers }) => headers['x-github-delivery'])).toEqual([
      ...ground.server.hooks.deliveries.slice(0, 3).map(({ id }) => id),
      first.id,
    ]);
    for (const { headers, body } of received) {
      const signature = `sha256=${createHmac('sha256', 's3cret').update(body).digest('hex')}`;
      expect(headers['x-hub-signature-256']).toBe(signature);
    }
  });

  it('refuses pushes to a protected branch as GitHub does', async () => {
    ground.shop.protect('main', {});
    await expect(ground.push({ 'a.txt': 'a' }, { name: 'main' })).rejects.toThrow(
      /GH006: Protected branch update failed/,
    );
  });
});

/** Message, stack and all that hangs on an error. */
function everythingIn(error: Error): string {
  const cause = error.cause instanceof Error ? everythingIn(error.cause) : '';
  return `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(Object.values(error))} ${cause}`;
}
