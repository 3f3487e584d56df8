/**
 * Prices of model calls: list prices from a table that ships with the program, and prices that the server's
 * configuration names.
 */
import { createRequire } from 'node:module';
import type { calcPrice } from '@pydantic/genai-prices';
import type { CallUsage, CustomPrice, Prices } from './model.ts';

/** Names of our providers that the table has under another one. */
const TABLE_NAMES: Readonly<Record<string, string>> = { 'openai-chat': 'openai' };

// The published package is bundled without this line, and `require` is the bundler's own.
const require = createRequire(import.meta.url);
/** Loaded when it is first needed: the table takes a tenth of a second, which no start has to wait for. */
const table = (): { readonly calcPrice: typeof calcPrice } =>
  // The package's own types say what it exports.
  require('@pydantic/genai-prices') as { readonly calcPrice: typeof calcPrice };

/** @param own prices by full id, which come before the table's */
export function createPrices(own: ReadonlyMap<string, CustomPrice> = new Map()): Prices {
  return {
    priceOf(modelId, usage) {
      const at = modelId.indexOf(':');
      const [provider, model] = [modelId.slice(0, at), modelId.slice(at + 1)];
      if (provider === 'scripted') return 0;
      const price = own.get(modelId);
      if (price !== undefined) {
        const { inputUsdPerMillion, outputUsdPerMillion } = price;
        return (usage.inputTokens * inputUsdPerMillion + usage.outputTokens * outputUsdPerMillion) / 1_000_000;
      }
      // A server that only uses a provider's format has its own prices, which are not known.
      return provider === 'openai-compatible' ? null : listPrice(TABLE_NAMES[provider] ?? provider, model, usage);
    },
  };
}

function listPrice(providerId: string, model: string, usage: CallUsage): number | null {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  // Parts that are more than the whole, as careless gateways report them, would be refused.
  const cached = Math.min(cachedInputTokens, inputTokens);
  const written = Math.min(cacheWriteTokens, inputTokens - cached);
  try {
    const found = table().calcPrice(
      {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cache_read_tokens: cached,
        cache_write_tokens: written,
      },
      model,
      { providerId },
    );
    return found?.total_price ?? null;
  } catch {
    // The table has a model of this name and no price for one of these kinds of tokens.
    return null;
  }
}
