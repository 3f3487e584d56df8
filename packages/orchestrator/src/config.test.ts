import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Fault, InvalidRequest } from '@autonomous/shared';
import { afterAll, describe, expect, it } from 'vitest';
import { readServerConfig, SERVER_VARIABLES, type ServerConfig, unknownNames } from './config.ts';
import { createModels } from './models/registry.ts';
import { resolveRunConfig } from './run-config/run-config.ts';
import { build } from './workflows/build/index.ts';
import { settingsOf } from './workflows/workflow-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'autonomous-config-'));
afterAll(() => rmSync(folder, { recursive: true }));
const folders = { home: '/home/somebody', working: folder };

const read = (env: Record<string, string>): ServerConfig => readServerConfig(env, folders);
const faultsOf = (env: Record<string, string>): readonly Fault[] => {
  try {
    read(env);
  } catch (error) {
    if (error instanceof InvalidRequest) return error.faults;
    throw error;
  }
  return [];
};

describe('without any variable', () => {
  it('is a server on loopback with its data under the home folder and nothing that costs money', () => {
    expect(read({})).toMatchObject({
      host: '127.0.0.1',
      port: 3001,
      dataFolder: '/home/somebody/.local/share/autonomous',
      databasePath: '/home/somebody/.local/share/autonomous/orchestrator.db',
      token: null,
      github: {
        signIn: null,
        apiUrl: 'https://api.github.com',
        repository: null,
        defaultBranch: null,
        webhookSecret: null,
      },
      runDefaults: { maxClarifications: 3, git: { autoMerge: false } },
      runLimits: { autoStages: null, autoMerge: true, models: null },
      maxConcurrentRunsPerUser: 5,
      archiveAfterDays: 30,
      branchesAfterDays: 30,
      mcpServers: [],
      recordFolder: null,
      contextTokens: 60_000,
      contextTarget: null,
      modelTimeouts: { firstChunkMs: 300_000, idleMs: 180_000 },
      modelPatienceMs: 600_000,
      resumeProbeMs: 15_000,
      forgePollMs: 30_000,
      reviewPaths: [],
      recordInMirrorOnly: [],
      autoRetry: true,
      driftDetection: null,
      allowSetupNetwork: true,
      setupTimeoutMs: 40 * 60_000,
      egress: {},
      web: { hosts: { everyPublic: true, entries: [] }, search: null },
      sandboxLimits: { memoryBytes: 4_096 * 2 ** 20, processes: 512, diskBytes: 10_240 * 2 ** 20 },
      agents: [],
      logLevel: 'info',
      secrets: [],
    });
  });

  it('keeps the documented models as names, and they are reported as not usable', () => {
    const config = read({});
    expect(config.runDefaults.modelRouting).toEqual({
      planner: 'deepseek-reasoner',
      implementer: 'claude-3-5-sonnet-20241022',
      validator: 'gpt-4o-mini',
      'phase-implementer': 'claude-3-5-sonnet-20241022',
      'phase-reviewer': 'gpt-4o-mini',
      ideator: 'deepseek-reasoner',
      specifier: 'deepseek-reasoner',
      decomposer: 'deepseek-reasoner',
      'item-reviewer': 'gpt-4o-mini',
      researcher: 'gpt-4o-mini',
      'repo-analyst': 'gpt-4o-mini',
      synthesiser: 'deepseek-reasoner',
      'novelty-judge': 'gpt-4o-mini',
      'report-repairer': 'gpt-4o-mini',
      'plan-architect': 'deepseek-reasoner',
      'plan-critic': 'deepseek-reasoner',
      'feature-lister': 'deepseek-reasoner',
    });
    const models = createModels(config.models).list({ ...config.runDefaults.modelRouting });
    const planner = models.find((model) => model.defaultFor.includes('planner'));
    expect(planner).toMatchObject({
      id: 'deepseek:deepseek-reasoner',
      usable: false,
      reason: expect.stringContaining('DEEPSEEK_API_KEY'),
    });
  });

  it('follows XDG_DATA_HOME where it is absolute, and takes an empty variable for none', () => {
    expect(read({ XDG_DATA_HOME: '/xdg' }).dataFolder).toBe('/xdg/autonomous');
    expect(read({ XDG_DATA_HOME: 'relative' }).dataFolder).toBe('/home/somebody/.local/share/autonomous');
    expect(read(Object.fromEntries(Object.keys(SERVER_VARIABLES).map((name) => [name, ' '])))).toEqual(read({}));
  });
});

it('takes every variable', () => {
  const script = join(folder, 'demo.yaml');
  writeFileSync(script, 'name: demo\nroles: {}\n');
  const headers = { authorization: 'Bearer ${DEEPSEEK_API_KEY}' };
  const mcp = { servers: { docs: { url: 'http://docs.acme.test/mcp', headers, roles: ['planner'] } } };
  writeFileSync(join(folder, 'servers.json'), JSON.stringify(mcp));
  writeFileSync(
    join(folder, 'agents.json'),
    JSON.stringify({ claude: { command: 'claude-agent-acp', env: { KEY: { from: 'DEEPSEEK_API_KEY' } } } }),
  );
  const env: Record<keyof typeof SERVER_VARIABLES, string> = {
    ORCHESTRATOR_HOST: '0.0.0.0',
    ORCHESTRATOR_PORT: '8080',
    ORCHESTRATOR_PUBLIC_URL: 'https://autonomous.example.com',
    ORCHESTRATOR_ALLOWED_HOSTS: 'health.example.com, other:8080',
    AUTONOMOUS_TOKEN: 'a-token-of-our-own',
    AUTONOMOUS_DATA: '~/data',
    DATABASE_URL: 'sqlite:./db/orchestrator.db',
    LOG_LEVEL: 'debug',
    GITHUB_TOKEN: 'ghp_canary',
    // The other ways to sign in exclude this one.
    GITHUB_TOKEN_FILE: '',
    GITHUB_APP_ID: '',
    GITHUB_APP_INSTALLATION_ID: '',
    GITHUB_APP_PRIVATE_KEY: '',
    GITHUB_APP_PRIVATE_KEY_FILE: '',
    GITHUB_API_URL: 'https://github.acme.test/api/v3/',
    GITHUB_REPO_OWNER: 'acme',
    GITHUB_REPO_NAME: 'shop.js',
    GITHUB_DEFAULT_BRANCH: 'develop',
    GITHUB_WEBHOOK_SECRET: 'webhook-secret-canary',
    GITHUB_ISSUE_LABEL: 'none',
    COMMIT_AUTHOR_NAME: 'Build Bot',
    COMMIT_AUTHOR_EMAIL: 'bot@acme.test',
    ANTHROPIC_API_KEY: 'anthropic-canary',
    OPENAI_API_KEY: 'openai-canary',
    DEEPSEEK_API_KEY: 'deepseek-canary',
    OPENAI_COMPATIBLE_API_KEY: 'compatible-canary',
    ANTHROPIC_BASE_URL: 'https://gateway.acme.test/anthropic',
    OPENAI_BASE_URL: 'https://gateway.acme.test/openai',
    DEEPSEEK_BASE_URL: 'https://gateway.acme.test/deepseek',
    OPENAI_COMPATIBLE_BASE_URL: 'http://ollama:11434/v1',
    MODEL_ENDPOINTS: 'vllm=http://vllm:8000/v1, openrouter=https://openrouter.ai/api/v1',
    MODEL_ENDPOINT_KEYS: 'openrouter=endpoint-canary=',
    MODEL_PRICES: 'openai-compatible:llama3:8b=0/0, vllm:qwen=0.5/1.5',
    MODEL_WINDOWS: 'ollama:qwen3:8b=32768, openai:gpt-4o=100000',
    CONTEXT_TARGET: '50000',
    AUTONOMOUS_SCRIPT: 'demo.yaml',
    AUTONOMOUS_RECORD: 'cassettes',
    AUTONOMOUS_MCP: 'servers.json',
    AUTONOMOUS_AGENTS: './agents.json',
    DEFAULT_MODELS: 'researcher=openai:gpt-4o',
    DEFAULT_PLANNER_MODEL: 'openai:gpt-4o',
    DEFAULT_IMPLEMENTER_MODEL: 'claude-sonnet-4-5',
    DEFAULT_VALIDATOR_MODEL: 'openai-compatible:llama3:8b',
    ALLOWED_MODELS: 'openai:gpt-4o, anthropic:claude-sonnet-4-5,openai-compatible:llama3:8b,',
    MAX_CONCURRENT_RUNS_PER_USER: '2',
    ARCHIVE_AFTER_DAYS: '7',
    BRANCHES_AFTER_DAYS: '14',
    BLOCKED_LIMIT_SECONDS: '30',
    CONTEXT_TOKENS: '30000',
    MODEL_FIRST_TOKEN_SECONDS: '900',
    MODEL_IDLE_SECONDS: '600',
    MODEL_PATIENCE_SECONDS: '30',
    RESUME_PROBE_SECONDS: '60',
    FORGE_POLL_SECONDS: '10',
    AUTONOMOUS_WORKFLOWS: './own.ts, some-package,~/more/own.js',
    DEFAULT_MAX_CLARIFICATIONS: '0',
    DEFAULT_AUTO_MERGE: 'true',
    DEFAULT_MAX_COST_USD: '2.5',
    DEFAULT_MAX_TOKENS: '500000',
    DEFAULT_MAX_TOOL_CALLS: '100',
    DEFAULT_MAX_TREE_COST_USD: '5',
    DEFAULT_MAX_TREE_TOKENS: '900000',
    DEFAULT_MAX_TREE_TOOL_CALLS: '300',
    LIMIT_MAX_COST_USD: '10',
    LIMIT_MAX_TOKENS: '1000000',
    LIMIT_MAX_TOOL_CALLS: '100',
    LIMIT_MAX_TREE_COST_USD: '30',
    LIMIT_MAX_TREE_TOKENS: '3000000',
    LIMIT_MAX_TREE_TOOL_CALLS: '300',
    ENABLE_AUTO_RETRY: 'false',
    REVIEW_PATHS: 'db/,*.tf',
    RECORD_IN_MIRROR_ONLY: 'shop, https://example.com/notes.git',
    ENABLE_VALIDATION_DRIFT_DETECTION: '0',
    ALLOW_AUTO_MERGE: '1',
    ALLOW_AUTO_STAGES: 'implementation, fixes',
    ALLOW_SETUP_NETWORK: 'true',
    SETUP_TIMEOUT_MINUTES: '5',
    SANDBOX_PROGRAMS: '~/tools, /opt/jdk',
    SANDBOX_PROVIDER: 'e2b',
    E2B_API_KEY: 'e2b-canary',
    E2B_TEMPLATE: 'our-team/node:24',
    E2B_API_URL: 'https://api.e2b.acme.test',
    E2B_SANDBOX_URL: 'https://sandbox.e2b.acme.test',
    E2B_TIMEOUT_MINUTES: '30',
    WEB_ALLOW: '*, internal:wiki.acme.test:8080',
    EXA_API_KEY: 'exa-canary',
    // The server searches with one API.
    BRAVE_API_KEY: '',
    SEARCH_API_URL: 'https://search.acme.test',
    EGRESS_ALLOW: 'setup=npm.acme.test, internal:10.0.0.5:4873; implementer=api.acme.test:8443',
    SANDBOX_MEMORY_MB: '2048',
    SANDBOX_PROCESSES: '256',
    SANDBOX_DISK_MB: '1024',
    SETUP_CACHE_MB: '512',
  };
  expect(read(env)).toEqual({
    host: '0.0.0.0',
    port: 8080,
    publicUrl: 'https://autonomous.example.com',
    allowedHosts: ['health.example.com', 'other:8080'],
    dataFolder: '/home/somebody/data',
    databasePath: join(folder, 'db/orchestrator.db'),
    token: 'a-token-of-our-own',
    github: {
      signIn: { kind: 'token', token: 'ghp_canary' },
      apiUrl: 'https://github.acme.test/api/v3',
      repository: { owner: 'acme', name: 'shop.js' },
      defaultBranch: 'develop',
      webhookSecret: 'webhook-secret-canary',
      issueLabel: null,
    },
    models: {
      keys: {
        anthropic: 'anthropic-canary',
        openai: 'openai-canary',
        deepseek: 'deepseek-canary',
        openaiCompatible: 'compatible-canary',
      },
      baseUrls: {
        anthropic: 'https://gateway.acme.test/anthropic',
        openai: 'https://gateway.acme.test/openai',
        deepseek: 'https://gateway.acme.test/deepseek',
        openaiCompatible: 'http://ollama:11434/v1',
      },
      endpoints: [
        { name: 'vllm', baseUrl: 'http://vllm:8000/v1', apiKey: undefined },
        { name: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1', apiKey: 'endpoint-canary=' },
      ],
      script: { name: 'demo', roles: {} },
      windows: new Map([
        ['ollama:qwen3:8b', 32_768],
        ['openai:gpt-4o', 100_000],
      ]),
      agents: [{ name: 'claude', unusable: null }],
    },
    mcpServers: [
      {
        name: 'docs',
        reach: { kind: 'http', url: 'http://docs.acme.test/mcp', headers: { authorization: 'Bearer deepseek-canary' } },
        roles: ['planner'],
        tools: null,
        timeoutMs: 60_000,
      },
    ],
    recordFolder: join(folder, 'cassettes'),
    prices: new Map([
      ['openai-compatible:llama3:8b', { inputUsdPerMillion: 0, outputUsdPerMillion: 0 }],
      ['vllm:qwen', { inputUsdPerMillion: 0.5, outputUsdPerMillion: 1.5 }],
    ]),
    agents: [
      {
        name: 'claude',
        command: 'claude-agent-acp',
        args: [],
        env: { KEY: 'deepseek-canary' },
        mounts: [],
        permissions: { default: 'allow' },
        network: [],
        authMethod: null,
        secrets: ['deepseek-canary'],
        unusable: null,
      },
    ],
    runDefaults: {
      modelRouting: {
        planner: 'openai:gpt-4o',
        implementer: 'claude-sonnet-4-5',
        validator: 'openai-compatible:llama3:8b',
        'phase-implementer': 'claude-sonnet-4-5',
        'phase-reviewer': 'openai-compatible:llama3:8b',
        ideator: 'openai:gpt-4o',
        specifier: 'openai:gpt-4o',
        decomposer: 'openai:gpt-4o',
        'item-reviewer': 'openai-compatible:llama3:8b',
        researcher: 'openai:gpt-4o',
        'repo-analyst': 'openai-compatible:llama3:8b',
        synthesiser: 'openai:gpt-4o',
        'novelty-judge': 'openai-compatible:llama3:8b',
        'report-repairer': 'openai-compatible:llama3:8b',
        'plan-architect': 'openai:gpt-4o',
        'plan-critic': 'openai:gpt-4o',
        'feature-lister': 'openai:gpt-4o',
      },
      maxClarifications: 0,
      git: { autoMerge: true },
      maxCostUsd: 2.5,
      maxTokens: 500_000,
      maxToolCalls: 100,
      maxTreeCostUsd: 5,
      maxTreeTokens: 900_000,
      maxTreeToolCalls: 300,
    },
    runLimits: {
      autoStages: ['implementation', 'fixes'],
      autoMerge: true,
      models: ['openai:gpt-4o', 'anthropic:claude-sonnet-4-5', 'openai-compatible:llama3:8b'],
      egress: {
        implementer: ['api.acme.test:8443'],
        setup: ['npm.acme.test', 'internal:10.0.0.5:4873'],
      },
      budgets: {
        maxCostUsd: 10,
        maxTokens: 1_000_000,
        maxToolCalls: 100,
        maxTreeCostUsd: 30,
        maxTreeTokens: 3_000_000,
        maxTreeToolCalls: 300,
      },
    },
    modelDefaults: {
      named: {
        planner: 'openai:gpt-4o',
        implementer: 'claude-sonnet-4-5',
        validator: 'openai-compatible:llama3:8b',
        researcher: 'openai:gpt-4o',
      },
      scripted: null,
      keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'DEEPSEEK_API_KEY'],
      allowed: ['openai:gpt-4o', 'anthropic:claude-sonnet-4-5', 'openai-compatible:llama3:8b'],
    },
    maxConcurrentRunsPerUser: 2,
    archiveAfterDays: 7,
    branchesAfterDays: 14,
    blockedLimitMs: 30_000,
    workflows: { names: ['./own.ts', 'some-package', '/home/somebody/more/own.js'], folder },
    contextTokens: 30_000,
    contextTarget: 50_000,
    modelTimeouts: { firstChunkMs: 900_000, idleMs: 600_000 },
    modelPatienceMs: 30_000,
    resumeProbeMs: 60_000,
    forgePollMs: 10_000,
    reviewPaths: ['db/', '*.tf'],
    recordInMirrorOnly: ['shop', 'https://example.com/notes.git'],
    autoRetry: false,
    driftDetection: false,
    allowSetupNetwork: true,
    setupTimeoutMs: 5 * 60_000,
    sandbox: {
      provider: 'e2b',
      e2b: {
        apiKey: 'e2b-canary',
        template: 'our-team/node:24',
        apiUrl: 'https://api.e2b.acme.test',
        sandboxUrl: 'https://sandbox.e2b.acme.test',
        timeoutMinutes: 30,
      },
    },
    egress: { setup: ['npm.acme.test', 'internal:10.0.0.5:4873'], implementer: ['api.acme.test:8443'] },
    web: {
      hosts: { everyPublic: true, entries: [{ host: 'wiki.acme.test', ports: [8080], internal: true }] },
      search: { api: 'exa', key: 'exa-canary', baseUrl: 'https://search.acme.test' },
    },
    sandboxLimits: { memoryBytes: 2_048 * 2 ** 20, processes: 256, diskBytes: 1_024 * 2 ** 20 },
    dependencyCacheBytes: 512 * 2 ** 20,
    logLevel: 'debug',
    commitAuthor: { name: 'Build Bot', email: 'bot@acme.test' },
    secrets: [
      'a-token-of-our-own',
      'ghp_canary',
      'webhook-secret-canary',
      'anthropic-canary',
      'openai-canary',
      'deepseek-canary',
      'compatible-canary',
      'endpoint-canary=',
      'e2b-canary',
      'exa-canary',
      'deepseek-canary',
      'deepseek-canary',
    ],
  });
});

describe('faults', () => {
  it('come all at once, each with its variable, its value and what is allowed', () => {
    const env = {
      ORCHESTRATOR_PORT: '70000',
      DATABASE_URL: 'postgres://app:hunter2-canary@db/x',
      ENABLE_AUTO_RETRY: 'maybe',
      ALLOW_AUTO_STAGES: 'planning,deploy',
      GITHUB_REPO_OWNER: 'acme',
      LOG_LEVEL: 'loud',
    };
    const faults = faultsOf(env);
    expect(faults.map((fault) => fault.path)).toEqual([
      'ORCHESTRATOR_PORT',
      'DATABASE_URL',
      'LOG_LEVEL',
      'ENABLE_AUTO_RETRY',
      'GITHUB_REPO_NAME',
      'ALLOW_AUTO_STAGES',
    ]);
    expect(faults[0]?.message).toBe('ORCHESTRATOR_PORT is "70000"; allowed is a whole number from 0 to 65535.');
    expect(faults[3]?.message).toBe('ENABLE_AUTO_RETRY is "maybe"; allowed is true or false.');
    expect(() => read(env)).toThrow(
      /^The configuration has 6 faults:\n {2}ORCHESTRATOR_PORT is[\s\S]*GITHUB_REPO_NAME is not; set both or none\.\n {2}ALLOW_AUTO_STAGES names the trust mode "deploy", which no workflow of this server has; allowed are planning, implementation, fixes\.$/,
    );
  });

  it('name roles that no workflow has, and roles that are named twice', () => {
    expect(faultsOf({ DEFAULT_MODELS: 'planer=openai:x' })).toEqual([
      { path: 'DEFAULT_MODELS', message: expect.stringContaining('allowed are planner, implementer, validator') },
    ]);
    expect(faultsOf({ DEFAULT_MODELS: 'plan-reply=openai:x' })).toMatchObject([
      { message: 'DEFAULT_MODELS names the role "plan-reply", which goes with planner; name that one alone.' },
    ]);
    expect(faultsOf({ DEFAULT_MODELS: 'planner=openai:x', DEFAULT_PLANNER_MODEL: 'openai:y' })).toEqual([
      { path: 'DEFAULT_PLANNER_MODEL', message: expect.stringContaining('leave one of the two out') },
    ]);
    // Custom workflows have roles that are not known yet.
    expect(faultsOf({ DEFAULT_MODELS: 'researcher=openai:x', AUTONOMOUS_WORKFLOWS: './own.ts' })).toEqual([]);
    const config = read({ DEFAULT_MODELS: 'researcher=openai:x', AUTONOMOUS_WORKFLOWS: './own.ts' });
    expect(unknownNames(config, [build]).map(({ path }) => path)).toEqual(['DEFAULT_MODELS']);
    expect(read({ DEFAULT_MODELS: 'planner=openai:x' }).runDefaults.modelRouting['planner']).toBe('openai:x');
  });

  it('name the key that the chosen sandbox needs', () => {
    expect(faultsOf({ SANDBOX_PROVIDER: 'e2b' })).toEqual([
      { path: 'E2B_API_KEY', message: expect.stringContaining('SANDBOX_PROVIDER is e2b and E2B_API_KEY is not set') },
    ]);
    expect(faultsOf({ SANDBOX_PROVIDER: 'none' })[0]?.message).toContain('allowed is bubblewrap or e2b');
    expect(read({ E2B_API_KEY: 'e2b_0123' }).sandbox).toEqual({ provider: 'bubblewrap' });
  });

  it('never show a secret', () => {
    for (const [name, { secret }] of Object.entries(SERVER_VARIABLES)) {
      if (!secret) continue;
      const faults = faultsOf({ [name]: 'can ary-0123456789\nx', OPENAI_COMPATIBLE_BASE_URL: 'http://x' });
      expect(faults).toEqual([{ path: name, message: expect.stringContaining('not shown') }]);
    }
    const faults = faultsOf({
      DATABASE_URL: 'postgres://app:hunter2-canary@db/x',
      OPENAI_BASE_URL: 'https://user:hunter2-canary@host/v1',
    });
    expect(faults).toHaveLength(2);
    expect(JSON.stringify(faults)).not.toContain('canary');
  });

  it.each([
    ['ORCHESTRATOR_PORT', ['-1', '1.5', '0x50', 'abc', '99999999999']],
    ['ORCHESTRATOR_HOST', ['a b', 'http://localhost', '-x']],
    ['ORCHESTRATOR_PUBLIC_URL', ['https://proxy.acme.test/agents', 'https://proxy.acme.test/agents/', 'acme.test']],
    ['AUTONOMOUS_TOKEN', ['short']],
    ['DATABASE_URL', ['./x.db', 'sqlite:', 'sqlite::memory:', 'sqlite://host/x.db', 'sqlite:x.db?mode=ro']],
    ['GITHUB_REPO_NAME', ['a/b', '..', 'a b']],
    [
      'GITHUB_API_URL',
      ['github.example.com', 'https://user:pass@github.example.com/api/v3', 'ssh://github.example.com'],
    ],
    ['GITHUB_APP_ID', ['0', 'Iv1.abc']],
    ['GITHUB_APP_PRIVATE_KEY', ['-----BEGIN RSA PRIVATE KEY-----', 'SHA256:abc']],
    ['GITHUB_WEBHOOK_SECRET', ['fifteen-letters', 'with spaces in between']],
    ['GITHUB_ISSUE_LABEL', ['a,b', 'x'.repeat(51)]],
    ['GITHUB_DEFAULT_BRANCH', ['--force', 'a b', 'refs/heads/main']],
    ['COMMIT_AUTHOR_NAME', ['A <a@b>', 'a\nb']],
    ['OPENAI_BASE_URL', ['localhost:1234', 'ftp://x', 'https://x?key=1', 'file:///etc/passwd']],
    ['MAX_CONCURRENT_RUNS_PER_USER', ['0', '1001']],
    ['ARCHIVE_AFTER_DAYS', ['-1', '1.5']],
    ['BRANCHES_AFTER_DAYS', ['-1', '1.5']],
    ['BLOCKED_LIMIT_SECONDS', ['4', '1.5']],
    ['CONTEXT_TOKENS', ['100', 'many']],
    ['MODEL_FIRST_TOKEN_SECONDS', ['0', '-1', '5m', '86401']],
    ['MODEL_IDLE_SECONDS', ['0', '2.5', '86401']],
    ['MODEL_PATIENCE_SECONDS', ['-1', '2.5', '86401']],
    ['RESUME_PROBE_SECONDS', ['0', '2.5', '3601']],
    ['FORGE_POLL_SECONDS', ['0', '2.5', '3601']],
    ['DEFAULT_MAX_CLARIFICATIONS', ['101']],
    ['DEFAULT_MAX_COST_USD', ['0', '-1', '1e3', '$5', '1,5']],
    ['LIMIT_MAX_TOKENS', ['0', '1.5']],
    ['MODEL_ENDPOINTS', ['http://x/v1', 'a=ftp://x', 'A B=http://x', 'a=http://x?key=1', 'openai=http://x', ',']],
    ['MODEL_PRICES', ['a:b', 'a:b=1', 'a:b=-1/1', 'b=1/1', 'a:b=1/x']],
    ['MODEL_WINDOWS', ['a:b', 'a:b=999', 'a:b=32k', 'b=32768', 'a:b=-1', 'a:b=1e5']],
    ['CONTEXT_TARGET', ['7999', 'many']],
    ['ALLOWED_MODELS', [',', 'a b']],
    ['ALLOW_AUTO_STAGES', ['all', 'none,planning']],
    ['DEFAULT_PLANNER_MODEL', ['a b']],
    [
      'EGRESS_ALLOW',
      [
        'npm.acme.test',
        'setup=*.acme.test',
        'setup=ACME.test',
        'setup=acme.test.',
        'setup=http://acme.test',
        'setup=a.test;setup=b.test',
        'somebody=acme.test',
        '{"setup": "acme.test"}',
        '{"setup": [1]}',
        '{',
      ],
    ],
    ['SANDBOX_PROCESSES', ['1']],
  ])('refuse wrong values of %s', (name, values) => {
    const complete: Record<string, string> = name === 'GITHUB_REPO_NAME' ? { GITHUB_REPO_OWNER: 'acme' } : {};
    for (const value of values)
      expect(faultsOf({ ...complete, [name]: value })[0], value).toMatchObject({ path: name });
  });

  it('refuse to listen where others can reach it without a token', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.com', '127.example.com']) {
      expect(faultsOf({ ORCHESTRATOR_HOST: host })).toEqual([
        { path: 'ORCHESTRATOR_HOST', message: expect.stringContaining('AUTONOMOUS_TOKEN') },
      ]);
      expect(faultsOf({ ORCHESTRATOR_HOST: host, AUTONOMOUS_TOKEN: 'a-token-of-our-own' })).toEqual([]);
    }
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost'])
      expect(faultsOf({ ORCHESTRATOR_HOST: host })).toEqual([]);
  });

  it('name what contradicts itself', () => {
    expect(faultsOf({ EGRESS_ALLOW: 'setup=npm.acme.test', ALLOW_SETUP_NETWORK: 'false' })).toMatchObject([
      { path: 'EGRESS_ALLOW', message: expect.stringContaining('ALLOW_SETUP_NETWORK') },
    ]);
    expect(faultsOf({ DEFAULT_AUTO_MERGE: 'true', ALLOW_AUTO_MERGE: 'false' })).toMatchObject([
      { path: 'DEFAULT_AUTO_MERGE' },
    ]);
    expect(faultsOf({ DEFAULT_MAX_COST_USD: '5', LIMIT_MAX_COST_USD: '4.99' })).toMatchObject([
      { path: 'DEFAULT_MAX_COST_USD' },
    ]);
    expect(faultsOf({ MODEL_ENDPOINTS: 'a=http://x', MODEL_ENDPOINT_KEYS: 'b=key' })).toMatchObject([
      { path: 'MODEL_ENDPOINT_KEYS', message: expect.not.stringContaining("key'") },
    ]);
    expect(faultsOf({ MODEL_ENDPOINTS: 'acp=http://localhost:11434/v1' })).toEqual([
      { path: 'MODEL_ENDPOINTS', message: expect.stringContaining("'acp', which is how external agents are named") },
    ]);
    expect(faultsOf({ EXA_API_KEY: 'x', BRAVE_API_KEY: 'y' })).toMatchObject([{ path: 'BRAVE_API_KEY' }]);
    expect(faultsOf({ SEARCH_API_URL: 'https://search.acme.test' })).toMatchObject([{ path: 'SEARCH_API_URL' }]);
    expect(faultsOf({ OPENAI_COMPATIBLE_API_KEY: 'x' })).toMatchObject([{ path: 'OPENAI_COMPATIBLE_BASE_URL' }]);
    expect(faultsOf({ DEFAULT_PLANNER_MODEL: 'a:x', ALLOWED_MODELS: 'a:y' })).toMatchObject([
      { path: 'DEFAULT_PLANNER_MODEL' },
    ]);
  });

  it('tell of a file of agents that cannot be read, and of everything that is wrong in it', () => {
    expect(faultsOf({ AUTONOMOUS_AGENTS: 'missing.json' })).toEqual([
      { path: 'AUTONOMOUS_AGENTS', message: expect.stringContaining('ENOENT') },
    ]);
    writeFileSync(join(folder, 'bad.json'), JSON.stringify({ one: { command: '' }, two: { command: 'x', more: 1 } }));
    expect(faultsOf({ AUTONOMOUS_AGENTS: 'bad.json', ORCHESTRATOR_PORT: 'x' }).map(({ path }) => path)).toEqual([
      'ORCHESTRATOR_PORT',
      'AUTONOMOUS_AGENTS',
      'AUTONOMOUS_AGENTS',
    ]);
  });

  it('tell of a script that cannot be read or played', () => {
    writeFileSync(join(folder, 'bad.yaml'), 'name: Not A Name\nroles: 1\n');
    expect(faultsOf({ AUTONOMOUS_SCRIPT: 'missing.yaml' })).toEqual([
      { path: 'AUTONOMOUS_SCRIPT', message: expect.stringContaining('ENOENT') },
    ]);
    const faults = faultsOf({ AUTONOMOUS_SCRIPT: 'bad.yaml', ORCHESTRATOR_PORT: 'x' });
    expect(faults.map((fault) => fault.path)).toEqual(['ORCHESTRATOR_PORT', 'AUTONOMOUS_SCRIPT', 'AUTONOMOUS_SCRIPT']);
  });
});

describe('the sign-in at GitHub', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const key = privateKey.trim();
  const ofApp = { GITHUB_APP_ID: '7', GITHUB_APP_INSTALLATION_ID: '42' };

  it('is a token, a file with one, or the installation of an App', () => {
    expect(read({ GITHUB_TOKEN: 'ghp_1' }).github.signIn).toEqual({ kind: 'token', token: 'ghp_1' });
    const file = join(folder, 'github-token');
    expect(read({ GITHUB_TOKEN_FILE: 'github-token' }).github.signIn).toEqual({ kind: 'tokenFile', file });
    writeFileSync(join(folder, 'app.pem'), privateKey);
    for (const each of [
      { GITHUB_APP_PRIVATE_KEY: key },
      { GITHUB_APP_PRIVATE_KEY: key.replaceAll('\n', String.raw`\n`) },
      { GITHUB_APP_PRIVATE_KEY_FILE: 'app.pem' },
    ]) {
      const config = read({ ...ofApp, ...each });
      expect(config.github.signIn).toEqual({ kind: 'app', appId: 7, privateKey: key, installationId: 42 });
      expect(config.secrets).toContain(key);
    }
  });

  it('is one of them and all of it', () => {
    const paths = (env: Record<string, string>): readonly string[] => faultsOf(env).map(({ path }) => path);
    expect(paths({ GITHUB_TOKEN: 'ghp_1', GITHUB_TOKEN_FILE: 'x' })).toEqual(['GITHUB_TOKEN_FILE']);
    expect(paths({ GITHUB_TOKEN: 'ghp_1', ...ofApp, GITHUB_APP_PRIVATE_KEY: key })).toEqual(['GITHUB_APP_ID']);
    expect(faultsOf(ofApp)).toEqual([
      {
        path: 'GITHUB_APP_PRIVATE_KEY',
        message:
          'GITHUB_APP_ID is set and GITHUB_APP_PRIVATE_KEY is not; set GITHUB_APP_ID, GITHUB_APP_INSTALLATION_ID, GITHUB_APP_PRIVATE_KEY (or GITHUB_APP_PRIVATE_KEY_FILE), or none of them.',
      },
    ]);
    expect(paths({ GITHUB_APP_PRIVATE_KEY_FILE: 'app.pem' })).toEqual(['GITHUB_APP_ID', 'GITHUB_APP_INSTALLATION_ID']);
    writeFileSync(join(folder, 'no.pem'), 'no key');
    const faults = [
      faultsOf({ ...ofApp, GITHUB_APP_PRIVATE_KEY_FILE: 'missing.pem' }),
      faultsOf({ ...ofApp, GITHUB_APP_PRIVATE_KEY_FILE: 'no.pem' }),
    ].flat();
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringContaining('missing.pem, which cannot be read (ENOENT)'),
      expect.stringContaining('no.pem, which holds no private key'),
    ]);
  });
});

it('takes allow-lists as JSON too, and empty ones', () => {
  expect(read({ EGRESS_ALLOW: '{"setup": [], "planner": ["docs.acme.test"]}' }).egress).toEqual({
    setup: [],
    planner: ['docs.acme.test'],
  });
  expect(read({ EGRESS_ALLOW: 'setup=' }).egress).toEqual({ setup: [] });
});

describe('default models', () => {
  const script = { AUTONOMOUS_SCRIPT: 'play.yaml' };
  writeFileSync(join(folder, 'play.yaml'), 'name: play\nroles: {}\n');
  const documented = {
    planner: 'deepseek-reasoner',
    implementer: 'claude-3-5-sonnet-20241022',
    validator: 'gpt-4o-mini',
    'phase-implementer': 'claude-3-5-sonnet-20241022',
    'phase-reviewer': 'gpt-4o-mini',
    ideator: 'deepseek-reasoner',
    specifier: 'deepseek-reasoner',
    decomposer: 'deepseek-reasoner',
    'item-reviewer': 'gpt-4o-mini',
    researcher: 'gpt-4o-mini',
    'repo-analyst': 'gpt-4o-mini',
    synthesiser: 'deepseek-reasoner',
    'novelty-judge': 'gpt-4o-mini',
    'report-repairer': 'gpt-4o-mini',
    'plan-architect': 'deepseek-reasoner',
    'plan-critic': 'deepseek-reasoner',
    'feature-lister': 'deepseek-reasoner',
  };

  it('are a current model of the one provider that has a key', () => {
    const { modelRouting } = read({ OPENAI_API_KEY: 'k-openai' }).runDefaults;
    expect(new Set(Object.values(modelRouting))).toEqual(new Set(['openai:gpt-6-sol']));
  });

  it('are of each role’s own provider where every provider has a key', () => {
    const keys = { OPENAI_API_KEY: 'k-openai', ANTHROPIC_API_KEY: 'k-anthropic', DEEPSEEK_API_KEY: 'k-deepseek' };
    expect(read(keys).runDefaults.modelRouting).toMatchObject({
      planner: 'deepseek:deepseek-v4-pro',
      implementer: 'anthropic:claude-sonnet-5-5',
      validator: 'openai:gpt-6-sol',
    });
  });

  it('play the script only where there is nothing else to use', () => {
    const modelsOf = (env: Record<string, string>) => read({ ...script, ...env }).runDefaults.modelRouting;
    expect(modelsOf({})).toEqual({
      planner: 'scripted:play',
      implementer: 'scripted:play',
      validator: 'scripted:play',
      'phase-implementer': 'scripted:play',
      'phase-reviewer': 'scripted:play',
      ideator: 'scripted:play',
      specifier: 'scripted:play',
      decomposer: 'scripted:play',
      'item-reviewer': 'scripted:play',
      researcher: 'scripted:play',
      'repo-analyst': 'scripted:play',
      synthesiser: 'scripted:play',
      'novelty-judge': 'scripted:play',
      'report-repairer': 'scripted:play',
      'plan-architect': 'scripted:play',
      'plan-critic': 'scripted:play',
      'feature-lister': 'scripted:play',
    });
    expect(modelsOf({ OPENAI_API_KEY: 'x' })['planner']).toBe('openai:gpt-6-sol');
    expect(modelsOf({ OPENAI_COMPATIBLE_BASE_URL: 'http://localhost:1/v1' })).toEqual(documented);
    expect(modelsOf({ DEFAULT_VALIDATOR_MODEL: 'openai:x' })).toEqual({
      ...documented,
      validator: 'openai:x',
      'phase-reviewer': 'openai:x',
      'item-reviewer': 'openai:x',
      researcher: 'openai:x',
      'repo-analyst': 'openai:x',
      'novelty-judge': 'openai:x',
      'report-repairer': 'openai:x',
    });
  });

  it('are the first allowed one where the documented ones are not allowed', () => {
    expect(read({ ALLOWED_MODELS: 'anthropic:claude-x,openai:gpt-4o-mini' }).runDefaults.modelRouting).toEqual({
      planner: 'anthropic:claude-x',
      implementer: 'anthropic:claude-x',
      validator: 'gpt-4o-mini',
      'phase-implementer': 'anthropic:claude-x',
      'phase-reviewer': 'gpt-4o-mini',
      ideator: 'anthropic:claude-x',
      specifier: 'anthropic:claude-x',
      decomposer: 'anthropic:claude-x',
      'item-reviewer': 'gpt-4o-mini',
      researcher: 'gpt-4o-mini',
      'repo-analyst': 'gpt-4o-mini',
      synthesiser: 'anthropic:claude-x',
      'novelty-judge': 'gpt-4o-mini',
      'report-repairer': 'gpt-4o-mini',
      'plan-architect': 'anthropic:claude-x',
      'plan-critic': 'anthropic:claude-x',
      'feature-lister': 'anthropic:claude-x',
    });
  });

  it('reach the run through the server policy', () => {
    const { runDefaults, runLimits } = read({ ...script, ALLOW_AUTO_STAGES: 'none', DEFAULT_MAX_CLARIFICATIONS: '7' });
    const { config } = resolveRunConfig({
      settings: settingsOf(build, (role) => runDefaults.modelRouting[role.role.name] ?? ''),
      server: { defaults: runDefaults, limits: runLimits },
      project: null,
      request: {},
    });
    expect(config).toMatchObject({
      trustMode: { planning: 'manual', implementation: 'manual', fixes: 'manual' },
      maxClarifications: 7,
      modelRouting: { planner: 'scripted:play' },
    });
  });
});

it('reads folders of programs for bubblewrap, from the home folder where they begin with ~/', () => {
  expect(readServerConfig({ SANDBOX_PROGRAMS: '~/tools,/opt/jdk' }, { home: '/home/ada' }).sandbox).toEqual({
    provider: 'bubblewrap',
    programs: ['/home/ada/tools', '/opt/jdk'],
  });
  expect(faultsOf({ SANDBOX_PROGRAMS: 'tools' })).toMatchObject([{ path: 'SANDBOX_PROGRAMS' }]);
});

describe('.env.example', () => {
  const example = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8');
  const lines = [...example.matchAll(/^#?([A-Z][A-Z0-9_]*)=(.*)$/gm)];

  it('names every variable that the server reads, each once, and no other', () => {
    expect(new Set(lines.map((line) => line[1]))).toEqual(new Set(Object.keys(SERVER_VARIABLES)));
    expect(lines).toHaveLength(Object.keys(SERVER_VARIABLES).length);
  });

  it('shows the default of each variable that has one', () => {
    const defaults = lines.flatMap(([, name = '', shown = '']) => {
      const { schema, place } = SERVER_VARIABLES[name as keyof typeof SERVER_VARIABLES];
      const isPlain = ['string', 'number', 'boolean'].includes(typeof place?.otherwise);
      return isPlain ? [{ name, shown: schema.parse(shown), otherwise: place?.otherwise }] : [];
    });
    expect(defaults.length).toBeGreaterThan(20);
    expect(defaults).toEqual(defaults.map(({ name, otherwise }) => ({ name, shown: otherwise, otherwise })));
  });

  it('holds values that the server takes, and none that is in force', () => {
    expect(example).not.toMatch(/^[^#\n]/m);
    writeFileSync(join(folder, 'mcp.json'), '{"servers": {}}');
    const env = Object.fromEntries(lines.map((line) => [line[1] ?? '', line[2] ?? '']));
    const { ALLOWED_MODELS: _, ...rest } = env;
    expect(faultsOf(rest)).toEqual([]);
  });
});
