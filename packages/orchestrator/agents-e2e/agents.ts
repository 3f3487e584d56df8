/** The agents that are played with: how each is configured, and what its own tools are called. */
import path from 'node:path';

export interface AgentUnderTest {
  /** Its entry in the file of `AUTONOMOUS_AGENTS`, without mounts. */
  readonly settings: (modelUrl: string) => object;
  /** Absent for agents that have no hooks. */
  readonly hook?: HookUnderTest;
  /** Its tools, for what the play needs of them. */
  readonly tools: {
    readonly edit: (file: string, from: string, to: string) => readonly [string, object];
    readonly run: (command: string) => readonly [string, object];
    readonly write: (file: string, content: string) => readonly [string, object];
    readonly read: (file: string) => readonly [string, object];
  };
}

/** The agent outside of a sandbox. */
export interface HookUnderTest {
  /** Among the programs of its `node_modules`. */
  readonly program: string;
  readonly variables: (modelUrl: string) => Readonly<Record<string, string>>;
}

/** Where an agent's `node_modules` lie in the sandbox. */
export const INSIDE = '/opt/agents';
const bin = (name: string): string => path.posix.join(INSIDE, 'node_modules/.bin', name);

export const AGENTS: Readonly<Record<string, AgentUnderTest>> = {
  claude: {
    settings: (modelUrl) => ({
      command: bin('claude-agent-acp'),
      env: { ANTHROPIC_API_KEY: { from: 'E2E_MODEL_KEY' }, ...claudeVariables(modelUrl) },
    }),
    hook: {
      program: 'claude-agent-acp',
      variables: (modelUrl) => ({ ANTHROPIC_API_KEY: 'sk-e2e', ...claudeVariables(modelUrl) }),
    },
    tools: {
      read: (file) => ['Read', { file_path: file }],
      edit: (file, from, to) => ['Edit', { file_path: file, old_string: from, new_string: to }],
      run: (command) => ['Bash', { command, description: 'Run it' }],
      write: (file, content) => ['Write', { file_path: file, content }],
    },
  },
  opencode: {
    settings: (modelUrl) => ({
      command: path.posix.join(INSIDE, 'node_modules/opencode-linux-x64/bin/opencode'),
      args: ['acp', '--pure'],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          model: 'local/scripted',
          share: 'disabled',
          autoupdate: false,
          permission: { edit: 'allow', bash: 'ask' },
          provider: {
            local: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Local',
              options: { baseURL: `${modelUrl}/v1`, apiKey: '{env:MODEL_KEY}' },
              models: { scripted: { name: 'Scripted', tool_call: true } },
            },
          },
        }),
        MODEL_KEY: { from: 'E2E_MODEL_KEY' },
      },
    }),
    tools: {
      read: (file) => ['read', { filePath: file }],
      edit: (file, from, to) => ['edit', { filePath: file, oldString: from, newString: to }],
      run: (command) => ['bash', { command, description: 'Run it' }],
      write: (file, content) => ['write', { filePath: file, content }],
    },
  },
};

function claudeVariables(modelUrl: string): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}
