/** The walkthrough from a window without a server to a result: each step's buttons do what they say, and the step is ticked. */
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { makePlace, removePlace } from '../../packages/orchestrator/demo/place.ts';
import type { Editor } from '../harness/editor.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
const PROGRAM = path.join(ROOT, 'packages', 'orchestrator', 'src', 'main.ts');

export const journey: Journey = {
  name: 'walkthrough',
  async play(stage) {
    const place = await makePlace(null, null);
    stage.atEnd(() => removePlace(place, false));
    const server = [process.execPath, PROGRAM, 'serve', '--port', '0'];
    const variables = [`AUTONOMOUS_SCRIPT=${SCRIPT}`, 'LOG_LEVEL=warn'];
    const editor = await stage.openEditor({
      settings: {
        'autonomous.server.command': ['/usr/bin/env', ...variables, ...server],
        // What is opened from it would take the place of the walkthrough.
        'workbench.editor.enablePreview': false,
      },
    });
    const { page } = editor;
    // The link of the first view, for people who are new here.
    await editor.openViews();
    await editor.views.getByText('See how it works').click();
    await isTicked(editor, 'Connect to a server', false);
    await stage.picture(page, 'opened');

    await press(editor, 'Connect to a server', 'Connect to a Server');
    await page.getByPlaceholder('http://127.0.0.1:3001').waitFor();
    // The one of this machine, which is not there yet.
    await editor.type('');
    await press(editor, 'Connect to a server', 'Start Local Server');
    // A whole server is started meanwhile.
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 60_000 });
    await isTicked(editor, 'Connect to a server', true);
    // A script plays the models of this server.
    await isTicked(editor, 'Choose a model', true);
    await isTicked(editor, 'Launch a run', false);

    await press(editor, 'Launch a run', 'Launch a Run');
    await editor.accept('Which workflow?');
    // There is no project yet: its repository, and the name that follows from it.
    await editor.type(place.remote);
    await editor.accept('Its name');
    // The project is added meanwhile.
    await page.locator('.quick-input-widget', { hasText: 'What should be done?' }).waitFor();
    await editor.type('A login');
    await editor.accept('What do you want to approve yourself?');
    await editor.accept('Enter takes the options that are named');
    await editor.webView.getByRole('heading', { name: "Review the plan 'Login flow'" }).waitFor();
    await isTicked(editor, 'Launch a run', true);
    await isTicked(editor, 'Review the plan', false);

    await press(editor, 'Review the plan', 'Open the Plan');
    await editor.choose(/^A login/);
    await editor.webView.getByRole('button', { name: 'Approve' }).click();
    await isTicked(editor, 'Review the plan', true);
    // Wide enough for the pictures of its steps.
    await page.setViewportSize({ width: 1_600, height: 900 });
    await stage.picture(page, 'plan-approved');
    await isTicked(editor, 'Look at the result', false);
    // The checks of the project are run twice meanwhile.
    await editor.line(/^A login, .*Completed/).waitFor({ timeout: 90_000 });

    await press(editor, 'Look at the result', 'Show Changes');
    await editor.choose(/^A login/);
    await page.getByText('export const login = () => ({ status: 200').first().waitFor();
    await isTicked(editor, 'Look at the result', true);
    await stage.picture(page, 'done');
  },
};

const tabOf = ({ page }: Editor): Locator => page.getByRole('tab', { name: /^Welcome/ });
const stepOf = ({ page }: Editor, step: string): Locator => page.locator('.getting-started-step', { hasText: step });

/** Brings the walkthrough to the front. */
async function show(editor: Editor): Promise<void> {
  const tab = tabOf(editor);
  if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
}

async function press(editor: Editor, step: string, button: string): Promise<void> {
  await show(editor);
  const head = stepOf(editor, step);
  const shown = head.getByRole('button', { name: button, exact: true });
  if (!(await shown.isVisible())) await head.getByText(step).first().click();
  await shown.click();
}

async function isTicked(editor: Editor, step: string, ticked: boolean): Promise<void> {
  await show(editor);
  await stepOf(editor, step).getByRole('checkbox', { checked: ticked }).first().waitFor();
}
