/** Preparing a run: the commit that it starts from, the project's configuration there, and its commands. */
import { isAbsolute } from 'node:path';
import {
  type Fault,
  NeedsHuman,
  type ProjectConfig,
  type RunConfig,
  type RunConfigRequest,
  SETUP_ROLE,
  showHiddenInLine,
} from '@autonomous/shared';
import { type Activity, type ActivityContext, THREE_TRIES } from '../core/activity.ts';
import type { RemoteProject } from '../repository/repository.ts';
import { parseProjectConfig } from '../run-config/run-config.ts';
import { type ConfiguredRole, readOverrides } from './project-guidance.ts';
import { networkOf } from './egress.ts';
import { type Examination, examineProject, whatStops } from './project-examination.ts';
import { fetchRemote } from './remote.ts';
import { askSandbox } from './sandbox-question.ts';
import type { ActivityTools } from './tools.ts';
import type { ProjectCommand, RunHeader } from './types.ts';

/** Input of `prepare`. `requestedConfig` is the configuration as it was asked for at the launch. */
export type PrepareInput = RunHeader & { readonly requestedConfig: RunConfigRequest };

/** Facts of the project at the commit that the run starts from. */
export interface Prepared<Config extends RunConfig> {
  readonly baseCommit: string;
  readonly config: Config;
  /** Merge strategy that the request, the project or the server names. Absent: none of them does, and in older logs. */
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

/** Configuration of a project, read from its base commit. */
export const CONFIG_PATH = '.autonomous/config.json';

/**
 * Reads the project's configuration and commands at the commit that the run starts from.
 * @param workflow name of the workflow, whose settings count
 * @param roles of the workflow, whose role files in the project count
 */
export function prepare<Config extends RunConfig>(
  tools: ActivityTools,
  workflow: string,
  roles: readonly ConfiguredRole[],
): Activity<PrepareInput, Prepared<Config>> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Prepared<Config>> {
      const { repository } = tools;
      tools.parser.warmUp();
      const project = await tools.project(input.projectId, input.runId);
      const { parent } = await tools.view(context.runId);
      // A child run begins at its parent's head, which the mirror has: it does not wait for a remote that is away.
      if (parent === undefined) await fetchRemote(tools, context, project);
      else await tools.assertRecordKnown(project, context.runId, context.signal);
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
      const isChild = parent !== undefined;
      const resolved = tools.runConfig.resolve(workflow, overrides.projectConfig, requested, { isChild });
      const { config, notices, namedMergeStrategy } = resolved;
      const examined = await examine(tools, context, project, { baseCommit, config });
      const stopping = whatStops(examined);
      if (stopping !== null) throw new NeedsHuman('setup_failed', stopping);
      return {
        baseCommit,
        // The policy gives every setting that the workflow has, which its own type says.
        config: { ...config, git: { ...config.git, baseBranch: branch } } as Config,
        ...(namedMergeStrategy === undefined ? {} : { namedMergeStrategy }),
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
          // A run without tests asks for them at a gate.
          ...examined.findings.flatMap(({ about, text }) => (about === 'tests' ? [] : [text])),
          // Names in the project could otherwise say what is no word of the server.
        ].map(showHiddenInLine),
        excludePaths: projectConfig?.excludePaths ?? [],
        setup: examined.setup,
        test: examined.test,
        autoRetry: tools.autoRetry,
      };
    },
  };
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
    read: (path) => repository.readFile(project, baseCommit, path),
    commands: config.commands,
    hasSetupNetwork: (await networkOf(tools, SETUP_ROLE, config)).allow.length > 0,
    ask: (command) => askSandbox(tools, context, command),
    signal: context.signal,
  });
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
        ? ` and ${paths.length - NAMED_PATHS} more ("autonomous doctor ${project.id}" names all)`
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
