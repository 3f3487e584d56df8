/** Runs whose implementer is an external agent: through the HTTP API, in a real sandbox, over the end of the server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import type { Step } from '../../src/agents/acp/acp-agent.fixture.ts';
import { RESULT_FILE } from '../../src/agents/acp/acp-instructions.ts';
import { aScript, aServer, FILES, git, makeRemote } from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

const WORKSPACE = path.resolve(fileURLToPath(new URL('../../../..', import.meta.url)));
const PROGRAM = '/opt/workspace/packages/orchestrator/src/agents/acp/acp-agent.fixture.ts';
const KEY = 'canary-0123456789';
const WAIT = { timeout: 120_000, interval: 200 } as const;

const EDIT: Step = { do: 'write', path: 'feature.sh', content: 'echo feature\n' };
const DONE: Step = { do: 'write', path: RESULT_FILE, content: '{"summary":"The agent made it."}' };
const CONFIG = {
  trustMode: { planning: 'auto' },
  modelRouting: { implementer: 'acp:scripted' },
  git: { autoMerge: true },
} as const;

/** Environment of a server that knows an agent which plays these turns, and one whose key is missing. */
async function agents(turns: readonly (readonly Step[])[], settings: object = {}): Promise<Record<string, string>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agents.json');
  const scripted = {
    command: 'node',
    args: ['--disable-warning=ExperimentalWarning', PROGRAM],
    env: { AGENT_SCRIPT: JSON.stringify(turns), AGENT_KEEPS: 'resume', AGENT_KEY: { from: 'SOME_AGENT_KEY' } },
    mounts: { [WORKSPACE]: '/opt/workspace' },
    ...settings,
  };
  const other = { command: 'x', env: { KEY: { from: 'NOBODY_HAS_SET_THIS' } } };
  await writeFile(file, JSON.stringify({ scripted, other }));
  return { AUTONOMOUS_AGENTS: file, SOME_AGENT_KEY: KEY };
}

it('asks a person for permission, goes on with the answer, and the run is merged', async () => {
  const turns: readonly (readonly Step[])[] = [[EDIT, { do: 'permit', title: 'npm test', kind: 'execute' }, DONE]];
  const server = await aServer({
    script: aScript(),
    env: await agents(turns, { permissions: { default: 'allow', execute: 'ask' } }),
  });
  const run = await server.launch('Add the feature', CONFIG);
  const { gate } = await server.until(run, { gate: 'clarification' });
  expect(gate).toMatchObject({
    stage: 'implementation',
    question: {
      question: expect.stringMatching(
        /^The agent scripted asks for permission \(execute\): npm test \[[0-9a-f]{12}\]$/,
      ),
      options: ['Allow', 'Always allow', 'Reject'],
      responseType: 'single_choice',
    },
  });
  await server.decide(run, { decision: 'answer', response: 'Allow' });
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'feature.sh')).toBe('echo feature\n');
  expect(await server.file('main', 'permission.txt')).toBe('yes');
  expect(await server.file('main', RESULT_FILE)).toBeNull();
  expect(await server.payloads(run.id, 'COST_RECORDED')).toContainEqual(
    expect.objectContaining({ role: 'implementer', model: 'acp:scripted', scripted: false, calls: 1 }),
  );
});

it('is taken up in its session when the server is killed in the middle', async () => {
  // A new session would play the first turn once more, and wait for ever.
  const env = await agents([[EDIT, { do: 'wait' }], [DONE]]);
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-killed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const remote = path.join(folder, 'remote.git');
  const script = path.join(folder, 'script.yaml');
  await makeRemote(remote, FILES);
  await writeFile(script, aScript());
  const start = async () => {
    const server = await startServerProcess({
      dataFolder: path.join(folder, 'data'),
      port: '0',
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, LOG_LEVEL: 'warn', AUTONOMOUS_SCRIPT: script, ...env },
    });
    onTestFinished(async () => void (await server.end('SIGKILL')));
    return { server, client: createClient({ baseUrl: server.url, token: server.token }) };
  };

  const { server, client } = await start();
  const project = await client.createProject({ name: 'notes', repository: remote });
  const run = await client.launchRun({ projectId: project.id, request: 'Add the feature', config: CONFIG });
  const said = async () => JSON.stringify(await client.getTranscript(run.id));
  await expect.poll(said, WAIT).toContain('wrote feature.sh');
  // Its answer says that everything before it is on disk.
  await client.sendMessage(run.id, 'Go on.');
  await server.end('SIGKILL');

  const again = await start();
  await expect.poll(async () => (await again.client.getRun(run.id)).status, WAIT).toBe('completed');
  expect(await git('--git-dir', remote, 'show', 'main:feature.sh')).toBe('echo feature\n');
});

it('has its key for itself: nothing that it says of it is kept', async () => {
  const env = await agents([[EDIT, { do: 'say', text: `My key is ${KEY}.` }, DONE]]);
  const server = await aServer({ script: aScript(), env });
  const run = await server.launch('Add the feature', CONFIG);
  await server.until(run, { status: 'completed' });
  const transcript = JSON.stringify(await server.client.getTranscript(run.id));
  expect(transcript).toContain('My key is [secret].');
  expect(transcript).not.toContain(KEY);
});

it('stands among the models, with what is missing where it cannot be used', async () => {
  const server = await aServer({ script: aScript(), env: await agents([]) });
  const models = await server.client.listModels();
  expect(models).toContainEqual({ id: 'acp:scripted', usable: true, scripted: false, defaultFor: [] });
  expect(models).toContainEqual({
    id: 'acp:other',
    usable: false,
    reason: expect.stringContaining('NOBODY_HAS_SET_THIS is not set'),
    scripted: false,
    defaultFor: [],
  });
  const launching = server.launch('Add the feature', { modelRouting: { implementer: 'acp:other' } });
  await expect(launching).rejects.toMatchObject({ message: expect.stringContaining('NOBODY_HAS_SET_THIS') });
});
