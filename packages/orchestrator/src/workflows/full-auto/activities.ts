/** The activities of a full-auto run, by the names that its machine gives them. */
import { NeedsHuman } from '@autonomous/shared';
import { callAgent, projectFacts, promptNotes } from '../../activities/agents/agent-call.ts';
import { commitOwnedFiles, type OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { setupOf } from '../../activities/install/install-step.ts';
import { withReadOnlyCheckout } from '../../activities/agents/read-only-checkout.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { type ActivityRegistry, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../core/activity.ts';
import { topicSlug } from '../parts/topics/topic-files.ts';
import { hasTests } from '../parts/evidence.ts';
import { watchChildren } from '../parts/watch-children.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { checkedRunActivities, childMergeActivities } from '../parts/project-run-activities.ts';
import { featureFaults, passing } from './features.ts';
import { type Compaction, fullAutoFiles, newsOf, renderFeatureList, renderInit, renderProgress } from './files.ts';
import { type ImplementingState, withImplementing } from './implementing-state.ts';
import { MAX_PLAN_BYTES, planPathIn, readPlanInWorker } from './plan.ts';
import { proveFeature } from './proof.ts';
import { featureLister } from './roles/feature-lister.ts';
import { roles } from './roles/index.ts';
import type { FullAutoActivities, FullAutoConfig } from './types.ts';

type All = Implementations<FullAutoActivities>;

export function fullAutoActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...checkedRunActivities<FullAutoConfig>(tools, roles),
    ...childMergeActivities(tools),
    readPlan: findPlan(tools),
    listFeatures: listFeatures(tools),
    writeFiles: writeFiles(tools),
    watchFeature: watchChildren(tools, { nobodyAnswers: true }),
    proveFeature: proveFeature(tools),
  };
  return tidiedAll(tools, activities);
}

/** Looks whether there is a plan that can be carried out. */
function findPlan(tools: ActivityTools): All['readPlan'] {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, runId, head, plan }) {
      const { repository } = tools;
      const project = await tools.project(projectId, runId);
      const codeTree = await repository.codeTree(project, head);
      const path = planPathIn(plan, await repository.listFiles(project, head));
      if (path === null) {
        const fault = `The project has no plan '${plan}': there is neither such a file nor a folder with one file that ends in -plan.json. Commit the plan and push it, or name another path.`;
        return { path: plan, fault, codeTree };
      }
      const files = await repository.readFiles(project, head, [path], MAX_PLAN_BYTES);
      const read = await readPlanInWorker(path, files.get(path));
      return { path, fault: read.ok ? null : read.fault, codeTree };
    },
  };
}

const NO_TEST_COMMAND =
  'The project names no command that tests it, so that no feature could pass. Name the one that runs its tests once the first feature has set them up, as "testCommand".';

/** An agent turns the plan into features. The server says whether they can be carried out. */
function listFeatures(tools: ActivityTools): All['listFeatures'] {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { projectId, runId, head, plan, call, request, notes, config } = input;
      const test = hasTests(input) ? (input.test?.command ?? null) : null;
      const project = await tools.project(projectId, runId);
      const files = await tools.repository.readFiles(project, head, [plan], MAX_PLAN_BYTES);
      const read = await readPlanInWorker(plan, files.get(plan));
      if (!read.ok) throw new NeedsHuman('agent_failed', read.fault);
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (_, work) =>
        callAgent(tools, context, {
          role: featureLister,
          input: { call, request, notes: promptNotes(notes), plan: read.text, test },
          facts: await projectFacts(tools, context, project, input, work),
          model: config.modelRouting['feature-lister'],
          config,
          work,
          notes,
        }),
      );
      if (outcome.kind === 'question')
        throw new NeedsHuman('agent_failed', 'The feature-lister asked a question, which its role does not allow.');
      const { features, testCommand: named } = outcome.result;
      const testCommand = test === null ? named : null;
      const faults = [
        ...featureFaults(features, read.tasks),
        ...(test === null && testCommand === null ? [NO_TEST_COMMAND] : []),
      ];
      // The file has no tasks: they are for the server, which compares the list with the plan.
      return { features: features.map(({ tasks: _, ...feature }) => feature), faults, testCommand, cost };
    },
  };
}

/** Of agents in the runs below, oldest first. */
async function compactionsBelow(tools: ActivityTools, runId: string): Promise<readonly Compaction[]> {
  const found: Compaction[] = [];
  for (const { id, workflow } of await tools.childRuns(runId))
    for (const at of await tools.compactions(id)) found.push({ at, run: id, workflow: workflow.name });
  return found.toSorted((a, b) => (a.at < b.at ? -1 : 1));
}

/** Commits the list of the features, the script of the setup and the progress to the run's branch. */
function writeFiles(tools: ActivityTools): All['writeFiles'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { runId, projectId, head, topic, features, log } = input;
      const project = await tools.project(projectId, runId);
      const files = fullAutoFiles(topic);
      // A feature may have brought the manifest of which the command follows.
      const setup = await setupOf(tools, { project, runId, treeish: head }, input.setup);
      const texts = {
        [files.features]: renderFeatureList(features),
        [files.init]: renderInit(setup?.command ?? null),
        [files.progress]: renderProgress({ ...input, compactions: await compactionsBelow(tools, runId) }),
      };
      const state: ImplementingState = {
        slug: topicSlug(topic),
        status: input.isOver ? 'completed' : 'in_progress',
        iterations: log.length,
        features: features.length,
        complete: passing(input),
        failed: Object.keys(input.skipped).length,
        restoration: [files.features, files.progress],
      };
      const update = (): OwnedUpdate => ({
        message: newsOf(input).slice(0, 200).toWellFormed(),
        files: {
          ...Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, () => text])),
          [files.state]: (text) => withImplementing(text, state),
        },
      });
      return commitOwnedFiles(tools, update, 'branch').perform(input, context);
    },
  };
}
