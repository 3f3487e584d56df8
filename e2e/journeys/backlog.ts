/**
 * A backlog from the menu of its table to the merge: its items are child runs below it, one of them comes to nothing twice, and a
 * person has it tried again with a note.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { FrameLocator, Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const DEMO = path.join(ROOT, 'packages', 'orchestrator', 'demo');
const FILE = 'ai/backlog.md';
const NOTE = 'Two hundred words a minute.';
const RUN = `Work through ${FILE}`;
/** Attempts with their checks, on a machine that is busy with other things. */
const ITEMS_TIMEOUT_MS = 180_000;
const PACE_MS = 250;

export const journey: Journey = {
  name: 'backlog',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: await scriptWithNote(stage) } });
    const { project } = server.place;
    commitBacklog(project);
    const editor = await stage.openEditor({ ...server.reachedBy(), folder: project });
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();

    // From the file's menu. The file says what is to be done.
    const explorer = editor.page.getByRole('tab', { name: /^Explorer/ });
    if ((await explorer.getAttribute('aria-expanded')) !== 'true') await explorer.click();
    await editor.line(/^ai/).click();
    const file = editor.line(/^backlog\.md/);
    await file.waitFor();
    await editor.actOnMenu(file, 'Run This Plan…');
    await editor.choose(/^Backlog/);
    await editor.choose(/^notes.*repository of the file/);
    await editor.accept('What do you want to approve yourself?');
    await editor.page.getByText('models, budgets and end as configured').first().waitFor();
    await stage.picture(editor.page, 'steps');
    await editor.choose(/Options…/);
    const panel = editor.webView;
    const request = panel.getByRole('textbox', { name: 'What is to be done?' });
    await request.waitFor();
    assert.equal(await request.inputValue(), '');
    assert.equal(await request.getAttribute('placeholder'), RUN);
    assert.equal(await panel.getByRole('textbox', { name: 'Path of the backlog' }).inputValue(), FILE);
    await stage.picture(editor.page, 'form');
    await panel.getByRole('button', { name: 'Start the run' }).click();
    await panel.getByRole('heading', { name: RUN, level: 1 }).waitFor();

    // A second run of the same table is refused while this one is not finished. The first has put its states into the base.
    const [run] = (await server.client.listRuns({ workflow: 'backlog' })).items;
    assert.ok(run !== undefined);
    await begun(server.place.remote);
    await editor.actOnMenu(file, 'Run This Plan…');
    await editor.choose(/^Backlog/);
    await editor.choose(/^notes/);
    await editor.button('Use the Newer Text').click();
    await editor.accept('What do you want to approve yourself?');
    await editor.accept('Enter takes the options that are named');
    const refused = editor.notification('Not started: ');
    await refused.waitFor();
    assert.match((await refused.textContent()) ?? '', new RegExp(`${run.id} .*${FILE}`));
    await stage.picture(editor.page, 'second-refused');
    await editor.command('Notifications: Clear All Notifications');

    // Two items are merged; the third has come to nothing twice.
    await editor.openViews();
    const line = editor.line(new RegExp(`^${RUN}, .*2 of 4 items done`));
    await line.waitFor({ timeout: ITEMS_TIMEOUT_MS });
    for (const item of ['NOTE-3: Cut long titles', 'NOTE-1: Count the words of a note'])
      await editor.line(new RegExp(`^Child run: ${item}, Completed`)).waitFor({ timeout: ITEMS_TIMEOUT_MS });
    await editor.line(new RegExp(`^${RUN}, .*Backlog stopped`)).waitFor({ timeout: ITEMS_TIMEOUT_MS });
    await panel
      .getByRole('heading', { name: /^NOTE-2 is blocked: 2 attempts one after the other changed nothing\.$/ })
      .waitFor();
    await editor.button(/^Autonomous: 1 waiting for you/).waitFor();
    const gate = panel.getByRole('button', { name: 'Try again…' });
    await gate.waitFor();
    for (const theme of ['Default Light Modern', 'Default Dark Modern']) {
      const kind = theme.includes('Light') ? 'light' : 'dark';
      await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': theme });
      await panel.locator(`body.vscode-${kind}`).waitFor();
      await checkAccessibility(await documentOf(panel), `The stopped backlog in the editor, ${kind}`);
      await stage.picture(editor.page, `stopped-${kind}`);
    }
    await inDashboard(stage, server, run.id);

    // Tried again with a note, which the next attempt is given.
    await gate.click();
    await panel.getByRole('textbox', { name: 'Note for the next attempt (may stay empty)' }).fill(NOTE);
    await stage.picture(editor.page, 'note');
    await panel.getByRole('button', { name: 'Try again', exact: true }).click();
    await editor
      .line(new RegExp(`^${RUN}, Completed, 4 of 4 items done · Merged`))
      .waitFor({ timeout: ITEMS_TIMEOUT_MS });
    await stage.picture(editor.page, 'merged');
    const children = (await server.client.listRuns({ parentId: run.id })).items;
    assert.equal(children.length, 5);
    assert.ok(children.some(({ originalRequest }) => originalRequest.includes(`A person says: ${NOTE}`)));
    const table = git(server.place.remote, 'show', `main:${FILE}`);
    for (const id of ['NOTE-0', 'NOTE-1', 'NOTE-2', 'NOTE-3']) assert.match(table, new RegExp(`${id} .*\\| done \\|`));
  },
};

/** Resolves when the base says that an item is in work, or is beyond that. */
async function begun(remote: string): Promise<void> {
  const deadline = performance.now() + ITEMS_TIMEOUT_MS;
  while (!/\| (?:in_progress|done|blocked) \|/.test(git(remote, 'show', `main:${FILE}`).replace(/^.*NOTE-0.*$/m, ''))) {
    assert.ok(performance.now() < deadline, `no item of ${FILE} was begun`);
    await setTimeout(PACE_MS);
  }
}

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  return execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'pipe' }).toString();
}

/** The demo's table and specifications, in the base branch. */
function commitBacklog(project: string): void {
  cpSync(path.join(DEMO, 'backlog'), project, { recursive: true });
  mkdirSync(path.join(project, '.autonomous'), { recursive: true });
  writeFileSync(path.join(project, '.autonomous', 'config.json'), JSON.stringify({ git: { autoMerge: true } }));
  git(project, 'add', '--all');
  git(project, 'commit', '--quiet', '--message=docs: the backlog');
  git(project, 'push', '--quiet', 'origin', 'main');
}

/** The demo's script, whose implementer does nothing for one item before a person's note is in its prompt. */
async function scriptWithNote(stage: Stage): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-backlog-'));
  stage.atEnd(() => rm(folder, { recursive: true, force: true }));
  const text = readFileSync(path.join(DEMO, 'notes-backlog.script.yaml'), 'utf8');
  const [planner = '', implementer = ''] = text.split(/(?=^ {2}implementer:$)/m);
  const item = "    - when: { contains: 'NOTE-2: Say' }\n";
  const idle = `${item}      turns:\n        - tools:\n            - name: finish\n              input: { summary: 'Nothing was to be done.' }\n`;
  const guided = implementer.replace(item, `    - when: { contains: '${NOTE}' }\n`);
  assert.notEqual(guided, implementer);
  const file = path.join(folder, 'backlog.script.yaml');
  writeFileSync(file, planner + guided.replace("    - when: { contains: 'NOTE-1: Count' }\n", (next) => idle + next));
  return file;
}

/** The frame of a web view. */
async function documentOf(panel: FrameLocator): Promise<Pick<Page, 'evaluate'>> {
  const frame = await (await panel.locator('body').elementHandle())?.ownerFrame();
  assert.ok(frame);
  return frame;
}

async function inDashboard(stage: Stage, server: Server, runId: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await stage.openWindow({ colorScheme });
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    await page.getByRole('heading', { name: 'Waiting for you 1' }).waitFor();
    await page.getByText('3 of 4 items done').first().waitFor();
    await stage.picture(page, `list-${colorScheme}`);
    await page.goto(`${server.url}/runs/${runId}`);
    await page.getByRole('heading', { name: RUN, level: 1 }).waitFor();
    await page.getByRole('heading', { name: /^Child runs/ }).waitFor();
    await page.getByRole('button', { name: 'Try again…' }).waitFor();
    await checkAccessibility(page, `The stopped backlog in the dashboard, ${colorScheme}`);
    await stage.picture(page, `run-${colorScheme}`);
  }
}
