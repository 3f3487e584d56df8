/** The merge radar over a real mirror and a real database; the engine's messages are the test's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { foreseenConflictText } from '@autonomous/shared/presentation';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteEventStore, type SqliteEventStore } from '../event-store/sqlite/sqlite-event-store.ts';
import { anEvent, aStart, aStep, aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { commitFiles, commitOnRemote, type Fixture, openFixture } from '../repository/git-fixture.fixture.ts';
import { MergeRadar, type MergeRadarOptions } from './merge-radar.ts';

const LINES = ['one', 'two', 'three'];
const FILES = { 'src/a.ts': LINES.join('\n'), 'src/b.ts': LINES.join('\n'), 'ai/rows.md': 'rows\n' };
const PATIENCE = { timeout: 120_000, interval: 20 };

describe('The merge radar', () => {
  let root: string;
  let store: SqliteEventStore;
  let fixture: Fixture;
  let radar: MergeRadar;
  /** Pairs of commits by git process. */
  let compared: (readonly (readonly [string, string])[])[];
  /** Comparisons that have begun and not ended. */
  let underWay: number;
  const warnings: string[] = [];

  const openRadar = (repository: Partial<MergeRadarOptions['repository']> = {}): MergeRadar => {
    const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
    return new MergeRadar({
      store,
      log,
      repository: {
        remoteHead: (project, branch) => fixture.repository.remoteHead(project, branch),
        branchHead: (project, branch) => fixture.repository.branchHead(project, branch),
        findConflicts: async (project, pairs, signal) => {
          compared.push(pairs);
          underWay += 1;
          return fixture.repository.findConflicts(project, pairs, signal).finally(() => {
            underWay -= 1;
          });
        },
        ...repository,
      },
    });
  };

  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'merge-radar-'));
    fixture = await openFixture(root, { files: FILES });
    store = openSqliteEventStore({ file: path.join(root, 'test.db') });
    await store.saveProject({ ...fixture.project, name: 'shop', createdAt: NOON });
    compared = [];
    underWay = 0;
    warnings.length = 0;
    radar = openRadar();
  });
  afterEach(async () => {
    await radar.stop();
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });

  const commit = (runId: string, files: Readonly<Record<string, string>>): Promise<string> =>
    commitFiles(fixture, `autonomous/${runId}-login`, files);
  /** The engine's message about a run that has come to this. */
  const says = (view: RunView, ...types: readonly string[]): void =>
    radar.receive({
      view,
      events: types.map((type) => ({
        id: 'e',
        position: 1,
        workflowRunId: view.id,
        sequence: 1,
        type,
        origin: 'input',
        payload: {},
        timestamp: NOON,
      })),
    });
  const aRun = async (id: string, files: Readonly<Record<string, string>>, given: Partial<RunView> = {}) => {
    const view = aView(id, { headCommit: await commit(id, files), ...given });
    says(view);
    return view;
  };
  const change = (line: number, text: string): string =>
    LINES.map((each, index) => (index === line ? text : each)).join('\n');
  /** Lines about the conflicts of a run, or of all. */
  const texts = (runId?: string): readonly string[] =>
    radar
      .conflicts({ runId })
      .map((each) => `${each.runId}: ${foreseenConflictText(each)}`)
      .toSorted();
  /** Resolves when these commits, in either order, were compared and what was found is told. */
  const hasCompared = async (one: string | undefined, other: string | undefined): Promise<void> => {
    const wanted = [one ?? '', other ?? ''].toSorted().join();
    await expect
      .poll(() => underWay === 0 && compared.flat().some((pair) => pair.toSorted().join() === wanted), PATIENCE)
      .toBe(true);
  };
  const base = (): Promise<string | null> => fixture.repository.remoteHead(fixture.project, 'main');

  it('tells two runs that change the same lines of each other and of the file, and says nothing of a third one', async () => {
    const told: string[] = [];
    radar.subscribe(({ runId }) => told.push(runId));
    const third = await aRun('r-3', { 'src/b.ts': change(1, 'apart') });
    const first = await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    await aRun('r-2', { 'src/a.ts': change(1, 'yours'), 'src/c.ts': 'more' });
    await expect
      .poll(() => texts(), PATIENCE)
      .toEqual(['r-1: Conflicts with run r-2: src/a.ts', 'r-2: Conflicts with run r-1: src/a.ts']);
    await hasCompared(third.headCommit, first.headCommit);
    await hasCompared(third.headCommit, (await base()) ?? '');
    expect(texts('r-3')).toEqual([]);
    expect(radar.conflicts({ projectId: 'p-2' })).toEqual([]);
    expect(told.toSorted()).toEqual(['r-1', 'r-2']);
    expect(radar.revision).toBe(2);
  });

  it('tells a run of its conflict with the base once another one is merged, and of none with that run', async () => {
    const first = await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    await aRun('r-2', { 'src/a.ts': change(1, 'yours') });
    await expect.poll(() => texts('r-2'), PATIENCE).toEqual(['r-2: Conflicts with run r-1: src/a.ts']);
    commitOnRemote(fixture.remote, 'main', { 'src/a.ts': change(1, 'mine') });
    await fixture.repository.fetch(fixture.project);
    const merged = { ...first, merged: { baseBranch: 'main', commit: 'c', strategy: 'squash' } };
    says(merged, 'ACTIVITY_COMPLETED', 'RUN_MERGED');
    await expect.poll(() => texts(), PATIENCE).toEqual(['r-2: Conflicts with main: src/a.ts']);
    says({ ...merged, status: 'completed' }, 'RUN_COMPLETED');
    await expect.poll(() => texts(), PATIENCE).toEqual(['r-2: Conflicts with main: src/a.ts']);
  });

  it('takes a conflict back when a new commit resolves it, and when one of both ends', async () => {
    await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    const second = await aRun('r-2', { 'src/a.ts': change(1, 'yours') });
    const third = await aRun('r-3', { 'src/a.ts': change(1, 'theirs') });
    await expect
      .poll(() => texts('r-1'), PATIENCE)
      .toEqual(['r-1: Conflicts with run r-2: src/a.ts', 'r-1: Conflicts with run r-3: src/a.ts']);
    says({ ...third, status: 'cancelled' }, 'RUN_CANCELLED');
    await expect.poll(() => texts('r-1'), PATIENCE).toEqual(['r-1: Conflicts with run r-2: src/a.ts']);
    says({ ...second, headCommit: await commit('r-2', { 'src/a.ts': change(1, 'mine') }) });
    await expect.poll(() => texts(), PATIENCE).toEqual([]);
  });

  it('compares only the newest of a burst of commits, and no pair twice whose commits are the same', async () => {
    const first = await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    const second = await aRun('r-2', { 'src/b.ts': change(1, 'mine') });
    const heads: string[] = [];
    for (let index = 0; index < 12; index++)
      heads.push(await commit('r-3', { 'src/a.ts': change(1, `yours ${index}`) }));
    await hasCompared(first.headCommit, second.headCommit);
    const before = compared.length;
    for (const headCommit of heads) says(aView('r-3', { headCommit }));
    for (let index = 0; index < 12; index++) says(second, 'ACTIVITY_COMPLETED');
    await expect.poll(() => texts('r-3'), PATIENCE).toEqual(['r-3: Conflicts with run r-1: src/a.ts']);
    await hasCompared(heads.at(-1), second.headCommit);
    // The first of them may be under way when the others come.
    expect(compared.length - before).toBeLessThanOrEqual(2);
    expect(new Set(compared.flat().map(String)).size).toBe(compared.flat().length);
    expect(compared.flat().flat()).not.toContain(heads[5]);
  });

  it('compares no alternatives to each other, but the child runs of one parent', async () => {
    const of = (runId: string): Partial<RunView> => ({
      treeId: 'parent',
      parent: { runId, key: `${runId}/1/child`, depth: 1 },
    });
    const mine = (text: string) => ({ 'src/a.ts': change(1, text) });
    says(aView('parent'));
    await aRun('child-1', mine('child 1'), of('parent'));
    await aRun('child-2', mine('child 2'), of('parent'));
    await aRun('fork', mine('fork'), {
      treeId: 'parent',
      forkedFrom: { runId: 'parent', at: 3, spent: { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 } },
    });
    await aRun('child-of-fork', { 'src/b.ts': change(1, 'fork') }, of('fork'));
    await expect
      .poll(() => texts(), PATIENCE)
      .toEqual(['child-1: Conflicts with run child-2: src/a.ts', 'child-2: Conflicts with run child-1: src/a.ts']);
    await aRun('variant-1', { 'src/b.ts': change(1, 'variant 1') }, { explorationId: 'e-1' });
    await aRun('variant-2', { 'src/b.ts': change(1, 'variant 2') }, { explorationId: 'e-1' });
    const last = await aRun('other', { 'src/b.ts': change(1, 'other') });
    await hasCompared(last.headCommit, (await base()) ?? '');
    await expect.poll(() => texts('variant-1').join(), PATIENCE).toContain('run other: src/b.ts');
    await expect.poll(() => texts('variant-2').join(), PATIENCE).toContain('run other: src/b.ts');
    expect(texts('variant-1').join()).not.toContain('variant-2');
  });

  it('compares a child run with its parent, whose branch moves on with each child that is merged, and with the topmost base', async () => {
    const of = (runId: string, depth: number): Partial<RunView> => ({
      treeId: 'top',
      parent: { runId, key: `${runId}/1/child`, depth },
      config: { ...aView('x').config, git: { ...aView('x').config.git, baseBranch: `autonomous/${runId}-login` } },
    });
    const top = aView('top');
    says(top);
    await aRun('child', { 'src/a.ts': change(1, 'child') }, of('top', 1));
    await aRun('grandchild', { 'src/b.ts': change(1, 'grandchild') }, of('child', 2));
    // The merge of another child run, of which no event of the parent names the commit.
    await commit('top', { 'src/a.ts': change(1, 'merged'), 'src/b.ts': change(1, 'merged') });
    says(top, 'ACTIVITY_COMPLETED');
    const both = ['child: Conflicts with run top: src/a.ts', 'top: Conflicts with run child: src/a.ts'];
    await expect.poll(() => texts(), PATIENCE).toEqual(both);
    commitOnRemote(fixture.remote, 'main', { 'src/b.ts': change(1, 'main') });
    await fixture.repository.fetch(fixture.project);
    says(top, 'ACTIVITY_FAILED');
    await expect
      .poll(() => texts(), PATIENCE)
      .toEqual([both[0], 'grandchild: Conflicts with main: src/b.ts', 'top: Conflicts with main: src/b.ts', both[1]]);
  });

  it('tells a conflict that a child run has from its parent once, and what the child adds to it', async () => {
    const parent = await aRun('parent', { 'src/a.ts': change(1, 'parent') });
    await fixture.repository.createBranch(fixture.project, 'autonomous/child-login', parent.headCommit ?? '');
    const of = { treeId: 'parent', parent: { runId: 'parent', key: 'parent/1/child', depth: 1 } };
    const child = await aRun('child', { 'src/c.ts': 'more' }, of);
    const other = await aRun('other', { 'src/a.ts': change(1, 'other'), 'src/b.ts': change(1, 'other') });
    await hasCompared(child.headCommit, other.headCommit);
    await expect.poll(() => texts('other'), PATIENCE).toEqual(['other: Conflicts with run parent: src/a.ts']);
    await expect.poll(() => texts('child'), PATIENCE).toEqual([]);
    await aRun('child', { 'src/b.ts': change(1, 'child') }, of);
    await expect.poll(() => texts('child'), PATIENCE).toEqual(['child: Conflicts with run other: src/a.ts, src/b.ts']);
  });

  it('leaves out engine-owned files and the folder of the server, and names at most twenty files', async () => {
    const many = (text: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 23 }, (_, index) => [`src/many/${index + 10}.ts`, text]));
    const owned = { paths: ['ai/**'], to: 'base' } as const;
    const plan = '.autonomous/specs/001-login.md';
    await aRun('r-1', { 'ai/rows.md': 'mine', [plan]: 'mine', ...many('mine') }, { ownedFiles: owned });
    await aRun('r-2', { 'ai/rows.md': 'yours', [plan]: 'yours', ...many('yours') });
    await expect
      .poll(() => texts('r-1'), PATIENCE)
      .toEqual(['r-1: Conflicts with run r-2: src/many/10.ts, src/many/11.ts, src/many/12.ts and 20 more files']);
    const [conflict] = radar.conflicts({ runId: 'r-1' });
    expect([conflict?.files.length, conflict?.fileCount]).toEqual([20, 23]);
  });

  it('finds the conflicts of live runs again after a start, and not those of runs that have ended', async () => {
    const stored = async (id: string, text: string, isOver = false): Promise<void> => {
      const headCommit = await commit(id, { 'src/a.ts': change(1, text) });
      const events = [
        aStart(aView(id)),
        anEvent('IMPLEMENTATION_SUCCEEDED', { commit: headCommit, codeTree: 't' }),
        ...(isOver ? [anEvent('RUN_COMPLETED')] : []),
      ];
      const view: Partial<RunView> = isOver ? { status: 'completed', completedAt: NOON } : {};
      await store.append(aStep(id, { events, view: { headCommit, ...view } }));
    };
    await stored('r-1', 'mine');
    await stored('r-2', 'yours');
    await stored('r-3', 'over', true);
    await radar.start();
    await expect
      .poll(() => texts(), PATIENCE)
      .toEqual(['r-1: Conflicts with run r-2: src/a.ts', 'r-2: Conflicts with run r-1: src/a.ts']);
  });

  it('goes on with other projects and runs where a project is gone, a commit is lost or git fails', async () => {
    await radar.stop();
    radar = openRadar({
      remoteHead: (project, branch) => {
        if (project.id === 'p-3') throw new Error('the mirror cannot be read');
        return fixture.repository.remoteHead(project, branch);
      },
    });
    await store.saveProject({ ...fixture.project, id: 'p-3', name: 'broken', createdAt: NOON });
    const mine = await commit('r-1', { 'src/a.ts': change(1, 'mine') });
    for (const projectId of ['gone', 'p-3']) {
      says(aView(`${projectId}-1`, { projectId, headCommit: mine }));
      says(aView(`${projectId}-2`, { projectId, headCommit: mine }));
    }
    says(aView('lost', { headCommit: 'f'.repeat(40) }));
    says(aView('r-1', { headCommit: mine }));
    await aRun('r-2', { 'src/a.ts': change(1, 'yours') });
    await expect
      .poll(() => texts(), PATIENCE)
      .toEqual(['r-1: Conflicts with run r-2: src/a.ts', 'r-2: Conflicts with run r-1: src/a.ts']);
    expect(warnings.join('\n')).toContain('the mirror cannot be read');
    expect(warnings.join('\n')).toContain('the mirror lacks a commit');
  });

  it('compares 20 live runs in few processes, and of many those with the newest commits', async () => {
    const heads: string[] = [];
    for (let index = 0; index < 20; index++)
      heads.push(await commit(`r-${index}`, { 'src/a.ts': change(1, `r-${index}`) }));
    for (const [index, headCommit] of heads.entries()) says(aView(`r-${index}`, { headCommit }));
    await expect.poll(() => texts().length, PATIENCE).toBe(20 * 19);
    // 190 pairs and 20 with the base, 25 at once; the first process has begun with one run.
    expect(compared.length).toBeLessThanOrEqual(10);
    // 60 runs at few commits: the ten oldest are compared no more.
    for (let index = 20; index < 60; index++) says(aView(`r-${index}`, { headCommit: heads[index % 20] ?? '' }));
    await expect.poll(() => underWay === 0 && texts('r-59').length, PATIENCE).toBeGreaterThan(40);
    await expect.poll(() => texts('r-9'), PATIENCE).toEqual([]);
    expect(texts('r-10')).not.toEqual([]);
  });

  it('says once that two runs cannot be compared, also while they get new commits, and again after they could be', async () => {
    let isReadable = false;
    radar = openRadar({
      findConflicts: async (_, pairs) => {
        compared.push(pairs);
        return pairs.map(() => (isReadable ? [] : null));
      },
    });
    const first = await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    const further = async (text: string): Promise<void> => {
      const headCommit = await commit('r-2', { 'src/b.ts': text });
      says(aView('r-2', { headCommit }));
      await hasCompared(first.headCommit, headCommit);
    };
    const said = (): number => warnings.filter((line) => line.includes('could not be compared')).length;
    await further('one');
    await expect.poll(() => said(), PATIENCE).toBeGreaterThan(0);
    await further('two');
    // Each pair at most once: two with the base, and the two runs.
    const before = said();
    expect(before).toBeLessThanOrEqual(3);
    for (const text of ['three', 'four', 'five']) await further(text);
    expect(said()).toBe(before);
    isReadable = true;
    await further('six');
    isReadable = false;
    await further('seven');
    await expect.poll(() => said(), PATIENCE).toBeGreaterThan(before);
  });

  it('ends with the server while it compares', async () => {
    const begun = Promise.withResolvers<void>();
    const ended: unknown[] = [];
    radar = openRadar({
      findConflicts: (project, pairs, signal) => {
        begun.resolve();
        const found = fixture.repository.findConflicts(project, pairs, signal);
        found.catch((error: unknown) => ended.push(error));
        return found;
      },
    });
    await aRun('r-1', { 'src/a.ts': change(1, 'mine') });
    await begun.promise;
    await radar.stop();
    expect(ended).toEqual([expect.objectContaining({ message: 'the merge radar is stopped' })]);
    const before = compared.length;
    says(aView('r-1', { headCommit: await commit('r-1', { 'src/b.ts': 'more' }) }));
    await radar.stop();
    expect(compared.length).toBe(before);
    expect(warnings).toEqual([]);
  });
});
