/** Stores the progress of activities, from which the next attempt continues. */
import type { JsonValue } from '@autonomous/shared';
import type { Logger } from 'pino';
import type { EventStore, StoredActivity } from '../../event-store/event-store.ts';

export interface HeartbeatsOptions {
  readonly store: Pick<EventStore, 'heartbeat'>;
  readonly log: Logger;
  /** Takes secrets out of what is stored. */
  readonly scrub: <Value>(value: Value) => Value;
}

/** Stores what an activity says of its progress, one write at a time, the newest last. */
export class Heartbeats {
  last: JsonValue;
  readonly #options: HeartbeatsOptions;
  readonly #key: string;
  #next: { readonly attempt: number; readonly details: JsonValue } | null = null;
  #writing: Promise<boolean> | null = null;

  constructor(options: HeartbeatsOptions, { key, heartbeat }: Pick<StoredActivity, 'key' | 'heartbeat'>) {
    this.#options = options;
    this.#key = key;
    this.last = heartbeat;
  }

  /** @returns whether the details, or newer ones, are stored. Never rejects */
  keep(attempt: number, details: JsonValue): Promise<boolean> {
    this.last = details;
    this.#next = { attempt, details };
    return (this.#writing ??= this.#write());
  }

  async #write(): Promise<boolean> {
    let isStored = false;
    while (this.#next !== null) {
      const { attempt, details } = this.#next;
      this.#next = null;
      try {
        await this.#options.store.heartbeat(this.#key, attempt, this.#options.scrub(details));
        isStored = true;
      } catch (error) {
        isStored = false;
        // Progress may be lost, as with a crash: the next attempt begins further back.
        this.#options.log.warn({ err: error, key: this.#key }, 'the progress of an activity could not be stored');
      }
    }
    this.#writing = null;
    return isStored;
  }
}
