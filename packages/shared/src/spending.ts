/**
 * Spending and budgets of a run: sums for the read model, and the one rule that decides whether a budget is used up.
 * Pure.
 */
import {
  BUDGET_NAMES,
  type BudgetChange,
  type BudgetName,
  type Budgets,
  TREE_BUDGET_NAMES,
  type TreeBudgetName,
} from './budgets.ts';
import type { CallCost } from './events.ts';
import type {
  BoundedSpending,
  Gate,
  RunCost,
  RunFamily,
  RunView,
  Spending,
  SpendingPart,
  TreeBudgets,
  TreeShare,
} from './run.ts';

/** Stage, role and model to which a call is charged. */
export type SpendingKey = Pick<SpendingPart, 'stage' | 'role' | 'model'>;

/** Change of the sums by one call. Absent fields are 0; amounts that are taken back are negative. */
export interface SpendingChange extends Partial<Omit<CallCost, 'costUsd'>> {
  readonly calls?: number;
  readonly toolCalls?: number;
  readonly costUsd?: number;
  readonly unpricedCalls?: number;
}

const SUMS = [
  'inputTokens',
  'outputTokens',
  'calls',
  'cachedInputTokens',
  'reasoningTokens',
  'toolCalls',
  'costUsd',
  'unpricedCalls',
] as const satisfies readonly (keyof Spending)[];

/** Adds a change to the total sums and to the part to which it is charged. */
export function addSpending(cost: RunCost, key: SpendingKey, change: SpendingChange): RunCost {
  const parts = cost.parts ?? [];
  const at = parts.findIndex((part) => part.stage === key.stage && part.role === key.role && part.model === key.model);
  const part = { ...key, ...summed(parts[at] ?? NOTHING, change) };
  return {
    ...cost,
    ...summed(cost, change),
    parts: at < 0 ? [...parts, part] : parts.map((other, index) => (index === at ? part : other)),
  };
}

/** Sums of several runs, without parts and reservations. */
export function totalSpending(costs: Iterable<Spending>): Spending {
  let total: Spending = NOTHING;
  for (const cost of costs) total = summed(total, cost);
  return total;
}

/** Changes the reserved part of the sums. */
export function addBooked(cost: RunCost, change: { readonly calls: number; readonly costUsd: number }): RunCost {
  const { calls = 0, costUsd = 0 } = cost.booked ?? {};
  const booked = { calls: calls + change.calls, costUsd: rounded(costUsd + change.costUsd) };
  if (booked.calls > 0) return { ...cost, booked };
  const { booked: _none, ...rest } = cost;
  return rest;
}

/** Used-up budget with an explanation for a person. */
export interface UsedUpBudget {
  readonly budget: BudgetName;
  readonly why: string;
}

/**
 * Returns the budget of a run, for itself and all child runs below it, that is used up; `null` while the next call is allowed.
 * @param toolCalls that are about to be made
 */
export function usedUpBudget(
  { budgets, childRuns, ...spent }: Omit<BoundedSpending, 'runId'>,
  toolCalls = 0,
): UsedUpBudget | null {
  const { maxCostUsd, maxTokens, maxToolCalls } = budgets;
  const { costUsd, toolCalls: made, inputTokens, outputTokens } = spent;
  const who = childRuns === 0 ? 'it has' : `it and its ${childRuns} child run${childRuns === 1 ? '' : 's'} have`;
  if (maxCostUsd !== undefined && costUsd >= maxCostUsd) {
    return usedUp('maxCostUsd', `${who} spent ${dollars(costUsd)} of ${dollars(maxCostUsd)}`);
  }
  if (maxTokens !== undefined && inputTokens + outputTokens >= maxTokens) {
    return usedUp('maxTokens', `${who} used ${inputTokens + outputTokens} of ${maxTokens} tokens`);
  }
  if (maxToolCalls !== undefined && (made >= maxToolCalls || made + toolCalls > maxToolCalls)) {
    const more =
      childRuns === 0
        ? ` and wants ${toolCalls} more`
        : ` and ${toolCalls} more ${toolCalls === 1 ? 'is' : 'are'} wanted`;
    return usedUp('maxToolCalls', `${who} made ${made} of ${maxToolCalls} tool calls${toolCalls === 0 ? '' : more}`);
  }
  return null;
}

/**
 * Returns the budget of a run family that is used up; `null` while the next call is allowed.
 * @param toolCalls that are about to be made
 */
export function usedUpTreeBudget(tree: RunFamily, toolCalls = 0): UsedUpBudget | null {
  const { maxTreeCostUsd, maxTreeTokens, maxTreeToolCalls } = tree.budgets;
  const { costUsd, toolCalls: made, inputTokens, outputTokens, runs } = tree;
  const who = runs === 1 ? 'its only run has' : `its ${runs} runs have`;
  if (maxTreeCostUsd !== undefined && costUsd >= maxTreeCostUsd) {
    return usedUp('maxTreeCostUsd', `${who} spent ${dollars(costUsd)} of ${dollars(maxTreeCostUsd)}`);
  }
  if (maxTreeTokens !== undefined && inputTokens + outputTokens >= maxTreeTokens) {
    return usedUp('maxTreeTokens', `${who} used ${inputTokens + outputTokens} of ${maxTreeTokens} tokens`);
  }
  if (maxTreeToolCalls !== undefined && (made >= maxTreeToolCalls || made + toolCalls > maxTreeToolCalls)) {
    const wanted = toolCalls === 0 ? '' : ` and this one wants ${toolCalls} more`;
    return usedUp('maxTreeToolCalls', `${who} made ${made} of ${maxTreeToolCalls} tool calls${wanted}`);
  }
  return null;
}

function usedUp(budget: BudgetName, why: string): UsedUpBudget {
  return { budget, why: `${why} (${budget})` };
}

/** The sentence that says by which command the budget of another run is raised. */
export function howToRaise(runId: string, budget: BudgetName): string {
  const option = budget.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `Raise it with the command "extend ${runId} --${option} ${budget === 'maxCostUsd' ? 'DOLLARS' : 'COUNT'}" to resume.`;
}

/** The budget for more of which a gate waits; `null` where it waits for something else. */
export function missingBudgetOf({ reason, budget }: Pick<Gate, 'reason' | 'budget'>): BudgetName | null {
  return reason === 'budget' ? (budget ?? null) : null;
}

/** Whether a budget is one that all runs of a tree share. */
export function isTreeBudget(budget: BudgetName): budget is TreeBudgetName {
  return TREE_BUDGET_NAMES.some((name) => name === budget);
}

/** Of a configuration or of a change what is about the tree. */
export function treeBudgetsOf(budgets: Budgets): TreeBudgets {
  return Object.fromEntries(
    TREE_BUDGET_NAMES.flatMap((name) => (budgets[name] === undefined ? [] : [[name, budgets[name]] as const])),
  );
}

/** The id of the tree whose budgets a run shares: its exploration's, its source's for a fork, else its own. */
export function treeOf({
  id,
  treeId,
  explorationId,
}: {
  readonly id: string;
  readonly treeId?: string | undefined;
  readonly explorationId?: string | undefined;
}): string {
  return treeId ?? explorationId ?? id;
}

/** Returns the sums of a run that count against the budgets of its run family. */
export function spentOf({ inputTokens, outputTokens, toolCalls = 0, costUsd = 0 }: RunCost): TreeShare {
  return { inputTokens, outputTokens, toolCalls, costUsd };
}

/** Returns a run's own share of its run family: for a fork without the spending that it inherited. */
export function treeShareOf({ cost, forkedFrom }: Pick<RunView, 'cost' | 'forkedFrom'>): TreeShare {
  const whole = spentOf(cost);
  const before = forkedFrom?.spent;
  return before === undefined ? whole : addShares(whole, before, -1);
}

/** Sums the shares of the runs of a run family. */
export function treeFrom(id: string, shares: Iterable<TreeShare>): Omit<RunFamily, 'budgets'> {
  let sum: TreeShare = { inputTokens: 0, outputTokens: 0, toolCalls: 0, costUsd: 0 };
  let runs = 0;
  for (const share of shares) {
    sum = addShares(sum, share, 1);
    runs += 1;
  }
  return { id, runs, ...sum };
}

/** @param sign -1 takes the share away */
export function addShares(sum: TreeShare, share: TreeShare, sign: 1 | -1): TreeShare {
  return {
    inputTokens: sum.inputTokens + sign * share.inputTokens,
    outputTokens: sum.outputTokens + sign * share.outputTokens,
    toolCalls: sum.toolCalls + sign * share.toolCalls,
    costUsd: rounded(sum.costUsd + sign * share.costUsd),
  };
}

/** The configuration with other budgets; `null` takes one away. */
export function withBudgets<Config extends Budgets>(config: Config, change: BudgetChange): Config {
  const { maxCostUsd, maxTokens, maxToolCalls, maxTreeCostUsd, maxTreeTokens, maxTreeToolCalls, ...rest } = config;
  const before: Budgets = { maxCostUsd, maxTokens, maxToolCalls, maxTreeCostUsd, maxTreeTokens, maxTreeToolCalls };
  const budgets = BUDGET_NAMES.flatMap((name) => {
    const value = change[name] === undefined ? before[name] : change[name];
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  // Nothing but the budgets is another one.
  return { ...rest, ...Object.fromEntries(budgets) } as unknown as Config;
}

/**
 * Money of a run or of several: `$1.20 of $5.00, 3 calls of unknown price`. Dollars are left out where no call had a price and
 * no budget is set: calls of unknown price are not free.
 */
export function moneyText(
  { costUsd = 0, unpricedCalls = 0, booked }: Pick<RunCost, 'costUsd' | 'unpricedCalls' | 'booked'>,
  maxCostUsd?: number,
): string {
  const budget = maxCostUsd === undefined ? '' : ` of ${dollars(maxCostUsd)}`;
  const isPriced = costUsd > 0 || unpricedCalls === 0 || maxCostUsd !== undefined;
  return [
    ...(isPriced ? [`${dollars(costUsd)}${budget}`] : []),
    ...(isPriced && booked !== undefined
      ? [`at most ${dollars(booked.costUsd)} of it for calls without an answer`]
      : []),
    ...(unpricedCalls === 0 ? [] : [unpricedText(unpricedCalls)]),
  ].join(', ');
}

export function unpricedText(calls: number): string {
  return `${calls.toLocaleString('en')} ${calls === 1 ? 'call' : 'calls'} of unknown price`;
}

/** `$12.50`; below ten cents the first two digits that say something, as `$0.0042`. */
export function dollars(usd: number): string {
  if (usd === 0 || usd >= 0.1) return `$${usd.toFixed(2)}`;
  return `$${Number(usd.toPrecision(2))
    .toFixed(9)
    .replace(/(?<!0)0+$/, '')}`;
}

const NOTHING: Spending = { inputTokens: 0, outputTokens: 0, calls: 0 };

/** Kinds of which there never were any stay absent. */
function summed(before: Spending, change: SpendingChange): Spending {
  const sums: Record<string, number> = {};
  for (const name of SUMS) {
    const sum = (before[name] ?? 0) + (change[name] ?? 0);
    if (before[name] !== undefined || sum !== 0) sums[name] = rounded(sum);
  }
  return { ...NOTHING, ...sums };
}

/** Sums of dollars must not gather the errors of binary fractions, nor leave a trace of what was taken back. */
function rounded(value: number): number {
  return Math.round(value * 1e9) / 1e9 || 0;
}
