/**
 * Removes branches of runs that ended long ago, now and then or when a person asks for it. What only such a branch leads to
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
import type { Logger } from 'pino';
import { isFinal } from '../core/advance.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { RECORD_BRANCH, type Repository, type RunBranch } from '../repository/repository.ts';
import type { Clock } from './clock.ts';

export interface BranchCleanerOptions {
  readonly store: Pick<EventStore, 'listProjects' | 'loadView'>;
  readonly repository: Pick<Repository, 'fetch' | 'isAncestor' | 'remoteHead' | 'removeRunBranch' | 'runBranches'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Branches of runs that ended earlier than this many days ago are removed; 0 keeps all. */
  readonly afterDays: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** A server that has just started has other things to do. */
const FIRST_AFTER_MS = 30 * 60_000;
const EVERY_MS = 24 * 60 * 60_000;
const PROJECTS_AT_ONCE = 100;
/** `autonomous/<run>-<slug>`; a run's id has two parts. */
const BRANCH = /^autonomous\/(?<run>[a-z0-9]+-[a-z0-9]+)(?:-|$)/;

export class BranchCleaner {
  readonly #options: BranchCleanerOptions;
  readonly #stopping = new AbortController();
  #cancelTimer: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(options: BranchCleanerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.afterDays > 0) this.#wakeIn(FIRST_AFTER_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    this.#cancelTimer?.();
    await this.#working;
  }

  /**
   * Removes the old branches of a project.
   * @throws {Unprocessable} naming why the remote cannot be read or does not allow it
   */
  async clean(project: Project, request: CleaningRequest): Promise<CleanedBranches> {
    try {
      return await this.#clean(project, request);
    } catch (error) {
      throw error instanceof NeedsHuman ? new Unprocessable(`${error.message}.`, { cause: error }) : error;
    }
  }

  async #clean(project: Project, { dryRun = false, afterDays }: CleaningRequest): Promise<CleanedBranches> {
    const { repository } = this.#options;
    const { signal } = this.#stopping;
    await repository.fetch(project, signal);
    const before = this.#endedBefore(afterDays ?? this.#options.afterDays);
    const removed: { branch: string; runId: string }[] = [];
    const kept: KeptBranch[] = [];
    for (const branch of await repository.runBranches(project)) {
      signal.throwIfAborted();
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
    const top = await this.#topOf(view);
    if (!isFinal(top.status)) return `run ${top.id}, to which the run belongs, has not ended`;
    if (before === null) return 'BRANCHES_AFTER_DAYS is 0: branches are kept for ever';
    if ((top.completedAt ?? top.updatedAt) >= before) return 'the run ended not long ago';
    return this.#whyNeeded(project, branch, view);
  }

  async #whyNeeded(project: Project, { mirror, remote }: RunBranch, view: RunView): Promise<string | null> {
    const baseBranch = view.config.git.baseBranch || project.baseBranch;
    const isIn = (commit: string | null, branch: string) => this.#isIn(project, commit, branch);
    const isMerged = await isIn(remote ?? mirror, baseBranch);
    if (remote !== null && !isMerged && view.config.git.createPR && view.status === 'completed' && !view.merged)
      return `it may have an open pull request, and ${baseBranch} does not contain it`;
    for (const commit of [remote, mirror])
      if (!(await isIn(commit, baseBranch)) && !(await isIn(commit, RECORD_BRANCH)))
        return commit === mirror && commit !== remote
          ? 'it has commits that are not on the remote'
          : `somebody pushed commits to it that neither ${baseBranch} nor ${RECORD_BRANCH} contains`;
    return null;
  }

  /** The run at the top of the tree of child runs. */
  async #topOf(view: RunView): Promise<RunView> {
    let top = view;
    while (top.parent !== undefined) {
      const parent = await this.#options.store.loadView(top.parent.runId);
      if (parent === null) return top;
      top = parent;
    }
    return top;
  }

  /** Whether a branch of the remote contains a commit; true where there is none. */
  async #isIn(project: Project, commit: string | null, branch: string): Promise<boolean> {
    if (commit === null) return true;
    const head = await this.#options.repository.remoteHead(project, branch);
    return head !== null && (await this.#options.repository.isAncestor(project, commit, head));
  }

  #wakeIn(ms: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#working = this.#work().finally(() => this.#wakeIn(EVERY_MS));
    });
  }

  /** A project whose remote does not answer is cleaned the next time. */
  async #work(): Promise<void> {
    const { store, log } = this.#options;
    let cursor: string | undefined;
    try {
      do {
        const page = await store.listProjects(cursor, PROJECTS_AT_ONCE);
        for (const project of page.items) {
          if (this.#stopping.signal.aborted) return;
          await this.clean(project, { dryRun: false }).then(
            ({ removed }) => {
              if (removed.length > 0) log.info({ projectId: project.id, removed }, 'old branches of runs were removed');
            },
            (error: unknown) =>
              log.warn({ err: error, projectId: project.id }, 'old branches of runs could not be removed'),
          );
        }
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    } catch (error) {
      log.warn({ err: error }, 'old branches of runs could not be removed; it is tried again');
    }
  }
}

const MOVED = 'somebody pushed to it in this moment';
