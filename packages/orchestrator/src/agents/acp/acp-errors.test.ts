import { RequestError } from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { classifyAgentError } from './acp-errors.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;

/** An error as agents send it: without a kind of its own. */
const said = (words: string, data?: object) => RequestError.internalError(data, words);
const judged = (error: RequestError, limitEndsAt: number | null = null) =>
  classifyAgentError(error, 'mine', limitEndsAt, NOW);
/** What opencode adds to the words of its provider. */
const OPENCODE = { service: 'session', errorName: 'APIError' };

describe('a limit of the rate', () => {
  it.each<[string, RequestError]>([
    ['claude-agent-acp', said('API Error: Request rejected (429) · slow down', { errorKind: 'rate_limit' })],
    ['opencode', said('Too Many Requests: slow down', OPENCODE)],
    ['opencode with the words of OpenAI', said('Rate limit reached for gpt-5 in organization org-1', OPENCODE)],
    ["Gemini's CLI", new RequestError(429, 'Rate limit exceeded. Try again later.')],
    ['an agent that states the status', said('it failed', { statusCode: 429 })],
    ['words around a status', said('exceeded retry limit, last status: 429')],
  ])('is known from what %s says; without a time it is one for a person', (_, error) => {
    expect(judged(error)).toMatchObject({ name: 'RetryableFailure', reason: 'rate_limited', retryAfterMs: undefined });
  });

  it.each<[string, RequestError, number]>([
    ['6m0s', said('Rate limit reached for gpt-5. Please try again in 6m0s.'), 360_000],
    ['1.5s', said('Rate limit exceeded. Please retry in 1.5s.'), 1_500],
    ['20ms', said('Too Many Requests: try again in 20ms'), 20],
    ['30 seconds', said('Too Many Requests: retry after 30 seconds'), 30_000],
    ['a header', said('Too Many Requests: {"retry-after":"90"}'), 90_000],
    [
      'days, hours and minutes',
      said("You've hit your usage limit. Try again in 1 day 2 hours and 5 minutes."),
      93_900_000,
    ],
    ['seconds since the epoch', said(`Claude AI usage limit reached|${(NOW + HOUR) / 1_000}`), HOUR],
    ['a date', said('Rate limit exceeded, resets at 2026-03-01T13:00:00Z'), HOUR],
    ['a time of this day', said("You've hit your session limit · resets 3:30pm (UTC)"), 3.5 * HOUR],
    ['a time of the next day', said("You've hit your session limit · resets 3am (UTC)"), 15 * HOUR],
    ['midnight', said("You've hit your session limit · resets 12am (UTC)"), 12 * HOUR],
    ['a day', said("You've hit your weekly limit · resets Mar 5, 1pm (UTC)"), 97 * HOUR],
    ['a field in milliseconds', said('it failed', { status: 429, retryAfterMs: 1_500 }), 1_500],
    ['a field in seconds', said('it failed', { status: 429, retryAfter: 90 }), 90_000],
    ['a field with the time', said('it failed', { status: 429, resetsAt: (NOW + HOUR) / 1_000 }), HOUR],
    ['a time that has passed', said('it failed', { status: 429, resetsAt: '2026-03-01T11:00:00Z' }), 0],
    ['a time that nobody will live to see', said('Too Many Requests: retry after 99999999999h'), 604_800_000],
    ['an overload that says when it ends', said('Overloaded', { errorKind: 'overloaded', retryAfterMs: 500 }), 500],
    [
      "a minute's quota",
      said('You exceeded your current quota, check your plan. Please retry in 34s.', OPENCODE),
      34_000,
    ],
  ])('ends when its error says so: %s', (_, error, retryAfterMs) => {
    expect(judged(error)).toMatchObject({ name: 'RetryableFailure', reason: 'rate_limited', retryAfterMs });
  });

  it('ends when its session was told so, which is more exact than words', () => {
    const error = said("You've hit your session limit · resets 3pm (UTC)", { errorKind: 'rate_limit' });
    expect(judged(error, NOW + HOUR)).toMatchObject({ reason: 'rate_limited', retryAfterMs: HOUR });
  });

  it.each(['resets 3pm (Europe/Berlin)', 'try again later', 'retry after the tests in 5 files', 'retry-after: soon'])(
    'ends at no time that is not surely one: %s',
    (words) => {
      expect(judged(said(`Too Many Requests: ${words}`))).toMatchObject({
        reason: 'rate_limited',
        retryAfterMs: undefined,
      });
    },
  );
});

describe('what a person has to mend', () => {
  it.each<[string, RequestError]>([
    ['the protocol', RequestError.authRequired({ providerId: 'openai' }, 'provider authentication required')],
    ['claude-agent-acp', said('API Error: 401', { errorKind: 'authentication_failed' })],
    ['opencode', said('Incorrect API key provided: sk-abcd', OPENCODE)],
    ['opencode before a gateway', said('Unauthorized: {"error":"no"}', OPENCODE)],
    ['words around a status', said('last status: 401')],
  ])('is a key that is refused, as %s says; its words are not told, which can hold a part of it', (_, error) => {
    const failure = judged(error);
    expect(failure).toMatchObject({ name: 'NeedsHuman', reason: 'model_unavailable' });
    expect(failure.message).toContain('"env" in the file of AUTONOMOUS_AGENTS');
    expect(failure.message).not.toContain('sk-');
  });

  it.each<[string, RequestError]>([
    ['claude-agent-acp', said('Credit balance is too low', { errorKind: 'billing_error' })],
    ['opencode', said('Quota exceeded. Check your plan and billing details.', OPENCODE)],
    ['a status of too many requests', said('it failed: insufficient_quota', { status: 429 })],
  ])('is an account without credit, as %s says', (_, error) => {
    expect(judged(error)).toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
      message: expect.stringContaining('has no credit left'),
    });
  });
});

describe('another fault', () => {
  it.each<[string, RequestError]>([
    ['an overload', said('Overloaded', { errorKind: 'overloaded' })],
    ['a kind that is not known', said('Too Many Requests', { errorKind: 'server_error' })],
    ['a file with such a name', said('cannot read src/rate-limit.ts, line 429')],
    ['a figure that is no status', said('401 files changed, 12 error lines')],
    ['no word at all', said('')],
    ['data of another shape', said('it failed', [429])],
  ])('is one that time may mend: %s', (_, error) => {
    expect(judged(error)).toMatchObject({ name: 'RetryableFailure', reason: 'model_unavailable' });
  });

  it('is told in a line of bounded length', () => {
    expect(judged(said(`one\ntwo ${'x'.repeat(1_000_000)}`)).message).toMatch(
      /^The agent mine failed: one two x{590,600}…$/,
    );
  });
});
