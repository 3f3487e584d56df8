/**
 * Meters one agent call. Each request to a model is reserved by an event in the run's log before it is sent, and settled by
 * another event when its usage is known. After a crash, a time-out or a failure the reservation stays in the log.
 */
import {
  addShares,
  type CallCost,
  type CallCharge,
  Conflict,
  dollars,
  howToRaise,
  isTreeBudget,
  NeedsHuman,
  StorageFull,
  type TreeShare,
  type UsedUpBudget,
  usedUpBudget,
  usedUpTreeBudget,
} from '@autonomous/shared';
import type { CallMeter } from '../../agents/agent.ts';
import type { CallUsage, Prices } from '../../models/model.ts';
import type { ActivityContext, FamilyNow } from '../../core/activity.ts';

export interface AgentCallMeter extends CallMeter {
  /** True once a request was booked: then the run has counted what the call comes to. */
  readonly metered: boolean;
}

export function createCallMeter(
  context: Pick<ActivityContext, 'key' | 'attempt' | 'spend'>,
  prices: Prices,
  role: string,
): AgentCallMeter {
  let requests = 0;
  return {
    get metered() {
      return requests > 0;
    },
    async reserve({ id: model, scripted }, most) {
      const call = `${context.key}#${context.attempt}.${requests + 1}`;
      const booked = costOf(prices, model, most);
      const made: { charge?: CallCharge } = {};
      await stored(
        context.spend((run, family) => {
          // A script costs nothing, and a run without any budget need not count each of its turns.
          if (scripted && !hasBudget(family)) return null;
          if (refuseOverBudget(family, model, booked) === 'later') return 'later';
          made.charge = { call, stage: run.currentStage, role, model };
          return { type: 'CALL_BOOKED', payload: { ...made.charge, ...booked } };
        }),
      );
      const { charge } = made;
      if (charge === undefined) return { settle: async () => undefined };
      requests += 1;
      return {
        async settle(usage, wanted = 0) {
          const refused = Promise.withResolvers<NeedsHuman | null>();
          const written = context.spend((_run, family) => {
            // What other calls of the run have made until now counts; this one's own booking has none.
            const why = wanted === 0 ? null : tooManyToolCalls(family, wanted);
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

function hasBudget({ budgets, bounds }: FamilyNow): boolean {
  return [budgets, ...bounds.map((bound) => bound.budgets)].some((each) => Object.keys(each).length > 0);
}

/**
 * @returns `later` where it depends on what calls of other runs come to
 * @throws {NeedsHuman} `budget`
 */
function refuseOverBudget(family: FamilyNow, model: string, { costUsd }: CallCost): 'later' | undefined {
  if (costUsd === null) refuseUnknownPrice(family, model);
  // Most calls come to a small part of what they can come to: only what is settled refuses another one.
  const refused = usedUp(family, { counted: settledOnly });
  if (refused !== null) throw needsMore(refused);
  return usedUp(family) === null ? undefined : 'later';
}

function refuseUnknownPrice({ budgets, bounds }: FamilyNow, model: string): void {
  const [self] = bounds;
  const limits = [
    ...bounds.map(({ runId, budgets: { maxCostUsd } }) => ({ runId, name: 'maxCostUsd' as const, most: maxCostUsd })),
    { runId: self?.runId, name: 'maxTreeCostUsd' as const, most: budgets.maxTreeCostUsd },
  ];
  for (const { runId, name, most } of limits) {
    if (most === undefined) continue;
    const tokens = name === 'maxCostUsd' ? 'maxTokens' : 'maxTreeTokens';
    const isAbove = runId !== self?.runId;
    throw new NeedsHuman(
      'budget',
      `${isAbove ? `Run ${runId}, for which this run works,` : 'The run'} may spend ${dollars(most)} (${name}), and the price of ${model} is not known. ` +
        `Name it in MODEL_PRICES and restart the server, then retry; or take ${name} away${isAbove ? ` from run ${runId}` : ''} and set ${tokens} instead.`,
      { budget: name, ...(isAbove && runId !== undefined ? { budgetOf: runId } : {}) },
    );
  }
}

function tooManyToolCalls({ budgets, bounds, ...family }: FamilyNow, wanted: number): NeedsHuman | null {
  const { maxTreeToolCalls } = budgets;
  const ofToolCalls = {
    ...family,
    budgets: maxTreeToolCalls === undefined ? {} : { maxTreeToolCalls },
    bounds: bounds.map(({ budgets: { maxToolCalls }, ...bound }) => ({
      ...bound,
      budgets: maxToolCalls === undefined ? {} : { maxToolCalls },
    })),
  };
  const refused = usedUp(ofToolCalls, { wanted });
  return refused && needsMore(refused);
}

interface RefusedBudget extends UsedUpBudget {
  /** The run above whose budget it is. Absent: the run's own, or that of its family. */
  readonly budgetOf?: string;
}

/** The first budget that is used up: of the run, of the runs above it, of its family. */
function usedUp(
  family: FamilyNow,
  { wanted = 0, counted = (sums) => sums }: { readonly wanted?: number; readonly counted?: Counted } = {},
): RefusedBudget | null {
  for (const [index, bound] of family.bounds.entries()) {
    const refused = usedUpBudget(counted(bound), wanted);
    if (refused !== null) return index === 0 ? refused : { ...refused, budgetOf: bound.runId };
  }
  return usedUpTreeBudget(counted(family), wanted);
}

type Counted = <Sums extends TreeShare & { readonly underWay: TreeShare }>(sums: Sums) => Sums;

/** Without what calls under way in other runs can come to. */
function settledOnly<Sums extends TreeShare & { readonly underWay: TreeShare }>(sums: Sums): Sums {
  return { ...sums, ...addShares(sums, sums.underWay, -1) };
}

function needsMore({ budget, budgetOf, why }: RefusedBudget): NeedsHuman {
  if (budgetOf !== undefined) {
    return new NeedsHuman(
      'budget',
      `The budget of run ${budgetOf}, for which this run works, is used up: ${why}. ${howToRaise(budgetOf, budget)}`,
      { budget, budgetOf },
    );
  }
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
