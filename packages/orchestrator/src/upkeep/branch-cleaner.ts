/**
 * Removes branches of runs that ended long ago. What only such a branch leads to
 * stays: all of its commits must be in the base branch or in the record, on the remote.
 */
import {
  type CleanedBranches,
  type CleaningRequest,
  type KeptBranch,
  NeedsHuman,
  type Project,
  type RunView,
  Unprocessable,
} from '@autonomous/shared';
import { isFinal } from '../core/advance.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type Repository, type RunBranch } from '../repository/repository.ts';
import type { Clock } from '../engine/clock.ts';
import { topOf } from '../engine/families/top-run.ts';

export interface BranchCleanerOptions {
  readonly store: Pick<EventStore, 'loadView'>;
  readonly repository: Pick<Repository, 'fetch' | 'isAncestor' | 'remoteHead' | 'removeRunBranch' | 'runBranches'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Branches of runs that ended earlier than this many days ago are removed; 0 keeps all. */
  readonly afterDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** Branches of runs can be removed themselves, and keep no commit of another one. */
const RUN_BRANCHES = 'autonomous/';
/** `autonomous/<run>-<slug>`; a run's id has two parts. */
const BRANCH = /^autonomous\/(?<run>[a-z0-9]+-[a-z0-9]+)(?:-|$)/;

export class BranchCleaner {
  readonly #options: BranchCleanerOptions;

  constructor(options: BranchCleanerOptions) {
    this.#options = options;
  }

  /**
   * Removes the old branches of a project.
   * @throws {Unprocessable} naming why the remote cannot be read or does not allow it
   */
  async clean(project: Project, request: CleaningRequest, signal?: AbortSignal): Promise<CleanedBranches> {
    try {
      return await this.#clean(project, request, signal);
    } catch (error) {
      throw error instanceof NeedsHuman ? new Unprocessable(`${error.message}.`, { cause: error }) : error;
    }
  }

  async #clean(
    project: Project,
    { dryRun = false, afterDays }: CleaningRequest,
    signal: AbortSignal | undefined,
  ): Promise<CleanedBranches> {
    const { repository } = this.#options;
    await repository.fetch(project, signal);
    const before = this.#endedBefore(afterDays ?? this.#options.afterDays);
    const removed: { branch: string; runId: string }[] = [];
    const kept: KeptBranch[] = [];
    for (const branch of await repository.runBranches(project)) {
      signal?.throwIfAborted();
      const runId = BRANCH.exec(branch.name)?.groups?.['run'] ?? null;
      const view = runId === null ? null : await this.#options.store.loadView(runId);
      const reason = await this.#whyKept(project, branch, view, before);
      const isGone = reason === null && (dryRun || (await repository.removeRunBranch(project, branch, signal)));
      if (isGone && view !== null) removed.push({ branch: branch.name, runId: view.id });
      else kept.push({ branch: branch.name, runId: view?.id ?? null, reason: reason ?? MOVED });
    }
    return { removed, kept };
  }

  /** ISO 8601; `null` where branches are kept for ever. */
  #endedBefore(days: number): string | null {
    return days === 0 ? null : new Date(this.#options.clock.now().getTime() - days * DAY_MS).toISOString();
  }

  /** @param before the run must have ended earlier; `null`: it is never old enough */
  async #whyKept(
    project: Project,
    branch: RunBranch,
    view: RunView | null,
    before: string | null,
  ): Promise<string | null> {
    const isOfRun = view?.projectId === project.id && [view.branch, view.published?.branch].includes(branch.name);
    if (view === null || !isOfRun) return 'no run of this project has this branch';
    if (!isFinal(view.status)) return 'the run has not ended';
    const top = await topOf(this.#options.store, view);
    if (!isFinal(top.status)) return `run ${top.id}, to which the run belongs, has not ended`;
    if (before === null) return 'BRANCHES_AFTER_DAYS is 0: branches are kept for ever';
    if ((top.completedAt ?? top.updatedAt) >= before) return 'the run ended not long ago';
    return this.#whyNeeded(project, branch, view);
  }

  /** The base branch that the run's own record names says only where its pull request goes: anybody who can push could have written it. */
  async #whyNeeded(project: Project, { mirror, remote }: RunBranch, view: RunView): Promise<string | null> {
    const { baseBranch } = project;
    const isInBase = async (commit: string | null): Promise<boolean> =>
      commit === null || (!baseBranch.startsWith(RUN_BRANCHES) && (await this.#isIn(project, commit, baseBranch)));
    const { git } = view.config;
    if (remote !== null && git.createPR && view.status === 'completed' && !view.merged && !(await isInBase(remote)))
      return `it may have an open pull request to ${git.baseBranch || baseBranch}, and ${baseBranch} does not contain it`;
    for (const commit of [remote, mirror])
      if (!(await isInBase(commit)) && !(await this.#isIn(project, commit, RECORD_BRANCH)))
        return commit === mirror && commit !== remote
          ? 'it has commits that are not on the remote'
          : `somebody pushed commits to it that neither ${baseBranch} nor ${RECORD_BRANCH} contains`;
    return null;
  }

  /** Whether a branch of the remote contains a commit; true where there is none. */
  async #isIn(project: Project, commit: string | null, branch: string): Promise<boolean> {
    if (commit === null) return true;
    const head = await this.#options.repository.remoteHead(project, branch);
    return head !== null && (await this.#options.repository.isAncestor(project, commit, head));
  }
}

const MOVED = 'somebody pushed to it in this moment';
