/**
 * Spending and budgets of run families. They are kept in memory from the first request of one of their runs, because
 * runs of a family spend at the same time and each reservation must include those of the others before they are on
 * disk.
 */
import {
  addShares,
  type CallCost,
  type RunFamily,
  type RunView,
  type SpendingFact,
  TREE_BUDGET_NAMES,
  type TreeBudgets,
  treeBudgetsOf,
  treeFrom,
  treeOf,
  type TreeShare,
  treeShareOf,
} from '@autonomous/shared';

export interface RunTreesOptions {
  /** The stored views of all runs of a tree, newest first. */
  readonly stored: (treeId: string) => Promise<readonly RunView[]>;
  /** A run as it is in memory, with what is not on disk yet. */
  readonly live: (runId: string) => RunView | undefined;
}

/** A tree as one of its runs sees it before it spends. */
export interface TreeNow extends RunFamily {
  /** Of the sums: what calls of its other runs, under way now, can come to at most. */
  readonly underWay: TreeShare;
}

/** Trees that are kept; one that is asked for again is read again. */
const KEPT_TREES = 1_000;
const NOTHING: TreeShare = { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 };

export class KeptTree {
  readonly id: string;
  readonly #shares = new Map<string, TreeShare>();
  /** Calls that this process has sent and of which it is not known what they came to, by their names. */
  readonly #underWay = new Map<string, { readonly runId: string; readonly share: TreeShare }>();
  /** What calls came to less than was booked, where their runs could not take it any more. */
  readonly #corrections = new Map<string, TreeShare>();
  readonly #waiting = new Set<() => void>();
  /** The version of the budgets that a run last saw. */
  readonly #seen = new Map<string, number>();
  #budgets: TreeBudgets = {};
  #changedAt = '';
  #changedBy = '';
  #version = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** Who changed its budgets last in this process. */
  get changedBy(): string {
    return this.#changedBy;
  }

  get all(): RunFamily {
    const shares = [...this.#shares].map(([runId, share]) =>
      addShares(share, this.#corrections.get(runId) ?? NOTHING, 1),
    );
    return { ...treeFrom(this.id, shares), budgets: this.#budgets };
  }

  /** What a run has to look at before it spends. */
  look(runId: string): TreeNow {
    this.#seen.set(runId, this.#version);
    let underWay = NOTHING;
    for (const call of this.#underWay.values()) {
      // Its own are in order, one after the other: what was not settled stays as it was booked.
      if (call.runId !== runId) underWay = addShares(underWay, call.share, 1);
    }
    return { ...this.all, underWay };
  }

  /** Whether the budgets have changed since the run last looked at them. */
  isNewTo(runId: string): boolean {
    return this.#seen.has(runId) && this.#seen.get(runId) !== this.#version;
  }

  has(runId: string): boolean {
    return this.#shares.has(runId);
  }

  note(run: RunView, by = ''): void {
    this.#shares.set(run.id, treeShareOf(run));
    const { treeBudgetsAt } = run;
    if (treeBudgetsAt !== undefined && treeBudgetsAt >= this.#changedAt) {
      const budgets = treeBudgetsOf(run.config);
      if (treeBudgetsAt > this.#changedAt || TREE_BUDGET_NAMES.some((name) => budgets[name] !== this.#budgets[name])) {
        this.#version += 1;
        this.#changedBy = by;
      }
      this.#budgets = budgets;
      this.#changedAt = treeBudgetsAt;
    }
    this.moved();
  }

  /** What its runs were started with holds until somebody changes it. */
  beginWith(origin: RunView | undefined): void {
    if (this.#changedAt === '' && origin !== undefined) this.#budgets = treeBudgetsOf(origin.config);
  }

  noteCall(runId: string, { type, payload }: SpendingFact): void {
    if (type === 'CALL_SETTLED') this.#underWay.delete(payload.call);
    else this.#underWay.set(payload.call, { runId, share: shareOf(payload) });
  }

  /** What was to be booked could not be stored, and is not sent. */
  forgetCall(call: string): void {
    this.#underWay.delete(call);
  }

  /** A call came to this, and its run has ended or stands apart: the log keeps what was booked. */
  noteUnsettled(runId: string, { type, payload }: SpendingFact): void {
    if (type !== 'CALL_SETTLED') return;
    const difference = addShares(shareOf(payload), shareOf(payload.booked), -1);
    this.#corrections.set(runId, addShares(this.#corrections.get(runId) ?? NOTHING, difference, 1));
    this.#underWay.delete(payload.call);
    this.moved();
  }

  /** Activities have ended: their calls are under way no more, and count as they stand in the log. */
  endActivities(keys: readonly string[]): void {
    if (keys.length === 0) return;
    for (const call of this.#underWay.keys()) {
      if (keys.some((key) => call.startsWith(`${key}#`))) this.#underWay.delete(call);
    }
    this.moved();
  }

  /** Ends when anything of the tree has moved. */
  nextMove(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  moved(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

export class RunTrees {
  readonly #options: RunTreesOptions;
  /** The one that was asked for last comes last. */
  readonly #trees = new Map<string, { readonly tree: KeptTree; readonly loaded: Promise<void>; isLoaded: boolean }>();

  constructor(options: RunTreesOptions) {
    this.#options = options;
  }

  /** The tree of a run, if it is in memory as a whole. */
  known(run: RunView): KeptTree | undefined {
    const kept = this.#trees.get(treeOf(run));
    return kept?.isLoaded ? kept.tree : undefined;
  }

  /** The tree of a run, read where it is not in memory. */
  async of(run: RunView): Promise<KeptTree> {
    const id = treeOf(run);
    let kept = this.#trees.get(id);
    if (!kept) {
      const tree = new KeptTree(id);
      kept = { tree, loaded: this.#load(tree), isLoaded: false };
    }
    this.#trees.delete(id);
    this.#trees.set(id, kept);
    this.#forgetOldest();
    try {
      await kept.loaded;
      kept.isLoaded = true;
    } catch (error) {
      if (this.#trees.get(id) === kept) this.#trees.delete(id);
      throw error;
    }
    return kept.tree;
  }

  /**
   * A run was made, has spent something, has other budgets, or is what it was again as a step of it could not be stored.
   * @param by who did that
   */
  note(run: RunView, by?: string): void {
    this.#trees.get(treeOf(run))?.tree.note(run, by);
  }

  /** Whoever waits for another looks again. */
  wakeAll(): void {
    for (const { tree } of this.#trees.values()) tree.moved();
  }

  async #load(tree: KeptTree): Promise<void> {
    const views = await this.#options.stored(tree.id);
    for (const view of views) {
      // What was noted meanwhile is newer.
      if (!tree.has(view.id)) tree.note(this.#options.live(view.id) ?? view);
    }
    tree.beginWith(views.at(-1));
  }

  #forgetOldest(): void {
    for (const [id, { tree }] of this.#trees) {
      if (this.#trees.size <= KEPT_TREES) return;
      this.#trees.delete(id);
      tree.moved();
    }
  }
}

function shareOf(cost: CallCost & { readonly toolCalls?: number }): TreeShare {
  const { inputTokens, outputTokens, toolCalls = 0, costUsd } = cost;
  return { inputTokens, outputTokens, toolCalls, costUsd: costUsd ?? 0 };
}
