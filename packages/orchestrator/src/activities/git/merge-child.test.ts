/** Merging child runs into their parent's branch, with real git. */
import { type RunView, TerminalFailure } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import {
  commitFiles,
  type Fixture,
  git,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import { integrateChild, mergeChild, withAddedLines } from './merge-child.ts';
import { assertOwnChanges } from './own-changes.ts';
import type { ActivityTools } from '../tools.ts';

const BRANCH = 'autonomous/p-parent';
const MEMORY = '.autonomous/memory.md';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let views: Record<string, Partial<RunView>>;
let tools: ActivityTools;
let base: string;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
  views = { p: { id: 'p' } };
  tools = {
    repository: fixture.repository,
    project: async () => ({ ...fixture.project, name: 'project' }),
    view: async (id: string) => views[id],
  } as unknown as ActivityTools;
  base = await mainHead(fixture);
});
afterEach(() => temporary.remove());

/** A completed child run that began at the base. */
async function aChild(id: string, files: Readonly<Record<string, string>>, parent = 'p'): Promise<string> {
  const headCommit = await commitFiles(fixture, `autonomous/${id}-child`, files, `${id}/1/commitCode`);
  views[id] = {
    id,
    status: 'completed',
    originalRequest: `Do ${id}\n\nIn detail`,
    baseCommit: base,
    headCommit,
    completedAt: '2026-03-01T12:00:00.000Z',
    updatedAt: '2026-03-01T12:00:00.000Z',
    parent: { runId: parent, key: `${parent}/1/${id}`, depth: 1 },
  };
  return headCommit;
}

const input = (head: string, childId: string) => ({
  runId: 'p',
  projectId: 'x',
  request: '',
  branch: BRANCH,
  startedAt: '2026-03-01T10:00:00.000Z',
  head,
  childId,
});
const context = (attempt: string) =>
  ({
    runId: 'p',
    key: `p/${attempt}/merge`,
    startedAt: attempt,
    signal: new AbortController().signal,
  }) as ActivityContext;
const integrate = (head: string, childId: string, attempt = '2026-03-01T13:00:00.000Z') =>
  integrateChild(tools).perform(input(head, childId), context(attempt));
const merge = (head: string, childId: string, attempt = '2026-03-01T14:00:00.000Z') =>
  mergeChild(tools).perform(input(head, childId), context(attempt));
const assertOwn = (head: string) =>
  assertOwnChanges(tools, { project: fixture.project, branch: BRANCH, head, baseBranch: 'main', baseCommit: base });

it('merges two children one after the other; the branch moves with the second step only, to the same commit each time', async () => {
  await aChild('a', { 'a.js': '1\n', [MEMORY]: '# Memory\n- of a\n' });
  await aChild('b', { 'b.js': '1\n', [MEMORY]: '# Memory\n- of b\n' });
  const first = await integrate(base, 'a');
  expect(first.fastForward).toBe(true);
  expect(first.codeTree).toBe(await fixture.repository.codeTree(fixture.project, views['a']?.headCommit ?? ''));
  expect(await fixture.repository.branchHead(fixture.project, BRANCH)).toBeNull();
  expect((await merge(base, 'a')).commit).toBe(first.commit);
  expect((await merge(base, 'a', '2026-03-01T15:00:00.000Z')).commit).toBe(first.commit);

  const second = await integrate(first.commit, 'b');
  expect(second.fastForward).toBe(false);
  const { commit } = await merge(first.commit, 'b');
  expect(commit).toBe(second.commit);
  expect(git(fixture.gitDir, 'log', '-1', '--format=%B', commit)).toMatch(/^Merge child run b: Do b\n\n(?!In detail)/);
  expect(await fixture.repository.branchHead(fixture.project, BRANCH)).toBe(commit);
  expect(await fixture.repository.readFile(fixture.project, commit, 'a.js')).toBe('1\n');
  expect(await fixture.repository.readFile(fixture.project, commit, MEMORY)).toMatch(/- of b\n- of a|- of a\n- of b/);
  // Before the merge into the project's branch, changes of children count as the parent's own.
  await assertOwn(commit);
});

it('gives plans of children that ran at the same time different numbers, also where they have the same title', async () => {
  const specs = '.autonomous/specs';
  await aChild('a', { [`${specs}/001-login.md`]: 'of a\n' });
  await aChild('b', { [`${specs}/001-login.md`]: 'of b\n', [`${specs}/002-menu.md`]: 'menu of b\n' });
  await aChild('c', { [`${specs}/001-logout.md`]: 'of c\n' });
  let head = base;
  for (const child of ['a', 'b', 'c']) {
    const { commit, fastForward } = await integrate(head, child);
    expect(fastForward).toBe(child === 'a');
    head = (await merge(head, child)).commit;
    expect(head).toBe(commit);
  }
  const files = await fixture.repository.listFiles(fixture.project, head);
  const plans = files.filter((path) => path.startsWith(specs));
  expect(plans.map((path) => path.slice(specs.length + 1))).toEqual([
    '001-login.md',
    '002-menu.md',
    '003-login.md',
    '004-logout.md',
  ]);
  expect(await fixture.repository.readFile(fixture.project, head, `${specs}/003-login.md`)).toBe('of b\n');
  await assertOwn(head);
});

it('stops at lines that two children changed, names the files and moves nothing', async () => {
  await aChild('a', { 'same.js': 'a\n' });
  await aChild('b', { 'same.js': 'b\n' });
  const { commit } = await merge(base, 'a');
  await expect(integrate(commit, 'b')).rejects.toMatchObject({
    reason: 'merge_conflict',
    message: expect.stringContaining('changed the same lines of same.js') as string,
  });
  expect(await fixture.repository.branchHead(fixture.project, BRANCH)).toBe(commit);
});

it('takes only children of this run', async () => {
  await aChild('a', { 'a.js': '1\n' }, 'another');
  await expect(integrate(base, 'a')).rejects.toThrow(new TerminalFailure('Run a is not a child run of p.'));
});

it('does not take a merge for own work that does not take in the head of that child', async () => {
  await aChild('a', { 'a.js': '1\n' });
  const { commit } = await merge(base, 'a');
  views['a'] = { ...views['a'], headCommit: base };
  await expect(assertOwn(commit)).rejects.toMatchObject({ reason: 'merge_conflict' });
});

it('puts added lines after the line that they follow', () => {
  expect(withAddedLines('# A\n# B\n', '# A\n- one\n# B\n', '# A\n- two\n# B\n- three\n')).toBe(
    '# A\n- two\n- one\n# B\n- three\n',
  );
});
