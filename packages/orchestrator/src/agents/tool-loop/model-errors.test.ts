import { APICallError } from 'ai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { classifyModelError, RequestTooLong } from './model-errors.ts';

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

/** The failure that an answer of a server is, whose body the SDK did not understand. */
const answered = (statusCode: number, body: unknown) =>
  classifyModelError(
    new APICallError({
      message: 'Bad Request',
      url: 'http://provider',
      requestBodyValues: {},
      statusCode,
      responseBody: typeof body === 'string' ? body : JSON.stringify(body),
    }),
    'a:b',
    undefined,
  );

describe('the words of an error', () => {
  it.each([
    ['OpenAI', { error: { message: 'no such model', type: 'x', code: 'y' } }, 'no such model'],
    ['older vLLM and SGLang', { object: 'error', message: 'no tools here', code: 400 }, 'no tools here'],
    ['Mistral', { object: 'error', message: { detail: [{ msg: 'field required' }] } }, 'field required'],
    ['Mistral in short', { detail: 'Unexpected role user after role tool' }, 'Unexpected role user after role tool'],
    ['Gemini', [{ error: { code: 400, message: 'Invalid JSON payload', status: 'X' } }], 'Invalid JSON payload'],
    ['TGI', { error: 'Input validation error', error_type: 'validation' }, 'Input validation error'],
    [
      'FastAPI',
      { detail: [{ loc: ['body'], msg: 'value is not a valid list', type: 't' }] },
      'value is not a valid list',
    ],
    ['AWS', { Message: 'Malformed input request' }, 'Malformed input request'],
    [
      'OpenRouter',
      { error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"tools are off"}}' } } },
      'tools are off',
    ],
    ['plain text', 'upstream says no', 'upstream says no'],
    ['a page', '<html>Bad</html>', 'Bad Request'],
    ['nothing', '{}', 'Bad Request'],
  ])('of %s are told', (_, body, words) => {
    expect(answered(400, body)).toMatchObject({
      name: 'NeedsHuman',
      message: expect.stringContaining(`400): ${words}`),
    });
  });
});

describe('a request that is too long', () => {
  it.each([
    [
      400,
      "This model's maximum context length is 128000 tokens. However, you requested 132000 tokens (128000 in the messages, 4000 in the completion).",
      128_000,
    ],
    [400, 'prompt is too long: 208310 tokens > 200000 maximum', 200_000],
    [
      400,
      'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length',
      200_000,
    ],
    [400, 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
    [400, 'the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
    [
      400,
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      32_768,
    ],
    [
      429,
      'Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 20000, Requested 20757.',
      20_000,
    ],
    [413, 'Payload Too Large', null],
    [500, 'the input is larger than the context window', null],
  ])('is known by HTTP %d and "%s"', (status, message, most) => {
    const failure = answered(status, { error: { message } });
    expect(failure).toBeInstanceOf(RequestTooLong);
    expect(failure).toMatchObject({ reason: 'model_unavailable', most });
  });

  it.each([
    [400, 'max_tokens is too large: 64000. This model supports at most 16384 completion tokens'],
    [400, 'Invalid value for temperature'],
    [429, 'Rate limit reached: Limit 20000, Used 19000, Requested 2000.'],
    [401, 'prompt is too long'],
  ])('is not HTTP %d with "%s"', (status, message) => {
    expect(answered(status, { error: { message } })).not.toBeInstanceOf(RequestTooLong);
  });
});
