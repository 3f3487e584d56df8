/** Publishing while others move the base and the branch between two lives of an activity: real mirrors, real remotes. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { type Clarification, NeedsHuman } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  commitOnRemote,
  type Fixture,
  git,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../../repository/git-fixture.fixture.ts';
import type { Activity, ActivityContext } from '../../../core/activity.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitCode } from '../../../activities/git/code-commits.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { integrate } from '../../../activities/git/integrate-base.ts';
import { merge } from '../../../activities/git/merge-into-base.ts';
import { copyRecord, keptMemory } from './publishing.ts';
import { pushBranch } from '../../../activities/git/push-branch.ts';

const AT = '2026-03-01T12:00:00.000Z';
const OTHERS = {
  'src/other.js': 'export const other = 1;\n',
  '.autonomous/specs/001-other.md': '# Other\n',
  '.autonomous/runs/r-2/context.json': '{}\n',
  '.autonomous/memory.md': '# Memory\n\nWhat run r-2 left.\n',
};
const CODE = { 'src/mine.js': 'export const mine = 1;\n' };
const PLAN_PATH = '.autonomous/specs/001-mine.md';

describe('publishing', () => {
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
      view: async (runId: string) => ({
        id: runId,
        config: { git: { baseBranch: 'main' } },
        baseCommit: await mainHead(fixture),
        gates: [],
        artifacts: [],
        evidence: [],
        decisions: [],
        clarifications: [],
      }),
      log: () => Promise.resolve([]),
      steps: () => Promise.resolve([]),
      reviewPaths: [],
      scrub: (text: string) => text,
      assertRecordKnown: async () => undefined,
    } as never;
  });
  afterEach(() => temporary.remove());

  const contextOf = (runId: string, sequence: number, activity: string): ActivityContext =>
    ({
      key: `${runId}/${sequence}/${activity}`,
      runId,
      activity,
      startedAt: AT,
      signal: new AbortController().signal,
    }) as ActivityContext;
  /** As the activity runner does it. */
  const carryOut = async <Output>(
    make: (tools: ActivityTools) => Activity<never, Output>,
    input: object,
    context: ActivityContext,
  ): Promise<Output> => {
    const { find, perform } = make(tools);
    return (await find?.(input as never, context)) ?? perform(input as never, context);
  };
  const header = (runId: string) => ({
    runId,
    projectId: 'p-1',
    request: 'Mine',
    branch: `autonomous/${runId}-mine`,
    startedAt: AT,
  });

  interface Run {
    readonly runId: string;
    readonly branch: string;
    readonly baseCommit: string;
    readonly head: string;
  }

  const commitAs = async (run: Run, activity: string, files: Readonly<Record<string, string | null>>): Promise<Run> => {
    const { repository, project } = fixture;
    const tree = await repository.writeFiles(project, await repository.treeOf(project, run.head), files);
    const head = await commitOnBranch(tools, contextOf(run.runId, 5, activity), {
      project,
      branch: run.branch,
      head: run.head,
      tree,
      message: activity,
    });
    return { ...run, head };
  };

  /** A run with a plan and code on its branch. */
  const aRun = async (runId = 'r-1', code: Readonly<Record<string, string>> = CODE): Promise<Run> => {
    const baseCommit = await mainHead(fixture);
    const begun = { runId, branch: header(runId).branch, baseCommit, head: baseCommit };
    const planned = await commitAs(begun, 'commitPlan', { [PLAN_PATH]: `# Plan of ${runId}\n` });
    return commitAs(planned, 'commitCode', code);
  };

  const integrated = (run: Run, sequence = 20, planPath = PLAN_PATH) =>
    carryOut(
      integrate,
      { ...header(run.runId), head: run.head, baseCommit: run.baseCommit, baseBranch: 'main', planPath },
      contextOf(run.runId, sequence, 'integrate'),
    );
  const merged = async (run: Run, strategy = 'squash', sequence = 40) => {
    const codeTree = await fixture.repository.codeTree(fixture.project, run.head);
    return carryOut(
      merge,
      {
        ...header(run.runId),
        head: run.head,
        baseCommit: run.baseCommit,
        baseBranch: 'main',
        strategy,
        codeTree,
        title: 'Mine',
      },
      contextOf(run.runId, sequence, 'merge'),
    );
  };
  const recorded = async (run: Run, sequence = 30) => {
    const codeTree = await fixture.repository.codeTree(fixture.project, run.head);
    return carryOut(
      copyRecord,
      {
        ...header(run.runId),
        head: run.head,
        plan: null,
        evidence: [],
        review: null,
        failure: null,
        codeTree,
        accepted: false,
        title: 'Mine',
        decisions: [],
        techStack: [],
        patterns: [],
      },
      contextOf(run.runId, sequence, 'copyRecord'),
    );
  };
  const movedTo = (run: Run, outcome: Awaited<ReturnType<typeof integrated>>): Run => {
    if (!outcome.moved) throw new Error('the base has not moved');
    return { ...run, head: outcome.commit, baseCommit: outcome.baseCommit };
  };
  const onMain = (): string[] => git(fixture.remote, 'ls-tree', '-r', '--name-only', 'main').split('\n');
  const subjects = (branch: string): string[] =>
    git(fixture.gitDir, 'log', '--first-parent', '--format=%s', `main..${branch}`.replace('main', 'origin/main')).split(
      '\n',
    );

  describe('after a server was killed in it', () => {
    it("keeps what others merged when the base moves again before 'integrate' is repeated", async () => {
      const run = await aRun();
      commitOnRemote(fixture.remote, 'main', OTHERS);
      await integrated(run); // its outcome is lost
      commitOnRemote(fixture.remote, 'main', { 'colleague.md': 'by a colleague\n' });
      const after = movedTo(run, await integrated(run));
      const { commit } = await recorded(after);
      expect(await merged({ ...after, head: commit })).toMatchObject({ merged: true });
      expect(onMain()).toEqual(expect.arrayContaining([...Object.keys(OTHERS), 'colleague.md', 'src/mine.js']));
      expect(git(fixture.remote, 'diff', '--name-status', '--diff-filter=DM', 'main~1', 'main')).toBe(
        'M\t.autonomous/memory.md',
      );
      expect(subjects(run.branch)).toEqual([
        'Record of run r-1',
        'Take in main',
        'Make room for what main has brought',
        'commitCode',
        'commitPlan',
      ]);
    });

    it('keeps what others merged when the base is put back before it is repeated', async () => {
      const run = await aRun();
      const before = git(fixture.remote, 'rev-parse', 'main');
      commitOnRemote(fixture.remote, 'main', OTHERS);
      const taken = git(fixture.remote, 'rev-parse', 'main');
      await integrated(run); // its outcome is lost
      git(fixture.remote, 'update-ref', 'refs/heads/main', before);
      expect(await integrated(run)).toEqual({ moved: false });
      const { commit } = await recorded(run);
      git(fixture.remote, 'update-ref', 'refs/heads/main', taken);
      expect(await merged({ ...run, head: commit })).toEqual({ merged: false });
      const after = movedTo(run, await integrated({ ...run, head: commit }, 50));
      const again = await recorded(after, 60);
      expect(await merged({ ...after, head: again.commit })).toMatchObject({ merged: true });
      expect(onMain()).toEqual(expect.arrayContaining([...Object.keys(OTHERS), 'src/mine.js']));
    });

    it("gives the same commit again when nothing has moved, with both commits of 'integrate'", async () => {
      const run = await aRun();
      commitOnRemote(fixture.remote, 'main', OTHERS);
      const first = await integrated(run);
      expect(await integrated(run)).toEqual(first);
      const after = movedTo(run, first);
      const record = await recorded(after);
      expect(await recorded(after)).toEqual(record);
      expect(subjects(run.branch)).toHaveLength(5);
    });

    it('puts the branch back to the known head before other work is committed on it', async () => {
      const run = await aRun();
      await commitAs(run, 'checkpoint', { 'draft.js': 'half\n' }); // its outcome is lost
      const { repository, project } = fixture;
      const tree = await repository.writeFiles(project, await repository.treeOf(project, run.head), { 'b.js': 'b\n' });
      const { commit } = await carryOut(
        commitCode,
        { ...header('r-1'), head: run.head, tree, message: 'Again', baseCommit: run.baseCommit },
        contextOf('r-1', 9, 'commitCode'),
      );
      expect(git(fixture.gitDir, 'rev-parse', `${commit}^`)).toBe(run.head);
      expect(await repository.branchHead(project, run.branch)).toBe(commit);
    });

    it('refuses to move a branch that holds commits of somebody else', async () => {
      const run = await aRun();
      const foreign = git(fixture.gitDir, 'commit-tree', `${run.head}^{tree}`, '-p', run.head, '-m', 'Not of a run');
      git(fixture.gitDir, 'update-ref', `refs/heads/${run.branch}`, foreign);
      const late = commitAs(run, 'report', { '.autonomous/runs/r-1/validation-report.md': 'x' });
      await expect(late).rejects.toThrow(NeedsHuman);
      await expect(late).rejects.toThrow(`The mirror's branch ${run.branch} holds the commit ${foreign}`);
      expect(git(fixture.gitDir, 'rev-parse', run.branch)).toBe(foreign);
    });

    it('brings a branch of an older mirror forward to the known head', async () => {
      const run = await aRun();
      git(fixture.gitDir, 'update-ref', `refs/heads/${run.branch}`, `${run.head}^`);
      const after = await commitAs(run, 'report', { '.autonomous/runs/r-1/validation-report.md': 'x' });
      expect(git(fixture.gitDir, 'rev-parse', `${run.branch}^`)).toBe(run.head);
      expect(git(fixture.gitDir, 'rev-parse', run.branch)).toBe(after.head);
    });
  });

  describe('asserts before a merge that the change is the run’s own', () => {
    /** A commit under the run's key whose tree is made of another commit than its parent. */
    const commitOn = (run: Run, activity: string, parents: readonly string[], tree: string): string => {
      const message = `${activity}\n\nEffect-Key: ${run.runId}/20/${activity}`;
      const options = parents.flatMap((parent) => ['-p', parent]);
      return git(fixture.gitDir, 'commit-tree', tree, ...options, '-m', message);
    };

    it('and pauses where a commit of the server takes back what others merged', async () => {
      const run = await aRun();
      commitOnRemote(fixture.remote, 'main', { 'src/other.js': 'export {};\n' });
      const taken = movedTo(run, await integrated(run));
      const reverting = commitOn(run, 'integrate/abc/room', [taken.head], `${run.head}^{tree}`);
      await expect(merged({ ...taken, head: reverting })).rejects.toMatchObject({
        reason: 'merge_conflict',
        message: expect.stringContaining('src/other.js') as string,
      });
      expect(onMain()).toContain('src/other.js');
    });

    it('and pauses where a merge of the base has left something of it out', async () => {
      const run = await aRun();
      commitOnRemote(fixture.remote, 'main', { 'src/other.js': 'export {};\n', 'README.md': '# Better\n' });
      await fixture.repository.fetch(fixture.project);
      const base = await mainHead(fixture);
      const without = commitOn(run, 'integrate/abc', [run.head, base], `${run.head}^{tree}`);
      const publishing = merged({ ...run, head: without, baseCommit: base });
      await expect(publishing).rejects.toThrow(/would undo .*README\.md, src\/other\.js.* Nothing was merged/);
      expect(onMain()).toContain('src/other.js');
    });

    it('and takes what the run itself removes, renames and changes after the base came in', async () => {
      const run = await aRun();
      commitOnRemote(fixture.remote, 'main', { ...OTHERS, 'src/cart.js': 'export const total = 2;\n' });
      const taken = movedTo(run, await integrated(run));
      const fixed = await commitAs(taken, 'commitCode', {
        'src/other.js': null,
        'src/renamed.js': CODE['src/mine.js'],
      });
      const { commit } = await recorded(fixed);
      expect(await merged({ ...fixed, head: commit })).toMatchObject({ merged: true });
      expect(onMain()).not.toContain('src/other.js');
    });
  });

  describe.each(['squash', 'merge', 'ff'])('with the strategy %s', (strategy) => {
    it('merges two runs and a fork of one of them, all of which began with the same number of a plan', async () => {
      const first = await aRun('r-q', { 'src/q.js': 'q\n' });
      const second = await aRun('r-p', { 'src/p.js': 'p\n' });
      const forkHead = git(fixture.gitDir, 'rev-parse', `${second.head}^`);
      const fork = await commitAs(
        { ...second, runId: 'r-f', branch: header('r-f').branch, head: forkHead },
        'commitCode',
        { 'src/f.js': 'f\n' },
      );
      for (const run of [first, second, fork]) {
        const outcome = await integrated(run);
        const latest = outcome.moved ? movedTo(run, outcome) : run;
        const { commit } = await recorded(latest);
        expect(await merged({ ...latest, head: commit }, strategy)).toMatchObject({ merged: true });
        await fixture.repository.fetch(fixture.project);
      }
      expect(onMain()).toEqual(expect.arrayContaining(['src/q.js', 'src/p.js', 'src/f.js']));
      const plans = onMain().filter((file) => file.startsWith('.autonomous/specs/'));
      expect(plans).toEqual([1, 2, 3].map((number) => `.autonomous/specs/00${number}-mine.md`));
      // The fork goes on with the plan of the run that it is a fork of.
      expect(plans.map((file) => git(fixture.remote, 'show', `main:${file}`))).toEqual([
        '# Plan of r-q',
        '# Plan of r-p',
        '# Plan of r-p',
      ]);
    });
  });

  describe('B09: pushes to the run’s own branch', () => {
    const pushed = (run: Run) =>
      carryOut(pushBranch, { ...header(run.runId), commit: run.head }, contextOf(run.runId, 12, 'pushBranch'));

    it('and says what stands in its way when somebody else pushed there', async () => {
      const run = await aRun();
      await pushed(run);
      const theirs = commitOnRemote(fixture.remote, run.branch, { 'c.txt': 'c' });
      const after = await commitAs(run, 'commitCode', { 'd.txt': 'd' });
      for (const isFetched of [false, true]) {
        if (isFetched) await fixture.repository.fetch(fixture.project);
        await expect(pushed(after)).rejects.toMatchObject({
          reason: 'push_rejected',
          message: expect.stringContaining(
            `The remote branch ${run.branch} is at ${theirs}, which this run is not known to have pushed. Move it out of the way, then retry. In a clone: git fetch`,
          ),
        });
      }
      expect(git(fixture.remote, 'rev-parse', run.branch)).toBe(theirs);
    });

    it('and names the commands that move it out of the way, after which a retry pushes', async () => {
      const run = await aRun();
      await pushed(run);
      const theirs = commitOnRemote(fixture.remote, run.branch, { 'c.txt': 'c' });
      const after = await commitAs(run, 'commitCode', { 'd.txt': 'd' });
      const error = await pushed(after).then(
        () => null,
        (reason: unknown) => reason,
      );
      const commands = (error as Error).message.split(' In a clone: ')[1] ?? '';
      const clone = `${fixture.remote}-${run.runId}`;
      git(path.dirname(fixture.remote), 'clone', '--quiet', fixture.remote, clone);
      execFileSync('sh', ['-c', commands], { cwd: clone, stdio: 'pipe' });
      expect(git(fixture.remote, 'rev-parse', `${run.branch}-others`)).toBe(theirs);
      expect(await pushed(after)).toMatchObject({ pushed: true, commit: after.head });
      expect(git(fixture.remote, 'rev-parse', run.branch)).toBe(after.head);
    });

    it('again after what stood in its way was moved, or the branch was deleted', async () => {
      const run = await aRun();
      await pushed(run);
      commitOnRemote(fixture.remote, run.branch, { 'c.txt': 'c' });
      await fixture.repository.fetch(fixture.project);
      git(fixture.remote, 'branch', '-m', run.branch, 'elsewhere');
      expect(await pushed(run)).toEqual({ commit: run.head, pushed: true });
      git(fixture.remote, 'branch', '-D', run.branch);
      expect(await pushed(run)).toEqual({ commit: run.head, pushed: true });
      expect(git(fixture.remote, 'rev-parse', run.branch)).toBe(run.head);
    });
  });
});

it('keeps answers of people in the memory, but none that stands in a record of others', () => {
  const answered = (sequence: number, question: string) =>
    ({ id: `r-1.${sequence}`, question, response: 'yes', status: 'answered' }) as Clarification; // Nothing else of it is read.
  const decision = (topic: string) => ({ topic, choice: 'yes', rationale: 'answered by a person' });
  const input = {
    title: 'x',
    request: 'x',
    techStack: [],
    patterns: [],
    decisions: [decision('Before?'), decision('After?')],
  };
  const clarifications = [answered(4, 'Before?'), answered(9, 'After?')];
  const topics = (rebuiltUpTo?: number) =>
    keptMemory(input, { clarifications, ...(rebuiltUpTo === undefined ? {} : { rebuiltUpTo }) }).memory.decisions.map(
      ({ topic }) => topic,
    );
  expect(topics()).toEqual(['Before?', 'After?']);
  expect(topics(5)).toEqual(['After?']);
});
