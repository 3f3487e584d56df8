/** Names of the budgets of a run, and the amounts that a configuration sets for them. */

/** The budgets of a run, which it shares with the child runs below it, then those of its run family. */
export const BUDGET_NAMES = [
  'maxCostUsd',
  'maxTokens',
  'maxToolCalls',
  'maxTreeCostUsd',
  'maxTreeTokens',
  'maxTreeToolCalls',
] as const;
export const RUN_BUDGET_NAMES = ['maxCostUsd', 'maxTokens', 'maxToolCalls'] as const;
export const TREE_BUDGET_NAMES = ['maxTreeCostUsd', 'maxTreeTokens', 'maxTreeToolCalls'] as const;
export type BudgetName = (typeof BUDGET_NAMES)[number];
export type TreeBudgetName = (typeof TREE_BUDGET_NAMES)[number];

/**
 * Limits of what a run may spend together with all child runs below it, and of what all runs of its family may spend together: US dollars, input and output tokens
 * together, tool calls. An absent budget has no limit.
 */
export type Budgets = { readonly [Name in BudgetName]?: number | undefined };

/** New limits of budgets: `null` removes one, an absent one stays as it is. */
export type BudgetChange = { readonly [Name in BudgetName]?: number | null | undefined };
