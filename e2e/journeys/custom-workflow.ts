/**
 * A custom workflow with a role, a document and a gate of its own and two child runs, from its launch to its merge: in the
 * dashboard, in the editor and at the command line. None of them has a line that knows the workflow.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import type { RunView } from '../../packages/shared/src/run.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import type { Editor } from '../harness/editor.ts';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const execute = promisify(execFile);
const WORKFLOW = path.join(ROOT, 'examples', 'two-changes', 'workflow.ts');
const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-changes.script.yaml');
const PROGRAM = path.join(ROOT, 'packages', 'orchestrator', 'src', 'main.ts');
const FIRST_SPLIT = "Build 'A bell and a gong for notes' as two changes?";
const SECOND_SPLIT = "Build 'A bell for notes' as two changes?";
/** The tests of the project and two whole runs of another workflow, on a machine that is busy with other things. */
const BUILT_MS = 180_000;

export const journey: Journey = {
  name: 'custom-workflow',
  async play(stage) {
    const server = await stage.startServer({
      env: { AUTONOMOUS_SCRIPT: SCRIPT, AUTONOMOUS_WORKFLOWS: WORKFLOW, DEFAULT_AUTO_MERGE: 'true' },
    });
    // The changes of one run would be there already for the next one of the same project.
    const projects = { dashboard: 'notes', editor: 'notes-of-the-editor', commandLine: 'notes-of-the-command-line' };
    for (const name of [projects.editor, projects.commandLine]) {
      execFileSync('git', ['clone', '--quiet', '--bare', server.place.remote, remoteOf(server, name)]);
      await server.client.createProject({ name, repository: remoteOf(server, name) });
    }
    await checkResult(server, projects.dashboard, await playDashboard(stage, server));
    await checkResult(server, projects.editor, await playEditor(stage, server, projects.editor));
    await checkResult(server, projects.commandLine, await playCommandLine(server, projects.commandLine));
  },
};

/** Also decides about the plans of both child runs, which are reached from their parent. */
async function playDashboard(stage: Stage, server: Server): Promise<string> {
  const { page } = await stage.openWindow();
  page.setDefaultTimeout(30_000);
  await page.goto(await server.client.createSignInLink());
  await page.getByText('No runs yet').waitFor();
  await page.getByRole('link', { name: 'New run' }).click();
  await page.getByLabel('Workflow').selectOption({ label: 'Two changes' });
  await page.getByLabel('Project').selectOption({ label: `notes (${server.place.remote})` });
  await page.getByLabel('Project').selectOption({ label: `notes (${server.place.remote})` });
  await page.getByRole('textbox', { name: 'What is to be done?' }).fill('A bell in the dashboard');
  await page.getByText('Models, time limits, budgets, base branch, how it ends').click();
  await page.getByLabel('Model or agent: Surveyor').waitFor();
  await page.getByLabel('Time limit in minutes: Survey').waitFor();
  await checkAccessibility(page, 'The form of a custom workflow');
  await bothSchemes(page, (scheme) => stage.picture(page, `launch-${scheme}`));
  await page.getByRole('button', { name: 'Start the run' }).click();

  await page.getByRole('heading', { name: FIRST_SPLIT }).waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await page.getByRole('heading', { name: '2. Gong' }).waitFor();
  await checkAccessibility(page, 'The gate of a custom workflow');
  await bothSchemes(page, (scheme) => stage.picture(page, `split-${scheme}`));
  await page.getByRole('button', { name: 'Send back…' }).click();
  await page.getByRole('textbox', { name: 'What should be different?' }).fill('The bell is enough.');
  await page.getByRole('button', { name: 'Send back', exact: true }).click();
  await page.getByRole('heading', { name: SECOND_SPLIT }).waitFor();
  await approveWithNotes(page, 'Softly.');

  for (const [plan, place] of [
    ["Review the plan 'Bell'", 'first'],
    ["Review the plan 'Description of the bell'", 'second'],
  ] as const) {
    const child = page.locator('ul.children').getByRole('link', { name: plan });
    await child.waitFor({ timeout: BUILT_MS });
    await checkAccessibility(page, 'Child runs');
    await stage.picture(page, `${place}-child-waits`);
    await child.click();
    await page.getByRole('heading', { name: plan }).waitFor();
    await page.getByText('Child run of A bell in the dashboard').waitFor();
    await page.getByText('More of the request').click();
    await page.getByText('leave that as it is.').waitFor();
    await stage.picture(page, `${place}-child`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('link', { name: 'A bell in the dashboard' }).click();
  }
  await page.getByText(/^Merged into main/).waitFor({ timeout: BUILT_MS });
  await page.getByRole('heading', { name: /^Child runs 2 of 2/ }).waitFor();
  await bothSchemes(page, (scheme) => stage.picture(page, `merged-${scheme}`));
  await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: 'Split' }).click();
  await page.getByRole('heading', { name: '2. Description of the bell' }).waitFor();
  await checkAccessibility(page, 'The document of a custom workflow');
  await stage.picture(page, 'document');
  await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: 'Statechart' }).click();
  await page.waitForLoadState('networkidle');
  await stage.picture(page, 'statechart');

  // The list has the child runs below their parent.
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Child runs of A bell in the dashboard: 2 of 2' }).click();
  await page.getByRole('link', { name: /^Child run: Description of the bell/ }).waitFor();
  await bothSchemes(page, (scheme) => stage.picture(page, `runs-${scheme}`));
  return id;
}

/** Launches in native steps, and decides in the panel and on the line of the run, also about both child runs. */
async function playEditor(stage: Stage, server: Server, project: string): Promise<string> {
  const editor = await stage.openEditor(server.reachedBy());
  await editor.openViews();
  await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
  await editor.command('Autonomous: Launch Run…');
  await editor.page
    .locator('.quick-input-list')
    .getByRole('option', { name: /^Two changes/ })
    .waitFor();
  await stage.picture(editor.page, 'editor-workflows');
  await editor.choose(/^Two changes/);
  await editor.choose(new RegExp(`^${project},`));
  await editor.type('A bell in the editor');
  await editor.page.getByPlaceholder('What do you want to approve yourself?').waitFor();
  await stage.picture(editor.page, 'editor-trust');
  await editor.accept('What do you want to approve yourself?');
  await editor.accept('Enter takes the options that are named');

  const panel = editor.webView;
  await panel.getByRole('heading', { name: FIRST_SPLIT }).waitFor({ timeout: BUILT_MS });
  await panel.getByRole('heading', { name: '2. Gong' }).waitFor();
  const line = (status: string) => editor.line(new RegExp(`^A bell in the editor, .*${status}`));
  await line('Waiting for approval').waitFor();
  await stage.picture(editor.page, 'editor-split');
  await panel.getByRole('button', { name: 'Send back…' }).click();
  await panel.getByRole('textbox', { name: 'What should be different?' }).fill('The bell is enough.');
  await panel.getByRole('button', { name: 'Send back', exact: true }).click();
  await panel.getByRole('heading', { name: SECOND_SPLIT }).waitFor({ timeout: BUILT_MS });
  await editor.actOn(line('Waiting for approval'), /^Approve/);
  await editor.page.getByText(/^Your notes\. May be left empty\./).waitFor();
  await stage.picture(editor.page, 'editor-notes');
  await editor.type('Softly.');
  // Away from the line, which otherwise tells about itself in every picture.
  await editor.page.mouse.move(800, 500);

  for (const [title, progress, place] of [
    ['Bell', '0 of 2', 'first'],
    ['Description of the bell', '1 of 2', 'second'],
  ] as const) {
    const child = editor.line(new RegExp(`^Child run: ${title}, Waiting for approval`));
    await child.waitFor({ timeout: BUILT_MS });
    await line(progress).waitFor();
    await panel.getByRole('heading', { name: `Child runs ${progress}` }).waitFor();
    await stage.picture(editor.page, `editor-${place}-child-waits`);
    await child.click();
    await panel.getByRole('heading', { name: `Review the plan '${title}'` }).waitFor();
    await stage.picture(editor.page, `editor-${place}-child`);
    await panel.getByRole('button', { name: 'Approve' }).click();
    await panel.getByRole('link', { name: 'A bell in the editor' }).click();
  }
  await line('Completed').waitFor({ timeout: BUILT_MS });
  await panel.getByRole('heading', { name: 'Child runs 2 of 2' }).waitFor();
  await stage.picture(editor.page, 'editor-merged');
  await inLightTheme(editor, server, () => stage.picture(editor.page, 'editor-merged-light'));
  return idOf(server, 'A bell in the editor');
}

/** Launches, reads, sends back and approves with commands alone. */
async function playCommandLine(server: Server, project: string): Promise<string> {
  const type = (...args: readonly string[]) => typed(server, args);
  const request = 'A bell at the command line';
  const started = await type(
    'run',
    '--workflow',
    'two-changes',
    '--project',
    project,
    '--trust',
    'planning=auto',
    '--detach',
    '--json',
    request,
  );
  // The command's own output, a run.
  const { id } = JSON.parse(started) as Pick<RunView, 'id'>;
  await server.heard(id, 'APPROVAL_REQUESTED');
  const first = await type('show', id);
  assert.match(first, /A bell and a gong for notes/);
  assert.match(await type('show', id, '--document', 'split'), /## 2\. Gong/);
  await type('reject', id, ...decideOptions(first), '--feedback', 'The bell is enough.');
  await server.heard(id, 'APPROVAL_REQUESTED', 2);
  assert.match(await type('gates'), /A bell for notes/);
  await type('approve', id, ...decideOptions(await type('show', id)));
  await server.heard(id, 'RUN_COMPLETED');
  const shown = await type('show', id);
  assert.match(shown, /2 of 2/);
  assert.equal(shown.match(/^child +/gm)?.length, 2, shown);
  const listed = await type('list');
  assert.match(listed, /2 of 2/);
  return id;
}

function remoteOf({ place }: Server, project: string): string {
  return project === 'notes' ? place.remote : path.join(place.folder, `${project}.git`);
}

/** The run was sent back, approved and merged, and its two child runs stand under it. */
async function checkResult(server: Server, project: string, id: string): Promise<void> {
  const run = await server.client.getRun(id);
  assert.equal(run.status, 'completed');
  assert.equal(run.workflow.name, 'two-changes');
  assert.equal(run.merged?.baseBranch, 'main');
  assert.deepEqual(run.progress, { done: 2, total: 2 });
  assert.deepEqual(
    run.gates.map(({ kind, decision }) => [kind, decision]),
    [
      ['split', 'reject'],
      ['split', 'approve'],
    ],
  );
  const { items } = await server.client.listRuns({ parentId: id });
  assert.deepEqual(
    items.map(({ status, workflow }) => [status, workflow.name]),
    [
      ['completed', 'build'],
      ['completed', 'build'],
    ],
  );
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', remoteOf(server, project), ...args], { encoding: 'utf8' });
  assert.match(git('show', 'main:src/bell.js'), /ding/);
  assert.match(git('show', `main:docs/bell.md`), /# Bell/);
  assert.match(git('log', '--format=%B', 'main'), /A bell for notes/);
}

/** What a person types, in a folder that is no repository. */
async function typed(server: Server, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(process.execPath, [PROGRAM, ...args, '--server', server.url], {
    cwd: server.place.folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: server.place.folder, AUTONOMOUS_DATA: server.place.data },
    timeout: BUILT_MS,
  });
  return stdout;
}

/** Options that say which gate is decided and what it shows, as `show` prints them. */
function decideOptions(shown: string): readonly string[] {
  const [, options] = /^decide +(.*)$/m.exec(shown) ?? [];
  assert.ok(options, `no line says how to decide:\n${shown}`);
  return options.split(' ');
}

async function idOf({ client }: Server, request: string): Promise<string> {
  const { items } = await client.listRuns({});
  const run = items.find(({ originalRequest }) => originalRequest === request);
  assert.ok(run, `there is no run '${request}'`);
  return run.id;
}

/** The notes are offered and may stay empty. */
async function approveWithNotes(page: Page, notes: string): Promise<void> {
  await page.getByRole('button', { name: 'Approve…' }).click();
  await page.getByRole('textbox', { name: /^Your notes/ }).fill(notes);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
}

async function bothSchemes(page: Page, look: (scheme: 'dark' | 'light') => Promise<void>): Promise<void> {
  for (const scheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await look(scheme);
  }
}

async function inLightTheme(editor: Editor, server: Server, look: () => Promise<void>): Promise<void> {
  await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': 'Default Light Modern' });
  await editor.webView.locator('body.vscode-light').waitFor();
  await look();
}
