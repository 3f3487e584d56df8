/** Moves commits between a mirror and its remote: whole fetches, pushes by compare-and-swap, and the branch of the record. */
import { Conflict } from '@autonomous/shared';
import { type GitPlace, gitText, runGit } from './git.ts';
import { type Author, commitTree } from './git-commits.ts';
import type { GitMirrors, MirrorOfRemote } from './git-mirrors.ts';
import {
  assertCommit,
  forwardBranch,
  ignoreConflict,
  isAncestor,
  localRef,
  moveRef,
  readRef,
  trackingRef,
} from './git-refs.ts';
import { fetchBranches, fetchClonedBranches, listRemote, pushCommit } from './git-remote.ts';
import type { KnownTrees } from './known-trees.ts';
import type { RecordRefs } from './record-branch.ts';
import { recordsOfRemote, type YearRefs } from './record-years.ts';
import { isRecordBranch, type PushResult, RECORD_BRANCH, recordBranchOf, type RemoteProject } from '../repository.ts';
import { assertObjectId } from '../repository-paths.ts';

/**
 * Fetches branches of the remote, one fetch of a project at a time.
 * @param branch all of them when absent
 * @param signal ends the wait, for an earlier fetch too, which may take minutes
 */
export async function fetchInTurn(
  mirrors: GitMirrors,
  project: RemoteProject,
  { place, access }: MirrorOfRemote,
  branch?: string,
  signal?: AbortSignal,
): Promise<void> {
  await mirrors.turns.take(`fetch ${project.id}`, () => fetchBranches(place, access, branch), signal);
}

/**
 * Pushes a commit to a branch of the remote, never by force over unknown work.
 * @param expected what the remote branch must be at; `null` when it must not exist
 * @returns not ok, with the remote's commit, when the branch is elsewhere
 * @throws {Conflict} when `commit` does not contain `expected`
 */
export async function pushBranch(
  { place, access }: MirrorOfRemote,
  branch: string,
  commit: string,
  expected: string | null,
): Promise<PushResult> {
  await assertCommit(place, commit);
  if (expected !== null && !(await isAncestor(place, assertObjectId(expected), commit))) {
    throw new Conflict(
      `${commit} does not contain ${expected}, where ${branch} is expected to be; a push only adds to a branch`,
    );
  }
  const tracking = trackingRef(branch);
  const before = await readRef(place, tracking);
  const pushed = await pushCommit(place, access, branch, commit, expected);
  if (pushed.outcome === 'moved') return { ok: false, remoteCommit: pushed.remoteCommit };
  // Update the tracking ref without fetching. When a concurrent fetch has already moved it, its value stays.
  await moveRef(place, tracking, commit, before).catch(ignoreConflict);
  return { ok: true };
}

/** Brings what the mirror knows of the remote's record up to date. @returns its commit; `null` when the remote has no record */
export async function fetchRecord(
  mirrors: GitMirrors,
  project: RemoteProject,
  signal?: AbortSignal,
): Promise<string | null> {
  const remote = await mirrors.withRemote(project, signal);
  const { branches } = await listRemote(remote.place, remote.access);
  const commit = branches.get(RECORD_BRANCH) ?? null;
  if (commit === null) await forgetRecord(remote.place);
  const known = await recordsOfRemote(remote.place);
  const isNew = [...branches].some(([name, head]) => isRecordBranch(name) && known.get(name) !== head);
  // Run branches of such a name come along.
  if (isNew) await fetchInTurn(mirrors, project, remote, `${RECORD_BRANCH}*`, signal);
  return commit;
}

/** Beside a branch of the remote that is called `autonomous` there is none, and git refuses even to remove it. */
async function forgetRecord(place: GitPlace): Promise<void> {
  const ref = trackingRef(RECORD_BRANCH);
  if ((await readRef(place, ref)) !== null) await runGit(place, { args: ['update-ref', '-d', ref] });
}

/**
 * Brings the branches of a copy of the remote into the mirror. A clone gives its remote branches, because its own may be older. Its own
 * record branch is used when it contains the remote's, as after a repair by hand.
 * @returns the commit of the record; `null` when the copy has none
 */
export async function fetchCopy(
  mirrors: GitMirrors,
  { id }: Pick<RemoteProject, 'id'>,
  from: string,
): Promise<string | null> {
  const project = { id, repository: from, baseBranch: '' };
  const remote = await mirrors.withRemote(project);
  await mirrors.turns.take(`fetch ${id}`, () => fetchBranches(remote.place, remote.access));
  if (remote.access.address.kind === 'local') {
    const own = await recordsOfRemote(remote.place);
    await mirrors.turns.take(`fetch ${id}`, () => fetchClonedBranches(remote.place, remote.access));
    for (const [branch, commit] of await recordsOfRemote(remote.place)) {
      const repaired = own.get(branch) ?? commit;
      if (repaired !== commit && (await isAncestor(remote.place, commit, repaired)))
        await moveRef(remote.place, trackingRef(branch), repaired, commit);
    }
  }
  const record = await readRef(remote.place, trackingRef(RECORD_BRANCH));
  if (record !== null) await forwardBranch(remote.place, RECORD_BRANCH, record);
  return record;
}

/** Access of {@link recordFiles} to a mirror and its remote. @param by author and date of the record's commits */
export function recordRefs(
  mirrors: GitMirrors,
  project: RemoteProject,
  remote: MirrorOfRemote,
  trees: KnownTrees,
  by: { readonly author: Author; readonly at: Date },
): RecordRefs {
  const { place } = remote;
  const local = localRef(RECORD_BRANCH);
  return {
    localHead: () => readRef(place, local),
    remoteHead: () => readRef(place, trackingRef(RECORD_BRANCH)),
    treeOf: (commit) => trees.treeOf(place, commit),
    commonRecord: (a, b) => commonRecord(place, a, b),
    gatheredSince: (commit, common) => gatheredSince(place, commit, common),
    isAncestor: (a, b) => isAncestor(place, a, b),
    commitTree: (tree, parents, text) => commitTree(place, by, tree, parents, `${text.trimEnd()}\n`),
    moveLocal: (commit, before) => moveRef(place, local, commit, before),
    push: (commit, expected) => pushBranch(remote, RECORD_BRANCH, commit, expected),
    refresh: async (remoteCommit) => {
      if (remoteCommit === null) await forgetRecord(place);
      else await fetchInTurn(mirrors, project, remote, RECORD_BRANCH);
    },
  };
}

/** Access of {@link moveRecord} to a mirror and its remote. @param by author and date of the record's commits */
export function yearRefs(
  remote: MirrorOfRemote,
  trees: KnownTrees,
  by: { readonly author: Author; readonly at: Date },
): YearRefs {
  const { place } = remote;
  const branchOf = (year: string | null): string => (year === null ? RECORD_BRANCH : recordBranchOf(year));
  return {
    localHead: () => readRef(place, localRef(RECORD_BRANCH)),
    remoteHead: (year) => readRef(place, trackingRef(branchOf(year))),
    treeOf: (commit) => trees.treeOf(place, commit),
    isAncestor: (a, b) => isAncestor(place, a, b),
    commitTree: (tree, parents, text) => commitTree(place, by, tree, parents, `${text}\n`),
    push: (year, commit, expected) => pushBranch(remote, branchOf(year), commit, expected),
    moveLocal: (commit, before) => moveRef(place, localRef(RECORD_BRANCH), commit, before),
  };
}

/** The newest commit that both records have. A record's own history are its first parents: the others are commits of runs. */
async function commonRecord(place: GitPlace, a: string, b: string): Promise<string | null> {
  if (a === b) return a;
  const historyOf = async (commit: string): Promise<readonly string[]> =>
    (await gitText(place, { args: ['rev-list', '--first-parent', '--end-of-options', commit] })).split('\n');
  const [ours, theirs] = await Promise.all([historyOf(a), historyOf(b)]);
  const known = new Set(theirs);
  return ours.find((commit) => commit !== '' && known.has(commit)) ?? null;
}

async function gatheredSince(place: GitPlace, commit: string, common: string | null): Promise<readonly string[]> {
  const range = common === null ? [commit] : [commit, `^${common}`];
  const text = await gitText(place, { args: ['rev-list', '--first-parent', '--parents', ...range] });
  // Each line has a commit, then its parents: the first is the record before it.
  return text.split('\n').flatMap((line) => line.split(' ').slice(2));
}
