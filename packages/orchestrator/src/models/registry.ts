/**
 * Registry of the models that this server can use: providers by name, their keys, and the language models behind
 * `provider:model`.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createDeepSeek } from '@ai-sdk/deepseek';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type ModelSummary, NeedsHuman } from '@autonomous/shared';
import { defaultSettingsMiddleware, type LanguageModel, wrapLanguageModel } from 'ai';
import type { Cassette } from './cassettes/cassette.ts';
import { createCassetteModel } from './cassettes/cassette-player.ts';
import type { Models } from './model.ts';
import { windowInTable } from './model-table.ts';
import { PROVIDERS } from './provider-catalog.ts';
import { createProviderFetch } from './provider-fetch.ts';
import type { Script } from './script.ts';
import { createScriptedModel } from './scripted.ts';

export interface ModelSettings {
  readonly keys: {
    readonly anthropic?: string | undefined;
    readonly openai?: string | undefined;
    readonly deepseek?: string | undefined;
    /** Optional: servers on one's own machine mostly take none. */
    readonly openaiCompatible?: string | undefined;
  };
  /** Where the providers are reached; absent means their own address. `openaiCompatible` has none of its own. */
  readonly baseUrls?: {
    readonly anthropic?: string | undefined;
    readonly openai?: string | undefined;
    readonly deepseek?: string | undefined;
    readonly openaiCompatible?: string | undefined;
  };
  /** Further servers that speak OpenAI's chat completions; a model of one is `<its name>:<model>`. */
  readonly endpoints?: readonly {
    readonly name: string;
    readonly baseUrl: string;
    readonly apiKey?: string | undefined;
  }[];
  /** Models by provider, as its list names them; a provider that is absent was not asked. */
  readonly listed?: ReadonlyMap<string, readonly string[]>;
  /** Windows by full id of the model, in tokens; they stand above those of the table. */
  readonly windows?: ReadonlyMap<string, number>;
  /** How people start this program at a command line, for messages. Default: `autonomous`. */
  readonly program?: string;
  /** Script or cassette that `scripted:<its name>` plays. Absent: there is no scripted model. */
  readonly script?: Script | Cassette | null;
  /** External coding agents, which carry a role out themselves: `acp:<name>`. `unusable` says why and the way out. */
  readonly agents?: readonly { readonly name: string; readonly unusable: string | null }[];
}

interface Provider {
  /** Environment variable without which the provider cannot be used. */
  readonly variable: string;
  /** Variable that holds the key, where one is refused. */
  readonly keyVariable: string;
  readonly usable: boolean;
  readonly wellKnown: readonly string[];
  /** Most tokens of one answer, where that is known. */
  maxOutputTokens?(model: string): number;
  create(model: string): LanguageModel;
}

/** Names that no endpoint of one's own can have. */
export const PROVIDER_NAMES: readonly string[] = [
  'anthropic',
  'openai',
  'openai-chat',
  'deepseek',
  'openai-compatible',
  'scripted',
];

/** Bare names of families whose provider is clear, as people write them in configurations. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [PROVIDERS.anthropic.family, 'anthropic'],
  [PROVIDERS.openai.family, 'openai'],
  [PROVIDERS.deepseek.family, 'deepseek'],
];

const SCRIPTED = 'scripted';
/** Not a provider of models: what follows is the name of an agent. */
const EXTERNAL = 'acp';

/** The models of a server. Nothing is asked of a provider here; a wrong key shows at the first call. */
export function createModels(settings: ModelSettings): Models {
  const providers = createProviders(settings);
  const script = settings.script ?? null;
  const scripted =
    script === null ? null : 'exchanges' in script ? createCassetteModel(script) : createScriptedModel(script);
  const agents = settings.agents ?? [];
  const knownNames = [...providers.keys(), SCRIPTED, ...(agents.length === 0 ? [] : [EXTERNAL])].join(', ');

  const check: Models['check'] = (id) => {
    const split = splitId(id, script);
    if (split === null) {
      return {
        ok: false,
        message: `The model "${id}" names no known provider; write provider:model with one of ${knownNames}.`,
      };
    }
    const full = `${split.provider}:${split.model}`;
    if (split.provider === SCRIPTED) return checkScripted(split.model, script);
    if (split.provider === EXTERNAL) return checkAgent(split.model, agents);
    const provider = providers.get(split.provider);
    if (provider === undefined) {
      return {
        ok: false,
        message: `The model "${id}" names the unknown provider "${split.provider}"; known are ${knownNames}.`,
      };
    }
    if (split.model === '')
      return {
        ok: false,
        message: `The model "${id}" names a provider but no model; write ${split.provider}:<model>.`,
      };
    if (!provider.usable) {
      return {
        ok: false,
        message: `The model ${full} cannot be used: ${noKey(split.provider, provider.variable, settings.program ?? 'autonomous')}, or choose another model.`,
      };
    }
    return { ok: true, id: full };
  };

  return {
    check,

    resolve(id) {
      const checked = check(id);
      if (!checked.ok) throw new NeedsHuman('model_unavailable', checked.message);
      const [name, model] = splitOnce(checked.id);
      if (name === EXTERNAL) {
        throw new NeedsHuman(
          'model_unavailable',
          `${checked.id} is an agent that carries out a whole role, and no model; choose a model here.`,
        );
      }
      if (name === SCRIPTED && scripted !== null) return { id: checked.id, model: scripted, scripted: true };
      const provider = providers.get(name);
      if (provider === undefined) throw new Error(`No provider for the checked model ${checked.id}`);
      const maxOutputTokens = provider.maxOutputTokens?.(model);
      const windowTokens = settings.windows?.get(checked.id) ?? windowInTable(checked.id);
      return {
        id: checked.id,
        model: provider.create(model),
        scripted: false,
        keyVariable: provider.keyVariable,
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(windowTokens === null ? {} : { windowTokens }),
      };
    },

    list(defaults) {
      const rolesById = new Map<string, string[]>();
      for (const [role, id] of Object.entries(defaults)) {
        const split = splitId(id, script);
        const full = split === null ? id : `${split.provider}:${split.model}`;
        rolesById.set(full, [...(rolesById.get(full) ?? []), role]);
      }
      const wellKnown = [...providers].flatMap(([name, provider]) =>
        offered(provider.wellKnown, settings.listed?.get(name)).map((model) => `${name}:${model}`),
      );
      const ids = new Set([
        ...rolesById.keys(),
        ...wellKnown,
        ...(script === null ? [] : [`${SCRIPTED}:${script.name}`]),
        ...agents.map(({ name }) => `${EXTERNAL}:${name}`),
      ]);
      return [...ids].map((id): ModelSummary => {
        const checked = check(id);
        return {
          id,
          usable: checked.ok,
          ...(checked.ok ? {} : { reason: checked.message }),
          scripted: id.startsWith(`${SCRIPTED}:`),
          defaultFor: rolesById.get(id) ?? [],
        };
      });
    },
  };
}

/** The missing setting of a provider, and the ways to give it. */
function noKey(provider: string, variable: string, program: string): string {
  if (provider === 'openai-compatible')
    return `${variable} is not set. Give its address in the setup of the dashboard or in the server's environment`;
  const name = provider === 'openai-chat' ? 'openai' : provider;
  return `there is no key for it. Give one in the setup of the dashboard, with "${program} keys set ${name}" or as ${variable} in the server's environment`;
}

/** Models to offer: the well-known ones that the provider lists, or, of a provider without well-known ones, all that it lists. */
function offered(wellKnown: readonly string[], listed: readonly string[] | undefined): readonly string[] {
  if (listed === undefined) return wellKnown;
  const both = wellKnown.filter((model) => listed.includes(model));
  return both.length > 0 ? both : listed.slice(0, MOST_OFFERED);
}

/** Gateways list hundreds. */
const MOST_OFFERED = 50;

function checkScripted(name: string, script: Script | Cassette | null): ReturnType<Models['check']> {
  const id = `${SCRIPTED}:${name}`;
  if (script?.name === name) return { ok: true, id };
  const why =
    script === null
      ? 'this server has no script loaded. Choose a real model.'
      : `the script of this server is ${SCRIPTED}:${script.name}. Choose that or a real model.`;
  return { ok: false, message: `The model ${id} cannot be used: ${why}` };
}

function checkAgent(name: string, agents: NonNullable<ModelSettings['agents']>): ReturnType<Models['check']> {
  const id = `${EXTERNAL}:${name}`;
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent?.unusable === null) return { ok: true, id };
  if (agent !== undefined) return { ok: false, message: `The agent ${id} cannot be used: ${agent.unusable}` };
  const known = agents.length === 0 ? 'there is none' : `there are ${agents.map((other) => other.name).join(', ')}`;
  return {
    ok: false,
    message: `There is no agent "${name}" on this server (${known}). Install it, or name it in the file of AUTONOMOUS_AGENTS and restart the server, or choose another model.`,
  };
}

function createProviders({ keys, baseUrls = {}, endpoints = [] }: ModelSettings): ReadonlyMap<string, Provider> {
  const openai = createOpenAI(access(keys.openai, baseUrls.openai, 'OPENAI_BASE_URL'));
  const anthropic = createAnthropic(access(keys.anthropic, baseUrls.anthropic, 'ANTHROPIC_BASE_URL'));
  const deepseek = createDeepSeek(access(keys.deepseek, baseUrls.deepseek, 'DEEPSEEK_BASE_URL'));
  const openaiKey = { variable: 'OPENAI_API_KEY', keyVariable: 'OPENAI_API_KEY', usable: isSet(keys.openai) };

  return new Map<string, Provider>([
    [
      'anthropic',
      {
        variable: 'ANTHROPIC_API_KEY',
        keyVariable: 'ANTHROPIC_API_KEY',
        usable: isSet(keys.anthropic),
        maxOutputTokens: anthropicMaxOutputTokens,
        wellKnown: PROVIDERS.anthropic.models,
        create: (model) =>
          wrapLanguageModel({
            model: anthropic(model),
            middleware: defaultSettingsMiddleware({
              settings: {
                maxOutputTokens: anthropicMaxOutputTokens(model),
                // Each step sends the whole conversation again; the provider charges little for a known beginning.
                providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
              },
            }),
          }),
      },
    ],
    [
      'openai',
      {
        ...openaiKey,
        wellKnown: PROVIDERS.openai.models,
        create: (model) =>
          wrapLanguageModel({
            model: openai.responses(model),
            // A call is a fresh context that the provider need not keep; reasoning then travels with the messages.
            middleware: defaultSettingsMiddleware({ settings: { providerOptions: { openai: { store: false } } } }),
          }),
      },
    ],
    ['openai-chat', { ...openaiKey, wellKnown: [], create: (model) => openai.chat(model) }],
    [
      'deepseek',
      {
        variable: 'DEEPSEEK_API_KEY',
        keyVariable: 'DEEPSEEK_API_KEY',
        usable: isSet(keys.deepseek),
        wellKnown: PROVIDERS.deepseek.models,
        create: (model) => deepseek(model),
      },
    ],
    [
      'openai-compatible',
      {
        variable: 'OPENAI_COMPATIBLE_BASE_URL',
        keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
        usable: isSet(baseUrls.openaiCompatible),
        wellKnown: [],
        create: compatible(
          'openai-compatible',
          baseUrls.openaiCompatible ?? '',
          keys.openaiCompatible,
          'OPENAI_COMPATIBLE_BASE_URL',
        ),
      },
    ],
    ...endpoints.map(({ name, baseUrl, apiKey }): [string, Provider] => [
      name,
      {
        variable: 'MODEL_ENDPOINTS',
        keyVariable: 'MODEL_ENDPOINT_KEYS',
        usable: true,
        wellKnown: [],
        create: compatible(name, baseUrl, apiKey, 'MODEL_ENDPOINTS'),
      },
    ]),
  ]);
}

/** @param variable environment variable with the address */
function compatible(name: string, baseURL: string, key: string | undefined, variable: string) {
  return (model: string): LanguageModel =>
    createOpenAICompatible({
      name,
      baseURL,
      // Without it these servers send no token counts in a stream.
      includeUsage: true,
      fetch: createProviderFetch(variable),
      ...(isSet(key) ? { apiKey: key } : {}),
    })(model);
}

/** The SDK would else look into the environment by itself, behind the back of `keys`. */
function access(key: string | undefined, baseUrl: string | undefined, variable: string) {
  const fetch = createProviderFetch(variable);
  return { apiKey: key ?? '', fetch, ...(isSet(baseUrl) ? { baseURL: baseUrl } : {}) };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/** @returns `null` for a bare name of no known family */
function splitId(
  id: string,
  script: Script | Cassette | null,
): { readonly provider: string; readonly model: string } | null {
  if (id === SCRIPTED) return { provider: SCRIPTED, model: script?.name ?? 'demo' };
  if (id.includes(':')) {
    const [provider, model] = splitOnce(id);
    return { provider, model };
  }
  const family = FAMILIES.find(([pattern]) => pattern.test(id));
  return family === undefined ? null : { provider: family[1], model: id };
}

/** Model names may hold colons themselves (`qwen2.5:7b`). */
function splitOnce(id: string): readonly [string, string] {
  const at = id.indexOf(':');
  return [id.slice(0, at), id.slice(at + 1)];
}

/**
 * Most tokens of one answer. Anthropic demands the figure, and the SDK falls back to 4,096 for models it does not know,
 * which cuts a file in the middle. Figures: the provider's model overview; newer models allow more than is sensible.
 */
function anthropicMaxOutputTokens(model: string): number {
  if (/claude-(?:instant|2|3-(?:haiku|sonnet|opus))/.test(model)) return 4_096;
  if (/claude-3-5-/.test(model)) return 8_192;
  if (/claude-opus-4(?:-[01])?(?:-\d{8}|$)/.test(model)) return 32_000;
  return model.includes('claude-') ? 64_000 : 32_000;
}
