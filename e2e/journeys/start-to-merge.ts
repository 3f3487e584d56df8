/**
 * All of it without leaving the editor: no server is there, one is started, a project is added and a run launched; its plan is
 * sent back and approved, a question answered, the evidence and the changes looked at, and the result merged.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { makePlace, removePlace } from '../../packages/orchestrator/demo/place.ts';
import { checkDiagram } from '../harness/diagram.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'start-to-merge.script.yaml');
const PROGRAM = path.join(ROOT, 'packages', 'orchestrator', 'src', 'main.ts');

export const journey: Journey = {
  name: 'start-to-merge',
  async play(stage) {
    const place = await makePlace(null, null);
    stage.atEnd(() => removePlace(place, false));
    const variables = [`AUTONOMOUS_SCRIPT=${SCRIPT}`, 'DEFAULT_AUTO_MERGE=true', 'LOG_LEVEL=warn'];
    const server = [process.execPath, PROGRAM, 'serve', '--port', '0'];
    const editor = await stage.openEditor({
      settings: { 'autonomous.server.command': ['/usr/bin/env', ...variables, ...server] },
    });
    await editor.openViews();
    await editor.button('Start Local Server').first().click();
    // A whole server is started meanwhile.
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 60_000 });

    await editor.command('Autonomous: Launch Run with All Options');
    const panel = editor.webView;
    await panel.getByRole('textbox', { name: 'Path or address of the repository' }).fill(place.remote);
    await panel.getByRole('button', { name: 'Add the project' }).click();
    await panel.getByRole('textbox', { name: 'What is to be done?' }).fill('A login');
    await panel.getByRole('checkbox', { name: 'the result' }).check();
    await stage.picture(editor.page, 'launch');
    await panel.getByRole('button', { name: 'Start the run' }).click();

    await panel.getByRole('heading', { name: "Review the plan 'Login flow'" }).waitFor();
    await checkDiagram(panel.locator('.diagram svg').first());
    await panel.getByRole('button', { name: 'Send back…' }).click();
    await panel.getByRole('textbox', { name: 'What should be different?' }).fill('With a logout.');
    await stage.picture(editor.page, 'plan-sent-back');
    await panel.getByRole('button', { name: 'Send back', exact: true }).click();
    await panel.getByRole('heading', { name: "Review the plan 'Login flow with a logout'" }).waitFor();
    await checkDiagram(panel.locator('.diagram svg').first());
    await stage.picture(editor.page, 'second-plan');
    await panel.getByRole('button', { name: 'Approve' }).click();

    await panel.getByRole('radio', { name: 'GitHub only' }).check();
    await panel.getByRole('button', { name: 'Answer' }).click();

    // The checks of the project are run twice meanwhile.
    await editor.line(/^A login, .*Waiting for approval/).waitFor({ timeout: 90_000 });
    await panel.getByRole('link', { name: 'Evidence' }).click();
    await panel.getByText('passed').first().waitFor();
    await stage.picture(editor.page, 'evidence');
    await panel.getByRole('link', { name: 'Changes' }).click();
    await panel.getByText('src/login.js').first().waitFor();
    await panel.getByRole('button', { name: 'Open all in the editor' }).click();
    await editor.page.getByText('export const login = () => ({ status: 200').first().waitFor();
    await stage.picture(editor.page, 'diff');

    // All files at once: what is looked at is approved in their own title.
    await editor.page
      .locator('.editor-actions')
      .getByRole('button', { name: /^Approve/ })
      .first()
      .click();
    await editor.line(/^A login, .*Completed/).waitFor({ timeout: 90_000 });
    await stage.picture(editor.page, 'merged');
    const merged = execFileSync('git', ['-C', place.remote, 'show', 'main:src/login.js'], { encoding: 'utf8' });
    assert.match(merged, /Log out/);
  },
};
