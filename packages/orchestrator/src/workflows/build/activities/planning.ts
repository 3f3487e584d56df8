/** Activities of the stage planning: the configuration, the plan, its place in the repository, questions about it. */
import { isAbsolute } from 'node:path';
import {
  type Concern,
  type Fault,
  NeedsHuman,
  type ProjectConfig,
  type RunConfig,
  type RunConfigRequest,
} from '@autonomous/shared';
import { memoryConcern } from '../../../artifacts/memory-concern.ts';
import { nextSpecNumber, renderPlanDocument, specPath } from '../documents/plan-document.ts';
import { hashOf } from '../../../artifacts/content-hash.ts';
import { findProjectCommands } from '../../../artifacts/project-commands.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import { planReply } from '../roles/plan-reply.ts';
import { planner } from '../roles/planner.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { ProjectCommand } from '../../../activities/types.ts';
import type { BuildActivities, CommittedPlan, Prepared } from '../types.ts';
import { parseProjectConfig } from '../../../run-config/run-config.ts';
import { callAgent, projectFacts, promptNotes } from '../../../activities/agent-call.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch } from '../../../activities/commits.ts';
import { type ConfiguredRole, readOverrides } from '../../../activities/project-guidance.ts';
import { withReadOnlyCheckout } from '../../../activities/read-only-checkout.ts';
import { fetchRemote } from '../../../activities/remote.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

const CONFIG_PATH = '.autonomous/config.json';

/**
 * Reads the project's configuration and commands at the commit that the run starts from.
 * @param workflow name of the workflow, whose settings count
 * @param roles of the workflow, whose role files in the project count
 */
export function prepare<Config extends RunConfig>(
  tools: ActivityTools,
  workflow: string,
  roles: readonly ConfiguredRole[],
): Activity<BuildActivities['prepare']['input'], Prepared<Config>> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Prepared<Config>> {
      const { repository } = tools;
      tools.parser.warmUp();
      const project = await tools.project(input.projectId);
      await fetchRemote(tools, context, project);
      const { parent } = await tools.view(context.runId);
      const branch = input.requestedConfig.git?.baseBranch ?? project.baseBranch;
      const baseCommit =
        parent === undefined
          ? await baseOnRemote(tools, project, branch)
          : await headOfParent(tools, project, parent.runId);
      await refuseLostRun(tools, context, project);
      const text = await repository.readFile(project, baseCommit, CONFIG_PATH);
      const parsed = text === null ? null : parseProjectConfig(text);
      const projectConfig = parsed?.ok ? parsed.config : null;
      const overrides = await readOverrides(tools, project, baseCommit, projectConfig, roles);
      const requested = parent === undefined ? input.requestedConfig : withoutBaseBranch(input.requestedConfig);
      const { config, notices } = tools.runConfig.resolve(workflow, overrides.projectConfig, requested);
      const found = await findProjectCommands(await repository.listFiles(project, baseCommit), (path) =>
        repository.readFile(project, baseCommit, path),
      );
      return {
        baseCommit,
        // The policy gives every setting that the workflow has, which its own type says.
        config: { ...config, git: { ...config.git, baseBranch: branch } } as Config,
        notices: [
          ...notices,
          ...(parsed?.ok ? parsed.notices : []),
          ...(parsed !== null && !parsed.ok
            ? [`${CONFIG_PATH} is not valid and is ignored: ${parsed.faults.map(faultText).join('; ')}`]
            : []),
          ...overrides.notices,
          ...(parent === undefined ? otherBranchNotice(projectConfig, branch) : []),
          ...(await localNotices(tools, project)),
          ...(await leftOutNotices(tools, project, baseCommit)),
        ],
        excludePaths: projectConfig?.excludePaths ?? [],
        setup: configured(config.commands.setup) ?? (config.commands.setup === null ? null : found.setup),
        test:
          configured(config.commands.test) ??
          (config.commands.test === null ? { command: '', source: 'configuration' } : found.test),
        autoRetry: tools.autoRetry,
      };
    },
  };
}

/** @throws {NeedsHuman} `remote_unavailable` */
async function baseOnRemote({ repository }: ActivityTools, project: RemoteProject, branch: string): Promise<string> {
  const commit = await repository.remoteHead(project, branch);
  if (commit !== null) return commit;
  throw new NeedsHuman(
    'remote_unavailable',
    `The remote ${project.repository} has no branch '${branch}'. Push it, then retry.`,
  );
}

/** Where the parent of a child run is in the mirror: its branch need not be on the remote. @throws {NeedsHuman} */
async function headOfParent(tools: ActivityTools, project: RemoteProject, parentId: string): Promise<string> {
  const { branch, headCommit, baseCommit } = await tools.view(parentId);
  const commit = (await tools.repository.branchHead(project, branch)) ?? headCommit ?? baseCommit;
  if (commit !== undefined) return commit;
  throw new NeedsHuman(
    'agent_failed',
    `Run ${parentId}, which started this one, has no commit yet that a child run could begin with. Cancel this run; the parent has to prepare its base before it starts children.`,
  );
}

/** The base of a child run is its parent's branch, which nobody may name in a request. */
function withoutBaseBranch({ git, ...requested }: RunConfigRequest): RunConfigRequest {
  const { baseBranch: _ofParent, ...others } = git ?? {};
  return { ...requested, git: others };
}

/** Of each kind. */
const NAMED_LINKS = 5;

/** Symbolic links and submodules are in no checkout: what leans on them fails in the sandbox. */
async function leftOutNotices(
  { repository }: ActivityTools,
  project: RemoteProject,
  baseCommit: string,
): Promise<readonly string[]> {
  const { symlinks, submodules } = await repository.leftOut(project, baseCommit);
  const kinds = [
    ...countedPaths(symlinks, 'symbolic link', 'symbolic links'),
    ...countedPaths(submodules, 'submodule', 'submodules'),
  ];
  return kinds.length === 0 ? [] : [`not in the sandbox: ${kinds.join('; ')}`];
}

function countedPaths(paths: readonly string[], one: string, many: string): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length > NAMED_LINKS ? ` and ${paths.length - NAMED_LINKS} more` : '';
  return [`${paths.length} ${paths.length === 1 ? one : many}: ${paths.slice(0, NAMED_LINKS).join(', ')}${more}`];
}

/**
 * Nothing is built beside the branch of a run with the same id, which the database has lost.
 * @throws {NeedsHuman} `push_rejected`
 */
async function refuseLostRun(tools: ActivityTools, { runId }: ActivityContext, project: RemoteProject): Promise<void> {
  const { branch, baseCommit } = await tools.view(runId);
  if (baseCommit !== undefined || branch === '') return;
  const head = await tools.repository.remoteHead(project, branch);
  if (head === null || (await tools.repository.branchHead(project, branch)) !== null) return;
  throw new NeedsHuman(
    'push_rejected',
    `The remote ${project.repository} has the branch ${branch} already, from an earlier run with the same id that this database does not have. Restore the newest copy of the server's data folder, or cancel this run and start another one without its Idempotency-Key.`,
  );
}

export function plan(tools: ActivityTools): Of<'plan'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
        callAgent(tools, context, {
          role: planner,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
          },
          facts: await projectFacts(tools, context, project, input, work),
          model: input.config.modelRouting.planner,
          config: input.config,
          work,
          notes: input.notes,
        }),
      );
      if (outcome.kind === 'question') return { kind: 'question', question: outcome.question, cost };
      const parsed = await tools.parser.parse(outcome.result.plan);
      const draft = {
        ...outcome.result,
        constraints: parsed.ok ? parsed.constraints : null,
        model: cost.model,
        scripted: cost.scripted,
      };
      return parsed.ok ? { kind: 'plan', draft, cost } : { kind: 'invalid', draft, message: parsed.message, cost };
    },
  };
}

export function commitPlan(tools: ActivityTools): Of<'commitPlan'> {
  return {
    retry: THREE_TRIES,
    perform: (input, context) =>
      writePlan(
        tools,
        context,
        input,
        { ...input.draft, models: [input.draft.model] },
        input.existing,
        memoryConcern(input.draft),
      ),
  };
}

/** A plan that a person edited: parsed as strictly as a model's. */
export function revisePlan(tools: ActivityTools): Of<'revisePlan'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const plan = withoutFrontMatter(input.text);
      const parsed = await tools.parser.parse(plan);
      if (!parsed.ok) return { ok: false, message: parsed.message };
      const { title, scripted } = input;
      const models = [...new Set([...input.models, 'person'])];
      const written = await writePlan(
        tools,
        context,
        input,
        { title, plan, constraints: parsed.constraints, models, scripted },
        input.existing,
      );
      return { ok: true, plan: written };
    },
  };
}

export function replyToPerson(tools: ActivityTools): Of<'replyToPerson'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
        callAgent(tools, context, {
          role: planReply,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
            plan: (input.plan && (await tools.repository.readFile(project, input.head, input.plan.path))) ?? '',
            question: input.question,
          },
          facts: await projectFacts(tools, context, project, input, work),
          model: input.config.modelRouting.planner,
          config: input.config,
          work,
          notes: input.notes,
        }),
      );
      if (outcome.kind === 'question')
        throw new NeedsHuman('agent_failed', 'The planner answered the question with a question.');
      return { reply: outcome.result.reply, cost };
    },
  };
}

async function writePlan(
  tools: ActivityTools,
  context: ActivityContext,
  input: BuildActivities['commitPlan']['input'] | BuildActivities['revisePlan']['input'],
  draft: Pick<CommittedPlan, 'title' | 'constraints' | 'models' | 'scripted'> & { readonly plan: string },
  existing: CommittedPlan | null,
  memory: Concern | null = existing?.memory ?? null,
): Promise<CommittedPlan> {
  const { repository } = tools;
  const project = await tools.project(input.projectId);
  const { title, models, constraints, scripted } = draft;
  const path = existing?.path ?? specPath(nextSpecNumber(await repository.listFiles(project, input.head)), title);
  const text = renderPlanDocument({
    title,
    runId: input.runId,
    request: input.request,
    createdAt: context.startedAt,
    models,
    plan: tools.scrub(draft.plan),
  });
  const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), { [path]: text });
  const commit = await commitOnBranch(tools, context, {
    project,
    branch: input.branch,
    head: input.head,
    tree,
    message: `Plan: ${title}`,
  });
  return {
    title,
    path,
    artifactHash: hashOf(text),
    commit,
    codeTree: await repository.codeTree(project, commit),
    constraints,
    models,
    scripted,
    ...(memory === null ? {} : { memory }),
  };
}

function faultText({ path, message }: Fault): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** The file is read from the base branch, so it cannot choose another one. */
function otherBranchNotice(projectConfig: ProjectConfig | null, branch: string): string[] {
  const named = projectConfig?.defaultRunConfig?.git?.baseBranch;
  if (named === undefined || named === branch) return [];
  return [
    `${CONFIG_PATH} names the base branch '${named}', which is ignored: this run starts from '${branch}'. Name it in the project or in the request.`,
  ];
}

/** A folder on this machine may hold work that is in no commit, which people expect a run to see. */
async function localNotices(tools: ActivityTools, project: RemoteProject): Promise<readonly string[]> {
  if (!isAbsolute(project.repository)) return [];
  return tools.repository.inspectRemote(project.repository).then(
    ({ notices }) => notices,
    () => [],
  );
}

function configured(command: string | null | undefined): ProjectCommand | null {
  return command === null || command === undefined ? null : { command, source: 'configuration' };
}

function withoutFrontMatter(text: string): string {
  return text.replace(/^---\n[\s\S]*?\n---\n+/, '');
}
