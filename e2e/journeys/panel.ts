/** A run's page inside the editor: the plan is drawn and approved there, the server dies under it, somebody else answers. */
import assert from 'node:assert/strict';
import { checkDiagram } from '../harness/diagram.ts';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'panel',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.line(/Waiting for approval/).click();
    const panel = editor.webView;
    const decided = panel.getByText(/^Decided elsewhere: /);
    await panel.getByRole('heading', { name: DEMO_REQUEST, level: 1 }).waitFor();
    await checkDiagram(panel.locator('.diagram svg').first());
    await stage.picture(editor.page, 'plan');

    await panel.getByRole('button', { name: 'Approve' }).click();
    const question = panel.getByRole('heading', { name: 'Which OAuth providers shall people sign in with?' });
    await question.waitFor();
    assert.ok(await decided.isHidden(), 'What was decided here is no news.');
    await stage.picture(editor.page, 'question');

    await server.kill();
    const offline = panel.getByRole('status').filter({ hasText: 'Offline: trying again…' });
    await offline.waitFor();
    assert.ok(await question.isVisible(), 'What was known stays on the page.');
    await stage.picture(editor.page, 'server-killed');
    await server.restart();
    await offline.waitFor({ state: 'hidden', timeout: 60_000 });

    // Meanwhile somebody answers elsewhere: what is asked here goes away by itself.
    await server.client.decideOpenGate(id, { decision: 'answer', response: 'GitHub only' });
    await question.waitFor({ state: 'hidden' });
    await decided.filter({ hasText: 'Question answered by ' }).waitFor();
    await panel.getByText('GitHub only').first().waitFor();
    await stage.picture(editor.page, 'answered-elsewhere');
    await panel.getByText(/^Merged into main/).waitFor({ timeout: 120_000 });
    await stage.picture(editor.page, 'merged');
    await panel.getByRole('link', { name: 'Statechart' }).click();
    await panel.locator('svg').first().waitFor();
    await stage.picture(editor.page, 'statechart');
  },
};
