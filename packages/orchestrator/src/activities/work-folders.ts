/** Working folders of a run, as plain files: fresh checkouts for agents and checks, with the output of the install step. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { ProjectCommand } from './types.ts';
import type { ActivityTools } from './tools.ts';
import { type RunResult, runProgram } from '../processes/program.ts';
import { indexOf, submodulesFileOf } from '../repository/checkout/known-stats.ts';
import { removeTree } from './install/dependency-cache.ts';
import { type InstallRequest, withInstalled } from './install/install-step.ts';
import { withSizes } from './install/step-progress.ts';

export interface WorkFolder {
  /** Absolute; becomes `/workspace`. */
  readonly folder: string;
  /** HOME inside: a copy of what the install step left there, so that no agent prepares the HOME of a check. */
  readonly home: string;
  /** Files made by the install step, as gitignore patterns. They are never imported from the sandbox. */
  readonly installed: readonly string[];
  /** True when it contains the files of an earlier attempt, also in `home`. */
  readonly goesOn: boolean;
}

export interface FolderRequest extends InstallRequest {
  /** Names the folder within the run. */
  readonly name: string;
  readonly setup: ProjectCommand | null;
  /** Further gitignore patterns of what is not checked out. */
  readonly leaveOut?: readonly string[];
  /** The folder of an earlier attempt is taken as it is, where it is whole. */
  readonly continues?: boolean;
}

export function runFolder(tools: Pick<ActivityTools, 'workFolder'>, runId: string): string {
  return path.join(tools.workFolder, runId);
}

/**
 * A fresh checkout of a tree with the installed dependencies beside it. What was there before is gone, unless it is gone on with.
 * @throws {NeedsHuman} `setup_failed` where what was installed cannot be copied, `storage_full`; nothing is left of the folder then
 */
export async function openFolder(tools: ActivityTools, request: FolderRequest): Promise<WorkFolder> {
  const folder = path.join(runFolder(tools, request.runId), request.name);
  const home = homeOf(folder);
  const left = request.continues ? await installedInto(folder) : null;
  if (left !== null) return { folder, home, installed: left, goesOn: true };
  await closeFolder(folder);
  const fill = async (from: { readonly folder: string; readonly home: string } | null): Promise<void> => {
    const leftOut = [...request.excludePaths, ...(request.leaveOut ?? [])];
    const { progress } = request;
    await withSizes(progress, 'checking out the files', [folder], () =>
      tools.repository.checkout(request.project, request.treeish, folder, leftOut),
    );
    await mkdir(home, { recursive: true });
    if (from === null) return;
    await withSizes(progress, 'copying the installed dependencies', [folder, home], async () => {
      await copyInto(from.folder, folder);
      await copyInto(from.home, home);
    });
  };
  try {
    const installed = await (request.setup
      ? withInstalled(tools, request, request.setup, async (dependencies) => {
          await fill(dependencies);
          return dependencies.installed;
        })
      : fill(null).then(() => []));
    await writeFile(installedFile(folder), JSON.stringify(installed));
    return { folder, home, installed, goesOn: false };
  } catch (error) {
    // Files that cannot be removed now are removed before the next attempt.
    await closeFolder(folder).catch(() => {});
    throw error;
  }
}

/** Removes a folder that was opened, with everything beside it. Nothing happens when it is gone already. */
export async function closeFolder(folder: string): Promise<void> {
  await removeTree(installedFile(folder));
  await removeTree(indexOf(folder), submodulesFileOf(folder), folder, homeOf(folder));
}

/**
 * Returns what was installed into a folder, also one of an earlier process.
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
export async function removeRunFolder(tools: Pick<ActivityTools, 'workFolder'>, runId: string): Promise<void> {
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

/** Copies links as links; what the checkout wrote is not overwritten. After a failure some of it is there. */
async function copyInto(from: string, to: string): Promise<void> {
  const copied = await runProgram('cp', ['-a', '-n', '--', `${from}/.`, to]).catch(copyNotStarted);
  if (copied.exitCode !== 0) throw explainCopy(copied, [from, to]);
}

const NOT_COPIED = 'What the install step left cannot be copied into the run';

function copyNotStarted(cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  const way = "Check whether cp is installed, and whether the server's limits of open files and processes are reached.";
  throw new NeedsHuman('setup_failed', `${NOT_COPIED}: cp cannot be started (${why}). ${way}`, { cause });
}

const LONGEST_COMPLAINT = 300;

/** @param folders what of a path is this server's affair */
function explainCopy({ stderr }: RunResult, folders: readonly string[]): NeedsHuman {
  // The first says enough, and a hostile install step may cause any number.
  const [first = ''] = stderr.split('\n', 1);
  if (first === '') return new NeedsHuman('setup_failed', `${NOT_COPIED}: cp was killed. Retry.`);
  const complaint = folders.reduce((text, folder) => text.replaceAll(`${folder}/`, ''), first);
  const said = complaint.length <= LONGEST_COMPLAINT ? complaint : `${complaint.slice(0, LONGEST_COMPLAINT)}…`;
  if (/File name too long/.test(first)) {
    const way = 'Have the install step nest its folders less deeply, then retry.';
    return new NeedsHuman('setup_failed', `${NOT_COPIED}: a path in it is too long: ${said}. ${way}`);
  }
  if (/No space left on device|Disk quota exceeded/.test(first))
    return new NeedsHuman('storage_full', `${NOT_COPIED}: the disk is full: ${said}. Free some, then retry.`);
  return new NeedsHuman('setup_failed', `${NOT_COPIED}: ${said}`);
}
