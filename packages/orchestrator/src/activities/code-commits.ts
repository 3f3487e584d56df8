/** Activities around an agent that writes code: the install step before it, commits of what it did, and what it left when interrupted. */
import path from 'node:path';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../core/activity.ts';
import type { ImportResult, RemoteProject } from '../repository/repository.ts';
import { commitOnBranch, committedBefore } from './commits.ts';
import { withInstalled } from './install-step.ts';
import type { ActivityTools } from './tools.ts';
import type { Checkpoint, CommittedCode, ProjectCommand, RunHeader } from './types.ts';
import { closeFolder, installedInto, runFolder } from './work-folders.ts';

/** Name of the folder within the run in which agents write code. */
export const CODE_FOLDER = 'implementation';

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
      const project = await tools.project(input.projectId);
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
      const project = await tools.project(input.projectId);
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

/** Describes a commit of a run by what differs from its base. */
export async function committed(
  { repository }: ActivityTools,
  project: RemoteProject,
  baseCommit: string,
  commit: string,
): Promise<CommittedCode> {
  const changes = await repository.changes(project, baseCommit, commit);
  return {
    commit,
    codeTree: await repository.codeTree(project, commit),
    filesChanged: changes.map((change) => change.path).filter((file) => !file.startsWith('.autonomous/')),
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
      const project = await tools.project(input.projectId);
      const commit = await committedBefore(tools, context, { ...input, project });
      return commit === null ? undefined : { commit, refused: [] };
    },
    async perform(input, context: ActivityContext) {
      const folder = path.join(runFolder(tools, input.runId), CODE_FOLDER);
      const installed = input.stage === writingStage ? await installedInto(folder) : null;
      if (installed === null) return { commit: null, refused: [] };
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const base = await repository.treeOf(project, input.head);
      const imported = await repository.importFolder(project, {
        folder,
        baseTree: base,
        excludePaths: [...input.excludePaths, ...installed],
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

/** Files that were not taken from a folder, a line each. */
export function described({ refused }: ImportResult): string[] {
  return refused.map(({ path: file, reason }) => `${file} (${reason})`);
}
