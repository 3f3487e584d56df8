/** Commits of engine-owned files with real git: several runs and persons at once, refusals, and repetitions after a crash. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NeedsHuman, type OwnedFiles, type RunView, TerminalFailure } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ActivityContext } from '../../core/activity.ts';
import {
  commitFiles,
  commitOnRemote,
  type Fixture,
  git,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import type { Repository } from '../../repository/repository.ts';
import { commitOwnedFiles, type CommitOwnedInput, type OwnedUpdate } from './commit-owned-files.ts';
import { integrate } from './integrate-base.ts';
import { merge } from './merge-into-base.ts';
import { integrateChild, mergeChild } from './merge-child.ts';
import { assertOwnChanges } from './own-changes.ts';
import type { ActivityTools } from '../tools.ts';

const AT = '2026-03-01T12:00:00.000Z';
const BACKLOG = 'ai/backlog.md';
const ROWS = '| TECH-1 | queued |\n\nText between.\n\n| TECH-2 | queued |\n';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let views: Record<string, Partial<RunView>>;
let tools: ActivityTools;

beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, { files: { 'app.js': '1\n', [BACKLOG]: ROWS, LICENSE: 'mine\n' } });
  views = {};
  tools = toolsWith(fixture.repository);
  await aRun('r1');
});
afterEach(() => temporary.remove());

function toolsWith(repository: Repository): ActivityTools {
  return {
    repository,
    project: async (_id: string, runId: string) => {
      const { paths = [], inherited = [] } = views[runId]?.ownedFiles ?? {};
      return { ...fixture.project, name: 'shop', ownedFiles: [...paths, ...inherited] };
    },
    view: async (id: string) => views[id],
    events: async () => [],
    reviewPaths: [],
    scrub: (text: string) => text.replaceAll('sk-secret', '***'),
    assertRecordKnown: async () => undefined,
  } as unknown as ActivityTools;
}

async function aRun(id: string, owned: Partial<OwnedFiles> = {}): Promise<void> {
  views[id] = {
    id,
    workflow: { name: 'backlog', version: 1 },
    baseCommit: await mainHead(fixture),
    config: { git: { baseBranch: 'main' } } as RunView['config'],
    gates: [],
    artifacts: [],
    evidence: [],
    decisions: [],
    ownedFiles: { paths: [BACKLOG], to: 'base', ...owned },
  };
}

const branchOf = (runId: string): string => `autonomous/${runId}-work`;
const headerOf = (runId: string) => ({
  runId,
  projectId: 'p-1',
  request: 'Do it',
  branch: branchOf(runId),
  startedAt: AT,
});
const contextOf = (runId: string, key: string, signal = new AbortController().signal): ActivityContext =>
  ({ runId, key: `${runId}/${key}`, startedAt: AT, signal }) as ActivityContext;

/** Sets the status of an item, whose row anybody else may have changed elsewhere. */
const setsStatus =
  (item: string, status: string) =>
  (text: string | null): string =>
    (text ?? '').replace(new RegExp(`(\\| ${item} \\|) [^|]+ \\|`), `$1 ${status} |`);
/** Adds a line, twice when it is applied twice. */
const adds =
  (line: string) =>
  (text: string | null): string =>
    `${text ?? ''}${line}\n`;

type Files = OwnedUpdate['files'];
const commitOwned = async (
  files: Files,
  {
    runId = 'r1',
    key = '5/keep',
    head,
    on = tools,
  }: { runId?: string; key?: string; head?: string; on?: ActivityTools } = {},
) => {
  const input: CommitOwnedInput = {
    ...headerOf(runId),
    head: head ?? views[runId]?.baseCommit ?? '',
    baseBranch: 'main',
  };
  return commitOwnedFiles(on, () => ({ message: 'Status', files })).perform(input, contextOf(runId, key));
};

const onRemote = (path: string, branch = 'main'): string => git(fixture.remote, 'show', `${branch}:${path}`);
const countOnRemote = (text: string): number => onRemote(BACKLOG).split(text).length - 1;

function refusePushesTo(branch: string): void {
  const hooks = join(fixture.remote, 'hooks');
  mkdirSync(hooks, { recursive: true });
  const hook = `#!/bin/sh\nwhile read old new ref; do\n  if [ "$ref" = refs/heads/${branch} ]; then echo "protected branch" >&2; exit 1; fi\ndone\n`;
  writeFileSync(join(hooks, 'pre-receive'), hook);
  chmodSync(join(hooks, 'pre-receive'), 0o755);
}

/** The repository, with something that happens before each push, or after it. */
function repositoryWith(around: { readonly before?: () => unknown; readonly after?: () => unknown }): Repository {
  return {
    ...fixture.repository,
    async push(...args) {
      await around.before?.();
      const pushed = await fixture.repository.push(...args);
      await around.after?.();
      return pushed;
    },
  };
}

describe('on the base branch', () => {
  it('commits the update with its effect key and leaves everything else', async () => {
    const done = await commitOwned({ [BACKLOG]: setsStatus('TECH-1', 'done') });
    expect(done).toEqual({
      to: 'base',
      branch: 'main',
      commit: git(fixture.remote, 'rev-parse', 'main'),
      paths: [BACKLOG],
    });
    expect(onRemote(BACKLOG)).toContain('| TECH-1 | done |');
    expect(onRemote('LICENSE')).toBe('mine');
    expect(git(fixture.remote, 'log', '-1', '--format=%an%n%B', 'main')).toBe(
      'Autonomous\nStatus\n\nRun: r1\nEffect-Key: r1/owned/5/keep',
    );
    expect(await fixture.repository.branchHead(fixture.project, branchOf('r1'))).toBeNull();
  });

  it('commits nothing where the update changes nothing', async () => {
    const before = git(fixture.remote, 'rev-parse', 'main');
    expect(await commitOwned({ [BACKLOG]: (text) => text })).toMatchObject({ commit: null, paths: [] });
    expect(git(fixture.remote, 'rev-parse', 'main')).toBe(before);
  });

  it("applies the update again to a person's edit that was pushed in between", async () => {
    let pushes = 0;
    const before = (): unknown =>
      pushes++ === 0 &&
      commitOnRemote(fixture.remote, 'main', { [BACKLOG]: `${onRemote(BACKLOG)}\n| TECH-3 | queued |\n` });
    await commitOwned({ [BACKLOG]: setsStatus('TECH-1', 'done') }, { on: toolsWith(repositoryWith({ before })) });
    expect(pushes).toBe(2);
    expect(onRemote(BACKLOG)).toContain('| TECH-1 | done |');
    expect(onRemote(BACKLOG)).toContain('| TECH-3 | queued |');
  });

  it('keeps the updates of runs that commit to the same file at the same time', async () => {
    const runs = ['r2', 'r3', 'r4'];
    for (const id of runs) await aRun(id);
    await Promise.all(runs.map((runId) => commitOwned({ [BACKLOG]: adds(`- by ${runId}`) }, { runId })));
    for (const runId of runs) expect(countOnRemote(`- by ${runId}`)).toBe(1);
  });

  it('asks a person when the base moves each time', async () => {
    let pushes = 0;
    const before = (): unknown => commitOnRemote(fixture.remote, 'main', { 'other.txt': String(pushes++) });
    const failure = commitOwned({ [BACKLOG]: adds('- entry') }, { on: toolsWith(repositoryWith({ before })) });
    await expect(failure).rejects.toMatchObject({
      reason: 'push_rejected',
      message: expect.stringContaining('main moved 12 times while ai/backlog.md') as string,
    });
    expect(pushes).toBe(12);
    expect(countOnRemote('- entry')).toBe(0);
  });

  it.each([
    ['before the push', { before: () => Promise.reject(new Error('killed')) }],
    ['after the push', { after: () => Promise.reject(new Error('killed')) }],
  ])('makes one entry when it is repeated after a crash %s', async (_when, around) => {
    await expect(
      commitOwned({ [BACKLOG]: adds('- entry') }, { on: toolsWith(repositoryWith(around)) }),
    ).rejects.toThrow('killed');
    // Others go on from there, by a merge whose first parent is theirs.
    const clone = join(temporary.path, 'clone');
    git(temporary.path, 'clone', '--quiet', fixture.remote, clone);
    git(clone, 'checkout', '--quiet', '-b', 'side', views['r1']?.baseCommit ?? '');
    git(clone, 'commit', '--quiet', '--allow-empty', '--message', 'Side');
    git(clone, 'merge', '--quiet', '--no-edit', '--no-ff', 'origin/main');
    git(clone, 'push', '--quiet', 'origin', 'side:main');
    const done = await commitOwned({ [BACKLOG]: adds('- entry') }, { on: toolsWith(fixture.reopen()) });
    expect(countOnRemote('- entry')).toBe(1);
    expect(git(fixture.remote, 'merge-base', '--is-ancestor', done.commit ?? '', 'main')).toBe('');
  });

  it('makes one entry when it is repeated with a mirror that was made anew', async () => {
    await commitOwned({ [BACKLOG]: adds('- entry') });
    const fresh = (await openAnother()).repository;
    await commitOwned({ [BACKLOG]: adds('- entry') }, { on: toolsWith(fresh) });
    expect(countOnRemote('- entry')).toBe(1);
    expect((await commitOwned({ [BACKLOG]: adds('- entry') }, { key: '9/keep' })).commit).not.toBeNull();
    expect(countOnRemote('- entry')).toBe(2);
  });

  it('pushes no secret: neither one that is known nor one that looks like it', async () => {
    await commitOwned({ [BACKLOG]: adds('- with sk-secret') });
    expect(onRemote(BACKLOG)).toContain('- with ***');
    const key = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40);
    await expect(commitOwned({ [BACKLOG]: adds(key) }, { key: '6/keep' })).rejects.toMatchObject({
      reason: 'secret_found',
    });
    expect(onRemote(BACKLOG)).not.toContain(key);
  });

  it('refuses paths that the workflow does not own, and paths that can run code', async () => {
    await expect(commitOwned({ 'app.js': adds('x') })).rejects.toThrow(
      "would commit app.js, which workflow 'backlog' does not own (ai/backlog.md). Declare it in ownedFiles.",
    );
    await aRun('r1', { paths: ['ai/**'] });
    await expect(commitOwned({ 'ai/package.json': adds('{}') })).rejects.toBeInstanceOf(TerminalFailure);
  });

  it('leaves a file that is not UTF-8 as it is', async () => {
    const clone = join(temporary.path, 'latin');
    git(temporary.path, 'clone', '--quiet', fixture.remote, clone);
    writeFileSync(join(clone, BACKLOG), Buffer.from([0xe9, 0x0a]));
    git(clone, 'commit', '--quiet', '--all', '--message', 'Latin');
    git(clone, 'push', '--quiet', 'origin', 'main');
    await expect(commitOwned({ [BACKLOG]: adds('x') })).rejects.toThrow('is not UTF-8 text');
  });

  it.each([
    [
      'a file in the place of its folder',
      { ai: 'mine\n', [BACKLOG]: null },
      /^ai at commit \w+ is in the way of ai\/backlog\.md/,
    ],
    [
      'a folder in its place',
      { [BACKLOG]: null, [`${BACKLOG}/code.js`]: 'mine\n' },
      /^ai\/backlog\.md\/code\.js at commit/,
    ],
    ['another spelling of its name', { [BACKLOG]: null, 'AI/Backlog.md': 'mine\n' }, /^AI\/Backlog\.md at commit/],
  ])('leaves the base as it is and asks a person where it has %s', async (_what, files, named) => {
    const { repository, project } = fixture;
    const base = await mainHead(fixture);
    const tree = await repository.writeFiles(project, await repository.treeOf(project, base), files);
    const commit = await repository.commit(project, {
      branch: 'hostile',
      tree,
      parent: base,
      message: 'Hostile',
      effectKey: 'x/1/y',
      at: AT,
    });
    await repository.push(project, 'main', commit, base);
    const failed = await commitOwned({ [BACKLOG]: adds('x') }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NeedsHuman);
    expect((failed as Error).message).toMatch(named);
    expect(git(fixture.remote, 'rev-parse', 'main')).toBe(commit);
  });

  it('leaves a symlink as it is and asks a person', async () => {
    const clone = join(temporary.path, 'links');
    git(temporary.path, 'clone', '--quiet', fixture.remote, clone);
    rmSync(join(clone, BACKLOG));
    symlinkSync('../LICENSE', join(clone, BACKLOG));
    git(clone, 'commit', '--quiet', '--all', '--message', 'Link');
    git(clone, 'push', '--quiet', 'origin', 'main');
    await expect(commitOwned({ [BACKLOG]: adds('x') })).rejects.toThrow('is a symlink');
  });

  it.each([undefined, 7, {}])('names an update that gives %j and not a text', async (value) => {
    const broken = commitOwned({ [BACKLOG]: () => value as unknown as string });
    await expect(broken).rejects.toBeInstanceOf(TerminalFailure);
    await expect(broken).rejects.toThrow(/ai\/backlog\.md.*text or null/);
  });

  it("passes on an update's question to a person", async () => {
    const update = (): never => {
      throw new NeedsHuman('merge_conflict', 'Both changed TECH-1.');
    };
    await expect(commitOwned({ [BACKLOG]: update })).rejects.toThrow('Both changed TECH-1.');
  });
});

describe('where the base refuses pushes', () => {
  it("commits to the run's branch, says why, and stays there", async () => {
    refusePushesTo('main');
    const base = await mainHead(fixture);
    const first = await commitOwned({ [BACKLOG]: adds('- one') });
    expect(first).toMatchObject({ to: 'branch', branch: branchOf('r1'), refused: true, paths: [BACKLOG] });
    expect(first.why).toContain('main refused a push of run r1');
    expect(first.why).toContain('protected branch');
    expect(git(fixture.remote, 'rev-parse', 'main')).toBe(base);
    const { to, why = '' } = first;
    await aRun('r1', { to, why, refused: true });
    // No further push: what is asked of the remote would fail now.
    const on = toolsWith(repositoryWith({ before: () => Promise.reject(new Error('a push')) }));
    const second = await commitOwned({ [BACKLOG]: adds('- two') }, { on, key: '6/keep', head: first.commit ?? '' });
    const { repository, project } = fixture;
    expect(await repository.branchHead(project, branchOf('r1'))).toBe(second.commit);
    expect(await repository.readFile(project, second.commit ?? '', BACKLOG)).toBe(`${ROWS}- one\n- two\n`);
  });

  it('makes one commit when it is repeated after a crash', async () => {
    refusePushesTo('main');
    const first = await commitOwned({ [BACKLOG]: adds('- one') });
    const again = await commitOwned({ [BACKLOG]: adds('- one') }, { on: toolsWith(fixture.reopen()) });
    expect(again.commit).toBe(first.commit);
    expect(again).toMatchObject({ to: 'branch', refused: true });
  });

  it("does not try the base where the project's configuration names the branch", async () => {
    commitOnRemote(fixture.remote, 'main', { '.autonomous/config.json': '{ "git": { "ownedFiles": "branch" } }' });
    const on = toolsWith(repositoryWith({ before: () => Promise.reject(new Error('a push')) }));
    const done = await commitOwned({ [BACKLOG]: adds('- one') }, { on });
    expect(done).toMatchObject({ to: 'branch', why: expect.stringContaining('git.ownedFiles') as string });
    expect(done.refused).toBeUndefined();
  });
});

describe('beside the code', () => {
  const merged = (runId: string, head: string, baseCommit: string, codeTree: string, strategy = 'squash') =>
    merge(tools).perform(
      {
        ...headerOf(runId),
        head,
        baseCommit,
        baseBranch: 'main',
        strategy: strategy as 'squash',
        codeTree,
        title: 'Work',
      },
      contextOf(runId, '40/merge'),
    );
  const projectOf = (runId = 'r1') => tools.project('p-1', runId);
  const work = (files: Readonly<Record<string, string | null>>, key = 'r1/9/commitCode', runId = 'r1') =>
    commitFiles(fixture, branchOf(runId), files, key);

  it('evidence stays valid after a commit of owned files, and names no owned file', async () => {
    const { repository } = fixture;
    const project = await projectOf();
    const before = await repository.codeTree(project, await mainHead(fixture));
    const { commit } = await commitOwned({ [BACKLOG]: adds('- one') });
    expect(await repository.codeTree(project, commit ?? '')).toBe(before);
    expect(await repository.listFiles(project, before)).toEqual(['LICENSE', 'app.js']);
    expect(await repository.codeTree(fixture.project, commit ?? '')).not.toBe(
      await repository.codeTree(fixture.project, views['r1']?.baseCommit ?? ''),
    );
  });

  it("merges a result onto a base that moved by owned files alone, and keeps the base's", async () => {
    const { repository } = fixture;
    const base = await mainHead(fixture);
    const head = await work({ 'app.js': '2\n' });
    const codeTree = await repository.codeTree(await projectOf(), head);
    await commitOwned({ [BACKLOG]: setsStatus('TECH-1', 'done') }, { head });
    const done = await merged('r1', head, base, codeTree);
    expect(done).toMatchObject({ merged: true });
    expect(onRemote('app.js')).toBe('2');
    expect(onRemote(BACKLOG)).toContain('| TECH-1 | done |');
    // After a crash before its outcome was stored, and one more status.
    await commitOwned({ [BACKLOG]: setsStatus('TECH-2', 'done') }, { head, key: '41/keep' });
    expect(await merged('r1', head, base, codeTree)).toEqual(done);
    expect(git(fixture.remote, 'log', '--format=%s', 'main').split('\n')).toEqual([
      'Status',
      'Work',
      'Status',
      'First',
    ]);
  });

  it('does not merge onto a base whose code moved as well', async () => {
    const base = await mainHead(fixture);
    const head = await work({ 'app.js': '2\n' });
    const codeTree = await fixture.repository.codeTree(await projectOf(), head);
    await commitOwned({ [BACKLOG]: adds('- one') }, { head });
    commitOnRemote(fixture.remote, 'main', { 'other.js': '1\n' });
    expect(await merged('r1', head, base, codeTree)).toEqual({ merged: false });
  });

  it.each(['squash', 'ff'])(
    'refuses to merge a change of an owned file that the server did not commit (%s)',
    async (strategy) => {
      const base = await mainHead(fixture);
      const head = await work({ 'app.js': '2\n', [BACKLOG]: 'mine\n' });
      const codeTree = await fixture.repository.codeTree(await projectOf(), head);
      await expect(merged('r1', head, base, codeTree, strategy)).rejects.toMatchObject({
        reason: 'merge_conflict',
        message: expect.stringContaining(BACKLOG) as string,
      });
      expect(git(fixture.remote, 'rev-parse', 'main')).toBe(base);
    },
  );

  it("merges the branch's owned files with those that the base has meanwhile; the base's win on the same lines", async () => {
    const base = await mainHead(fixture);
    await aRun('r1', { to: 'branch', why: 'main is protected' });
    const one = await commitOwned({ [BACKLOG]: setsStatus('TECH-1', 'done') });
    const head = await work({ 'app.js': '2\n' });
    expect(await fixture.repository.isAncestor(fixture.project, one.commit ?? '', head)).toBe(true);
    commitOnRemote(fixture.remote, 'main', { [BACKLOG]: ROWS.replace('TECH-2 | queued', 'TECH-2 | blocked') });
    const input = { ...headerOf('r1'), baseBranch: 'main', planPath: '.autonomous/specs/1.md' };
    const first = await integrate(tools).perform({ ...input, head, baseCommit: base }, contextOf('r1', '20/integrate'));
    if (!first.moved) throw new Error('the base has moved');
    const project = await projectOf();
    expect(await fixture.repository.readFile(project, first.commit, BACKLOG)).toBe(
      ROWS.replace('TECH-1 | queued', 'TECH-1 | done').replace('TECH-2 | queued', 'TECH-2 | blocked'),
    );
    expect(first.codeTree).toBe(await fixture.repository.codeTree(project, head));
    commitOnRemote(fixture.remote, 'main', { [BACKLOG]: ROWS.replace('TECH-1 | queued', 'TECH-1 | on hold') });
    const second = await integrate(tools).perform(
      { ...input, head: first.commit, baseCommit: first.baseCommit },
      contextOf('r1', '21/integrate'),
    );
    if (!second.moved) throw new Error('the base has moved');
    expect(await fixture.repository.readFile(project, second.commit, BACKLOG)).toContain('TECH-1 | on hold');
    await assertOwnChanges(tools, {
      project,
      branch: branchOf('r1'),
      head: second.commit,
      baseBranch: 'main',
      baseCommit: second.baseCommit,
    });
  });

  it("keeps the parent's owned files when a child that changed them is merged", async () => {
    const base = await mainHead(fixture);
    await aRun('r1', { to: 'branch', why: 'main is protected' });
    await aRun('c1', { paths: [], inherited: [BACKLOG] });
    const childHead = await work({ 'child.js': '1\n', [BACKLOG]: 'of the child\n' }, 'c1/3/commitCode', 'c1');
    views['c1'] = {
      ...views['c1'],
      status: 'completed',
      originalRequest: 'Do c1',
      baseCommit: base,
      headCommit: childHead,
      completedAt: AT,
      updatedAt: AT,
      parent: { runId: 'r1', key: 'r1/1/c1', depth: 1 },
    };
    const { commit: head } = await commitOwned({ [BACKLOG]: adds('- one') });
    const input = { ...headerOf('r1'), head: head ?? '', childId: 'c1' };
    const planned = await integrateChild(tools).perform(input, contextOf('r1', '7/integrate'));
    const { commit } = await mergeChild(tools).perform(input, contextOf('r1', '8/merge'));
    expect(commit).toBe(planned.commit);
    expect(await fixture.repository.readFile(fixture.project, commit, BACKLOG)).toBe(`${ROWS}- one\n`);
    expect(await fixture.repository.readFile(fixture.project, commit, 'child.js')).toBe('1\n');
  });
});

async function openAnother(): Promise<Fixture> {
  const { createGitRepository } = await import('../../repository/git-repository.ts');
  const { AUTHOR } = await import('../../repository/git-fixture.fixture.ts');
  const repository = createGitRepository({ folder: join(temporary.path, 'mirrors-2'), author: AUTHOR });
  await repository.fetch(fixture.project);
  return { ...fixture, repository };
}
