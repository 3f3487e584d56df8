import { APICallError } from 'ai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { classifyModelError } from './model-errors.ts';

const NOW = '2026-03-01T12:00:00.000Z';
beforeEach(() => void vi.useFakeTimers({ now: new Date(NOW), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const limited = (responseHeaders: Record<string, string>) =>
  classifyModelError(
    new APICallError({
      message: 'slow down',
      url: 'http://provider',
      requestBodyValues: {},
      statusCode: 429,
      responseHeaders,
    }),
    'a:b',
    undefined,
  );

describe('a rate limit', () => {
  it.each([
    ['retry-after in seconds', { 'retry-after': '90' }, 90_000],
    ['retry-after as a date', { 'retry-after': 'Sun, 01 Mar 2026 12:02:00 GMT' }, 120_000],
    ['retry-after in milliseconds', { 'retry-after-ms': '1500', 'retry-after': '90' }, 1_500],
    [
      "Anthropic's limit that is used up",
      {
        'anthropic-ratelimit-requests-remaining': '12',
        'anthropic-ratelimit-requests-reset': '2026-03-01T13:00:00Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-03-01T12:05:00Z',
      },
      300_000,
    ],
    [
      'the later of two that are used up',
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '6m0s',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '120ms',
      },
      360_000,
    ],
    [
      "a gateway's one limit, in milliseconds since the epoch",
      { 'x-ratelimit-reset': `${Date.parse(NOW) + 5_000}` },
      5_000,
    ],
    ["a gateway's one limit, in seconds", { 'ratelimit-remaining': '0', 'ratelimit-reset': '30' }, 30_000],
    ['a time that has passed', { 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0],
    [
      'a time that nobody will live to see',
      { 'retry-after': '1e99', 'x-ratelimit-reset': '9'.repeat(300) },
      604_800_000,
    ],
  ])('ends when %s says so', (_, headers, retryAfterMs) => {
    expect(limited(headers)).toMatchObject({ name: 'RetryableFailure', reason: 'rate_limited', retryAfterMs });
  });

  it.each([
    {},
    { 'retry-after': 'soon' },
    { 'x-ratelimit-reset-requests': 'later' },
    { 'x-ratelimit-remaining-requests': '3', 'x-ratelimit-reset-requests': '6m0s' },
  ])('without a time is one for a person: %j', (headers) => {
    expect(limited(headers)).toMatchObject({ reason: 'rate_limited', retryAfterMs: undefined });
  });
});
