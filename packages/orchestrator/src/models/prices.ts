/**
 * Prices of model calls: list prices from a table that ships with the program, and prices that the server's
 * configuration names.
 */
import type { CallUsage, CustomPrice, Prices } from './model.ts';
import { rowOf } from './model-table.ts';

/** @param own prices by full id, which come before the table's */
export function createPrices(own: ReadonlyMap<string, CustomPrice> = new Map()): Prices {
  return {
    priceOf(modelId, usage) {
      if (modelId.startsWith('scripted:')) return 0;
      const price = own.get(modelId);
      if (price !== undefined) {
        const { inputUsdPerMillion, outputUsdPerMillion } = price;
        return (usage.inputTokens * inputUsdPerMillion + usage.outputTokens * outputUsdPerMillion) / 1_000_000;
      }
      return listPrice(modelId, usage);
    },
  };
}

function listPrice(modelId: string, usage: CallUsage): number | null {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  // Parts that are more than the whole, as careless gateways report them, would be refused.
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  const tokens = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cached,
    cache_write_tokens: written,
  };
  return rowOf(modelId, tokens)?.total_price ?? null;
}
