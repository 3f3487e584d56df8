/** Branches of runs that ended: real mirrors and remotes, and views as the store has them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Project, RunView } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { commitFiles, commitOnRemote, type Fixture, git, openFixture } from '../repository/git-fixture.fixture.ts';
import { BranchCleaner } from './branch-cleaner.ts';
import { ManualClock } from '../engine/engine.fixture.ts';

const DAY_MS = 24 * 60 * 60_000;
const NOT_ON_REMOTE = 'it has commits that are not on the remote';

describe('branches of runs', () => {
  let root: string;
  let fixture: Fixture;
  let project: Project;
  let clock: ManualClock;
  let cleaner: BranchCleaner;
  const views = new Map<string, RunView>();

  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'branch-cleaner-'));
    fixture = await openFixture(root);
    project = { ...fixture.project, name: 'shop', createdAt: NOON };
    clock = new ManualClock();
    views.clear();
    cleaner = aCleaner();
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  function aCleaner(afterDays = 30): BranchCleaner {
    return new BranchCleaner({
      store: { loadView: async (runId) => views.get(runId) ?? null },
      repository: fixture.repository,
      clock,
      afterDays,
    });
  }

  /** A run with a commit on its branch in the mirror. */
  async function aRun(id: string, given: Partial<RunView> = {}): Promise<{ branch: string; head: string }> {
    const view = aView(id, { status: 'completed', completedAt: NOON, ...given });
    views.set(id, view);
    return { branch: view.branch, head: await commitFiles(fixture, view.branch, { [`${id}.txt`]: id }, id) };
  }
  const push = (branch: string, head: string) => fixture.repository.push(project, branch, head, null);
  const record = async (...heads: readonly string[]) => {
    const commit = await fixture.repository.gather(project, heads);
    await fixture.repository.record(project, { files: { 'a.json': '{}' }, commits: [commit ?? ''], message: 'Record' });
  };
  const merge = (head: string) =>
    fixture.repository.push(project, 'main', head, git(fixture.remote, 'rev-parse', 'main'));
  const onRemote = (): readonly string[] =>
    git(fixture.remote, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/autonomous/').split('\n');
  const inMirror = async (): Promise<readonly string[]> =>
    (await fixture.repository.runBranches(project)).map(({ name }) => name);
  const reasonFor = async (branch: string): Promise<string | undefined> =>
    (await cleaner.clean(project, {})).kept.find((kept) => kept.branch === branch)?.reason;

  it('go 30 days after the end where the base branch or the record has their commits', async () => {
    const merged = await aRun('aa-1');
    const left = await aRun('bb-2', { status: 'failed' });
    const local = await aRun('cc-3', { status: 'cancelled' });
    await push(merged.branch, merged.head);
    await merge(merged.head);
    await push(left.branch, left.head);
    await record(left.head, local.head);
    clock.advance(29 * DAY_MS);
    expect((await cleaner.clean(project, {})).kept.map(({ reason }) => reason)).toEqual([
      'the run ended not long ago',
      'the run ended not long ago',
      'the run ended not long ago',
    ]);
    clock.advance(2 * DAY_MS);
    const would = await cleaner.clean(project, { dryRun: true });
    expect(await inMirror()).toHaveLength(3);
    const done = await cleaner.clean(project, {});
    expect(done).toEqual(would);
    expect(done.removed.map(({ runId }) => runId)).toEqual(['aa-1', 'bb-2', 'cc-3']);
    expect(await inMirror()).toEqual([]);
    expect(onRemote()).toEqual(['autonomous/record']);
    // A plain clone still has every commit.
    const clone = path.join(root, 'clone');
    git(root, 'clone', '--quiet', fixture.remote, clone);
    for (const { head } of [merged, left, local]) git(clone, 'cat-file', '-e', head);
  });

  it('stay while something only they lead to would be lost', async () => {
    const unpushed = await aRun('aa-1');
    const extended = await aRun('bb-2');
    await push(extended.branch, extended.head);
    await record(extended.head);
    commitOnRemote(fixture.remote, extended.branch, { 'mine.txt': 'a person’s work' });
    clock.advance(31 * DAY_MS);
    expect(await reasonFor(unpushed.branch)).toBe(NOT_ON_REMOTE);
    expect(await reasonFor(extended.branch)).toContain('somebody pushed commits to it');
    expect(onRemote()).toContain(extended.branch);
  });

  it('stay where only a base branch that their own record names has their commits', async () => {
    const based = (baseBranch: string) => {
      const { config } = aView('x');
      return { config: { ...config, git: { ...config.git, baseBranch } } };
    };
    const own = await aRun('aa-1', based('main'));
    const named = await aRun('bb-2', based(own.branch));
    const elsewhere = await aRun('cc-3', based('elsewhere'));
    for (const { branch, head } of [own, named, elsewhere]) await push(branch, head);
    views.set('aa-1', aView('aa-1', { status: 'completed', completedAt: NOON, ...based(own.branch) }));
    await fixture.repository.push(project, 'elsewhere', elsewhere.head, null);
    clock.advance(31 * DAY_MS);
    for (const { branch } of [own, named, elsewhere])
      expect(await reasonFor(branch)).toContain('that neither main nor autonomous/record contains');
    expect((await cleaner.clean({ ...project, baseBranch: own.branch }, {})).removed).toEqual([]);
    await record(own.head, named.head, elsewhere.head);
    expect((await cleaner.clean(project, {})).removed).toHaveLength(3);
  });

  it('stay while somebody may need them', async () => {
    const open = await aRun('aa-1', { status: 'awaiting_approval' });
    const parent = await aRun('bb-2', { status: 'running' });
    const child = await aRun('cc-3', { parent: { runId: 'bb-2', key: 'bb-2/1/x', depth: 1 } });
    const git = { ...aView('x').config.git, createPR: true };
    const asked = await aRun('dd-4', { config: { ...aView('x').config, git } });
    await push(asked.branch, asked.head);
    await record(open.head, parent.head, child.head, asked.head);
    clock.advance(31 * DAY_MS);
    expect(await reasonFor(open.branch)).toBe('the run has not ended');
    expect(await reasonFor(child.branch)).toBe('run bb-2, to which the run belongs, has not ended');
    expect(await reasonFor(asked.branch)).toContain('it may have an open pull request');
    await merge(asked.head);
    expect((await cleaner.clean(project, {})).removed.map(({ runId }) => runId)).toEqual(['dd-4']);
  });

  it('of others stay, whatever their names', async () => {
    await fixture.repository.push(project, 'autonomous/zz-9-mine', git(fixture.remote, 'rev-parse', 'main'), null);
    views.set('zz-9', aView('zz-9', { status: 'completed', completedAt: NOON, projectId: 'another' }));
    await fixture.repository.push(project, 'autonomous/notes', git(fixture.remote, 'rev-parse', 'main'), null);
    await record(git(fixture.remote, 'rev-parse', 'main'));
    clock.advance(31 * DAY_MS);
    const { removed, kept } = await cleaner.clean(project, {});
    expect(removed).toEqual([]);
    expect(kept.map(({ branch }) => branch).sort()).toEqual(['autonomous/notes', 'autonomous/zz-9-mine']);
    expect(onRemote()).toContain('autonomous/record');
  });

  it('that a person moves at the same moment stay', async () => {
    const run = await aRun('aa-1');
    await push(run.branch, run.head);
    await record(run.head);
    const listed = (await fixture.repository.runBranches(project)).find(({ name }) => name === run.branch);
    const moved = commitOnRemote(fixture.remote, run.branch, { 'mine.txt': 'late' });
    expect(await fixture.repository.removeRunBranch(project, listed!)).toBe(false);
    expect(git(fixture.remote, 'rev-parse', run.branch)).toBe(moved);
    expect(await fixture.repository.branchHead(project, run.branch)).toBe(run.head);
  });

  it('stay where the remote forbids to remove them, and it is said', async () => {
    const run = await aRun('aa-1');
    await push(run.branch, run.head);
    await record(run.head);
    clock.advance(31 * DAY_MS);
    git(fixture.remote, 'config', 'receive.denyDeletes', 'true');
    await expect(cleaner.clean(project, {})).rejects.toThrow(`refuses a push to ${run.branch}`);
    expect(await inMirror()).toEqual([run.branch]);
  });

  it('stay for ever where the server is told so', async () => {
    const run = await aRun('aa-1');
    await record(run.head);
    cleaner = aCleaner(0);
    clock.advance(400 * DAY_MS);
    expect(await reasonFor(run.branch)).toBe('BRANCHES_AFTER_DAYS is 0: branches are kept for ever');
    expect((await cleaner.clean(project, { afterDays: 30 })).removed).toHaveLength(1);
  });
});
