/** A real server over HTTP, and a forge on this machine behind it. */
import { NotFound, type RunPullRequest, type RunView } from '@autonomous/shared';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { openGitHubGround, SERVER_TOKEN } from '../forges/github/github.fixture.ts';
import { RunPullRequests, type RunPullRequestsOptions } from './run-pull-requests.ts';
import { type ServerUnderTest, startTestServer } from './running-server.fixture.ts';
import { stubOrchestrator } from './stub-orchestrator.fixture.ts';

const URL_OF_RUN = '/api/runs/r-1/pull-request';

/** Run r-1 has a pull request with one review thread, run r-2 has none. */
async function aPullRequest(options: Partial<RunPullRequestsOptions> = {}) {
  const ground = await openGitHubGround();
  onTestFinished(() => ground.close());
  const { number, branch } = await ground.open({ 'greet.txt': 'one\ntwo\n' });
  const review = { event: 'COMMENT', body: 'Nearly.', comments: [{ path: 'greet.txt', line: 2, body: 'Say why.' }] };
  await ground.as('anna', 'POST', `/pulls/${number}/reviews`, review);
  const address = ground.server.addressOf(ground.shop);
  const published = { branch: branch.name, commit: branch.commit, pushed: true };
  const url = `${ground.server.url}/acme/shop/pull/${number}`;
  const views: Readonly<Record<string, RunView>> = {
    'r-1': aView('r-1', { published: { ...published, pullRequest: { number, url } } }),
    'r-2': aView('r-2', { published }),
    // A record that others wrote names the pull request of r-1.
    'r-3': aView('r-3', { published: { ...published, pullRequest: { number, url } }, rebuiltUpTo: 9 }),
    'r-4': aView('r-4', {
      branch: branch.name,
      published: { ...published, pullRequest: { number, url } },
      rebuiltUpTo: 9,
    }),
  };
  const pullRequests = new RunPullRequests({
    engine: {
      view: async (id) => {
        const view = views[id];
        if (view === undefined) throw new NotFound(`There is no run ${id}.`);
        return view;
      },
    },
    projects: {
      of: async (id) => ({ id, name: 'shop', repository: address, baseBranch: 'main', createdAt: '2026-03-01' }),
    },
    forge: ground.forge,
    scrub: (text) => text.replaceAll('hunter2', '[secret]'),
    ...options,
  });
  const orchestrator = stubOrchestrator({
    getPullRequest: (id) => pullRequests.read(id),
    replyToThread: (caller, id, threadId, body) => pullRequests.reply(caller, id, threadId, body),
    resolveThread: (id, threadId) => pullRequests.resolve(id, threadId),
  });
  const server = await startTestServer({ orchestrator });
  onTestFinished(() => server.close());
  const read = async (): Promise<RunPullRequest> => (await server.fetch(URL_OF_RUN)).json() as Promise<RunPullRequest>;
  return { ...ground, pullServer: server, number, branch, url, read };
}

async function problemOf(server: ServerUnderTest, path = URL_OF_RUN) {
  const response = await server.fetch(path);
  const { code, detail } = (await response.json()) as { readonly code: string; readonly detail: string };
  return { status: response.status, code, detail, retryAfter: response.headers.get('retry-after') };
}

describe('the pull request of a run', () => {
  it('of a rebuilt run has the commits of its branch, or nothing is done there', async () => {
    const { pullServer, number } = await aPullRequest();
    const { threads } = await pullServer.client.getPullRequest('r-4');
    const said = `Pull request ${number} is not of run r-3`;
    await expect(pullServer.client.getPullRequest('r-3')).rejects.toThrow(said);
    await expect(pullServer.client.resolveThread('r-3', threads[0]?.id ?? '')).rejects.toThrow(said);
    expect((await pullServer.client.getPullRequest('r-4')).threads[0]?.isResolved).toBe(false);
  });

  it('is read from the forge with its checks, reviews and threads', async () => {
    const { pullServer, number, branch, url, as } = await aPullRequest();
    await as('anna', 'POST', `/statuses/${branch.commit}`, {
      context: 'ci/test',
      state: 'failure',
      target_url: 'https://ci.example.org/7',
    });
    await as('otto', 'POST', `/issues/${number}/comments`, { body: 'Who ordered this\u202e?' });
    expect(await pullServer.client.getPullRequest('r-1')).toMatchObject({
      number,
      url,
      title: 'Change 1',
      state: 'open',
      isDraft: false,
      head: { branch: branch.name, commit: branch.commit },
      base: { branch: 'main' },
      checks: [{ name: 'ci/test', state: 'failed', url: 'https://ci.example.org/7' }],
      reviews: [{ verdict: 'commented', author: { login: 'anna', mayWrite: true }, body: 'Nearly.' }],
      threads: [
        {
          path: 'greet.txt',
          line: 2,
          isResolved: false,
          comments: [{ author: { login: 'anna', mayWrite: true }, isOwn: false, body: 'Say why.', isClipped: false }],
        },
      ],
      comments: [{ author: { login: 'otto', mayWrite: false }, body: 'Who ordered this\u202e?' }],
      isComplete: true,
    });
  });

  it('is 404 for a run without one and for one that is gone from the forge', async () => {
    const { pullServer, server, shop } = await aPullRequest();
    const none = await problemOf(pullServer, '/api/runs/r-2/pull-request');
    expect(none).toMatchObject({ status: 404, code: 'not_found', detail: expect.stringContaining('git.createPR') });
    server.remove(shop);
    const gone = await problemOf(pullServer);
    expect(gone).toMatchObject({ status: 404, detail: expect.stringContaining('acme/shop') });
  });

  it('is 503 with the way out while the token is refused', async () => {
    const { pullServer, server } = await aPullRequest();
    server.tokens.delete(SERVER_TOKEN);
    const refused = await problemOf(pullServer);
    expect(refused).toMatchObject({ status: 503, detail: expect.stringContaining('GITHUB_TOKEN') });
  });

  it('is 503 with the time to wait while the forge limits requests', async () => {
    const { pullServer, server } = await aPullRequest();
    server.fail({ kind: 'primary', resetInSeconds: 900 }, { path: '/pulls/' });
    const limited = await problemOf(pullServer);
    expect(limited).toMatchObject({ status: 503, detail: expect.stringContaining('limits the rate') });
    expect(Number(limited.retryAfter)).toBeGreaterThan(800);
  });

  it('is 503 within the time limit when the forge does not answer', async () => {
    const { pullServer, server } = await aPullRequest({ forgeTimeoutMs: 100 });
    server.fail({ kind: 'silent' }, { path: '/pulls/', times: 10 });
    const silent = await problemOf(pullServer);
    expect(silent).toMatchObject({ status: 503, detail: expect.stringContaining('within 0.1 seconds') });
  });

  it('is 422 where the server has no credentials for the forge', async () => {
    const { pullServer } = await aPullRequest({ forge: null });
    expect(await problemOf(pullServer)).toMatchObject({ status: 422, detail: expect.stringContaining('GITHUB_TOKEN') });
  });

  it('shows the newest texts whole and clips the rest when there is more than an answer holds', async () => {
    const { as, read, number } = await aPullRequest();
    const long = 'x'.repeat(15_990);
    for (let count = 0; count < 63; count += 1) await as('anna', 'POST', `/issues/${number}/comments`, { body: long });
    const { comments, reviews, threads } = await read();
    const bodies = [...comments, ...reviews, ...threads.flatMap((thread) => thread.comments)];
    expect(bodies.reduce((sum, { body }) => sum + body.length, 0)).toBe(1_000_000);
    expect(comments.at(-1)).toMatchObject({ body: long, isClipped: false });
    expect(bodies.some(({ isClipped }) => isClipped)).toBe(true);
  });
});

describe('a review thread', () => {
  it('is answered once for a repeated request, by a name, without secrets and without the hidden marker', async () => {
    const { pullServer, read, url } = await aPullRequest();
    const id = (await read()).threads[0]?.id ?? '';
    const first = await pullServer.client.replyToThread('r-1', id, ' It is hunter2. ', 'key-1');
    expect(first.url).toContain(url);
    expect(await pullServer.client.replyToThread('r-1', id, ' It is hunter2. ', 'key-1')).toEqual(first);
    const said = (await read()).threads[0]?.comments.slice(1);
    expect(said).toMatchObject([
      { isOwn: true, author: { login: 'octo-server' }, body: '**A person** via Autonomous:\n\nIt is [secret].' },
    ]);
  });

  it('is answered once where the server ends between the answer and its memory of it', async () => {
    const { pullServer, read, server } = await aPullRequest();
    const id = (await read()).threads[0]?.id ?? '';
    server.fail({ kind: 'lost' }, { body: 'addPullRequestReviewThreadReply' });
    const answer = () =>
      pullServer.post(`${URL_OF_RUN}/threads/${id}/replies`, { body: 'Yes.' }, { 'Idempotency-Key': 'k' });
    expect((await answer()).status).toBe(503);
    expect((await answer()).status).toBe(201);
    expect((await read()).threads[0]?.comments).toHaveLength(2);
  });

  it('is resolved', async () => {
    const { pullServer, read } = await aPullRequest();
    const id = (await read()).threads[0]?.id ?? '';
    expect(await pullServer.client.resolveThread('r-1', id)).toEqual({ threadId: id, isResolved: true });
    expect((await read()).threads).toMatchObject([{ id, isResolved: true }]);
  });

  it('of another pull request is neither answered nor resolved', async () => {
    const { pullServer, open, as, repository } = await aPullRequest();
    const other = await open({ 'other.txt': 'one\n' });
    const review = { event: 'COMMENT', body: 'Hm.', comments: [{ path: 'other.txt', line: 1, body: 'No.' }] };
    await as('anna', 'POST', `/pulls/${other.number}/reviews`, review);
    const id = (await repository.discussion(other.number)).threads[0]?.id ?? '';
    await expect(pullServer.client.replyToThread('r-1', id, 'Yes.')).rejects.toMatchObject({ status: 404 });
    await expect(pullServer.client.resolveThread('r-1', id)).rejects.toMatchObject({ status: 404 });
    expect((await repository.discussion(other.number)).threads).toMatchObject([
      { isResolved: false, comments: [{ body: 'No.' }] },
    ]);
  });

  it('takes no empty answer and no id that is none', async () => {
    const { pullServer } = await aPullRequest();
    const empty = await pullServer.post(`${URL_OF_RUN}/threads/T1/replies`, { body: ' ' });
    expect(empty.status).toBe(400);
    const odd = await pullServer.post(`${URL_OF_RUN}/threads/${encodeURIComponent('a b')}/resolve`, {});
    expect(odd.status).toBe(400);
  });
});
