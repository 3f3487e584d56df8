/** Says where a run commits its engine-owned files. */
import type { RunStart } from './events.ts';
import type { OwnedFiles } from './run.ts';

/** The notices with which a run begins; none for a run whose workflow declares no owned files. */
export function ownedFilesNotices({ ownedFiles, branch, config }: RunStart): readonly string[] {
  if (ownedFiles === undefined || ownedFiles.paths.length === 0) return [];
  return [ownedFilesNotice(ownedFiles, ownedFiles.to === 'base' ? config.git.baseBranch : branch)];
}

/** @param branch name of the branch that gets the commits */
export function ownedFilesNotice({ paths, to, why, areResult }: OwnedFiles, branch: string): string {
  if (areResult === true)
    return `The result is in ${paths.join(', ')}: the server writes these files to the run's branch ${branch}. Changes of agents to them are left out.`;
  const place = to === 'base' ? `the base branch ${branch}` : `the run's branch ${branch}`;
  const reason = why === undefined ? '' : `, because ${why}`;
  return `Engine-owned files (${paths.join(', ')}) are committed to ${place}${reason}. Changes of agents to them are left out.`;
}

/** All paths and patterns that no agent of a run may change: its own and those of the runs above it. */
export function allOwnedPaths(owned: OwnedFiles | undefined): readonly string[] {
  return [...(owned?.paths ?? []), ...(owned?.inherited ?? [])];
}
