/** Says where a run commits its engine-owned files. */
import type { RunStart } from './events.ts';
import type { OwnedFiles } from './run.ts';

/** The notices with which a run begins; none for a run whose workflow declares no owned files. */
export function ownedFilesNotices({ ownedFiles, branch, config }: RunStart): readonly string[] {
  if (ownedFiles === undefined || ownedFiles.paths.length === 0) return [];
  return [ownedFilesNotice(ownedFiles, branch, config.git.baseBranch)];
}

/**
 * @param branch the run's
 * @param baseBranch its base
 */
export function ownedFilesNotice(owned: OwnedFiles, branch: string, baseBranch: string): string {
  const { paths, to, why, results = [] } = owned;
  if (areResult(owned))
    return `The result is in ${placeOf(paths)}: the server writes these files to the run's branch ${branch}. Changes of agents to them are left out.`;
  const place = to === 'base' ? `the base branch ${baseBranch}` : `the run's branch ${branch}`;
  const reason = why === undefined ? '' : `, because ${why}`;
  const beside = paths.filter((path) => !results.includes(path)).join(', ');
  const others =
    results.length === 0
      ? ''
      : ` The server writes ${results.join(', ')} to the run's branch, as a part of the result.`;
  return `Engine-owned files (${beside}) are committed to ${place}${reason}.${others} Changes of agents to them are left out.`;
}

/** The folder of paths and patterns that lie in one folder, such as `docs/research-bells/`; else the paths themselves. */
function placeOf(paths: readonly string[]): string {
  // What a pattern matches is below the folder before its first wildcard.
  const folders = new Set(paths.map((path) => /^[^*?{[]*\//.exec(path)?.[0] ?? ''));
  const [folder = ''] = folders;
  return paths.length > 1 && folders.size === 1 && folder !== '' ? folder : paths.join(', ');
}

/** Are all engine-owned files of the run its result? */
export function areResult({ paths, results = [] }: OwnedFiles): boolean {
  return paths.length > 0 && results.length === paths.length;
}

/** All paths and patterns that no agent of a run may change: its own and those of the runs above it. */
export function allOwnedPaths(owned: OwnedFiles | undefined): readonly string[] {
  return [...(owned?.paths ?? []), ...(owned?.inherited ?? [])];
}
