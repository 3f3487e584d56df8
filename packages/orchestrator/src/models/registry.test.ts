import { NeedsHuman } from '@autonomous/shared';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createModels } from './registry.ts';
import { parseScript } from './script.ts';

const keys = { anthropic: 'a', openai: 'o', deepseek: 'd' };
const script = parseScript('name: demo\nroles: {}\n', 'demo.yaml');

describe('createModels', () => {
  it.each([
    ['claude-3-5-sonnet-20241022', 'anthropic:claude-3-5-sonnet-20241022'],
    ['gpt-4o-mini', 'openai:gpt-4o-mini'],
    ['o3', 'openai:o3'],
    ['o4-mini', 'openai:o4-mini'],
    ['chatgpt-4o-latest', 'openai:chatgpt-4o-latest'],
    ['deepseek-reasoner', 'deepseek:deepseek-reasoner'],
    ['scripted', 'scripted:demo'],
    ['openai-chat:gpt-4o', 'openai-chat:gpt-4o'],
    ['openai-compatible:qwen2.5:7b', 'openai-compatible:qwen2.5:7b'],
  ])('resolves %s to %s', (id, full) => {
    const models = createModels({ keys, baseUrls: { openaiCompatible: 'http://127.0.0.1:1/v1' }, script });
    expect(models.check(id)).toEqual({ ok: true, id: full });
    expect(models.resolve(id)).toMatchObject({ id: full, scripted: full === 'scripted:demo' });
  });

  it.each([
    ['anthropic:claude-x', 'ANTHROPIC_API_KEY'],
    ['gpt-4o', 'OPENAI_API_KEY'],
    ['openai-chat:gpt-4o', 'OPENAI_API_KEY'],
    ['deepseek-reasoner', 'DEEPSEEK_API_KEY'],
    ['openai-compatible:llama', 'OPENAI_COMPATIBLE_BASE_URL'],
  ])('names what is missing for %s', (id, variable) => {
    const models = createModels({ keys: {} });
    expect(models.check(id)).toEqual({
      ok: false,
      message: expect.stringMatching(`\\b${variable}\\b.*, or choose another model`),
    });
    expect(() => models.resolve(id)).toThrow(NeedsHuman);
  });

  it('takes no key from the environment by itself', () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'from-the-environment');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(createModels({ keys: {} }).check('claude-x').ok).toBe(false);
  });

  it('lists the known providers where a name is unknown', () => {
    const models = createModels({ keys });
    const known = 'anthropic, openai, openai-chat, deepseek, openai-compatible, scripted';
    expect(models.check('mistral-large')).toEqual({ ok: false, message: expect.stringContaining(known) });
    expect(models.check('mistral:large')).toEqual({
      ok: false,
      message: `The model "mistral:large" names the unknown provider "mistral"; known are ${known}.`,
    });
    expect(models.check('anthropic:')).toEqual({ ok: false, message: expect.stringContaining('no model') });
    expect(models.check('')).toMatchObject({ ok: false });
    expect(models.check('__proto__:x')).toMatchObject({ ok: false });
  });

  it('says which script there is where another is asked for', () => {
    expect(createModels({ keys }).check('scripted')).toEqual({
      ok: false,
      message: expect.stringContaining('no script loaded'),
    });
    expect(createModels({ keys, script }).check('scripted:other')).toEqual({
      ok: false,
      message: expect.stringContaining('scripted:demo'),
    });
  });

  it('knows the external agents of the server, what is missing for each, and that they are no models', () => {
    const agents = [
      { name: 'claude', unusable: null },
      { name: 'codex', unusable: 'KEY is not set.' },
    ];
    const models = createModels({ keys: {}, agents });
    expect(models.check('acp:claude')).toEqual({ ok: true, id: 'acp:claude' });
    expect(models.check('acp:codex')).toEqual({
      ok: false,
      message: 'The agent acp:codex cannot be used: KEY is not set.',
    });
    expect(models.check('acp:other')).toEqual({
      ok: false,
      message: expect.stringContaining('there are claude, codex'),
    });
    expect(createModels({ keys: {} }).check('acp:claude')).toEqual({
      ok: false,
      message: expect.stringContaining('AUTONOMOUS_AGENTS'),
    });
    expect(() => models.resolve('acp:claude')).toThrow('no model');
    expect(models.list({ implementer: 'acp:claude' })).toContainEqual({
      id: 'acp:claude',
      usable: true,
      scripted: false,
      defaultFor: ['implementer'],
    });
    expect(models.list({})).toContainEqual(expect.objectContaining({ id: 'acp:codex', usable: false }));
  });

  it('lists the well-known models, what is missing for each, and for which roles they are the default', () => {
    const list = createModels({ keys: { openai: 'o' }, script }).list({
      planner: 'deepseek-reasoner',
      implementer: 'scripted',
      validator: 'gpt-4o-mini',
      other: 'what',
    });
    const byId = new Map(list.map((model) => [model.id, model]));
    expect(byId.get('openai:gpt-4o-mini')).toEqual({
      id: 'openai:gpt-4o-mini',
      usable: true,
      scripted: false,
      defaultFor: ['validator'],
    });
    expect(byId.get('deepseek:deepseek-reasoner')).toMatchObject({
      usable: false,
      reason: expect.stringContaining('DEEPSEEK_API_KEY'),
      defaultFor: ['planner'],
    });
    expect(byId.get('scripted:demo')).toMatchObject({ usable: true, scripted: true, defaultFor: ['implementer'] });
    expect(byId.get('what')).toMatchObject({ usable: false, defaultFor: ['other'] });
    expect(list.filter((model) => model.id.startsWith('anthropic:')).every((model) => !model.usable)).toBe(true);
    expect(byId.size).toBe(list.length);
  });
});
