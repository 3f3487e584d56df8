/** Preparing a run: the commit that it starts from, the project's configuration there, its commands, and its install step. */
import { isAbsolute } from 'node:path';
import {
  NeedsHuman,
  type ProjectConfig,
  type RunConfig,
  type RunConfigRequest,
  type RunView,
  SETUP_ROLE,
  showHiddenInLine,
} from '@autonomous/shared';
import { type Activity, type ActivityContext, THREE_TRIES } from '../core/activity.ts';
import type { RemoteProject } from '../repository/repository.ts';
import { CONFIG_PATH, readProjectConfig } from '../run-config/project-config.ts';
import { type ConfiguredRole, readOverrides } from './agents/project-guidance.ts';
import { networkOf } from './egress.ts';
import { type InstallRequest, withInstalled } from './install/install-step.ts';
import { READ_BYTES } from '../project-analysis/project-commands.ts';
import { type Examination, examineProject, whatStops } from './install/project-examination.ts';
import { fetchRemote, remoteBranchHead } from './git/remote.ts';
import { askSandbox } from './sandbox-question.ts';
import type { ActivityTools } from './tools.ts';
import type { ProjectCommand, RunHeader } from './types.ts';

/** Input of `prepare`. `requestedConfig` is the configuration as it was asked for at the launch. */
export type PrepareInput = RunHeader & { readonly requestedConfig: RunConfigRequest };

/** Facts of the project at the commit that the run starts from. */
export interface Prepared<Config extends RunConfig> {
  readonly baseCommit: string;
  readonly config: Config;
  /** Merge strategy that the request, the project or the server names. Absent: none of them does. */
  readonly namedMergeStrategy?: RunConfig['git']['mergeStrategy'];
  /** For people: what was found and left out. */
  readonly notices: readonly string[];
  readonly excludePaths: readonly string[];
  /** `null` where the project needs none. */
  readonly setup: ProjectCommand | null;
  /** `null` where none was found. An empty command says that the project has none. */
  readonly test: ProjectCommand | null;
  readonly autoRetry: boolean;
}

/**
 * Reads the project's configuration and commands at the commit that the run starts from, and carries out its install step.
 * @param roles of the workflow, whose role files in the project count
 */
export function prepare<Config extends RunConfig>(
  tools: ActivityTools,
  roles: readonly ConfiguredRole[],
): Activity<PrepareInput, Prepared<Config>> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Prepared<Config>> {
      tools.parser.warmUp();
      const project = await tools.project(input.projectId, input.runId);
      const view = await tools.view(context.runId);
      const { parent } = view;
      // A child run begins at its parent's head, which the mirror has: it does not wait for a remote that is away.
      if (parent === undefined) await fetchRemote(tools, context, project);
      else await tools.assertRecordKnown(project, context.runId, context.signal);
      const branch = input.requestedConfig.git?.baseBranch ?? project.baseBranch;
      const baseCommit =
        parent === undefined
          ? await remoteBranchHead(tools, project, branch)
          : await headOfParent(tools, project, parent.runId);
      await refuseLostRun(tools, context, project);
      const own = await readProjectConfig(tools.repository, project, baseCommit);
      const projectConfig = own.config;
      const overrides = await readOverrides(tools, project, baseCommit, projectConfig, roles);
      const requested = parent === undefined ? input.requestedConfig : withoutBaseBranch(input.requestedConfig);
      const isChild = parent !== undefined;
      const resolved = tools.runConfig.resolve(view.workflow.name, overrides.projectConfig, requested, { isChild });
      const { config, notices, namedMergeStrategy } = resolved;
      const examined = await examine(tools, context, project, { baseCommit, config });
      const stopping = whatStops(examined);
      if (stopping !== null) throw new NeedsHuman('setup_failed', stopping);
      // The policy gives every setting that the workflow has, which its own type says.
      const configured = { ...config, git: { ...config.git, baseBranch: branch } } as Config;
      const excludePaths = projectConfig?.excludePaths ?? [];
      const { setup, test } = examined;
      const asConfigured = configuredTools(tools, context.runId, { baseCommit, config: configured });
      const step = { treeish: baseCommit, setup, excludePaths };
      const slowInstall = await install(asConfigured, context, project, step, halfOfStage(view));
      return {
        baseCommit,
        config: configured,
        ...(namedMergeStrategy === undefined ? {} : { namedMergeStrategy }),
        notices: [
          ...notices,
          ...own.notices,
          ...(own.fault === null ? [] : [own.fault]),
          ...overrides.notices,
          ...(parent === undefined ? otherBranchNotice(projectConfig, branch) : []),
          ...(await localNotices(tools, project)),
          ...(await leftOutNotices(tools, project, baseCommit)),
          // A run without tests asks for them at a gate.
          ...examined.findings.flatMap(({ about, text }) => (about === 'tests' ? [] : [text])),
          ...slowInstall,
          // Names in the project could otherwise say what is no word of the server.
        ].map(showHiddenInLine),
        excludePaths,
        setup,
        test,
        autoRetry: tools.autoRetry,
      };
    },
  };
}

/**
 * Carries out the install step before a model is paid: where it fails, the run could not go on after its plan either. Later steps
 * find what it left in the cache. It gets half of the stage's time; then the run goes on, and the baseline begins the step anew.
 * @returns notices for people
 * @throws {InstallFailed} with the end of its output
 */
async function install(
  tools: ActivityTools,
  { runId, signal, progress }: ActivityContext,
  project: RemoteProject,
  step: Pick<InstallRequest, 'treeish' | 'excludePaths'> & { readonly setup: ProjectCommand | null },
  minutes: number | undefined,
): Promise<readonly string[]> {
  const { setup } = step;
  if (setup === null) return [];
  const limit = minutes === undefined ? undefined : AbortSignal.timeout(Math.round(minutes * 60_000));
  const request = { ...step, project, runId, progress, signal: AbortSignal.any([signal, ...(limit ? [limit] : [])]) };
  try {
    await withInstalled(tools, request, setup, async () => undefined);
    return [];
  } catch (error) {
    signal.throwIfAborted();
    if (limit?.aborted !== true || error instanceof NeedsHuman) throw error;
    return [
      `The install step \`${setup.command}\` (from ${setup.source}) did not end within ${minutes} minutes. Planning goes on, and the baseline begins the step anew: whether it works is not known yet.`,
    ];
  }
}

/** In minutes; the rest is for the work of the stage. `undefined` where nothing limits the stage. */
function halfOfStage({ currentStage, config }: RunView): number | undefined {
  const minutes = currentStage === null ? undefined : config.timeoutMinutes[currentStage];
  return minutes === undefined ? undefined : minutes / 2;
}

/** Tools that see the run as it will be once its preparation is stored. */
function configuredTools(
  tools: ActivityTools,
  ofRun: string,
  prepared: Pick<RunView, 'baseCommit' | 'config'>,
): ActivityTools {
  const view = async (runId: string): Promise<RunView> => {
    const known = await tools.view(runId);
    return runId === ofRun ? { ...known, ...prepared } : known;
  };
  return { ...tools, view };
}

/** Needs of the project at this commit, and whether the sandbox meets them. */
async function examine(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  { baseCommit, config }: { readonly baseCommit: string; readonly config: RunConfig },
): Promise<Examination> {
  const { repository } = tools;
  return examineProject({
    paths: await repository.listFiles(project, baseCommit),
    read: (path) => repository.readFile(project, baseCommit, path, READ_BYTES),
    commands: config.commands,
    hasSetupNetwork: (await networkOf(tools, SETUP_ROLE, config)).allow.length > 0,
    ask: (command) => askSandbox(tools, context, command),
    signal: context.signal,
  });
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

/** The base of a child run is its parent's branch, which requests may not name. */
function withoutBaseBranch({ git, ...requested }: RunConfigRequest): RunConfigRequest {
  const { baseBranch: _ofParent, ...others } = git ?? {};
  return { ...requested, git: others };
}

/** Of each kind. */
const NAMED_PATHS = 5;
const KINDS = [
  ['symlink', 'symbolic link', 'symbolic links'],
  ['submodule', 'submodule', 'submodules'],
  ['lfs', 'content in Git LFS', 'contents in Git LFS'],
] as const;

/** Tests that need these files fail in the sandbox and in the checks. */
async function leftOutNotices(
  { repository }: ActivityTools,
  project: RemoteProject,
  baseCommit: string,
): Promise<readonly string[]> {
  const leftOut = await repository.leftOut(project, baseCommit);
  const kinds = KINDS.flatMap(([wanted, one, many]) => {
    const paths = leftOut.filter(({ kind }) => kind === wanted);
    if (paths.length === 0) return [];
    const named = paths.slice(0, NAMED_PATHS).map(({ path, reason }) => `${path} (${reason.slice(0, 200)})`);
    const more =
      paths.length > NAMED_PATHS
        ? ` and ${paths.length - NAMED_PATHS} more (the command "doctor ${project.id}" names all)`
        : '';
    return [`${paths.length} ${paths.length === 1 ? one : many}: ${named.join(', ')}${more}`];
  });
  return kinds.length === 0 ? [] : [`not in the sandbox: ${kinds.join('; ')}`];
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
