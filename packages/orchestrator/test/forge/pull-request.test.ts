/** A run with `git.createPR` at a forge: its pull request, once, whatever happens between. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RunConfigRequest, RunView } from '@autonomous/shared';
import { expect, it, onTestFinished } from 'vitest';
import { openGitHubGround, SERVER_TOKEN } from '../../src/forges/github/github.fixture.ts';
import { aPlan, aScript, FILES, type Files, startServer, writes } from '../fixtures/orchestrator.fixture.ts';

const CONFIG: RunConfigRequest = { trustMode: { planning: 'auto' }, git: { createPR: true, followPR: false } };

interface Pull {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
  readonly head: { readonly ref: string; readonly sha: string };
  readonly base: { readonly ref: string };
  readonly labels: readonly { readonly name: string }[];
  readonly requested_reviewers: readonly { readonly login: string }[];
}

/** A server with a project at a forge on this machine. */
async function aForge(files: Files = {}) {
  const all = Object.entries({ ...FILES, ...files });
  const texts = all.flatMap(([name, file]) => (typeof file === 'string' ? [[name, file] as const] : []));
  const ground = await openGitHubGround({ files: Object.fromEntries(texts) });
  onTestFinished(() => ground.close());
  const folder = mkdtempSync(path.join(tmpdir(), 'pull-request-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const plan = aPlan({ title: 'Greet, as @octocat asked in #1' });
  const script = aScript({ planner: [plan], implementer: [writes({ 'feature.sh': 'echo feature\n' })] });
  const env = { GITHUB_TOKEN: SERVER_TOKEN, GITHUB_API_URL: ground.server.apiUrl, RESUME_PROBE_SECONDS: '1' };
  const { client, stop } = await startServer(folder, { env, script });
  onTestFinished(stop);
  const project = await client.createProject({ name: 'shop', repository: ground.server.addressOf(ground.shop) });
  const launch = () => client.launchRun({ projectId: project.id, request: 'Closes #7, thanks @ada', config: CONFIG });
  const until = async (id: string, isThere: (view: RunView) => boolean): Promise<RunView> => {
    await expect.poll(async () => isThere(await client.getRun(id))).toBe(true);
    return client.getRun(id);
  };
  const pulls = async (): Promise<readonly Pull[]> =>
    (await ground.server.as(SERVER_TOKEN, 'GET /repos/acme/shop/pulls?state=all')).body as readonly Pull[];
  return { ...ground, client, launch, until, pulls };
}

const hasCompleted = ({ status }: RunView): boolean => status === 'completed';

it('opens it with plan, evidence and the template, and mentions nobody', async () => {
  const forge = await aForge({ '.github/pull_request_template.md': '- [ ] Read the guide\n' });
  const run = await forge.until((await forge.launch()).id, hasCompleted);
  const [pull, ...others] = await forge.pulls();
  expect(others).toEqual([]);
  expect(pull).toMatchObject({
    draft: false,
    head: { ref: run.branch, sha: run.published?.commit },
    base: { ref: 'main' },
  });
  expect(run.published).toMatchObject({
    pushed: true,
    pullRequest: { number: pull?.number, url: expect.stringContaining(`/acme/shop/pull/${pull?.number}`) },
    note: expect.stringContaining(`Pull request ${pull?.number}: http`),
  });
  expect(pull?.title).toMatch(/^Greet, as @\u200Boctocat asked in #\u200B1$/);
  const body = pull?.body ?? '';
  expect(body).toContain('> Closes \\#<!-- -->7, thanks @<!-- -->ada');
  expect(body).toContain('```mermaid\n');
  expect(body).toMatch(/\| the result \| `sh test\/app\.test\.sh` \| 0 \| 1 /);
  expect(body).toContain(`git fetch origin ${run.branch}\ngit checkout ${run.published?.commit}`);
  expect(body.trimEnd().endsWith('- [ ] Read the guide')).toBe(true);
  expect(body).not.toContain('ghp_');
  // Words of agents in commits would act once they are on the base branch.
  const messages = forge.shop.git('log', '--format=%B', `main..${run.branch}`);
  expect(messages).toContain('Greet, as @\u200Boctocat asked in #\u200B1');
  expect(messages).not.toMatch(/@\w|#\d/);
  expect(await forge.client.getPullRequest(run.id)).toMatchObject({ number: pull?.number, state: 'open' });
});

it('has the labels and reviewers of the project, and says whom the forge does not accept', async () => {
  const defaultRunConfig = { commands: { test: 'sh test/app.test.sh' } };
  const git = { labels: ['made by agents'], reviewers: ['anna', 'nobody-there'] };
  const forge = await aForge({ '.autonomous/config.json': JSON.stringify({ defaultRunConfig, git }) });
  const run = await forge.until((await forge.launch()).id, hasCompleted);
  const [pull] = await forge.pulls();
  expect(pull?.labels.map(({ name }) => name)).toEqual(['made by agents']);
  expect(pull?.requested_reviewers.map(({ login }) => login)).toEqual(['anna']);
  expect(run.published?.note).toContain('nobody-there');
});

it('opens one, where the answer to the request for it is lost', async () => {
  const forge = await aForge();
  forge.server.fail({ kind: 'lost' }, { method: 'POST', path: '/pulls' });
  const run = await forge.until((await forge.launch()).id, hasCompleted);
  expect((await forge.pulls()).map(({ number }) => number)).toEqual([run.published?.pullRequest?.number]);
});

it('pauses with the way out where the token may not open it, and goes on after a retry', async () => {
  const forge = await aForge();
  forge.server.fail(
    { kind: 'status', status: 403, message: 'Resource not accessible by personal access token' },
    { method: 'POST', path: '/pulls' },
  );
  const { id } = await forge.launch();
  const paused = await forge.until(id, ({ gate }) => gate?.kind === 'pause');
  expect(paused.gate?.reason).toBe('auth_expired');
  expect(paused.gate?.summary).toContain('acme/shop');
  await forge.client.decideOpenGate(id, { decision: 'retry' });
  const run = await forge.until(id, hasCompleted);
  expect(await forge.pulls()).toHaveLength(1);
  expect(run.published?.pullRequest?.number).toBeGreaterThan(0);
});
