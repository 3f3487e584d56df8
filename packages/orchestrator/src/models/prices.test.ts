import { describe, expect, it } from 'vitest';
import { createPrices } from './prices.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

describe('priceOf', () => {
  const { priceOf } = createPrices();

  it.each([
    ['anthropic:claude-3-5-sonnet-20241022', 18],
    ['openai:gpt-4o', 12.5],
    ['openai-chat:gpt-4o-mini', 0.75],
    ['openrouter:anthropic/claude-3.5-haiku', 4.8],
    ['scripted:demo', 0],
  ])('knows what %s costs', (model, usd) => {
    expect(priceOf(model, million)).toBeCloseTo(usd, 9);
  });

  it.each([
    'openai:gpt-of-next-year',
    'openai-compatible:gpt-4o',
    'a-server-of-mine:gpt-4o',
    'openai:',
    'gpt-4o',
    '',
    '__proto__:x',
  ])('says that it does not know the price of "%s"', (model) => {
    expect(priceOf(model, million)).toBeNull();
  });

  it('charges less for what the provider had kept, and more for what it keeps', () => {
    const model = 'anthropic:claude-3-5-sonnet-20241022';
    const usage = { inputTokens: 1_000_000, outputTokens: 0 };
    expect(priceOf(model, usage)).toBeCloseTo(3, 9);
    expect(priceOf(model, { ...usage, cachedInputTokens: 1_000_000 })).toBeCloseTo(0.3, 9);
    expect(priceOf(model, { ...usage, cacheWriteTokens: 1_000_000 })).toBeCloseTo(3.75, 9);
    // Parts that are more than the whole count as the whole.
    expect(priceOf(model, { ...usage, cachedInputTokens: 5_000_000, cacheWriteTokens: 1 })).toBeCloseTo(0.3, 9);
  });

  it("takes the server's own prices first", () => {
    const prices = createPrices(
      new Map([
        ['ollama:qwen3:8b', { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }],
        ['openai:gpt-4o', { inputUsdPerMillion: 1, outputUsdPerMillion: 2.5 }],
      ]),
    );
    expect(prices.priceOf('ollama:qwen3:8b', million)).toBe(0);
    expect(prices.priceOf('openai:gpt-4o', million)).toBe(3.5);
    expect(prices.priceOf('openai:gpt-4o-mini', million)).toBeCloseTo(0.75, 9);
  });
});
