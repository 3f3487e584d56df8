/** Asserts that the check before a merge reads only lists of paths, and each commit once over all merges of a run. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
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
  fixture = await openFixture(temporary.path);
});
afterEach(() => temporary.remove());

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
  const baseCommit = await mainHead(fixture);
  const assertOwn = async (head: string): Promise<void> =>
    assertOwnChanges({ repository } as ActivityTools, {
      project: fixture.project,
      branch: BRANCH,
      head,
      baseBranch: 'main',
      baseCommit,
    });
  const commit = (number: number): Promise<string> =>
    commitFiles(fixture, BRANCH, { [`src/${number}.js`]: `${number}\n` }, `r-1/${number}/commitCode`);
  for (const number of [1, 2, 3]) await assertOwn(await commit(number).then(() => commit(number + 10)));
  expect(compared).toEqual([2, 2, 2]);
});
