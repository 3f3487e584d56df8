/** Stopped publications and the ways on from there: real mirrors, real remotes with hooks. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { WayOn } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitCode } from '../../../activities/git/code-commits.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { integrate, takeIn } from '../../../activities/git/integrate-base.ts';
import { merge } from '../../../activities/git/merge-into-base.ts';
import { pushBranch } from '../../../activities/git/push-branch.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { TAKING_IN, WAYS } from '../../../activities/git/ways.ts';
import { pullRequestUrl } from '../../../activities/git/ways-on.ts';
import type { Activity, ActivityContext } from '../../../core/activity.ts';
import {
  commitOnRemote,
  type Fixture,
  git,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../../repository/git-fixture.fixture.ts';

const AT = '2026-03-01T12:00:00.000Z';
const BRANCH = 'autonomous/r-1-mine';
const PLAN_PATH = '.autonomous/specs/001-mine.md';
const header = { runId: 'r-1', projectId: 'p-1', request: 'Mine', branch: BRANCH, startedAt: AT };

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let tools: ActivityTools;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
  const { repository, project } = fixture;
  // The other ports have no part in it.
  tools = {
    repository,
    project: () => Promise.resolve({ ...project, name: 'shop' }),
    view: async (id: string) => ({
      id,
      config: { git: { baseBranch: 'main' } },
      baseCommit: await mainHead(fixture),
      gates: [],
      artifacts: [],
      evidence: [],
    }),
    reviewPaths: [],
    scrub: (text: string) => text,
    assertRecordKnown: async () => undefined,
  } as never;
});
afterEach(() => temporary.remove());

const contextOf = (activity: string, sequence: number): ActivityContext =>
  ({
    key: `r-1/${sequence}/${activity}`,
    runId: 'r-1',
    activity,
    startedAt: AT,
    signal: new AbortController().signal,
  }) as ActivityContext;
const perform = <Output>(
  make: (tools: ActivityTools) => Activity<never, Output>,
  input: object,
  activity: string,
  sequence = 20,
): Promise<Output> => make(tools).perform({ ...header, ...input } as never, contextOf(activity, sequence));

interface Run {
  readonly baseCommit: string;
  readonly head: string;
}
const commitAs = async (run: Run, activity: string, files: Readonly<Record<string, string>>): Promise<Run> => {
  const { repository, project } = fixture;
  const tree = await repository.writeFiles(project, await repository.treeOf(project, run.head), files);
  const request = { project, branch: BRANCH, head: run.head, tree, message: activity };
  return { ...run, head: await commitOnBranch(tools, contextOf(activity, 5), request) };
};
/** A run with a plan and code on its branch. */
const aRun = async (code: Readonly<Record<string, string>>): Promise<Run> => {
  const baseCommit = await mainHead(fixture);
  const planned = await commitAs({ baseCommit, head: baseCommit }, 'commitPlan', { [PLAN_PATH]: '# Plan\n' });
  return commitAs(planned, 'commitCode', code);
};
const publishing = (run: Run) => ({ ...run, baseBranch: 'main', planPath: PLAN_PATH });
const merging = async (run: Run, sequence = 40) => {
  const codeTree = await fixture.repository.codeTree(fixture.project, run.head);
  return perform(merge, { ...publishing(run), strategy: 'squash', codeTree, title: 'Mine' }, 'merge', sequence);
};
const failureOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown as Error,
  );
  const {
    reason,
    message,
    ways = [],
  } = error as Error & { readonly reason?: string; readonly ways?: readonly WayOn[] };
  return { reason, message, ways: ways.map(({ way }) => way) };
};
const protectMain = (): void => {
  const hook = path.join(fixture.remote, 'hooks', 'update');
  mkdirSync(path.dirname(hook), { recursive: true });
  writeFileSync(
    hook,
    '#!/bin/sh\n[ "$1" = refs/heads/main ] || exit 0\necho "GH006: Protected branch update failed" >&2\nexit 1\n',
  );
  chmodSync(hook, 0o755);
};

it('a protected base names the refusal, and the branch may be left as it is', async () => {
  const run = await aRun({ 'src/mine.js': 'mine\n' });
  protectMain();
  const before = git(fixture.remote, 'rev-parse', 'main');
  expect(await failureOf(merging(run))).toEqual({
    reason: 'push_rejected',
    message: expect.stringMatching(/^Nothing was merged into main\. .*GH006: Protected branch update failed/),
    ways: [WAYS.leavePushed],
  });
  expect(git(fixture.remote, 'rev-parse', 'main')).toBe(before);
});

it('a base that was rewritten, or is gone, leaves the branch as a way to keep the result', async () => {
  const run = await aRun({ 'src/mine.js': 'mine\n' });
  const start = git(fixture.remote, 'rev-parse', 'main').trim();
  const other = git(fixture.remote, 'commit-tree', `${start}^{tree}`, '-m', 'Another history').trim();
  git(fixture.remote, 'update-ref', 'refs/heads/main', other);
  expect(await failureOf(perform(integrate, publishing(run), 'integrate'))).toEqual({
    reason: 'merge_conflict',
    message: expect.stringContaining('The history of main was rewritten'),
    ways: [WAYS.leaveBranch],
  });
  git(fixture.remote, 'update-ref', '-d', 'refs/heads/main');
  expect(await failureOf(perform(integrate, publishing(run), 'integrate'))).toEqual({
    reason: 'missing_at_remote',
    message: expect.stringContaining("no branch 'main' any more"),
    ways: [WAYS.leaveBranch],
  });
});

describe('a conflict with the base', () => {
  const conflicted = async (): Promise<Run> => {
    const run = await aRun({ 'src/cart.js': 'export const total = 10;\n', 'src/mine.js': 'mine\n' });
    commitOnRemote(fixture.remote, 'main', { 'src/cart.js': 'export const total = 2;\n', 'other.md': 'theirs\n' });
    return run;
  };

  it('names its files, pushes the branch for a person, and has three ways on', async () => {
    const run = await conflicted();
    expect(await failureOf(perform(integrate, publishing(run), 'integrate'))).toEqual({
      reason: 'merge_conflict',
      message: expect.stringContaining('changed the same lines of src/cart.js'),
      ways: [WAYS.resolveBase, WAYS.takeIn, WAYS.leaveBranch],
    });
    expect(git(fixture.remote, 'rev-parse', BRANCH)).toBe(run.head);
  });

  it('comes in with markers for an agent, which is taken only once it has resolved them', async () => {
    const run = await conflicted();
    const taken = await perform(takeIn, { ...publishing(run), from: 'base' }, TAKING_IN.base);
    expect(taken.conflicts).toEqual(['src/cart.js']);
    expect(git(fixture.gitDir, 'show', `${taken.commit}:src/cart.js`)).toMatch(/^<{7} .*\n.*10;\n={7}\n.*2;\n>{7} /);
    const { repository, project } = fixture;
    const codeOf = async (files: Readonly<Record<string, string>>) => ({
      head: taken.commit,
      baseCommit: taken.baseCommit,
      tree: await repository.writeFiles(project, await repository.treeOf(project, taken.commit), files),
      message: 'Resolved',
      conflicts: taken.conflicts,
    });
    expect(await failureOf(perform(commitCode, await codeOf({ 'a.js': 'a\n' }), 'commitCode', 22))).toEqual({
      reason: 'merge_conflict',
      message: 'Conflict markers are left in src/cart.js. Nothing of it was committed.',
      ways: [WAYS.resolveRest],
    });
    const resolved = await codeOf({ 'src/cart.js': 'export const total = 12;\n' });
    const { commit } = await perform(commitCode, resolved, 'commitCode', 23);
    const after = { head: commit, baseCommit: taken.baseCommit };
    expect(await perform(integrate, publishing(after), 'integrate', 24)).toEqual({ moved: false });
    expect(await merging(after)).toMatchObject({ merged: true });
    expect(git(fixture.remote, 'show', 'main:src/cart.js')).toBe('export const total = 12;');
    expect(git(fixture.remote, 'show', 'main:other.md')).toBe('theirs');
    expect(git(fixture.remote, 'show', 'main:src/mine.js')).toBe('mine');
  });

  it('that a person resolved on the branch is taken in with the base', async () => {
    const run = await conflicted();
    await failureOf(perform(integrate, publishing(run), 'integrate'));
    const clone = path.join(temporary.path, 'person');
    git(temporary.path, 'clone', '--quiet', '--branch', BRANCH, fixture.remote, clone);
    expect(() => git(clone, 'merge', 'origin/main')).toThrow(/CONFLICT|Command failed/);
    writeFileSync(path.join(clone, 'src/cart.js'), 'export const total = 12;\n');
    git(clone, 'commit', '--quiet', '--all', '--message', 'Merge main by hand');
    git(clone, 'push', '--quiet', 'origin', BRANCH);
    const taken = await perform(takeIn, { ...publishing(run), from: 'branch' }, TAKING_IN.branch);
    expect(taken).toMatchObject({ conflicts: [], baseCommit: git(fixture.remote, 'rev-parse', 'main') });
    const after = { head: taken.commit, baseCommit: taken.baseCommit };
    expect(await perform(integrate, publishing(after), 'integrate', 24)).toEqual({ moved: false });
    expect(await merging(after)).toMatchObject({ merged: true });
    expect(git(fixture.remote, 'show', 'main:src/cart.js')).toBe('export const total = 12;');
  });
});

describe("commits of others on the run's branch", () => {
  const withOthers = async () => {
    const run = await aRun({ 'src/mine.js': 'mine\n' });
    await perform(pushBranch, { commit: run.head }, 'pushBranch');
    const theirs = commitOnRemote(fixture.remote, BRANCH, { 'c.txt': 'c' });
    return { run: await commitAs(run, 'commitCode', { 'd.txt': 'd' }), theirs };
  };

  it('stop the push with two ways on', async () => {
    const { run, theirs } = await withOthers();
    expect(await failureOf(perform(pushBranch, { commit: run.head }, 'pushBranch'))).toEqual({
      reason: 'push_rejected',
      message: expect.stringContaining(`is at ${theirs}, which this run is not known to have pushed`),
      ways: [WAYS.takeIn, WAYS.pushBeside],
    });
  });

  it('stop the push of a plan without a way on, which would lead past the implementation', async () => {
    const { run } = await withOthers();
    const refusal = {
      reason: 'push_rejected',
      message: expect.stringContaining('which this run is not known to have pushed'),
      ways: [],
    };
    expect(await failureOf(perform(pushBranch, { commit: run.head, isDraft: true }, 'pushPlan'))).toEqual(refusal);
  });

  it('are taken in, pushed and merged', async () => {
    const { run, theirs } = await withOthers();
    const taken = await perform(takeIn, { ...publishing(run), from: 'branch' }, TAKING_IN.branch);
    await perform(pushBranch, { commit: taken.commit }, 'pushBranch', 30);
    expect(git(fixture.remote, 'merge-base', BRANCH, theirs)).toBe(theirs);
    expect(await merging({ head: taken.commit, baseCommit: taken.baseCommit })).toMatchObject({ merged: true });
    expect(git(fixture.remote, 'ls-tree', '-r', '--name-only', 'main').split('\n')).toEqual(
      expect.arrayContaining(['c.txt', 'd.txt', 'src/mine.js']),
    );
  });

  it('are taken in as they were named, and asked about again where the branch moved on', async () => {
    const { run, theirs } = await withOthers();
    const later = commitOnRemote(fixture.remote, BRANCH, { 'e.txt': 'e' });
    const takeNamed = (named: string) =>
      perform(takeIn, { ...publishing(run), from: 'branch', named }, TAKING_IN.branch);
    expect(await failureOf(takeNamed(theirs))).toEqual({
      reason: 'push_rejected',
      message: expect.stringContaining(`is at ${later}, which this run is not known to have pushed`),
      ways: [WAYS.takeIn, WAYS.pushBeside],
    });
    const { commit } = await takeNamed(later);
    expect(await fixture.repository.isAncestor(fixture.project, later, commit)).toBe(true);
  });

  it('stay where they are when the run pushes to a branch beside', async () => {
    const { run, theirs } = await withOthers();
    const published = await perform(pushBranch, { commit: run.head, beside: true }, 'pushBeside');
    expect(published).toMatchObject({ pushed: true, branch: `${BRANCH}-beside` });
    expect(git(fixture.remote, 'rev-parse', `${BRANCH}-beside`)).toBe(run.head);
    expect(git(fixture.remote, 'rev-parse', BRANCH)).toBe(theirs);
  });
});

it.each([
  ['https://github.com/acme/shop.git', 'https://github.com/acme/shop/compare/main...autonomous/r-1-mine?expand=1'],
  ['git@github.com:acme/shop.git', 'https://github.com/acme/shop/compare/main...autonomous/r-1-mine?expand=1'],
  [
    'ssh://git@gitlab.com/acme/tools/shop',
    'https://gitlab.com/acme/tools/shop/-/merge_requests/new?merge_request%5Bsource_branch%5D=autonomous%2Fr-1-mine&merge_request%5Btarget_branch%5D=main',
  ],
  ['https://git.example.test/acme/shop', null],
  ['/srv/git/shop.git', null],
])('the page on which a pull request of %s is opened is %s', (repository, url) => {
  expect(pullRequestUrl(repository, 'main', BRANCH)).toBe(url);
});
