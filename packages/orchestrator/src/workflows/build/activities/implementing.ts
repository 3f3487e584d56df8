/** Activities of the stage implementation: the install step, the implementer, and commits of what it did. */
import path from 'node:path';
import type { ImportResult, RemoteProject } from '../../../repository/repository.ts';
import { implementer } from '../roles/implementer.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities, CommittedCode, Implemented } from '../types.ts';
import { callAgent, keptByAgent, projectFacts, promptNotes } from '../../../activities/agent-call.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch, committedBefore } from '../../../activities/commits.ts';
import { setupOf, withInstalled } from '../../../activities/install-step.ts';
import { closeFolder, installedInto, openFolder, runFolder } from '../../../activities/work-folders.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

const FOLDER = 'implementation';

export function setUp(tools: ActivityTools): Of<'setUp'> {
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

export function implement(tools: ActivityTools): Of<'implement'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Implemented> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const work = await openFolder(tools, {
        project,
        runId: input.runId,
        name: FOLDER,
        treeish: input.head,
        excludePaths: input.excludePaths,
        setup: await setupOf(tools, { project, runId: input.runId, treeish: input.head }, input.setup),
        goOn: keptByAgent(context) !== null,
        signal: context.signal,
        progress: context.progress,
      });
      const { outcome, cost } = await callAgent(tools, context, {
        role: implementer,
        input: {
          call: input.call,
          request: input.request,
          notes: promptNotes(input.notes),
          plan: (await repository.readFile(project, input.head, input.plan.path)) ?? '',
          constraints: input.plan.constraints,
          testCommand: input.test?.command || null,
        },
        facts: await projectFacts(tools, context, project, input, work),
        model: input.config.modelRouting.implementer,
        config: input.config,
        work,
        notes: input.notes,
      });
      const imported = await repository.importFolder(project, {
        folder: work.folder,
        baseTree: await repository.treeOf(project, input.head),
        excludePaths: [...input.excludePaths, ...work.installed],
      });
      await closeFolder(work.folder);
      const refused = described(imported);
      if (outcome.kind === 'question')
        return { kind: 'question', tree: imported.tree, question: outcome.question, refused, cost };
      return {
        kind: 'implemented',
        tree: imported.tree,
        summary: tools.scrub(outcome.result.summary),
        decisions: outcome.result.decisions,
        refused,
        cost,
      };
    },
  };
}

export function commitCode(tools: ActivityTools): Of<'commitCode'> {
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

/** Puts files of another run's result into this one's, or takes away what that one deleted: one commit. */
export function takeFiles(tools: ActivityTools): Of<'takeFiles'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, branch, head, baseCommit, take }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId);
      const before = await repository.treeOf(project, head);
      const tree = await repository.restorePaths(project, before, take.commit, take.paths);
      const title = `Take ${take.paths.length === 1 ? 'a file' : `${take.paths.length} files`} from run ${take.runId}`;
      const message = `${title}\n\n${take.paths.join('\n')}\n\nAs of commit ${take.commit}`;
      const commit =
        tree === before ? head : await commitOnBranch(tools, context, { project, branch, head, tree, message });
      return committed(tools, project, baseCommit, commit);
    },
  };
}

async function committed(
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

/** Keeps what an interrupted implementer left in its folder, if it left anything. */
export function checkpoint(tools: ActivityTools): Of<'checkpoint'> {
  return {
    retry: THREE_TRIES,
    // Its folder may be gone by now: without this, what was kept would not be known to the run.
    async find(input, context) {
      if (input.stage !== 'implementation') return undefined;
      const project = await tools.project(input.projectId);
      const commit = await committedBefore(tools, context, { ...input, project });
      return commit === null ? undefined : { commit, refused: [] };
    },
    async perform(input, context: ActivityContext) {
      const folder = path.join(runFolder(tools, input.runId), FOLDER);
      const installed = input.stage === 'implementation' ? await installedInto(folder) : null;
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

function described({ refused }: ImportResult): string[] {
  return refused.map(({ path: file, reason }) => `${file} (${reason})`);
}
