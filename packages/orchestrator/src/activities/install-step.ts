/**
 * Runs a project's install step once per set of inputs, caches its output, and copies it into the folders of runs.
 *
 * Output that runs share is installed only from the base commit, which no agent has changed. If an agent changed an input of the
 * step, such as a lockfile, the output is used by that run only.
 */
import { lstat, mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { missingToolOf } from '../artifacts/missing-tool.ts';
import { hashOf } from '../artifacts/content-hash.ts';
import { findProjectCommands, isInstallInput } from '../artifacts/project-commands.ts';
import { scrubbedEnd } from '../artifacts/secrets.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../core/activity.ts';
import type { ProjectCommand } from './types.ts';
import type { ActivityTools } from './tools.ts';
import { type InstalledDependencies, removeTree } from './dependency-cache.ts';
import { networkOf, refusalNotes } from './egress.ts';

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

  constructor(missingTool: string | null, message: string) {
    super('setup_failed', message);
    this.missingTool = missingTool;
  }
}

/** Time that an install step may take. */
const KEPT_OUTPUT = 4_000;
const SETUP_TIMEOUT_MS = 20 * 60_000;

/**
 * Gives what the step left to `use`, which may copy it and must not change it.
 * @throws {InstallFailed} with the end of its output
 */
export async function withInstalled<Result>(
  tools: ActivityTools,
  request: InstallRequest,
  setup: ProjectCommand,
  use: (installed: InstalledDependencies) => Promise<Result>,
): Promise<Result> {
  const { baseCommit } = await tools.view(request.runId);
  const own = await inputsOf(tools, request, request.treeish, setup);
  const isOfTheBase = baseCommit !== undefined && own === (await inputsOf(tools, request, baseCommit, setup));
  const treeish = isOfTheBase ? baseCommit : request.treeish;
  const key = hashOf(
    JSON.stringify({
      inputs: own,
      project: request.project.id,
      runId: isOfTheBase ? null : request.runId,
      command: setup.command,
      excludePaths: request.excludePaths,
      provider: tools.sandboxes.name,
      // Absent with sandboxes on this machine, whose platform the next line names.
      madeFrom: tools.sandboxes.platform,
      platform: [process.platform, process.arch, process.versions.modules],
    }),
  );
  return tools.dependencies.use(key, (entry) => install(tools, { ...request, treeish }, setup, entry), use, {
    signal: request.signal,
    onWait: () =>
      request.progress({ kind: 'note', text: 'The same install step is under way already; waiting for it.' }),
  });
}

/**
 * The step for a tree in which an agent may have begun to use packages: the run's own, else the one that the tree's files ask for.
 * That is looked for only where the network lets it come to anything, and where the configuration does not say that there is none.
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
  const found = await findProjectCommands(paths, (file) => tools.repository.readFile(project, treeish, file));
  return found.setup;
}

/** One hash of all files that the step is known to read. */
async function inputsOf(
  tools: ActivityTools,
  { project }: InstallRequest,
  treeish: string,
  setup: ProjectCommand,
): Promise<string> {
  const words = new Set(setup.command.split(/[\s;&|()<>"'=]+/).map((word) => word.replace(/^\.\//, '')));
  const paths = (await tools.repository.listFiles(project, treeish)).filter(
    (file) => isInstallInput(file) || words.has(file) || file === setup.source,
  );
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
  request.progress({ kind: 'command', text: `$ ${setup.command}` });
  await tools.repository.checkout(request.project, request.treeish, checkout, request.excludePaths);
  const tracked = new Set(await readdir(checkout, { recursive: true }));
  await runSetup(tools, request, setup, checkout, entry.home);
  const installed = await moveUntracked(checkout, entry.folder, tracked);
  await removeTree(checkout);
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
  const network = await networkOf(tools, 'setup', config);
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
      command: setup.command,
      timeoutMs: SETUP_TIMEOUT_MS,
      signal,
      onOutput: (chunk) => progress({ kind: 'output', text: chunk }),
    });
    signal.throwIfAborted();
    if (result.exitCode === 0) {
      // Of a step that failed nothing is kept, and what it says of itself counts: nothing is brought back.
      await sandbox.sync(signal);
      return;
    }
    const output = scrubbedEnd(`${result.stdout}\n${result.stderr}`.trim(), KEPT_OUTPUT, (text) => tools.scrub(text));
    const missing = missingToolOf({ command: setup.command, exitCode: result.exitCode, output });
    throw new InstallFailed(
      missing,
      [
        `The install step \`${setup.command}\` (from ${setup.source}) failed with exit code ${result.exitCode ?? 'none'}.`,
        ...(missing === null
          ? []
          : [
              `The program ${missing} is missing: install it where the sandbox finds it, or set another install step in .autonomous/config.json (defaultRunConfig.commands.setup).`,
            ]),
        ...(network.allow.length > 0
          ? []
          : [
              'It had no network: set ALLOW_SETUP_NETWORK=true on the server if the step needs the package registries, or EGRESS_ALLOW for other hosts.',
            ]),
        ...(refused.length === 0 ? [] : [`The network refused it: ${refused.slice(0, 10).join('; ')}.`]),
        output,
      ].join('\n'),
    );
  } finally {
    await sandbox.dispose();
  }
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
