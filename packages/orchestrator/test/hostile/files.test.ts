/**
 * Files and output that are made to be slow to read, on a real server process: it answers others all the while, and after a
 * kill at any time it is there again.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import { aScript, FILES, type Files, makeRemote, projectConfig, runs, tool } from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

/** The hostile files froze the server for minutes. The limit leaves room for a machine that is slow otherwise. */
const LONGEST_ANSWER_MS = 15_000;
const POLL_MS = 50;

const unconfigured: Files = { 'README.md': '# Notes\n', 'app.sh': 'echo hello\n' };
const tested = (command: string): Files => ({
  ...FILES,
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: command, setup: null } } }),
});
const deepFolder = `d=$(printf 'b%.0s' $(seq 250)); mkdir -p "$d/$d/$d/$d" && for i in $(seq 120); do echo needle >> "$d/$d/$d/$d/f"; done`;
const search = {
  turns: [
    { tools: [tool('run', { command: deepFolder, timeoutSeconds: 60 })] },
    { tools: [tool('search', { pattern: 'needle' })] },
    { tools: [tool('finish', { summary: 'Done.' })] },
  ],
};
const wildIgnore = `mkdir -p $(printf 'aaa/%.0s' $(seq 30)); touch $(printf 'aaa/%.0s' $(seq 30))c; printf '**/a*/%.0s' $(seq 13) > .gitignore; echo b >> .gitignore`;
const skill = (n: number) => [`.claude/skills/s${n}/SKILL.md`, `---\n${'? '.repeat(4_000)}a\n---\n`] as const;

it.each<[string, Files, ReturnType<typeof aScript>]>([
  ['a Makefile', { ...unconfigured, Makefile: `test${' '.repeat(20_000)}\n` }, aScript()],
  ['requirements.txt', { ...unconfigured, 'requirements.txt': '\n'.repeat(200_000) }, aScript()],
  ['go.mod', { ...unconfigured, 'go.mod': '\n'.repeat(200_000) }, aScript()],
  [
    'a memory',
    { ...FILES, '.autonomous/memory.md': `## Past Decisions\n\n### 2024-01-01: ${' '.repeat(20_000)}x\n` },
    aScript(),
  ],
  ['skills', { ...FILES, ...Object.fromEntries([1, 2, 3].map(skill)) }, aScript()],
  ['a search', FILES, aScript({ implementer: [search] })],
  ['output of a check', tested(`node -e "process.stdout.write('eyJ-'.repeat(500000))"`), aScript()],
  ['ignore patterns', FILES, aScript({ implementer: [runs(wildIgnore)] })],
])('the server answers while a run reads %s, and after a kill', async (_, files, script) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'hostile-files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, files);
  const scriptFile = path.join(folder, 'script.yaml');
  await writeFile(scriptFile, script);
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, LOG_LEVEL: 'warn', AUTONOMOUS_SCRIPT: scriptFile };
  const start = { dataFolder: path.join(folder, 'data'), port: '0', env };
  const first = await startServerProcess(start);
  onTestFinished(async () => void (await first.end('SIGKILL')));
  const client = createClient({ baseUrl: first.url, token: first.token });
  const project = await client.createProject({ name: 'notes', repository: remote });
  const trustMode = { planning: 'auto', implementation: 'auto' } as const;
  const { id } = await client.launchRun({ projectId: project.id, request: 'GO', config: { trustMode } });

  let longestMs = 0;
  let status = '';
  do {
    const asked = performance.now();
    await fetch(`${first.url}/healthz`, { signal: AbortSignal.timeout(60_000) });
    longestMs = Math.max(longestMs, performance.now() - asked);
    ({ status } = await client.getRun(id));
    await sleep(POLL_MS);
  } while (status === 'running' || status === 'queued');
  expect(longestMs).toBeLessThan(LONGEST_ANSWER_MS);

  await first.end('SIGKILL');
  const second = await startServerProcess(start);
  onTestFinished(async () => void (await second.end('SIGKILL')));
  const asked = performance.now();
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
  expect(performance.now() - asked).toBeLessThan(LONGEST_ANSWER_MS);
  await second.end('SIGTERM');
});
