/** The activities of a plan's run, by the names that its machine gives them. */
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { READ_BYTES } from '../../project-analysis/project-commands.ts';
import { answerReviewers } from '../../activities/pull-request/answer-reviewers.ts';
import { closePullRequest } from '../../activities/pull-request/close-pull-request.ts';
import { followPullRequest } from '../../activities/pull-request/follow-pull-request.ts';
import { findConcerns } from '../../activities/evidence/find-concerns.ts';
import { mergePullRequest } from '../../activities/pull-request/merge-pull-request.ts';
import { pushBranch } from '../../activities/git/push-branch.ts';
import { startCommitOf } from '../../activities/start-commits.ts';
import { recordRun } from '../../activities/git/record-run.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import { type ActivityContext, type ActivityRegistry, THREE_TRIES } from '../../core/activity.ts';
import { pathFault } from '../../repository/repository-paths.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { checkedRunActivities, childMergeActivities } from '../parts/project-run-activities.ts';
import { COMMANDS_QUESTION } from './commands-question.ts';
import { stateFiles } from './orchestrator-state.ts';
import { checkWithLint, configuredLint } from './plan-phase/activities.ts';
import { readPlanInWorker, repositoryPath } from './plan-file.ts';
import { findProjectChecks, MAX_MEMORY } from './project-checks.ts';
import { roles } from './roles/index.ts';
import type { PlanActivities, PlanConfig, PlanRead } from './types.ts';

type All = Implementations<PlanActivities>;

export function planActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...checkedRunActivities<PlanConfig>(tools, roles),
    ...childMergeActivities(tools),
    readPlan: readPlan(tools),
    findCommands: findCommands(tools),
    check: checkWithLint(tools),
    findConcerns: findConcerns(tools, planFileOf),
    recordRun: recordRun<PlanActivities['recordRun']['input']>(tools, {
      followed: planFileOf,
      files: (_view, events, { plan }) => ({ ...stateFiles(events), ...(plan === null ? {} : { 'plan.md': plan }) }),
      memory: (context, project, input) => memoryWith(tools, context, project, input),
    }),
    pushBranch: pushBranch(tools, (view, commit) => planShown(tools, view, commit)),
    followPullRequest: followPullRequest(tools),
    mergePullRequest: mergePullRequest(tools),
    closePullRequest: closePullRequest(tools),
    answerReviewers: answerReviewers(tools),
  };
  return tidiedAll(tools, activities);
}

/** Reads the plan that was given with the request, or the file at the base commit. */
function readPlan(tools: ActivityTools): All['readPlan'] {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, baseCommit, planPath, plan }, context): Promise<PlanRead> {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const path = repositoryPath(planPath);
      // A plan from elsewhere may have a name that no file in git has.
      const inBase = pathFault(path) === null ? await repository.readFile(project, baseCommit, path) : null;
      const nothing = { title: null, phases: [], planFile: null };
      const text = plan ?? inBase;
      if (text === null)
        return {
          ...nothing,
          faults: [`The base commit has no file '${planPath}'. Commit the plan and push it, or give its text.`],
        };
      const result = await readPlanInWorker(text);
      if (!result.ok) return { ...nothing, faults: result.faults };
      const { title, phases } = result.plan;
      const planFile = inBase === text ? path : null;
      return { title, phases, planFile, faults: [] };
    },
  };
}

/**
 * Looks for the project's commands at the base commit, and for what a person said of them in an earlier run. A configured lint
 * command comes before both; `prepare` has given the test command.
 */
function findCommands(tools: ActivityTools): All['findCommands'] {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, baseCommit }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const readFile = (path: string) => repository.readFile(project, baseCommit, path, READ_BYTES);
      const { config } = await tools.view(context.runId);
      const found = await findProjectChecks(await repository.listFiles(project, baseCommit), readFile);
      return { ...found, ...configuredLint(config) };
    },
  };
}

/** Path of the plan in the repository, as `readPlan` gave it; `null` where the plan is no file there. */
function planFileOf(events: readonly WorkflowEvent[]): string | null {
  const read = events.findLast(
    ({ type, payload }) => type === 'ACTIVITY_COMPLETED' && payload['activity'] === 'readPlan',
  );
  // The engine stored the output as the activity gave it.
  const output = read?.payload['output'] as PlanRead | undefined;
  return output?.planFile ?? null;
}

/** The plan as a pull request shows it: after its front matter stand the phases that are done, those beyond the plan included. */
async function planShown(tools: ActivityTools, { id, projectId }: RunView, commit: string): Promise<string | null> {
  const project = await tools.project(projectId, id);
  const events = await tools.events(id);
  const file = planFileOf(events);
  // Agents may have written to the file since the run has read it.
  const start = file === null ? null : await startCommitOf(tools, id);
  const path = file ?? `.autonomous/runs/${id}/plan.md`;
  const stored = await tools.repository.readFile(project, start ?? commit, path);
  if (stored === null) return null;
  const text = stored.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n');
  const done = events.flatMap(({ type, payload }) =>
    type === 'PHASE_COMMITTED' ? [`- ${String(payload['message'])} (${String(payload['hash']).slice(0, 10)})`] : [],
  );
  const [front = ''] = /^---[ \t]*\n[\s\S]*?\n---[ \t]*\n+/.exec(text) ?? [];
  return tools.scrub([`${front}Done:`, done.join('\n'), text.slice(front.length)].join('\n\n'));
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** The project's memory with the commands that a person named; `null` where it stays as it is. */
async function memoryWith(
  { repository }: ActivityTools,
  context: ActivityContext,
  project: RemoteProject & { readonly name: string },
  { runId, head, title, answered }: PlanActivities['recordRun']['input'],
): Promise<{ readonly text: string | null; readonly notices: readonly string[] }> {
  if (answered === null) return { text: null, notices: [] };
  const text = await repository.readFile(project, head, MEMORY_PATH);
  const left = (why: string) => ({
    text: null,
    notices: [
      `${MEMORY_PATH} ${why}. The commands were not remembered there. Set defaultRunConfig.commands.test and .lint in .autonomous/config.json.`,
    ],
  });
  if (text !== null && text.length > MAX_MEMORY) return left(`has more than ${MAX_MEMORY} characters`);
  const choice = `\`${linesOf(answered).join(' ⏎ ')}\``;
  const decision = { topic: COMMANDS_QUESTION.question, choice, rationale: 'answered by a person' };
  const date = context.startedAt.slice(0, 10);
  const update = { project: project.name, date, runId, title, decisions: [decision], techStack: [], patterns: [] };
  const extended = await readForeignText('extendMemory', [text, update], { signal: context.signal });
  return extended.ok ? extended.value : left(extended.why);
}
