/** Tests the cost that a call is counted at when its price and a reported cost differ. */
import type { RunConfig, RunView, SpendingFact } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { createPrices } from '../../models/prices.ts';
import type { SpendingWriter } from '../../core/activity.ts';
import { BUILT_IN_RUN_CONFIG } from '../../run-config/run-config.ts';
import { createCallMeter } from './call-meter.ts';

const MODEL = { id: 'acp:claude', scripted: false };
const NOTHING = { inputTokens: 0, outputTokens: 0 };
const PRICED = new Map([[MODEL.id, { inputUsdPerMillion: 10, outputUsdPerMillion: 0 }]]);
const CONFIG: RunConfig = { ...BUILT_IN_RUN_CONFIG, maxConcurrency: 1 };
const SHARE = { ...NOTHING, toolCalls: 0, costUsd: 0 };
/** The read model as far as a meter looks at it. */
const VIEW = { config: CONFIG, cost: { ...NOTHING, calls: 0 }, currentStage: 'implementation' } as RunView;

async function settled(
  prices: Parameters<typeof createPrices>[0],
  ...usage: readonly { readonly inputTokens: number; readonly costUsd?: number; readonly countedUsd?: number }[]
): Promise<readonly unknown[]> {
  const facts: SpendingFact[] = [];
  const spend = async (write: SpendingWriter): Promise<void> => {
    const fact = write(VIEW, { id: 'r', runs: 1, budgets: {}, ...SHARE, underWay: SHARE, bounds: [] });
    if (fact !== 'later' && fact !== null) facts.push(fact);
  };
  const meter = createCallMeter({ key: 'r/1/x', attempt: 1, spend }, createPrices(prices), 'implementer');
  for (const each of usage) await (await meter.reserve(MODEL, NOTHING)).settle({ ...each, outputTokens: 0 });
  return facts.flatMap(({ type, payload }) => (type === 'CALL_SETTLED' ? [payload.costUsd] : []));
}

it('the larger of the price of its tokens and what was said of it', async () => {
  expect(await settled(PRICED, { inputTokens: 100_000 }, { inputTokens: 100_000, costUsd: 0.5 })).toEqual([1, 1]);
  expect(await settled(PRICED, { inputTokens: 0, costUsd: 50 })).toEqual([50]);
});

it('without what was counted before its tokens were known', async () => {
  expect(await settled(PRICED, { inputTokens: 100_000, costUsd: 0.25, countedUsd: 0.5 })).toEqual([0.5]);
  expect(await settled(PRICED, { inputTokens: 10_000, costUsd: 0.25, countedUsd: 0.5 })).toEqual([0.25]);
});

it('what was said of it, where no price is known', async () => {
  expect(await settled(new Map(), { inputTokens: 100_000 }, { inputTokens: 0, costUsd: 2 })).toEqual([null, 2]);
});
