/** Agents that are installed on a machine, played by the scripted agent in the real sandbox. */
import { access, chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { probeAcpAgent } from '../agents/acp/acp-probe.ts';
import { readServerConfig } from '../config.ts';
import { createBubblewrapProvider } from '../sandboxes/bubblewrap/bubblewrap.ts';
import { openServerSetup, type ServerSetup } from './server-setup.ts';

const KEY = `sk-ant-api03-${'k7'.repeat(20)}`;
const sandboxes = createBubblewrapProvider();
const available = await sandboxes.availability();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agents-'));
});
afterEach(() => rm(folder, { recursive: true }));

const learnt: string[] = [];
const open = (env: Record<string, string> = {}, machineEnv: Record<string, string> = {}): Promise<ServerSetup> =>
  openServerSetup({
    config: readServerConfig({ AUTONOMOUS_DATA: folder, ...env }),
    learn: (secrets) => void learnt.push(...secrets),
    ollamaUrl: 'http://127.0.0.1:9',
    machine: { home: folder, env: machineEnv },
    probeAgent: (settings) => probeAcpAgent(settings, sandboxes, 20_000),
  });

const agent = async (setup: ServerSetup, id: string) => (await setup.getSetup()).agents.find((each) => each.id === id);

/** A program as npm installs it for one user: a package with a link in a folder of programs. */
async function install(name: string, program: string, version = '1.2.3'): Promise<void> {
  const home = path.join(folder, '.npm-global/lib/node_modules', name);
  await mkdir(home, { recursive: true });
  await writeFile(path.join(home, 'package.json'), JSON.stringify({ name, version, type: 'module' }));
  await writeFile(path.join(home, 'main.js'), `#!/usr/bin/env node\n${program}`);
  await chmod(path.join(home, 'main.js'), 0o755);
  await mkdir(path.join(folder, '.npm-global/bin'), { recursive: true });
  await symlink(`../lib/node_modules/${name}/main.js`, path.join(folder, '.npm-global/bin', name));
}

/** Speaks just enough of the protocol to open a session. */
const speaks = (session: string): string => `
import { createInterface } from 'node:readline';
const answer = (id, part) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...part }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') answer(id, { result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [{ id: 'login', name: 'Log in' }] } });
  if (method === 'session/new') ${session};
});`;
const OPENS = speaks(
  `answer(id, process.env.ANTHROPIC_API_KEY ? { result: { sessionId: 's' } } : { error: { code: -32000, message: 'Authentication required' } })`,
);
const WANTS_SIGN_IN = speaks(`answer(id, { error: { code: -32000, message: 'Authentication required' } })`);

it('are found in the home folder with their version, and need a key', async () => {
  await install('claude-agent-acp', OPENS);
  const setup = await open();
  expect(await agent(setup, 'claude')).toEqual({
    id: 'claude',
    title: 'Claude Code',
    status: 'not_signed_in',
    version: '1.2.3',
    detail: null,
    way: expect.stringContaining('Anthropic key'),
  });
  expect(setup.models.check('acp:claude')).toMatchObject({
    ok: false,
    message: expect.stringContaining('not signed in'),
  });
  await setup.setKey('anthropic', { key: KEY, keep: 'memory', check: false });
  expect(await agent(setup, 'claude')).toMatchObject({ status: 'ready', way: null });
  expect(setup.models.check('acp:claude')).toEqual({ ok: true, id: 'acp:claude' });
  const [role = ''] = Object.keys((await setup.getSetup()).defaultModels);
  expect((await setup.setDefaultModels({ [role]: 'acp:claude' })).defaultModels[role]).toBe('acp:claude');
});

it('are named with the way out where only the person’s own program is there', async () => {
  await mkdir(path.join(folder, '.local/bin'), { recursive: true });
  const program = path.join(folder, '.local/bin/codex');
  await writeFile(program, '#!/bin/sh\necho "codex-cli 0.161.0 $OPENAI_API_KEY"\n');
  await chmod(program, 0o755);
  expect(await agent(await open({ OPENAI_API_KEY: 'k-openai' }), 'codex')).toMatchObject({
    status: 'not_found',
    version: '0.161.0',
    way: expect.stringContaining('codex-acp'),
  });
});

it('take a sign-in that can be handed over, and name one that cannot', async () => {
  await install('claude-agent-acp', OPENS);
  await install('codex-acp', OPENS);
  const token = `sk-ant-oat01-${'t'.repeat(40)}`;
  const setup = await open({}, { CLAUDE_CODE_OAUTH_TOKEN: token });
  expect(await agent(setup, 'claude')).toMatchObject({ status: 'ready' });
  expect(learnt).toContain(token);
  await mkdir(path.join(folder, '.codex'));
  const auth = path.join(folder, '.codex/auth.json');
  await writeFile(auth, JSON.stringify({ OPENAI_API_KEY: null, tokens: { access_token: 'x' } }));
  expect(await agent(await open(), 'codex')).toMatchObject({
    status: 'not_signed_in',
    detail: expect.stringContaining('signed in on this machine'),
  });
  await writeFile(auth, JSON.stringify({ OPENAI_API_KEY: 'sk-of-codex-itself' }));
  expect(await agent(await open(), 'codex')).toMatchObject({ status: 'ready' });
  await writeFile(auth, '{ damaged');
  expect(await agent(await open(), 'codex')).toMatchObject({ status: 'not_signed_in', detail: null });
});

it.runIf(available.ok)('are tested by opening a session in a sandbox', async () => {
  await install('claude-agent-acp', OPENS);
  const setup = await open({ ANTHROPIC_API_KEY: KEY });
  expect(await setup.testAgent('claude')).toMatchObject({ status: 'ready', detail: null });
  await expect(setup.testAgent('nobody')).rejects.toThrow(/there are claude, codex, opencode/);
});

it.runIf(available.ok).each([
  ['wants a sign-in', WANTS_SIGN_IN, 'not_signed_in', /has to be signed in/],
  ['ends at once', "console.error('no such option'); process.exit(3);", 'failed', /exit code 3.*no such option/],
  ['never answers', 'setInterval(() => {}, 1000);', 'failed', /did not open a session within 20 s/],
  ['writes something else', "console.log('Welcome!'); process.stdin.resume();", 'failed', /./],
] as const)('say what is wrong with one that %s', async (_what, program, status, words) => {
  await install('claude-agent-acp', program);
  const setup = await open({ ANTHROPIC_API_KEY: KEY });
  expect(await setup.testAgent('claude')).toMatchObject({ status, detail: expect.stringMatching(words) });
  expect(await agent(setup, 'claude')).toMatchObject({ status });
});

it('are not looked for among the programs of a project that npx put on PATH', async () => {
  const programs = path.join(folder, 'project/node_modules/.bin');
  await mkdir(programs, { recursive: true });
  const trace = path.join(folder, 'started');
  await writeFile(path.join(programs, 'codex'), `#!/bin/sh\necho yes > '${trace}'\necho 1.2.3\n`, { mode: 0o755 });
  const setup = await open({}, { PATH: programs });
  expect(await agent(setup, 'codex')).toMatchObject({ version: null });
  await expect(access(trace)).rejects.toThrow('ENOENT');
});
