/** Finds the child runs that are merged into a branch, by the keys of the merge commits, and checks each against its run. */
import { type AcceptedConcern, NotFound, type RunView, TerminalFailure } from '@autonomous/shared';
import type { BranchCommit, RemoteProject } from '../repository/repository.ts';
import type { ActivityTools } from './tools.ts';

/** A child run that has completed with commits of its own. */
export interface MergedChild {
  readonly runId: string;
  readonly request: string;
  readonly baseCommit: string;
  readonly head: string;
  /** ISO 8601. */
  readonly endedAt: string;
  readonly accepted: readonly AcceptedConcern[];
  /** Engine-owned files that its own workflow declares. */
  readonly ownedPaths: readonly string[];
}

/** Name in the keys of commits that give a child's plans numbers that its siblings have not taken. */
export const NUMBERING = 'numberPlans';

/** Second part of the keys of commits of engine-owned files. */
export const OWNED = 'owned';

/** Key of the merge of a child, the same for every attempt. */
export function effectKeyOfChild(runId: string, childId: string): string {
  return `${runId}/child/${childId}`;
}

/** @throws {TerminalFailure} where it is no child run of the run, has not completed, or has no commit */
export async function childHead(
  tools: Pick<ActivityTools, 'view'>,
  runId: string,
  childId: string,
): Promise<MergedChild> {
  const view = await tools.view(childId);
  if (!(await isChildOf(tools, view, runId)))
    throw new TerminalFailure(`Run ${childId} is not a child run of ${runId}.`);
  const child = mergedChildOf(view);
  if (child === null)
    throw new TerminalFailure(`Child run ${childId} is ${view.status} and has no commit that could be merged.`);
  return child;
}

/** The child that a commit takes in, with the commit that gives its plans other numbers as its head where there is one; `null` for a commit that takes in something else, or nothing. */
export async function childTakenInBy(
  tools: Pick<ActivityTools, 'view' | 'repository'>,
  project: RemoteProject,
  { effectKey, parents }: Pick<BranchCommit, 'effectKey' | 'parents'>,
): Promise<MergedChild | null> {
  const [runId, kind, childId] = effectKey?.split('/') ?? [];
  const [, taken] = parents;
  if (kind !== 'child' || childId === undefined || taken === undefined) return null;
  const view = await tools.view(childId);
  const child = runId !== undefined && (await isChildOf(tools, view, runId)) ? mergedChildOf(view) : null;
  if (child === null || child.head === taken) return child;
  const [numbering, ...more] = await tools.repository.commitsBetween(project, child.head, taken);
  const [ofRun, , activity] = numbering?.effectKey?.split('/') ?? [];
  const isNumbered =
    more.length === 0 && numbering?.parents[0] === child.head && ofRun === childId && activity === NUMBERING;
  return isNumbered ? { ...child, head: taken } : null;
}

/** Concerns that people accepted in a run and in the child runs that are merged into its branch. Each holds for exact contents. */
export async function acceptedConcernsOf(
  tools: Pick<ActivityTools, 'view' | 'repository'>,
  project: RemoteProject,
  accepted: readonly AcceptedConcern[],
  range: { readonly baseCommit: string; readonly head: string },
): Promise<readonly AcceptedConcern[]> {
  const all = [...accepted];
  for (const commit of await tools.repository.commitsBetween(project, range.baseCommit, range.head)) {
    const child = await childTakenInBy(tools, project, commit);
    if (child !== null) all.push(...(await acceptedConcernsOf(tools, project, child.accepted, child)));
  }
  return all;
}

/** Lists a run and those that it was forked from, one after the other, up to one that the server does not have. */
export async function withSources({ view }: Pick<ActivityTools, 'view'>, runId: string): Promise<readonly RunView[]> {
  const line = new Map<string, RunView>();
  // A record from elsewhere may let runs be forks of each other.
  for (let id: string | undefined = runId; id !== undefined && !line.has(id);) {
    const found: RunView | null = await view(id).catch((error: unknown) => {
      if (error instanceof NotFound) return null;
      throw error;
    });
    if (found === null) break;
    line.set(id, found);
    id = found.forkedFrom?.runId;
  }
  return [...line.values()];
}

/** True for a child of the run or, in a fork, of the run that it was forked from: children that had ended there belong to both. */
async function isChildOf(tools: Pick<ActivityTools, 'view'>, { parent }: RunView, runId: string): Promise<boolean> {
  if (parent === undefined || parent.runId === runId) return parent !== undefined;
  return (await withSources(tools, runId)).some(({ id }) => id === parent.runId);
}

function mergedChildOf(view: RunView): MergedChild | null {
  const { id, status, originalRequest, baseCommit, headCommit, completedAt, updatedAt, acceptedConcerns = [] } = view;
  const { paths: ownedPaths = [] } = view.ownedFiles ?? {};
  if (status !== 'completed' || baseCommit === undefined || headCommit === undefined) return null;
  const endedAt = completedAt ?? updatedAt;
  return {
    runId: id,
    request: originalRequest,
    baseCommit,
    head: headCommit,
    endedAt,
    accepted: acceptedConcerns,
    ownedPaths,
  };
}
