/**
 * A plan in phases from the menu of its Markdown file to the merge: its phases are child runs below it in tree, panel and
 * dashboard; one of them needs a person, who gives guidance.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const DEMO = path.join(ROOT, 'packages', 'orchestrator', 'demo');
const PLAN = 'docs/notes-plan.md';
const GUIDANCE = 'Round the number of pages up.';
const RUN = `Carry out ${PLAN}`;
/** Four phases with their checks, on a machine that is busy with other things. */
const PHASES_TIMEOUT_MS = 180_000;

export const journey: Journey = {
  name: 'phased-plan',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: await scriptWithGuidance(stage) } });
    const { project } = server.place;
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
        cwd: project,
        stdio: 'pipe',
      }).toString();
    const editor = await stage.openEditor({ ...server.reachedBy(), folder: project });
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();

    // What the server would not find is said before anything starts.
    mkdirSync(path.join(project, 'docs'));
    writeFileSync(path.join(project, PLAN), readFileSync(path.join(DEMO, 'notes-plan.md')));
    const explorer = editor.page.getByRole('tab', { name: /^Explorer/ });
    if ((await explorer.getAttribute('aria-expanded')) !== 'true') await explorer.click();
    await editor.line(/^docs/).click();
    const file = editor.line(/^notes-plan\.md/);
    await file.dblclick();
    await editor.command('Autonomous: Run This Plan…');
    const refused = editor.notification(`${PLAN} is not committed yet. Commit and push it first.`);
    await refused.waitFor();
    await stage.picture(editor.page, 'not-committed');
    mkdirSync(path.join(project, '.autonomous'), { recursive: true });
    writeFileSync(path.join(project, '.autonomous', 'config.json'), JSON.stringify({ git: { autoMerge: true } }));
    git('add', '--all');
    git('commit', '--quiet', '--message=docs: the plan of the search');
    await editor.actOnMenu(file, 'Run This Plan…');
    await editor.choose(/^Phased plan/);
    await editor.choose(/^notes/);
    const unpushed = editor.notification(`${PLAN} is not in the branch main of origin.`);
    await unpushed.getByRole('button', { name: 'Change Options…' }).waitFor();
    await stage.picture(editor.page, 'not-pushed');
    git('push', '--quiet', 'origin', 'main');
    await editor.command('Notifications: Clear All Notifications');

    // The form has the path; one retry is less than the third phase needs.
    await editor.actOnMenu(file, 'Run This Plan…');
    await editor.choose(/^Phased plan/);
    await editor.choose(/^notes.*repository of the file/);
    await editor.accept('What do you want to approve yourself?');
    await editor.page.getByText('models, budgets and end as configured').first().waitFor();
    await stage.picture(editor.page, 'steps');
    await editor.choose(/Options…/);
    const panel = editor.webView;
    const field = panel.getByRole('textbox', { name: 'Path of the plan' });
    await field.waitFor();
    assert.equal(await field.inputValue(), PLAN);
    const request = panel.getByRole('textbox', { name: /^What is to be done\?/ });
    assert.deepEqual([await request.inputValue(), await request.getAttribute('placeholder')], ['', RUN]);
    await panel.getByRole('spinbutton', { name: 'Retries a phase' }).fill('1');
    await field.scrollIntoViewIfNeeded();
    await stage.picture(editor.page, 'form');
    await panel.getByRole('button', { name: 'Start the run' }).click();
    await panel.getByRole('heading', { name: RUN, level: 1 }).waitFor();

    // The third phase is blocked beside the second, which is merged; both are below the plan.
    await editor.openViews();
    const parent = editor.line(new RegExp(`^${RUN}, `));
    const blocked = editor.line(/^Child run: Phase 3: Pages, .*Phase blocked/);
    await blocked.waitFor({ timeout: PHASES_TIMEOUT_MS });
    await editor.line(/^Child run: Phase 2: Highlights, Completed/).waitFor();
    await parent.filter({ hasText: 'of 4' }).waitFor();
    const notice = editor.notification('Phase 3: Pages');
    await notice.waitFor();
    assert.match((await notice.textContent()) ?? '', new RegExp(RUN.replaceAll('.', String.raw`\.`)));
    assert.equal(await editor.notification(/Phase [124]/).count(), 0, 'a phase that ends is not notified');
    await editor.button(/^Autonomous: 1 waiting for you/).waitFor();
    for (const theme of ['Default Light Modern', 'Default Dark Modern']) {
      await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': theme });
      await panel.locator(`body.vscode-${theme.includes('Light') ? 'light' : 'dark'}`).waitFor();
      await stage.picture(editor.page, `blocked-${theme.includes('Light') ? 'light' : 'dark'}`);
    }
    await inDashboard(stage, server);

    // Guidance for the next attempt, at the gate of the child.
    const waiting = panel.getByRole('region', { name: '1 child run waits for you' });
    await waiting.getByRole('link', { name: 'Phase 3: Pages' }).click();
    const child = editor.webView;
    await child.getByRole('link', { name: RUN }).waitFor();
    await child.getByRole('heading', { name: 'Attempts' }).waitFor();
    await child.getByText(/fix → A page begins one page earlier\./).waitFor();
    await child.getByRole('button', { name: 'Give guidance…' }).click();
    await child.getByRole('textbox', { name: 'Guidance for the next attempt' }).fill(GUIDANCE);
    await stage.picture(editor.page, 'escalation');
    await child.getByRole('button', { name: 'Give guidance', exact: true }).click();

    await editor
      .line(new RegExp(`^${RUN}, Completed, 4 of 4 phases merged · Merged`))
      .waitFor({ timeout: PHASES_TIMEOUT_MS });
    await editor.notification(`“${RUN}” was merged into main.`).waitFor();
    await stage.picture(editor.page, 'merged');
    const { items } = await server.client.listRuns({ limit: 50 });
    assert.equal(items.length, 5);
    const run = items.find(({ parent: of }) => of === undefined);
    assert.equal(run?.merged?.baseBranch, 'main');
    const log = execFileSync('git', ['log', '--format=%s', 'main'], { cwd: server.place.remote }).toString();
    for (const number of [1, 2, 3, 4]) assert.match(log, new RegExp(`Phase ${number}: `));
  },
};

/** The demo's script, whose fixer is right as soon as a person's guidance is in its prompt. */
async function scriptWithGuidance(stage: Stage): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-plan-'));
  stage.atEnd(() => rm(folder, { recursive: true, force: true }));
  const text = readFileSync(path.join(DEMO, 'notes-plan.script.yaml'), 'utf8');
  const guided = text.replace("{ call: 2, contains: 'Phase: 3 of 4' }", `{ contains: '${GUIDANCE}' }`);
  assert.notEqual(guided, text);
  const file = path.join(folder, 'plan.script.yaml');
  writeFileSync(file, guided);
  return file;
}

async function inDashboard(stage: Stage, server: Server): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await stage.openWindow({ colorScheme });
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    await page.getByRole('heading', { name: 'Waiting for you 1' }).waitFor();
    await page.getByText('Phase 3: Pages').first().waitFor();
    await stage.picture(page, `list-${colorScheme}`);
    await page
      .getByRole('link', { name: new RegExp(RUN) })
      .first()
      .click();
    await page.getByRole('heading', { name: RUN, level: 1 }).waitFor();
    await page.getByRole('heading', { name: /^Child runs/ }).waitFor();
    await stage.picture(page, `run-${colorScheme}`);
    await page.getByRole('link', { name: 'Statechart' }).click();
    await page.locator('.diagram svg').first().waitFor();
    await stage.picture(page, `statechart-${colorScheme}`);
    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('region', { name: 'Events' }).waitFor();
    await stage.picture(page, `events-${colorScheme}`);
  }
}
