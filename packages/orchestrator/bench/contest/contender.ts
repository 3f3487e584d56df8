/**
 * Interface of an engine under measurement, and the work that each one performs: a plan of 1 KB, an approval by a
 * person, an implementation of 4 KB, a validation. Adapters call `workload` from inside their steps. The steps run in
 * the measuring process, so that it knows when a step really began.
 */
import { createHash } from 'node:crypto';

export interface Contender {
  /** Creates a run and carries its plan out; resolves once it durably waits for the approval. */
  start(id: string): Promise<void>;
  /** Approves a run that waits, of this process or of one that was killed; resolves once it is durably completed. */
  approve(id: string): Promise<void>;
  /** One run of so many steps, each of which adds what `workload.grow` gives to the run's state; resolves at its end. */
  grow(id: string, steps: number): Promise<void>;
  /** Processes that work for the engine beside this one. */
  processes?(): readonly number[];
  /** Bytes that all runs take, after a checkpoint. Absent: the folder's files are counted after `close`; `null`: they say nothing. */
  readonly bytesOnDisk?: (() => Promise<number>) | null;
  close(): Promise<void>;
}

/** Where a contender keeps its data, and how it was set. */
export interface Place {
  readonly folder: string;
  /** Whether an earlier process left runs there that are to go on. */
  readonly resumed: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

/** What the module of an adapter exports. */
export type OpenContender = (place: Place) => Promise<Contender>;

/** Texts that no compression makes smaller than half; enough different ones that a database does not see the same again. */
const TEXTS = 64;
const PLANS = Array.from({ length: TEXTS }, (_, index) => textOf(`plan ${index}`, 1_024));
const IMPLEMENTATIONS = Array.from({ length: TEXTS }, (_, index) => textOf(`implementation ${index}`, 4_096));
const VERDICT = 'pass';

/** What the steps of all contenders do. */
export class Workload {
  /** Milliseconds of `performance.now()` at which a run's implementation first began. */
  readonly implementedAt = new Map<string, number>();
  /** The same for each step of the growing run. */
  readonly grownAt: number[] = [];
  readonly #validated = new Map<string, () => void>();
  #next = 0;

  plan(_id: string): string {
    return this.#textOf(PLANS);
  }

  implement(id: string): string {
    if (!this.implementedAt.has(id)) this.implementedAt.set(id, performance.now());
    return this.#textOf(IMPLEMENTATIONS);
  }

  validate(id: string): string {
    this.#validated.get(id)?.();
    this.#validated.delete(id);
    return VERDICT;
  }

  grow(): string {
    this.grownAt.push(performance.now());
    return this.#textOf(PLANS);
  }

  /** Resolves when a run is in its last step, for engines that tell of a run's end only to those who ask again and again. */
  validated(id: string): Promise<void> {
    return new Promise((resolve) => this.#validated.set(id, resolve));
  }

  /** @throws when a run ended in another way than it should */
  static check(id: string, verdict: unknown): void {
    if (verdict !== VERDICT)
      throw new Error(`Run ${id} ended with ${JSON.stringify(verdict)} instead of '${VERDICT}'.`);
  }

  #textOf(texts: readonly string[]): string {
    this.#next = (this.#next + 1) % texts.length;
    return texts[this.#next] ?? '';
  }
}

export const workload = new Workload();

/** Text that looks random, the same at each start. */
function textOf(seed: string, length: number): string {
  let text = '';
  for (let part = 0; text.length < length; part++)
    text += createHash('sha256').update(`${seed} ${part}`).digest('base64');
  return text.slice(0, length);
}
