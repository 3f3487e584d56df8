/** Remembers answers by their ETag, so that unchanged ones are neither sent again nor counted against the rate limit. */

export interface CachedAnswer {
  readonly etag: string;
  /** JSON; each reader gets a copy of its own. */
  readonly json: string;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly url: string;
}

const MAX_ANSWERS = 1_000;
/** A page of a hundred issues has about half a million characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Holds the answers that were used last, within both limits. */
export class AnswerCache {
  readonly #answers = new Map<string, CachedAnswer>();
  #characters = 0;

  /** @param key names the request with all that the answer depends on, except the token, which the forge itself compares */
  get(key: string): CachedAnswer | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) return undefined;
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    return answer;
  }

  put(key: string, answer: CachedAnswer): void {
    this.#drop(key);
    if (answer.json.length > MAX_CHARACTERS / 8) return;
    this.#answers.set(key, answer);
    this.#characters += answer.json.length;
    for (const [oldest] of this.#answers) {
      if (this.#answers.size <= MAX_ANSWERS && this.#characters <= MAX_CHARACTERS) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const answer = this.#answers.get(key);
    if (answer === undefined) return;
    this.#characters -= answer.json.length;
    this.#answers.delete(key);
  }
}
