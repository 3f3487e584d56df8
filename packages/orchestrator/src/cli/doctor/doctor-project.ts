/** Examines a repository for `doctor PROJECT`: its remote, its files, and what its commands need in the sandbox. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  InvalidRequest,
  NeedsHuman,
  type ProjectConfig,
  type RunConfigRequest,
  SETUP_ROLE,
  showHiddenInLine,
  Unprocessable,
} from '@autonomous/shared';
import { networkOf } from '../../activities/egress.ts';
import { READ_BYTES } from '../../project-analysis/project-commands.ts';
import { examineProject, type Finding } from '../../activities/install/project-examination.ts';
import { openForge } from '../../composition/forge.ts';
import type { ServerConfig } from '../../config.ts';
import type { Forge } from '../../forges/forge.ts';
import { createGitRepository } from '../../repository/git-repository.ts';
import type { RemoteProject, Repository } from '../../repository/repository.ts';
import { CONFIG_PATH, readProjectConfig } from '../../run-config/project-config.ts';
import { packageRegistries } from '../../sandboxes/package-registries.ts';
import { createSandboxProvider } from '../../sandboxes/provider-choice.ts';
import { columnsOf, readBacklog } from '../../workflows/backlog/backlog-table.ts';
import { DEFAULT_BACKLOG } from '../../workflows/backlog/types.ts';
import type { Check } from './doctor-check.ts';
import { checksOfForge, FORGE_TIMEOUT_MS } from './doctor-forge.ts';

export interface RepositoryExamination {
  readonly config: ServerConfig;
  /** Absolute path, or URL. */
  readonly repository: string;
  /** Default: that of the remote. */
  readonly branch: string | undefined;
}

const MB = 2 ** 20;
const QUESTION_TIMEOUT_MS = 60_000;

export interface RepositoryFindings {
  /** The examined branch and its head; `null`: the examination failed. */
  readonly start: { readonly branch: string; readonly commit: string } | null;
  readonly checks: readonly Check[];
}

/** Fetches the repository into a temporary folder, which is removed afterwards. */
export async function examineRepository(request: RepositoryExamination): Promise<RepositoryFindings> {
  const scratch = await mkdtemp(join(tmpdir(), 'autonomous-doctor-'));
  try {
    return await examineIn(scratch, request);
  } catch (error) {
    const isSaid = error instanceof Unprocessable || error instanceof InvalidRequest || error instanceof NeedsHuman;
    if (!isSaid) throw error;
    const way = 'fix this, then call doctor again';
    return { start: null, checks: [{ name: 'repository', status: 'missing', detail: error.message, way }] };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function examineIn(
  scratch: string,
  { config, repository, branch }: RepositoryExamination,
): Promise<RepositoryFindings> {
  const { forge, git: access } = await openForge(config.github, { learn: () => {}, timeoutMs: FORGE_TIMEOUT_MS });
  const git = createGitRepository({ folder: join(scratch, 'mirrors'), author: config.commitAuthor, ...access });
  const inspected = await git.inspectRemote(repository, branch);
  const project = { id: 'doctor', repository, baseBranch: inspected.baseBranch };
  await git.fetch(project);
  const commit = (await git.remoteHead(project, project.baseBranch)) ?? '';
  const { config: projectConfig, fault, notices } = await readProjectConfig(git, project, commit);
  const own = projectConfig?.defaultRunConfig;
  const { setup, test, findings } = await examineProject({
    paths: await git.listFiles(project, commit),
    read: (path) => git.readFile(project, commit, path, READ_BYTES),
    commands: own?.commands ?? {},
    hasSetupNetwork: await hasSetupNetwork(config, own?.egress),
    ask: (command) => askSandbox(config, scratch, command),
  });
  const checks = [
    present('repository', `${repository}, branch ${project.baseBranch} at ${commit.slice(0, 8)}`),
    ...inspected.notices.map((detail) => optional('repository', detail)),
    ...(await examineAtForge(forge, repository, config)),
    ...(fault === null ? [] : [optional('configuration', fault)]),
    ...notices.map((text) => checkOf({ about: 'configuration', weight: 'warns', text })),
    setup === null
      ? present('install step', 'none is needed')
      : present('install step', `${setup.command} (from ${setup.source})`),
    ...(test === null || test.command === '' ? [] : [present('tests', `${test.command} (from ${test.source})`)]),
    ...(await examineBacklog(git, project, commit, projectConfig)),
    ...(await filesLeftOut(git, project, commit)),
    ...findings.map(checkOf),
  ];
  return { start: { branch: project.baseBranch, commit }, checks };
}

/** The first sentence is what is the matter, the others are the way out. */
function checkOf({ about, weight, text }: Finding): Check {
  const end = /[.:] (?=[A-Z])/.exec(text)?.index ?? text.length;
  const way = text.slice(end + 2);
  const status = weight === 'stops' ? 'missing' : 'optional';
  return { name: about, status, detail: text.slice(0, end), ...(way === '' ? {} : { way }) };
}

/** Findings about the server's permissions at the repository's forge; none where it lies elsewhere. */
async function examineAtForge(
  forge: Forge | null,
  repository: string,
  { github }: ServerConfig,
): Promise<readonly Check[]> {
  const name = forge?.repositoryAt(repository) ?? null;
  return forge === null || name === null ? [] : checksOfForge(forge, name, github);
}

/** The table that the project's configuration names, or the usual one; no check where it has neither. */
async function examineBacklog(
  git: Repository,
  project: RemoteProject,
  commit: string,
  config: ProjectConfig | null,
): Promise<readonly Check[]> {
  const file = config?.backlog?.file ?? DEFAULT_BACKLOG;
  const text = await git.readFile(project, commit, file);
  if (text === null)
    return config?.backlog === undefined
      ? []
      : [
          {
            ...optional('backlog', `there is no file ${file}`),
            way: `commit it, or name another one as backlog.file in ${CONFIG_PATH}`,
          },
        ];
  const read = readBacklog(text, columnsOf(config));
  // A file of this name may be none of this product's.
  if (!read.ok) return [optional('backlog', `${file} cannot be worked through: ${read.faults.join(' ')}`)];
  const done = read.backlog.items.filter(({ status }) => status === 'done').length;
  return [present('backlog', `${file}, ${done} of ${read.backlog.items.length} items done`)];
}

/** One check a kind: what sandbox and checks do not have as git would. */
async function filesLeftOut(git: Repository, project: RemoteProject, commit: string): Promise<readonly Check[]> {
  const byKind = Map.groupBy(await git.leftOut(project, commit), ({ kind }) => NAMES_OF_KINDS[kind]);
  return [...byKind].map(([name, parts]) => {
    const named = parts.slice(0, NAMED_FILES).map(({ path, reason }) => showHiddenInLine(`${path} (${reason})`));
    const more = parts.length > NAMED_FILES ? ` and ${parts.length - NAMED_FILES} more` : '';
    return optional(name, `${parts.length} of the tree are not in the sandbox: ${named.join(', ')}${more}`);
  });
}

const NAMED_FILES = 1_000;
const NAMES_OF_KINDS = { symlink: 'links', submodule: 'submodules', lfs: 'LFS' } as const;

async function hasSetupNetwork(
  { egress, allowSetupNetwork, sandbox }: ServerConfig,
  wanted: RunConfigRequest['egress'],
): Promise<boolean> {
  const registries = (): Promise<readonly string[]> => packageRegistries({ namesOnly: sandbox.provider === 'e2b' });
  const hosts = async (role: string): Promise<readonly string[]> =>
    egress[role] ?? (allowSetupNetwork ? await registries() : []);
  return (await networkOf({ egress: hosts }, SETUP_ROLE, { egress: wanted })).allow.length > 0;
}

async function askSandbox(config: ServerConfig, scratch: string, command: string): Promise<string | null> {
  const provider = createSandboxProvider(config.sandbox, { server: 'doctor', dataFolder: config.dataFolder });
  if (provider.platform !== undefined || !(await provider.availability()).ok) return null;
  const limits = { ...config.sandboxLimits, fileBytes: 64 * MB, cpuSeconds: 60 };
  const folder = await mkdtemp(join(scratch, 'question-'));
  const sandbox = await provider.open({ key: 'doctor', folder, readOnly: [], network: 'none', limits });
  try {
    const { exitCode, stdout } = await sandbox.run({ command, timeoutMs: QUESTION_TIMEOUT_MS });
    return exitCode === null ? null : stdout;
  } finally {
    await sandbox.dispose();
  }
}

function present(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

function optional(name: string, detail: string): Check {
  return { name, status: 'optional', detail };
}
