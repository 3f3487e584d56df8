/** Outcome and notices of a merge while somebody changes the pull request. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import { type ForgeServer, startForgeServer } from './forge-runs.fixture.ts';
import { writes } from '../fixtures/orchestrator.fixture.ts';

let forge: ForgeServer;

beforeAll(async () => {
  forge = await startForgeServer({ implementer: [writes({ 'feature.sh': 'echo feature\n' })] });
});
afterAll(() => forge.close());

const puts = (path: string): number =>
  forge.ground.server.requests.filter(({ method, path: at }) => method === 'PUT' && at.endsWith(path)).length;

it('names the branch into which the account of the server merged it by hand between two attempts', async () => {
  const shop = await forge.project('between');
  const { run, number } = await shop.opened();
  shop.repository.git('branch', 'release', 'main');
  const path = `/repos/acme/between/pulls/${number}/merge`;
  forge.ground.server.fail({ kind: 'status', status: 502 }, { method: 'PUT', path, times: 4 });
  await run.decide({ decision: 'approve' });
  await vi.waitFor(() => expect(puts(path)).toBe(4), { timeout: 120_000, interval: 10 });
  const own = (route: string, body: object) =>
    forge.ground.server.as(SERVER_TOKEN, route.replace('PULL', `/repos/acme/between/pulls/${number}`), body);
  expect((await own('PATCH PULL', { base: 'release' })).status).toBe(200);
  expect((await own('PUT PULL/merge', { merge_method: 'merge' })).status).toBe(200);
  const view = await run.completed();
  expect(view.merged).toMatchObject({ baseBranch: 'release', commit: shop.repository.headOf('release') });
  expect((await run.notices()).join('\n')).toContain(`Pull request ${number} led to release and was merged there.`);
});

it('names the branch into which it merged, where somebody gave it another base in the moment of the merge', async () => {
  const shop = await forge.project('moment');
  const { run, number } = await shop.opened();
  shop.repository.git('branch', 'release', 'main');
  const main = shop.repository.headOf('main');
  const path = `/repos/acme/moment/pulls/${number}/merge`;
  forge.ground.server.fail({ kind: 'secondary', retryAfterSeconds: 3 }, { method: 'PUT', path, times: 1 });
  await run.decide({ decision: 'approve' });
  await vi.waitFor(() => expect(puts(path)).toBe(1), { timeout: 120_000, interval: 10 });
  await shop.as('anna', 'PATCH', `/pulls/${number}`, { base: 'release' });
  const view = await run.completed();
  expect(shop.repository.headOf('main')).toBe(main);
  expect(view.merged).toMatchObject({ baseBranch: 'release', commit: shop.repository.headOf('release') });
  expect((await run.notices()).join('\n')).toContain(`Pull request ${number} led to release and was merged there.`);
});

it('completes with a notice where somebody removed its merge from the base by force', async () => {
  const shop = await forge.project('gone');
  const { run, number } = await shop.opened();
  const main = shop.repository.headOf('main') ?? '';
  const path = `/repos/acme/gone/pulls/${number}/merge`;
  forge.ground.server.fail({ kind: 'lost' }, { method: 'PUT', path, times: 4 });
  await run.decide({ decision: 'approve' });
  await vi.waitFor(() => expect(puts(path)).toBe(4), { timeout: 120_000, interval: 10 });
  shop.repository.git('update-ref', 'refs/heads/main', main);
  const view = await run.completed();
  expect(view.merged).toMatchObject({ baseBranch: 'main', strategy: 'squash' });
  expect((await run.notices()).join('\n')).toContain('which could not be read afterwards');
});
