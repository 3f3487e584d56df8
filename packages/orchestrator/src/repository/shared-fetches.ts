/**
 * Fetches of projects for those who wait a limited time. Who asks meanwhile waits for the same one. The first fetch of a project
 * goes on without anybody, since it may take minutes and would never come to its end otherwise.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Project } from '@autonomous/shared';
import type { Repository } from './repository.ts';

/** The fetch takes longer than its asker waits. */
export class StillFetching extends Error {}

interface UnderWay {
  readonly fetched: Promise<void>;
  readonly ending: AbortController;
  waiting: number;
}

export class SharedFetches {
  readonly #repository: Pick<Repository, 'fetch' | 'remoteHead'>;
  readonly #underWay = new Map<string, UnderWay>();
  readonly #stopping = new AbortController();

  constructor(repository: Pick<Repository, 'fetch' | 'remoteHead'>) {
    this.#repository = repository;
  }

  /**
   * @param patienceMs longest wait
   * @param branch that is needed: while nothing is known of it, the fetch goes on
   * @throws {StillFetching} after it @throws what the fetch fails with, and the reason of {@link stop}
   */
  async fetch(project: Project, patienceMs: number, branch = project.baseBranch): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    const known = this.#underWay.get(project.id);
    const underWay = known === undefined || known.ending.signal.aborted ? this.#begin(project) : known;
    const patience = new AbortController();
    const ended = AbortSignal.any([patience.signal, this.#stopping.signal]);
    const late = sleep(patienceMs, undefined, { signal: ended }).then(
      () => {
        throw new StillFetching(`It did not answer within ${patienceMs / 1_000} seconds.`);
      },
      () => this.#stopping.signal.throwIfAborted(),
    );
    underWay.waiting += 1;
    try {
      await Promise.race([underWay.fetched, late]);
    } finally {
      patience.abort();
      underWay.waiting -= 1;
      if (underWay.waiting === 0) await this.#endIfKnown(project, branch, underWay);
    }
  }

  /** Ends all fetches; who waits for one is given the reason at once. */
  stop(reason: Error): void {
    this.#stopping.abort(reason);
    for (const { ending } of this.#underWay.values()) ending.abort(reason);
  }

  /** Ends the fetch of a project whose mirror is not wanted any more. */
  async end({ id }: Pick<Project, 'id'>): Promise<void> {
    const underWay = this.#underWay.get(id);
    underWay?.ending.abort();
    await underWay?.fetched.catch(() => undefined);
  }

  #begin(project: Project): UnderWay {
    const ending = new AbortController();
    const fetched = this.#repository.fetch(project, ending.signal).finally(() => {
      if (this.#underWay.get(project.id) === underWay) this.#underWay.delete(project.id);
    });
    const underWay = { fetched, ending, waiting: 0 };
    this.#underWay.set(project.id, underWay);
    return underWay;
  }

  async #endIfKnown(project: Project, branch: string, underWay: UnderWay): Promise<void> {
    if (this.#underWay.get(project.id) !== underWay) return;
    const head = await this.#repository.remoteHead(project, branch).catch(() => null);
    if (head !== null && underWay.waiting === 0) underWay.ending.abort();
  }
}
