/** Refs and commits of a mirror: where a branch is, whether a commit is known, and moves by compare-and-swap. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Conflict, NotFound } from '@autonomous/shared';
import { GitFailure, type GitPlace, gitText, objectFacts, runGit } from './git.ts';
import { assertBranchName, assertObjectId } from '../repository-paths.ts';

/** Tries to move one ref while others get in the way, and the wait after the first; it grows with each. */
const MAX_REF_TRIES = 6;
const REF_RETRY_MS = 30;

/** Ref of a branch of the mirror. @throws {InvalidRequest} for a name that is not used */
export function localRef(branch: string): string {
  return `refs/heads/${assertBranchName(branch)}`;
}

/** Ref of a branch of the remote, as last fetched. @throws {InvalidRequest} for a name that is not used */
export function trackingRef(branch: string): string {
  return `refs/remotes/origin/${assertBranchName(branch)}`;
}

/** The commit that a ref is at; `null` when there is no such ref. */
export async function readRef(place: GitPlace, ref: string): Promise<string | null> {
  const [object] = DESCRIPTION.test(ref) ? [] : await objectFacts(place, [ref]);
  if (object) return object.oid;
  // A ref whose object is lost is still there.
  const answer = await gitText(place, { args: ['for-each-ref', '--format=%(objectname) %(refname)', '--', ref] });
  return (
    answer
      .split('\n')
      .find((line) => line.endsWith(` ${ref}`))
      ?.split(' ', 1)[0] ?? null
  );
}

/** Git takes such a name for the words of `git describe`, and so for another commit, where it has no ref of that name. */
const DESCRIPTION = /-g[0-9a-f]{4,}$/i;

/**
 * Moves a ref by compare-and-swap. Where others move it at the same moment git may fail although the ref is still where it
 * was (a lock, a folder that is being made): that is tried again.
 * @throws {Conflict} when the ref is not at `before` (`null`: absent)
 */
export async function moveRef(place: GitPlace, ref: string, commit: string, before: string | null): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await runGit(place, { args: ['update-ref', ref, commit, before ?? '0'.repeat(40)] });
      return;
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      const now = await readRef(place, ref);
      if (now !== before || /exists; cannot create/.test(error.stderr)) {
        throw new Conflict(
          `${ref} is at ${now ?? 'no commit'}, not at ${before ?? 'no commit'} where it was expected`,
          {
            cause: error,
          },
        );
      }
      if (tries === MAX_REF_TRIES) throw error;
      await sleep(REF_RETRY_MS * tries);
    }
  }
}

export function ignoreConflict(error: unknown): void {
  if (!(error instanceof Conflict)) throw error;
}

/**
 * Creates a branch; nothing happens when it is already there at this commit or a descendant of it.
 * @throws {Conflict} when it is elsewhere
 */
export async function createBranch(place: GitPlace, branch: string, commit: string): Promise<void> {
  const ref = localRef(branch);
  await assertCommit(place, commit);
  if ((await readRef(place, ref)) === null) await moveRef(place, ref, commit, null).catch(ignoreConflict);
  const head = await readRef(place, ref);
  if (head === null || !(await isAncestor(place, commit, head))) {
    throw new Conflict(`Branch ${branch} is already at ${head}, which does not contain ${commit}`);
  }
}

/** Moves a branch to a descendant of its head, or creates it; one that is elsewhere, or further, stays. */
export async function forwardBranch(place: GitPlace, branch: string, commit: string): Promise<void> {
  const ref = localRef(branch);
  await assertCommit(place, commit);
  const head = await readRef(place, ref);
  if (head !== null && !(await isAncestor(place, head, commit))) return;
  if (head !== commit) await moveRef(place, ref, commit, head).catch(ignoreConflict);
}

/** @throws {NotFound} when the mirror does not have the commit */
export async function assertCommit(place: GitPlace, commit: string): Promise<void> {
  const [object] = await objectFacts(place, [`${assertObjectId(commit)}^{commit}`]);
  if (!object) throw new NotFound(`The mirror has no commit ${commit}; fetch the project, or choose another`);
}

/** The commits and trees among these ids that the mirror has. */
export async function kindsOf(
  place: GitPlace,
  ids: readonly string[],
): Promise<ReadonlyMap<string, 'commit' | 'tree'>> {
  const objects = await objectFacts(place, ids.map(assertObjectId));
  return new Map(
    ids.flatMap((id, index) => {
      const type = objects[index]?.type;
      return type === 'commit' || type === 'tree' ? [[id, type]] : [];
    }),
  );
}

/** Those of these commits that the mirror does not have. */
export async function missingCommits(place: GitPlace, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const objects = await objectFacts(place, commits.map(assertObjectId));
  return new Set(commits.filter((_, index) => objects[index]?.type !== 'commit'));
}

/** A best common ancestor of two commits that the mirror has; `null` where they have none. */
export async function mergeBase(place: GitPlace, one: string, other: string): Promise<string | null> {
  const found = await runGit(place, { args: ['merge-base', one, other], dependsOn: [one, other], accept: [0, 1] });
  return found.exitCode === 0 ? found.stdout.toString('utf8').trim() : null;
}

/** @throws {NotFound} when the mirror does not have one of the commits */
export async function isAncestor(place: GitPlace, ancestor: string, descendant: string): Promise<boolean> {
  const { exitCode } = await runGit(place, {
    args: ['merge-base', '--is-ancestor', ancestor, descendant],
    dependsOn: [ancestor, descendant],
    accept: [0, 1, 128],
  });
  if (exitCode <= 1) return exitCode === 0;
  await Promise.all([assertCommit(place, ancestor), assertCommit(place, descendant)]);
  throw new Error(`git cannot compare ${ancestor} with ${descendant}`);
}
