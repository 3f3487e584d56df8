/** The plain-file folders of a run: fresh checkouts for agents and checks, and what a project's install step left. */
import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { ProjectCommand } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';
import { removeTree } from './dependency-cache.ts';
import { type InstallRequest, withInstalled } from './install-step.ts';

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

export interface FolderRequest extends InstallRequest {
  /** Names the folder within the run. */
  readonly name: string;
  readonly setup: ProjectCommand | null;
  /** The folder of an earlier attempt is taken as it is, where it is whole. */
  readonly goOn?: boolean;
}

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
  const fill = async (from: { readonly folder: string; readonly home: string } | null): Promise<void> => {
    await tools.repository.checkout(request.project, request.treeish, folder, request.excludePaths);
    await mkdir(home, { recursive: true });
    if (from === null) return;
    await copyInto(from.folder, folder);
    await copyInto(from.home, home);
  };
  const installed = await (request.setup
    ? withInstalled(tools, request, request.setup, async (dependencies) => {
        await fill(dependencies);
        return dependencies.installed;
      })
    : fill(null).then(() => []));
  await writeFile(installedFile(folder), JSON.stringify(installed));
  return { folder, home, installed, goesOn: false };
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
 * Removes the folders of runs that ended while nobody could tidy up after them. One that cannot be removed stays, and is logged.
 * @param openRuns ids of the runs that have not ended
 */
export async function removeAbandonedFolders(
  workFolder: string,
  openRuns: ReadonlySet<string>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const found = await readdir(workFolder).catch(() => []);
  for (const runId of found) {
    if (openRuns.has(runId)) continue;
    await removeRunFolder({ workFolder }, runId).catch((error: unknown) =>
      log.warn({ err: error, runId }, "a finished run's work folder could not be removed"),
    );
  }
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
