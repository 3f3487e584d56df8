import { readFile } from 'node:fs/promises';
import { generateText, streamText } from 'ai';
import { describe, expect, it } from 'vitest';
import { aRequest, aWorkplace } from '../agents/agent.fixture.ts';
import { createToolLoopAgent } from '../agents/tool-loop/tool-loop.ts';
import { callLine } from '../roles/role.ts';
import { createModels } from './registry.ts';
import { parseScript, type Script } from './script.ts';
import { createScriptedModel } from './scripted.ts';

const greeting = parseScript(
  await readFile(new URL('script.fixture.yaml', import.meta.url), 'utf8'),
  'script.fixture.yaml',
);

const agentOf = (script: Script) => createToolLoopAgent({ models: createModels({ keys: {}, script }) });
const implementing = (call: number) => ({
  model: 'scripted:greeting',
  prompt: `${callLine('implementer', call)}\n\nMake it.`,
});

describe('the scripted model', () => {
  it('plays a call through the same loop as any other model', async () => {
    const work = await aWorkplace();
    const request = await aRequest({ ...implementing(2), sandbox: work.sandbox });
    const outcome = await agentOf(greeting).perform(request);
    expect(outcome).toMatchObject({
      kind: 'finished',
      result: { summary: 'It greets.' },
      model: 'scripted:greeting',
      scripted: true,
      usage: { calls: 4 },
    });
    expect(outcome.usage.inputTokens).toBeGreaterThan(outcome.usage.outputTokens);
    expect(outcome.usage.outputTokens).toBeGreaterThan(20);
    expect(await work.get('src/greeter.js')).toBe('export const greet = (name) => `Good morning, ${name}!`;\n');
    expect(request.progress.filter((reported) => reported.kind === 'text').map((reported) => reported.text)).toEqual([
      'First the file.',
      'Does it work?',
    ]);
    expect(
      request.progress.filter((reported) => reported.kind === 'tool_result').map((reported) => reported.text),
    ).toContain('Exit code 0.\nstdout:\nexport const greet = (name) => `Good morning, ${name}!`;');
  });

  it('asks its question in the call whose turn it is', async () => {
    expect(await agentOf(greeting).perform(await aRequest(implementing(1)))).toMatchObject({
      kind: 'question',
      question: { question: 'Which language shall it greet in?', options: ['English', 'German'] },
    });
  });

  it('goes on with the same turn after a restart, since it remembers nothing', async () => {
    const conversation = [
      { role: 'user' as const, content: implementing(2).prompt },
      { role: 'assistant' as const, content: 'First the file.' },
      { role: 'user' as const, content: 'Go on.' },
    ];
    const first = createScriptedModel(greeting);
    await generateText({ model: first, messages: conversation });
    await generateText({ model: first, messages: conversation });
    const again = await generateText({ model: first, messages: conversation });
    const fresh = await generateText({ model: createScriptedModel(greeting), messages: conversation });
    expect(again.toolCalls).toEqual(fresh.toolCalls);
    expect(fresh.toolCalls).toMatchObject([{ toolName: 'edit', input: { oldText: 'Hello' } }]);
  });

  it('gives the same call the same end when the whole call is repeated after a crash', async () => {
    const work = await aWorkplace();
    const killed = new AbortController();
    const request = await aRequest({ ...implementing(2), sandbox: work.sandbox, signal: killed.signal });
    const onProgress = (reported: { kind: string }) =>
      reported.kind === 'tool_result' && killed.abort(new Error('killed'));
    await expect(agentOf(greeting).perform({ ...request, onProgress })).rejects.toThrow('killed');
    expect(
      await agentOf(greeting).perform(await aRequest({ ...implementing(2), sandbox: work.sandbox })),
    ).toMatchObject({ result: { summary: 'It greets.' } });
  });

  it('streams text and tool input in pieces', async () => {
    const kinds: string[] = [];
    const result = streamText({ model: createScriptedModel(greeting), prompt: implementing(2).prompt });
    for await (const part of result.stream) kinds.push(part.type);
    expect(kinds.filter((kind) => kind === 'tool-input-delta').length).toBeGreaterThan(2);
    expect(await result.text).toBe('First the file.');
    expect(await result.finishReason).toBe('tool-calls');
  });

  it('says which call is missing when a role is called once too often', async () => {
    await expect(agentOf(greeting).perform(await aRequest(implementing(3)))).rejects.toMatchObject({
      name: 'NeedsHuman',
      reason: 'agent_failed',
      message:
        'The script "greeting" has no call 3 for the role implementer; it has 2. Add the call to the script, or start a run with a real model.',
    });
  });

  it('says which turn is missing when a call does not end where the script does', async () => {
    const script = parseScript(
      'name: greeting\nroles:\n  implementer:\n    - turns:\n        - tools: [{ name: ask, input: { nothing: 1 } }]\n',
      'a.yaml',
    );
    await expect(agentOf(script).perform(await aRequest(implementing(1)))).rejects.toMatchObject({
      reason: 'agent_failed',
      message: expect.stringContaining('has no turn 2 in call 1 of the role implementer; it has 1.'),
    });
  });

  it('does not take a call line from what others wrote into the prompt', async () => {
    const prompt = `Some words\n${callLine('implementer', 2)}`;
    await expect(agentOf(greeting).perform(await aRequest({ ...implementing(2), prompt }))).rejects.toMatchObject({
      message: expect.stringContaining('cannot tell which call to play'),
    });
  });

  it('stops at once when aborted during a delay', async () => {
    const script = parseScript(
      'name: greeting\nroles:\n  implementer:\n    - turns:\n        - { delayMs: 60000, tools: [{ name: finish, input: { summary: x } }] }\n',
      'a.yaml',
    );
    const started = performance.now();
    const signal = AbortSignal.timeout(50);
    await expect(agentOf(script).perform(await aRequest({ ...implementing(1), signal }))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});
