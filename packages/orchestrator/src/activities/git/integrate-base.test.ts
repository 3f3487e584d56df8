/** Taking the base's progress into a run's branch, with real git. */
import type { RunView } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import {
  commitFiles,
  commitOnRemote,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import { type IntegrateInput, integrate } from './integrate-base.ts';
import { findOwnMerge, mergeKey } from './own-merge.ts';
import { WAYS } from './ways.ts';
import type { ActivityTools } from '../tools.ts';

const BRANCH = 'autonomous/p-parent';
const SPECS = '.autonomous/specs';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let tools: ActivityTools;
let baseCommit: string;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
  tools = {
    repository: fixture.repository,
    project: async () => ({ ...fixture.project, name: 'project' }),
    view: async (): Promise<Partial<RunView>> => ({ id: 'p' }),
    assertRecordKnown: async () => {},
  } as unknown as ActivityTools;
  baseCommit = await mainHead(fixture);
});
afterEach(() => temporary.remove());

async function integrated(files: Readonly<Record<string, string>>, planPath: string) {
  const head = await commitFiles(fixture, BRANCH, files, 'p/1/commitCode');
  const input = { runId: 'p', projectId: 'x', request: '', branch: BRANCH, baseBranch: 'main' };
  const full: IntegrateInput = { ...input, startedAt: '2026-03-01T10:00:00.000Z', head, baseCommit, planPath };
  const context = { runId: 'p', key: 'p/2/integrate', startedAt: '2026-03-01T13:00:00.000Z' };
  return integrate(tools).perform(full, { ...context, signal: new AbortController().signal } as ActivityContext);
}

it('moves every specification of the branch whose number the new base has used', async () => {
  const branch = {
    [`${SPECS}/001-login.md`]: 'of a child\n',
    [`${SPECS}/002-menu.md`]: 'of another child\n',
    [`${SPECS}/004-logout.md`]: 'of a third child\n',
  };
  commitOnRemote(fixture.remote, 'main', {
    [`${SPECS}/001-search.md`]: 'of the base\n',
    [`${SPECS}/002-pages.md`]: 'of the base\n',
  });
  const result = await integrated(branch, '');
  if (!result.moved) throw new Error('The base has moved.');
  const files = await fixture.repository.listFiles(fixture.project, result.commit);
  expect(files.filter((path) => path.startsWith(SPECS)).map((path) => path.slice(SPECS.length + 1))).toEqual([
    '001-search.md',
    '002-pages.md',
    '004-logout.md',
    '005-login.md',
    '006-menu.md',
  ]);
  expect(await fixture.repository.readFile(fixture.project, result.commit, `${SPECS}/006-menu.md`)).toBe(
    'of another child\n',
  );
  expect(result.planPath).toBe('');
});

it("tells the new path of the run's own plan, and leaves a plan that was merged by hand where it is", async () => {
  const [own, merged] = [`${SPECS}/001-login.md`, `${SPECS}/002-menu.md`];
  commitOnRemote(fixture.remote, 'main', { [`${SPECS}/001-search.md`]: 'of the base\n', [merged]: 'of this run\n' });
  const result = await integrated({ [own]: 'of this run too\n', [merged]: 'of this run\n' }, own);
  expect(result).toMatchObject({ moved: true, planPath: `${SPECS}/003-login.md` });
});

it('recognises that the run was merged already, and leaves alone what people have reverted since', async () => {
  const ofRun = { 'login.ts': 'login\n', [`${SPECS}/001-login.md`]: 'login\n' };
  const mergedAs = mergeKey('p', baseCommit, '1'.repeat(40));
  const merge = commitOnRemote(fixture.remote, 'main', ofRun, `Login\n\nEffect-Key: ${mergedAs}`);
  const later = commitOnRemote(fixture.remote, 'main', { 'other.ts': 'other\n' });
  expect(await integrated(ofRun, '')).toEqual({ moved: false });
  const since = { runId: 'p', head: '1'.repeat(40), since: baseCommit, base: later };
  expect(await findOwnMerge(fixture.repository, fixture.project, since)).toMatchObject({ commit: merge });
  expect(await findOwnMerge(fixture.repository, fixture.project, { ...since, runId: 'q' })).toBeNull();
  expect(await findOwnMerge(fixture.repository, fixture.project, { ...since, since: merge })).toBeNull();
  // Another result of the same run, with more in it.
  expect(await findOwnMerge(fixture.repository, fixture.project, { ...since, head: later })).toBeNull();

  commitOnRemote(fixture.remote, 'main', { 'login.ts': null });
  await expect(integrated(ofRun, '')).rejects.toMatchObject({
    reason: 'merge_conflict',
    message: expect.stringContaining(`merged into main already, as commit ${merge}, and that was reverted`),
    ways: [expect.objectContaining({ way: WAYS.leaveBranch })],
  });
});
