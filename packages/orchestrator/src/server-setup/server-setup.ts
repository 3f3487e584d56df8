/**
 * Keys, agents and default models of a running server: those of its environment, and those that people give it while it runs.
 * Models are looked up here at each use, so that a key takes effect without a restart, also for runs that wait for one.
 */
import { lookup } from 'node:dns/promises';
import { homedir } from 'node:os';
import {
  Conflict,
  type AgentSetup,
  type Fault,
  InvalidRequest,
  type KeySource,
  type NewKey,
  NotFound,
  type Orchestrator,
  type ProviderSetup,
  type Setup,
  Unprocessable,
} from '@autonomous/shared';
import type { AcpAgentSettings } from '../agents/acp/acp-agents.ts';
import type { AgentProbe } from '../agents/acp/acp-probe.ts';
import type { ServerConfig } from '../config.ts';
import { defaultModelOf, type ModelDefaults } from '../default-models.ts';
import type { Models } from '../models/model.ts';
import { checkProvider, type ProviderCheck, withoutSecrets } from '../models/provider-check.ts';
import { isKeyedProvider, KEYED_PROVIDERS, PROVIDERS, whyNoKey } from '../models/provider-catalog.ts';
import { createModels, type ModelSettings } from '../models/registry.ts';
import { isLinkLocalAddress } from '../network/egress-rules.ts';
import { startCommand } from '../server/start-command.ts';
import { workflows as builtIn } from '../workflows/index.ts';
import { withChildren, type Workflow } from '../workflows/workflow.ts';
import {
  type AgentId,
  allAgents,
  describeAgent,
  findAgents,
  type FoundAgent,
  type Machine,
  settingsOfAgent,
  signInWayOf,
} from './local-agents.ts';
import { readKeys, readModels, type StoredKey, type StoredModels, writeKeys, writeModels } from './keys-file.ts';

export type SetupApi = Pick<
  Orchestrator,
  'getSetup' | 'setKey' | 'removeKey' | 'testProvider' | 'testAgent' | 'setDefaultModels'
>;

export interface ServerSetupOptions {
  readonly config: Pick<ServerConfig, 'dataFolder' | 'models' | 'modelDefaults' | 'agents'>;
  /** Called with every key before it is used. */
  readonly learn: (secrets: readonly string[]) => void;
  /** Opens a session of an agent and ends it; absent where there are no sandboxes. */
  readonly probeAgent?: (settings: AcpAgentSettings) => Promise<AgentProbe>;
  /** Where agents are looked for; this machine when absent. */
  readonly machine?: Machine;
  /** Takes secrets out of what an agent says. */
  readonly scrub?: (text: string) => string;
  /** Address of Ollama on this machine; its own when absent. */
  readonly ollamaUrl?: string;
}

export interface ServerSetup extends SetupApi {
  /** The models as they are at each call. */
  readonly models: Models;
  /** Settings of the models as they are now. */
  settings(): ModelSettings;
  modelDefaults(): ModelDefaults;
  /** External agents that runs may use now. */
  agents(): readonly AcpAgentSettings[];
  /** Default model by role, of all workflows that are known. */
  defaultModels(): Readonly<Record<string, string>>;
  /** Names the workflows whose roles have default models; the built-in ones until then. */
  useWorkflows(workflows: readonly Workflow[]): void;
}

const COMPATIBLE = 'openai-compatible';
const OLLAMA = 'ollama';
const OLLAMA_URL = 'http://127.0.0.1:11434';
/** Names of models that are kept with a key. */
const MOST_KEPT = 50;
/** Characters that a key has at least for its last four to be shown. */
const SHORTEST_HINTED = 12;
/** How long it is asked on this machine, and how long its answer counts. */
const LOCAL_MS = 1_500;
const LOCAL_FRESH_MS = 5_000;

/** @throws {Unavailable} naming the file of the data folder that cannot be read or is damaged */
export async function openServerSetup(options: ServerSetupOptions): Promise<ServerSetup> {
  const setup = new Setups(
    options,
    await readKeys(options.config.dataFolder),
    await readModels(options.config.dataFolder),
  );
  await setup.lookAround();
  return setup;
}

interface KeyInUse extends StoredKey {
  readonly source: KeySource;
}

class Setups implements ServerSetup {
  readonly #options: ServerSetupOptions;
  readonly #inFile: Map<string, StoredKey>;
  readonly #inMemory = new Map<string, StoredKey>();
  /** Outcome of the last test of each provider, with the key and address that it was made with. */
  readonly #checks = new Map<string, ProviderCheck>();
  #chosen: StoredModels;
  #workflows: readonly Workflow[] = withChildren(builtIn);
  #current: { readonly settings: ModelSettings; readonly models: Models } | null = null;
  #ollama: { readonly at: number; readonly models: readonly string[] | null } = {
    at: Number.NEGATIVE_INFINITY,
    models: null,
  };
  #found: { readonly at: number; readonly agents: readonly FoundAgent[] } = {
    at: Number.NEGATIVE_INFINITY,
    agents: [],
  };
  /** Outcome of the last test of each agent. */
  readonly #probes = new Map<string, AgentProbe>();
  /** Changes are made one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly models: Models = {
    check: (id) => this.#now().models.check(id),
    resolve: (id) => this.#now().models.resolve(id),
    list: (defaults) => this.#now().models.list(defaults),
  };

  constructor(options: ServerSetupOptions, keys: Readonly<Record<string, StoredKey>>, chosen: StoredModels) {
    this.#options = options;
    const all = Object.values(keys).flatMap(({ key }) => (key === undefined ? [] : [key]));
    this.#inFile = new Map(Object.entries(keys));
    this.#chosen = chosen;
    options.learn(all);
  }

  settings(): ModelSettings {
    return this.#now().settings;
  }

  agents(): readonly AcpAgentSettings[] {
    return this.#agentsWith(this.settings());
  }

  useWorkflows(workflows: readonly Workflow[]): void {
    this.#workflows = withChildren(workflows);
  }

  modelDefaults(): ModelDefaults {
    const { modelDefaults } = this.#options.config;
    const { endpoints = [] } = this.settings();
    const keyed = KEYED_PROVIDERS.filter((id) => this.#keyOf(id) !== null);
    const keys = keyed.map((id) => PROVIDERS[id].keyVariable);
    const others = [COMPATIBLE, ...endpoints.map(({ name }) => name)].flatMap((id) =>
      (this.#listed(id) ?? []).slice(0, 1).map((model) => `${id}:${model}`),
    );
    const current = keyed.flatMap((id) => {
      const listed = this.#listed(id);
      const model = PROVIDERS[id].models.find((each) => listed === null || listed.includes(each));
      return model === undefined ? [] : [[PROVIDERS[id].keyVariable, `${id}:${model}`] as const];
    });
    return {
      ...modelDefaults,
      named: { ...this.#chosen, ...modelDefaults.named },
      // A key that was given while the server runs is meant to be used.
      scripted:
        keys.length > 0 || this.#keyOf(COMPATIBLE) !== null || Object.keys(this.#chosen).length > 0
          ? null
          : modelDefaults.scripted,
      keys,
      others,
      current: Object.fromEntries(current),
    };
  }

  defaultModels(): Readonly<Record<string, string>> {
    const defaults = this.modelDefaults();
    const models: Record<string, string> = {};
    for (const { roles } of this.#workflows)
      for (const role of roles)
        if (role.configuredAs === undefined) models[role.role.name] ??= defaultModelOf(defaults, role, roles);
    return models;
  }

  async getSetup(): Promise<Setup> {
    await this.lookAround();
    const defaultModels = this.defaultModels();
    return {
      isReady: Object.values(defaultModels).every((model) => this.models.check(model).ok),
      providers: this.#providerIds().map((id) => this.#entryOf(id)),
      agents: this.#agentEntries(),
      defaultModels,
    };
  }

  setKey(provider: string, given: NewKey): Promise<ProviderSetup> {
    return this.#inTurn(async () => {
      const takesBaseUrl = provider === COMPATIBLE;
      if (!isKeyedProvider(provider) && !takesBaseUrl) throw this.#noSuch(provider);
      this.#refuseEnvironment(provider);
      let stored = storedOf(provider, given, takesBaseUrl ? this.#keyOf(provider)?.baseUrl : undefined);
      // Before anything can tell it: what is refused was in the request all the same.
      if (stored.key !== undefined) this.#options.learn([stored.key]);
      if (stored.baseUrl !== undefined) await refuseLinkLocal(stored.baseUrl);
      if (isKeyedProvider(provider) && stored.key !== undefined)
        refuseWrongKey(stored.key, this.#hasOwnAddress(provider) ? undefined : provider);
      else if (stored.key !== undefined) refuseWrongKey(stored.key, undefined);
      let check: ProviderCheck | null = null;
      if (given.check !== false) {
        check = await checkProvider(this.#settingsWith(new Map([[provider, stored]])), provider);
        if (check.status !== 'ready')
          throw new Unprocessable(`${check.detail ?? 'The key was refused.'} The key was not kept.`, {
            faults: [{ path: 'key', message: check.detail ?? '' }],
            extra: { providerStatus: check.status },
          });
        // Nothing else says, after a restart, which models there are.
        if (takesBaseUrl && check.models !== null) stored = { ...stored, models: check.models.slice(0, MOST_KEPT) };
      }
      if (given.keep === 'file' || this.#inFile.has(provider)) {
        const inFile = new Map(this.#inFile);
        if (given.keep === 'file') inFile.set(provider, stored);
        else inFile.delete(provider);
        await writeKeys(this.#options.config.dataFolder, Object.fromEntries(inFile));
        this.#inFile.delete(provider);
      }
      this.#inMemory.delete(provider);
      (given.keep === 'file' ? this.#inFile : this.#inMemory).set(provider, stored);
      this.#forget(provider);
      if (check !== null) this.#checks.set(provider, check);
      return this.#entryOf(provider);
    });
  }

  removeKey(provider: string): Promise<ProviderSetup> {
    return this.#inTurn(async () => {
      if (!this.#providerIds().includes(provider)) throw this.#noSuch(provider);
      this.#refuseEnvironment(provider);
      if (this.#inFile.has(provider)) {
        const rest = Object.fromEntries([...this.#inFile].filter(([id]) => id !== provider));
        await writeKeys(this.#options.config.dataFolder, rest);
      }
      this.#inFile.delete(provider);
      this.#inMemory.delete(provider);
      this.#forget(provider);
      return this.#entryOf(provider);
    });
  }

  async testProvider(provider: string): Promise<ProviderSetup> {
    if (!this.#providerIds().includes(provider)) throw this.#noSuch(provider);
    if (provider === OLLAMA && !this.#isEndpoint(OLLAMA)) {
      await this.#lookForOllama(true);
      return this.#entryOf(provider);
    }
    const key = this.#keyOf(provider);
    if (key === null) return this.#entryOf(provider);
    const check = await checkProvider(this.settings(), provider);
    // A key that was given meanwhile was not tested.
    if (sameKey(this.#keyOf(provider), key)) {
      this.#forget(provider);
      this.#checks.set(provider, check);
    }
    return this.#entryOf(provider);
  }

  async testAgent(agent: string): Promise<AgentSetup> {
    await this.lookAround(true);
    const entry = this.#agentEntries().find(({ id }) => id === agent);
    if (entry === undefined) {
      const ids = this.#agentEntries().map(({ id }) => id);
      throw new NotFound(`There is no agent '${agent}' on this server; there are ${ids.join(', ')}.`);
    }
    const settings = this.agents().find(({ name }) => name === agent);
    const { probeAgent, scrub = (text: string) => text } = this.#options;
    if (settings === undefined || settings.unusable !== null || probeAgent === undefined) return entry;
    const { status, detail } = await probeAgent(settings);
    this.#probes.set(agent, { status, detail: detail === null ? null : scrub(detail) });
    return this.#agentEntries().find(({ id }) => id === agent) ?? entry;
  }

  setDefaultModels(models: Readonly<Record<string, string>>): Promise<Setup> {
    return this.#inTurn(async () => {
      const faults = Object.entries(models).flatMap(([role, model]) => this.#faultOf(role, model));
      if (faults.length > 0) throw new InvalidRequest(faults.map(({ message }) => message).join(' '), { faults });
      const chosen = Object.fromEntries(
        Object.entries({ ...this.#chosen, ...models }).filter(([, model]) => model !== ''),
      );
      await writeModels(this.#options.config.dataFolder, chosen);
      this.#chosen = chosen;
      return this.getSetup();
    });
  }

  /** Looks for Ollama and for agents on this machine, at most every few seconds. */
  async lookAround(isForced = false): Promise<void> {
    await Promise.all([this.#lookForOllama(isForced), this.#lookForAgents(isForced)]);
  }

  async #lookForAgents(isForced: boolean): Promise<void> {
    if (!isForced && performance.now() - this.#found.at < LOCAL_FRESH_MS) return;
    const { machine = { home: homedir(), env: process.env }, learn } = this.#options;
    const agents = await findAgents(machine);
    learn(agents.flatMap(({ signIn }) => (signIn === null ? [] : [signIn.value])));
    const isSame = JSON.stringify(agents) === JSON.stringify(this.#found.agents);
    this.#found = { at: performance.now(), agents };
    if (!isSame) this.#forgetModels();
  }

  /** Agents that the configuration names come before those that are found. */
  #agentsWith(models: ModelSettings): readonly AcpAgentSettings[] {
    const named = this.#options.config.agents;
    const others = this.#found.agents.filter(({ id }) => !named.some(({ name }) => name === id));
    return [...named, ...others.flatMap((each) => settingsOfAgent(each, models) ?? [])];
  }

  #agentEntries(): readonly AgentSetup[] {
    const named = this.#options.config.agents;
    const settings = this.settings();
    const entryOf = (id: AgentId): AgentSetup =>
      describeAgent(id, this.#found.agents.find((each) => each.id === id) ?? null, settings);
    const others = allAgents().filter((id) => !named.some(({ name }) => name === id));
    return [...named.map(agentOf), ...others.map(entryOf)].map((entry) => {
      const probe = this.#probes.get(entry.id);
      if (probe === undefined || entry.status !== 'ready') return entry;
      const known = allAgents().find((id) => id === entry.id);
      const way = probe.status === 'not_signed_in' && known !== undefined ? signInWayOf(known) : null;
      return { ...entry, status: probe.status, detail: probe.detail, way };
    });
  }

  /** Asks Ollama's own address for its models, at most every few seconds. */
  async #lookForOllama(isForced = false): Promise<void> {
    if (this.#isEndpoint(OLLAMA)) return;
    const now = performance.now();
    if (!isForced && now - this.#ollama.at < LOCAL_FRESH_MS) return;
    const models = await ollamaModels(this.#options.ollamaUrl ?? OLLAMA_URL);
    const isSame = JSON.stringify(models) === JSON.stringify(this.#ollama.models);
    this.#ollama = { at: performance.now(), models };
    if (!isSame) this.#forgetModels();
  }

  #faultOf(role: string, model: string): readonly Fault[] {
    const path = role;
    const roles = Object.keys(this.defaultModels());
    if (!roles.includes(role)) return [{ path, message: `There is no role '${role}'; there are ${roles.join(', ')}.` }];
    if (Object.hasOwn(this.#options.config.modelDefaults.named, role))
      return [
        {
          path,
          message: `The default model of ${role} is set in the server's environment, which wins. Change it there, or take it out of DEFAULT_MODELS.`,
        },
      ];
    if (model === '') return [];
    const check = this.models.check(model);
    return check.ok ? [] : [{ path, message: check.message }];
  }

  #now(): { readonly settings: ModelSettings; readonly models: Models } {
    if (this.#current === null) {
      const settings = this.#settingsWith(new Map());
      this.#current = { settings, models: createModels(settings) };
    }
    return this.#current;
  }

  /** @param tried keys in place of those in use */
  #settingsWith(tried: ReadonlyMap<string, StoredKey>): ModelSettings {
    const given = this.#options.config.models;
    const keyOf = (id: string): string | undefined => (tried.get(id) ?? this.#keyOf(id))?.key;
    const listed = new Map(
      this.#providerIds().flatMap((id) => {
        const models = this.#listed(id);
        return models === null ? [] : [[id, models] as const];
      }),
    );
    const endpoints = [
      ...(given.endpoints ?? []),
      ...(this.#ollama.models === null
        ? []
        : [{ name: OLLAMA, baseUrl: `${this.#options.ollamaUrl ?? OLLAMA_URL}/v1` }]),
    ];
    const compatible = tried.get(COMPATIBLE) ?? this.#keyOf(COMPATIBLE);
    const settings: ModelSettings = {
      ...given,
      program: startCommand().program,
      keys: {
        anthropic: keyOf('anthropic'),
        openai: keyOf('openai'),
        deepseek: keyOf('deepseek'),
        openaiCompatible: compatible?.key,
      },
      baseUrls: { ...given.baseUrls, openaiCompatible: compatible?.baseUrl },
      endpoints,
      listed,
    };
    const agents = this.#agentsWith(settings);
    return agents.length === 0
      ? settings
      : { ...settings, agents: agents.map(({ name, unusable }) => ({ name, unusable })) };
  }

  #providerIds(): readonly string[] {
    const { endpoints = [] } = this.#options.config.models;
    const named = endpoints.map(({ name }) => name);
    return [...KEYED_PROVIDERS, COMPATIBLE, ...named, ...(named.includes(OLLAMA) ? [] : [OLLAMA])];
  }

  #isEndpoint(id: string): boolean {
    return (this.#options.config.models.endpoints ?? []).some(({ name }) => name === id);
  }

  #hasOwnAddress(provider: 'anthropic' | 'openai' | 'deepseek'): boolean {
    return (this.#options.config.models.baseUrls?.[provider] ?? '') !== '';
  }

  /** The key in use, or the address of a server that takes none; `null` where there is neither. */
  #keyOf(id: string): KeyInUse | null {
    const { keys, baseUrls = {}, endpoints = [] } = this.#options.config.models;
    const endpoint = endpoints.find(({ name }) => name === id);
    if (endpoint !== undefined) return { key: endpoint.apiKey, baseUrl: endpoint.baseUrl, source: 'environment' };
    if (isKeyedProvider(id) && keys[id] !== undefined && keys[id] !== '')
      return { key: keys[id], source: 'environment' };
    if (id === COMPATIBLE && (baseUrls.openaiCompatible ?? '') !== '')
      return { key: keys.openaiCompatible, baseUrl: baseUrls.openaiCompatible, source: 'environment' };
    const inMemory = this.#inMemory.get(id);
    if (inMemory !== undefined) return { ...inMemory, source: 'memory' };
    const inFile = this.#inFile.get(id);
    return inFile === undefined ? null : { ...inFile, source: 'file' };
  }

  /** Models as the provider lists them; `null` where it was not asked or has no list. */
  #listed(id: string): readonly string[] | null {
    if (id === OLLAMA && !this.#isEndpoint(OLLAMA)) return this.#ollama.models;
    return this.#checks.get(id)?.models ?? this.#keyOf(id)?.models ?? null;
  }

  #entryOf(id: string): ProviderSetup {
    const facts = isKeyedProvider(id) ? PROVIDERS[id] : null;
    const base = {
      id,
      title: facts?.title ?? (id === COMPATIBLE ? 'OpenAI-compatible server' : id === OLLAMA ? 'Ollama' : id),
      keysUrl: facts?.keysUrl ?? '',
    };
    if (id === OLLAMA && !this.#isEndpoint(OLLAMA)) return { ...base, ...this.#ollamaEntry() };
    const key = this.#keyOf(id);
    const address = key?.baseUrl === undefined ? {} : { baseUrl: key.baseUrl };
    const takes = id === COMPATIBLE ? { takesBaseUrl: true } : {};
    if (key === null)
      return { ...base, ...takes, status: 'no_key', source: null, hint: null, models: [], detail: null };
    const check = this.#checks.get(id);
    const status = check?.status ?? 'ready';
    const models =
      status === 'ready'
        ? this.models.list({}).flatMap((model) => (model.id.startsWith(`${id}:`) && model.usable ? [model.id] : []))
        : [];
    const fromEnvironment =
      key.source === 'environment'
        ? `It comes from ${this.#variableOf(id)} in the server's environment, which wins over a key given here.`
        : null;
    return {
      ...base,
      ...address,
      ...takes,
      status,
      source: key.source,
      hint: hintOf(key.key),
      models,
      detail: check?.detail ?? fromEnvironment,
    };
  }

  #ollamaEntry(): Pick<ProviderSetup, 'status' | 'source' | 'hint' | 'models' | 'detail' | 'baseUrl'> {
    const baseUrl = `${this.#options.ollamaUrl ?? OLLAMA_URL}/v1`;
    const { models } = this.#ollama;
    const none = { source: null, hint: null, baseUrl };
    if (models === null)
      return {
        ...none,
        status: 'unreachable',
        models: [],
        detail: 'Ollama does not run on this machine. Start it with: ollama serve',
      };
    if (models.length === 0)
      return {
        ...none,
        status: 'ready',
        models: [],
        detail: 'Ollama runs and has no model. Get one with: ollama pull MODEL',
      };
    return { ...none, status: 'ready', models: models.map((model) => `${OLLAMA}:${model}`), detail: null };
  }

  #variableOf(id: string): string {
    if (isKeyedProvider(id)) return PROVIDERS[id].keyVariable;
    return id === COMPATIBLE ? 'OPENAI_COMPATIBLE_BASE_URL' : 'MODEL_ENDPOINTS';
  }

  #refuseEnvironment(id: string): void {
    const key = this.#keyOf(id);
    if (key?.source !== 'environment') return;
    const { title } = this.#entryOf(id);
    throw new Conflict(
      `The key of ${title} comes from ${this.#variableOf(id)} in the server's environment, which wins. Change it there, or take it out and restart the server.`,
    );
  }

  #noSuch(id: string): NotFound {
    return new NotFound(
      `There is no provider '${id}' that takes a key; there are ${[...KEYED_PROVIDERS, COMPATIBLE].join(', ')}.`,
    );
  }

  #forget(provider: string): void {
    this.#checks.delete(provider);
    this.#forgetModels();
  }

  /** A key changes what agents can do as well. */
  #forgetModels(): void {
    this.#current = null;
    this.#probes.clear();
  }

  #inTurn<Value>(change: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(change);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** @param known address that the provider has already */
function storedOf(provider: string, { key, baseUrl }: NewKey, known: string | undefined): StoredKey {
  if (provider !== COMPATIBLE) {
    if (baseUrl !== undefined)
      throw refusal(
        'baseUrl',
        `The provider ${provider} has an address of its own. Leave the address out, or use openai-compatible.`,
      );
    return { key };
  }
  const address = baseUrl?.trim() || known;
  if (address === undefined)
    throw refusal(
      'baseUrl',
      'An OpenAI-compatible server needs its address. Give one such as http://127.0.0.1:8000/v1.',
    );
  const url = URL.canParse(address) ? new URL(address) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    `${url.username}${url.password}${url.search}${url.hash}` !== ''
  )
    throw refusal(
      'baseUrl',
      'The address is not an http or https URL without user name, password, query and fragment. Give one such as http://127.0.0.1:8000/v1.',
    );
  return { ...(key === '' ? {} : { key }), baseUrl: address };
}

/** @throws {InvalidRequest} for an address, or a name that leads to one, at which a cloud keeps its secrets */
async function refuseLinkLocal(baseUrl: string): Promise<void> {
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  // A name that cannot be resolved is found out when the server is asked.
  const found = await lookup(host, { all: true }).catch(() => []);
  const linkLocal = found.find(({ address }) => isLinkLocalAddress(address));
  if (linkLocal === undefined) return;
  const what = linkLocal.address === host ? `${host} is` : `${host} leads to ${linkLocal.address},`;
  throw refusal(
    'baseUrl',
    `${what} a link-local address, where no model server is. Give the address of the server itself.`,
  );
}

function refuseWrongKey(key: string, provider: Parameters<typeof whyNoKey>[1]): void {
  const why = whyNoKey(key, provider);
  if (why !== null) throw refusal('key', why);
}

function refusal(path: string, message: string): InvalidRequest {
  return new InvalidRequest(message, { faults: [{ path, message }] });
}

/** The end of a key; `null` without one, and for a short one, of which the end would tell too much. */
function hintOf(key: string | undefined): string | null {
  return key === undefined || key.length < SHORTEST_HINTED ? null : `…${key.slice(-4)}`;
}

function sameKey(one: KeyInUse | null, other: KeyInUse): boolean {
  return one?.key === other.key && one?.baseUrl === other.baseUrl;
}

function agentOf({ name, unusable }: AcpAgentSettings): AgentSetup {
  const status = unusable === null ? 'ready' : 'failed';
  return { id: name, title: name, status, version: null, detail: unusable, way: null };
}

/** `null` where Ollama does not answer. */
async function ollamaModels(url: string): Promise<readonly string[] | null> {
  try {
    const answer = await fetch(`${url}/api/tags`, { redirect: 'error', signal: AbortSignal.timeout(LOCAL_MS) });
    const content: unknown = answer.ok ? await answer.json() : null;
    if (typeof content !== 'object' || content === null || !('models' in content) || !Array.isArray(content.models))
      return null;
    const names = content.models.flatMap((model: unknown) =>
      typeof model === 'object' && model !== null && 'name' in model && typeof model.name === 'string'
        ? [model.name]
        : [],
    );
    return withoutSecrets(names, []);
  } catch {
    return null;
  }
}
