/**
 * The tool loop over every wire format and real HTTP: what is reserved of each request, and that no answer which is not whole
 * and sound is ever used. What all formats share stands in `tool-loop.test.ts`.
 */
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPrices } from '../../models/prices.ts';
import {
  aModelProvider,
  anAgentAt,
  answerInTurn,
  aRequest,
  aWorkplace,
  calls,
  failureOf,
  finish,
  PROVIDERS,
  serve,
} from '../agent.fixture.ts';
import type { CallMeter } from '../agent.ts';

const { provider, baseUrl } = await aModelProvider();

/** List prices in dollars of 100 tokens in and 20 out. */
const ANSWER_USD: Readonly<Record<string, number | null>> = {
  'anthropic:claude-sonnet-4-5': 0.0006,
  'openai:gpt-5': 0.000325,
  'openai-chat:gpt-4o': 0.00045,
  'openai-compatible:local': null,
};

/** Writes down what is reserved and settled, and how many requests had come by then. */
function aMeter() {
  const entries: { readonly what: string; readonly tokens: readonly number[]; readonly usd: number | null }[] = [];
  const prices = createPrices();
  const meter: CallMeter = {
    async reserve({ id }, most) {
      const requests = provider.getRequests().length;
      entries.push({ what: 'reserved', tokens: [most.inputTokens, most.outputTokens], usd: prices.priceOf(id, most) });
      // Nothing is sent meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
      if (provider.getRequests().length !== requests) throw new Error('it was sent before it was reserved');
      return {
        async settle(usage, toolCalls = 0) {
          const tokens = [usage.inputTokens, usage.outputTokens, toolCalls];
          entries.push({ what: 'settled', tokens, usd: prices.priceOf(id, usage) });
        },
      };
    },
  };
  return { meter, entries };
}

/** Whole answers that finish, as events of the stream; the last ones say that nothing is missing. */
const FINISH = JSON.stringify({ summary: 'the whole result' });
const CHAT = [
  {
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        delta: {
          role: 'assistant',
          tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'finish', arguments: FINISH } }],
        },
      },
    ],
  },
  {
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  },
];
const MESSAGES = [
  {
    type: 'message_start',
    message: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 100, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name: 'finish', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: FINISH } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 20 } },
  { type: 'message_stop' },
];
const CALL = { type: 'function_call', id: 'f1', call_id: 'c1', name: 'finish' };
const RESPONSES = [
  { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'm' } },
  { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '' } },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...CALL, arguments: FINISH, status: 'completed' },
  },
  { type: 'response.completed', response: { id: 'r1', usage: { input_tokens: 100, output_tokens: 20 } } },
];

interface Format {
  readonly whole: readonly object[];
  /** How many events at the end only say that it is complete. */
  readonly ending: number;
  readonly error: object;
}
const FORMATS: Readonly<Record<string, Format>> = {
  anthropic: {
    whole: MESSAGES,
    ending: 2,
    error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  },
  openai: {
    whole: RESPONSES,
    ending: 1,
    error: { type: 'error', code: 'server_error', message: 'Overloaded', param: null, sequence_number: 3 },
  },
};
const formatOf = (model: string): Format =>
  FORMATS[model.split(':')[0] ?? ''] ?? {
    whole: CHAT,
    ending: 1,
    error: { error: { message: 'Overloaded', type: 'server_error', param: null, code: null } },
  };
/** The event with what is said of the usage in place of its own, wherever its format has it. */
function withUsage(event: object, said: object): object {
  const entries = Object.entries(event).flatMap(([name, value]) => {
    if (name === 'usage') return Object.entries(said);
    return [[name, name === 'message' || name === 'response' ? withUsage(value as object, said) : value]];
  });
  return Object.fromEntries(entries) as object;
}
const eventStream = (events: readonly object[]): string =>
  events
    .map((event) => `event: ${'type' in event ? String(event.type) : 'x'}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

describe.each(PROVIDERS)('%s', (model) => {
  it('has each request reserved before it is sent, and settled with what the provider says', async () => {
    answerInTurn(provider, [
      calls(['list', {}], ['list', {}]),
      { error: { message: 'boom', type: 'api_error' }, status: 500 },
      finish(),
    ]);
    const { meter, entries } = aMeter();
    await anAgentAt(baseUrl, { maxOutputTokens: 5_000 }).perform(await aRequest({ model, meter }));
    expect(entries.map(({ what }) => what)).toEqual([
      'reserved',
      'settled',
      'reserved',
      'settled',
      'reserved',
      'settled',
    ]);
    const [first, answered, second, refused, , finished] = entries;
    expect(answered?.tokens).toEqual([100, 20, 2]);
    expect(refused).toEqual({ what: 'settled', tokens: [0, 0, 0], usd: ANSWER_USD[model] === null ? null : 0 });
    expect(finished?.tokens).toEqual([100, 20, 0]);
    if (model in ANSWER_USD) expect(answered?.usd).toEqual(ANSWER_USD[model] && expect.closeTo(ANSWER_USD[model], 9));
    else expect(answered?.usd).toBeGreaterThan(0);
    // An estimate of the prompt, which has grown, and the longest answer that was asked for.
    expect(first?.tokens[1]).toBe(5_000);
    expect(second?.tokens[0]).toBeGreaterThan(first?.tokens[0] ?? Infinity);
  });

  it('uses nothing of an answer in which an error comes, although it came with status 200', async () => {
    const { whole, ending, error } = formatOf(model);
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(eventStream([...whole.slice(0, -ending), error]));
    });
    const { meter, entries } = aMeter();
    const failure = await failureOf(anAgentAt(url).perform(await aRequest({ model, meter })));
    expect(failure).toMatchObject({ name: 'RetryableFailure', reason: 'model_unavailable' });
    // What came of each of the three counts.
    const settled = entries.filter(({ what }) => what === 'settled');
    expect(settled).toHaveLength(3);
    for (const { tokens } of settled) expect(tokens[1]).toBeGreaterThan(0);
  });

  it.each([
    // Anthropic's format has no answer without it.
    ...(model.startsWith('anthropic:') ? [] : [['nothing', {}] as const]),
    ['zero', { usage: { prompt_tokens: 0, completion_tokens: 0, input_tokens: 0, output_tokens: 0 } }] as const,
  ])('settles an estimate where the provider says %s of what an answer cost', async (_what, said) => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(eventStream(formatOf(model).whole.map((event) => withUsage(event, said))));
    });
    const { meter, entries } = aMeter();
    const outcome = await anAgentAt(url).perform(await aRequest({ model, meter }));
    const [reserved, settled] = entries;
    expect(reserved?.tokens[0]).toBeGreaterThan(100);
    expect(settled?.tokens[0]).toBe(reserved?.tokens[0]);
    expect(settled?.tokens[1]).toBeGreaterThanOrEqual(Math.floor(FINISH.length / 3));
    expect(outcome.usage).toMatchObject({ inputTokens: settled?.tokens[0], outputTokens: settled?.tokens[1] });
  });

  it('takes a megabyte of spaces for an empty answer', async () => {
    answerInTurn(provider, [
      { response: { content: ' '.repeat(1_000_000) }, options: { chunkSize: 100_000 } },
      finish(),
    ]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({ usage: { calls: 2 } });
  });

  it('is told of a tool that there is not, and of half a JSON, and may go on', async () => {
    const work = await aWorkplace();
    answerInTurn(provider, [
      { toolCalls: [{ name: 'rm_rf', arguments: '{}' }] },
      { toolCalls: [{ name: 'write', arguments: '{"path": "a.txt", "content": "ha' }] },
      { content: '```\nCLARIFY: Which one?\n```' },
      finish('done'),
    ]);
    const outcome = await anAgentAt(baseUrl).perform(await aRequest({ model, sandbox: work.sandbox }));
    expect(outcome).toMatchObject({ kind: 'finished', result: { summary: 'done' }, usage: { calls: 4 } });
    expect(await work.get('a.txt')).toBeNull();
    const sent = JSON.stringify(provider.getLastRequest()?.body).replaceAll('\\', '');
    for (const text of ['There is no tool "rm_rf"', 'The input of write does not fit', 'You called no tool'])
      expect(sent).toContain(text);
  });

  it('thinks aloud without its thoughts being taken for words', async () => {
    answerInTurn(provider, [{ ...calls(['list', {}]), reasoning: 'Secretly I wonder.' }, finish()]);
    const request = await aRequest({ model });
    expect(await anAgentAt(baseUrl).perform(request)).toMatchObject({ kind: 'finished' });
    const texts = request.progress.filter(({ kind }) => kind === 'text').map(({ text }) => text);
    expect(texts).toEqual(['I call tools.', 'I call tools.']);
  });

  it('gives up on an answer that does not end', async () => {
    const piece = JSON.stringify({ summary: 'x'.repeat(100_000) });
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const { whole } = formatOf(model);
      const endless = eventStream(
        model.startsWith('openai:') ? [ENDLESS_RESPONSE] : whole.slice(0, model.startsWith('anthropic:') ? 2 : 0),
      );
      response.write(endless);
      const more = eventStream([endlessPiece(model, piece)]);
      const write = (): void => {
        while (!response.destroyed && response.write(more));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    const failure = await failureOf(anAgentAt(url).perform(await aRequest({ model })));
    expect(failure).toMatchObject({
      name: 'RetryableFailure',
      message: expect.stringContaining('did not end within 4000000 characters'),
    });
  });
});

const ENDLESS_RESPONSE = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { type: 'message', id: 'i1', role: 'assistant', content: [] },
};

function endlessPiece(model: string, text: string): object {
  if (model.startsWith('anthropic:'))
    return { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } };
  if (model.startsWith('openai:'))
    return { type: 'response.output_text.delta', item_id: 'i1', output_index: 0, content_index: 0, delta: text };
  return {
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: text } }],
  };
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  /** `never`: nothing of it may be used. `whole`: the whole result or nothing. `other`: it may say something else. */
  readonly usable: 'never' | 'whole' | 'other';
}

/** Replies as broken servers, gateways and models send them. */
function aReply({ whole, ending }: Format): fc.Arbitrary<Reply> {
  const stream = eventStream(whole);
  const withoutEnding = eventStream(whole.slice(0, -ending));
  const events = (body: fc.Arbitrary<string>, usable: Reply['usable'], status = fc.constant<number>(200)) =>
    fc.record({
      status,
      type: fc.constant('text/event-stream'),
      body: body.map((text) => Buffer.from(text)),
      usable: fc.constant(usable),
    });
  const bytes = (body: fc.Arbitrary<Buffer>) =>
    fc.record({
      status: fc.constantFrom(200, 200, 429, 500),
      type: fc.constantFrom('text/event-stream', 'application/json', 'text/html', 'application/octet-stream'),
      body,
      usable: fc.constant<Reply['usable']>('never'),
    });
  const stray = fc.oneof(fc.constantFrom(...whole), fc.object({ maxDepth: 2 }));
  return fc.oneof(
    // Cut off before it is said that it is complete, at any place or between two events.
    events(
      fc.nat(withoutEnding.length).map((end) => withoutEnding.slice(0, end)),
      'never',
    ),
    events(
      fc.nat(whole.length - ending).map((count) => eventStream(whole.slice(0, count))),
      'never',
    ),
    events(
      fc
        .tuple(fc.nat(stream.length - 1), fc.string({ maxLength: 8 }))
        .map(([from, put]) => stream.slice(0, from) + put + stream.slice(from + 1)),
      'other',
    ),
    events(fc.shuffledSubarray([...whole]).map(eventStream), 'whole'),
    events(fc.array(stray, { maxLength: 8 }).map(eventStream), 'whole'),
    events(
      fc
        .array(fc.json({ maxDepth: 3 }), { maxLength: 5 })
        .map((all) => all.map((json) => `data: ${json}\n\n`).join('')),
      'never',
    ),
    events(fc.constantFrom('', ' '.repeat(1_000_000)), 'never'),
    events(fc.constant(stream), 'whole', fc.constantFrom(201, 204, 206, 301, 400, 404, 418, 451, 500, 503, 599)),
    bytes(fc.uint8Array({ maxLength: 300 }).map((all) => Buffer.from(all))),
    bytes(fc.constant(Buffer.from('<!doctype html><html><body>502 Bad gateway</body></html>'))),
  );
}

/** Replies of the server in each wire format; `.ci/run` asks for more. */
const REPLIES = Number(process.env['MODEL_REPLIES'] ?? 250);
/** How many of them one call of a role asks for: 2.6 on average, as most are of no use and it tries again. */
const REPLIES_A_CALL = 1.7;
/** What a call can ask for at most: three tries for each of two steps, for the text without a tool, for the last word. */
const MOST_REPLIES = 12;

describe('J03: whatever a server replies', () => {
  it.each(['anthropic:claude-sonnet-4-5', 'openai:gpt-5', 'openai-chat:gpt-4o'])(
    'ends %s with its whole result or a failure that says who must act',
    { timeout: 60_000 + REPLIES * 150 },
    async (model) => {
      let given: readonly Reply[] = [];
      let asked = 0;
      let replies = 0;
      const url = await serve((_request, response) => {
        const reply = given[asked++];
        replies += 1;
        if (reply?.status === 301) response.setHeader('location', 'http://127.0.0.1:9/elsewhere');
        response.writeHead(reply?.status ?? 500, { 'content-type': reply?.type ?? 'text/plain' }).end(reply?.body);
      });
      const { sandbox } = await aWorkplace();
      const agent = anAgentAt(url, { delays: { firstDelayMs: 1, maxDelayMs: 1, patienceMs: 1.5 } });
      const inTurn = fc.array(aReply(formatOf(model)), { minLength: MOST_REPLIES, maxLength: MOST_REPLIES });
      await fc.assert(
        fc.asyncProperty(inTurn, async (all) => {
          given = all;
          asked = 0;
          const request = await aRequest({ model, sandbox, tools: ['read'], maxSteps: 2 });
          const outcome = await agent.perform(request).catch((error: unknown) => error);
          expect(asked).toBeLessThanOrEqual(MOST_REPLIES);
          // It is the last one that ended the call.
          const last = all[asked - 1];
          if (outcome instanceof RetryableFailure || outcome instanceof NeedsHuman) {
            // Before it is known which model was asked for, the address is.
            expect(outcome.message).toMatch(last?.status === 301 ? /redirects/ : new RegExp(model));
            return;
          }
          expect(outcome).toMatchObject({ kind: 'finished', result: { summary: expect.any(String) } });
          expect(last?.usable).not.toBe('never');
          if (last?.usable === 'whole') expect(outcome).toMatchObject({ result: { summary: 'the whole result' } });
        }),
        { numRuns: Math.ceil(REPLIES / REPLIES_A_CALL) },
      );
      expect(replies).toBeGreaterThanOrEqual(REPLIES);
    },
  );
});
