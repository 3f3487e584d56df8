/** Message inbox: messages of people to a run while one of its agents works. */
import { isEvent } from '@autonomous/shared';
import type { ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';

export interface PersonMessage {
  readonly by: string;
  readonly text: string;
}

/**
 * The messages of the log that an activity was not started with, each given once. What stands before is among the notes of its
 * input; after a crash the activity begins anew and is given all of them again.
 */
export class MessageInbox {
  readonly #events: ActivityTools['events'];
  readonly #runId: string;
  #after: number;

  constructor(tools: Pick<ActivityTools, 'events'>, { key, runId }: Pick<ActivityContext, 'key' | 'runId'>) {
    this.#events = tools.events;
    this.#runId = runId;
    this.#after = startOf(key);
  }

  /** Messages that came since the last call, or since the activity began, oldest first. */
  readonly poll = async (): Promise<readonly PersonMessage[]> => {
    const events = await this.#events(this.#runId, this.#after);
    this.#after = events.at(-1)?.sequence ?? this.#after;
    return events.flatMap((event) =>
      isEvent(event, 'MESSAGE_SENT') ? [{ by: event.payload.by, text: event.payload.text }] : [],
    );
  };
}

/** Sequence of the input that started an activity, from its key. */
export function startOf(key: string): number {
  const sequence = Number(key.split('/')[1]);
  if (!Number.isSafeInteger(sequence)) throw new Error(`${key} is not an activity key`);
  return sequence;
}
