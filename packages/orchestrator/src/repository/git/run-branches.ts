/** Branches of runs, in a mirror and in its remote: which there are, and how one is removed. */
import { InvalidRequest } from '@autonomous/shared';
import type { MirrorOfRemote } from './git-mirrors.ts';
import { localRef, trackingRef } from './git-refs.ts';
import { removeRemoteBranch } from './git-remote.ts';
import { type GitPlace, gitText, runGit } from './git.ts';
import { isRecordBranch, type RunBranch } from '../repository.ts';
import { assertBranchName } from '../repository-paths.ts';

/** Branches of runs and of their record. */
export const OWN_BRANCHES = 'autonomous/';
const PLACES = { mirror: 'refs/heads/', remote: 'refs/remotes/origin/' } as const;

/** @throws {InvalidRequest} unless it may be the branch of a run: those of people and of the record are not moved for one */
export function assertRunBranch(name: string): string {
  assertBranchName(name);
  if (name.startsWith(OWN_BRANCHES) && !isRecordBranch(name)) return name;
  throw new InvalidRequest(`'${name}' is no branch of a run, whose name begins with '${OWN_BRANCHES}'`);
}

export async function listRunBranches(place: GitPlace): Promise<readonly RunBranch[]> {
  const found = new Map<string, { name: string; mirror: string | null; remote: string | null }>();
  for (const [where, folder] of Object.entries(PLACES) as [keyof typeof PLACES, string][]) {
    const format = '--format=%(objectname) %(refname)';
    const text = await gitText(place, { args: ['for-each-ref', format, `${folder}${OWN_BRANCHES}`] });
    for (const line of text.split('\n')) {
      const [commit = '', ref = ''] = line.split(' ');
      const name = ref.slice(folder.length);
      if (ref === '' || isRecordBranch(name)) continue;
      const branch = found.get(name) ?? { name, mirror: null, remote: null };
      branch[where] = commit;
      found.set(name, branch);
    }
  }
  return [...found.values()];
}

/**
 * Removes a branch where it is as it was listed: from the remote first, so that what is left of an interruption is found again.
 * @returns false when the remote's has moved; the mirror's stays then, too
 */
export async function removeRunBranch(
  { place, access }: MirrorOfRemote,
  { name, mirror, remote }: RunBranch,
): Promise<boolean> {
  if (remote !== null) {
    if (!(await removeRemoteBranch(place, access, name, remote))) return false;
    await deleteRef(place, trackingRef(name), remote);
  }
  if (mirror !== null) await deleteRef(place, localRef(name), mirror);
  return true;
}

/** A ref that has moved meanwhile stays. */
async function deleteRef(place: GitPlace, ref: string, commit: string): Promise<void> {
  await runGit(place, { args: ['update-ref', '-d', ref, commit], accept: [0, 1, 128] });
}
