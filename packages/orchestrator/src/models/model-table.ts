/** The table of models that ships with the program: their list prices and windows. */
import { createRequire } from 'node:module';
import type { calcPrice, PriceCalculation } from '@pydantic/genai-prices';

/** Names of our providers that the table has under another one. */
const TABLE_NAMES: Readonly<Record<string, string>> = { 'openai-chat': 'openai' };

// The published package is bundled without this line, and `require` is the bundler's own.
const require = createRequire(import.meta.url);
/** Loaded when it is first needed: the table takes a tenth of a second, which no start has to wait for. */
const table = (): { readonly calcPrice: typeof calcPrice } =>
  // The package's own types say what it exports.
  require('@pydantic/genai-prices') as { readonly calcPrice: typeof calcPrice };

/**
 * The row of a model, with the price of a usage.
 * @param modelId `provider:model`
 * @returns `null` where the table does not have it, or has no price for one of these kinds of tokens
 */
export function rowOf(modelId: string, usage: Parameters<typeof calcPrice>[0]): PriceCalculation | null {
  const at = modelId.indexOf(':');
  const provider = modelId.slice(0, at);
  // A server that only uses a provider's format has prices and windows of its own, which are not known.
  if (provider === 'openai-compatible') return null;
  try {
    return table().calcPrice(usage, modelId.slice(at + 1), { providerId: TABLE_NAMES[provider] ?? provider });
  } catch {
    return null;
  }
}

/** Window of a model in tokens; `null` where the table does not say it. */
export function windowInTable(modelId: string): number | null {
  return rowOf(modelId, { input_tokens: 1, output_tokens: 1 })?.model.context_window ?? null;
}
