/** The changes that a record makes, from real commits. */
import type { JsonObject, RunView } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
  git,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../repository/git-fixture.fixture.ts';
import { recordedChanges } from './recorded-changes.ts';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let baseCommit: string;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
  baseCommit = await mainHead(fixture);
});
afterEach(() => temporary.remove());

const view = (more: Partial<RunView> = {}): RunView =>
  ({
    id: 'r-1',
    branch: 'autonomous/r-1-pushed',
    baseCommit,
    config: { git: { baseBranch: 'main' } },
    ...more,
  }) as RunView; // Nothing else of it is read.

const changes = (of: RunView, context: JsonObject = {}, heads: readonly string[] = []) =>
  recordedChanges(
    fixture.repository,
    { ...fixture.project, name: 'shop', createdAt: '' },
    {
      view: of,
      children: heads.map((headCommit) => ({ headCommit, status: 'completed' as const })),
      state: { start: {}, context, inputs: [], told: [], events: [], open: [] },
    },
  );
const pathsIn = async (...given: Parameters<typeof changes>) =>
  (await changes(...given)).files.map(({ path }) => path).toSorted();

it('are those of the head, of commits in any field of the state, and of child runs', async () => {
  const head = await commitFiles(fixture, 'autonomous/r-1-mine', { 'plan.md': 'a' });
  const saved = await commitFiles(fixture, 'autonomous/r-1-saved', { 'evil.js': 'b' });
  const child = await commitFiles(fixture, 'autonomous/r-2-child', { 'child.js': 'c' });
  expect(await pathsIn(view({ headCommit: head }))).toEqual(['plan.md']);
  expect(await pathsIn(view({ headCommit: head }), { work: [{ saved }] })).toEqual(['evil.js', 'plan.md']);
  expect(await pathsIn(view({ headCommit: head }), {}, [child])).toEqual(['child.js', 'plan.md']);
  // A child run begins at a branch of its parent.
  const ofParent = { git: { baseBranch: 'autonomous/r-1-mine' } } as RunView['config'];
  expect(await pathsIn(view({ headCommit: child, baseCommit: head, config: ofParent }))).toEqual([
    'child.js',
    'plan.md',
  ]);
});

it('are those of the branch of the run at the remote, too, from which a person may have it go on', async () => {
  const head = await commitFiles(fixture, 'autonomous/r-1-mine', { 'plan.md': 'a' });
  const foreign = await commitFiles(fixture, 'autonomous/r-1-other', { 'evil.sh': 'b' });
  git(fixture.gitDir, 'push', '--quiet', fixture.remote, `${foreign}:refs/heads/autonomous/r-1-pushed`);
  await fixture.repository.fetch(fixture.project);
  expect(await pathsIn(view({ headCommit: head }))).toEqual(['evil.sh', 'plan.md']);
});

it('begin at the base branch, whatever the record calls its base', async () => {
  const forged = await commitFiles(fixture, 'autonomous/r-1-base', { '.github/workflows/evil.yml': 'a' });
  expect(await changes(view({ baseCommit: forged, headCommit: forged }))).toMatchObject({
    isBesideBase: true,
    files: [{ path: '.github/workflows/evil.yml' }],
  });
  expect(await changes(view({ headCommit: baseCommit }))).toMatchObject({ isBesideBase: false, files: [] });
});

it('begin at the base branch of the project where the record names one that is not there', async () => {
  const head = await commitFiles(fixture, 'autonomous/r-1-mine', { 'evil.js': 'a' });
  const config = { git: { baseBranch: 'nowhere' } } as RunView['config'];
  expect(await pathsIn(view({ headCommit: head, config }))).toEqual(['evil.js']);
});

it('leave out child runs that failed, and take a name for no commit', async () => {
  const absent = 'a'.repeat(40);
  const state = { start: {}, context: {}, inputs: [], told: [], events: [], open: [] };
  const project = { ...fixture.project, name: 'shop', createdAt: '' };
  const children = [{ headCommit: absent, status: 'failed' as const }];
  expect((await recordedChanges(fixture.repository, project, { view: view(), children, state })).missing).toEqual([]);
  expect((await changes(view({ headCommit: 'autonomous/r-2-other' }))).missing).toEqual(['autonomous/r-2-other']);
});

it('name commits that are not there, and take no digest for one', async () => {
  const absent = 'd'.repeat(40);
  const tree = await fixture.repository.treeOf(fixture.project, baseCommit);
  expect(await changes(view({ headCommit: absent }), { tree, digest: 'e'.repeat(40) }, ['f'.repeat(40)])).toEqual({
    baseBranch: 'main',
    isBesideBase: false,
    files: [],
    missing: [absent, 'f'.repeat(40)],
  });
});

it('are those of a tree, too, but for files of the server that a tree of code lacks', async () => {
  const { repository, project } = fixture;
  const tree = await repository.writeFiles(project, await repository.treeOf(project, baseCommit), {
    'evil.sh': 'echo',
  });
  expect(await pathsIn(view(), { attempted: { tree } })).toEqual(['evil.sh']);
  const recorded = await commitFiles(fixture, 'autonomous/r-1-mine', { '.autonomous/memory.md': 'a', 'ours.md': 'b' });
  const of = view({ baseCommit: recorded, ownedFiles: { paths: ['ours.md'], to: 'base' } });
  const { files } = await changes(of, { attempted: { tree } });
  expect(files.filter(({ after }) => after === null)).toEqual([]);
});
