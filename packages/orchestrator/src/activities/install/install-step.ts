/**
 * Runs a project's install step once per set of inputs, caches its output, and copies it into the folders of runs.
 *
 * Output that runs share is installed only from the base commit, which no agent has changed. If an agent changed an input of the
 * step, such as a lockfile, the output is used by that run only. Where the step has a network, the files that it could run are the
 * base commit's all the same.
 */
import { lstat, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman, type RunConfig } from '@autonomous/shared';
import { filterInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { BUN_SETUP_FILE, BUN_SETUP_PROGRAM, COMPLETE_BUN } from '../../project-analysis/installation/bun-setup.ts';
import { missingToolOf } from '../../project-analysis/installation/missing-tool.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { findProjectCommands, isInstallInput, READ_BYTES } from '../../project-analysis/project-commands.ts';
import { withInstallScripts } from '../../project-analysis/installation/install-steps.ts';
import {
  PYTHON_SETUP,
  PYTHON_SETUP_FILE,
  PYTHON_SETUP_PROGRAM,
} from '../../project-analysis/installation/python-setup.ts';
import { scrubbedEnd } from '../../secrets/secrets.ts';
import { explainSetupFailure } from '../../project-analysis/installation/setup-failure.ts';
import { indexOf, submodulesFileOf } from '../../repository/checkout/known-stats.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { ProjectCommand } from '../types.ts';
import type { ActivityTools } from '../tools.ts';
import { type InstalledDependencies, removeTree } from './dependency-cache.ts';
import { installTree } from './install-tree.ts';
import { networkOf, refusalNotes } from '../egress.ts';
import { CONFIGURED } from './project-examination.ts';
import { withSizes } from './step-progress.ts';

export interface InstallRequest {
  readonly project: RemoteProject;
  readonly runId: string;
  readonly treeish: string;
  readonly excludePaths: readonly string[];
  readonly signal: AbortSignal;
  readonly progress: ActivityContext['progress'];
}

/** The install step ended with a failure. */
export class InstallFailed extends NeedsHuman {
  /** The program that it needs and the sandbox does not have; `null` where it says nothing of the kind. */
  readonly missingTool: string | null;

  constructor(missingTool: string | null, message: string, options?: ErrorOptions) {
    super('setup_failed', message, options);
    this.missingTool = missingTool;
  }
}

const KEPT_OUTPUT = 4_000;

/** Raised where the same step leaves something else than before, so that nothing that an older server installed is used. */
const REVISION = 3;

/**
 * Set before a step of a run that allows install scripts: what a project's own settings say loses against the environment.
 * pip then builds packages that have no wheel.
 */
const SCRIPTS_ALLOWED =
  'export npm_config_ignore_scripts=false pnpm_config_ignore_scripts=false YARN_IGNORE_SCRIPTS=false YARN_ENABLE_SCRIPTS=true AUTONOMOUS_INSTALL_SCRIPTS=true\n';

/**
 * Gives what the step left to `use`, which may copy it and must not change it.
 * @throws {InstallFailed} with the end of its output
 */
export async function withInstalled<Result>(
  tools: ActivityTools,
  request: InstallRequest,
  asked: ProjectCommand,
  use: (installed: InstalledDependencies) => Promise<Result>,
): Promise<Result> {
  const { baseCommit, config } = await tools.view(request.runId);
  const setup = { command: commandOf(asked, config.commands.installScripts === true), source: asked.source };
  const { treeish, inputs, isOfTheBase, kept } = await filesOf(tools, request, setup, baseCommit);
  const key = hashOf(
    JSON.stringify({
      revision: REVISION,
      inputs,
      project: request.project.id,
      runId: isOfTheBase ? null : request.runId,
      step: await installStepKey(tools, request.runId, asked),
      excludePaths: request.excludePaths,
      provider: tools.sandboxes.name,
      // Absent with sandboxes on this machine, whose platform the next line names.
      madeFrom: tools.sandboxes.platform,
      platform: [process.platform, process.arch, process.versions.modules],
    }),
  );
  const words = keptAsInBase(kept);
  if (words !== null) request.progress({ kind: 'note', text: words });
  const make = (entry: Omit<InstalledDependencies, 'installed'>) =>
    install(tools, { ...request, treeish }, setup, entry).catch((error: unknown) => {
      if (!(error instanceof InstallFailed) || words === null) throw error;
      throw new InstallFailed(error.missingTool, `${error.message}\n${words}`, { cause: error });
    });
  return tools.dependencies.use(key, make, use, {
    signal: request.signal,
    onWait: () =>
      request.progress({ kind: 'note', text: 'The same install step is under way already; waiting for it.' }),
  });
}

type StepRequest = Pick<InstallRequest, 'project' | 'runId' | 'treeish' | 'signal'>;

interface StepFiles {
  readonly treeish: string;
  /** Hash of the files that the step is known to read. */
  readonly inputs: string;
  readonly isOfTheBase: boolean;
  /** Inputs that the run changed, and that are as in the base nevertheless. */
  readonly kept: readonly string[];
}

/** The base commit's files where their inputs are the run's; else those of `installTree`, or all of the run's without a network. */
async function filesOf(
  tools: ActivityTools,
  request: StepRequest,
  setup: ProjectCommand,
  baseCommit: string | undefined,
): Promise<StepFiles> {
  const { project, treeish, signal } = request;
  const inputs = await inputsOf(tools, request, treeish, setup);
  if (baseCommit === undefined) return { treeish, inputs, isOfTheBase: false, kept: [] };
  const ofTheBase = await inputsOf(tools, request, baseCommit, setup);
  if (inputs === ofTheBase) return { treeish: baseCommit, inputs, isOfTheBase: true, kept: [] };
  const { config } = await tools.view(request.runId);
  const { allow } = await networkOf(tools, 'setup', config);
  if (allow.length === 0) return { treeish, inputs, isOfTheBase: false, kept: [] };
  const runsScripts = config.commands.installScripts === true;
  const isInput = inputFilter(setup);
  const { tree, kept } = await installTree(tools, { project, baseCommit, treeish, isInput, runsScripts, signal });
  const taken = await inputsOf(tools, request, tree, setup);
  if (taken === ofTheBase) return { treeish: baseCommit, inputs: taken, isOfTheBase: true, kept };
  return { treeish: tree, inputs: taken, isOfTheBase: false, kept };
}

/** `null` where there are none. */
function keptAsInBase(kept: readonly string[]): string | null {
  if (kept.length === 0) return null;
  const names = [...kept.slice(0, 10), ...(kept.length > 10 ? [`${kept.length - 10} more`] : [])].join(', ');
  return `The run changed ${names}, which can run code in the install step. The step has a network, so it was run with the base commit's copies of them. If it needs the changes, make them on the base branch yourself, and start the run again.`;
}

/**
 * Digest of the step as a run carries it out: its command, whether install scripts run, and the hosts that it reaches.
 * `null` stands for no step.
 */
export async function installStepKey(
  tools: ActivityTools,
  runId: string,
  setup: ProjectCommand | null,
): Promise<string | null> {
  if (setup === null) return null;
  const { config } = await tools.view(runId);
  const installScripts = config.commands.installScripts === true;
  const command = commandOf(setup, installScripts);
  const { allow } = await setupNetwork(tools, config, { ...setup, command });
  return hashOf(JSON.stringify({ command, installScripts, allow: allow.toSorted() }));
}

/** Hash of the files that the step reads for a run's tree: some of them are those of its base commit. `null` stands for no step. */
export async function installedInputs(
  tools: ActivityTools,
  request: StepRequest,
  setup: ProjectCommand | null,
): Promise<string | null> {
  if (setup === null) return null;
  const { baseCommit } = await tools.view(request.runId);
  return (await filesOf(tools, request, setup, baseCommit)).inputs;
}

/** The hosts of the step. Nobody knows what a command starts that a person wrote. */
function setupNetwork(tools: ActivityTools, config: RunConfig, { command, source }: ProjectCommand) {
  return networkOf(tools, 'setup', config, source === CONFIGURED ? undefined : command);
}

/**
 * Returns the install step for a tree in which an agent may have begun to use packages: the run's own, else the one that the
 * tree's files need. The files are examined only when the step has network access and the configuration does not exclude a step.
 */
export async function setupOf(
  tools: ActivityTools,
  { project, runId, treeish }: Pick<InstallRequest, 'project' | 'runId' | 'treeish'>,
  setup: ProjectCommand | null,
): Promise<ProjectCommand | null> {
  if (setup !== null) return setup;
  const { config } = await tools.view(runId);
  if (config.commands.setup === null || (await networkOf(tools, 'setup', config)).allow.length === 0) return null;
  const paths = await tools.repository.listFiles(project, treeish);
  const found = await findProjectCommands(paths, (file) =>
    tools.repository.readFile(project, treeish, file, READ_BYTES),
  );
  return found.setup;
}

/** A command that a person wrote keeps its options. */
function commandOf({ command, source }: ProjectCommand, scriptsAreAllowed: boolean): string {
  return scriptsAreAllowed && source !== CONFIGURED ? withInstallScripts(command) : command;
}

function inputFilter({ command, source }: ProjectCommand): (file: string) => boolean {
  const words = new Set(command.split(/[\s;&|()<>"'=]+/).map((word) => word.replace(/^\.\//, '')));
  return (file) => isInstallInput(file) || words.has(file) || file === source;
}

/** One hash of all files that the step is known to read. */
async function inputsOf(
  tools: ActivityTools,
  { project }: StepRequest,
  treeish: string,
  setup: ProjectCommand,
): Promise<string> {
  const paths = await filterInSlices(await tools.repository.listFiles(project, treeish), inputFilter(setup));
  const contents = await tools.repository.readFiles(project, treeish, paths);
  return hashOf(JSON.stringify(paths.map((file) => [file, hashOf(contents.get(file) ?? '')])));
}

async function install(
  tools: ActivityTools,
  request: InstallRequest,
  setup: ProjectCommand,
  entry: Omit<InstalledDependencies, 'installed'>,
): Promise<readonly string[]> {
  const checkout = `${entry.folder}.checkout`;
  const { progress } = request;
  await withSizes(progress, 'checking out the files for the install step', [checkout], () =>
    tools.repository.checkout(request.project, request.treeish, checkout, request.excludePaths),
  );
  const tracked = await entriesIn(checkout);
  if (setup.command.includes(PYTHON_SETUP))
    await writeFile(path.join(entry.home, PYTHON_SETUP_FILE), PYTHON_SETUP_PROGRAM);
  if (setup.command.includes(BUN_SETUP_FILE)) await writeFile(path.join(entry.home, BUN_SETUP_FILE), BUN_SETUP_PROGRAM);
  progress({ kind: 'command', text: `$ ${setup.command}` });
  await withSizes(progress, '', [checkout, entry.home], () => runSetup(tools, request, setup, checkout, entry.home));
  const installed = await moveUntracked(checkout, entry.folder, tracked);
  await removeTree(checkout, indexOf(checkout), submodulesFileOf(checkout));
  return installed;
}

async function runSetup(
  tools: ActivityTools,
  { runId, signal, progress }: InstallRequest,
  setup: ProjectCommand,
  folder: string,
  home: string,
): Promise<void> {
  const { config } = await tools.view(runId);
  const network = await setupNetwork(tools, config, setup);
  const refused: string[] = [];
  const tell = refusalNotes(progress, 'setup');
  const sandbox = await tools.sandboxes.open({
    key: `${runId}/setup`,
    folder,
    home,
    readOnly: [],
    network,
    onRefused: (refusal) => {
      refused.push(refusal.message);
      tell(refusal);
    },
    limits: tools.limits,
    signal,
  });
  try {
    const result = await sandbox.run({
      command: config.commands.installScripts === true ? SCRIPTS_ALLOWED + setup.command : setup.command,
      timeoutMs: tools.setupTimeoutMs,
      signal,
      onOutput: (chunk) => progress({ kind: 'output', text: chunk }),
    });
    signal.throwIfAborted();
    if (result.exitCode === 0) {
      await sandbox.run({ command: COMPLETE_BUN, timeoutMs: tools.setupTimeoutMs, signal, offline: true });
      signal.throwIfAborted();
      // Of a step that failed nothing is kept, and what it says of itself counts: nothing is brought back.
      await sandbox.sync(signal);
      return;
    }
    const output = scrubbedEnd(`${result.stdout}\n${result.stderr}`.trim(), KEPT_OUTPUT, (text) => tools.scrub(text));
    const { exitCode, timedOut } = result;
    const end = { ...setup, exitCode, timedOut, output, minutes: tools.setupTimeoutMs / 60_000 };
    const told = explainSetupFailure({ ...end, hasNetwork: network.allow.length > 0, refused });
    throw new InstallFailed(missingToolOf(end), [...told, output].join('\n'));
  } catch (error) {
    if (!(error instanceof NeedsHuman) || error.reason !== 'storage_full') throw error;
    const message = `The install step \`${setup.command}\` (from ${setup.source}) was ended: ${error.message}`;
    throw new NeedsHuman('storage_full', message, { cause: error });
  } finally {
    await sandbox.dispose();
  }
}

/** Paths of everything in a folder; links are not followed. */
async function entriesIn(folder: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const visit = async (relative: string): Promise<void> => {
    for (const entry of await readdir(path.join(folder, relative), { withFileTypes: true })) {
      const name = path.join(relative, entry.name);
      found.add(name);
      if (entry.isDirectory()) await visit(name);
    }
  };
  await visit('');
  return found;
}

/** Moves what a checkout did not have into `overlay`, keeping its place. Returns it as gitignore patterns. */
async function moveUntracked(folder: string, overlay: string, tracked: ReadonlySet<string>): Promise<string[]> {
  await mkdir(overlay, { recursive: true });
  const installed: string[] = [];
  const visit = async (relative: string): Promise<void> => {
    for (const name of await readdir(path.join(folder, relative))) {
      const entry = path.join(relative, name);
      const stats = await lstat(path.join(folder, entry));
      if (!tracked.has(entry)) {
        await mkdir(path.join(overlay, relative), { recursive: true });
        await rename(path.join(folder, entry), path.join(overlay, entry));
        installed.push(`/${entry.split(path.sep).map(escapePattern).join('/')}`);
      } else if (stats.isDirectory()) {
        await visit(entry);
      }
    }
  };
  await visit('');
  return installed;
}

function escapePattern(name: string): string {
  return name.replace(/[\\*?[\]! #]/g, '\\$&');
}
