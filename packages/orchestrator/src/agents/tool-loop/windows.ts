/**
 * The windows of models as their providers' answers show them. What a server knows of a model beforehand may be missing or wrong: a local
 * server was started with less, a gateway takes less in a minute.
 */
import type { CallUsage, ResolvedModel } from '../../models/model.ts';

/** Part of a request that was too long of which the next guess is made, where nobody says the limit. */
const GUESSED_SHARE = 0.9;

/** A server that leaves out what was said first has at least so large a window. Smaller counts are no counts. */
const LEAST_CUT = 2_000;

export class Windows {
  readonly #learned = new Map<string, number>();

  /** Tokens of a request and its answer together; `null`: not known. */
  of({ id, windowTokens = Number.POSITIVE_INFINITY }: ResolvedModel): number | null {
    const window = Math.min(this.#learned.get(id) ?? Number.POSITIVE_INFINITY, windowTokens);
    return Number.isFinite(window) ? window : null;
  }

  /**
   * Takes in that a request was refused as too long.
   * @param tokens estimate of the request
   * @param most limit that the provider named; `null`: none
   * @returns the window as it is taken to be now
   */
  refused(model: ResolvedModel, tokens: number, most: number | null): number {
    const known = this.of(model) ?? Number.POSITIVE_INFINITY;
    const window = most !== null && most < known ? most : Math.floor(Math.min(tokens, known) * GUESSED_SHARE);
    this.#learned.set(model.id, window);
    return window;
  }

  /**
   * Takes in the count of a request that was answered.
   * @param isWhole false: the server left out the beginning, so that its window ends there
   * @returns a window that was not known before; `null`: none
   */
  answered(model: ResolvedModel, { inputTokens }: CallUsage, isWhole: boolean): number | null {
    const learned = this.#learned.get(model.id);
    if (learned !== undefined && inputTokens > learned) this.#learned.delete(model.id);
    // Providers whose window is known refuse; a shorter count there is thinking that they leave out.
    if (isWhole || inputTokens < LEAST_CUT || this.of(model) !== null) return null;
    this.#learned.set(model.id, inputTokens);
    return inputTokens;
  }
}
