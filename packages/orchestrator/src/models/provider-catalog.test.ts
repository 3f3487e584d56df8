import { expect, it } from 'vitest';
import { createPrices } from './prices.ts';
import { KEYED_PROVIDERS, PROVIDERS, whyNoKey } from './provider-catalog.ts';

const anthropic = `sk-ant-api03-${'a1'.repeat(20)}`;
const openai = `sk-proj-${'b2'.repeat(20)}`;
const deepseek = `sk-${'0f'.repeat(16)}`;

it.each([
  ['anthropic', anthropic],
  ['openai', openai],
  ['openai', `sk-${'c3'.repeat(12)}`],
  ['deepseek', deepseek],
] as const)('takes what may be a key of %s', (provider, key) => {
  expect(whyNoKey(key, provider)).toBeNull();
});

it.each([
  ['anthropic', '', /is empty/],
  ['anthropic', ` ${anthropic}`, /white space around/],
  ['anthropic', `${anthropic}\n`, /white space around/],
  ['anthropic', `"${anthropic}"`, /quotation marks/],
  ['openai', `“${openai}”`, /quotation marks/],
  ['openai', `OPENAI_API_KEY=${openai}`, /setting of a variable/],
  ['openai', `Bearer ${openai}`, /a header/],
  ['openai', `${openai} ${openai}`, /white space in it/],
  ['openai', 'sk-proj-…abcd', /middle hidden/],
  ['openai', 'sk-proj-****************abcd', /middle hidden/],
  ['openai', `sk-proj-${'ü'.repeat(20)}`, /characters that no key has/],
  ['openai', 'sk-short', /8 characters/],
  ['openai', anthropic, /looks like an Anthropic key/],
  ['anthropic', openai, /looks like an OpenAI key/],
  ['anthropic', deepseek, /looks like a DeepSeek key/],
  ['openai', deepseek, /looks like a DeepSeek key/],
  ['anthropic', `sk-ant-admin01-${'a'.repeat(30)}`, /an Anthropic admin key, which cannot call models/],
  ['anthropic', `sk-ant-oat01-${'a'.repeat(30)}`, /sign-in token of Claude Code/],
  ['openai', `sk-or-v1-${'a'.repeat(30)}`, /OpenRouter key.*https:\/\/openrouter\.ai\/api\/v1/],
  ['openai', `ghp_${'a'.repeat(36)}`, /a GitHub token/],
] as const)('says what is wrong with a text for %s: %s', (provider, text, words) => {
  const why = whyNoKey(text, provider);
  expect(why).toMatch(words);
  if (text.length > 20) expect(why).not.toContain(text.trim());
});

it('takes any key in one line for a server of one’s own', () => {
  expect(whyNoKey('x')).toBeNull();
  expect(whyNoKey(anthropic)).toBeNull();
  expect(whyNoKey('two words')).toMatch(/white space in it/);
});

it('knows the price of the model that roles have by default', () => {
  for (const id of KEYED_PROVIDERS) {
    const model = `${id}:${PROVIDERS[id].models[0]}`;
    expect([model, createPrices().priceOf(model, { inputTokens: 1_000, outputTokens: 1_000 })]).toEqual([
      model,
      expect.any(Number),
    ]);
  }
});
