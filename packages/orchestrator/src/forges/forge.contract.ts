/**
 * Contract suite that every forge must pass, on this machine and with the service itself. Each adapter's test calls it with a
 * repository that it may change; branches, pull requests and issues of the suite have names of their own.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { write } from '../repository/git-fixture.fixture.ts';
import { type Forge, ForgeRefusal, MAX_BODY_CHARACTERS, MAX_FOREIGN_CHARACTERS, type RepositoryName } from './forge.ts';

/** A repository at a forge, and a person there. */
export interface ForgeGround {
  readonly forge: Forge;
  readonly name: RepositoryName;
  /** Git address over HTTP. */
  readonly address: string;
  /** Calls the forge's own API as a person who may write; a path after the one of the repository. */
  act(method: string, path: string, body?: object): Promise<unknown>;
}

export interface Branch {
  readonly name: string;
  readonly commit: string;
}

/** Pushes a new branch from the base branch, as a clone of the repository would. */
export async function pushBranch(
  { forge, address }: Pick<ForgeGround, 'forge' | 'address'>,
  files: Readonly<Record<string, string>>,
  { from = 'main', name = `autonomous/${randomUUID()}` }: { readonly from?: string; readonly name?: string } = {},
): Promise<Branch> {
  const folder = await mkdtemp(join(tmpdir(), 'forge-contract-'));
  try {
    const git = await gitWithPassword(forge, folder);
    await git('clone', '--quiet', '--branch', from, address, '.');
    await git('switch', '--quiet', '-C', name);
    write(folder, files);
    await git('add', '--all');
    await git('commit', '--quiet', '--message', `Change ${Object.keys(files).join(', ')}`);
    await git('push', '--quiet', 'origin', `HEAD:refs/heads/${name}`);
    return { name, commit: await git('rev-parse', 'HEAD') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Git = (...args: string[]) => Promise<string>;

/** Not synchronous: the forge may be in this very process. */
async function gitWithPassword(forge: Forge, cwd: string): Promise<Git> {
  const password = await forge.gitPassword();
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(`x-access-token:${password}`).toString('base64')}`,
    GIT_AUTHOR_NAME: 'Autonomous',
    GIT_AUTHOR_EMAIL: 'autonomous@example.test',
    GIT_COMMITTER_NAME: 'Autonomous',
    GIT_COMMITTER_EMAIL: 'autonomous@example.test',
  };
  return async (...args) => (await promisify(execFile)('git', args, { cwd, env })).stdout.trimEnd();
}

/** The refusal of a call that has to be refused. */
export async function refusalOf(call: Promise<unknown>): Promise<ForgeRefusal> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ForgeRefusal);
  return error as ForgeRefusal; // the line above
}

const PATIENCE = { timeout: 120_000, interval: 500 };

/** @param prepare makes the ground; `close` ends it */
export function describeForge(
  title: string,
  prepare: () => Promise<ForgeGround & { readonly close?: () => Promise<void> }>,
): void {
  describe(`the forge contract with ${title}`, () => {
    let ground: Awaited<ReturnType<typeof prepare>>;
    beforeAll(async () => {
      ground = await prepare();
    });
    afterAll(() => ground.close?.());

    const repository = (): ReturnType<Forge['repository']> => ground.forge.repository(ground.name);
    /** A pull request of a new branch. */
    const open = async (files: Readonly<Record<string, string>> = { [`${randomUUID()}.txt`]: 'new\n' }) => {
      const branch = await pushBranch(ground, files);
      const { pullRequest } = await repository().openPullRequest({
        head: branch.name,
        base: 'main',
        title: 'A change',
        body: 'Why and how.',
        isDraft: false,
      });
      return { branch, number: pullRequest.number };
    };

    it('finds a repository by its addresses at this forge and at no other', () => {
      const { forge, name, address } = ground;
      const ssh = forge.host.replace(/:\d+$/, '');
      const found = [
        address,
        address.replace(/\.git$/, ''),
        `${address.replace(/\.git$/, '')}/`,
        `git@${ssh}:${name.owner}/${name.name}.git`,
        `ssh://git@${ssh}/${name.owner}/${name.name}.git`,
      ];
      for (const each of found) expect(forge.repositoryAt(each)).toEqual(name);
      for (const each of [
        `https://${forge.host}.example.test/${name.owner}/${name.name}.git`,
        `https://elsewhere.test/${name.owner}/${name.name}.git`,
        `git@elsewhere.test:${name.owner}/${name.name}.git`,
        `https://${forge.host}/${name.owner}`,
        `https://${forge.host}/${name.owner}/${name.name}/more`,
        '/srv/git/shop.git',
        'file:///srv/git/shop.git',
        '',
      ])
        expect(forge.repositoryAt(each)).toBeNull();
    });

    it('tells the facts of a repository, and that one is gone', async () => {
      expect(await repository().facts()).toMatchObject({
        ...ground.name,
        renamedFrom: null,
        isArchived: false,
        defaultBranch: 'main',
        mayWrite: true,
      });
      const { refusal, message, reason } = await refusalOf(
        ground.forge.repository({ ...ground.name, name: `none-${randomUUID()}` }).facts(),
      );
      expect([refusal, reason]).toEqual(['gone', 'missing_at_remote']);
      expect(message).toMatch(/it is gone, was renamed, or the (?:token of|GitHub App) \S+ does not see it/);
    });

    it('opens a pull request once, however often it is asked to', async () => {
      const branch = await pushBranch(ground, { [`${randomUUID()}.txt`]: 'new\n' });
      expect(await repository().findPullRequest(branch.name)).toBeNull();
      const request = { head: branch.name, base: 'main', title: 'A change', body: 'Why.', isDraft: true };
      const first = await repository().openPullRequest({ ...request, labels: ['autonomous-contract'] });
      expect(first).toMatchObject({
        isNew: true,
        pullRequest: {
          state: 'open',
          title: 'A change',
          body: 'Why.',
          head: { branch: branch.name, commit: branch.commit },
          isFromFork: false,
          base: { branch: 'main' },
          mergeCommit: null,
        },
      });
      const again = await repository().openPullRequest({ ...request, title: 'Another title' });
      expect([again.isNew, again.pullRequest.number]).toEqual([false, first.pullRequest.number]);
      expect(await repository().findPullRequest(branch.name)).toMatchObject({
        number: first.pullRequest.number,
        title: 'A change',
      });
      expect(await repository().findPullRequest(branch.name, 'main')).not.toBeNull();
      expect(await repository().findPullRequest(branch.name, 'no-such-base')).toBeNull();
    });

    it('names what keeps a pull request from being opened', async () => {
      const branch = await pushBranch(ground, { [`${randomUUID()}.txt`]: 'new\n' });
      const request = { head: branch.name, base: 'main', title: 'A change', body: '', isDraft: false };
      const missingBase = await refusalOf(repository().openPullRequest({ ...request, base: 'no-such-base' }));
      expect(missingBase).toMatchObject({ refusal: 'base_missing', reason: 'push_rejected' });
      expect(missingBase.message).toMatch(/^The base branch no-such-base is not in .*Restore it, or give/);
      const missingHead = await refusalOf(repository().openPullRequest({ ...request, head: 'no-such-head' }));
      expect(missingHead.refusal).toBe('head_missing');
      const same = await refusalOf(repository().openPullRequest({ ...request, head: 'main' }));
      expect(same.refusal).toBe('no_commits');
      const body = 'x'.repeat(MAX_BODY_CHARACTERS + 1);
      const long = await refusalOf(repository().openPullRequest({ ...request, body }));
      expect(long).toMatchObject({ refusal: 'too_long', message: expect.stringContaining('65537 characters') });
      expect(await repository().findPullRequest(branch.name)).toBeNull();
    });

    it('changes title, body and state, and marks a draft as ready and back', async () => {
      const { number } = await open();
      const changed = await repository().updatePullRequest(number, { title: 'Better', body: 'New.', isDraft: true });
      expect(changed).toMatchObject({ title: 'Better', body: 'New.', isDraft: true, mergeability: 'draft' });
      expect(await repository().updatePullRequest(number, { isDraft: false })).toMatchObject({ isDraft: false });
      expect(await repository().updatePullRequest(number, { isDraft: false })).toMatchObject({ title: 'Better' });
      const missing = await refusalOf(repository().updatePullRequest(number, { base: 'no-such-base' }));
      expect(missing.refusal).toBe('base_missing');
      expect(await repository().updatePullRequest(number, { state: 'closed' })).toMatchObject({ state: 'closed' });
      expect(await repository().updatePullRequest(number, { state: 'open' })).toMatchObject({ state: 'open' });
      expect((await refusalOf(repository().pullRequest(987_654_321))).refusal).toBe('gone');
    });

    it('merges at the expected commit alone, and once', async () => {
      const { number, branch } = await open();
      const request = { number, method: 'squash', title: `Merged ${number}`, message: 'Because.' } as const;
      const stale = await repository().merge({ ...request, head: '0'.repeat(39) + '1' });
      expect(stale).toMatchObject({ merged: false, refusal: 'head_moved' });
      const merged = await repository().merge({ ...request, head: branch.commit });
      if (!merged.merged) throw new Error(merged.message);
      expect(await repository().merge({ ...request, head: branch.commit })).toEqual(merged);
      const found = await repository().pullRequest(number);
      expect(found).toMatchObject({ state: 'merged', mergeCommit: merged.commit, mergedBy: expect.any(String) });
      await repository().putComment(number, { marker: 'after-merge', body: 'Merged.' });
    });

    it('does not merge what conflicts or is closed', async () => {
      const file = `${randomUUID()}.txt`;
      const [one, other] = [await open({ [file]: 'one\n' }), await open({ [file]: 'other\n' })];
      const first = { number: one.number, method: 'merge', head: one.branch.commit } as const;
      expect(await repository().merge(first)).toMatchObject({ merged: true });
      await vi.waitFor(async () => {
        expect(await repository().pullRequest(other.number)).toMatchObject({ mergeability: 'conflict' });
      }, PATIENCE);
      const refused = await repository().merge({ number: other.number, method: 'merge', head: other.branch.commit });
      expect(refused).toMatchObject({
        merged: false,
        refusal: 'conflict',
        message: expect.stringContaining('Merge main into'),
      });
      await repository().updatePullRequest(other.number, { state: 'closed' });
      const closed = await repository().merge({ number: other.number, method: 'merge', head: other.branch.commit });
      expect(closed).toMatchObject({ merged: false, refusal: 'closed' });
    });

    it('reads reviews, threads and comments, answers in a thread once, and resolves it', async () => {
      const path = `${randomUUID()}.txt`;
      const { number } = await open({ [path]: 'one\ntwo\nthree\n' });
      const long = 'long '.repeat(5_000);
      await ground.act('POST', `/issues/${number}/comments`, { body: long });
      const comments = [{ path, line: 2, side: 'RIGHT', body: 'Say why.' }];
      await ground.act('POST', `/pulls/${number}/reviews`, { event: 'COMMENT', body: 'Nearly.', comments });
      const found = await vi.waitFor(async () => {
        const read = await repository().discussion(number);
        expect([read.threads.length, read.comments.length]).toEqual([1, 1]);
        return read;
      }, PATIENCE);
      const [thread] = found.threads;
      expect(thread).toMatchObject({ isResolved: false, isOutdated: false, path, line: 2 });
      expect(thread?.comments).toMatchObject([{ body: 'Say why.', isOwn: false, author: { mayWrite: true } }]);
      expect(found.reviews).toMatchObject([{ body: 'Nearly.', verdict: 'commented' }]);
      expect(found.comments).toMatchObject([{ isClipped: true, isOwn: false }]);
      expect(found.comments[0]?.body).toHaveLength(MAX_FOREIGN_CHARACTERS);
      expect(found.next).toBeNull();

      const id = thread?.id ?? '';
      const reply = { marker: `reply-${number}`, body: 'Done: the reason is in the code.' };
      const first = await repository().replyToThread(id, reply);
      expect(await repository().replyToThread(id, reply)).toEqual(first);
      await repository().resolveThread(id);
      await repository().resolveThread(id);
      await vi.waitFor(async () => {
        const [answered] = (await repository().discussion(number)).threads;
        expect(answered?.isResolved).toBe(true);
        expect(answered?.comments.map(({ isOwn }) => isOwn)).toEqual([false, true]);
      }, PATIENCE);
      const later = new Date(Date.now() + 3_600_000).toISOString();
      expect(await repository().discussion(number, later)).toMatchObject({ reviews: [], threads: [], comments: [] });
      expect((await refusalOf(repository().resolveThread('PRRT_none'))).refusal).toBe('gone');
      expect((await refusalOf(repository().replyToThread('PRRT_none', reply))).refusal).toBe('gone');
    });

    it('keeps one comment for a marker', async () => {
      const { number } = await open();
      const first = await repository().putComment(number, { marker: 'status', body: 'Planning.' });
      expect(await repository().putComment(number, { marker: 'status', body: 'Checking.' })).toEqual(first);
      expect(await repository().putComment(number, { marker: 'status', body: 'Checking.' })).toEqual(first);
      await repository().putComment(number, { marker: 'status-2', body: 'Another.' });
      const { comments } = await vi.waitFor(async () => {
        const read = await repository().discussion(number);
        expect(read.comments).toHaveLength(2);
        return read;
      }, PATIENCE);
      expect(comments.map(({ body, isOwn }) => [body.split('\n')[0], isOwn])).toEqual([
        ['Checking.', true],
        ['Another.', true],
      ]);
      const long = repository().putComment(number, { marker: 'long', body: 'x'.repeat(MAX_BODY_CHARACTERS) });
      expect((await refusalOf(long)).refusal).toBe('too_long');
    });

    it('reads the newest status of each check', async () => {
      const { commit } = await pushBranch(ground, { [`${randomUUID()}.txt`]: 'new\n' });
      expect(await repository().checks(commit)).toEqual([]);
      const report = (context: string, state: string, description: string): Promise<unknown> =>
        ground.act('POST', `/statuses/${commit}`, {
          context,
          state,
          description,
          target_url: 'https://ci.example.test/1',
        });
      await report('unit', 'pending', 'running');
      await report('unit', 'success', '12 passed');
      await report('lint', 'failure', '2 faults');
      await report('deploy', 'pending', 'waits');
      await vi.waitFor(async () => {
        const found = await repository().checks(commit);
        expect(found.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
          {
            name: 'deploy',
            by: null,
            state: 'pending',
            conclusion: null,
            url: 'https://ci.example.test/1',
            summary: 'waits',
          },
          {
            name: 'lint',
            by: null,
            state: 'failed',
            conclusion: 'failure',
            url: 'https://ci.example.test/1',
            summary: '2 faults',
          },
          {
            name: 'unit',
            by: null,
            state: 'passed',
            conclusion: 'success',
            url: 'https://ci.example.test/1',
            summary: '12 passed',
          },
        ]);
      }, PATIENCE);
    });

    it('lists open issues with a label, and who put it there', async () => {
      const label = `contract-${randomUUID().slice(0, 8)}`;
      const made = (await ground.act('POST', '/issues', { title: 'Add a page', body: 'Please.' })) as {
        number: number;
      };
      await ground.act('POST', `/issues/${made.number}/labels`, { labels: [label] });
      await vi.waitFor(async () => {
        expect(await repository().issuesWithLabel(label)).toMatchObject([
          {
            number: made.number,
            title: 'Add a page',
            body: 'Please.',
            author: { mayWrite: true },
            labelledBy: { mayWrite: true },
            labelledAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          },
        ]);
      }, PATIENCE);
      const later = new Date(Date.now() + 3_600_000).toISOString();
      expect(await repository().issuesWithLabel(label, later)).toEqual([]);
      await ground.act('PATCH', `/issues/${made.number}`, { state: 'closed' });
      await vi.waitFor(async () => expect(await repository().issuesWithLabel(label)).toEqual([]), PATIENCE);
    });

    it('tells permissions, and none for a login that nobody has', async () => {
      const { account } = await ground.forge.examine(null);
      expect(account).toMatch(/^\S+$/);
      if (account !== null && !account.endsWith('[bot]'))
        expect(await repository().permissionOf(account)).toMatch(/^(?:admin|write)$/);
      expect(await repository().permissionOf(`no-one-${randomUUID().slice(0, 8)}`)).toBe('none');
    });

    it('examines its credentials and a repository', async () => {
      const found = await ground.forge.examine(ground.name);
      expect(found).toMatchObject({ repository: { ...ground.name } });
      expect(found.findings.filter(({ weight }) => weight === 'stops')).toEqual([]);
      for (const webhook of found.webhooks ?? [])
        expect(webhook).toMatchObject({ url: expect.stringMatching(/^https?:/), events: expect.any(Array) });
      const gone = await ground.forge.examine({ ...ground.name, name: `none-${randomUUID()}` });
      expect(gone).toMatchObject({ repository: null, webhooks: null, findings: [{ weight: 'stops' }] });
    });

    it('ends with the reason of a signal', async () => {
      const reason = new Error('the server stops');
      const call = ground.forge.repository(ground.name, AbortSignal.abort(reason)).facts();
      await expect(call).rejects.toBe(reason);
    });
  });
}
