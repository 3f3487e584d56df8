/**
 * What run trees have spent, kept in memory from the first time that a run with a budget for its tree asks: the runs of a
 * tree spend at the same time, and each booking has to see the others' before they are on disk.
 */
import { type RunTree, type RunView, treeFrom, treeOf, type TreeShare, treeShareOf } from '@autonomous/shared';

export interface RunTreesOptions {
  /** The stored views of all runs of a tree. */
  readonly stored: (treeId: string) => Promise<readonly RunView[]>;
  /** A run as it is in memory, with what is not on disk yet. */
  readonly live: (runId: string) => RunView | undefined;
}

/** Trees that are kept; one that is asked for again is read again. */
const KEPT_TREES = 1_000;

interface KeptTree {
  readonly shares: Map<string, TreeShare>;
  readonly loaded: Promise<void>;
}

export class RunTrees {
  readonly #options: RunTreesOptions;
  /** The one that was asked for last comes last. */
  readonly #trees = new Map<string, KeptTree>();

  constructor(options: RunTreesOptions) {
    this.#options = options;
  }

  /**
   * The tree of a run.
   * @returns gives what it has spent at that moment, whenever it is called
   */
  async of(run: RunView): Promise<() => RunTree> {
    const id = treeOf(run);
    let tree = this.#trees.get(id);
    if (!tree) {
      const shares = new Map<string, TreeShare>();
      tree = { shares, loaded: this.#load(id, shares) };
    }
    this.#trees.delete(id);
    this.#trees.set(id, tree);
    this.#forgetOldest();
    try {
      await tree.loaded;
    } catch (error) {
      if (this.#trees.get(id) === tree) this.#trees.delete(id);
      throw error;
    }
    const { shares } = tree;
    return () => treeFrom(id, shares.values());
  }

  /** A run was made, has spent something, or is what it was again as a step of it could not be stored. */
  note(run: RunView): void {
    if (this.#trees.size === 0) return;
    this.#trees.get(treeOf(run))?.shares.set(run.id, treeShareOf(run));
  }

  async #load(id: string, shares: Map<string, TreeShare>): Promise<void> {
    for (const view of await this.#options.stored(id)) {
      // What was noted meanwhile is newer.
      if (!shares.has(view.id)) shares.set(view.id, treeShareOf(this.#options.live(view.id) ?? view));
    }
  }

  #forgetOldest(): void {
    for (const oldest of this.#trees.keys()) {
      if (this.#trees.size <= KEPT_TREES) return;
      this.#trees.delete(oldest);
    }
  }
}
