/**
 * Run slots: at most a given number of runs per user that carry out activities, and a queue for the others. Resumed runs are at the front
 * of the queue.
 */

export class RunSlots {
  readonly #limit: number;
  readonly #holders = new Map<string, Set<string>>();
  readonly #queues = new Map<string, string[]>();

  /** @param limit runs of one user that may carry out activities at the same time */
  constructor(limit: number) {
    this.#limit = limit;
  }

  hasRoom(userId: string): boolean {
    return this.#of(userId).size < this.#limit;
  }

  take(userId: string, runId: string): void {
    this.#of(userId).add(runId);
    this.leaveQueue(userId, runId);
  }

  release(userId: string, runId: string): void {
    this.#of(userId).delete(runId);
    this.leaveQueue(userId, runId);
  }

  /** @returns the position in the queue, from 1 */
  enqueue(userId: string, runId: string, front: boolean): number {
    this.#of(userId).delete(runId);
    const queue = this.#queue(userId);
    if (!queue.includes(runId)) queue.splice(front ? 0 : queue.length, 0, runId);
    return queue.indexOf(runId) + 1;
  }

  /** Position in the queue, from 1; `undefined` when the run is not queued. */
  positionOf(userId: string, runId: string): number | undefined {
    const index = this.#queue(userId).indexOf(runId);
    return index < 0 ? undefined : index + 1;
  }

  /** The run that is to be admitted next, when there is room for one. It takes the slot at once. */
  next(userId: string): string | undefined {
    if (!this.hasRoom(userId)) return undefined;
    const runId = this.#queue(userId).shift();
    if (runId !== undefined) this.#of(userId).add(runId);
    return runId;
  }

  #of(userId: string): Set<string> {
    let holders = this.#holders.get(userId);
    if (holders === undefined) this.#holders.set(userId, (holders = new Set()));
    return holders;
  }

  #queue(userId: string): string[] {
    let queue = this.#queues.get(userId);
    if (queue === undefined) this.#queues.set(userId, (queue = []));
    return queue;
  }

  leaveQueue(userId: string, runId: string): void {
    const queue = this.#queue(userId);
    const index = queue.indexOf(runId);
    if (index >= 0) queue.splice(index, 1);
  }
}
