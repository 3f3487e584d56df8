/** Long calls in small windows: models whose providers refuse, cut silently or limit a request, over real HTTP in both formats. */
import { NeedsHuman } from '@autonomous/shared';
import type { ChatCompletionRequest, FixtureResponse } from '@copilotkit/aimock';
import { expect, it } from 'vitest';
import { createModels } from '../../models/registry.ts';
import {
  aModelProvider,
  anAgentAt,
  aRequest,
  aWorkplace,
  calls,
  failureOf,
  finish,
  type Workplace,
} from '../agent.fixture.ts';

const { provider, baseUrl } = await aModelProvider();

const READS = 60;
const tokensOf = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4);

interface Seen {
  requests: number;
  /** Requests of which the provider found less than before in its cache. */
  breaks: number;
  largest: number;
  notes: number;
  files: Set<string>;
}

type Refusal = 'error' | 'silent' | 'minute';

/** A model that reads one file after the other, and finishes. It knows what is next from what it sees alone. */
function reading(window: number, refusal: Refusal, reads = READS): Seen {
  const seen: Seen = { requests: 0, breaks: 0, largest: 0, notes: 0, files: new Set() };
  let before = '';
  let done = 0;
  const respond = ({ messages, tools = [] }: ChatCompletionRequest): FixtureResponse => {
    const talk = JSON.stringify(messages);
    const need = tokensOf({ messages, tools });
    seen.requests += 1;
    if (need > window && refusal !== 'silent') return refused(window, need, refusal);
    if (!talk.startsWith(before.slice(0, -1))) seen.breaks += 1;
    before = talk;
    seen.largest = Math.max(seen.largest, Math.min(need, window));
    const usage = usageOf(Math.min(need, window));
    if (talk.includes('Answer with that note and call no tool')) {
      seen.notes += 1;
      return { content: `Read so far: ${done} files.`, usage };
    }
    if (done === reads) return { ...finish(), usage } as FixtureResponse;
    done += 1;
    seen.files.add(`f${done}.txt`);
    return { ...calls(['read', { path: `f${done}.txt` }]), usage } as FixtureResponse;
  };
  provider.clearFixtures();
  provider.on({ predicate: () => true }, respond);
  return seen;
}

const usageOf = (tokens: number) => ({
  prompt_tokens: tokens,
  completion_tokens: 20,
  input_tokens: tokens,
  output_tokens: 20,
  total_tokens: tokens + 20,
});

const refused = (window: number, need: number, refusal: Refusal): FixtureResponse =>
  refusal === 'error'
    ? {
        error: {
          message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${need} tokens. Please reduce the length of the messages.`,
          type: 'invalid_request_error',
          code: 'context_length_exceeded',
        },
        status: 400,
      }
    : {
        error: {
          message: `Request too large for m in organization o on tokens per min (TPM): Limit ${window}, Requested ${need}.`,
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
        status: 429,
      };

async function aPlaceWithFiles(count = READS): Promise<Workplace> {
  const place = await aWorkplace();
  for (let index = 1; index <= count; index += 1) await place.put(`f${index}.txt`, `${index} ${'word '.repeat(900)}\n`);
  return place;
}

it.each<[model: string, refusal: Refusal, window: number]>([
  ['openai-compatible:local', 'error', 8_000],
  ['openai-compatible:local', 'error', 40_000],
  ['openai-compatible:local', 'error', 200_000],
  ['openai-compatible:local', 'silent', 8_000],
  ['openai-compatible:local', 'silent', 40_000],
  ['openai-compatible:local', 'minute', 20_000],
  ['anthropic:claude-sonnet-4-5', 'error', 8_000],
  ['anthropic:claude-sonnet-4-5', 'error', 40_000],
])('%s with a window that ends by %s at %d tokens reads sixty files and finishes', async (model, refusal, window) => {
  const { sandbox } = await aPlaceWithFiles();
  const seen = reading(window, refusal);
  const request = await aRequest({ model, sandbox, maxSteps: 100 });
  expect(await anAgentAt(baseUrl).perform(request)).toMatchObject({ kind: 'finished' });
  expect(seen.files.size).toBe(READS);
  expect(seen.largest).toBeLessThanOrEqual(window);
  if (window === 40_000) expect(seen.breaks).toBeLessThanOrEqual(6);
  if (window === 200_000) expect([seen.notes, seen.requests]).toEqual([0, READS + 1]);
});

it('tells of each clearing and each handover in the transcript, and gives the note as material', async () => {
  const { sandbox } = await aPlaceWithFiles();
  reading(8_000, 'error');
  const request = await aRequest({ model: 'openai-compatible:local', sandbox, maxSteps: 100 });
  await anAgentAt(baseUrl).perform(request);
  const notes = request.progress.filter(({ kind }) => kind === 'note');
  expect(notes).toContainEqual(expect.objectContaining({ data: { cleared: expect.any(Number) } }));
  expect(notes).toContainEqual(expect.objectContaining({ data: { compaction: 'begins' } }));
  const last = JSON.stringify(provider.getRequests().at(-1)?.body);
  expect(last).toMatch(/HANDOVER NOTE[^]*Read so far: \d+ files/);
  expect(last).toContain('cleared to make room: read f');
});

it('begins within a window that is known, so that no request is refused', async () => {
  const { sandbox } = await aPlaceWithFiles();
  const seen = reading(20_000, 'error');
  const models = createModels({
    keys: {},
    baseUrls: { openaiCompatible: baseUrl },
    windows: new Map([['openai-compatible:local', 20_000]]),
  });
  const request = await aRequest({ model: 'openai-compatible:local', sandbox, maxSteps: 100 });
  await anAgentAt(baseUrl, { models }).perform(request);
  expect(seen.requests).toBe(READS + 1 + seen.notes);
});

it('pauses with the ways on where not even the prompt fits', async () => {
  reading(1_100, 'error');
  const request = await aRequest({ model: 'openai-compatible:local', prompt: 'Do it. '.repeat(2_000) });
  const failure = await failureOf(anAgentAt(baseUrl).perform(request));
  expect(failure).toBeInstanceOf(NeedsHuman);
  expect(failure).toMatchObject({
    reason: 'model_unavailable',
    message: expect.stringMatching(
      /window of openai-compatible:local holds 1100 tokens.*larger window.*MODEL_WINDOWS.*split the request/s,
    ),
  });
});
