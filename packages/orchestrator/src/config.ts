/** The server's configuration: environment variables, read once at the start, all faults at once. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import {
  BUDGET_NAMES,
  type BudgetName,
  type Budgets,
  type Fault,
  InvalidRequest,
  type RunConfigRequest,
  SETUP_ROLE,
} from '@autonomous/shared';
import { z } from 'zod';
import { type AcpAgentSettings, type AgentsFileContext, parseAcpAgents } from './agents/acp/acp-agents.ts';
import { type McpServers, parseMcpServers } from './agents/mcp/mcp-servers.ts';
import { STEP_TIMEOUTS, type StepTimeouts } from './agents/tool-loop/model-step.ts';
import { createScrubber } from './secrets/secrets.ts';
import { GITHUB_API_URL } from './forges/github/github-address.ts';
import { type Cassette, isCassette, parseCassette } from './models/cassettes/cassette.ts';
import type { CustomPrice } from './models/model.ts';
import { KEYED_PROVIDERS, PROVIDERS } from './models/provider-catalog.ts';
import { type ModelSettings, PROVIDER_NAMES } from './models/registry.ts';
import { parseScript, type Script } from './models/script.ts';
import { isBranchName } from './repository/repository-paths.ts';
import { EGRESS_ENTRY_FORM, parseEgressEntry } from './network/egress-rules.ts';
import type { SandboxSettings } from './sandboxes/provider-choice.ts';
import { type PageHosts, parsePageHosts } from './web-pages/page-address.ts';
import type { SearchSettings } from './web-pages/search/create-search.ts';
import type { KnownRoles } from './roles/role.ts';
import { workflows } from './workflows/index.ts';
import { declaredModel } from './workflows/workflow-settings.ts';
import { knownRolesOf, withChildren, type Workflow, type WorkflowRole } from './workflows/workflow.ts';
import { BUDGET_LIMIT_VARIABLES, BUILT_IN_RUN_CONFIG, type RunLimits } from './run-config/run-config.ts';

export interface ServerConfig {
  readonly host: string;
  /** 0 lets the system choose one. */
  readonly port: number;
  /** Address under which people reach the server from elsewhere; `null` where that is loopback. */
  readonly publicUrl: string | null;
  /** Further values of the Host header that are answered. */
  readonly allowedHosts: readonly string[];
  /** Absolute; may not exist yet. */
  readonly dataFolder: string;
  /** Absolute path of the SQLite file; may not exist yet. */
  readonly databasePath: string;
  /** `null`: the server generates one and keeps it in the data folder. */
  readonly token: string | null;
  readonly github: {
    /** How the server signs in; `null`: not at all. */
    readonly signIn: GitHubSignIn | null;
    /** Base of the REST API. */
    readonly apiUrl: string;
    /** The default project at the first start. */
    readonly repository: { readonly owner: string; readonly name: string } | null;
    /** Base branch of that project; `null` takes the remote's HEAD. */
    readonly defaultBranch: string | null;
    /** Secret of GitHub's webhooks; `null`: none are taken. */
    readonly webhookSecret: string | null;
    /** Label of issues that start runs; `null`: none does. */
    readonly issueLabel: string | null;
  };
  readonly models: ModelSettings;
  /** Absolute folder in which a cassette of every run is kept; `null`: none is. */
  readonly recordFolder: string | null;
  /** Servers of tools that some roles have beside those in the sandbox. */
  readonly mcpServers: McpServers['servers'];
  /** Prices by the full id of the model, for those that the price table does not know or that cost this server something else. */
  readonly prices: ReadonlyMap<string, CustomPrice>;
  /** External coding agents; a role is sent to one by the model id `acp:<name>`. */
  readonly agents: readonly AcpAgentSettings[];
  /** `modelRouting` has a model for each role of the workflows that this product ships. */
  readonly runDefaults: RunConfigRequest & { readonly modelRouting: Readonly<Record<string, string>> };
  /** Decides the default model of a role of any workflow: see `defaultModelOf`. */
  readonly modelDefaults: ModelDefaults;
  readonly runLimits: RunLimits;
  readonly maxConcurrentRunsPerUser: number;
  /** Events of runs that ended earlier than this many days ago are packed; 0 keeps all as they are. */
  readonly archiveAfterDays: number;
  /** Days after the end of a run until its branches are removed; 0: never. */
  readonly branchesAfterDays: number;
  /** A server whose event loop is blocked for so long is ended. */
  readonly blockedLimitMs: number;
  /** Workflows of one's own: paths or names of packages, and the absolute folder where they begin. */
  readonly workflows: { readonly names: readonly string[]; readonly folder: string };
  /** Estimated tokens that instructions and prompt of one call of an agent may have. */
  readonly contextTokens: number;
  /** Longest silence of a model: before its answer begins, and within it. */
  readonly modelTimeouts: StepTimeouts;
  /** The wait before it is probed for the first time whether paused runs can go on by themselves. */
  readonly resumeProbeMs: number;
  /** Wait between two looks at a pull request that a run follows. */
  readonly forgePollMs: number;
  /** Paths whose changes a person must see before they are merged, in addition to the table of self-running changes. */
  readonly reviewPaths: readonly string[];
  /** Ids, names or repositories of projects whose record is not pushed; `*` means all. */
  readonly recordInMirrorOnly: readonly string[];
  /** False: every failed validation asks a person. */
  readonly autoRetry: boolean;
  /**
   * Whether a result must meet the plan's constraints; `null` when not configured. Has no
   * effect yet: they are only reported.
   */
  readonly driftDetection: boolean | null;
  /** May a project's install step reach the package registries, where `egress` names no hosts for it? */
  readonly allowSetupNetwork: boolean;
  /** Time that a project's install step may take. */
  readonly setupTimeoutMs: number;
  /** Where the commands of agents and checks run. */
  readonly sandbox: SandboxSettings;
  /** Entries of each role's allow-list; a role that is absent was not named. */
  readonly egress: Readonly<Record<string, readonly string[]>>;
  readonly web: {
    /** Hosts whose pages the server fetches. */
    readonly hosts: PageHosts;
    /** The search API; `null`: none is configured. */
    readonly search: SearchSettings | null;
  };
  /** Limits of a command in a sandbox: memory and disk in bytes. */
  readonly sandboxLimits: { readonly memoryBytes: number; readonly processes: number; readonly diskBytes: number };
  /** Largest size of the cache of installed dependencies, in bytes. */
  readonly dependencyCacheBytes: number;
  readonly logLevel: LogLevel;
  readonly commitAuthor: { readonly name: string; readonly email: string };
  /** Every secret value above, for the scrubber. */
  readonly secrets: readonly string[];
}

/** The token itself, a file that has it whenever it is used, or the installation of an App. */
export type GitHubSignIn =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'tokenFile'; readonly file: string }
  | { readonly kind: 'app'; readonly appId: number; readonly privateKey: string; readonly installationId: number };

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface Variable<Value> {
  readonly schema: z.ZodType<Value, string>;
  /** The allowed values, as a fault names them. */
  readonly allowed: string;
  /** Its value is never shown. */
  readonly secret: boolean;
}

const variable = <Value>(schema: z.ZodType<Value, string>, allowed: string): Variable<Value> => ({
  schema,
  allowed,
  secret: false,
});
const secret = (schema: z.ZodType<string, string>, allowed: string): Variable<string> => ({
  schema,
  allowed,
  secret: true,
});

const text = z.string().max(4_000);
const flag = (): Variable<boolean> =>
  variable(
    z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1'),
    'true or false',
  );
const whole = (min: number, max: number): Variable<number> =>
  variable(
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number)
      .pipe(z.number().min(min).max(max)),
    `a whole number from ${min} to ${max}`,
  );
const apiKey = (): Variable<string> => secret(text.regex(/^[\x21-\x7e]+$/), 'a key in one line without spaces');
const baseUrl = (): Variable<string> =>
  variable(text.refine(isPlainHttpUrl), 'an http or https URL without user name, password, query and fragment');
const modelId = (): Variable<string> =>
  variable(text.regex(/^\S{1,200}$/), 'a model as provider:model, or a known bare name such as deepseek-reasoner');
/** US dollars, as they are written: 0.5, 20. */
const money = (): Variable<number> =>
  variable(
    z
      .string()
      .regex(/^\d{1,6}(?:\.\d{1,6})?$/)
      .transform(Number)
      .pipe(z.number().positive()),
    'US dollars above 0, such as 0.5 or 20',
  );
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/** Name of a role or trust mode. */
const SETTING_NAME = /^[a-z][a-zA-Z0-9_-]{0,63}$/;

/** `role=host,host;role=host`, or the same as a JSON object of lists. */
const egressLists = text
  .transform((value) => (value.startsWith('{') ? parseJson(value) : listsByRole(value)))
  .pipe(
    z.record(z.string().regex(SETTING_NAME), z.array(z.string().refine((entry) => parseEgressEntry(entry) !== null))),
  );

/** Parses JSON; `null` for a text that is not JSON. */
function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** `null` where a part is no list or names a role once more. */
function listsByRole(value: string): Readonly<Record<string, readonly string[]>> | null {
  const lists: Record<string, readonly string[]> = {};
  for (const part of value.split(';').filter((each) => each.trim() !== '')) {
    const [role = '', hosts, ...more] = part.split('=').map((word) => word.trim());
    if (hosts === undefined || more.length > 0 || Object.hasOwn(lists, role)) return null;
    lists[role] = hosts
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
  }
  return lists;
}

/** `name=value, name=value` */
const pairs = (name: RegExp, value: RegExp) =>
  list.pipe(
    z
      .array(
        z
          .string()
          .regex(/=/)
          .transform((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const)
          .refine(([left, right]) => name.test(left) && value.test(right)),
      )
      .min(1)
      .transform((all) => new Map(all)),
  );
const ENDPOINT_NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** Every variable that the server reads. Each stands in `.env.example` with what it is for; a test compares the two. */
export const SERVER_VARIABLES = {
  ORCHESTRATOR_HOST: variable(
    text.refine((host) => isIP(host) !== 0 || /^[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?$/i.test(host)),
    'an IP address or host name',
  ),
  ORCHESTRATOR_PORT: whole(0, 65_535),
  ORCHESTRATOR_PUBLIC_URL: variable(
    text.refine((url) => isPlainHttpUrl(url) && new URL(url).pathname === '/'),
    'an http or https URL of a host name and port alone; the server answers under no sub-path of a proxy',
  ),
  ORCHESTRATOR_ALLOWED_HOSTS: variable(
    list.pipe(z.array(z.string().regex(/^[A-Za-z0-9.[\]:-]{1,255}$/)).min(1)),
    'host names, each with its port where that is not 80 or 443, with commas between them',
  ),
  AUTONOMOUS_TOKEN: secret(
    text.regex(/^[\x21-\x7e]{16,}$/),
    'at least 16 characters in one line without spaces; make one with: openssl rand -hex 32',
  ),
  AUTONOMOUS_DATA: variable(text, 'the path of a folder'),
  DATABASE_URL: variable(
    text.regex(/^sqlite:(?!\/\/(?!\/))(?!:memory:)[^?#]+$/),
    'sqlite: followed by the path of a file, such as sqlite:./data/orchestrator.db',
  ),
  LOG_LEVEL: variable(z.enum(LOG_LEVELS), LOG_LEVELS.join(', ')),

  GITHUB_TOKEN: apiKey(),
  GITHUB_TOKEN_FILE: variable(text, 'the path of a file with a token'),
  GITHUB_APP_ID: whole(1, 999_999_999),
  GITHUB_APP_INSTALLATION_ID: whole(1, 999_999_999),
  GITHUB_APP_PRIVATE_KEY: secret(
    z
      .string()
      .max(20_000)
      .transform((value) => value.replaceAll(String.raw`\n`, '\n'))
      .refine(isPrivateKey),
    'the whole text of the private key file of the App, with \\n for its line breaks where it stands in one line',
  ),
  GITHUB_APP_PRIVATE_KEY_FILE: variable(text, 'the path of the private key file of the App'),
  GITHUB_API_URL: baseUrl(),
  GITHUB_REPO_OWNER: variable(
    text.regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/),
    'the name of a GitHub user or organisation',
  ),
  GITHUB_REPO_NAME: variable(
    text.regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/),
    'the name of a repository, without its owner',
  ),
  GITHUB_DEFAULT_BRANCH: variable(text.refine(isBranchName), 'the name of a branch'),
  GITHUB_WEBHOOK_SECRET: secret(
    text.regex(/^[\x21-\x7e]{16,}$/),
    'at least 16 characters in one line without spaces; make one with: openssl rand -hex 32',
  ),
  GITHUB_ISSUE_LABEL: variable(
    text.regex(/^[^,\x00-\x1f\x7f]{1,50}$/),
    'the name of a label, without a comma, or none',
  ),
  COMMIT_AUTHOR_NAME: variable(text.regex(/^[^<>\x00-\x1f\x7f]{1,200}$/), 'a name without < and >'),
  COMMIT_AUTHOR_EMAIL: variable(text.regex(/^[^<>\s\x00-\x1f\x7f]{1,200}$/), 'an address without spaces, < and >'),

  ANTHROPIC_API_KEY: apiKey(),
  OPENAI_API_KEY: apiKey(),
  DEEPSEEK_API_KEY: apiKey(),
  OPENAI_COMPATIBLE_API_KEY: apiKey(),
  ANTHROPIC_BASE_URL: baseUrl(),
  OPENAI_BASE_URL: baseUrl(),
  DEEPSEEK_BASE_URL: baseUrl(),
  OPENAI_COMPATIBLE_BASE_URL: baseUrl(),
  MODEL_ENDPOINTS: variable(
    pairs(ENDPOINT_NAME, /^https?:\/\//).refine((endpoints) => [...endpoints.values()].every(isPlainHttpUrl)),
    'NAME=URL with commas between them, such as ollama=http://localhost:11434/v1; names have small letters, digits and dashes',
  ),
  MODEL_ENDPOINT_KEYS: {
    schema: pairs(ENDPOINT_NAME, /^[\x21-\x7e]+$/),
    allowed: 'NAME=KEY with commas between them, each name one of MODEL_ENDPOINTS',
    secret: true,
  },
  MODEL_PRICES: variable(
    pairs(/^[a-z0-9-]+:\S+$/, /^\d+(?:\.\d+)?\/\d+(?:\.\d+)?$/).transform(
      (prices): ReadonlyMap<string, CustomPrice> =>
        new Map(
          [...prices].map(([id, price]) => {
            const [input = 0, output = 0] = price.split('/').map(Number);
            return [id, { inputUsdPerMillion: input, outputUsdPerMillion: output }];
          }),
        ),
    ),
    'PROVIDER:MODEL=INPUT/OUTPUT in US dollars for a million tokens, with commas between them, such as ollama:qwen3=0/0',
  ),
  AUTONOMOUS_SCRIPT: variable(text, 'the path of a script or cassette'),
  AUTONOMOUS_RECORD: variable(text, 'the path of a folder'),
  AUTONOMOUS_MCP: variable(text, 'the path of a JSON file that names MCP servers'),
  AUTONOMOUS_AGENTS: variable(text, 'the path of a JSON file'),
  DEFAULT_MODELS: variable(
    pairs(SETTING_NAME, /^\S{1,200}$/),
    `ROLE=MODEL with commas between them, such as ${workflows[0]?.roles[0]?.role.name ?? 'ROLE'}=openai:gpt-6-sol`,
  ),
  DEFAULT_PLANNER_MODEL: modelId(),
  DEFAULT_IMPLEMENTER_MODEL: modelId(),
  DEFAULT_VALIDATOR_MODEL: modelId(),
  ALLOWED_MODELS: variable(
    list.pipe(z.array(z.string().regex(/^\S{1,200}$/)).min(1)),
    'models with commas between them',
  ),

  MAX_CONCURRENT_RUNS_PER_USER: whole(1, 1_000),
  ARCHIVE_AFTER_DAYS: whole(0, 36_500),
  BRANCHES_AFTER_DAYS: whole(0, 36_500),
  BLOCKED_LIMIT_SECONDS: whole(5, 86_400),
  AUTONOMOUS_WORKFLOWS: variable(
    list.pipe(z.array(z.string().max(1_000)).min(1)),
    'paths of files or names of packages with commas between them',
  ),
  CONTEXT_TOKENS: whole(16_000, 2_000_000),
  MODEL_FIRST_TOKEN_SECONDS: whole(1, 86_400),
  MODEL_IDLE_SECONDS: whole(1, 86_400),
  RESUME_PROBE_SECONDS: whole(1, 3_600),
  FORGE_POLL_SECONDS: whole(1, 3_600),
  DEFAULT_MAX_CLARIFICATIONS: whole(0, 100),
  DEFAULT_AUTO_MERGE: flag(),
  DEFAULT_MAX_COST_USD: money(),
  DEFAULT_MAX_TOKENS: whole(1, 999_999_999),
  DEFAULT_MAX_TOOL_CALLS: whole(1, 999_999_999),
  DEFAULT_MAX_TREE_COST_USD: money(),
  DEFAULT_MAX_TREE_TOKENS: whole(1, 999_999_999),
  DEFAULT_MAX_TREE_TOOL_CALLS: whole(1, 999_999_999),
  LIMIT_MAX_COST_USD: money(),
  LIMIT_MAX_TOKENS: whole(1, 999_999_999),
  LIMIT_MAX_TOOL_CALLS: whole(1, 999_999_999),
  LIMIT_MAX_TREE_COST_USD: money(),
  LIMIT_MAX_TREE_TOKENS: whole(1, 999_999_999),
  LIMIT_MAX_TREE_TOOL_CALLS: whole(1, 999_999_999),
  REVIEW_PATHS: variable(list.pipe(z.array(z.string().min(1).max(500)).max(500)), 'paths with commas between them'),
  RECORD_IN_MIRROR_ONLY: variable(
    list.pipe(z.array(z.string().max(2_000)).min(1)),
    'ids, names or repositories of projects with commas between them, or *',
  ),
  ENABLE_AUTO_RETRY: flag(),
  ENABLE_VALIDATION_DRIFT_DETECTION: flag(),
  ALLOW_AUTO_MERGE: flag(),
  ALLOW_AUTO_STAGES: variable(
    z.union([
      z.literal('none').transform((): string[] => []),
      list.pipe(z.array(z.string().regex(SETTING_NAME)).min(1)),
    ]),
    'trust modes of workflows with commas between them, or none',
  ),
  ALLOW_SETUP_NETWORK: flag(),
  SETUP_TIMEOUT_MINUTES: whole(1, 1_440),
  SANDBOX_PROGRAMS: variable(
    list.pipe(z.array(z.string().regex(/^(?:\/|~\/)./)).max(50)),
    'absolute paths of folders with commas between them; ~/ is the home folder',
  ),

  SANDBOX_PROVIDER: variable(z.enum(['bubblewrap', 'e2b']), 'bubblewrap or e2b'),
  E2B_API_KEY: apiKey(),
  E2B_TEMPLATE: variable(text.regex(/^[\w.:/-]{1,200}$/), 'the name or id of a template'),
  E2B_API_URL: baseUrl(),
  E2B_SANDBOX_URL: baseUrl(),
  E2B_TIMEOUT_MINUTES: whole(1, 1_440),
  EGRESS_ALLOW: variable(
    egressLists,
    `lists of hosts by role, as role=host,host;role=host or as JSON; a host is ${EGRESS_ENTRY_FORM}`,
  ),
  WEB_ALLOW: variable(
    list.pipe(z.array(z.string()).min(1)).transform((hosts, context): PageHosts => {
      const parsed = parsePageHosts(hosts);
      if (parsed === null) context.addIssue({ code: 'custom' });
      return parsed ?? { everyPublic: false, entries: [] };
    }),
    `hosts with commas between them: * for all public ones, ${EGRESS_ENTRY_FORM}`,
  ),
  EXA_API_KEY: apiKey(),
  BRAVE_API_KEY: apiKey(),
  SEARCH_API_URL: baseUrl(),
  SANDBOX_MEMORY_MB: whole(256, 1_048_576),
  SANDBOX_PROCESSES: whole(32, 65_536),
  SANDBOX_DISK_MB: whole(64, 16_777_216),
  SETUP_CACHE_MB: whole(0, 16_777_216),
} satisfies Readonly<Record<string, Variable<unknown>>>;

type VariableName = keyof typeof SERVER_VARIABLES;
type Values = { readonly [Name in VariableName]?: z.output<(typeof SERVER_VARIABLES)[Name]['schema']> };

/** Where paths begin; both default to those of this process. */
export interface ConfigFolders {
  readonly home?: string;
  /** Relative paths are resolved against it. */
  readonly working?: string;
}

/**
 * Reads the configuration. Without any variable it is a server on loopback with its data under the home folder. An empty variable
 * counts as one that is not set.
 * @throws {InvalidRequest} with one fault for each variable that is wrong or contradicts another one; secrets are not shown
 */
export function readServerConfig(
  env: Readonly<Record<string, string | undefined>>,
  folders: ConfigFolders = {},
): ServerConfig {
  const faults: Fault[] = [];
  const values = readVariables(env, faults);
  faults.push(...contradictions(values));
  const { home = homedir(), working = process.cwd() } = folders;
  const pathOf = (path: string): string => resolve(working, path.startsWith('~/') ? join(home, path.slice(2)) : path);
  // Custom workflows are loaded later and bring roles of their own.
  const known = knownRolesOf(workflows, values.AUTONOMOUS_WORKFLOWS !== undefined);
  const script =
    values.AUTONOMOUS_SCRIPT === undefined ? null : readScript(pathOf(values.AUTONOMOUS_SCRIPT), known, faults);
  const modelDefaults = modelDefaultsFrom(values, script);
  const mcp = values.AUTONOMOUS_MCP === undefined ? null : readMcp(pathOf(values.AUTONOMOUS_MCP), env, known, faults);
  const dataHome = env['XDG_DATA_HOME'];
  const dataFolder =
    values.AUTONOMOUS_DATA === undefined
      ? join(dataHome !== undefined && isAbsolute(dataHome) ? dataHome : join(home, '.local', 'share'), 'autonomous')
      : pathOf(values.AUTONOMOUS_DATA);
  const agents =
    values.AUTONOMOUS_AGENTS === undefined
      ? []
      : readAgents(pathOf(values.AUTONOMOUS_AGENTS), { env, dataFolder }, faults);
  const github = gitHubSignIn(values, pathOf, faults);
  if (faults.length > 0) throw refusal(faults);

  const owner = values.GITHUB_REPO_OWNER;
  const name = values.GITHUB_REPO_NAME;

  return {
    host: values.ORCHESTRATOR_HOST ?? '127.0.0.1',
    port: values.ORCHESTRATOR_PORT ?? 3001,
    publicUrl: values.ORCHESTRATOR_PUBLIC_URL ?? null,
    allowedHosts: values.ORCHESTRATOR_ALLOWED_HOSTS ?? [],
    dataFolder,
    databasePath:
      values.DATABASE_URL === undefined
        ? join(dataFolder, 'orchestrator.db')
        : pathOf(values.DATABASE_URL.replace(/^sqlite:(?:\/\/)?/, '')),
    token: values.AUTONOMOUS_TOKEN ?? null,
    github: {
      signIn: github.signIn,
      apiUrl: values.GITHUB_API_URL?.replace(/\/$/, '') ?? GITHUB_API_URL,
      repository: owner === undefined || name === undefined ? null : { owner, name },
      defaultBranch: values.GITHUB_DEFAULT_BRANCH ?? null,
      webhookSecret: values.GITHUB_WEBHOOK_SECRET ?? null,
      issueLabel: values.GITHUB_ISSUE_LABEL === 'none' ? null : (values.GITHUB_ISSUE_LABEL ?? 'autonomous'),
    },
    models: {
      keys: {
        anthropic: values.ANTHROPIC_API_KEY,
        openai: values.OPENAI_API_KEY,
        deepseek: values.DEEPSEEK_API_KEY,
        openaiCompatible: values.OPENAI_COMPATIBLE_API_KEY,
      },
      baseUrls: {
        anthropic: values.ANTHROPIC_BASE_URL,
        openai: values.OPENAI_BASE_URL,
        deepseek: values.DEEPSEEK_BASE_URL,
        openaiCompatible: values.OPENAI_COMPATIBLE_BASE_URL,
      },
      endpoints: [...(values.MODEL_ENDPOINTS ?? [])].map(([endpoint, baseUrl]) => ({
        name: endpoint,
        baseUrl,
        apiKey: values.MODEL_ENDPOINT_KEYS?.get(endpoint),
      })),
      script,
      ...(agents.length === 0 ? {} : { agents: agents.map(({ name, unusable }) => ({ name, unusable })) }),
    },
    mcpServers: mcp?.servers ?? [],
    recordFolder: values.AUTONOMOUS_RECORD === undefined ? null : pathOf(values.AUTONOMOUS_RECORD),
    prices: values.MODEL_PRICES ?? new Map(),
    agents,
    modelDefaults,
    runDefaults: {
      modelRouting: defaultModels(modelDefaults),
      maxClarifications: values.DEFAULT_MAX_CLARIFICATIONS ?? BUILT_IN_RUN_CONFIG.maxClarifications,
      git: { autoMerge: values.DEFAULT_AUTO_MERGE ?? BUILT_IN_RUN_CONFIG.git.autoMerge },
      ...budgetsFrom(values, DEFAULT_BUDGETS),
    },
    runLimits: {
      autoStages: values.ALLOW_AUTO_STAGES ?? null,
      autoMerge: values.ALLOW_AUTO_MERGE ?? true,
      models: values.ALLOWED_MODELS ?? null,
      egress: egressLimits(values),
      budgets: budgetsFrom(values, BUDGET_LIMIT_VARIABLES),
    },
    maxConcurrentRunsPerUser: values.MAX_CONCURRENT_RUNS_PER_USER ?? 5,
    archiveAfterDays: values.ARCHIVE_AFTER_DAYS ?? 30,
    branchesAfterDays: values.BRANCHES_AFTER_DAYS ?? 30,
    blockedLimitMs: milliseconds(values.BLOCKED_LIMIT_SECONDS) ?? 60_000,
    workflows: {
      names: (values.AUTONOMOUS_WORKFLOWS ?? []).map((name) => (name.startsWith('~/') ? pathOf(name) : name)),
      folder: resolve(working),
    },
    contextTokens: values.CONTEXT_TOKENS ?? 60_000,
    modelTimeouts: {
      firstChunkMs: milliseconds(values.MODEL_FIRST_TOKEN_SECONDS) ?? STEP_TIMEOUTS.firstChunkMs,
      idleMs: milliseconds(values.MODEL_IDLE_SECONDS) ?? STEP_TIMEOUTS.idleMs,
    },
    resumeProbeMs: milliseconds(values.RESUME_PROBE_SECONDS) ?? 15_000,
    forgePollMs: milliseconds(values.FORGE_POLL_SECONDS) ?? 30_000,
    reviewPaths: values.REVIEW_PATHS ?? [],
    recordInMirrorOnly: values.RECORD_IN_MIRROR_ONLY ?? [],
    autoRetry: values.ENABLE_AUTO_RETRY ?? true,
    driftDetection: values.ENABLE_VALIDATION_DRIFT_DETECTION ?? null,
    allowSetupNetwork: values.ALLOW_SETUP_NETWORK ?? true,
    setupTimeoutMs: (values.SETUP_TIMEOUT_MINUTES ?? 40) * 60_000,
    sandbox: sandboxSettings(values, pathOf),
    egress: values.EGRESS_ALLOW ?? {},
    web: { hosts: values.WEB_ALLOW ?? EVERY_PUBLIC_PAGE, search: searchSettings(values) },
    sandboxLimits: {
      memoryBytes: (values.SANDBOX_MEMORY_MB ?? 4_096) * MB,
      processes: values.SANDBOX_PROCESSES ?? 512,
      diskBytes: (values.SANDBOX_DISK_MB ?? 10_240) * MB,
    },
    dependencyCacheBytes: (values.SETUP_CACHE_MB ?? 10_240) * MB,
    logLevel: values.LOG_LEVEL ?? 'info',
    commitAuthor: {
      name: values.COMMIT_AUTHOR_NAME ?? 'Autonomous',
      email: values.COMMIT_AUTHOR_EMAIL ?? 'autonomous@localhost',
    },
    secrets: [
      ...variableNames().flatMap((variableName) => {
        const value = values[variableName];
        if (!SERVER_VARIABLES[variableName].secret) return [];
        return value instanceof Map ? [...value.values()].map(String) : typeof value === 'string' ? [value] : [];
      }),
      ...(mcp?.secrets ?? []),
      ...github.secrets,
      ...agents.flatMap((agent) => agent.secrets),
    ],
  };
}

const MB = 1024 * 1024;

const EVERY_PUBLIC_PAGE: PageHosts = { everyPublic: true, entries: [] };

function searchSettings({
  EXA_API_KEY: exa,
  BRAVE_API_KEY: brave,
  SEARCH_API_URL: url,
}: Values): SearchSettings | null {
  if (exa !== undefined) return { api: 'exa', key: exa, baseUrl: url ?? null };
  return brave === undefined ? null : { api: 'brave', key: brave, baseUrl: url ?? null };
}

/**
 * Hosts that projects and runs may name at most. Registries that npm names are missing:
 * they are known only where they are used.
 */
function egressLimits({ EGRESS_ALLOW = {}, ALLOW_SETUP_NETWORK = true }: Values): ServerConfig['egress'] {
  return { ...(ALLOW_SETUP_NETWORK ? {} : { [SETUP_ROLE]: [] }), ...EGRESS_ALLOW };
}

const DEFAULT_BUDGETS = {
  maxCostUsd: 'DEFAULT_MAX_COST_USD',
  maxTokens: 'DEFAULT_MAX_TOKENS',
  maxToolCalls: 'DEFAULT_MAX_TOOL_CALLS',
  maxTreeCostUsd: 'DEFAULT_MAX_TREE_COST_USD',
  maxTreeTokens: 'DEFAULT_MAX_TREE_TOKENS',
  maxTreeToolCalls: 'DEFAULT_MAX_TREE_TOOL_CALLS',
} as const satisfies Record<BudgetName, VariableName>;
type BudgetVariable = Extract<
  VariableName,
  `${'DEFAULT' | 'LIMIT'}_MAX_${'' | 'TREE_'}${'COST_USD' | 'TOKENS' | 'TOOL_CALLS'}`
>;

function budgetsFrom(values: Values, variables: Readonly<Record<BudgetName, BudgetVariable>>): Budgets {
  const set = BUDGET_NAMES.flatMap((budget) => {
    const value = values[variables[budget]];
    return value === undefined ? [] : [[budget, value] as const];
  });
  return Object.fromEntries(set);
}

function variableNames(): readonly VariableName[] {
  return Object.keys(SERVER_VARIABLES) as VariableName[]; // the object's own keys and no others
}

function readVariables(env: Readonly<Record<string, string | undefined>>, faults: Fault[]): Values {
  const values: Record<string, unknown> = {};
  for (const name of variableNames()) {
    const raw = env[name]?.trim() ?? '';
    if (raw === '') continue;
    const { schema, allowed, secret: hidden } = SERVER_VARIABLES[name];
    const parsed = schema.safeParse(raw);
    if (parsed.success) values[name] = parsed.data;
    else
      faults.push({
        path: name,
        message: `${name} is ${hidden ? 'set to something else (not shown here)' : shown(raw)}; allowed is ${allowed}.`,
      });
  }
  return values;
}

const { scrub } = createScrubber([]);

function shown(value: string): string {
  const safe = scrub(value);
  return JSON.stringify(safe.length > 120 ? `${safe.slice(0, 120)}…` : safe);
}

function contradictions(values: Values): readonly Fault[] {
  const faults: Fault[] = [];
  const host = values.ORCHESTRATOR_HOST ?? '127.0.0.1';
  if (!isLoopback(host) && values.AUTONOMOUS_TOKEN === undefined) {
    faults.push({
      path: 'ORCHESTRATOR_HOST',
      message: `ORCHESTRATOR_HOST is ${shown(host)}, which others can reach, and AUTONOMOUS_TOKEN is not set; set a token of your own (openssl rand -hex 32), or listen on 127.0.0.1.`,
    });
  }
  if ((values.GITHUB_REPO_OWNER === undefined) !== (values.GITHUB_REPO_NAME === undefined)) {
    const [set, missing] = values.GITHUB_REPO_NAME === undefined ? ['OWNER', 'NAME'] : ['NAME', 'OWNER'];
    faults.push({
      path: `GITHUB_REPO_${missing}`,
      message: `GITHUB_REPO_${set} is set and GITHUB_REPO_${missing} is not; set both or none.`,
    });
  }
  faults.push(...gitHubContradictions(values));
  if (values.OPENAI_COMPATIBLE_API_KEY !== undefined && values.OPENAI_COMPATIBLE_BASE_URL === undefined) {
    faults.push({
      path: 'OPENAI_COMPATIBLE_BASE_URL',
      message:
        'OPENAI_COMPATIBLE_API_KEY is set and OPENAI_COMPATIBLE_BASE_URL is not; set the address to which the key belongs.',
    });
  }
  if (values.SANDBOX_PROVIDER === 'e2b' && values.E2B_API_KEY === undefined) {
    faults.push({
      path: 'E2B_API_KEY',
      message: 'SANDBOX_PROVIDER is e2b and E2B_API_KEY is not set; set the key of your E2B team.',
    });
  }
  if (values.EXA_API_KEY !== undefined && values.BRAVE_API_KEY !== undefined)
    faults.push({
      path: 'BRAVE_API_KEY',
      message:
        'EXA_API_KEY and BRAVE_API_KEY are both set, and the server searches with one API; leave one of the two out.',
    });
  if (values.SEARCH_API_URL !== undefined && values.EXA_API_KEY === undefined && values.BRAVE_API_KEY === undefined)
    faults.push({
      path: 'SEARCH_API_URL',
      message:
        'SEARCH_API_URL is set and neither EXA_API_KEY nor BRAVE_API_KEY is; set the key of the API that answers there.',
    });
  if (values.ALLOW_SETUP_NETWORK === false && (values.EGRESS_ALLOW?.[SETUP_ROLE] ?? []).length > 0) {
    faults.push({
      path: 'EGRESS_ALLOW',
      message: 'EGRESS_ALLOW names hosts for setup and ALLOW_SETUP_NETWORK is false; leave one of the two out.',
    });
  }
  if (values.DEFAULT_AUTO_MERGE === true && values.ALLOW_AUTO_MERGE === false) {
    faults.push({
      path: 'DEFAULT_AUTO_MERGE',
      message: 'DEFAULT_AUTO_MERGE is true and ALLOW_AUTO_MERGE is false; a default has to lie within the limit.',
    });
  }
  for (const budget of BUDGET_NAMES) {
    const [byDefault, limit] = [DEFAULT_BUDGETS[budget], BUDGET_LIMIT_VARIABLES[budget]];
    const [asked, allowed] = [values[byDefault], values[limit]];
    if (asked === undefined || allowed === undefined || asked <= allowed) continue;
    faults.push({
      path: byDefault,
      message: `${byDefault} is ${asked} and ${limit} is ${allowed}; a default has to lie within the limit.`,
    });
  }
  for (const name of values.MODEL_ENDPOINTS?.keys() ?? []) {
    const isAgents = name === 'acp';
    if (!isAgents && !PROVIDER_NAMES.includes(name)) continue;
    const taken = isAgents ? 'is how external agents are named' : 'is a provider already';
    const message = `MODEL_ENDPOINTS names '${name}', which ${taken}; choose another name.`;
    faults.push({ path: 'MODEL_ENDPOINTS', message });
  }
  for (const name of values.MODEL_ENDPOINT_KEYS?.keys() ?? []) {
    if (values.MODEL_ENDPOINTS?.has(name)) continue;
    const message = `MODEL_ENDPOINT_KEYS has a key for '${name}', which MODEL_ENDPOINTS does not name. Add its address there.`;
    faults.push({ path: 'MODEL_ENDPOINT_KEYS', message });
  }
  for (const [role, variableName] of Object.entries(ROLE_VARIABLES)) {
    if (values[variableName] === undefined || !values.DEFAULT_MODELS?.has(role)) continue;
    const message = `${variableName} and DEFAULT_MODELS both name a model for ${role}; leave one of the two out.`;
    faults.push({ path: variableName, message });
  }
  for (const { variableName, model } of namedModels(values)) {
    if (values.ALLOWED_MODELS === undefined || isAllowed(model, values.ALLOWED_MODELS)) continue;
    faults.push({
      path: variableName,
      message: `${variableName} is ${shown(model)}, which is not in ALLOWED_MODELS: ${values.ALLOWED_MODELS.join(', ')}.`,
    });
  }
  // Custom workflows are loaded later and have names of their own.
  if (values.AUTONOMOUS_WORKFLOWS !== undefined) return faults;
  const named = {
    runLimits: { autoStages: values.ALLOW_AUTO_STAGES ?? null, autoMerge: true, models: null },
    egress: values.EGRESS_ALLOW ?? {},
    modelDefaults: modelDefaultsFrom(values, null),
  };
  return [...faults, ...unknownNames(named, workflows)];
}

const APP_VARIABLES = ['GITHUB_APP_ID', 'GITHUB_APP_INSTALLATION_ID', 'GITHUB_APP_PRIVATE_KEY'] as const;

/** One way to sign in at GitHub, and all of it. */
function gitHubContradictions(values: Values): readonly Fault[] {
  const faults: Fault[] = [];
  const isSet = (name: VariableName): boolean =>
    values[name] !== undefined ||
    (name === 'GITHUB_APP_PRIVATE_KEY' && values.GITHUB_APP_PRIVATE_KEY_FILE !== undefined);
  const ofApp = APP_VARIABLES.filter(isSet);
  for (const name of ofApp.length === 0 ? [] : APP_VARIABLES.filter((each) => !isSet(each))) {
    const message = `${ofApp[0]} is set and ${name} is not; set ${APP_VARIABLES.join(', ')} (or GITHUB_APP_PRIVATE_KEY_FILE), or none of them.`;
    faults.push({ path: name, message });
  }
  const [first, second] = [
    ...(['GITHUB_TOKEN', 'GITHUB_TOKEN_FILE'] as const).filter(isSet),
    ...(ofApp.length === 0 ? [] : (['GITHUB_APP_ID'] as const)),
  ];
  if (second !== undefined)
    faults.push({
      path: second,
      message: `${first} and ${second} are both set, and the server signs in at GitHub in one way; leave one of the two out.`,
    });
  if (values.GITHUB_APP_PRIVATE_KEY !== undefined && values.GITHUB_APP_PRIVATE_KEY_FILE !== undefined)
    faults.push({
      path: 'GITHUB_APP_PRIVATE_KEY_FILE',
      message: 'GITHUB_APP_PRIVATE_KEY and GITHUB_APP_PRIVATE_KEY_FILE are both set; leave one of the two out.',
    });
  return faults;
}

function gitHubSignIn(
  values: Values,
  pathOf: (path: string) => string,
  faults: Fault[],
): { readonly signIn: GitHubSignIn | null; readonly secrets: readonly string[] } {
  const { GITHUB_TOKEN: token, GITHUB_TOKEN_FILE: tokenFile } = values;
  const { GITHUB_APP_ID: appId, GITHUB_APP_INSTALLATION_ID: installationId } = values;
  const { GITHUB_APP_PRIVATE_KEY: inline, GITHUB_APP_PRIVATE_KEY_FILE: keyFile } = values;
  if (token !== undefined) return { signIn: { kind: 'token', token }, secrets: [] };
  if (tokenFile !== undefined) return { signIn: { kind: 'tokenFile', file: pathOf(tokenFile) }, secrets: [] };
  if (appId === undefined || installationId === undefined) return { signIn: null, secrets: [] };
  const privateKey = inline ?? (keyFile === undefined ? null : readPrivateKey(pathOf(keyFile), faults));
  if (privateKey === null) return { signIn: null, secrets: [] };
  return { signIn: { kind: 'app', appId, privateKey, installationId }, secrets: [privateKey] };
}

function readPrivateKey(path: string, faults: Fault[]): string | null {
  const allowed = 'allowed is the path of the private key file of the App';
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (isPrivateKey(key)) return key;
    const message = `GITHUB_APP_PRIVATE_KEY_FILE names ${path}, which holds no private key; ${allowed}.`;
    faults.push({ path: 'GITHUB_APP_PRIVATE_KEY_FILE', message });
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const message = `GITHUB_APP_PRIVATE_KEY_FILE names ${path}, which cannot be read (${why}); ${allowed}.`;
    faults.push({ path: 'GITHUB_APP_PRIVATE_KEY_FILE', message });
  }
  return null;
}

function isPrivateKey(value: string): boolean {
  try {
    return createPrivateKey(value).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

function readScript(path: string, known: KnownRoles, faults: Fault[]): Script | Cassette | null {
  let yaml: string;
  try {
    yaml = readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    faults.push({
      path: 'AUTONOMOUS_SCRIPT',
      message: `AUTONOMOUS_SCRIPT names ${path}, which cannot be read (${why}); allowed is the path of a script file.`,
    });
    return null;
  }
  try {
    return isCassette(yaml) ? parseCassette(yaml, path) : parseScript(yaml, path, known);
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    faults.push(
      ...error.faults.map(({ message }) => ({ path: 'AUTONOMOUS_SCRIPT', message: `AUTONOMOUS_SCRIPT: ${message}` })),
    );
    return null;
  }
}

function readMcp(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  known: KnownRoles,
  faults: Fault[],
): McpServers | null {
  try {
    return parseMcpServers(readFileSync(path, 'utf8'), path, env, known);
  } catch (error) {
    if (error instanceof InvalidRequest) {
      faults.push(
        ...error.faults.map(({ message }) => ({ path: 'AUTONOMOUS_MCP', message: `AUTONOMOUS_MCP: ${message}` })),
      );
      return null;
    }
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    faults.push({
      path: 'AUTONOMOUS_MCP',
      message: `AUTONOMOUS_MCP names ${path}, which cannot be read (${why}); allowed is the path of a JSON file.`,
    });
    return null;
  }
}

function readAgents(
  path: string,
  context: Omit<AgentsFileContext, 'folder'>,
  faults: Fault[],
): readonly AcpAgentSettings[] {
  let json: string;
  try {
    json = readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    faults.push({
      path: 'AUTONOMOUS_AGENTS',
      message: `AUTONOMOUS_AGENTS names ${path}, which cannot be read (${why}); allowed is the path of a JSON file.`,
    });
    return [];
  }
  const parsed = parseAcpAgents(json, { ...context, folder: dirname(path) });
  if (parsed.ok) return parsed.agents;
  for (const fault of parsed.faults) {
    const where = fault.path === '' ? path : `${fault.path} in ${path}`;
    faults.push({ path: 'AUTONOMOUS_AGENTS', message: `AUTONOMOUS_AGENTS: ${where}: ${fault.message}.` });
  }
  return [];
}

/** Variables that name the default model of one role each, by that role. */
const ROLE_VARIABLES = {
  planner: 'DEFAULT_PLANNER_MODEL',
  implementer: 'DEFAULT_IMPLEMENTER_MODEL',
  validator: 'DEFAULT_VALIDATOR_MODEL',
} as const satisfies Readonly<Record<string, VariableName>>;

/** Default models that the environment names. */
function namedModels(values: Values) {
  const earlier = Object.entries(ROLE_VARIABLES).flatMap(([role, variableName]) => {
    const model = values[variableName];
    return model === undefined ? [] : [{ role, variableName, model }];
  });
  const later = [...(values.DEFAULT_MODELS ?? [])].map(([role, model]) => ({
    role,
    variableName: 'DEFAULT_MODELS' as VariableName,
    model,
  }));
  return [...earlier, ...later];
}

/**
 * Names of roles and trust modes in the configuration that none of these workflows has.
 * @param all the workflows of this server
 */
export function unknownNames(
  { runLimits, egress, modelDefaults }: Pick<ServerConfig, 'runLimits' | 'egress' | 'modelDefaults'>,
  all: readonly Workflow[],
): readonly Fault[] {
  const known = withChildren(all);
  const roles = new Set(
    known.flatMap(({ roles: own }) => own.flatMap((each) => (each.configuredAs === undefined ? each.role.name : []))),
  );
  const modes = new Set(known.flatMap(({ trustModes }) => trustModes.map(({ name }) => name)));
  const faultsOf = (
    path: VariableName,
    what: string,
    names: readonly string[],
    allowed: ReadonlySet<string>,
  ): Fault[] =>
    names
      .filter((name) => !allowed.has(name))
      .map((name) => ({
        path,
        message: `${path} names the ${what} ${shown(name)}, which no workflow of this server has; allowed are ${[...allowed].join(', ')}.`,
      }));
  return [
    ...faultsOf('ALLOW_AUTO_STAGES', 'trust mode', runLimits.autoStages ?? [], modes),
    ...faultsOf('EGRESS_ALLOW', 'role', Object.keys(egress), new Set([...roles, SETUP_ROLE])),
    ...faultsOf('DEFAULT_MODELS', 'role', Object.keys(modelDefaults.named), roles),
  ];
}

/** The parts of the environment that decide which model a role has where a run names none. */
export interface ModelDefaults {
  /** Model by role, as the environment names it. */
  readonly named: Readonly<Record<string, string>>;
  /** Model that plays every role: there is a script and no other provider. */
  readonly scripted: string | null;
  /** Variables of the providers that have a key. */
  readonly keys: readonly string[];
  /** Models of other providers, for roles where no provider with a key is left: the first counts. Absent: there are none. */
  readonly others?: readonly string[];
  /** Current model by the variable of its provider, where the provider's list lacks the usual one. */
  readonly current?: Readonly<Record<string, string>>;
  /** `null` allows all. */
  readonly allowed: readonly string[] | null;
}

function modelDefaultsFrom(values: Values, script: Script | Cassette | null): ModelDefaults {
  const named = namedModels(values);
  const hasProvider = [
    values.ANTHROPIC_API_KEY,
    values.OPENAI_API_KEY,
    values.DEEPSEEK_API_KEY,
    values.OPENAI_COMPATIBLE_BASE_URL,
    values.MODEL_ENDPOINTS,
  ].some((setting) => setting !== undefined);
  return {
    named: Object.fromEntries(named.map(({ role, model }) => [role, model])),
    scripted: script !== null && named.length === 0 && !hasProvider ? `scripted:${script.name}` : null,
    keys: FALLBACK_MODELS.flatMap(({ key }) => (values[key] === undefined ? [] : [key])),
    allowed: values.ALLOWED_MODELS ?? null,
  };
}

/**
 * The model of a role in a run that names none: what the environment names for the role or for the role whose defaults it
 * has; with nothing but a script to play, that script; else what the workflow declares, also where its key is missing:
 * `Models.check` says what to set.
 * @param roles all roles of its workflow
 */
export function defaultModelOf(
  { named, scripted, keys, allowed, others = [], current = {} }: ModelDefaults,
  role: WorkflowRole,
  roles: readonly WorkflowRole[],
): string {
  const ofEnvironment = named[role.role.name] ?? (role.defaultsOf === undefined ? undefined : named[role.defaultsOf]);
  if (ofEnvironment !== undefined) return ofEnvironment;
  // One key is enough to start a run: a role whose own provider has no key takes the model of a provider that has one.
  const modelOf = ({ key, model }: (typeof FALLBACK_MODELS)[number]): string => current[key] ?? model;
  const first = FALLBACK_MODELS.find(({ key }) => keys.includes(key));
  const usable = first === undefined ? others[0] : modelOf(first);
  const declared = declaredModel(role, roles) ?? usable ?? FALLBACK_MODEL;
  const provider = FALLBACK_MODELS.find(({ family }) => family.test(declared));
  const own =
    provider === undefined ? declared : keys.includes(provider.key) ? modelOf(provider) : (usable ?? declared);
  const model = scripted ?? own;
  return allowed === null || isAllowed(model, allowed) ? model : (allowed[0] ?? model);
}

/** The default models of all workflows that this product ships, by role; of two with a role of one name the first counts. */
function defaultModels(defaults: ModelDefaults): Readonly<Record<string, string>> {
  const models: Record<string, string> = {};
  for (const { roles } of withChildren(workflows))
    for (const role of roles)
      if (role.configuredAs === undefined) models[role.role.name] ??= defaultModelOf(defaults, role, roles);
  return models;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

function sandboxSettings(values: Values, pathOf: (path: string) => string): SandboxSettings {
  const apiKey = values.E2B_API_KEY;
  if (values.SANDBOX_PROVIDER !== 'e2b' || apiKey === undefined) {
    const programs = values.SANDBOX_PROGRAMS?.map(pathOf);
    return { provider: 'bubblewrap', ...(programs === undefined ? {} : { programs }) };
  }
  return {
    provider: 'e2b',
    e2b: {
      apiKey,
      timeoutMinutes: values.E2B_TIMEOUT_MINUTES ?? 15,
      ...(values.E2B_TEMPLATE === undefined ? {} : { template: values.E2B_TEMPLATE }),
      ...(values.E2B_API_URL === undefined ? {} : { apiUrl: values.E2B_API_URL }),
      ...(values.E2B_SANDBOX_URL === undefined ? {} : { sandboxUrl: values.E2B_SANDBOX_URL }),
    },
  };
}

/** A current model of each provider, for roles whose own model belongs to a provider without a key or is an older one. */
const FALLBACK_MODELS: readonly {
  readonly key: VariableName;
  readonly model: string;
  /** Bare names of the provider's models. */
  readonly family: RegExp;
}[] = KEYED_PROVIDERS.map((id) => {
  const { keyVariable, models, family } = PROVIDERS[id];
  return { key: keyVariable, model: `${id}:${models[0]}`, family };
});

/** For a role that declares no model, on a server without a key. */
const FALLBACK_MODEL = `anthropic:${PROVIDERS.anthropic.models[0]}`;

/** Either of the two may be written with its provider and the other without. */
function isAllowed(model: string, allowed: readonly string[]): boolean {
  return allowed.some((other) => other === model || other.endsWith(`:${model}`) || model.endsWith(`:${other}`));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function isPlainHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return (protocol === 'http:' || protocol === 'https:') && `${username}${password}${search}${hash}` === '';
}

function refusal(faults: readonly Fault[]): InvalidRequest {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new InvalidRequest(
    `The configuration has ${count}:\n${faults.map((fault) => `  ${fault.message}`).join('\n')}`,
    { faults },
  );
}
