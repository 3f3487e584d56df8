/** A run that researches and plans on a server that is killed in each of its phases: it goes on and ends as if nothing had been. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@autonomous/shared/client';
import { expect, it, onTestFinished } from 'vitest';
import type { Script } from '../../src/models/script.ts';
import { startLocalSite } from '../../src/web-pages/local-web.fixture.ts';
import { FILES, git, makeRemote } from '../fixtures/orchestrator.fixture.ts';
import { PAGES } from '../research/research.fixture.ts';
import { planScript } from './research-and-plan.fixture.ts';
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.fixture.ts';

const AN_HOUR_MS = 3_600_000;

/** The script with a call that its server does not live to see the end of. */
function stalling(script: Script, role: string): string {
  const [first, ...others] = script.roles[role] ?? [];
  if (first === undefined) throw new Error(`the script has no call of ${role}`);
  const turns = first.turns.map((turn) => ({ ...turn, delayMs: AN_HOUR_MS }));
  return JSON.stringify({ ...script, roles: { ...script.roles, [role]: [{ ...first, turns }, ...others] } });
}

it('goes on after its server was killed while it researches, and again while it plans', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'killed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const site = await startLocalSite(PAGES);
  onTestFinished(() => site.close());
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, FILES);
  const script = planScript(site.origin);
  const file = path.join(folder, 'script.yaml');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    LOG_LEVEL: 'warn',
    AUTONOMOUS_SCRIPT: file,
    ALLOW_SETUP_NETWORK: 'false',
    WEB_ALLOW: `*,internal:127.0.0.1:${site.port}`,
  };
  let server: ServerProcess | undefined;
  const start = async (text: string) => {
    await writeFile(file, text);
    const port = server === undefined ? '0' : new URL(server.url).port;
    server = await startServerProcess({ dataFolder: path.join(folder, 'data'), port, env });
    return createClient({ baseUrl: server.url, token: server.token, backoff: { minMs: 50, maxMs: 500 } });
  };
  onTestFinished(() => server?.end('SIGKILL').then(() => undefined));
  const kill = async (): Promise<void> => {
    expect(await server?.end('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  };

  const first = await start(stalling(script, 'researcher'));
  const project = await first.createProject({ name: 'notes', repository: remote });
  const run = await first.launchRun({
    projectId: project.id,
    workflow: 'research-and-plan',
    request: 'Ring the oldest bell of the town again.',
    input: { topic: 'Bells', researchers: 1, analysts: 0, researchRounds: 1, stableRounds: 1 },
    config: { git: { autoMerge: true } },
  });
  await expect
    .poll(async () => (await first.listRuns({ workflow: 'research' })).items[0]?.state)
    .toEqual({ active: 'researching' });
  await kill();

  const second = await start(stalling(script, 'plan-architect'));
  await expect.poll(async () => (await second.getRun(run.id)).state).toEqual({ active: { planning: 'drafting' } });
  await kill();

  const third = await start(JSON.stringify(script));
  await expect.poll(async () => (await third.getRun(run.id)).status).toBe('completed');
  const plan = await git('--git-dir', remote, 'show', 'main:docs/research-bells/bells-plan.md');
  expect(plan).toContain('Task frame');
  // Nothing was done twice: one research run, and one round for each of the plan.
  expect((await third.listRuns({ workflow: 'research' })).items).toHaveLength(1);
  const events = await third.listEvents(run.id, 0, 1_000);
  expect(events.map(({ type }): string => type).filter((type) => type === 'PLAN_ROUND_ENDED')).toHaveLength(2);
  await kill();
});
