/** Faults of the server's credentials for the forge, for the log and for the notices of the projects there. */
import type { Project } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { Clock } from '../engine/clock.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Forge } from '../forges/forge.ts';
import { projectsAtForge } from './forge.ts';

export interface ForgeFindingsOptions {
  /** `null` where the server has no credentials for one; nothing is found then. */
  readonly forge: Pick<Forge, 'repositoryAt' | 'examine'> | null;
  readonly store: Pick<EventStore, 'listProjects'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Credentials may be replaced while the server runs. */
const AGAIN_MS = 60 * 60_000;

export class ForgeFindings {
  readonly #options: ForgeFindingsOptions;
  readonly #stopped = new AbortController();
  #notices: readonly string[] = [];
  /** Time of the clock, ms. */
  #looksAgainAt = 0;

  constructor(options: ForgeFindingsOptions) {
    this.#options = options;
  }

  /** Looks where a project lies at the forge. Not to be awaited by the start. */
  async start(): Promise<void> {
    const { store, forge, log } = this.#options;
    try {
      if ((await projectsAtForge(store, forge)).length > 0) await this.#look();
    } catch (error) {
      log.warn(
        { err: error },
        'the projects could not be read, so that the credentials for the forge were not examined',
      );
    }
  }

  stop(): void {
    this.#stopped.abort(new Error('the server stops'));
  }

  /** One sentence for each fault, where the project lies at the forge. Looks again in the background after an hour. */
  noticesOf({ repository }: Pick<Project, 'repository'>): readonly string[] {
    const { forge } = this.#options;
    if (forge === null || forge.repositoryAt(repository) === null) return [];
    void this.#look();
    return this.#notices;
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { forge, clock, log } = this.#options;
    const now = clock.now().getTime();
    if (forge === null || now < this.#looksAgainAt) return;
    this.#looksAgainAt = now + AGAIN_MS;
    try {
      const { account, findings } = await forge.examine(null, this.#stopped.signal);
      // A forge that cannot be reached says nothing of the credentials.
      const told = findings.filter(({ weight }) => account !== null || weight === 'stops');
      const notices = told.map(({ text, way }) => `${text}. Way out: ${way.replace(/\.$/, '')}.`);
      for (const notice of notices) if (!this.#notices.includes(notice)) log.warn(notice);
      this.#notices = notices;
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        log.warn({ err: error }, 'the credentials for the forge could not be examined');
    }
  }
}
