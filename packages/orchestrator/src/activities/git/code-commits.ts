/** Activities around an agent that writes code: the install step before it, commits of what it did, and what it left when interrupted. */
import path from 'node:path';
import { showHiddenInLine } from '@autonomous/shared';
import { ownedPaths } from '../../documents/owned-files.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../core/activity.ts';
import type { ImportResult, RemoteProject } from '../../repository/repository.ts';
import { commitOnBranch, committedBefore } from './commits.ts';
import { withInstalled } from '../install/install-step.ts';
import type { ActivityTools } from '../tools.ts';
import type { Checkpoint, CommittedCode, ProjectCommand, RunHeader } from '../types.ts';
import { stillInConflict } from './ways-on.ts';
import { closeFolder, installedInto, runFolder } from '../work-folders.ts';

/** Name of the folder within the run in which agents write code. */
export const CODE_FOLDER = 'implementation';

/** Largest file that is looked through for what a run is to make. */
const MAX_PLAN_BYTES = 2 ** 20;

export type SetUpInput = RunHeader & {
  readonly head: string;
  readonly setup: ProjectCommand;
  readonly excludePaths: readonly string[];
};
export type CommitCodeInput = RunHeader & {
  readonly head: string;
  readonly tree: string;
  readonly message: string;
  readonly baseCommit: string;
  /** Files that had conflict markers before. Absent: none had. */
  readonly conflicts?: readonly string[];
};
export type CheckpointInput = RunHeader & {
  readonly head: string;
  readonly baseCommit: string;
  readonly stage: string;
  readonly excludePaths: readonly string[];
};

export function setUp(tools: ActivityTools): Activity<SetUpInput, { ran: boolean }> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const { runId, head: treeish, excludePaths, setup } = input;
      const { signal, progress } = context;
      const request = { project, runId, treeish, excludePaths, signal, progress };
      await withInstalled(tools, request, setup, async () => undefined);
      return { ran: true };
    },
  };
}

export function commitCode(tools: ActivityTools): Activity<CommitCodeInput, CommittedCode> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      await assertResolved(tools, project, input);
      const unchanged = (await repository.treeOf(project, input.head)) === input.tree;
      const commit = unchanged
        ? input.head
        : await commitOnBranch(tools, context, {
            project,
            branch: input.branch,
            head: input.head,
            tree: input.tree,
            message: input.message,
          });
      return committed(tools, project, input.baseCommit, commit);
    },
  };
}

const MARKER = /^(?:<{7}|>{7}) /m;

/** @throws {NeedsHuman} `merge_conflict` where conflict markers are left */
async function assertResolved(
  tools: ActivityTools,
  project: RemoteProject,
  { tree, conflicts = [] }: CommitCodeInput,
): Promise<void> {
  const left = await unresolved(tools, project, tree, conflicts);
  if (left.length > 0) throw stillInConflict(left);
}

/** Those of some files of a tree that have conflict markers. */
export async function unresolved(
  { repository }: ActivityTools,
  project: RemoteProject,
  tree: string,
  conflicts: readonly string[],
): Promise<readonly string[]> {
  if (conflicts.length === 0) return [];
  const texts = await repository.readFiles(project, tree, conflicts);
  return conflicts.filter((file) => MARKER.test(texts.get(file) ?? ''));
}

/** Describes a commit of a run by what differs from its base. */
export async function committed(
  { repository }: ActivityTools,
  project: RemoteProject,
  baseCommit: string,
  commit: string,
): Promise<CommittedCode> {
  const changes = await repository.changes(project, baseCommit, commit);
  const owned = ownedPaths(project.ownedFiles);
  return {
    commit,
    codeTree: await repository.codeTree(project, commit),
    filesChanged: changes
      .map((change) => change.path)
      .filter((file) => !file.startsWith('.autonomous/') && !owned.has(file)),
  };
}

/**
 * Keeps the files that an interrupted agent left in its folder, if it left any.
 * @param writingStage stage whose agent writes code; an interruption of another stage leaves nothing
 */
export function checkpoint(tools: ActivityTools, writingStage: string): Activity<CheckpointInput, Checkpoint> {
  return {
    retry: THREE_TRIES,
    // Its folder may be gone by now: without this, what was kept would not be known to the run.
    async find(input, context) {
      if (input.stage !== writingStage) return undefined;
      const project = await tools.project(input.projectId, input.runId);
      const commit = await committedBefore(tools, context, { ...input, project });
      return commit === null ? undefined : { commit, refused: [] };
    },
    async perform(input, context: ActivityContext) {
      const folder = path.join(runFolder(tools, input.runId), CODE_FOLDER);
      const installed = input.stage === writingStage ? await installedInto(folder) : null;
      if (installed === null) return { commit: null, refused: [] };
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const base = await repository.treeOf(project, input.head);
      const imported = await repository.importFolder(project, {
        folder,
        baseTree: base,
        excludePaths: [...input.excludePaths, ...installed],
        asked: await plansOf(tools, project, input),
      });
      const commit =
        imported.tree === base
          ? null
          : await commitOnBranch(tools, context, {
              project,
              branch: input.branch,
              head: input.head,
              tree: imported.tree,
              message: 'Checkpoint: work before a pause',
            });
      await closeFolder(folder);
      return { commit, refused: described(imported) };
    },
  };
}

/** Texts that a run has written for itself: its plans name what is to be made. */
async function plansOf(
  { repository }: ActivityTools,
  project: RemoteProject,
  { baseCommit, head }: CheckpointInput,
): Promise<string> {
  const changes = await repository.changes(project, baseCommit, head);
  const paths = changes.map((change) => change.path).filter((file) => /^\.autonomous\/.*\.md$/.test(file));
  const texts = await repository.readFiles(project, head, paths, MAX_PLAN_BYTES);
  return [...texts.values()].join('\n');
}

/** Files that were not taken from a folder, a line each. */
export function described({ refused }: ImportResult): string[] {
  return refused.map(({ path: file, reason }) => showHiddenInLine(`${file} (${reason})`));
}
