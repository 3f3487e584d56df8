/**
 * Results of the checks on code trees, kept under the server's data. Runs that start from the same tree in the same
 * environment share one result. An entry is written once and whole. The oldest entries make room for new ones.
 */
import type { CheckedBefore } from '../../project-analysis/failing-before.ts';
import { KeptEntries } from './kept-entries.ts';

/** Names of tests are those of the report; empty where they are not known. */
export interface KnownBaseline extends CheckedBefore {
  /** Files that hold tests, from the project's root. */
  readonly files: readonly string[];
  /** Modules that Python finds outside of the project; absent where no runner of Python ran. */
  readonly installed?: readonly string[];
  /** Id of the run that made the entry. Absent: it is the evidence of a result, kept for runs that start from that. */
  readonly madeBy?: string;
}

export class BaselineCache {
  readonly #entries: KeptEntries<KnownBaseline>;
  readonly #making = new Map<string, Promise<KnownBaseline>>();

  /** @param folder absolute; made when it does not exist */
  constructor(folder: string) {
    this.#entries = new KeptEntries(folder);
  }

  /**
   * The entry of a key; of several that want one that is not there, the first makes it and the others wait.
   * @param key hexadecimal digest of the tree and the environment
   * @param make is not kept where the code alone did not decide its outcome
   */
  async use(key: string, make: () => Promise<KnownBaseline>): Promise<KnownBaseline> {
    const found = await this.#entries.read(key);
    if (found !== null) return found;
    const other = this.#making.get(key);
    // The run that makes it may be cancelled, or out of time: then this one makes its own.
    if (other !== undefined) {
      const known = await other.catch(() => null);
      return known !== null && isOfTheCode(known) ? known : this.use(key, make);
    }
    const making = this.#make(key, make);
    this.#making.set(key, making);
    return making.finally(() => this.#making.delete(key));
  }

  /** The entry of a key; `null` where there is none yet. */
  find(key: string): Promise<KnownBaseline | null> {
    return this.#entries.read(key);
  }

  /** Keeps what was found out otherwise, unless there is an entry. */
  async keep(key: string, known: KnownBaseline): Promise<void> {
    if ((await this.#entries.read(key)) === null) await this.#entries.write(key, known);
  }

  async #make(key: string, make: () => Promise<KnownBaseline>): Promise<KnownBaseline> {
    const known = await make();
    if (isOfTheCode(known)) await this.#entries.write(key, known);
    return known;
  }
}

/** Exit codes from here say that a signal ended the command. */
const ENDED_BY_SIGNAL = 128;

/**
 * Whether the code decided the outcome, so that it holds for other runs as well. A time limit of the run that asked, or a machine without
 * memory, says nothing about the code.
 */
function isOfTheCode({ baseline: { failure, command, tests } }: KnownBaseline): boolean {
  const { exitCode } = command;
  return failure === undefined && exitCode !== null && exitCode < ENDED_BY_SIGNAL && tests?.finished !== false;
}
