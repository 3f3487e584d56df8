import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { Models } from '../../models/model.ts';
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
import { createToolLoopAgent } from './tool-loop.ts';

const { provider, baseUrl } = await aModelProvider();

/** Whole tool calls, and then no word that the answer is complete. */
const WRITE = JSON.stringify({ path: 'a.txt', content: 'x' });
const CHAT_WITHOUT_END = [
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
          tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'write', arguments: WRITE } }],
        },
      },
    ],
  },
];
const ANTHROPIC_WITHOUT_END = [
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
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name: 'write', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: WRITE } },
  { type: 'content_block_stop', index: 0 },
];
const RESPONSES_WITHOUT_END = [
  { type: 'response.created', response: { id: 'r1', created_at: 1, model: 'm' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'function_call', id: 'f1', call_id: 'c1', name: 'write', arguments: '' },
  },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'function_call', id: 'f1', call_id: 'c1', name: 'write', arguments: WRITE, status: 'completed' },
  },
];

/** What the model was sent last, as text. Each provider escapes quotes in its own way, so backslashes are left out. */
const lastRequest = () => JSON.stringify(provider.getLastRequest()?.body).replaceAll('\\', '');

describe.each(PROVIDERS)('a tool loop with %s', (model) => {
  it('carries out tool calls, parallel ones in order, and returns the result with what it used', async () => {
    const work = await aWorkplace();
    answerInTurn(provider, [
      calls(
        ['write', { path: 'a.txt', content: 'one\n' }],
        ['run', { command: 'cat a.txt >> b.txt; cat a.txt >> b.txt' }],
      ),
      calls(['read', { path: 'b.txt' }], ['edit', { path: 'a.txt', oldText: 'one', newText: 'two' }]),
      finish('two files'),
    ]);
    const request = await aRequest({ model, sandbox: work.sandbox });
    const outcome = await anAgentAt(baseUrl).perform(request);

    expect(outcome).toEqual({
      kind: 'finished',
      result: { summary: 'two files' },
      usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number), calls: 3 },
      model,
      scripted: false,
    });
    expect(outcome.usage.inputTokens).toBe(300);
    expect(outcome.usage.outputTokens).toBe(60);
    expect(await work.get('a.txt')).toBe('two\n');
    expect(await work.get('b.txt')).toBe('one\none\n');
    expect(lastRequest()).toContain('Changed a.txt at line 1.');
    expect(request.progress.map((reported) => reported.kind)).toEqual([
      'text',
      'usage',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'text',
      'usage',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'text',
      'usage',
      'tool_call',
    ]);
  });

  it('calls the tools that came with the call, with what the model gave them', async () => {
    const given: unknown[] = [];
    const fetch = {
      name: 'fetch',
      description: 'Fetches a page.',
      inputSchema: { type: 'object', properties: { address: { type: 'string' } }, required: ['address'] },
      async call(input: unknown) {
        given.push(input);
        return { ok: true, text: 'The page says: bells ring.' };
      },
    };
    answerInTurn(provider, [calls(['fetch', { address: 'https://bells.test/' }]), finish()]);
    const request = await aRequest({ model, callTools: [fetch] });
    await anAgentAt(baseUrl).perform(request);

    expect(given).toEqual([{ address: 'https://bells.test/' }]);
    expect(lastRequest()).toContain('The page says: bells ring.');
    expect(request.progress).toContainEqual({
      kind: 'tool_call',
      text: 'fetch',
      data: { tool: 'fetch', input: { address: 'https://bells.test/' } },
    });
  });

  it('goes on after a 429 and a 500', async () => {
    answerInTurn(provider, [
      { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 0 },
      { error: { message: 'boom', type: 'api_error' }, status: 500 },
      finish(),
    ]);
    const request = await aRequest({ model });
    const outcome = await anAgentAt(baseUrl).perform(request);
    expect(outcome).toMatchObject({ kind: 'finished', usage: { calls: 3 } });
    expect(request.progress.filter((reported) => reported.kind === 'note')).toHaveLength(2);
  });

  it('gives up after three 500s with a failure that time may mend', async () => {
    const error = { error: { message: 'boom', type: 'api_error' }, status: 500 };
    answerInTurn(provider, [error, error, error, finish()]);
    const failure = await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })));
    expect(failure).toBeInstanceOf(RetryableFailure);
    expect(failure).toMatchObject({
      reason: 'model_unavailable',
      message: expect.stringContaining(`${model} gave no usable answer: HTTP 500`),
    });
  });

  it('repeats an answer that is cut in the middle and carries out nothing of it', async () => {
    const work = await aWorkplace();
    const append = calls(
      ['run', { command: 'echo x >> log.txt' }],
      ['run', { command: `echo ${'y'.repeat(200)} >> log.txt` }],
    );
    answerInTurn(provider, [
      // Without a pause between them no piece would have left the provider when it hangs up.
      { response: append, options: { truncateAfterChunks: 14, chunkSize: 20, latency: 2 } },
      append,
      finish(),
    ]);
    const request = await aRequest({ model, sandbox: work.sandbox });
    const outcome = await anAgentAt(baseUrl).perform(request);
    expect(outcome).toMatchObject({ kind: 'finished', usage: { calls: 3 } });
    expect(request.progress.find((reported) => reported.kind === 'note')?.text).toBe(
      `Try 1 failed, trying again in 1 s. The model ${model} gave no usable answer: the connection was lost in the middle of the answer`,
    );
    expect(await work.get('log.txt')).toBe(`x\n${'y'.repeat(200)}\n`);
  });

  it('carries out nothing of an answer whose line was closed in good order before its end', async () => {
    const work = await aWorkplace();
    let requests = 0;
    const url = await serve((_request, response) => {
      requests++;
      const events = model.startsWith('anthropic:')
        ? ANTHROPIC_WITHOUT_END
        : model.startsWith('openai:')
          ? RESPONSES_WITHOUT_END
          : CHAT_WITHOUT_END;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    });
    const request = await aRequest({ model, sandbox: work.sandbox });
    expect(await failureOf(anAgentAt(url).perform(request))).toMatchObject({
      name: 'RetryableFailure',
      reason: 'model_unavailable',
    });
    expect(requests).toBe(3);
    expect(request.progress.map((reported) => reported.kind)).toEqual(['note', 'note']);
    expect(await work.get('a.txt')).toBeNull();
  });

  it('asks a person for a valid key on 401, without the words of the server', async () => {
    answerInTurn(provider, [
      { error: { message: 'Incorrect API key: sk-secret', type: 'authentication_error' }, status: 401 },
    ]);
    const failure = await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })));
    expect(failure).toBeInstanceOf(NeedsHuman);
    expect(failure).toMatchObject({
      reason: 'model_unavailable',
      message: expect.stringMatching(/_API_KEY \(HTTP 401\)/),
    });
    expect((failure as Error).message).not.toContain('sk-secret');
  });

  it('takes an empty answer for a failed one', async () => {
    answerInTurn(provider, [{ content: '' }, finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({
      kind: 'finished',
      usage: { calls: 2 },
    });
  });

  it.each([
    ['an HTML page', 'text/html', '<!doctype html><html><body>502 Bad gateway</body></html>'],
    ['garbage', 'text/event-stream', 'data: {"foo": 1}\n\ndata: not json\n\n'],
    ['nothing at all', 'text/event-stream', ''],
  ])('names the model where %s comes with status 200', async (_, type, body) => {
    const url = await serve((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
    const failure = await failureOf(anAgentAt(url).perform(await aRequest({ model })));
    expect(failure).toBeInstanceOf(RetryableFailure);
    expect(failure).toMatchObject({ reason: 'model_unavailable', message: expect.stringContaining(model) });
  });
});

describe('the tool loop', () => {
  const model = 'openai-chat:gpt-4o';

  it('offers the tools of the role and finish, nothing else', async () => {
    answerInTurn(provider, [finish()]);
    await anAgentAt(baseUrl).perform(await aRequest({ model, tools: ['read', 'search'] }));
    const tools = provider.getLastRequest()?.body as { tools?: { function: { name: string } }[] };
    expect(tools.tools?.map((tool) => tool.function.name).sort()).toEqual(['finish', 'read', 'search']);
  });

  it('refuses tools that the role does not have', async () => {
    const work = await aWorkplace();
    answerInTurn(provider, [
      calls(['write', { path: 'a.txt', content: 'x' }]),
      calls(['ask', { question: 'Why?' }]),
      calls(['toString', {}]),
      finish(),
    ]);
    const request = await aRequest({ model, tools: ['read'], sandbox: work.sandbox });
    expect(await anAgentAt(baseUrl).perform(request)).toMatchObject({ kind: 'finished' });
    expect(await work.get('a.txt')).toBeNull();
    for (const name of ['write', 'ask', 'toString'])
      expect(lastRequest()).toContain(`There is no tool "${name}"; there are read, finish.`);
  });

  it('ends with the question when the model asks', async () => {
    answerInTurn(provider, [
      calls(['ask', { question: 'Which?', options: ['a', 'b'], responseType: 'single_choice' }]),
    ]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({
      kind: 'question',
      question: { question: 'Which?', context: '', options: ['a', 'b'], responseType: 'single_choice' },
      usage: { calls: 1 },
    });
  });

  it('sends a question without its options back', async () => {
    answerInTurn(provider, [
      calls(['ask', { question: 'Which?', responseType: 'single_choice' }]),
      calls(['ask', { question: 'Which?' }]),
    ]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({
      kind: 'question',
      question: { responseType: 'text' },
    });
    expect(lastRequest()).toContain('options: a choice needs options');
  });

  it('lets the model mend a result twice, then asks a person', async () => {
    const wrong = calls(['finish', { summary: 5 }]);
    answerInTurn(provider, [wrong, wrong, finish('mended')]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({
      result: { summary: 'mended' },
    });
    expect(lastRequest()).toContain('The result does not fit: summary: ');

    answerInTurn(provider, [wrong, wrong, wrong, finish()]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'agent_failed',
      message: expect.stringContaining('gave no valid result in 3 tries: summary: '),
    });
  });

  it('tells the model where its input is no JSON', async () => {
    answerInTurn(provider, [{ toolCalls: [{ name: 'read', arguments: '{"path": ' }] }, finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({ kind: 'finished' });
    expect(lastRequest()).toContain('The input of read does not fit: it is not valid JSON.');
  });

  it('takes no result in an answer whose other tool call failed', async () => {
    answerInTurn(provider, [
      calls(['edit', { path: 'none.txt', oldText: 'a', newText: 'b' }], ['finish', { summary: 'early' }]),
      finish('late'),
    ]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({ result: { summary: 'late' } });
    expect(lastRequest()).toContain('There is no file "none.txt"');
  });

  it('reminds a model that ends without finish once, then asks a person', async () => {
    answerInTurn(provider, [{ content: 'I am done.' }, finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model }))).toMatchObject({ kind: 'finished' });
    expect(lastRequest()).toContain('You called no tool.');

    answerInTurn(provider, [{ content: 'I am done.' }, { content: 'Really.' }, finish()]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'agent_failed',
    });
  });

  it('demands the result when the steps are used up, then asks a person', async () => {
    const step = calls(['list', {}]);
    answerInTurn(provider, [step, step, finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model, maxSteps: 2 }))).toMatchObject({
      kind: 'finished',
      usage: { calls: 3 },
    });
    expect(lastRequest()).toContain('You have used up your steps.');

    answerInTurn(provider, [step, step, step, finish()]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model, maxSteps: 2 })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'agent_failed',
      message: expect.stringContaining('did not finish within 2 steps'),
    });
  });

  it('carries out no tool of an answer that ends at the output limit', async () => {
    const work = await aWorkplace();
    const write = calls(['write', { path: 'a.txt', content: 'half' }]);
    answerInTurn(provider, [{ ...write, finishReason: 'length' }, finish()]);
    expect(await anAgentAt(baseUrl).perform(await aRequest({ model, sandbox: work.sandbox }))).toMatchObject({
      kind: 'finished',
    });
    expect(await work.get('a.txt')).toBeNull();
    expect(lastRequest()).toContain('reached the output limit');
  });

  it('does not wait for a server that asks for more patience than it has', async () => {
    answerInTurn(provider, [{ error: { message: 'slow down' }, status: 429, retryAfter: 3_600 }, finish()]);
    const before = provider.getRequests().length;
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })))).toMatchObject({
      name: 'RetryableFailure',
      reason: 'rate_limited',
      retryAfterMs: 3_600_000,
    });
    expect(provider.getRequests().length - before).toBe(1);
  });

  it('waits as long as the server asks where that is bearable', async () => {
    answerInTurn(provider, [{ error: { message: 'slow down' }, status: 429, retryAfter: 1 }, finish()]);
    const started = performance.now();
    const agent = anAgentAt(baseUrl, { delays: { maxAskedMs: 2_000, patienceMs: 2_000 } });
    await agent.perform(await aRequest({ model }));
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('outwaits an outage in which requests are refused, and tries an answer that breaks off three times at most', async () => {
    const agent = anAgentAt(baseUrl, { delays: { firstDelayMs: 1, maxDelayMs: 2, patienceMs: 1_000 } });
    const overloaded = { error: { message: 'Overloaded', type: 'overloaded_error' }, status: 529 };
    answerInTurn(provider, [...Array.from({ length: 7 }, () => overloaded), finish()]);
    const request = await aRequest({ model });
    expect(await agent.perform(request)).toMatchObject({ kind: 'finished' });
    expect(request.progress.filter(({ text }) => /^Try \d failed, trying again in 1 s\./.test(text))).toHaveLength(7);

    const cut = { response: finish('x'.repeat(80)), options: { truncateAfterChunks: 2, chunkSize: 5, latency: 2 } };
    answerInTurn(provider, [cut, cut, cut, finish()]);
    const before = provider.getRequests().length;
    expect(await failureOf(agent.perform(await aRequest({ model })))).toBeInstanceOf(RetryableFailure);
    expect(provider.getRequests().length - before).toBe(3);
  });

  it('does not repeat a request that the provider refuses for good', async () => {
    answerInTurn(provider, [
      { error: { message: 'no such model', type: 'invalid_request_error' }, status: 404 },
      finish(),
    ]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
      message: expect.stringContaining('no such model'),
    });
  });

  it('asks a person to pay where the account is used up, which OpenAI reports as a rate limit', async () => {
    const error = {
      message: 'You exceeded your current quota',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    };
    answerInTurn(provider, [{ error, status: 429 }, finish()]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
      message: expect.stringContaining('no credit left'),
    });
  });

  it('names the missing key before any request is made', async () => {
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model: 'mistral-large' })))).toMatchObject({
      name: 'NeedsHuman',
      reason: 'model_unavailable',
    });
  });

  it('gives up on a server that takes the request and stays silent', async () => {
    const url = await serve(() => {});
    const agent = anAgentAt(url, { timeouts: { firstChunkMs: 50 } });
    expect(await failureOf(agent.perform(await aRequest({ model })))).toMatchObject({
      reason: 'model_unavailable',
      message: expect.stringContaining('no answer began for 0.05 s, which is the limit of MODEL_FIRST_TOKEN_SECONDS'),
    });
  });

  it('gives up on an answer that stands still, even while the line is kept busy', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'Hm' } }] })}\n\n`,
      );
      const beat = setInterval(() => response.write(': still here\n\n'), 10);
      response.on('close', () => clearInterval(beat));
    });
    const agent = anAgentAt(url, { timeouts: { firstChunkMs: 5_000, idleMs: 60 } });
    expect(await failureOf(agent.perform(await aRequest({ model })))).toMatchObject({
      reason: 'model_unavailable',
      message: expect.stringContaining('stood still for 0.06 s, which is the limit of MODEL_IDLE_SECONDS'),
    });
  });

  it('gives up on an answer that comes a character at a time, slower than any model', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const drip = setInterval(() => {
        const choices = [{ index: 0, delta: { content: '.' } }];
        const chunk = { id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      }, 700);
      response.on('close', () => clearInterval(drip));
    });
    const agent = anAgentAt(url, { timeouts: { firstChunkMs: 30_000, idleMs: 30_000, slowMs: 2_000 } });
    expect(await failureOf(agent.perform(await aRequest({ model })))).toMatchObject({
      reason: 'model_unavailable',
      message: expect.stringMatching(/only \d characters came within 2 s, fewer than 2 a second/),
    });
  });

  it('stops at once when aborted during an answer', async () => {
    const controller = new AbortController();
    const url = await serve(() => controller.abort(new Error('the run was cancelled')));
    const started = performance.now();
    const failure = await failureOf(anAgentAt(url).perform(await aRequest({ model, signal: controller.signal })));
    expect(failure).toMatchObject({ message: 'the run was cancelled' });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('stops at once when aborted even where model and sandbox do not listen', async () => {
    const { sandbox } = await aWorkplace();
    const never = new Promise<never>(() => {});
    const started = performance.now();
    const standingStill = async () => ({
      stream: new ReadableStream({
        start: (stream) => {
          stream.enqueue({ type: 'stream-start' as const, warnings: [] });
          stream.enqueue({ type: 'text-start' as const, id: '1' });
        },
      }),
    });
    for (const doStream of [() => never, standingStill]) {
      const deaf = {
        specificationVersion: 'v4',
        provider: 'deaf',
        modelId: 'deaf',
        supportedUrls: {},
        doGenerate: () => never,
        doStream,
      } as const;
      const models: Models = {
        check: (id) => ({ ok: true, id }),
        resolve: (id) => ({ id, model: deaf, scripted: false }),
        list: () => [],
      };
      const request = await aRequest({ signal: AbortSignal.timeout(50) });
      expect(await failureOf(createToolLoopAgent({ models }).perform(request))).toMatchObject({ name: 'TimeoutError' });
    }

    answerInTurn(provider, [calls(['run', { command: 'true' }]), finish()]);
    const signal = AbortSignal.timeout(300);
    const request = await aRequest({ model, signal, sandbox: { ...sandbox, run: () => never } });
    expect(await failureOf(anAgentAt(baseUrl).perform(request))).toMatchObject({ name: 'TimeoutError' });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('stops at once when aborted during a command', async () => {
    const controller = new AbortController();
    answerInTurn(provider, [calls(['run', { command: 'trap "" TERM; sleep 20' }]), finish()]);
    const request = await aRequest({ model, signal: controller.signal });
    let aborted = 0;
    const onProgress = (reported: { kind: string }) => {
      if (reported.kind !== 'tool_call') return;
      setTimeout(() => {
        aborted = performance.now();
        controller.abort(new Error('the run was cancelled'));
      }, 50);
    };
    expect(await failureOf(anAgentAt(baseUrl).perform({ ...request, onProgress }))).toMatchObject({
      message: 'the run was cancelled',
    });
    expect(performance.now() - aborted).toBeLessThan(15_000);
  });

  it('stops at once when aborted while it waits for another try', async () => {
    const controller = new AbortController();
    answerInTurn(provider, [{ error: { message: 'slow down' }, status: 429, retryAfter: 30 }]);
    const request = await aRequest({ model, signal: controller.signal });
    const onProgress = () => controller.abort(new Error('the run was cancelled'));
    const started = performance.now();
    const agent = anAgentAt(baseUrl, { delays: { maxAskedMs: 60_000, patienceMs: 60_000 } });
    await failureOf(agent.perform({ ...request, onProgress }));
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('cuts what it reports and not what the model sees', async () => {
    const work = await aWorkplace();
    await work.put('long.txt', `${'x'.repeat(1_900)}\n`.repeat(3));
    answerInTurn(provider, [calls(['read', { path: 'long.txt' }]), finish()]);
    const request = await aRequest({ model, sandbox: work.sandbox });
    await anAgentAt(baseUrl).perform(request);
    expect(request.progress.find((reported) => reported.kind === 'tool_result')?.text.length).toBe(2_001);
    expect(lastRequest().split('x'.repeat(1_900)).length - 1).toBe(3);
  });

  it('sends an output limit where one is set, and a sensible one to Anthropic where none is', async () => {
    answerInTurn(provider, [finish()]);
    await anAgentAt(baseUrl, { maxOutputTokens: 1_234 }).perform(await aRequest({ model }));
    expect(provider.getLastRequest()?.body).toMatchObject({ max_tokens: 1_234 });
    answerInTurn(provider, [finish()]);
    await anAgentAt(baseUrl).perform(await aRequest({ model: 'anthropic:some-new-model' }));
    expect(provider.getLastRequest()?.body).toMatchObject({ max_tokens: 32_000 });
  });

  it('leaves a failure that a person has to mend to that person', async () => {
    const { sandbox } = await aWorkplace();
    const lost = { ...sandbox, run: async () => Promise.reject(new NeedsHuman('sandbox_unavailable', 'gone')) };
    answerInTurn(provider, [calls(['list', {}]), finish()]);
    expect(await failureOf(anAgentAt(baseUrl).perform(await aRequest({ model, sandbox: lost })))).toMatchObject({
      reason: 'sandbox_unavailable',
    });
  });
});
