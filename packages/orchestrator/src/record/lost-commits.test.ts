/** Commits that a mirror lost come back where the remote has them, with the run's branch; others are named. */
import { rmSync } from 'node:fs';
import type { RunView } from '@autonomous/shared';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../repository/git-fixture.fixture.ts';
import { bringBackCommits, findLostCommits } from './lost-commits.ts';

const BRANCH = 'autonomous/r-1-mine';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let view: RunView;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
  const baseCommit = await mainHead(fixture);
  const headCommit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
  const known = { id: 'r-1', projectId: fixture.project.id, branch: BRANCH, lastSequence: 7, baseCommit, headCommit };
  view = known as RunView; // Nothing else of it is read.
});
afterEach(() => temporary.remove());

function ask() {
  const repository = fixture.reopen();
  const store = {
    listOpenRuns: async () => [{ ...view, userId: 'local', updatedAt: '', status: 'awaiting_approval' as const }],
    loadView: async () => view,
    getProject: async () => ({ ...fixture.project, name: 'shop', createdAt: '' }),
  };
  return { repository, options: { store, repository, log: pino({ enabled: false }) } };
}

it('finds nothing while the mirror has everything', async () => {
  expect(await findLostCommits(ask().options)).toEqual([]);
});

it('brings back what was pushed, and the branch', async () => {
  const { headCommit = '' } = view;
  await fixture.repository.push(fixture.project, BRANCH, headCommit, null);
  rmSync(fixture.gitDir, { recursive: true });
  const { repository, options } = ask();
  expect(await findLostCommits(options)).toMatchObject([{ runId: 'r-1', sequence: 7 }]);
  expect(await bringBackCommits(options, view)).toBeNull();
  expect(await repository.branchHead(fixture.project, BRANCH)).toBe(headCommit);
});

it('names what nobody has any more', async () => {
  rmSync(fixture.gitDir, { recursive: true });
  const { options } = ask();
  expect((await bringBackCommits(options, view))?.message).toContain(`its commit ${view.headCommit} is not in`);
});
