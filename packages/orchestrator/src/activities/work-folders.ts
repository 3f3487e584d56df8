/** The plain-file folders of a run: fresh checkouts for agents and checks, and what a project's install step left. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import { hashOf } from '../artifacts/plan-document.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { ProjectCommand } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';

export interface WorkFolder {
  /** Absolute; becomes `/workspace`. */
  readonly folder: string;
  /** HOME inside: a copy of what the install step left there, so that no agent prepares the HOME of a check. */
  readonly home: string;
  /** What the install step made, as gitignore patterns: never taken back from the sandbox. */
  readonly installed: readonly string[];
  /** It holds what an earlier attempt left, in `home` too. */
  readonly goesOn: boolean;
}

export interface FolderRequest {
  readonly project: RemoteProject;
  readonly runId: string;
  /** Names the folder within the run. */
  readonly name: string;
  readonly treeish: string;
  readonly excludePaths: readonly string[];
  readonly setup: ProjectCommand | null;
  /** The folder of an earlier attempt is taken as it is, where it is whole. */
  readonly goOn?: boolean;
  readonly signal: AbortSignal;
  readonly onOutput?: (chunk: string) => void;
}

/** Time that an install step may take. */
const SETUP_TIMEOUT_MS = 20 * 60_000;

export function runFolder(tools: BuildTools, runId: string): string {
  return path.join(tools.workFolder, runId);
}

/** A fresh checkout of a tree with the installed dependencies beside it. What was there before is gone, unless it is gone on with. */
export async function openFolder(tools: BuildTools, request: FolderRequest): Promise<WorkFolder> {
  const folder = path.join(runFolder(tools, request.runId), request.name);
  const home = homeOf(folder);
  const left = request.goOn ? await installedInto(folder) : null;
  if (left !== null) return { folder, home, installed: left, goesOn: true };
  await closeFolder(folder);
  const overlay = request.setup ? await ensureInstalled(tools, request, request.setup) : null;
  await tools.repository.checkout(request.project, request.treeish, folder, request.excludePaths);
  await mkdir(home, { recursive: true });
  if (overlay) {
    await copyInto(overlay.folder, folder);
    await copyInto(overlay.home, home);
  }
  await writeFile(installedFile(folder), JSON.stringify(overlay?.installed ?? []));
  return { folder, home, installed: overlay?.installed ?? [], goesOn: false };
}

/** Removes a folder that was opened, with everything beside it. Nothing happens when it is gone already. */
export async function closeFolder(folder: string): Promise<void> {
  await removeTree(installedFile(folder));
  await Promise.all([folder, homeOf(folder)].map((entry) => removeTree(entry)));
}

/**
 * What was installed into a folder that may be an earlier process's.
 * @returns `null` for a folder that is not there as a whole: never opened, opened in part, or closed in part
 */
export async function installedInto(folder: string): Promise<readonly string[] | null> {
  const text = await readFile(installedFile(folder), 'utf8').catch(() => '');
  // It is empty where a process was killed while it wrote it.
  return text === '' ? null : (JSON.parse(text) as string[]);
}

/** Written last and removed first: a folder beside it is whole. */
function installedFile(folder: string): string {
  return `${folder}.installed.json`;
}

function homeOf(folder: string): string {
  return `${folder}.home`;
}

/** Removes all folders of a run. */
export async function removeRunFolder(tools: Pick<BuildTools, 'workFolder'>, runId: string): Promise<void> {
  await removeTree(path.join(tools.workFolder, runId));
}

/**
 * Removes the folders of runs that ended while nobody could tidy up after them.
 * @param openRuns ids of the runs that have not ended
 */
export async function removeAbandonedFolders(workFolder: string, openRuns: ReadonlySet<string>): Promise<void> {
  const found = await readdir(workFolder).catch(() => []);
  for (const runId of found) if (!openRuns.has(runId)) await removeRunFolder({ workFolder }, runId);
}

/** An activity that is just being ended may still write a file or two. */
function removeTree(entry: string): Promise<void> {
  return rm(entry, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

interface Overlay {
  /** Holds only what the install step made. */
  readonly folder: string;
  readonly home: string;
  readonly installed: readonly string[];
}

/**
 * Runs the install step once for each content of the file it was found from.
 * @throws {NeedsHuman} `setup_failed` with the end of its output
 */
export async function ensureInstalled(
  tools: BuildTools,
  request: FolderRequest,
  setup: ProjectCommand,
): Promise<Overlay> {
  const manifest =
    (await tools.repository.readFile(request.project, request.treeish, setup.source).catch(() => null)) ?? '';
  const base = path.join(
    runFolder(tools, request.runId),
    `setup-${hashOf(`${setup.command}\n${manifest}`).slice(0, 16)}`,
  );
  const done = await readOverlay(base);
  if (done) return done;

  const work = `${base}-${randomUUID().slice(0, 8)}`;
  const folder = path.join(work, 'project');
  const home = path.join(work, 'home');
  await mkdir(home, { recursive: true });
  try {
    await tools.repository.checkout(request.project, request.treeish, folder, request.excludePaths);
    const tracked = await everyPath(folder);
    await runSetup(tools, request, setup, folder, home);
    const overlay = path.join(work, 'overlay');
    const installed = await moveUntracked(folder, overlay, tracked);
    await removeTree(folder);
    await writeFile(path.join(work, 'installed.json'), JSON.stringify(installed));
    await removeTree(base);
    await rename(work, base);
    return (
      (await readOverlay(base)) ?? { folder: path.join(base, 'overlay'), home: path.join(base, 'home'), installed }
    );
  } catch (error) {
    await removeTree(work);
    throw error;
  }
}

async function runSetup(
  tools: BuildTools,
  request: FolderRequest,
  setup: ProjectCommand,
  folder: string,
  home: string,
): Promise<void> {
  const network = tools.allowSetupNetwork ? 'open' : 'none';
  const sandbox = await tools.sandboxes.open({
    key: `${request.runId}/setup`,
    folder,
    home,
    readOnly: [],
    network,
    limits: tools.limits,
  });
  try {
    const result = await sandbox.run({
      command: setup.command,
      timeoutMs: SETUP_TIMEOUT_MS,
      signal: request.signal,
      ...(request.onOutput ? { onOutput: request.onOutput } : {}),
    });
    request.signal.throwIfAborted();
    if (result.exitCode === 0) return;
    const hint =
      network === 'open' ? '' : '\nIt had no network: set ALLOW_SETUP_NETWORK=true on the server if the step needs it.';
    const output = tools.scrub(`${result.stdout}\n${result.stderr}`.trim().slice(-4_000));
    throw new NeedsHuman(
      'setup_failed',
      `The install step \`${setup.command}\` (from ${setup.source}) failed with exit code ${result.exitCode ?? 'none'}.${hint}\n${output}`,
    );
  } finally {
    await sandbox.sync();
    await sandbox.dispose();
  }
}

async function readOverlay(base: string): Promise<Overlay | null> {
  try {
    const installed = JSON.parse(await readFile(path.join(base, 'installed.json'), 'utf8')) as string[];
    return { folder: path.join(base, 'overlay'), home: path.join(base, 'home'), installed };
  } catch {
    return null;
  }
}

/** Files and folders of a checkout, relative. */
async function everyPath(folder: string): Promise<Set<string>> {
  const paths = new Set<string>();
  for (const entry of await readdir(folder, { recursive: true })) paths.add(entry);
  return paths;
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

/** Copies links as links; what the checkout wrote is not overwritten. */
function copyInto(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const copy = spawn('cp', ['-a', '-n', '--', `${from}/.`, to], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    copy.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    copy.on('error', reject);
    copy.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`copying installed dependencies failed: ${stderr.trim()}`)),
    );
  });
}
