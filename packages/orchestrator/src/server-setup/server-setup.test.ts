import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readServerConfig } from '../config.ts';
import { openServerSetup, type ServerSetup } from './server-setup.ts';

const KEY = `sk-ant-api03-${'k7'.repeat(20)}`;
const OTHER_KEY = `sk-ant-api03-${'m3'.repeat(20)}`;
const NOBODY = 'http://127.0.0.1:9';

let folder: string;
let learnt: string[];
const servers: Server[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'setup-'));
  learnt = [];
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true });
});

const open = (env: Record<string, string> = {}, ollamaUrl = NOBODY): Promise<ServerSetup> =>
  openServerSetup({
    config: readServerConfig({ AUTONOMOUS_DATA: folder, ...env }),
    learn: (secrets) => void learnt.push(...secrets),
    ollamaUrl,
    machine: { home: folder, env: {} },
  });

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider that takes one key and lists these models. */
const provider = (taken = KEY, models = ['claude-sonnet-5-5', 'claude-opus-5-5']): Promise<string> =>
  serve(({ headers }, response) => {
    const key = headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '');
    if (key !== taken) return response.writeHead(401).end(JSON.stringify({ error: `invalid ${String(key)}` }));
    return response.end(JSON.stringify({ data: models.map((id) => ({ id })) }));
  });

const entry = async (setup: ServerSetup, id: string) =>
  (await setup.getSetup()).providers.find((each) => each.id === id);

describe('without any key', () => {
  it('nothing is ready, and each provider says where its keys are', async () => {
    const { isReady, providers, agents } = await (await open()).getSetup();
    expect(isReady).toBe(false);
    expect(providers.map(({ id, status, models }) => [id, status, models])).toEqual([
      ['anthropic', 'no_key', []],
      ['openai', 'no_key', []],
      ['deepseek', 'no_key', []],
      ['openai-compatible', 'no_key', []],
      ['ollama', 'unreachable', []],
    ]);
    expect(providers[0]?.keysUrl).toMatch(/^https:/);
    expect(agents.map(({ id, status, way }) => [id, status, way])).toEqual([
      ['claude', 'not_found', expect.stringContaining('npm install')],
      ['codex', 'not_found', expect.stringContaining('npm install')],
      ['opencode', 'not_found', expect.stringContaining('npm install')],
    ]);
  });
});

describe('a key', () => {
  it('is tested by a call, used at once, kept in a file of its owner and never given again', async () => {
    const setup = await open({ ANTHROPIC_BASE_URL: await provider() });
    expect(setup.models.check('anthropic:claude-sonnet-5-5').ok).toBe(false);
    const given = await setup.setKey('anthropic', { key: KEY, keep: 'file' });
    expect(given).toMatchObject({
      status: 'ready',
      source: 'file',
      hint: '…k7k7',
      models: ['anthropic:claude-sonnet-5-5', 'anthropic:claude-opus-5-5'],
    });
    expect(setup.models.check('anthropic:claude-sonnet-5-5').ok).toBe(true);
    const after = await setup.getSetup();
    expect(after.isReady).toBe(true);
    expect(new Set(Object.values(after.defaultModels))).toEqual(new Set(['anthropic:claude-sonnet-5-5']));
    expect(JSON.stringify(after)).not.toContain(KEY);
    expect(learnt).toContain(KEY);
    const file = join(folder, 'keys.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toContain(KEY);
    expect(await readdir(folder)).toEqual(['keys.json']);
    // The next start.
    learnt = [];
    const again = await open();
    expect(await entry(again, 'anthropic')).toMatchObject({ status: 'ready', source: 'file', hint: '…k7k7' });
    expect(learnt).toEqual([KEY]);
  });

  it('that is kept in memory is gone with the server, and replaces one in the file', async () => {
    const setup = await open({ ANTHROPIC_BASE_URL: await provider() });
    await setup.setKey('anthropic', { key: OTHER_KEY, keep: 'file', check: false });
    expect(await setup.setKey('anthropic', { key: KEY, keep: 'memory' })).toMatchObject({ source: 'memory' });
    expect(await readFile(join(folder, 'keys.json'), 'utf8')).not.toContain('sk-ant');
    expect(await entry(await open(), 'anthropic')).toMatchObject({ status: 'no_key' });
  });

  it('that the provider refuses is not kept, and the one before it stays', async () => {
    const setup = await open({ ANTHROPIC_BASE_URL: await provider() });
    await setup.setKey('anthropic', { key: KEY, keep: 'file' });
    await expect(setup.setKey('anthropic', { key: OTHER_KEY, keep: 'file' })).rejects.toMatchObject({
      status: 422,
      message: expect.stringMatching(/refuses the key.*The key was not kept/),
      extra: { providerStatus: 'refused' },
    });
    expect(await entry(setup, 'anthropic')).toMatchObject({ status: 'ready', hint: '…k7k7' });
    expect(await readFile(join(folder, 'keys.json'), 'utf8')).not.toContain(OTHER_KEY);
    // It may show up in a log of the provider's answers all the same.
    expect(learnt).toContain(OTHER_KEY);
  });

  it('is kept without a test where that is asked for, and a later test tells that it is refused', async () => {
    const setup = await open({ ANTHROPIC_BASE_URL: await provider() });
    await setup.setKey('anthropic', { key: OTHER_KEY, keep: 'file', check: false });
    expect(await setup.testProvider('anthropic')).toMatchObject({ status: 'refused', models: [] });
    expect(await entry(setup, 'anthropic')).toMatchObject({ status: 'refused' });
    expect(await setup.setKey('anthropic', { key: KEY, keep: 'file' })).toMatchObject({
      status: 'ready',
      detail: null,
    });
  });

  it('of the environment wins: it is named, and neither replaced nor removed', async () => {
    const setup = await open({ ANTHROPIC_API_KEY: KEY });
    expect(await entry(setup, 'anthropic')).toMatchObject({
      source: 'environment',
      detail: expect.stringContaining('ANTHROPIC_API_KEY'),
    });
    const refusal = { status: 409, message: expect.stringContaining('ANTHROPIC_API_KEY') };
    await expect(setup.setKey('anthropic', { key: OTHER_KEY, keep: 'file' })).rejects.toMatchObject(refusal);
    await expect(setup.removeKey('anthropic')).rejects.toMatchObject(refusal);
  });

  it('is removed from file and memory', async () => {
    const setup = await open();
    await setup.setKey('openai', { key: `sk-proj-${'b2'.repeat(20)}`, keep: 'file', check: false });
    expect(await setup.removeKey('openai')).toMatchObject({ status: 'no_key', hint: null, models: [] });
    expect(setup.models.check('openai:gpt-6-sol').ok).toBe(false);
    expect(await readFile(join(folder, 'keys.json'), 'utf8')).not.toContain('sk-proj');
  });

  it('of another provider is refused before any call, and is scrubbed from then on', async () => {
    const setup = await open();
    const openai = `sk-proj-${'b2'.repeat(20)}`;
    await expect(setup.setKey('anthropic', { key: openai, keep: 'file' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('looks like an OpenAI key'),
      faults: [{ path: 'key', message: expect.any(String) }],
    });
    expect(learnt).toContain(openai);
  });

  it('is refused for a provider that there is not', async () => {
    const setup = await open();
    await expect(setup.setKey('mistral', { key: KEY, keep: 'file' })).rejects.toMatchObject({ status: 404 });
    await expect(setup.testProvider('mistral')).rejects.toMatchObject({ status: 404 });
  });

  it('given twice at once leaves one whole file', async () => {
    const setup = await open();
    const keys = Array.from({ length: 8 }, (_, at) => `sk-ant-api03-${String(at).repeat(40)}`);
    await Promise.all(keys.map((key) => setup.setKey('anthropic', { key, keep: 'file', check: false })));
    expect(JSON.parse(await readFile(join(folder, 'keys.json'), 'utf8'))).toEqual({
      version: 1,
      providers: { anthropic: { key: keys.at(-1) } },
    });
  });
});

describe('a server of one’s own', () => {
  it('is given with its address, with or without a key', async () => {
    const url = `${await provider('local-key-1', ['qwen3', 'llama4'])}/v1`;
    const setup = await open();
    const given = await setup.setKey('openai-compatible', { key: 'local-key-1', keep: 'file', baseUrl: url });
    expect(given).toMatchObject({
      status: 'ready',
      baseUrl: url,
      models: ['openai-compatible:qwen3', 'openai-compatible:llama4'],
    });
    expect((await setup.getSetup()).isReady).toBe(true);
    // Also after a restart, without asking it.
    expect((await (await open()).getSetup()).isReady).toBe(true);
    await expect(setup.setKey('openai-compatible', { key: '', keep: 'file', baseUrl: url })).rejects.toMatchObject({
      message: expect.stringContaining('wants a key'),
    });
  });

  it('shows no model that its list names by a key or with characters that are not seen', async () => {
    const key = 'local-key-of-twelve';
    const listed = ['qwen3', key, `x-${key}`, 'qwen\u200B3', 'llama4'];
    const baseUrl = `${await provider(key, listed)}/v1`;
    const setup = await open();
    const given = await setup.setKey('openai-compatible', { key, keep: 'file', baseUrl });
    const models = ['openai-compatible:qwen3', 'openai-compatible:llama4'];
    expect(given).toMatchObject({ hint: '…elve', models });
    expect(JSON.stringify([await setup.getSetup(), setup.models.list({})])).not.toContain(key);
    expect(await entry(await open(), 'openai-compatible')).toMatchObject({ models });
  });

  it('with a short key shows no end of it', async () => {
    const baseUrl = `${await provider('abcd', ['qwen3', 'abcd'])}/v1`;
    const given = await (await open()).setKey('openai-compatible', { key: 'abcd', keep: 'memory', baseUrl });
    expect(given).toMatchObject({ hint: null, models: ['openai-compatible:qwen3'] });
  });

  it.each([
    undefined,
    'localhost:11434',
    'ftp://host/v1',
    'http://user:password@host/v1',
    'http://169.254.169.254/v1',
    'http://0xa9fea9fe/v1',
    'http://[::ffff:169.254.169.254]/v1',
    'http://[fe80::1]/v1',
  ])('is refused with the address %s', async (baseUrl) => {
    const setup = await open();
    await expect(
      setup.setKey('openai-compatible', { key: 'abc', keep: 'file', ...(baseUrl === undefined ? {} : { baseUrl }) }),
    ).rejects.toMatchObject({ status: 400, faults: [{ path: 'baseUrl', message: expect.any(String) }] });
  });
});

describe('Ollama', () => {
  const ollama = (names: readonly string[]): Promise<string> =>
    serve(({ url }, response) => {
      if (url !== '/api/tags') return response.writeHead(404).end();
      return response.end(JSON.stringify({ models: names.map((name) => ({ name })) }));
    });

  it('is found at its address, and its models are offered and used where there is no key', async () => {
    const setup = await open({}, await ollama(['qwen3-coder:30b', 'llama4']));
    expect(await entry(setup, 'ollama')).toMatchObject({
      status: 'ready',
      models: ['ollama:qwen3-coder:30b', 'ollama:llama4'],
    });
    const { isReady, defaultModels } = await setup.getSetup();
    expect(isReady).toBe(true);
    expect(new Set(Object.values(defaultModels))).toEqual(new Set(['ollama:qwen3-coder:30b']));
    expect(setup.models.check('ollama:llama4').ok).toBe(true);
  });

  it('without models says how to get one', async () => {
    const setup = await open({}, await ollama([]));
    expect((await entry(setup, 'ollama'))?.detail).toContain('ollama pull');
    expect((await setup.getSetup()).isReady).toBe(false);
  });
});

describe('default models', () => {
  it('are chosen by role, kept over a restart, and given back to the role’s own', async () => {
    const setup = await open();
    await setup.setKey('anthropic', { key: KEY, keep: 'file', check: false });
    const [role = ''] = Object.keys((await setup.getSetup()).defaultModels);
    const changed = await setup.setDefaultModels({ [role]: 'anthropic:claude-opus-5-5' });
    expect(changed.defaultModels[role]).toBe('anthropic:claude-opus-5-5');
    expect((await (await open()).getSetup()).defaultModels[role]).toBe('anthropic:claude-opus-5-5');
    expect((await setup.setDefaultModels({ [role]: '' })).defaultModels[role]).toBe('anthropic:claude-sonnet-5-5');
  });

  it('refuse unknown roles, models without a key and roles that the environment names, all at once', async () => {
    const setup = await open({ ANTHROPIC_API_KEY: KEY, DEFAULT_PLANNER_MODEL: 'claude-opus-5-5' });
    await expect(
      setup.setDefaultModels({ nobody: 'x', planner: 'anthropic:x', validator: 'openai:gpt-6-sol' }),
    ).rejects.toMatchObject({
      status: 400,
      faults: [
        { path: 'nobody', message: expect.stringContaining("no role 'nobody'") },
        { path: 'planner', message: expect.stringContaining('environment, which wins') },
        { path: 'validator', message: expect.stringContaining('OPENAI_API_KEY') },
      ],
    });
  });
});

describe('the file of keys', () => {
  const file = () => join(folder, 'keys.json');
  const good = JSON.stringify({ version: 1, providers: { anthropic: { key: KEY } } });
  it.each([
    ['that others can read', async () => await writeFile(file(), good, { mode: 0o644 }), /mode 0644.*chmod 600/],
    ['with garbage', async () => await writeFile(file(), `{${KEY}`, { mode: 0o600 }), /is damaged/],
    ['of another form', async () => await writeFile(file(), '{"version":2}', { mode: 0o600 }), /is damaged/],
    ['that is a link', async () => await symlink('/etc/hostname', file()), /symbolic link/],
    ['that is a folder', async () => await mkdir(file()), /is a folder.*Move it away/],
    [
      'that is a named pipe',
      async () => await promisify(execFile)('mkfifo', ['-m', '600', file()]),
      /is not a regular file.*Move it away/,
    ],
    [
      'with an address that is not used',
      async () =>
        await writeFile(file(), good.replace('}}}', ',"baseUrl":"http://127.0.0.1:9/v1"}}}'), { mode: 0o600 }),
      /baseUrl.*other than openai-compatible.*Take it out/,
    ],
    ['that is too large', async () => await writeFile(file(), ' '.repeat(300_000), { mode: 0o600 }), /300000 bytes/],
  ])('%s is refused by its name', async (_what, make, words) => {
    await make();
    const refusal = await open().catch((error: unknown) => error as Error);
    expect(refusal).toMatchObject({ message: expect.stringMatching(words) });
    expect((refusal as Error).message).toContain(file());
    expect((refusal as Error).message).not.toContain(KEY);
  });

  it('that cannot be written leaves everything as it was', async () => {
    const setup = await open();
    await rm(folder, { recursive: true });
    await expect(setup.setKey('anthropic', { key: KEY, keep: 'file', check: false })).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining(file()),
    });
    await mkdir(folder);
    expect(await entry(setup, 'anthropic')).toMatchObject({ status: 'no_key' });
    expect(await readdir(folder)).toEqual([]);
  });
});
