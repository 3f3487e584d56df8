import { describe, expect, it } from 'vitest';
import { cleanKey, createModelKeys, handKeys, recognizeProvider, type SecretStore } from './model-keys.ts';

function aStorage(content?: string): SecretStore & { readonly values: Map<string, string> } {
  const values = new Map(content === undefined ? [] : [['autonomous.modelKeys', content]]);
  return {
    values,
    get: (name) => Promise.resolve(values.get(name)),
    store: (name, value) => Promise.resolve(void values.set(name, value)),
    delete: (name) => Promise.resolve(void values.delete(name)),
  };
}

describe('The keys of models', () => {
  it('are kept by provider, replaced and forgotten', async () => {
    const storage = aStorage();
    const keys = createModelKeys(storage);
    expect(await keys.all()).toEqual({});
    await keys.keep('anthropic', { key: 'sk-ant-1' });
    await keys.keep('openai-compatible', { key: '', baseUrl: 'http://127.0.0.1:1' });
    await keys.keep('anthropic', { key: 'sk-ant-2' });
    expect(await createModelKeys(storage).all()).toEqual({
      anthropic: { key: 'sk-ant-2' },
      'openai-compatible': { key: '', baseUrl: 'http://127.0.0.1:1' },
    });
    await keys.forget('anthropic');
    await keys.forget('openai-compatible');
    expect(storage.values.size).toBe(0);
  });

  it.each(['garbage', 'null', '[]', '{"anthropic":null}', '{"anthropic":{"key":1}}'])(
    'are none where the storage holds %s',
    async (content) => {
      expect(await createModelKeys(aStorage(content)).all()).toEqual({});
    },
  );

  it('are given to a server that was started, in its memory and untested, and a refusal does not hold up the others', async () => {
    const keys = createModelKeys(aStorage());
    await keys.keep('anthropic', { key: 'sk-ant-secret' });
    await keys.keep('openai', { key: 'sk-proj-secret' });
    const given: unknown[] = [];
    const faults = await handKeys(keys, {
      setKey: (provider, key) => {
        given.push([provider, key]);
        if (provider === 'anthropic')
          return Promise.reject(new Error('The environment names a key, not sk-ant-secret.'));
        return Promise.reject<never>(new Error('x'));
      },
    });
    expect(given).toEqual([
      ['anthropic', { key: 'sk-ant-secret', keep: 'memory', check: false }],
      ['openai', { key: 'sk-proj-secret', keep: 'memory', check: false }],
    ]);
    expect(faults).toEqual([
      'The key of anthropic was not taken: The environment names a key, not ….',
      'The key of openai was not taken: x',
    ]);
  });
});

it.each([
  [' sk-ant-1\n', 'sk-ant-1'],
  ['"sk-ant-1"', 'sk-ant-1'],
  ["'sk-ant-1' ", 'sk-ant-1'],
  ['export ANTHROPIC_API_KEY="sk-ant-1"', 'sk-ant-1'],
  ['ANTHROPIC_API_KEY=sk-ant-1', 'sk-ant-1'],
  ['"sk-ant-1', '"sk-ant-1'],
  ['', ''],
])('takes %j for the key %j', (text, key) => {
  expect(cleanKey(text)).toBe(key);
});

it.each([
  ['sk-ant-api03-x', 'anthropic'],
  ['sk-proj-x', 'openai'],
  ['sk-svcacct-x', 'openai'],
  ['sk-0123456789abcdef', null],
  ['x', null],
])('recognises the provider of %s as %s', (key, provider) => {
  expect(recognizeProvider(key)).toBe(provider);
});
