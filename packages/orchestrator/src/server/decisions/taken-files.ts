/**
 * Files of another run's result as a decision at a gate: what is asked for is looked at beforehand, so that nothing is
 * decided which could not be carried out, and is pinned to a commit, so that it stays what the person saw.
 */
import {
  allOwnedPaths,
  Conflict,
  type FilesTaken,
  type Gate,
  type GateDecision,
  type GateInfo,
  InvalidRequest,
  type Project,
  type RunView,
  Stale,
} from '@autonomous/shared';
import { ownedPaths } from '../../documents/owned-files.ts';
import { filterInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { isAmong, pathsIn } from '../../path-rules/sorted-paths.ts';
import type { Repository } from '../../repository/repository.ts';
import { CONFIG_PATH } from '../../run-config/project-config.ts';

export interface TakenFilesOptions {
  readonly repository: Pick<Repository, 'changes' | 'listFiles' | 'restorePaths' | 'treeOf'>;
  view(runId: string): Promise<RunView>;
  projectOf(id: string): Promise<Project>;
  /** How the gates of a workflow are described. */
  gateInfo(workflow: string, kind: string): GateInfo;
}

/**
 * @param view the run that takes the files, at its gate
 * @returns what the run's machine is told; `undefined` where the decision takes no files
 * @throws {InvalidRequest | Conflict | Stale} naming the paths and the way out
 */
export async function takenFiles(
  options: TakenFilesOptions,
  view: RunView,
  gate: Gate,
  { decision, take, feedback, notes }: GateDecision,
): Promise<FilesTaken | undefined> {
  if (take === undefined) return undefined;
  const { title, takesFilesOn } = options.gateInfo(view.workflow.name, gate.kind);
  if (takesFilesOn !== decision || gate.codeTree === undefined) {
    const way = takesFilesOn === undefined ? 'It takes none.' : `It takes them with '${takesFilesOn}'.`;
    throw new Conflict(`Gate ${gate.id} (${title}) does not take files of another run with '${decision}'. ${way}`);
  }
  const paths = [...new Set(take.paths)];
  const other = await options.view(take.runId);
  const project = await options.projectOf(view.projectId);
  refuseOther(view, other, take.commit);
  const [from, base] = [other.baseCommit ?? '', view.baseCommit ?? ''];
  const changes = await options.repository.changes(project, from, take.commit);
  const changed = new Map(changes.map((change) => [change.path, change]));
  refuse(
    paths.filter((path) => !changed.has(path) || path.startsWith('.autonomous/')),
    (list) => `Run ${other.id} did not change ${list}: only files that it changed can be taken from it.`,
  );
  const owned = ownedPaths(allOwnedPaths(view.ownedFiles));
  refuse(
    paths.filter((path) => owned.has(path) || owned.isAbove(path)),
    (list) => `Run ${view.id} cannot take ${list}: engine-owned files are written by the server alone.`,
  );
  if (from !== base) {
    const between = new Set((await options.repository.changes(project, base, from)).map(({ path }) => path));
    // The project's configuration defines the paths that nobody may change.
    const moved = between.has(CONFIG_PATH) ? paths : paths.filter((path) => between.has(path));
    if (moved.length > 0) {
      throw new Conflict(
        `The base branch changed ${listed(moved)} between the two runs: taking the whole file would revert or add that change. Reject the result with feedback instead.`,
        { extra: { paths: moved } },
      );
    }
  }
  const tree = gate.codeTree;
  const clashes = await clashesOf(
    paths.filter((path) => changed.get(path)?.after !== null),
    paths,
    // The code tree lacks engine-owned files, whose folders no file may replace.
    await options.repository.listFiles(project, view.headCommit ?? tree),
  );
  if (clashes.length > 0) {
    throw new Conflict(
      `${listed(clashes)} cannot be taken: a path is a file in one of the two results and a folder in the other.`,
      { extra: { paths: clashes } },
    );
  }
  if ((await options.repository.restorePaths(project, tree, take.commit, paths)) === tree) {
    throw new Conflict(
      `Nothing would change: ${listed(paths)} ${paths.length === 1 ? 'is' : 'are'} the same in both results.`,
    );
  }
  return {
    runId: other.id,
    commit: take.commit,
    paths,
    ...(other.scriptedModels.length > 0 ? { scripted: true } : {}),
    // Words are for the agent; without them the result is checked as it is then.
    andThen: (feedback ?? notes ?? '').trim() === '' ? 'check' : 'implement',
  };
}

/** `Take a.ts, b.ts from run r-2`: what the decision says where the person said nothing. */
export function describeTakenFiles({ paths, runId }: FilesTaken): string {
  return `Take ${listed(paths)} from run ${runId}`;
}

function refuseOther(view: RunView, other: RunView, commit: string): void {
  if (other.id === view.id) throw new InvalidRequest('A run cannot take files from itself.');
  if (other.projectId !== view.projectId)
    throw new InvalidRequest(`Run ${other.id} belongs to another project than run ${view.id}.`);
  if (other.codeTree === undefined || other.headCommit === undefined)
    throw new Conflict(`Run ${other.id} has no result yet: there is nothing to take.`);
  if (other.headCommit !== commit) {
    throw new Stale(`Run ${other.id} has another result than the one that was shown: look at it again.`, {
      extra: { commit: other.headCommit },
    });
  }
}

function refuse(paths: readonly string[], message: (list: string) => string): void {
  if (paths.length === 0) return;
  const text = message(listed(paths));
  throw new InvalidRequest(text, { faults: [{ path: 'take.paths', message: text }] });
}

/** Paths that would be a file where the tree has a folder, or lie under what is a file there and stays. */
async function clashesOf(
  added: readonly string[],
  replaced: readonly string[],
  files: readonly string[],
): Promise<readonly string[]> {
  const gone = new Set(replaced);
  const staying = await filterInSlices(files, (file) => !gone.has(file));
  return added.filter(
    (path) => pathsIn(staying, path).length > 0 || foldersOf(path).some((folder) => isAmong(staying, folder)),
  );
}

/** `a/b/c.ts` lies in `a` and `a/b`. */
function foldersOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_part, index) => parts.slice(0, index + 1).join('/'));
}

const SHOWN = 5;

function listed(paths: readonly string[]): string {
  const rest = paths.length - SHOWN;
  return rest > 0 ? `${paths.slice(0, SHOWN).join(', ')} and ${rest} more` : paths.join(', ');
}
