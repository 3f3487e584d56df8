/** Has the mirrors of all projects packed now and then; what open runs know stays in them. */
import type { Logger } from 'pino';
import type { EventStore } from '../event-store/event-store.ts';
import type { Repository } from '../repository/repository.ts';
import type { Clock } from '../engine/clock.ts';

export interface MirrorKeeperOptions {
  readonly store: Pick<EventStore, 'listProjects' | 'listOpenRuns' | 'readHistory'>;
  readonly repository: Pick<Repository, 'pack'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A server that has just started has other things to do. */
const FIRST_AFTER_MS = 10 * 60_000;
const EVERY_MS = 6 * 60 * 60_000;
const PROJECTS_AT_ONCE = 100;
const EVENTS_AT_ONCE = 1_000;
/** How git writes the id of an object. */
const OBJECT_ID = /\b[0-9a-f]{40}\b/g;

export class MirrorKeeper {
  readonly #options: MirrorKeeperOptions;
  #cancelTimer: (() => void) | null = null;
  #stopped = false;

  constructor(options: MirrorKeeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#wakeIn(FIRST_AFTER_MS);
  }

  /** A mirror that is being packed is not waited for: its process ends with the server, and leaves the mirror whole. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #wakeIn(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#options.clock.after(ms, () => void this.#work().finally(() => this.#wakeIn(EVERY_MS)));
  }

  async #work(): Promise<void> {
    const { store, repository, log } = this.#options;
    try {
      let cursor: string | undefined;
      do {
        const page = await store.listProjects(cursor, PROJECTS_AT_ONCE);
        for (const project of page.items) {
          if (this.#stopped) return;
          await repository
            .pack(project, () => this.#known(project.id))
            .catch((error: unknown) => log.warn({ err: error, projectId: project.id }, 'a mirror could not be packed'));
        }
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    } catch (error) {
      log.warn({ err: error }, 'the mirrors could not be packed; it is tried again');
    }
  }

  /** Ids of commits and trees that the log of an open run names: a tree that an agent left is in no commit yet. */
  async #known(projectId: string): Promise<ReadonlySet<string>> {
    const { store } = this.#options;
    const known = new Set<string>();
    for (const run of await store.listOpenRuns()) {
      if (run.projectId !== projectId) continue;
      for (let after = 0; ;) {
        const events = await store.readHistory(run.id, after, EVENTS_AT_ONCE);
        for (const { payload } of events) {
          for (const [id] of JSON.stringify(payload).matchAll(OBJECT_ID)) known.add(id);
        }
        const last = events.at(-1);
        if (!last || events.length < EVENTS_AT_ONCE) break;
        after = last.sequence;
      }
    }
    return known;
  }
}
