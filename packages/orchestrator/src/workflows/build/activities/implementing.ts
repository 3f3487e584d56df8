/** Activities of the stage implementation that are build's own: the implementer, and files taken from other runs. */
import { implementer } from '../roles/implementer.ts';
import { type Activity, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities, Implemented } from '../types.ts';
import { callAgent, keptByAgent, projectFacts, promptNotes } from '../../../activities/agents/agent-call.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { CODE_FOLDER, committed, described } from '../../../activities/git/code-commits.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { setupOf } from '../../../activities/install/install-step.ts';
import { closeFolder, openFolder } from '../../../activities/work-folders.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

export function implement(tools: ActivityTools): Of<'implement'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Implemented> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const work = await openFolder(tools, {
        project,
        runId: input.runId,
        name: CODE_FOLDER,
        treeish: input.head,
        excludePaths: input.excludePaths,
        setup: await setupOf(tools, { project, runId: input.runId, treeish: input.head }, input.setup),
        continues: keptByAgent(context) !== null,
        signal: context.signal,
        progress: context.progress,
      });
      const plan = (await repository.readFile(project, input.head, input.plan.path)) ?? '';
      const { outcome, cost } = await callAgent(tools, context, {
        role: implementer,
        input: {
          call: input.call,
          request: input.request,
          notes: promptNotes(input.notes),
          plan,
          constraints: input.plan.constraints,
          testCommand: input.test?.command || null,
        },
        facts: await projectFacts(tools, context, project, input, work, plan),
        model: input.config.modelRouting.implementer,
        config: input.config,
        work,
        notes: input.notes,
      });
      const imported = await repository.importFolder(project, {
        folder: work.folder,
        baseTree: await repository.treeOf(project, input.head),
        excludePaths: [...input.excludePaths, ...work.installed],
        asked: `${input.request}\n${plan}`,
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
        ...(outcome.result.solutions.length === 0 ? {} : { solutions: outcome.result.solutions }),
        refused,
        cost,
      };
    },
  };
}

/** Puts files of another run's result into this one's, or takes away what that one deleted: one commit. */
export function takeFiles(tools: ActivityTools): Of<'takeFiles'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, branch, head, baseCommit, take }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
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
