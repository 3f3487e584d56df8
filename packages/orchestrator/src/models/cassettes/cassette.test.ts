/** Calls of an agent that are recorded with real wire formats and played without any network. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { InvalidRequest, type JsonValue } from '@autonomous/shared';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { anAgentAt, answerInTurn, aRequest, aWorkplace, calls, finish } from '../../agents/agent.fixture.ts';
import { createToolLoopAgent } from '../../agents/tool-loop/tool-loop.ts';
import { createScrubber } from '../../secrets/secrets.ts';
import { callLine } from '../../roles/role.ts';
import { cassetteHeader, isCassette, parseCassette } from './cassette.ts';
import { createCassetteRecorder } from './cassette-recorder.ts';
import { createModels } from '../registry.ts';

const PROVIDERS = [
  'anthropic:claude-sonnet-4-5',
  'openai:gpt-5',
  'openai-chat:gpt-4o',
  'deepseek:deepseek-chat',
  'openai-compatible:local',
];
// Made of two pieces, so that no scanner takes it for one.
const KEY = `ghp_${'a1B2c3D4'.repeat(5)}`;
const PROMPT = `${callLine('implementer', 1)}\n\n===== BEGIN plan =====\nStep 1\nStep 2\n===== END plan =====\n\nMake it.`;

const provider = new LLMock({ port: 0, host: '127.0.0.1', strict: true });
let baseUrl = '';

beforeAll(async () => {
  await provider.start();
  baseUrl = `${provider.url}/v1`;
});
afterAll(async () => await provider.stop());

const TURNS = [
  calls(['write', { path: 'a.txt', content: 'one\n' }], ['run', { command: 'cat a.txt; date +%H:%M:%S.%N' }]),
  calls(['read', { path: 'a.txt' }], ['edit', { path: 'a.txt', oldText: 'one', newText: 'two' }]),
  finish('two'),
];

/** Records a call and gives the text of its cassette. */
async function recorded(model: string, answers = TURNS, secrets: readonly string[] = []): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cassettes-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { scrubJson } = createScrubber(secrets);
  const recorder = createCassetteRecorder({
    folder,
    scrub: scrubJson,
    now: () => new Date('2026-01-01T00:00:00Z'),
    onError: (error) => {
      throw error;
    },
  });
  answerInTurn(provider, answers);
  await anAgentAt(baseUrl, { recorder }).perform(await aRequest({ model, prompt: PROMPT }));
  await recorder.flush();
  return readFile(path.join(folder, 'r-1.jsonl'), 'utf8');
}

/** Plays a cassette for a call in a new folder. */
async function played(text: string, change: { readonly prompt?: string; readonly instructions?: string } = {}) {
  const work = await aWorkplace();
  const cassette = parseCassette(text, 'x.jsonl');
  const agent = createToolLoopAgent({ models: createModels({ keys: {}, script: cassette }) });
  const request = await aRequest({ model: 'scripted', prompt: PROMPT, sandbox: work.sandbox, ...change });
  return { outcome: agent.perform(request), work, request };
}

describe.each(PROVIDERS)('a cassette of %s', (model) => {
  it('is played exactly, without its provider, and the tools work anew', async () => {
    const text = await recorded(model);
    const requests = provider.getRequests().length;
    const { outcome, work } = await played(text);
    expect(await outcome).toMatchObject({
      kind: 'finished',
      result: { summary: 'two' },
      model: 'scripted:cassette-r-1',
      scripted: true,
      usage: { inputTokens: 300, outputTokens: 60, calls: 3 },
    });
    expect(await work.get('a.txt')).toBe('two\n');
    expect(provider.getRequests()).toHaveLength(requests);
  });

  it('is played although the model wrote what looks like a secret', async () => {
    const text = await recorded(model, [
      calls(['write', { path: '.env', content: `DATABASE_URL=postgres://app:hunter22@db.internal/app\nKEY=${KEY}\n` }]),
      {
        content: `The key is ${KEY}.`,
        // As some models write it: with more spaces than JSON needs.
        toolCalls: [{ name: 'run', arguments: `{ "command" : "cat .env; echo 'Authorization: Basic ${KEY}'" }` }],
      },
      calls(['read', { path: '.env' }]),
      finish('kept'),
    ]);
    expect(text).not.toContain('hunter22');
    expect(text).not.toContain(KEY);
    const { outcome, work } = await played(text);
    expect(await outcome).toMatchObject({ kind: 'finished', result: { summary: 'kept' } });
    expect(await work.get('.env')).toBe('DATABASE_URL=postgres://[secret]@db.internal/app\nKEY=[secret]\n');
  });
});

describe('a cassette', () => {
  const model = 'openai-chat:gpt-4o';

  it('holds every exchange with models and tools, a line each', async () => {
    const lines = (await recorded(model))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, JsonValue>);
    expect(lines.map(({ type, name, role, step }) => [type, name ?? role, step])).toEqual([
      ['cassette', 'cassette-r-1', undefined],
      ['model', 'implementer', 0],
      ['tool', 'write', 1],
      ['tool', 'run', 1],
      ['model', 'implementer', 1],
      ['tool', 'read', 2],
      ['tool', 'edit', 2],
      ['model', 'implementer', 2],
    ]);
    expect(lines[2]).toMatchObject({
      input: { path: 'a.txt', content: 'one\n' },
      ok: true,
      result: 'Wrote a.txt, 1 lines.',
    });
  });

  it('holds no secret, and is played where the secret is still there', async () => {
    const secret = 'canary-of-the-server';
    const answers = [calls(['run', { command: 'echo dbobsz-pg-uif-tfswfs | tr b-za a-z' }]), finish()];
    const text = await recorded(model, answers, [secret]);
    expect(text).not.toContain(secret);
    expect(text).toContain('[secret]');
    expect(await (await played(text)).outcome).toMatchObject({ kind: 'finished' });
  });

  it('leaves out answers that were cut, which were asked for again', async () => {
    const text = await recorded(model, [
      { response: TURNS[0], options: { truncateAfterChunks: 4, chunkSize: 20, latency: 2 } } as never,
      ...TURNS,
    ]);
    expect(text.match(/"type":"model"/g)).toHaveLength(3);
    expect(await (await played(text)).outcome).toMatchObject({ kind: 'finished' });
  });

  it('names the part of a changed prompt, with what was and what is', async () => {
    const text = await recorded(model);
    const { outcome } = await played(text, { prompt: PROMPT.replace('Step 2', 'Step 2, but quickly') });
    await expect(outcome).rejects.toMatchObject({
      reason: 'agent_failed',
      message:
        'The cassette "cassette-r-1" was recorded with another request: exchange 1 (implementer 1, step 1) differs in the prompt\'s part "plan".\n- Step 2\n+ Step 2, but quickly\nRecord it again, or undo the change.',
    });
  });

  it('names changed instructions, a tool result that differs, and a call that it does not have', async () => {
    const text = await recorded(model);
    await expect((await played(text, { instructions: 'Be quick.' })).outcome).rejects.toThrow(
      /exchange 1 .* differs in instructions\.\n- You are the implementer\.\n\+ Be quick\./,
    );
    const { outcome, work } = await played(text);
    await work.put('b.txt', '');
    await expect(outcome).resolves.toMatchObject({ kind: 'finished' });
    const otherResult = text
      .replaceAll('Changed a.txt at line 1.', 'Changed a.txt at line 9.')
      .replaceAll(/"step":2,"model":"[^"]+","conversation":"[^"]+"/g, '"step":2,"model":"x","conversation":"another"');
    await expect((await played(otherResult)).outcome).rejects.toThrow(
      /exchange 3 \(implementer 1, step 3\) differs in result of edit\.\n- Changed a\.txt at line 9\.\n\+ Changed a\.txt at line 1\./,
    );
    await expect(
      (await played(text, { prompt: PROMPT.replace('implementer 1', 'implementer 2') })).outcome,
    ).rejects.toThrow('has no such call: implementer 2, step 1');
  });

  it('is known by its first line, and a line that a crash cut is passed over', async () => {
    const text = await recorded(model);
    expect(isCassette(text)).toBe(true);
    expect(isCassette('name: demo\n')).toBe(false);
    expect(parseCassette(text.slice(0, -20), 'x').exchanges).toHaveLength(2);
    const lines = text.split('\n');
    expect(() => parseCassette(lines.with(1, '{').join('\n'), 'x.jsonl')).toThrow(InvalidRequest);
    expect(() => parseCassette(lines.with(1, '{').join('\n'), 'x.jsonl')).toThrow('x.jsonl cannot be played: line 2');
    expect(parseCassette(`${cassetteHeader('r-2', 'now')}\n`, 'x')).toEqual({ name: 'cassette-r-2', exchanges: [] });
  });
});

it.each([
  [1, 'has format 1, and this program reads format 2. The last commit of this program that reads it is 3b643746.'],
  [undefined, 'has no format number, and this program reads format 2. The last commit'],
  [3, 'has format 3, and this program reads format 2. A newer version of this program wrote it: start that version.'],
])('refuses a cassette of version %s by name', (version, fault) => {
  const text = JSON.stringify({ ...(JSON.parse(cassetteHeader('r-2', 'now')) as object), version });
  expect(() => parseCassette(`${text}\n`, 'x.jsonl')).toThrow(
    `The cassette x.jsonl cannot be played: line 1: it ${fault}`,
  );
});
