/** The activities of a plan's run, by the names that its machine gives them. */
import { type Concern, openConcerns, type RunView, TerminalFailure, type WorkflowEvent } from '@autonomous/shared';
import { answerReviewers } from '../../activities/answer-reviewers.ts';
import { acceptedConcernsOf } from '../../activities/child-heads.ts';
import { closePullRequest } from '../../activities/close-pull-request.ts';
import { commitOnBranch, committedBefore } from '../../activities/commits.ts';
import { assertAccepted, concernsOf } from '../../activities/concerns.ts';
import { followPullRequest } from '../../activities/follow-pull-request.ts';
import { integrateChild, mergeChild } from '../../activities/merge-child.ts';
import { integrate, takeIn } from '../../activities/integrate-base.ts';
import { merge } from '../../activities/merge-into-base.ts';
import { mergePullRequest } from '../../activities/merge-pull-request.ts';
import { prepare } from '../../activities/prepare.ts';
import { pushBranch } from '../../activities/push-branch.ts';
import { startCommitOf } from '../../activities/start-commits.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { readForeignText } from '../../artifacts/foreign-text.ts';
import { MEMORY_PATH } from '../../artifacts/memory.ts';
import { RecordRedactor } from '../../artifacts/record-redactor.ts';
import { renderEventLog, withChain } from '../../artifacts/event-log.ts';
import { renderRunContext } from '../../artifacts/run-context.ts';
import { type Activity, type ActivityContext, type ActivityRegistry, THREE_TRIES } from '../../core/activity.ts';
import { pathFault } from '../../repository/repository-paths.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { COMMANDS_QUESTION } from './commands-question.ts';
import { stateFiles } from './orchestrator-state.ts';
import { checkWithLint, configuredLint } from './phase/activities.ts';
import { readPlan as read, repositoryPath, wavesOf } from './plan-file.ts';
import { findProjectChecks, MAX_MEMORY } from './project-checks.ts';
import { roles } from './roles/index.ts';
import type { PlanActivities, PlanConfig, PlanRead } from './types.ts';

type Of<Name extends keyof PlanActivities> = Activity<PlanActivities[Name]['input'], PlanActivities[Name]['output']>;
type Implementations = { readonly [Name in keyof PlanActivities]: Of<Name> };

export function planActivities(tools: ActivityTools): ActivityRegistry {
  const activities: Implementations = {
    prepare: prepare<PlanConfig>(tools, 'phased-plan', roles),
    readPlan: readPlan(tools),
    findCommands: findCommands(tools),
    integrateChild: integrateChild(tools),
    mergeChild: mergeChild(tools),
    check: checkWithLint(tools),
    findConcerns: findConcerns(tools),
    integrate: integrate(tools),
    takeIn: takeIn(tools),
    recordRun: recordRun(tools),
    pushBranch: pushBranch(tools, (view, commit) => planShown(tools, view, commit)),
    merge: merge(tools),
    followPullRequest: followPullRequest(tools),
    mergePullRequest: mergePullRequest(tools),
    closePullRequest: closePullRequest(tools),
    answerReviewers: answerReviewers(tools),
  };
  return tidiedAll(tools, activities);
}

/** Reads the plan that was given with the request, or the file at the base commit. */
function readPlan(tools: ActivityTools): Of<'readPlan'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, baseCommit, planPath, plan }, context): Promise<PlanRead> {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const path = repositoryPath(planPath);
      // A plan from elsewhere may have a name that no file in git has.
      const inBase = pathFault(path) === null ? await repository.readFile(project, baseCommit, path) : null;
      const nothing = { title: null, phases: [], waves: [], planFile: null };
      const text = plan ?? inBase;
      if (text === null)
        return {
          ...nothing,
          faults: [`The base commit has no file '${planPath}'. Commit the plan and push it, or give its text.`],
        };
      const result = read(text);
      if (!result.ok) return { ...nothing, faults: result.faults };
      const { title, phases } = result.plan;
      const planFile = inBase === text ? path : null;
      return { title, phases, waves: wavesOf(phases), planFile, faults: [] };
    },
  };
}

/**
 * Looks for the project's commands at the base commit, and for what a person said of them in an earlier run. A configured lint
 * command comes before both; `prepare` has given the test command.
 */
function findCommands(tools: ActivityTools): Of<'findCommands'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, baseCommit }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const readFile = (path: string) => repository.readFile(project, baseCommit, path);
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

/** Concerns of the whole result that nobody has accepted yet, here or in a phase. */
function findConcerns(tools: ActivityTools): Of<'findConcerns'> {
  return {
    retry: THREE_TRIES,
    async perform({ runId, projectId, baseCommit, head }, { signal }): Promise<{ concerns: readonly Concern[] }> {
      const project = await tools.project(projectId, runId);
      const view = await tools.view(runId);
      const result = { project, view, baseCommit, head, signal, followed: planFileOf(await tools.events(runId)) };
      const accepted = await acceptedConcernsOf(tools, project, view.acceptedConcerns ?? [], result);
      return { concerns: openConcerns(await concernsOf(tools, result), accepted) };
    },
  };
}

/** Copies the run's record into its branch: the last commit before it is published. */
function recordRun(tools: ActivityTools): Of<'recordRun'> {
  return {
    retry: THREE_TRIES,
    async find(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const commit = await committedBefore(tools, context, { ...input, project });
      if (commit === null) return undefined;
      const { notices } = await memoryWith(tools, context, project, input);
      return { commit, codeTree: await tools.repository.codeTree(project, commit), notices };
    },
    async perform(input, context) {
      const { repository } = tools;
      const { runId, projectId, baseCommit, head, branch } = input;
      const project = await tools.project(projectId, context.runId);
      const [view, events, steps] = await Promise.all([tools.view(runId), tools.events(runId), tools.steps(runId)]);
      const followed = planFileOf(events);
      await assertAccepted(tools, { project, view, baseCommit, head, signal: context.signal, followed });
      const memory = await memoryWith(tools, context, project, input);
      const redactor = new RecordRedactor({ scrub: (text) => tools.scrub(text) });
      const record = {
        'context.json': renderRunContext({ ...view, completedAt: context.startedAt }),
        'events.jsonl': renderEventLog(events),
      };
      const { files } = await redactor.redact(runId, record, [], context.signal);
      context.signal.throwIfAborted();
      const written = {
        'context.json': `${JSON.stringify(JSON.parse(files['context.json']), null, 2)}\n`,
        'events.jsonl': withChain(record['events.jsonl'], files['events.jsonl'], steps),
        ...scrubbed(tools, stateFiles(events)),
        ...(input.plan === null ? {} : scrubbed(tools, { 'plan.md': input.plan })),
      };
      const folder = `.autonomous/runs/${runId}`;
      const tree = await repository.writeFiles(project, await repository.treeOf(project, head), {
        ...Object.fromEntries(Object.entries(written).map(([name, text]) => [`${folder}/${name}`, text])),
        ...(memory.text === null ? {} : { [MEMORY_PATH]: tools.scrub(memory.text) }),
      });
      const message = `Record of run ${runId}`;
      const commit = await commitOnBranch(tools, context, { project, branch, head, tree, message });
      const codeTree = await repository.codeTree(project, commit);
      if (codeTree !== input.codeTree)
        throw new TerminalFailure(
          `The branch ${branch} holds the code tree ${codeTree}, verified was ${input.codeTree}. Cancel the run.`,
        );
      return { commit, codeTree, notices: memory.notices };
    },
  };
}

function scrubbed(tools: ActivityTools, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, tools.scrub(text)]));
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
