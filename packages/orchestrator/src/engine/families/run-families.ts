/**
 * Spending and budgets of run families, and of runs with the child runs below them, which are of the same family. They are kept in memory from the first request of one of their runs, because
 * runs of a family spend at the same time and each reservation must include those of the others before they are on
 * disk.
 */
import {
  addShares,
  type BoundedSpending,
  type BudgetName,
  type Budgets,
  type CallCost,
  RUN_BUDGET_NAMES,
  type RunFamily,
  type RunView,
  type SpendingFact,
  spentOf,
  TREE_BUDGET_NAMES,
  type TreeBudgets,
  treeBudgetsOf,
  treeFrom,
  treeOf,
  type TreeShare,
  treeShareOf,
} from '@autonomous/shared';
import type { FamilyNow } from '../../core/activity.ts';

export interface RunFamiliesOptions {
  /** The stored views of all runs of a family, newest first. */
  readonly stored: (treeId: string) => Promise<readonly RunView[]>;
  /** A run as it is in memory, with what is not on disk yet. */
  readonly live: (runId: string) => RunView | undefined;
}

/** Part of a run as the budgets of the runs above it and of its family see it. */
interface Member {
  readonly parentId: string | undefined;
  /** Budgets of the run itself and all child runs below it. */
  readonly budgets: Budgets;
  /** Spending that counts against its own budgets. */
  readonly spent: TreeShare;
  /** Spending that counts against the budgets of others. */
  readonly share: TreeShare;
}

/** Most run families in memory; others are read again when they are needed. */
const KEPT_FAMILIES = 1_000;
const NOTHING: TreeShare = { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 };

export class KeptFamily {
  readonly id: string;
  readonly #members = new Map<string, Member>();
  /** Calls that this process has sent and of which it is not known what they came to, by their names. */
  readonly #underWay = new Map<string, { readonly runId: string; readonly share: TreeShare }>();
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

  /** User who changed its budgets last in this process. Empty: none. */
  get changedBy(): string {
    return this.#changedBy;
  }

  get all(): RunFamily {
    const shares = [...this.#members.values()].map(({ share }) => share);
    return { ...treeFrom(this.id, shares), budgets: this.#budgets };
  }

  /** Returns the spending and budgets that a run must check before it reserves. */
  look(runId: string): FamilyNow {
    this.#seen.set(runId, this.#version);
    const bounds = this.bounds(runId).map((bound) => ({
      ...bound,
      underWay: this.#underWayBeside(runId, (id) => this.#isWithin(id, bound.runId)),
    }));
    return { ...this.all, underWay: this.#underWayBeside(runId, () => true), bounds };
  }

  /** The run and the runs above it that have budgets, the nearest first, each with what it and all below it have spent. */
  bounds(runId: string): readonly BoundedSpending[] {
    const bounds: BoundedSpending[] = [];
    for (const id of this.#lineOf(runId)) {
      const { budgets = {}, spent = NOTHING } = this.#members.get(id) ?? {};
      if (id !== runId && RUN_BUDGET_NAMES.every((name) => budgets[name] === undefined)) continue;
      const below = [...this.#members].flatMap(([each, { share }]) =>
        each !== id && this.#isWithin(each, id) ? [share] : [],
      );
      const sum = below.reduce((before, share) => addShares(before, share, 1), spent);
      bounds.push({ runId: id, childRuns: below.length, budgets, ...sum });
    }
    return bounds;
  }

  /** Whether a run is another one or below it. */
  #isWithin(runId: string, above: string): boolean {
    return this.#lineOf(runId).has(above);
  }

  /** The run and the runs above it, the nearest first. Each comes once, also where the parents of a record go round. */
  #lineOf(runId: string): ReadonlySet<string> {
    const line = new Set<string>();
    for (let id: string | undefined = runId; id !== undefined && !line.has(id); id = this.#members.get(id)?.parentId)
      line.add(id);
    return line;
  }

  /** Its own calls are in order, one after the other: what was not settled stays as it was booked. */
  #underWayBeside(runId: string, counts: (runId: string) => boolean): TreeShare {
    let underWay = NOTHING;
    for (const call of this.#underWay.values()) {
      if (call.runId !== runId && counts(call.runId)) underWay = addShares(underWay, call.share, 1);
    }
    return underWay;
  }

  /** Whether the budgets have changed since the run last looked at them. */
  isNewTo(runId: string): boolean {
    return this.#seen.has(runId) && this.#seen.get(runId) !== this.#version;
  }

  has(runId: string): boolean {
    return this.#members.has(runId);
  }

  note(run: RunView, by = ''): void {
    const { treeBudgetsAt, config, parent } = run;
    const before = this.#members.get(run.id)?.budgets;
    if (before !== undefined && RUN_BUDGET_NAMES.some((name) => before[name] !== config[name])) {
      this.#version += 1;
      this.#changedBy = by;
    }
    this.#members.set(run.id, {
      parentId: parent?.runId,
      budgets: ownBudgetsOf(config),
      spent: spentOf(run.cost),
      share: treeShareOf(run),
    });
    if (treeBudgetsAt !== undefined && treeBudgetsAt >= this.#changedAt) {
      const budgets = treeBudgetsOf(config);
      if (treeBudgetsAt > this.#changedAt || TREE_BUDGET_NAMES.some((name) => budgets[name] !== this.#budgets[name])) {
        this.#version += 1;
        this.#changedBy = by;
      }
      this.#budgets = budgets;
      this.#changedAt = treeBudgetsAt;
    }
    this.moved();
  }

  /**
   * Takes the budgets with which its first run was started, unless they were changed since. Of a first run that stands in a record of others, the
   * budgets of its family are the smallest that any of its runs has.
   */
  beginWith(origin: RunView | undefined, all: readonly RunView[]): void {
    if (this.#changedAt !== '' || origin === undefined) return;
    const bound = origin.rebuiltUpTo === undefined ? [origin] : all;
    this.#budgets = Object.fromEntries(
      TREE_BUDGET_NAMES.flatMap((name) => {
        const given = bound.flatMap(({ config }) => config[name] ?? []);
        return given.length === 0 ? [] : [[name, Math.min(...given)] as const];
      }),
    );
  }

  noteCall(runId: string, { type, payload }: SpendingFact): void {
    if (type === 'CALL_SETTLED') this.#underWay.delete(payload.call);
    else this.#underWay.set(payload.call, { runId, share: shareOf(payload) });
  }

  /** Forgets a reservation that could not be stored; its request is not sent. */
  forgetCall(call: string): void {
    this.#underWay.delete(call);
  }

  /** Names of the calls of an activity that are under way. */
  callsOf(key: string): readonly string[] {
    return [...this.#underWay.keys()].filter((call) => call.startsWith(`${key}#`));
  }

  /** The activity of these calls has ended: they are under way no more, and count as they stand in the log. */
  endCalls(calls: readonly string[]): void {
    for (const call of calls) this.#underWay.delete(call);
    this.moved();
  }

  /** Resolves when a run of the family has changed. */
  nextMove(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  moved(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

export class RunFamilies {
  readonly #options: RunFamiliesOptions;
  /** The one that was asked for last comes last. */
  readonly #families = new Map<
    string,
    { readonly family: KeptFamily; readonly loaded: Promise<void>; isLoaded: boolean }
  >();

  constructor(options: RunFamiliesOptions) {
    this.#options = options;
  }

  /** The family of a run, if it is in memory as a whole. */
  known(run: RunView): KeptFamily | undefined {
    return this.knownTree(treeOf(run));
  }

  knownTree(treeId: string): KeptFamily | undefined {
    const kept = this.#families.get(treeId);
    return kept?.isLoaded ? kept.family : undefined;
  }

  /** The family of a run, read where it is not in memory. */
  async of(run: RunView): Promise<KeptFamily> {
    const id = treeOf(run);
    let kept = this.#families.get(id);
    if (!kept) {
      const family = new KeptFamily(id);
      kept = { family, loaded: this.#load(family), isLoaded: false };
    }
    this.#families.delete(id);
    this.#families.set(id, kept);
    this.#forgetOldest();
    try {
      await kept.loaded;
      kept.isLoaded = true;
    } catch (error) {
      if (this.#families.get(id) === kept) this.#families.delete(id);
      throw error;
    }
    return kept.family;
  }

  /**
   * A run was made, has spent something, has other budgets, or is what it was again as a step of it could not be stored.
   * @param by who did that
   */
  note(run: RunView, by?: string): void {
    this.#families.get(treeOf(run))?.family.note(run, by);
  }

  /** Wakes all reservations that wait for other calls. */
  wakeAll(): void {
    for (const { family } of this.#families.values()) family.moved();
  }

  async #load(family: KeptFamily): Promise<void> {
    const views = await this.#options.stored(family.id);
    for (const view of views) {
      // A share that was noted meanwhile is newer.
      if (!family.has(view.id)) family.note(this.#options.live(view.id) ?? view);
    }
    // A family of forks has the id of its first run; an exploration has none.
    family.beginWith(views.find(({ id }) => id === family.id) ?? views.at(-1), views);
  }

  #forgetOldest(): void {
    for (const [id, { family }] of this.#families) {
      if (this.#families.size <= KEPT_FAMILIES) return;
      this.#families.delete(id);
      family.moved();
    }
  }
}

function ownBudgetsOf(config: Budgets): Budgets {
  return Object.fromEntries(
    RUN_BUDGET_NAMES.flatMap((name): [BudgetName, number][] => {
      const budget = config[name];
      return budget === undefined ? [] : [[name, budget]];
    }),
  );
}

function shareOf(cost: CallCost & { readonly toolCalls?: number }): TreeShare {
  const { inputTokens, outputTokens, toolCalls = 0, costUsd } = cost;
  return { inputTokens, outputTokens, toolCalls, costUsd: costUsd ?? 0 };
}
