/** The server's configuration: environment variables, read once at the start, all faults at once. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP, isIPv4 } from 'node:net';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Fault, InvalidRequest, type RunConfigRequest, SETUP_ROLE } from '@autonomous/shared';
import { z } from 'zod';
import { type AcpAgentSettings, type AgentsFileContext, parseAcpAgents } from './agents/acp/acp-agents.ts';
import { type McpServers, parseMcpServers } from './agents/mcp/mcp-servers.ts';
import { STEP_TIMEOUTS, type StepTimeouts } from './agents/tool-loop/model-step.ts';
import { createScrubber } from './secrets/secrets.ts';
import { defaultModels, FALLBACK_MODELS, isAllowed, type ModelDefaults } from './default-models.ts';
import { GITHUB_API_URL } from './forges/github/github-address.ts';
import { type Cassette, isCassette, parseCassette } from './models/cassettes/cassette.ts';
import type { CustomPrice } from './models/model.ts';
import { type ModelSettings, PROVIDER_NAMES } from './models/registry.ts';
import { parseScript, type Script } from './models/script.ts';
import { isBranchName } from './path-rules/branch-names.ts';
import { EGRESS_ENTRY_FORM, parseEgressEntry } from './network/egress-rules.ts';
import type { SandboxSettings } from './sandboxes/provider-choice.ts';
import { type PageHosts, parsePageHosts } from './web-pages/page-address.ts';
import type { SearchSettings } from './web-pages/search/create-search.ts';
import type { KnownRoles } from './roles/role.ts';
import { workflows } from './workflows/index.ts';
import { knownRolesOf, withChildren, type Workflow } from './workflows/workflow.ts';
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
  /** Tokens of a conversation from which old results are cleared; `null`: 60,000, and 120,000 where the provider caches. */
  readonly contextTarget: number | null;
  /** Longest silence of a model: before its answer begins, and within it. */
  readonly modelTimeouts: StepTimeouts;
  /** Sum of the waits of one call for a provider that refuses its requests, before the run pauses. */
  readonly modelPatienceMs: number;
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

type ValueAt<Config, Path extends string> = Path extends `${infer Key}.${infer Rest}`
  ? Key extends keyof Config
    ? ValueAt<NonNullable<Config[Key]>, Rest>
    : never
  : Path extends keyof Config
    ? Config[Path]
    : never;

interface Variable<Value> {
  readonly schema: z.ZodType<Value, string>;
  /** The allowed values, as a fault names them. */
  readonly allowed: string;
  /** Its value is never shown. */
  readonly secret: boolean;
  /** Path of the value in the configuration. Absent where the value is computed together with others. */
  readonly place?: { readonly path: string; readonly otherwise?: unknown };
}

interface Unplaced<Value> extends Variable<Value> {
  /**
   * The same variable, whose value stands at a path of the configuration.
   * @param otherwise stands there where the variable is not set; not given: nothing does
   */
  at<Path extends string>(
    path: Path & (Value extends ValueAt<ServerConfig, Path> ? unknown : never),
    ...otherwise: undefined extends ValueAt<ServerConfig, Path>
      ? [ValueAt<ServerConfig, Path>?]
      : [ValueAt<ServerConfig, Path>]
  ): Variable<Value>;
}

const variable = <Value>(schema: z.ZodType<Value, string>, allowed: string, secret = false): Unplaced<Value> => ({
  schema,
  allowed,
  secret,
  at: (path: string, ...[otherwise]: readonly unknown[]) => ({ schema, allowed, secret, place: { path, otherwise } }),
});
const secret = (schema: z.ZodType<string, string>, allowed: string) => variable(schema, allowed, true);

const MB = 1024 * 1024;
const MINUTE_MS = 60_000;
const LOOPBACK = '127.0.0.1';
const EVERY_PUBLIC_PAGE: PageHosts = { everyPublic: true, entries: [] };

const text = z.string().max(4_000);
const flag = () =>
  variable(
    z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1'),
    'true or false',
  );
/** @param unit of the number, in those of the configuration */
const whole = (min: number, max: number, unit = 1) =>
  variable(
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number)
      .pipe(z.number().min(min).max(max))
      .transform((value) => value * unit),
    `a whole number from ${min} to ${max}`,
  );
const seconds = (min: number, max: number) => whole(min, max, 1_000);
const megabytes = (min: number, max: number) => whole(min, max, MB);
const apiKey = () => secret(text.regex(/^[\x21-\x7e]+$/), 'a key in one line without spaces');
const baseUrl = () =>
  variable(text.refine(isPlainHttpUrl), 'an http or https URL without user name, password, query and fragment');
const modelId = () =>
  variable(text.regex(/^\S{1,200}$/), 'a model as provider:model, or a known bare name such as deepseek-reasoner');
/** US dollars, as they are written: 0.5, 20. */
const money = () =>
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

/**
 * Every variable that the server reads: how, and where in the configuration its value stands. Each is in `.env.example` with what it is
 * for and its default; a test compares the two.
 */
export const SERVER_VARIABLES = {
  ORCHESTRATOR_HOST: variable(
    text.refine((host) => isIP(host) !== 0 || /^[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?$/i.test(host)),
    'an IP address or host name',
  ).at('host', LOOPBACK),
  ORCHESTRATOR_PORT: whole(0, 65_535).at('port', 3_001),
  ORCHESTRATOR_PUBLIC_URL: variable(
    text.refine((url) => isPlainHttpUrl(url) && new URL(url).pathname === '/'),
    'an http or https URL of a host name and port alone; the server answers under no sub-path of a proxy',
  ).at('publicUrl', null),
  ORCHESTRATOR_ALLOWED_HOSTS: variable(
    list.pipe(z.array(z.string().regex(/^[A-Za-z0-9.[\]:-]{1,255}$/)).min(1)),
    'host names, each with its port where that is not 80 or 443, with commas between them',
  ).at('allowedHosts', []),
  AUTONOMOUS_TOKEN: secret(
    text.regex(/^[\x21-\x7e]{16,}$/),
    'at least 16 characters in one line without spaces; make one with: openssl rand -hex 32',
  ).at('token', null),
  AUTONOMOUS_DATA: variable(text, 'the path of a folder'),
  DATABASE_URL: variable(
    text.regex(/^sqlite:(?!\/\/(?!\/))(?!:memory:)[^?#]+$/),
    'sqlite: followed by the path of a file, such as sqlite:./data/orchestrator.db',
  ),
  LOG_LEVEL: variable(z.enum(LOG_LEVELS), LOG_LEVELS.join(', ')).at('logLevel', 'info'),

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
  GITHUB_DEFAULT_BRANCH: variable(text.refine(isBranchName), 'the name of a branch').at('github.defaultBranch', null),
  GITHUB_WEBHOOK_SECRET: secret(
    text.regex(/^[\x21-\x7e]{16,}$/),
    'at least 16 characters in one line without spaces; make one with: openssl rand -hex 32',
  ).at('github.webhookSecret', null),
  GITHUB_ISSUE_LABEL: variable(
    text.regex(/^[^,\x00-\x1f\x7f]{1,50}$/).transform((label) => (label === 'none' ? null : label)),
    'the name of a label, without a comma, or none',
  ).at('github.issueLabel', 'autonomous'),
  COMMIT_AUTHOR_NAME: variable(text.regex(/^[^<>\x00-\x1f\x7f]{1,200}$/), 'a name without < and >').at(
    'commitAuthor.name',
    'Autonomous',
  ),
  COMMIT_AUTHOR_EMAIL: variable(text.regex(/^[^<>\s\x00-\x1f\x7f]{1,200}$/), 'an address without spaces, < and >').at(
    'commitAuthor.email',
    'autonomous@localhost',
  ),

  ANTHROPIC_API_KEY: apiKey().at('models.keys.anthropic'),
  OPENAI_API_KEY: apiKey().at('models.keys.openai'),
  DEEPSEEK_API_KEY: apiKey().at('models.keys.deepseek'),
  OPENAI_COMPATIBLE_API_KEY: apiKey().at('models.keys.openaiCompatible'),
  ANTHROPIC_BASE_URL: baseUrl().at('models.baseUrls.anthropic'),
  OPENAI_BASE_URL: baseUrl().at('models.baseUrls.openai'),
  DEEPSEEK_BASE_URL: baseUrl().at('models.baseUrls.deepseek'),
  OPENAI_COMPATIBLE_BASE_URL: baseUrl().at('models.baseUrls.openaiCompatible'),
  MODEL_ENDPOINTS: variable(
    pairs(ENDPOINT_NAME, /^https?:\/\//).refine((endpoints) => [...endpoints.values()].every(isPlainHttpUrl)),
    'NAME=URL with commas between them, such as ollama=http://localhost:11434/v1; names have small letters, digits and dashes',
  ),
  MODEL_ENDPOINT_KEYS: variable(
    pairs(ENDPOINT_NAME, /^[\x21-\x7e]+$/),
    'NAME=KEY with commas between them, each name one of MODEL_ENDPOINTS',
    true,
  ),
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
  ).at('prices', new Map()),
  MODEL_WINDOWS: variable(
    pairs(/^[a-z0-9-]+:\S+$/, /^[1-9]\d{3,8}$/).transform(
      (windows): ReadonlyMap<string, number> => new Map([...windows].map(([id, tokens]) => [id, Number(tokens)])),
    ),
    'PROVIDER:MODEL=TOKENS of at least 1,000 with commas between them, such as ollama:qwen3=32768',
  ).at('models.windows'),
  CONTEXT_TARGET: whole(8_000, 2_000_000).at('contextTarget', null),
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
  ).at('runLimits.models', null),

  MAX_CONCURRENT_RUNS_PER_USER: whole(1, 1_000).at('maxConcurrentRunsPerUser', 5),
  ARCHIVE_AFTER_DAYS: whole(0, 36_500).at('archiveAfterDays', 30),
  BRANCHES_AFTER_DAYS: whole(0, 36_500).at('branchesAfterDays', 30),
  BLOCKED_LIMIT_SECONDS: seconds(5, 86_400).at('blockedLimitMs', 60_000),
  AUTONOMOUS_WORKFLOWS: variable(
    list.pipe(z.array(z.string().max(1_000)).min(1)),
    'paths of files or names of packages with commas between them',
  ),
  CONTEXT_TOKENS: whole(16_000, 2_000_000).at('contextTokens', 60_000),
  MODEL_FIRST_TOKEN_SECONDS: seconds(1, 86_400).at('modelTimeouts.firstChunkMs', STEP_TIMEOUTS.firstChunkMs),
  MODEL_IDLE_SECONDS: seconds(1, 86_400).at('modelTimeouts.idleMs', STEP_TIMEOUTS.idleMs),
  MODEL_PATIENCE_SECONDS: seconds(0, 86_400).at('modelPatienceMs', 600_000),
  RESUME_PROBE_SECONDS: seconds(1, 3_600).at('resumeProbeMs', 15_000),
  FORGE_POLL_SECONDS: seconds(1, 3_600).at('forgePollMs', 30_000),
  DEFAULT_MAX_CLARIFICATIONS: whole(0, 100).at('runDefaults.maxClarifications', BUILT_IN_RUN_CONFIG.maxClarifications),
  DEFAULT_AUTO_MERGE: flag().at('runDefaults.git.autoMerge', BUILT_IN_RUN_CONFIG.git.autoMerge),
  DEFAULT_MAX_COST_USD: money().at('runDefaults.maxCostUsd'),
  DEFAULT_MAX_TOKENS: whole(1, 999_999_999).at('runDefaults.maxTokens'),
  DEFAULT_MAX_TOOL_CALLS: whole(1, 999_999_999).at('runDefaults.maxToolCalls'),
  DEFAULT_MAX_TREE_COST_USD: money().at('runDefaults.maxTreeCostUsd'),
  DEFAULT_MAX_TREE_TOKENS: whole(1, 999_999_999).at('runDefaults.maxTreeTokens'),
  DEFAULT_MAX_TREE_TOOL_CALLS: whole(1, 999_999_999).at('runDefaults.maxTreeToolCalls'),
  LIMIT_MAX_COST_USD: money().at('runLimits.budgets.maxCostUsd'),
  LIMIT_MAX_TOKENS: whole(1, 999_999_999).at('runLimits.budgets.maxTokens'),
  LIMIT_MAX_TOOL_CALLS: whole(1, 999_999_999).at('runLimits.budgets.maxToolCalls'),
  LIMIT_MAX_TREE_COST_USD: money().at('runLimits.budgets.maxTreeCostUsd'),
  LIMIT_MAX_TREE_TOKENS: whole(1, 999_999_999).at('runLimits.budgets.maxTreeTokens'),
  LIMIT_MAX_TREE_TOOL_CALLS: whole(1, 999_999_999).at('runLimits.budgets.maxTreeToolCalls'),
  REVIEW_PATHS: variable(list.pipe(z.array(z.string().min(1).max(500)).max(500)), 'paths with commas between them').at(
    'reviewPaths',
    [],
  ),
  RECORD_IN_MIRROR_ONLY: variable(
    list.pipe(z.array(z.string().max(2_000)).min(1)),
    'ids, names or repositories of projects with commas between them, or *',
  ).at('recordInMirrorOnly', []),
  ENABLE_AUTO_RETRY: flag().at('autoRetry', true),
  ENABLE_VALIDATION_DRIFT_DETECTION: flag().at('driftDetection', null),
  ALLOW_AUTO_MERGE: flag().at('runLimits.autoMerge', true),
  ALLOW_AUTO_STAGES: variable(
    z.union([
      z.literal('none').transform((): string[] => []),
      list.pipe(z.array(z.string().regex(SETTING_NAME)).min(1)),
    ]),
    'trust modes of workflows with commas between them, or none',
  ).at('runLimits.autoStages', null),
  ALLOW_SETUP_NETWORK: flag().at('allowSetupNetwork', true),
  SETUP_TIMEOUT_MINUTES: whole(1, 1_440, MINUTE_MS).at('setupTimeoutMs', 40 * MINUTE_MS),
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
  ).at('egress', {}),
  WEB_ALLOW: variable(
    list.pipe(z.array(z.string()).min(1)).transform((hosts, context): PageHosts => {
      const parsed = parsePageHosts(hosts);
      if (parsed === null) context.addIssue({ code: 'custom' });
      return parsed ?? { everyPublic: false, entries: [] };
    }),
    `hosts with commas between them: * for all public ones, ${EGRESS_ENTRY_FORM}`,
  ).at('web.hosts', EVERY_PUBLIC_PAGE),
  EXA_API_KEY: apiKey(),
  BRAVE_API_KEY: apiKey(),
  SEARCH_API_URL: baseUrl(),
  SANDBOX_MEMORY_MB: megabytes(256, 1_048_576).at('sandboxLimits.memoryBytes', 4_096 * MB),
  SANDBOX_PROCESSES: whole(32, 65_536).at('sandboxLimits.processes', 512),
  SANDBOX_DISK_MB: megabytes(64, 16_777_216).at('sandboxLimits.diskBytes', 10_240 * MB),
  SETUP_CACHE_MB: megabytes(0, 16_777_216).at('dependencyCacheBytes', 10_240 * MB),
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

  const computed = {
    dataFolder,
    databasePath:
      values.DATABASE_URL === undefined
        ? join(dataFolder, 'orchestrator.db')
        : pathOf(values.DATABASE_URL.replace(/^sqlite:(?:\/\/)?/, '')),
    github: {
      signIn: github.signIn,
      apiUrl: values.GITHUB_API_URL?.replace(/\/$/, '') ?? GITHUB_API_URL,
      repository: owner === undefined || name === undefined ? null : { owner, name },
    },
    models: {
      endpoints: [...(values.MODEL_ENDPOINTS ?? [])].map(([endpoint, baseUrl]) => ({
        name: endpoint,
        baseUrl,
        apiKey: values.MODEL_ENDPOINT_KEYS?.get(endpoint),
      })),
      keys: {},
      script,
      ...(agents.length === 0 ? {} : { agents: agents.map(({ name, unusable }) => ({ name, unusable })) }),
    },
    mcpServers: mcp?.servers ?? [],
    recordFolder: values.AUTONOMOUS_RECORD === undefined ? null : pathOf(values.AUTONOMOUS_RECORD),
    agents,
    modelDefaults,
    runDefaults: { modelRouting: defaultModels(modelDefaults) },
    runLimits: { egress: egressLimits(values) },
    workflows: {
      names: (values.AUTONOMOUS_WORKFLOWS ?? []).map((name) => (name.startsWith('~/') ? pathOf(name) : name)),
      folder: resolve(working),
    },
    sandbox: sandboxSettings(values, pathOf),
    web: { search: searchSettings(values) },
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
  } satisfies { readonly [Part in keyof ServerConfig]?: Partial<ServerConfig[Part]> };
  return placed(values, computed);
}

/** The configuration: what was computed of several variables, and the others where their rows say. */
function placed(values: Values, computed: object): ServerConfig {
  const config: Tree = { ...computed };
  for (const name of variableNames()) {
    const { place }: Variable<unknown> = SERVER_VARIABLES[name];
    if (place === undefined) continue;
    const { path, otherwise } = place;
    const [last = '', ...above] = path.split('.').toReversed();
    const value = values[name] === undefined ? otherwise : values[name];
    let part = config;
    for (const key of above.toReversed()) part = (part[key] ??= {}) as Tree;
    if (value !== undefined) part[last] = value;
  }
  // Each row's path and type are checked where it is written; that none is missing, by a test.
  return config as unknown as ServerConfig;
}

type Tree = Record<string, unknown>;

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

type Rule = readonly [isBroken: boolean, path: string, message: string];

function contradictions(values: Values): readonly Fault[] {
  const host = values.ORCHESTRATOR_HOST ?? LOOPBACK;
  const [ownerOrName, missing] = values.GITHUB_REPO_NAME === undefined ? ['OWNER', 'NAME'] : ['NAME', 'OWNER'];
  const isSet = (name: VariableName): boolean => values[name] !== undefined;
  const rules: readonly Rule[] = [
    [
      !isLoopback(host) && !isSet('AUTONOMOUS_TOKEN'),
      'ORCHESTRATOR_HOST',
      `ORCHESTRATOR_HOST is ${shown(host)}, which others can reach, and AUTONOMOUS_TOKEN is not set; set a token of your own (openssl rand -hex 32), or listen on 127.0.0.1.`,
    ],
    [
      isSet('GITHUB_REPO_OWNER') !== isSet('GITHUB_REPO_NAME'),
      `GITHUB_REPO_${missing}`,
      `GITHUB_REPO_${ownerOrName} is set and GITHUB_REPO_${missing} is not; set both or none.`,
    ],
    ...gitHubContradictions(values),
    [
      isSet('OPENAI_COMPATIBLE_API_KEY') && !isSet('OPENAI_COMPATIBLE_BASE_URL'),
      'OPENAI_COMPATIBLE_BASE_URL',
      'OPENAI_COMPATIBLE_API_KEY is set and OPENAI_COMPATIBLE_BASE_URL is not; set the address to which the key belongs.',
    ],
    [
      values.SANDBOX_PROVIDER === 'e2b' && !isSet('E2B_API_KEY'),
      'E2B_API_KEY',
      'SANDBOX_PROVIDER is e2b and E2B_API_KEY is not set; set the key of your E2B team.',
    ],
    [
      isSet('EXA_API_KEY') && isSet('BRAVE_API_KEY'),
      'BRAVE_API_KEY',
      'EXA_API_KEY and BRAVE_API_KEY are both set, and the server searches with one API; leave one of the two out.',
    ],
    [
      isSet('SEARCH_API_URL') && !isSet('EXA_API_KEY') && !isSet('BRAVE_API_KEY'),
      'SEARCH_API_URL',
      'SEARCH_API_URL is set and neither EXA_API_KEY nor BRAVE_API_KEY is; set the key of the API that answers there.',
    ],
    [
      values.ALLOW_SETUP_NETWORK === false && (values.EGRESS_ALLOW?.[SETUP_ROLE] ?? []).length > 0,
      'EGRESS_ALLOW',
      'EGRESS_ALLOW names hosts for setup and ALLOW_SETUP_NETWORK is false; leave one of the two out.',
    ],
    [
      values.DEFAULT_AUTO_MERGE === true && values.ALLOW_AUTO_MERGE === false,
      'DEFAULT_AUTO_MERGE',
      'DEFAULT_AUTO_MERGE is true and ALLOW_AUTO_MERGE is false; a default has to lie within the limit.',
    ],
    ...Object.values(BUDGET_LIMIT_VARIABLES).map((limit) => {
      // The two have the same names but for their first word.
      const byDefault = limit.replace('LIMIT', 'DEFAULT') as VariableName;
      const [asked, most] = [Number(values[byDefault] ?? 0), values[limit] ?? Infinity];
      const message = `${byDefault} is ${asked} and ${limit} is ${most}; a default has to lie within the limit.`;
      return [asked > most, byDefault, message] as const;
    }),
    ...[...(values.MODEL_ENDPOINTS?.keys() ?? [])].map((name) => {
      const taken = name === 'acp' ? 'is how external agents are named' : 'is a provider already';
      const message = `MODEL_ENDPOINTS names '${name}', which ${taken}; choose another name.`;
      return [name === 'acp' || PROVIDER_NAMES.includes(name), 'MODEL_ENDPOINTS', message] as const;
    }),
    ...[...(values.MODEL_ENDPOINT_KEYS?.keys() ?? [])].map((name) => {
      const message = `MODEL_ENDPOINT_KEYS has a key for '${name}', which MODEL_ENDPOINTS does not name. Add its address there.`;
      return [values.MODEL_ENDPOINTS?.has(name) !== true, 'MODEL_ENDPOINT_KEYS', message] as const;
    }),
    ...Object.entries(ROLE_VARIABLES).map(([role, name]) => {
      const message = `${name} and DEFAULT_MODELS both name a model for ${role}; leave one of the two out.`;
      return [isSet(name) && values.DEFAULT_MODELS?.has(role) === true, name, message] as const;
    }),
    ...namedModels(values).map(({ variableName, model }) => {
      const allowed = values.ALLOWED_MODELS ?? [model];
      const message = `${variableName} is ${shown(model)}, which is not in ALLOWED_MODELS: ${allowed.join(', ')}.`;
      return [!isAllowed(model, allowed), variableName, message] as const;
    }),
  ];
  const faults = rules.flatMap(([isBroken, path, message]) => (isBroken ? [{ path, message }] : []));
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
function gitHubContradictions(values: Values): readonly Rule[] {
  const isSet = (name: VariableName): boolean =>
    values[name] !== undefined ||
    (name === 'GITHUB_APP_PRIVATE_KEY' && values.GITHUB_APP_PRIVATE_KEY_FILE !== undefined);
  const ofApp = APP_VARIABLES.filter(isSet);
  const [first = '', second = ''] = [
    ...(['GITHUB_TOKEN', 'GITHUB_TOKEN_FILE'] as const).filter(isSet),
    ...(ofApp.length === 0 ? [] : (['GITHUB_APP_ID'] as const)),
  ];
  return [
    ...APP_VARIABLES.map((name): Rule => {
      const message = `${ofApp[0]} is set and ${name} is not; set ${APP_VARIABLES.join(', ')} (or GITHUB_APP_PRIVATE_KEY_FILE), or none of them.`;
      return [ofApp.length > 0 && !isSet(name), name, message];
    }),
    [
      second !== '',
      second,
      `${first} and ${second} are both set, and the server signs in at GitHub in one way; leave one of the two out.`,
    ],
    [
      values.GITHUB_APP_PRIVATE_KEY !== undefined && values.GITHUB_APP_PRIVATE_KEY_FILE !== undefined,
      'GITHUB_APP_PRIVATE_KEY_FILE',
      'GITHUB_APP_PRIVATE_KEY and GITHUB_APP_PRIVATE_KEY_FILE are both set; leave one of the two out.',
    ],
  ];
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
  const key = readNamed('GITHUB_APP_PRIVATE_KEY_FILE', path, faults)?.trim();
  if (key === undefined || isPrivateKey(key)) return key ?? null;
  const { allowed } = SERVER_VARIABLES.GITHUB_APP_PRIVATE_KEY_FILE;
  const message = `GITHUB_APP_PRIVATE_KEY_FILE names ${path}, which holds no private key; allowed is ${allowed}.`;
  faults.push({ path: 'GITHUB_APP_PRIVATE_KEY_FILE', message });
  return null;
}

/** Content of the file that a variable names; `undefined` with a fault where it cannot be read. */
function readNamed(name: VariableName, path: string, faults: Fault[]): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const { allowed } = SERVER_VARIABLES[name];
    faults.push({
      path: name,
      message: `${name} names ${path}, which cannot be read (${why}); allowed is ${allowed}.`,
    });
    return undefined;
  }
}

/** Result of `parse`. `null` if it refuses the file that the variable names; each of its faults is then added to `faults`. */
function parsed<Value>(name: VariableName, faults: Fault[], parse: () => Value): Value | null {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    faults.push(...error.faults.map(({ message }) => ({ path: name, message: `${name}: ${message}` })));
    return null;
  }
}

function isPrivateKey(value: string): boolean {
  try {
    return createPrivateKey(value).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

function readScript(path: string, known: KnownRoles, faults: Fault[]): Script | Cassette | null {
  const yaml = readNamed('AUTONOMOUS_SCRIPT', path, faults);
  if (yaml === undefined) return null;
  return parsed('AUTONOMOUS_SCRIPT', faults, () =>
    isCassette(yaml) ? parseCassette(yaml, path) : parseScript(yaml, path, known),
  );
}

function readMcp(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  known: KnownRoles,
  faults: Fault[],
): McpServers | null {
  const json = readNamed('AUTONOMOUS_MCP', path, faults);
  return json === undefined ? null : parsed('AUTONOMOUS_MCP', faults, () => parseMcpServers(json, path, env, known));
}

function readAgents(
  path: string,
  context: Omit<AgentsFileContext, 'folder'>,
  faults: Fault[],
): readonly AcpAgentSettings[] {
  const json = readNamed('AUTONOMOUS_AGENTS', path, faults);
  if (json === undefined) return [];
  const read = parseAcpAgents(json, { ...context, folder: dirname(path) });
  if (read.ok) return read.agents;
  for (const fault of read.faults) {
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
  const declared = known.flatMap((each) => each.roles);
  const leads = new Map(
    declared.flatMap(({ role, configuredAs }) => (configuredAs ? [[role.name, configuredAs] as const] : [])),
  );
  const roles = new Set(declared.filter(({ configuredAs }) => configuredAs === undefined).map(({ role }) => role.name));
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
        message:
          what === 'role' && leads.has(name)
            ? `${path} names the role ${shown(name)}, which goes with ${leads.get(name)}; name that one alone.`
            : `${path} names the ${what} ${shown(name)}, which no workflow of this server has; allowed are ${[...allowed].join(', ')}.`,
      }));
  return [
    ...faultsOf('ALLOW_AUTO_STAGES', 'trust mode', runLimits.autoStages ?? [], modes),
    ...faultsOf('EGRESS_ALLOW', 'role', Object.keys(egress), new Set([...roles, SETUP_ROLE])),
    ...faultsOf('DEFAULT_MODELS', 'role', Object.keys(modelDefaults.named), roles),
  ];
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
