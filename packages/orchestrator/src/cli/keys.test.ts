/** The command `keys`, with and without a server that runs. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startOrchestrator } from '../compose.ts';
import { readServerConfig } from '../config.ts';
import { runCli } from './program.ts';

const KEY = `sk-ant-api03-${'k7'.repeat(20)}`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Nothing listens at the port of a server that was never started. */
const env = (more: Record<string, string> = {}) => ({ AUTONOMOUS_DATA: folder, ORCHESTRATOR_PORT: '9', ...more });

async function command(args: readonly string[], stdin = '', more: Record<string, string> = {}) {
  const said = { stdout: '', stderr: '' };
  const into = (name: keyof typeof said) =>
    new Writable({ decodeStrings: false, write: (chunk, _, done) => done(((said[name] += String(chunk)), null)) });
  const input = new PassThrough();
  input.end(stdin);
  const exitCode = await runCli(['keys', ...args], {
    stdin: input,
    stdout: into('stdout'),
    stderr: into('stderr'),
    env: env(more),
    cwd: folder,
    program: 'autonomous',
  });
  expect(`${said.stdout}${said.stderr}`).not.toContain(KEY);
  return { exitCode, ...said };
}

/** A provider that takes the key. */
async function provider(): Promise<string> {
  const server = createServer(({ headers }, response) => {
    const isTaken = headers['x-api-key'] === KEY;
    response.writeHead(isTaken ? 200 : 401).end(JSON.stringify({ data: [{ id: 'claude-sonnet-5-5' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe('where no server runs', () => {
  it('keeps a key for its next start, lists it, tests it and removes it', async () => {
    const of = { ANTHROPIC_BASE_URL: await provider() };
    expect(await command(['set', 'anthropic'], `${KEY}\n`, of)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^anthropic\s+ready, …k7k7, from the file/),
      stderr: `No server runs that could use the key now. It is kept in ${path.join(folder, 'keys.json')} and counts at the server's next start.\n`,
    });
    expect(await readFile(path.join(folder, 'keys.json'), 'utf8')).toContain(KEY);
    const { stdout } = await command(['list'], '', of);
    expect(stdout).toMatch(/anthropic\s+ready, …k7k7, from the file/);
    expect(stdout).toMatch(/openai\s+no key\s+https:/);
    expect(stdout).toMatch(/acp:claude/);
    expect(await command(['test', 'anthropic'], '', of)).toMatchObject({ exitCode: 0 });
    expect(await command(['remove', 'anthropic'], '', of)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/no key/),
    });
    expect(JSON.parse((await command(['list', '--json'])).stdout)).toMatchObject({ isReady: false });
  });

  it.each([
    [['set', 'anthropic'], '', 64, /There is no key/],
    [['set', 'anthropic'], 'sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa', 64, /looks like an OpenAI key/],
    [['set', 'anthropic', '--memory'], KEY, 1, /No server runs that could have the key in its memory/],
    [['set', 'mistral'], KEY, 1, /no provider 'mistral'/],
    [['set'], KEY, 64, /Name a provider/],
    [['show'], '', 64, /no action 'show'; there are list, set, test, remove/],
  ])('refuses %j with a reason', async (args, stdin, exitCode, reason) => {
    expect(await command(args, stdin)).toMatchObject({ exitCode, stderr: expect.stringMatching(reason) });
  });

  it('does not keep a key that the provider refuses', async () => {
    const of = { ANTHROPIC_BASE_URL: await provider() };
    const other = `sk-ant-api03-${'z'.repeat(40)}`;
    expect(await command(['set', 'anthropic'], other, of)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/refuses the key.*not kept/),
    });
    expect((await command(['list'])).stdout).toMatch(/anthropic\s+no key/);
  });
});

it('gives a key to the server that runs, in its memory where that is asked for', async () => {
  const of = { ANTHROPIC_BASE_URL: await provider() };
  const config = readServerConfig({ ...env(of), ORCHESTRATOR_PORT: '0' });
  const orchestrator = await startOrchestrator({ config, log: pino({ level: 'silent' }) });
  onTestFinished(() => orchestrator.stop());
  const port = { ORCHESTRATOR_PORT: new URL(orchestrator.server.url).port };
  expect(await command(['set', 'anthropic', '--memory'], KEY, port)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/from the memory/),
    stderr: '',
  });
  expect((await orchestrator.setup.getSetup()).isReady).toBe(true);
  await expect(readFile(path.join(folder, 'keys.json'))).rejects.toThrow('ENOENT');
});
