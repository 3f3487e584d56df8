/** Merging the run's branch into the base branch, and pushing that. */
import { NeedsHuman, type RunConfig, TerminalFailure } from '@autonomous/shared';
import { ownedPaths } from '../../documents/owned-files.ts';
import { harmlessMessage } from '../../documents/pull-request-text.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { assertAccepted } from '../evidence/concerns.ts';
import { outgoingCommit } from './outgoing.ts';
import { assertOwnChanges } from './own-changes.ts';
import { assertStands, findOwnMerge, mergeKey } from './own-merge.ts';
import { fetchRemote, pushRemote } from './remote.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';
import { refusedBase } from './ways-on.ts';

/** Input of `merge`. */
export type MergeInput = RunHeader & {
  readonly head: string;
  readonly baseCommit: string;
  readonly baseBranch: string;
  readonly strategy: RunConfig['git']['mergeStrategy'];
  /** Code tree that was validated; another one is never merged. */
  readonly codeTree: string;
  readonly title: string;
};

export type Merged =
  | { readonly merged: true; readonly commit: string; readonly strategy: string }
  /** The base moved since it was integrated. */
  | { readonly merged: false };

export function merge(tools: ActivityTools): Activity<MergeInput, Merged> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Merged> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const codeTree = await repository.codeTree(project, input.head);
      if (codeTree !== input.codeTree) {
        throw new TerminalFailure(
          `The branch ${input.branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`,
        );
      }
      // A squash onto a base that the head does not contain would undo what others did there.
      if (!(await repository.isAncestor(project, input.baseCommit, input.head))) return { merged: false };
      const earlier = await earlierMerge(tools, project, input);
      if (earlier !== null) return { merged: true, commit: earlier, strategy: input.strategy };
      await assertOwnChanges(tools, { ...input, project });
      const view = await tools.view(input.runId);
      const { baseCommit, head: result } = input;
      await assertAccepted(tools, { project, view, baseCommit, head: result, signal: context.signal });
      const head = await outgoingCommit(tools, context, { ...input, project, commit: input.head });
      const commit = await mergeCommit(tools, context, project, { ...input, head });
      const pushed = await pushRemote(tools, context, project, input.baseBranch, commit, input.baseCommit).catch(
        (error: unknown) => {
          const isRefusal = error instanceof NeedsHuman && error.reason === 'push_rejected';
          throw isRefusal ? refusedBase(error, { ...input, repository: project.repository }) : error;
        },
      );
      if (pushed.ok) return { merged: true, commit, strategy: input.strategy };
      // Pushed before a crash, and others went on from there?
      await fetchRemote(tools, context, project);
      const base = await repository.remoteHead(project, input.baseBranch);
      if (base !== null && (await repository.isAncestor(project, commit, base)))
        return { merged: true, commit, strategy: input.strategy };
      const onto =
        project.ownedFiles === undefined ? null : await mergedOnto(tools, context, project, { ...input, head });
      return onto === null ? { merged: false } : { merged: true, commit: onto, strategy: input.strategy };
    },
  };
}

/** Times that the base may move by engine-owned files alone while a result is merged. */
const OWNED_TRIES = 5;

/**
 * Merges onto a base that moved by commits of engine-owned files alone, which stay as they are there: the code that was
 * validated is still the code that is merged.
 * @returns the commit; `null` where the base has to be integrated first
 */
async function mergedOnto(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: MergeInput,
): Promise<string | null> {
  const { repository } = tools;
  const owned = ownedPaths(project.ownedFiles);
  const ofRun = new Set((await repository.changes(project, input.baseCommit, input.head)).map(({ path }) => path));
  for (let tries = 1; tries <= OWNED_TRIES; tries++) {
    const base = await repository.remoteHead(project, input.baseBranch);
    if (base === null || !(await repository.isAncestor(project, input.baseCommit, base))) return null;
    const known = await earlierMerge(tools, project, input);
    if (known !== null) return known;
    const moved = (await repository.changes(project, input.baseCommit, base)).map(({ path }) => path);
    if (input.strategy === 'ff' || !moved.every((path) => owned.has(path) && !ofRun.has(path))) return null;
    const tree = await repository.restorePaths(project, await repository.treeOf(project, input.head), base, moved);
    const commit = await mergeCommit(tools, context, project, { ...input, baseCommit: base }, tree);
    const pushed = await pushRemote(tools, context, project, input.baseBranch, commit, base);
    if (pushed.ok) return commit;
    await fetchRemote(tools, context, project);
  }
  return null;
}

/**
 * The commit by which the base as last fetched has this result merged already.
 * @throws {NeedsHuman} `merge_conflict` where it was reverted since
 */
async function earlierMerge(
  { repository }: ActivityTools,
  project: RemoteProject,
  input: MergeInput,
): Promise<string | null> {
  const { runId, head, baseBranch, baseCommit: since } = input;
  const base = await repository.remoteHead(project, baseBranch);
  const found = base === null ? null : await findOwnMerge(repository, project, { runId, head, since, base });
  if (base === null || found === null) return null;
  await assertStands(repository, project, input, { ...found, base });
  return found.commit;
}

/** The commit that the base branch is moved to: the same one for the same head and base, however often the merge is tried. */
async function mergeCommit(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: MergeInput,
  tree?: string,
): Promise<string> {
  if (input.strategy === 'ff') return input.head;
  const { repository } = tools;
  return repository.commit(project, {
    branch: `autonomous-merge/${input.runId}-${input.baseCommit.slice(0, 12)}-${input.head.slice(0, 12)}`,
    tree: tree ?? (await repository.treeOf(project, input.head)),
    parent: input.baseCommit,
    ...(input.strategy === 'merge' ? { secondParent: input.head } : {}),
    message: `${harmlessMessage(input.title)}\n\nRun: ${input.runId}\nBranch: ${input.branch}`,
    effectKey: mergeKey(input.runId, input.baseCommit, input.head),
    at: context.startedAt,
  });
}
