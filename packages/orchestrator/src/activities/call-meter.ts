/**
 * Meters one agent call. Each request to a model is reserved by an event in the run's log before it is sent, and settled by
 * another event when its usage is known. After a crash, a time-out or a failure the reservation stays in the log.
 */
import {
  addShares,
  BUDGET_NAMES,
  type CallCost,
  type CallCharge,
  Conflict,
  dollars,
  isTreeBudget,
  NeedsHuman,
  type RunConfig,
  type RunFamily,
  type RunView,
  StorageFull,
  type UsedUpBudget,
  usedUpBudget,
  usedUpTreeBudget,
} from '@autonomous/shared';
import type { CallMeter } from '../agents/agent.ts';
import type { CallUsage, Prices } from '../models/model.ts';
import type { ActivityContext, SpendingWriter } from '../core/activity.ts';

export interface AgentCallMeter extends CallMeter {
  /** True once a request was booked: then the run has counted what the call comes to. */
  readonly metered: boolean;
}

/** @param config of the run when the call began */
export function createCallMeter(
  context: Pick<ActivityContext, 'key' | 'attempt' | 'spend'>,
  prices: Prices,
  role: string,
  config: RunConfig,
): AgentCallMeter {
  let requests = 0;
  // A script costs nothing, and a run that has no budgets need not be told of each of its turns.
  const hasBudget = BUDGET_NAMES.some((name) => config[name] !== undefined);
  return {
    get metered() {
      return requests > 0;
    },
    async reserve({ id: model, scripted }, most) {
      if (scripted && !hasBudget) return { settle: async () => undefined };
      requests += 1;
      const call = `${context.key}#${context.attempt}.${requests}`;
      const booked = costOf(prices, model, most);
      let charge: CallCharge = { call, stage: null, role, model };
      await stored(
        context.spend((run, tree) => {
          if (refuseOverBudget(run, tree, model, booked) === 'later') return 'later';
          charge = { ...charge, stage: run.currentStage };
          return { type: 'CALL_BOOKED', payload: { ...charge, ...booked } };
        }),
      );
      return {
        async settle(usage, wanted = 0) {
          const refused = Promise.withResolvers<NeedsHuman | null>();
          const written = context.spend((run, tree) => {
            // What other calls of the run have made until now counts; this one's own booking has none.
            const why = wanted === 0 ? null : tooManyToolCalls(run, tree, wanted);
            refused.resolve(why);
            const cost = costOf(prices, model, usage);
            return {
              type: 'CALL_SETTLED',
              payload: { ...charge, ...cost, booked, toolCalls: why === null ? wanted : 0 },
            };
          });
          // What cannot be written, as the run has gone on without this call or the disk is full, stays as it was booked.
          written.catch(() => refused.resolve(null));
          const refusal = await refused.promise;
          if (refusal !== null) throw refusal;
        },
      };
    },
  };
}

type TreeNow = Parameters<SpendingWriter>[1];

/**
 * @returns `later` where it hangs on what calls of other runs of the tree come to
 * @throws {NeedsHuman} `budget`
 */
function refuseOverBudget(
  { config, cost }: RunView,
  tree: TreeNow,
  model: string,
  { costUsd }: CallCost,
): 'later' | undefined {
  const most = { maxCostUsd: config.maxCostUsd, maxTreeCostUsd: tree.budgets.maxTreeCostUsd };
  for (const name of ['maxCostUsd', 'maxTreeCostUsd'] as const) {
    if (most[name] === undefined || costUsd !== null) continue;
    const tokens = name === 'maxCostUsd' ? 'maxTokens' : 'maxTreeTokens';
    throw new NeedsHuman(
      'budget',
      `The run may spend ${dollars(most[name])} (${name}), and the price of ${model} is not known. ` +
        `Name it in MODEL_PRICES and restart the server, then retry; or take ${name} away and set ${tokens} instead.`,
      { budget: name },
    );
  }
  const own = usedUpBudget(config, cost);
  if (own !== null) throw needsMore(own);
  const shared = usedUpTreeBudget(settledOnly(tree));
  if (shared !== null) throw needsMore(shared);
  return usedUpTreeBudget(tree) === null ? undefined : 'later';
}

function tooManyToolCalls({ config, cost }: RunView, tree: TreeNow, wanted: number): NeedsHuman | null {
  const { maxToolCalls } = config;
  const own = usedUpBudget({ maxToolCalls }, cost, wanted);
  if (own !== null) return needsMore(own);
  const { maxTreeToolCalls } = tree.budgets;
  const budgets = maxTreeToolCalls === undefined ? {} : { maxTreeToolCalls };
  const shared = usedUpTreeBudget({ ...tree, budgets }, wanted);
  return shared && needsMore(shared);
}

/** Without what calls under way in other runs can come to: most come to a small part of it. */
function settledOnly(tree: TreeNow): RunFamily {
  return { ...tree, ...addShares(tree, tree.underWay, -1) };
}

function needsMore({ budget, why }: UsedUpBudget): NeedsHuman {
  const whose = isTreeBudget(budget) ? "The budget of the run's tree" : "The run's budget";
  return new NeedsHuman('budget', `${whose} is used up: ${why}. Set a higher budget to resume.`, { budget });
}

function costOf(prices: Prices, model: string, usage: CallUsage): CallCost {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    inputTokens,
    outputTokens,
    ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    costUsd: dollarsOf(prices.priceOf(model, usage), usage),
  };
}

function dollarsOf(price: number | null, { costUsd, countedUsd = 0 }: CallUsage): number | null {
  if (price === null) return costUsd ?? null;
  return Math.max(price - countedUsd, costUsd ?? 0, 0);
}

/** A request that cannot be booked is not sent. */
async function stored(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (error instanceof StorageFull) throw new NeedsHuman('storage_full', error.message, { cause: error });
    if (error instanceof Conflict) throw new NeedsHuman('agent_failed', error.message, { cause: error });
    throw error;
  }
}
