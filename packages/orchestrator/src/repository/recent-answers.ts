/** Answers that never change, such as the difference of two trees: the latest ones are kept, up to a weight of all together. */
export class RecentAnswers<Value> {
  readonly #maxWeight: number;
  readonly #weigh: (value: Value) => number;
  /** Least recently asked for first. */
  readonly #kept = new Map<string, { readonly value: Value; readonly weight: number }>();
  #weight = 0;

  /** @param weigh in the unit of `maxWeight`; at least 1 */
  constructor(maxWeight: number, weigh: (value: Value) => number) {
    this.#maxWeight = maxWeight;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    const known = this.#kept.get(key);
    if (known === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, known);
    return known.value;
  }

  /** An answer that is heavier than all that is kept together is not kept. */
  keep(key: string, value: Value): void {
    this.#drop(key);
    const weight = this.#weigh(value);
    if (weight > this.#maxWeight) return;
    this.#kept.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#kept.keys()) {
      if (this.#weight <= this.#maxWeight) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#weight -= this.#kept.get(key)?.weight ?? 0;
    this.#kept.delete(key);
  }
}
