/**
 * A whole run whose implementer is an external agent as its makers publish it, in a real sandbox, with a model that plays a script:
 * it edits files, asks a person for permission, is killed with SIGKILL, goes on in the same session, and the run is merged.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Progress, RunStatus, RunView } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { type RunningOrchestrator, startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';
import { type AgentUnderTest, INSIDE } from './agents.ts';
import { folderOf } from './install.ts';
import { type Conversation, type Say, startModel } from './model.ts';

const execute = promisify(execFile);

const PATIENCE_MS = 120_000;
const LOOK_AGAIN_MS = 200;
const KEY = 'sk-e2e-9f8e7d6c5b4a39281706';
const TEST = 'node --test';
const FILES: Readonly<Record<string, string>> = {
  'src/add.mjs': 'export const add = (a, b) => a - b;\n',
  'test/add.test.mjs':
    "import assert from 'node:assert';\nimport test from 'node:test';\nimport { add } from '../src/add.mjs';\ntest('adds', () => assert.equal(add(2, 3), 5));\n",
  'package.json': '{"name":"sums","private":true,"type":"module","scripts":{"test":"node --test"}}\n',
};
const SCRIPT = {
  name: 'e2e',
  roles: {
    planner: [
      {
        turns: [
          {
            tools: [
              {
                name: 'finish',
                input: { title: 'Mend add', plan: '# Plan\n\n```mermaid\nflowchart TD\n  a["add"]\n```\n' },
              },
            ],
          },
        ],
      },
    ],
    validator: [
      {
        turns: [
          {
            tools: [{ name: 'finish', input: { verdict: 'pass', severity: 'minor', summary: 'Right.', feedback: '' } }],
          },
        ],
      },
    ],
  },
};

/**
 * @param tell told of each thing that was seen to happen
 * @throws when anything else does
 */
export async function play(name: string, agent: AgentUnderTest, tell: (text: string) => void): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-e2e-'));
  const held = Promise.withResolvers<void>();
  const model = await startModel((conversation) => answer(agent, conversation, held.resolve));
  const unfollow = new AbortController();
  let server: RunningOrchestrator | undefined;
  try {
    const remote = await makeRemote(folder);
    server = await startServer(folder, name, agent, model.url);
    const { url } = server.server;
    const client = createClient({ baseUrl: url, token: server.token });
    const progress = follow(client, unfollow.signal);
    const project = await client.createProject({ name: 'sums', repository: remote });
    const run = await client.launchRun({
      projectId: project.id,
      request: 'add() subtracts. Mend it.',
      config: {
        trustMode: { planning: 'auto' },
        modelRouting: { planner: 'scripted:e2e', implementer: `acp:${name}`, validator: 'scripted:e2e' },
        git: { autoMerge: true },
        commands: { test: TEST },
      },
    });

    const asked = await until(client, run.id, 'awaiting_clarification', progress);
    assert.match(
      asked.gate?.question?.question ?? '',
      new RegExp(`^The agent ${name} asks for permission \\(execute\\)`),
    );
    tell(`asks: ${asked.gate?.question?.question} [${asked.gate?.question?.options?.join(' | ')}]`);
    const option = asked.gate?.question?.options?.find((candidate) => /allow|yes|once/i.test(candidate)) ?? '';
    await client.decideOpenGate(run.id, { decision: 'answer', response: option });
    tell(`is answered: ${option}`);

    await Promise.race([held.promise, timeout(`${name} to run the tests`, progress)]);
    const killed = await killAgents();
    assert.ok(killed > 0, 'there is an agent to kill');
    tell('runs the tests with that permission, and is killed with SIGKILL');

    await until(client, run.id, 'completed', progress);
    assert.ok(
      progress.some(({ text }) => text.includes('a new process resumes its session')),
      'the session was taken up',
    );
    const { stdout: mended } = await execute('git', ['-C', remote, 'show', 'main:src/add.mjs']);
    assert.equal(mended, 'export const add = (a, b) => a + b;\n');
    const { stdout: paths } = await execute('git', ['-C', remote, 'ls-tree', '-r', '--name-only', 'main']);
    assert.ok(!paths.includes('.autonomous/agent'), 'nothing of the exchange is in the project');
    const { cost } = await client.getRun(run.id);
    tell(`goes on in the same session; the run is merged (${JSON.stringify(cost)}, ${model.requests()} requests)`);
    await server.stop();
    await refuseKey(path.join(folder, 'data'));
    tell('its key is nowhere in what the server keeps');
  } finally {
    unfollow.abort();
    await server?.stop();
    await model.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the model says next: it follows from the conversation alone. */
async function answer(
  { tools }: AgentUnderTest,
  { prompt, toolResults }: Conversation,
  onHeld: () => void,
): Promise<Say> {
  const result = tools.write(
    '/workspace/.autonomous/agent/result.json',
    '{"summary":"add() adds now; the tests pass."}',
  );
  if (prompt.includes('Your process was ended'))
    return toolResults === 0 ? { text: 'I go on.', tool: result } : { text: 'Done.' };
  const isAnswered = prompt.includes('Answer: ');
  const steps: readonly Say[] = isAnswered
    ? [{ text: 'I run the tests.', tool: tools.run(TEST) }]
    : [
        { text: 'I look.', tool: tools.read('/workspace/src/add.mjs') },
        { text: 'I mend it.', tool: tools.edit('/workspace/src/add.mjs', 'a - b', 'a + b') },
        { text: 'I run the tests.', tool: tools.run(TEST) },
      ];
  const step = steps[toolResults];
  if (step !== undefined) return step;
  if (!isAnswered) return { text: 'I wait for an answer.' };
  // The agent waits here until it is killed.
  onHeld();
  await sleep(PATIENCE_MS, undefined, { ref: false });
  return { text: 'Too late.' };
}

async function startServer(
  folder: string,
  name: string,
  agent: AgentUnderTest,
  modelUrl: string,
): Promise<RunningOrchestrator> {
  const script = path.join(folder, 'script.json');
  const agents = path.join(folder, 'agents.json');
  // By name: an agent may speak to itself over 127.0.0.1, which then is not listed.
  const model = new URL(modelUrl);
  model.hostname = 'localhost';
  const entry = {
    ...agent.settings(model.origin),
    mounts: { [folderOf(name)]: INSIDE },
    permissions: { default: 'allow', execute: 'ask' },
    network: [`internal:${model.host}`],
  };
  await writeFile(script, JSON.stringify(SCRIPT));
  await writeFile(agents, JSON.stringify({ [name]: entry }));
  return startOrchestrator({
    config: readServerConfig({
      AUTONOMOUS_DATA: path.join(folder, 'data'),
      AUTONOMOUS_SCRIPT: script,
      AUTONOMOUS_AGENTS: agents,
      ORCHESTRATOR_PORT: '0',
      E2E_MODEL_KEY: KEY,
    }),
    log: pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
  });
}

async function makeRemote(folder: string): Promise<string> {
  const work = path.join(folder, 'work');
  for (const [file, content] of Object.entries(FILES)) {
    await mkdir(path.dirname(path.join(work, file)), { recursive: true });
    await writeFile(path.join(work, file), content);
  }
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
  await execute('git', ['-C', work, 'init', '--quiet', '--initial-branch=main']);
  await execute('git', ['-C', work, 'add', '--all']);
  await execute('git', ['-C', work, ...identity, 'commit', '--quiet', '-m', 'Start']);
  const remote = path.join(folder, 'remote.git');
  await execute('git', ['clone', '--quiet', '--bare', work, remote]);
  return remote;
}

function follow(client: Client, signal: AbortSignal): Progress[] {
  const progress: Progress[] = [];
  client.followFeed({ signal, onEvent: () => {}, onProgress: (told) => progress.push(told) }).catch(() => {});
  return progress;
}

async function until(
  client: Client,
  runId: string,
  status: RunStatus,
  progress: readonly Progress[],
): Promise<RunView> {
  const late = timeout(`the run to be ${status}`, progress);
  late.catch(() => {});
  while (true) {
    const view = await client.getRun(runId);
    if (view.status === status) return view;
    if (
      ['paused', 'failed', 'cancelled', 'completed'].includes(view.status) ||
      (view.gate !== null && status === 'completed')
    ) {
      throw new Error(`the run is ${view.status}: ${JSON.stringify(view.gate)}\n${told(progress)}`);
    }
    await Promise.race([sleep(LOOK_AGAIN_MS), late]);
  }
}

async function timeout(what: string, progress: readonly Progress[]): Promise<never> {
  await sleep(PATIENCE_MS, undefined, { ref: false });
  throw new Error(`waited in vain for ${what}\n${told(progress)}`);
}

function told(progress: readonly Progress[]): string {
  return progress.map(({ kind, text }) => `  ${kind}: ${text.slice(0, 300)}`).join('\n');
}

/** SIGKILL to the agent's own processes; those of bubblewrap, which carry the same words, live on. */
async function killAgents(): Promise<number> {
  let killed = 0;
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const words = line.split('\0');
    const isAgent = words.slice(0, 2).some((word) => word.startsWith(INSIDE));
    if (!isAgent) continue;
    process.kill(Number(pid), 'SIGKILL');
    killed += 1;
  }
  return killed;
}

async function refuseKey(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    // What is left of the agent's own home is the sandbox's.
    if (!entry.isFile() || entry.parentPath.includes(`${path.sep}work${path.sep}`)) continue;
    const content = await readFile(path.join(entry.parentPath, entry.name));
    assert.ok(!content.includes(KEY), `${entry.name} holds the key`);
  }
}
