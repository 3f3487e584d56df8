/** A run has one pull request of its own: after people gave it another base, and in a fork. */
import { bindingOf } from '@autonomous/shared';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ForgeRun, type ForgeServer, startForgeServer } from './forge-runs.fixture.ts';
import { writes } from '../fixtures/orchestrator.fixture.ts';

const SHOWN = { trustMode: { planning: 'auto', implementation: 'manual' } } as const;
let forge: ForgeServer;

beforeAll(async () => {
  forge = await startForgeServer({
    implementer: ['feature', 'again'].map((word) => writes({ 'feature.sh': `echo ${word}\n` })),
  });
});
afterAll(() => forge.close());
afterEach(() => forge.ground.server.recover());

it('opens no second pull request where a person led its draft to another branch', async () => {
  const shop = await forge.project('led-elsewhere');
  shop.repository.git('branch', 'release', 'main');
  const run = await shop.launch({}, SHOWN);
  await run.until(({ gate }) => gate?.kind === 'implementation');
  const [draft] = await shop.pulls();
  await shop.as('anna', 'PATCH', `/pulls/${draft?.number}`, { base: 'release' });
  await run.decide({ decision: 'approve' });
  const view = await run.atPullRequest();
  expect(view.published?.pullRequest?.number).toBe(draft?.number);
  expect(await shop.pulls()).toHaveLength(1);
});

it('opens a pull request of its own in a fork whose source had one that was closed', async () => {
  const shop = await forge.project('forked');
  const { run, view, number } = await shop.opened();
  await shop.as('anna', 'PATCH', `/pulls/${number}`, { state: 'closed' });
  await run.completed();
  const { id } = await forge.server.client.forkRun(run.id, {
    at: view.lastSequence,
    answer: { decision: 'reject', feedback: 'Try it again' },
  });
  const forked = await new ForgeRun(() => forge.server, id).pushedAfter(view.published?.commit);
  expect(forked.published?.pullRequest?.number).not.toBe(number);
});

it('merges and closes in a fork its own pull request, and leaves that of its source', async () => {
  const shop = await forge.project('forked-at-the-gate');
  const { run, view, number } = await shop.opened();
  const { gate } = view;
  if (gate === null) throw new Error('no gate is open');
  const forkOf = async (decision: 'close' | 'approve') => {
    const words = decision === 'close' ? { reason: 'As it is' } : {};
    const answer = { decision, ...words, ...bindingOf(decision, gate) };
    const { id } = await forge.server.client.forkRun(run.id, { at: view.lastSequence, answer });
    return new ForgeRun(() => forge.server, id);
  };
  for (const decision of ['close', 'approve'] as const) {
    const forked = await forkOf(decision);
    const own = (await forked.atPullRequest()).published?.pullRequest?.number ?? 0;
    expect(own).not.toBe(number);
    await forked.decide({ decision: 'close', reason: 'Not this one' });
    await forked.completed();
    expect((await shop.pull(own)).state).toBe('closed');
    expect((await shop.pull(number)).state).toBe('open');
  }
});

it('names the draft that it leaves behind where its result goes to a branch beside', async () => {
  const shop = await forge.project('beside');
  const run = await shop.launch({}, SHOWN);
  const { branch } = await run.until(({ gate }) => gate?.kind === 'implementation');
  const [draft] = await shop.pulls();
  await shop.push({ 'theirs.txt': 'theirs' }, branch);
  await run.decide({ decision: 'approve' });
  await run.choose('Leave that branch alone, and push');
  const { published } = await run.atPullRequest();
  expect(published?.branch).toBe(`${branch}-beside`);
  expect(published?.pullRequest?.number).not.toBe(draft?.number);
  expect(published?.note).toContain(
    `Pull request ${draft?.number} of ${branch} stays open as a draft, with what others`,
  );
});

it('pauses at once where a long limit keeps it from closing its pull request, and closes it then', async () => {
  const shop = await forge.project('close-limited');
  const { run, number } = await shop.opened();
  const limit = { kind: 'primary', resetInSeconds: 900 } as const;
  forge.ground.server.fail(limit, { method: 'PATCH', path: `/close-limited/pulls/${number}` });
  await run.decide({ decision: 'close', reason: 'Not wanted' });
  const { reason } = await run.paused();
  expect(reason).toBe('rate_limited');
  await run.retry();
  await run.completed();
  expect((await shop.pull(number)).state).toBe('closed');
});

it('offers no way around the implementation where others use the branch before the plan is there', async () => {
  const shop = await forge.project('branch-taken');
  const run = await shop.launch({}, { trustMode: { planning: 'manual' } });
  const { branch } = await run.until(({ gate }) => gate?.kind === 'plan');
  await shop.push({ 'more.txt': 'more\n' });
  shop.repository.git('update-ref', `refs/heads/${branch}`, 'main');
  shop.repository.git('update-ref', 'refs/heads/main', 'main~1');
  await run.decide({ decision: 'approve' });
  const { reason, summary, ways } = await run.paused();
  expect(reason).toBe('push_rejected');
  expect(summary).toContain('Move it out of the way, then retry.');
  expect(ways).toEqual([]);
  shop.repository.git('branch', '-m', branch, 'theirs');
  await run.retry();
  const view = await run.atPullRequest();
  expect(shop.repository.git('show', `${view.branch}:feature.sh`)).toBe('echo feature');
});
