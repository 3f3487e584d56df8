/** Upkeep of every project, once a day: what fails for one project is told in the log and holds up no other. */
import type { Project } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../engine/clock.ts';

/** Work for a project. @returns what was done, in words for the log; `null` when there was nothing to do */
export type UpkeepTask = (project: Project, signal: AbortSignal) => Promise<string | null>;

export interface DailyUpkeepOptions {
  readonly store: Pick<EventStore, 'listProjects'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** In this order for each project. */
  readonly tasks: readonly UpkeepTask[];
}

/** A server that has just started has other things to do. */
const FIRST_AFTER_MS = 30 * 60_000;
const EVERY_MS = 24 * 60 * 60_000;
const PROJECTS_AT_ONCE = 100;

export class DailyUpkeep {
  readonly #options: DailyUpkeepOptions;
  readonly #stopping = new AbortController();
  #cancelTimer: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(options: DailyUpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#wakeIn(FIRST_AFTER_MS);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server stops'));
    this.#cancelTimer?.();
    await this.#working;
  }

  #wakeIn(ms: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#working = this.#work().finally(() => this.#wakeIn(EVERY_MS));
    });
  }

  async #work(): Promise<void> {
    const { store, log } = this.#options;
    try {
      let cursor: string | undefined;
      do {
        const page = await store.listProjects(cursor, PROJECTS_AT_ONCE);
        for (const project of page.items) await this.#keepUp(project);
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    } catch (error) {
      log.warn({ err: error }, 'the daily upkeep of the projects ended early; it is tried again tomorrow');
    }
  }

  async #keepUp(project: Project): Promise<void> {
    const { log, tasks } = this.#options;
    const { signal } = this.#stopping;
    for (const task of tasks) {
      if (signal.aborted) return;
      try {
        const done = await task(project, signal);
        if (done !== null) log.info({ projectId: project.id }, done);
      } catch (error) {
        if (signal.aborted) return;
        const why = error instanceof Error ? error.message : String(error);
        log.warn({ err: error, projectId: project.id }, `a part of the daily upkeep failed: ${why}`);
      }
    }
  }
}
