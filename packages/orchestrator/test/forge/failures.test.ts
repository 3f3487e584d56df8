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

/** Obstacles to publishing: what the run says at each, and what a person does about it. */
interface Obstacle {
  readonly comes: () => void;
  readonly reason?: string;
  readonly says: RegExp;
  readonly goes: () => void;
  /** Whether the run notices by itself that it is gone. */
  readonly isNoticed?: boolean;
}

it('pauses with the way out at each thing that keeps it from publishing, while another run completes, and continues once it is gone', async () => {
  const shop = await forge.project('obstacles');
  const { repository } = shop;
  const { server } = forge.ground;
  const hook = path.join(repository.folder, 'hooks', 'pre-receive');
  const permissions = { contents: 'write', pull_requests: 'read', issues: 'write', checks: 'read' } as const;
  const answersOnly = (fault: Parameters<typeof server.fail>[0]) => {
    server.recover();
    server.fail(fault, { method: 'POST', path: '/obstacles/pulls', times: 100 });
  };
  repository.git('branch', 'release', 'main');
  const obstacles: Readonly<Record<string, Obstacle>> = {
    reader: {
      comes: () => repository.collaborators.set('octo-server', 'read'),
      says: /may read .*acme\/obstacles\.git and not write to it: give GITHUB_TOKEN write access/,
      goes: () => repository.collaborators.set('octo-server', 'write'),
    },
    archived: {
      comes: () => void (repository.isArchived = true),
      says: /acme\/obstacles.* is archived and takes no push\. Unarchive it there, then retry/,
      goes: () => void (repository.isArchived = false),
    },
    gone: {
      comes: () => server.remove(repository),
      reason: 'remote_unavailable',
      says: /acme\/obstacles\.git, or the server's token does not cover it; check the address and the token/,
      goes: () => server.restore(repository),
      isNoticed: true,
    },
    hooked: {
      comes: () => {
        writeFileSync(hook, '#!/bin/sh\necho "Ticket number is missing" >&2\nexit 1\n');
        chmodSync(hook, 0o755);
      },
      reason: 'push_rejected',
      says: /refuses a push to autonomous\/.*Ticket number is missing.*Allow it there, then retry\. Or push it/,
      goes: () => rmSync(hook),
    },
    'no base': {
      comes: () => void repository.git('update-ref', '-d', 'refs/heads/release'),
      says: /release.*[Rr]estore/,
      goes: () => void repository.git('branch', 'release', 'main'),
    },
    scopes: {
      comes: () => void server.tokens.set(SERVER_TOKEN, { login: 'octo-server', permissions }),
      reason: 'auth_expired',
      says: /In acme\/obstacles, the token of GITHUB_TOKEN may not open a pull request.*Give it this permission \(pull_requests=write\)/,
      goes: () => void server.tokens.set(SERVER_TOKEN, WHOLE),
      isNoticed: true,
    },
    limit: {
      comes: () => answersOnly({ kind: 'secondary', retryAfterSeconds: 900 }),
      reason: 'rate_limited',
      says: /limits the rate of requests.*The limit ends at .*; the work continues then\./,
      goes: () => undefined,
    },
    down: {
      comes: () => answersOnly({ kind: 'status', status: 500 }),
      says: /^GitHub .* cannot be reached \(it answers 500\).*then retry\.$/,
      goes: () => server.recover(),
      isNoticed: true,
    },
  };
  const run = await shop.launch({ ...ONCE, baseBranch: 'release' }, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  let mend = async (): Promise<void> => run.decide({ decision: 'approve' });
  for (const [name, { comes, reason, says, goes, isNoticed = false }] of Object.entries(obstacles)) {
    comes();
    await mend();
    const paused = await run.paused(says);
    expect([name, reason ?? paused.reason]).toEqual([name, paused.reason]);
    if (name === 'gone') {
      const other = await forge.project('other');
      // It waits for the end of a short limit.
      server.fail({ kind: 'secondary', retryAfterSeconds: 1 }, { method: 'POST', path: '/other/pulls' });
      await (await other.launch(ONCE)).completed();
      expect(await other.pulls()).toHaveLength(1);
    }
    if (name === 'limit') expect((await run.view()).gate?.details['resumesInMs']).toBeGreaterThan(800_000);
    mend = async () => {
      goes();
      if (!isNoticed && paused.reason !== 'auth_expired') await run.retry();
    };
  }
  // Somebody opens a pull request from its branch by hand: it is brought up to date.
  server.recover();
  const { branch } = await run.view();
  await shop.as('anna', 'POST', '/pulls', { head: branch, base: 'release', title: 'By hand', body: 'As anna says.' });
  await mend();
  const view = await run.completed();
  expect(repository.headOf(branch)).toBe(view.published?.commit);
  const [pull, ...others] = await shop.pulls();
  expect(others).toEqual([]);
  expect(pull).toMatchObject({ number: view.published?.pullRequest?.number, title: 'By hand' });
  expect(pull?.body).toMatch(/^As anna says\.[^]*## How to reproduce/);
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

it('follows a repository that was renamed, gone and archived while the run waited, and merges its pull request then', async () => {
  const shop = await forge.project('renamed');
  const { server } = forge.ground;
  const run = await shop.launch({}, MANUAL);
  await run.until(({ gate }) => gate?.kind === 'plan');
  server.rename(shop.repository, 'acme', 'new-name');
  await run.decide({ decision: 'approve' });
  const view = await run.atPullRequest();
  expect(view.published?.pullRequest?.url).toContain('/acme/new-name/pull/');

  server.remove(shop.repository);
  const gone = await run.paused();
  expect(gone.reason).toBe('missing_at_remote');
  expect(gone.summary).toMatch(/^The server cannot read .* in acme\/[a-z-]+: it is gone,? .* then retry\.$/);
  server.restore(shop.repository);
  await run.retry();
  await run.atPullRequest();

  shop.repository.isArchived = true;
  await run.decide({ decision: 'approve' });
  const { reason, summary } = await run.paused();
  expect(reason).toBe('push_rejected');
  expect(summary).toMatch(/^The repository acme\/[a-z-]+ is archived .* Unarchive it at GitHub, then retry\.$/);
  shop.repository.isArchived = false;
  await run.retry();
  await run.completed();
  expect(shop.repository.git('show', 'main:feature.sh')).toBe('echo feature');
});
