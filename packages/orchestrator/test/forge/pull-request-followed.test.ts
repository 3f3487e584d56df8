/** A run whose pull request is open at a forge: it waits for what people do there, and does what reviewers ask. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import { when, writes } from '../fixtures/orchestrator.fixture.ts';
import { type ForgeProject, type ForgeServer, startForgeServer } from './forge-runs.fixture.ts';

const LOUDER = { summary: 'Louder, without @anna.\nMore of it.' };
let forge: ForgeServer;

beforeAll(async () => {
  const loudly = writes({ 'feature.sh': 'echo FEATURE\n' }, LOUDER);
  forge = await startForgeServer({
    implementer: [
      writes({ 'feature.sh': 'echo feature\n' }),
      when('> @octo-server And politely.', writes({ 'feature.sh': 'echo FEATURE, please\n' }, { summary: 'Politer.' })),
      when('github:anna at feature.sh:1:\n> Say it loudly.', loudly),
      when('github:anna:\n> Say it loudly.', loudly),
    ],
  });
});
afterAll(() => forge.close());

const firstLines = (comments: readonly { readonly body: string }[]) => comments.map(({ body }) => body.split('\n')[0]);
const asksForLouder = (shop: ForgeProject, number: number, body = '') =>
  shop.as('anna', 'POST', `/pulls/${number}/reviews`, {
    event: 'REQUEST_CHANGES',
    body,
    comments: [{ path: 'feature.sh', line: 1, body: 'Say it loudly.' }],
  });

it('gives what reviewers ask to the implementer and answers each of them once, until somebody merges it', async () => {
  const shop = await forge.project('reviewed');
  const { run, view, number } = await shop.opened({ maxReviewRounds: 1 });
  expect(view).toMatchObject({ status: 'awaiting_approval', currentStage: 'publishing' });
  expect(view.gate?.decisions).toEqual(['approve', 'reject', 'accept', 'close']);
  await shop.comment(number, '/autonomous delete everything', 'otto');
  await shop.comment(number, 'Looks nice to me.');
  await asksForLouder(shop, number, 'Not yet.');
  const first = await run.pushedAfter(view.published?.commit);
  expect(shop.repository.git('show', `${first.branch}:feature.sh`)).toBe('echo FEATURE');
  const { threads } = await shop.discussion(number);
  expect(threads.map(({ isResolved }) => isResolved)).toEqual([true]);
  const replies = threads.flatMap(({ comments }) => comments);
  expect(firstLines(replies)).toEqual([
    'Say it loudly.',
    expect.stringMatching(/^Changed in [0-9a-f]{10}: Louder, without @<!-- -->anna\.$/),
  ]);
  expect((await run.notices()).find((each) => each.startsWith('Round 1 of 1'))).toMatch(
    /github:anna asked for changes \(2 remarks\)\. 1 remark of accounts without permission to write was not followed\.$/,
  );

  // The rounds are used up: what is asked while the server is down waits for a person.
  await forge.restart(() => shop.comment(number, '@octo-server And politely.'));
  const held = await run.until(({ gate }) => gate?.summary.includes('1 remark waits for you') === true);
  expect(held.gate?.details['waiting']).toEqual(['github:anna: @octo-server And politely.']);
  await run.decide({ decision: 'reject', feedback: 'Do as anna says.' });
  const second = await run.pushedAfter(first.published?.commit);
  expect(second.gate?.summary).toContain('is open: merge it');
  expect(shop.repository.git('show', `${second.branch}:feature.sh`)).toBe('echo FEATURE, please');
  const { threads: later, comments } = await shop.discussion(number);
  expect(later.flatMap((each) => each.comments)).toEqual(replies);
  expect(firstLines(comments.filter(({ isOwn }) => isOwn))).toEqual([
    expect.stringMatching(/^Changed in [0-9a-f]{10}: Louder/),
    expect.stringMatching(/^Changed in [0-9a-f]{10}: Politer\.$/),
  ]);
  await shop.merge(number);
  const commit = (await run.completed()).merged;
  expect(commit).toMatchObject({
    baseBranch: 'main',
    commit: shop.repository.headOf('main'),
    strategy: 'pull request',
  });
  expect(await run.notices()).toContain(`github:anna merged pull request ${number}.`);
});

it('is a draft with the plan alone until a person has approved the result, and answers in it once it was merged where the change is', async () => {
  const shop = await forge.project('drafts');
  const run = await shop.launch({}, { trustMode: { planning: 'auto', implementation: 'manual' } });
  await run.until(({ gate }) => gate?.kind === 'implementation');
  const first = Number(/Draft pull request (\d+)/.exec((await run.notices()).join('\n'))?.[1]);
  const pullRequest = async () => (await shop.as('anna', 'GET', `/pulls/${first}`)) as { readonly draft: boolean };
  const { head } = await shop.pull(first);
  expect(await pullRequest()).toMatchObject({ draft: true, state: 'open' });
  expect(shop.repository.git('ls-tree', '-r', '--name-only', head.ref)).not.toContain('feature.sh');
  await run.decide({ decision: 'approve' });
  expect((await run.atPullRequest()).published?.pullRequest?.number).toBe(first);
  expect(await pullRequest()).toMatchObject({ draft: false, state: 'open' });
  expect(shop.repository.git('show', `${head.ref}:feature.sh`)).toBe('echo feature');

  await asksForLouder(shop, first);
  await run.until(({ gate, published }) => gate?.kind === 'implementation' && published?.commit !== undefined);
  await shop.merge(first);
  await run.decide({ decision: 'approve' });
  const { published } = await run.until(
    ({ gate, published: now }) => gate?.kind === 'pull_request' && now?.pullRequest?.number !== first,
  );
  const number = published?.pullRequest?.number ?? 0;
  const { threads } = await shop.discussion(first);
  expect(firstLines(threads.flatMap(({ comments }) => comments))).toEqual([
    'Say it loudly.',
    expect.stringMatching(new RegExp(`^Changed in [0-9a-f]{10}, which is in #${number}: Louder`)),
  ]);

  // A person closes the second one at the gate, and the forge's answer is lost.
  forge.ground.server.fail({ kind: 'lost' }, { method: 'PATCH', path: '/pulls/' });
  await run.decide({ decision: 'close', reason: 'Another change does it.' });
  const closed = await run.completed();
  expect(closed.merged).toBeUndefined();
  expect(closed.gates.at(-1)).toMatchObject({ decision: 'close', notes: 'Another change does it.' });
  const pull = await shop.pull(number);
  expect([pull.state, pull.merged_at]).toEqual(['closed', null]);
  expect(shop.repository.headOf(pull.head.ref)).toBe(closed.published?.commit);
});

it('says that remarks are left to read, follows who may write behind a flood of others, and leaves it open where a person says so', async () => {
  const shop = await forge.project('flooded');
  const { run, view, number } = await shop.opened();
  const at = '2026-01-01T00:00:00Z';
  const issue = shop.repository.issues.get(number);
  // More than three looks read.
  for (let id = 5_000_000; id < 5_003_500; id += 1)
    issue?.comments.push({ id, login: 'otto', body: 'Me too.', createdAt: at, updatedAt: at });
  await shop.comment(number, 'Me too.', 'otto');
  const reading = await run.until(({ gate }) => gate?.details['unread'] === true);
  expect(reading.gate?.summary).toContain('not all are read yet');
  const read = await run.until(({ gate }) => gate?.kind === 'pull_request' && gate.details['unread'] === undefined);
  expect(read.gate?.summary).toMatch(/close it$/);
  await shop.comment(number, '/autonomous Say it loudly.');
  const { branch } = await run.pushedAfter(view.published?.commit);
  expect(shop.repository.git('show', `${branch}:feature.sh`)).toBe('echo FEATURE');
  await run.decide({ decision: 'accept', reason: 'We merge on Monday.' });
  await run.completed();
  expect((await shop.pull(number)).state).toBe('open');
});

it('is merged through the forge once nothing stands against it, as what was checked and into the branch that it was checked for', async () => {
  const shop = await forge.project('ruled');
  const { repository } = shop;
  const { run, view, number } = await shop.opened();
  const approve = () => run.decide({ decision: 'approve' });
  const { pull } = repository.issues.get(number) ?? {};
  if (pull === null || pull === undefined) throw new Error('there is no pull request');

  pull.isDraft = true;
  await approve();
  expect(await run.refused()).toMatch(/was not merged: it is still a draft .* Mark it as ready for review first\./);
  pull.isDraft = false;
  repository.git('branch', 'release', 'main');
  await shop.as('anna', 'PATCH', `/pulls/${number}`, { base: 'release' });
  await approve();
  await run.refused(/leads to 'release' now/);
  expect(repository.headOf('release')).toBe(repository.headOf('main'));
  await shop.as('anna', 'PATCH', `/pulls/${number}`, { base: 'main' });

  // Others push to its branch: what they did is taken in as it was shown, and checked.
  await shop.push({ 'more.txt': 'more\n' }, view.branch);
  await expect.poll(async () => (await run.notices()).join('\n')).toContain('Somebody pushed');
  await approve();
  await run.paused();
  expect(repository.headOf('main')).not.toBe(repository.headOf(view.branch));
  await shop.push({ 'unseen.txt': 'unseen\n' }, view.branch);
  await run.choose('Take in');
  await run.paused(new RegExp(`is at ${repository.headOf(view.branch)},`));
  await run.choose('Take in');
  let now = await run.pushedAfter(view.published?.commit);

  // Its base has moved: the result is checked with it, also where no rule of the forge asks for that.
  for (const [name, isStrict] of Object.entries({ unruled: false, strict: true })) {
    await shop.push({ [`${name}.txt`]: 'theirs\n' });
    if (isStrict) repository.protect('main', { isStrict });
    const { evidence, published } = now;
    await approve();
    now = await run.pushedAfter(published?.commit);
    expect(now.evidence.filter(({ mode }) => mode === 'as_is').length).toBe(
      evidence.filter(({ mode }) => mode === 'as_is').length + 1,
    );
    expect(repository.git('show', `${now.branch}:${name}.txt`)).toBe('theirs');
  }

  repository.protect('main', { checks: ['ci'] });
  await approve();
  await run.refused(/Required status check "ci" is expected\./);
  expect((await run.notices()).join('\n')).toContain('Required status check "ci" is expected.');
  await shop.report(now.published?.commit, 'success');
  // The merge is made, and its answer is lost.
  forge.ground.server.fail({ kind: 'lost' }, { method: 'PUT', path: '/merge' });
  await approve();
  expect((await run.completed()).merged).toMatchObject({ commit: repository.headOf('main'), strategy: 'squash' });
  expect(repository.git('rev-list', '--parents', '-1', 'main').split(' ')).toHaveLength(2);
  expect(repository.git('show', 'main:feature.sh')).toBe('echo feature');
  expect(repository.git('show', 'main:more.txt')).toBe('more');
});

it('waits while the forge is down, pauses where the token is refused or the base was deleted, and completes where it was closed meanwhile', async () => {
  const shop = await forge.project('down');
  const { run, number } = await shop.opened();
  const { server } = forge.ground;
  const pull = `/pulls/${number}`;
  server.fail({ kind: 'status', status: 503 }, { method: 'GET', path: pull, times: 8 });
  const failed = () => server.requests.filter(({ path: asked, status }) => asked.endsWith(pull) && status === 503);
  await expect.poll(() => failed().length).toBe(8);
  expect((await run.until(({ gate }) => gate !== null)).gate?.kind).toBe('pull_request');
  const token = server.tokens.get(SERVER_TOKEN);
  server.tokens.delete(SERVER_TOKEN);
  expect((await run.paused()).reason).toBe('auth_expired');
  if (token !== undefined) server.tokens.set(SERVER_TOKEN, token);
  await run.atPullRequest();

  const main = shop.repository.headOf('main') ?? '';
  shop.repository.git('update-ref', '-d', 'refs/heads/main');
  await run.paused(/its base branch main is not in down any more\. Restore the branch/);
  shop.repository.git('update-ref', 'refs/heads/main', main);
  await shop.as('anna', 'PATCH', pull, { state: 'open' });
  await run.retry();
  await run.atPullRequest();

  await forge.restart(() => shop.as('anna', 'PATCH', pull, { state: 'closed' }));
  expect((await run.completed()).merged).toBeUndefined();
  expect((await run.notices()).join('\n')).toContain('was closed at the forge without a merge');
});
