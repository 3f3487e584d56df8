/** Tests that a key is sent to the address that the server's environment names, and to no other. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { projectConfigSchema, runConfigRequestSchema } from '@autonomous/shared';
import { generateText } from 'ai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRunConfigPolicy } from '../run-config/run-config-policy.ts';
import { parseProjectConfig } from '../run-config/run-config.ts';
import { NO_SETTINGS } from '../run-config/workflow-settings.ts';
import { createProviderFetch } from './provider-fetch.ts';
import { createModels } from './registry.ts';

const KEY = 'canary-key';

describe('a provider that says nothing for long', () => {
  it('is waited for as long as the caller wants, not as long as fetch does by itself', async () => {
    await fetch('data:,');
    const usual = Symbol.for('undici.globalDispatcher.1');
    const global = globalThis as unknown as Record<symbol, { readonly constructor: unknown }>;
    const before = global[usual];
    const Agent = before?.constructor as new (options: object) => { readonly constructor: unknown };
    // By itself it waits for five minutes.
    global[usual] = new Agent({ headersTimeout: 500, bodyTimeout: 500 });
    onTestFinished(() => void Object.assign(global, { [usual]: before }));
    const url = await serve((_request, response) => {
      setTimeout(() => response.writeHead(200).write('half '), 2_500);
      setTimeout(() => response.end('an answer'), 5_000);
    });
    await expect(fetch(url)).rejects.toMatchObject({ cause: { name: 'HeadersTimeoutError' } });
    const response = await createProviderFetch('OPENAI_BASE_URL')(url);
    expect(await response.text()).toBe('half an answer');
  });
});

describe('I07: the address of a provider', () => {
  it.each([
    ['anthropic:claude-sonnet-4-5', 'ANTHROPIC_BASE_URL'],
    ['openai:gpt-5', 'OPENAI_BASE_URL'],
    ['openai-chat:gpt-4o', 'OPENAI_BASE_URL'],
    ['deepseek:deepseek-chat', 'DEEPSEEK_BASE_URL'],
    ['openai-compatible:local', 'OPENAI_COMPATIBLE_BASE_URL'],
    ['mine:local', 'MODEL_ENDPOINTS'],
  ])('is the only one that the key of %s goes to, wherever it redirects', async (model, variable) => {
    const elsewhere: IncomingMessage[] = [];
    const other = await serve((request, response) => {
      elsewhere.push(request);
      response.end();
    });
    let asked = 0;
    for (const status of [301, 302, 303, 307, 308]) {
      const baseUrl = await serve((request, response) => {
        asked += JSON.stringify(request.headers).includes(KEY) ? 1 : 0;
        response.writeHead(status, { location: `${other}/v1/take-it` }).end();
      });
      const models = createModels({
        keys: { anthropic: KEY, openai: KEY, deepseek: KEY, openaiCompatible: KEY },
        baseUrls: { anthropic: baseUrl, openai: baseUrl, deepseek: baseUrl, openaiCompatible: baseUrl },
        endpoints: [{ name: 'mine', baseUrl, apiKey: KEY }],
      });
      const failure = await generateText({ model: models.resolve(model).model, prompt: 'Hello' }).catch(
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({
        name: 'NeedsHuman',
        reason: 'model_unavailable',
        message: expect.stringContaining(`redirects to ${other}, where its key is not sent`),
      });
      expect(String(failure)).toContain(variable);
    }
    expect(asked).toBe(5);
    expect(elsewhere).toEqual([]);
  });

  it.each([
    { baseUrl: 'https://evil.test/v1' },
    { baseUrls: { openai: 'https://evil.test/v1' } },
    { keys: { openai: KEY } },
    { OPENAI_BASE_URL: 'https://evil.test/v1' },
    { endpoints: [{ name: 'evil', baseUrl: 'https://evil.test/v1' }] },
  ])('is not for a run, its API caller or a project to set: %j', (config) => {
    expect(runConfigRequestSchema.safeParse(config).success).toBe(false);
    expect(projectConfigSchema.safeParse({ defaultRunConfig: config }).success).toBe(false);
    // The rest of a project's file is taken, and the run has a notice.
    const parsed = parseProjectConfig(JSON.stringify({ defaultRunConfig: { ...config, maxFixAttempts: 1 } }));
    expect(parsed).toMatchObject({ ok: true, config: { defaultRunConfig: { maxFixAttempts: 1 } } });
    expect(JSON.stringify(parsed.ok && parsed.config)).not.toMatch(/evil|canary/);
    expect(parsed.ok && parsed.notices).toEqual([expect.stringContaining('is not known and is ignored')]);
  });

  it.each([{ baseUrl: 'https://evil.test/v1' }, { apiKey: KEY }])('is no role whose model is set: %j', (setting) => {
    const policy = createRunConfigPolicy({
      settings: [{ ...NO_SETTINGS, workflow: 'build', models: { planner: 'openai:gpt-4o' } }],
      defaults: {},
      limits: { autoStages: null, autoMerge: true, models: null },
      checkModel: (id) => ({ ok: true, id }),
    });
    const [name] = Object.keys(setting);
    const config = { modelRouting: { planner: 'openai:o3', ...setting } };
    expect(policy.check('build', config)).toEqual([expect.objectContaining({ path: `modelRouting.${name}` })]);
    // The rest of a project's file is taken, and the run has a notice.
    const resolved = policy.resolve('build', { defaultRunConfig: config }, {});
    expect(resolved.config.modelRouting).toEqual({ planner: 'openai:o3' });
    expect(JSON.stringify(resolved.config)).not.toMatch(/evil|canary/);
    expect(resolved.notices).toEqual([expect.stringContaining(`modelRouting.${name}`)]);
  });

  it('takes no model for an address: what stands before the colon is a name and nothing else', () => {
    const models = createModels({ keys: { openai: KEY } });
    for (const id of ['https://evil.test/v1:gpt-4o', 'openai@evil.test:gpt-4o', '//evil.test:x'])
      expect(models.check(id)).toMatchObject({ ok: false });
  });
});

describe('an answer', () => {
  it('that would fill the memory ends as a failed one', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 0x20);
    const baseUrl = await serve((_request, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    const models = createModels({ keys: {}, baseUrls: { openaiCompatible: baseUrl } });
    const { model } = models.resolve('openai-compatible:local');
    const failure = await generateText({ model, prompt: 'Hello', maxRetries: 0 }).catch((error: unknown) => error);
    const words: string[] = [];
    for (let link = failure; link instanceof Error; link = link.cause) words.push(link.message);
    expect(words.join(' ')).toContain('the answer has more than 64 MB');
  });
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => listener(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
