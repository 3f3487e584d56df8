/** Asserts what the check before a merge takes for a run's own, and that it reads only lists of paths, and each commit once over all merges of a run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  AT,
  commitFiles,
  commitOnRemote,
  type Fixture,
  MAIN_FILES,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import type { Repository } from '../../repository/repository.ts';
import type { ActivityTools } from '../tools.ts';
import { assertOwnChanges } from './own-changes.ts';

const BRANCH = 'autonomous/r-1-mine';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, { files: { ...MAIN_FILES, '.autonomous/specs/001-a.md': '1' } });
});
afterEach(() => temporary.remove());

const assertOwn = async (head: string, repository: Repository = fixture.repository): Promise<void> =>
  assertOwnChanges({ repository } as ActivityTools, {
    project: fixture.project,
    branch: BRANCH,
    head,
    baseBranch: 'main',
    baseCommit: await mainHead(fixture),
  });
const refusalOf = (head: string): Promise<string | null> =>
  assertOwn(head).then(
    () => null,
    (error: unknown) => String(error),
  );

it('reads no patch, and compares the commits that are new since the last time in one process', async () => {
  const compared: number[] = [];
  const repository: Repository = {
    ...fixture.repository,
    diff: () => Promise.reject(new Error('Paths alone are needed.')),
    changesOfTrees: (project, pairs) => {
      compared.push(pairs.length);
      return fixture.repository.changesOfTrees(project, pairs);
    },
  };
  const commit = (number: number): Promise<string> =>
    commitFiles(fixture, BRANCH, { [`src/${number}.js`]: `${number}\n` }, `r-1/${number}/commitCode`);
  for (const number of [1, 2, 3]) await assertOwn(await commit(number).then(() => commit(number + 10)), repository);
  expect(compared).toEqual([2, 2, 2]);
});

it.each([
  ...['commitPlan', 'revisePlan', 'report', 'copyRecord', 'integrate', 'numberPlans'].map((activity) => [
    activity,
    'src/new.js',
    expect.stringContaining('src/new.js would change'),
  ]),
  ['report', '.autonomous/specs/001-a.md', expect.stringContaining('001-a.md would change')],
  ['report', '.autonomous/specs/002-b.md', null],
])('judges what commits of %s change in %s', async (activity, path, refusal) => {
  const change = (text: string) => commitFiles(fixture, BRANCH, { [path]: text }, `r-1/${text}/${activity}`);
  expect(await refusalOf(await change('2').then(() => change('3')))).toEqual(refusal);
});

it('takes a commit that takes the base in as git merges the two, and none that takes back a part of the base', async () => {
  const { repository, project } = fixture;
  const parent = await commitFiles(fixture, BRANCH, { 'src/a.js': '1' }, 'r-1/1/commitCode');
  const secondParent = commitOnRemote(fixture.remote, 'main', { 'src/cart.js': '2' });
  await repository.fetch(project);
  const merged = await repository.mergeTrees(project, parent, secondParent);
  const refusalAt = async (tree: string, branch: string) => {
    const at = { branch, tree, parent, secondParent, message: 'Merge', at: AT, effectKey: `r-1/2/${branch}` };
    return refusalOf(await repository.commit(project, at));
  };
  expect(await refusalAt(merged.tree, 'whole')).toBeNull();
  const without = await repository.writeFiles(project, merged.tree, { 'src/cart.js': '1' });
  expect(await refusalAt(without, 'part')).toContain('src/cart.js would change');
});
