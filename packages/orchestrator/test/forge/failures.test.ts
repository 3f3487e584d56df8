/** Runs at a forge that refuses, limits or is down: each pauses with the way out, goes on, and holds up no other run. */
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import { type ForgeServer, startForgeServer } from './forge-runs.fixture.ts';

const ONCE = { followPR: false } as const;
const MANUAL = { trustMode: { planning: 'manual' } } as const;
const WHOLE = { login: 'octo-server', scopes: ['repo'] };
let forge: ForgeServer;

beforeAll(async () => {
  forge = await startForgeServer();
});
afterAll(() => forge.close());
afterEach(() => {
  forge.ground.server.recover();
  forge.ground.server.tokens.set(SERVER_TOKEN, WHOLE);
});

it('names the permission that the token lacks, and continues by itself once the token has it', async () => {
  const shop = await forge.project('scopes');
  const { tokens } = forge.ground.server;
  const permissions = { contents: 'write', pull_requests: 'read', issues: 'write', checks: 'read' } as const;
  tokens.set(SERVER_TOKEN, { login: 'octo-server', permissions });
  const run = await shop.launch(ONCE);
  const { reason, summary } = await run.paused();
  expect(reason).toBe('auth_expired');
  expect(summary).toMatch(
    /In acme\/scopes, the token of GITHUB_TOKEN may not open a pull request.*Give it this permission \(pull_requests=write\)/,
  );
  tokens.set(SERVER_TOKEN, WHOLE);
  await run.completed();
  expect(await shop.pulls()).toHaveLength(1);
});

it('pauses where the token may read and not push, and continues by itself once it may', async () => {
  const shop = await forge.project('reader');
  const run = await shop.launch(ONCE, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  shop.repository.collaborators.set('octo-server', 'read');
  await run.decide({ decision: 'approve' });
  const { reason, summary } = await run.paused();
  expect(summary).toMatch(/may read .*acme\/reader\.git and not write to it: give GITHUB_TOKEN write access/);
  shop.repository.collaborators.set('octo-server', 'write');
  if (reason !== 'auth_expired') await run.retry();
  await run.completed();
});

it('brings a pull request up to date that somebody opened from its branch by hand', async () => {
  const shop = await forge.project('twice');
  forge.ground.server.fail({ kind: 'status', status: 500 }, { method: 'POST', path: '/twice/pulls', times: 100 });
  const run = await shop.launch(ONCE);
  const { summary } = await run.paused();
  expect(summary).toMatch(/^GitHub .* cannot be reached \(it answers 500\).*then retry\.$/);
  forge.ground.server.recover();
  const { branch } = await run.view();
  await shop.as('anna', 'POST', '/pulls', { head: branch, base: 'main', title: 'By hand', body: 'As anna says.' });
  await run.retry();
  const view = await run.completed();
  const [pull, ...others] = await shop.pulls();
  expect(others).toEqual([]);
  expect(pull).toMatchObject({ number: view.published?.pullRequest?.number, title: 'By hand' });
  expect(pull?.body).toMatch(/^As anna says\.[^]*## How to reproduce/);
});

it('waits for the end of a short secondary limit, and pauses until the end of a longer one', async () => {
  const shop = await forge.project('limits');
  const { server } = forge.ground;
  server.fail({ kind: 'secondary', retryAfterSeconds: 1 }, { method: 'POST', path: '/limits/pulls' });
  await (await shop.launch(ONCE)).completed();
  server.fail({ kind: 'secondary', retryAfterSeconds: 900 }, { method: 'POST', path: '/limits/pulls' });
  const run = await shop.launch(ONCE);
  const { reason, summary } = await run.paused();
  expect(reason).toBe('rate_limited');
  expect(summary).toMatch(/limits the rate of requests.*The limit ends at .*; the work continues then\./);
  const { gate } = await run.view();
  expect(gate?.details['resumesInMs']).toBeGreaterThan(800_000);
  await run.retry();
  await run.completed();
  expect(await shop.pulls()).toHaveLength(2);
});

it('offers a pull request where the base branch is protected from the merge', async () => {
  const shop = await forge.project('protected');
  shop.repository.protect('main', { approvals: 1 });
  const main = shop.repository.headOf('main');
  const run = await shop.launch({ createPR: false, autoMerge: true });
  const { reason, summary, ways } = await run.paused();
  expect(reason).toBe('push_rejected');
  expect(summary).toMatch(/Nothing was merged into main\..*GH006: Protected branch update failed/);
  expect(ways.length).toBeGreaterThan(0);
  await run.choose('Leave it as the branch');
  const view = await run.completed();
  expect(shop.repository.headOf('main')).toBe(main);
  expect(shop.repository.headOf(view.branch)).toBe(view.published?.commit);
});

it('shows the words of a hook that refuses the push, and publishes once it takes it', async () => {
  const shop = await forge.project('hooked');
  const hook = path.join(shop.repository.folder, 'hooks', 'pre-receive');
  writeFileSync(hook, '#!/bin/sh\necho "Ticket number is missing" >&2\nexit 1\n');
  chmodSync(hook, 0o755);
  const run = await shop.launch(ONCE);
  const { reason, summary } = await run.paused();
  expect(reason).toBe('push_rejected');
  expect(summary).toMatch(
    /refuses a push to autonomous\/.*Ticket number is missing.*Allow it there, then retry\. Or push it/,
  );
  rmSync(hook);
  await run.retry();
  const view = await run.completed();
  expect(shop.repository.headOf(view.branch)).toBe(view.published?.commit);
});

it.concurrent('pauses where the repository is gone, while another run completes, and continues once it is back', async () => {
  const shop = await forge.project('gone');
  const other = await forge.project('other');
  const run = await shop.launch(ONCE, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  forge.ground.server.remove(shop.repository);
  await run.decide({ decision: 'approve' });
  const { reason, summary } = await run.paused();
  expect(reason).toBe('remote_unavailable');
  expect(summary).toMatch(/acme\/gone\.git, or the server's token does not cover it; check the address and the token/);
  await (await other.launch(ONCE)).completed();
  forge.ground.server.restore(shop.repository);
  await run.retry();
  await run.completed();
  expect(await shop.pulls()).toHaveLength(1);
});

it.concurrent('pauses where the repository is archived, and continues once it is not', async () => {
  const shop = await forge.project('archived');
  const run = await shop.launch(ONCE, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  shop.repository.isArchived = true;
  await run.decide({ decision: 'approve' });
  const { summary } = await run.paused();
  expect(summary).toMatch(/acme\/archived/);
  expect(summary).toMatch(/is archived and takes no push\. Unarchive it there, then retry/);
  shop.repository.isArchived = false;
  await run.retry();
  await run.completed();
});

it.concurrent('pauses at the merge of a pull request whose repository was archived, and merges once it is not', async () => {
  const shop = await forge.project('archived-later');
  const { run } = await shop.opened();
  shop.repository.isArchived = true;
  await run.decide({ decision: 'approve' });
  const { reason, summary } = await run.paused();
  expect(reason).toBe('push_rejected');
  expect(summary).toMatch(/^The repository acme\/archived-later is archived .* Unarchive it at GitHub, then retry\.$/);
  shop.repository.isArchived = false;
  await run.retry();
  await run.completed();
  expect(shop.repository.git('show', 'main:feature.sh')).toBe('echo feature');
});

it('follows a repository that was renamed while the run waited, for git and for its pull request', async () => {
  const shop = await forge.project('renamed');
  const run = await shop.launch({}, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  forge.ground.server.rename(shop.repository, 'acme', 'new-name');
  await run.decide({ decision: 'approve' });
  const view = await run.atPullRequest();
  expect(view.published?.pullRequest?.url).toContain('/acme/new-name/pull/');
  await run.decide({ decision: 'approve' });
  await run.completed();
  expect(shop.repository.git('show', 'main:feature.sh')).toBe('echo feature');
});

it('names the base branch that was deleted before the run published, and continues once it is back', async () => {
  const shop = await forge.project('no-base');
  shop.repository.git('branch', 'release', 'main');
  const run = await shop.launch({ ...ONCE, baseBranch: 'release' }, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  shop.repository.git('update-ref', '-d', 'refs/heads/release');
  await run.decide({ decision: 'approve' });
  const { summary } = await run.paused();
  expect(summary).toMatch(/release/);
  expect(summary).toMatch(/[Rr]estore/);
  shop.repository.git('branch', 'release', 'main');
  await run.retry();
  await run.completed();
  expect(await shop.pulls()).toHaveLength(1);
});

it('pauses where the repository goes while its pull request is open, and follows it again once it is back', async () => {
  const shop = await forge.project('gone-later');
  const { run, number } = await shop.opened();
  forge.ground.server.remove(shop.repository);
  const { reason, summary } = await run.paused();
  expect(reason).toBe('remote_unavailable');
  expect(summary).toMatch(/^The server cannot read .* in acme\/gone-later: it is gone,? .* then retry\.$/);
  forge.ground.server.restore(shop.repository);
  await run.retry();
  await run.atPullRequest();
  await shop.merge(number);
  await run.completed();
});
