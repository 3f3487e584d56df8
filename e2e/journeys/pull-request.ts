/**
 * A run's pull request where people review: in the dashboard its checks and review threads, an answer and a resolution; in the
 * editor the threads beside the lines of the result and of the checked-out branch. Another run's is closed at its gate. All of it
 * reaches the forge.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import {
  type GitHubServer,
  startGitHubServer,
} from '../../packages/orchestrator/src/forges/github/github-server.fixture.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import type { Editor } from '../harness/editor.ts';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
const SERVER_TOKEN = 'ghp_server0123456789';
const ANNA = 'ghp_anna0123456789';

export const journey: Journey = {
  name: 'pull-request',
  async play(stage) {
    const { github, server } = await startWithForge(stage);
    const { id, number, branch } = await openPullRequest(server);
    const api = async (route: string, body?: object): Promise<unknown> => {
      const answer = await github.as(ANNA, route.replace('{repo}', '/repos/acme/shop'), body);
      assert.ok(answer.status < 300, `${route}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    const { head } = (await api(`GET {repo}/pulls/${number}`)) as { readonly head: { readonly sha: string } };
    const statuses = `POST {repo}/statuses/${head.sha}`;
    await api(statuses, { context: 'ci/test', state: 'failure', target_url: 'https://ci.example.org/builds/7' });
    await api(statuses, { context: 'ci/lint', state: 'success' });
    const file = 'src/login.js';
    await api(`POST {repo}/pulls/${number}/reviews`, {
      event: 'REQUEST_CHANGES',
      body: 'Nearly. Two things, see below.',
      comments: [
        { path: file, line: 2, side: 'RIGHT', body: 'Why is the **state** kept here? `session.state` has it\u202e.' },
        { path: file, line: 1, side: 'RIGHT', body: `${'This sentence is long. '.repeat(120)}\n\n<b>Not bold</b>` },
      ],
    });

    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.goto(`${server.url}/runs/${id}`);
    await page
      .getByRole('navigation', { name: 'Parts of the run' })
      .getByRole('link', { name: 'Pull request' })
      .click();
    await page.waitForURL(`**/runs/${id}/pull-request`);
    const section = page.getByRole('region', { name: 'Pull request' });
    await section.getByText('2 open, 0 resolved').waitFor();
    await section.getByText('1 failed, 1 passed').waitFor();
    await section.getByText('⟨U+202E⟩').waitFor();
    await checkAccessibility(page, 'A pull request');
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await stage.picture(page, colorScheme);
    }

    // By the keyboard: into the field, an answer, and on to the button.
    const thread = section.getByRole('article', { name: `Review thread at ${file}:1` });
    await thread.getByRole('textbox').focus();
    await page.keyboard.type('The session may be another one by then.');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await thread.getByText('The session may be another one by then.').and(thread.locator('p')).waitFor();
    await thread.getByText('(this server)').waitFor();
    await thread.getByRole('button', { name: 'Resolve' }).click();
    await section.getByText('1 open, 1 resolved').waitFor();
    await section.getByText('1 resolved thread').click();
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await stage.picture(page, 'answered-and-resolved');
    await page.setViewportSize({ width: 390, height: 844 });
    await stage.picture(page, 'on-a-phone');
    await page.reload();
    const tab = page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: 'Pull request' });
    const { x, width } = (await tab.boundingBox()) ?? { x: -1, width: 0 };
    assert.ok(x >= 0 && x + width <= 390, `the chosen tab is in view, and not at ${x}`);
    await stage.picture(page, 'on-a-phone-again');
    await page.setViewportSize({ width: 1280, height: 800 });

    // Without a token the forge says nothing, and the page says why and what helps.
    github.tokens.delete(SERVER_TOKEN);
    await section.getByRole('button', { name: 'Refresh' }).click();
    await section
      .getByRole('alert')
      .filter({ hasText: /GITHUB_TOKEN/ })
      .waitFor();
    await page.evaluate(() => window.scrollTo(0, 0));
    await stage.picture(page, 'token-refused');
    github.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo'] });
    await section.getByRole('button', { name: 'Try again' }).click();
    await section.getByRole('alert').waitFor({ state: 'detached' });

    const editor = await inTheEditor(stage, server, github, branch);
    await closeAtTheGate(stage, server, page, editor);
  },
};

/** A run that follows its pull request: at the gate a person closes it, with a reason. */
async function closeAtTheGate(stage: Stage, server: Server, page: Page, editor: Editor): Promise<void> {
  const { client } = server;
  const id = await launchInTheForm(page, server);
  const close = page.getByRole('button', { name: 'Close…' });
  await close.waitFor({ timeout: 90_000 });
  await checkAccessibility(page, 'The gate of a pull request');
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await stage.picture(page, `gate-${colorScheme}`);
  }
  await close.click();
  const reason = page.getByLabel('Why? It is recorded with the run');
  await reason.fill('Guests are for next year.');
  await stage.picture(page, 'gate-closing');
  // Escape leaves the field and what was typed in it.
  await page.keyboard.press('Escape');
  await reason.waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  assert.equal(await reason.inputValue(), 'Guests are for next year.');
  const address = page.getByRole('region', { name: 'Address' }).getByRole('link');
  assert.match((await address.getAttribute('href')) ?? '', /\/acme\/shop\/pull\/2$/);
  // The words in the dashboard are not sent. The editor sends the same decision.
  await editor.command('Autonomous: Close the Pull Request…');
  await editor.choose(/A login for guests/);
  await editor.type('Guests are for next year.');
  await editor.line(/^A login for guests, .*Completed/).waitFor();
  const { gates, published } = await server.heard(id, 'RUN_COMPLETED');
  assert.deepEqual([gates.at(-1)?.decision, gates.at(-1)?.notes], ['close', 'Guests are for next year.']);
  const { state } = await client.getPullRequest(id);
  assert.deepEqual([state, published?.pullRequest?.number], ['closed', 2]);
  await page.getByText('Guests are for next year.').first().waitFor();
  await stage.picture(page, 'gate-closed');
}

/** The form of a new run says how it ends. @returns the run's id */
async function launchInTheForm(page: Page, server: Server): Promise<string> {
  await page.goto(`${server.url}/launch`);
  await page.getByRole('heading', { name: 'New run' }).waitFor();
  const shop = (await server.client.listProjects()).items.find(({ name }) => name === 'shop');
  await page.getByLabel('Project').selectOption({ value: shop?.id ?? '' });
  await page.getByRole('textbox', { name: 'What is to be done?' }).fill('A login for guests');
  for (const asked of await page.getByRole('group', { name: 'Ask me about' }).getByRole('checkbox').all())
    await asked.uncheck();
  await page.getByText('how it ends').click();
  await page.getByLabel('When the result is approved').selectOption({ label: 'open a pull request' });
  await page.getByRole('button', { name: 'Start the run' }).click();
  await page.waitForURL(/\/runs\/[^/]+$/);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** The thread that is still open: answered beside the result, resolved beside the checked-out file. */
async function inTheEditor(stage: Stage, server: Server, github: GitHubServer, branch: string): Promise<Editor> {
  const { project } = server.place;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: 'pipe' }).trim();
  git('remote', 'set-url', 'origin', `${github.url}/acme/shop.git`.replace('//', `//x:${SERVER_TOKEN}@`));
  const editor = await stage.openEditor({ ...server.reachedBy(), folder: project });
  const { page } = editor;
  await editor.openViews();
  await editor.line(/^A login, .*Completed/).waitFor();
  await editor.command('Autonomous: Show Changes');
  await editor.choose('A login');
  const thread = page.locator('.review-widget').filter({ hasText: 'Why is the' }).first();
  await thread.waitFor();
  // The list of all comments has opened below and leaves no room for an answer.
  await editor.command('View: Hide Panel');
  await stage.picture(page, 'thread-beside-the-result');
  await thread.locator('.review-thread-reply-button').click();
  await page.keyboard.type('It says less now.');
  await thread.getByRole('button', { name: 'Answer in Thread' }).click();
  await thread.getByText('It says less now.').waitFor();
  await stage.picture(page, 'answered-in-the-editor');

  await editor.command('Autonomous: Check Out Branch');
  await editor.notification(`${branch} is checked out.`).waitFor();
  await page.getByRole('button', { name: /The branch is of the run “A login”: completed, pull request \d+/ }).waitFor();
  await editor.command('View: Close All Editors');
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').first().fill('src/login.js');
  await editor.choose(/login\.js/);
  const beside = page.locator('.review-widget').filter({ hasText: 'It says less now.' }).first();
  await beside.waitFor();
  await stage.picture(page, 'thread-beside-the-checked-out-file');
  await beside.hover();
  await beside.getByRole('button', { name: 'Resolve Thread' }).click();
  await beside.waitFor({ state: 'detached' });
  const [run] = (await server.client.listRuns()).items;
  const { threads } = await server.client.getPullRequest(run?.id ?? '');
  const resolved = threads.find(({ line }) => line === 2);
  assert.deepEqual([resolved?.isResolved, resolved?.comments.length], [true, 2]);
  await stage.picture(page, 'resolved-in-the-editor');
  return editor;
}

/** A server whose project `shop` is at a forge on this machine, with what the demo's project has. */
async function startWithForge(stage: Stage): Promise<{ readonly github: GitHubServer; readonly server: Server }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'forge-'));
  const github = await startGitHubServer(folder);
  stage.atEnd(async () => {
    await github.close();
    await rm(folder, { recursive: true, force: true });
  });
  github.tokens.set(SERVER_TOKEN, { login: 'octo-server', scopes: ['repo'] });
  github.tokens.set(ANNA, { login: 'anna' });
  const shop = github.addRepository('acme', 'shop', { collaborators: { 'octo-server': 'write', anna: 'write' } });
  const server = await stage.startServer({
    env: { AUTONOMOUS_SCRIPT: SCRIPT, GITHUB_TOKEN: SERVER_TOKEN, GITHUB_API_URL: github.apiUrl },
  });
  execFileSync('git', ['push', '--quiet', '--force', shop.folder, 'HEAD:main'], { cwd: server.place.project });
  await server.client.createProject({ name: 'shop', repository: github.addressOf(shop) });
  return { github, server };
}

interface PublishedRun {
  readonly id: string;
  readonly number: number;
  readonly branch: string;
}

async function openPullRequest(server: Server): Promise<PublishedRun> {
  const { client } = server;
  const project = (await client.listProjects()).items.find(({ name }) => name === 'shop');
  const { id } = await client.launchRun({
    projectId: project?.id ?? '',
    request: 'A login',
    config: {
      trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
      git: { createPR: true, followPR: false },
    },
  });
  const run = await server.heard(id, 'RUN_COMPLETED');
  return { id, number: run.published?.pullRequest?.number ?? 0, branch: run.branch };
}
