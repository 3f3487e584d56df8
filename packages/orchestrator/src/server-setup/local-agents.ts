/**
 * Coding agents that are installed on this machine: found on PATH and in the usual folders of the home folder, without starting
 * anything but `--version`. Each has a definition of its own, so that no file has to name it.
 */
import { constants } from 'node:fs';
import { access, readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { AgentSetup } from '@autonomous/shared';
import { z } from 'zod';
import type { AcpAgentSettings } from '../agents/acp/acp-agents.ts';
import { PROVIDERS } from '../models/provider-catalog.ts';
import type { ModelSettings } from '../models/registry.ts';
import { runProgram } from '../processes/program.ts';

export interface Machine {
  /** Home folder of the person who runs the server. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A program that was found, with what it says of itself. */
export interface FoundAgent {
  readonly id: AgentId;
  /** Where its program for the protocol is, with all links followed; `null` where only its command line is there. */
  readonly program: string | null;
  readonly version: string | null;
  /** Of its own sign-in on this machine, what can be handed to it in a sandbox; `null` where there is none. */
  readonly signIn: { readonly variable: string; readonly value: string } | null;
  /** It is signed in in a way that cannot be handed over. */
  readonly isSignedInOtherwise: boolean;
}

const AGENT_IDS = ['claude', 'codex', 'opencode'] as const;
export type AgentId = (typeof AGENT_IDS)[number];

interface Definition {
  readonly title: string;
  /** Command of the person's own program. */
  readonly tool: string;
  /** Program that speaks the protocol. */
  readonly program: string;
  readonly args: readonly string[];
  readonly install: string;
  readonly authMethod: string | null;
  /** The way to sign in. */
  readonly signInWay: string;
}

const DEFINITIONS: Readonly<Record<AgentId, Definition>> = {
  claude: {
    title: 'Claude Code',
    tool: 'claude',
    program: 'claude-agent-acp',
    args: [],
    install: 'npm install --global @agentclientprotocol/claude-agent-acp',
    authMethod: null,
    signInWay:
      'Give the server an Anthropic key, or run "claude setup-token" and set its result as CLAUDE_CODE_OAUTH_TOKEN in the environment of the server.',
  },
  codex: {
    title: 'Codex',
    tool: 'codex',
    program: 'codex-acp',
    // Its own sandbox cannot be made inside of the run's.
    args: ['-c', 'sandbox_mode="danger-full-access"'],
    install: 'npm install --global @zed-industries/codex-acp',
    authMethod: 'openai-api-key',
    signInWay: 'Give the server an OpenAI key: a sign-in with ChatGPT cannot be used inside a sandbox.',
  },
  opencode: {
    title: 'opencode',
    tool: 'opencode',
    program: 'opencode',
    args: ['acp', '--pure'],
    install: 'npm install --global opencode-ai',
    authMethod: null,
    signInWay: 'Give the server a key of Anthropic, OpenAI or DeepSeek, or start Ollama.',
  },
};

/** The start of the server waits for it. */
const VERSION_MS = 2_000;

/** All known agents, in a fixed order; one that is not installed is left out. */
export async function findAgents(machine: Machine): Promise<readonly FoundAgent[]> {
  const folders = await searchFolders(machine);
  const found = await Promise.all(AGENT_IDS.map((id) => findAgent(id, folders, machine)));
  return found.filter((agent) => agent !== null);
}

async function findAgent(id: AgentId, folders: readonly string[], machine: Machine): Promise<FoundAgent | null> {
  const { program, tool } = DEFINITIONS[id];
  const adapter = await locate(program, folders);
  const own = adapter ?? (await locate(tool, folders));
  if (own === null) return null;
  const { signIn, isSignedInOtherwise } = await signInOf(id, machine);
  return { id, program: adapter, version: await knownVersionOf(own, machine), signIn, isSignedInOtherwise };
}

/** Folders of programs, those on PATH first. */
async function searchFolders({ home, env }: Machine): Promise<readonly string[]> {
  // npx and npm put the programs of the project in the current folder on PATH, which a stranger may have written.
  const onPath = (env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder) && !/\/node_modules\/\.bin\/*$/.test(folder));
  const nvm = path.join(home, '.nvm', 'versions', 'node');
  const versions = await readdir(nvm).catch(() => []);
  const inHome = [
    '.local/bin',
    '.npm-global/bin',
    '.npm-packages/bin',
    '.opencode/bin',
    '.bun/bin',
    '.volta/bin',
    '.local/share/pnpm',
    '.claude/local',
    'node_modules/.bin',
    'bin',
  ].map((folder) => path.join(home, folder));
  return [...new Set([...onPath, ...inHome, ...versions.map((version) => path.join(nvm, version, 'bin'))])];
}

async function locate(name: string, folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const file = path.join(folder, name);
    try {
      await access(file, constants.X_OK);
      return await realpath(file);
    } catch {
      continue;
    }
  }
  return null;
}

/** Versions by program and when it was last changed: a screen asks every few seconds. */
const versions = new Map<string, string>();

async function knownVersionOf(program: string, machine: Machine): Promise<string | null> {
  const { mtimeMs } = await stat(program);
  const key = `${program} ${mtimeMs}`;
  const version = versions.get(key) ?? (await versionOf(program, machine));
  if (version !== null) versions.set(key, version);
  return version;
}

/** Of its package where it has one, else as the program itself says. */
async function versionOf(program: string, { home }: Machine): Promise<string | null> {
  if (program.includes('/node_modules/')) {
    for (let folder = path.dirname(program); path.basename(folder) !== 'node_modules'; folder = path.dirname(folder)) {
      const parsed = packageSchema.safeParse(await readJson(path.join(folder, 'package.json')));
      if (parsed.success) return parsed.data.version;
    }
  }
  try {
    // Nothing of the server's environment: it holds keys.
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
    const { stdout } = await runProgram(program, ['--version'], { timeoutMs: VERSION_MS, env });
    return /(?<!\d)\d{1,6}\.\d{1,6}(?:\.\d{1,6})?/.exec(stdout)?.[0] ?? null;
  } catch {
    return null;
  }
}

const packageSchema = z.looseObject({ name: z.string(), version: z.string().max(100) });
const claudeSchema = z.looseObject({
  claudeAiOauth: z.looseObject({ accessToken: z.string().min(20), expiresAt: z.number() }),
});
const codexSchema = z.looseObject({
  OPENAI_API_KEY: z.string().nullish(),
  tokens: z.looseObject({}).nullish(),
});

async function signInOf(
  id: AgentId,
  { home, env }: Machine,
): Promise<Pick<FoundAgent, 'signIn' | 'isSignedInOtherwise'>> {
  const none = { signIn: null, isSignedInOtherwise: false };
  if (id === 'claude') {
    const token = env['CLAUDE_CODE_OAUTH_TOKEN'];
    if (token) return { ...none, signIn: { variable: 'CLAUDE_CODE_OAUTH_TOKEN', value: token } };
    const folder = env['CLAUDE_CONFIG_DIR'] ?? path.join(home, '.claude');
    const stored = claudeSchema.safeParse(await readJson(path.join(folder, '.credentials.json')));
    // Its token lasts for hours, which a run may outlast: it is not handed over.
    return { ...none, isSignedInOtherwise: stored.success };
  }
  if (id === 'codex') {
    const folder = env['CODEX_HOME'] ?? path.join(home, '.codex');
    const stored = codexSchema.safeParse(await readJson(path.join(folder, 'auth.json')));
    const key = stored.data?.OPENAI_API_KEY;
    if (key) return { ...none, signIn: { variable: 'OPENAI_API_KEY', value: key } };
    return { ...none, isSignedInOtherwise: (stored.data?.tokens ?? null) !== null };
  }
  return none;
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return null;
  }
}

/** How a found agent is started in a sandbox, with the server's own keys; `null` where it cannot be. */
export function settingsOfAgent(found: FoundAgent, models: ModelSettings): AcpAgentSettings | null {
  if (found.program === null) return null;
  const access = accessOf(found, models);
  const { args, authMethod } = DEFINITIONS[found.id];
  const { mount, command } = mountOf(found.id, found.program);
  return {
    name: found.id,
    command,
    args,
    env: access?.env ?? {},
    mounts: [mount],
    permissions: { default: 'allow' },
    network: access?.network ?? [],
    authMethod,
    secrets: access?.secrets ?? [],
    unusable: access === null ? `it is not signed in. ${DEFINITIONS[found.id].signInWay}` : null,
  };
}

/** Entry of an agent for the screens; `found` is `null` where it is not installed. */
export function describeAgent(id: AgentId, found: FoundAgent | null, models: ModelSettings): AgentSetup {
  const { title, install, signInWay } = DEFINITIONS[id];
  const base = { id, title, version: found?.version ?? null };
  if (found === null) return { ...base, status: 'not_found', detail: null, way: `Install it: ${install}` };
  if (found.program === null)
    return {
      ...base,
      status: 'not_found',
      detail: `${title} is on this machine; the program by which others use it is not.`,
      way: `Install it: ${install}`,
    };
  if (accessOf(found, models) !== null) return { ...base, status: 'ready', detail: null, way: null };
  const detail = found.isSignedInOtherwise
    ? `${title} is signed in on this machine with an account, which a sandbox is not given.`
    : null;
  return { ...base, status: 'not_signed_in', detail, way: signInWay };
}

/** How an agent is signed in, in a sentence. */
export const signInWayOf = (id: AgentId): string => DEFINITIONS[id].signInWay;

export const allAgents = (): readonly AgentId[] => AGENT_IDS;

interface Access {
  readonly env: Readonly<Record<string, string>>;
  readonly network: readonly string[];
  readonly secrets: readonly string[];
}

/** Key and hosts for the agent; `null` where there is no key for it. */
function accessOf({ id, signIn }: FoundAgent, models: ModelSettings): Access | null {
  const { keys, baseUrls = {} } = models;
  if (id === 'claude') {
    const network = [hostOf(baseUrls.anthropic, 'api.anthropic.com')];
    const address = baseUrls.anthropic ? { ANTHROPIC_BASE_URL: baseUrls.anthropic.replace(/\/v1\/?$/, '') } : {};
    if (keys.anthropic)
      return { env: { ...address, ANTHROPIC_API_KEY: keys.anthropic }, network, secrets: [keys.anthropic] };
    return signIn === null
      ? null
      : { env: { ...address, [signIn.variable]: signIn.value }, network, secrets: [signIn.value] };
  }
  if (id === 'codex') {
    const key = keys.openai || signIn?.value;
    if (!key) return null;
    return { env: { OPENAI_API_KEY: key }, network: [hostOf(undefined, 'api.openai.com')], secrets: [key] };
  }
  return accessOfOpencode(models);
}

function accessOfOpencode({ keys, endpoints = [], listed }: ModelSettings): Access | null {
  const quiet = { share: 'disabled', autoupdate: false };
  const hosts = { anthropic: 'api.anthropic.com', openai: 'api.openai.com', deepseek: 'api.deepseek.com' };
  for (const provider of ['anthropic', 'openai', 'deepseek'] as const) {
    const key = keys[provider];
    if (!key) continue;
    const content = JSON.stringify({ ...quiet, model: `${provider}/${PROVIDERS[provider].models[0]}` });
    return {
      env: { OPENCODE_CONFIG_CONTENT: content, [PROVIDERS[provider].keyVariable]: key },
      network: [hosts[provider]],
      secrets: [key],
    };
  }
  const local = endpoints.find(({ name }) => (listed?.get(name) ?? []).length > 0);
  const [model] = (local && listed?.get(local.name)) ?? [];
  if (local === undefined || model === undefined) return null;
  const { port } = new URL(local.baseUrl);
  const content = JSON.stringify({
    ...quiet,
    model: `mine/${model}`,
    provider: {
      mine: {
        npm: '@ai-sdk/openai-compatible',
        // `127.0.0.1` is the sandbox itself.
        options: { baseURL: local.baseUrl.replace('127.0.0.1', 'localhost'), apiKey: '{env:MINE_KEY}' },
        models: { [model]: { name: model } },
      },
    },
  });
  return {
    env: { OPENCODE_CONFIG_CONTENT: content, MINE_KEY: local.apiKey ?? 'none' },
    network: [`internal:localhost${port === '' ? '' : `:${port}`}`],
    secrets: local.apiKey === undefined ? [] : [local.apiKey],
  };
}

/** Entry of an allow-list for an address. */
function hostOf(url: string | undefined, usual: string): string {
  if (url === undefined || url === '') return usual;
  const { hostname, port, protocol } = new URL(url);
  const at = port === '' ? (protocol === 'http:' ? ':80' : '') : `:${port}`;
  // The person who runs the server named the address.
  return `internal:${hostname}${at}`;
}

/**
 * The folder that the program needs, mounted below /opt: of a package the whole `node_modules` that it lies in, because its
 * dependencies may lie beside it; of a single file itself.
 */
function mountOf(
  id: AgentId,
  program: string,
): { readonly mount: AcpAgentSettings['mounts'][number]; readonly command: string } {
  const marker = `${path.sep}node_modules${path.sep}`;
  const at = program.indexOf(marker);
  if (at < 0) {
    const inside = `/opt/agent-${id}/${path.basename(program)}`;
    return { mount: { host: program, inside }, command: inside };
  }
  const host = program.slice(0, at + marker.length - 1);
  return {
    mount: { host, inside: `/opt/agent-${id}/node_modules` },
    command: `/opt/agent-${id}/node_modules/${program.slice(at + marker.length)}`,
  };
}
