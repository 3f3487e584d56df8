/** A run from its launch to its merge: its line leads to the review, where the plan is approved and the question answered. */
import assert from 'node:assert/strict';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'whole-run',
  async play(stage) {
    const server = await stage.startServer();
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
    await stage.picture(editor.page, 'no-runs');

    const { id } = await server.launch();
    const plan = editor.line(/^Create login flow with OAuth, .*Waiting for approval/);
    await plan.waitFor();
    const notice = editor.notification(DEMO_REQUEST);
    await notice.waitFor();
    await editor.icon.filter({ hasText: '1' }).waitFor();
    await stage.picture(editor.page, 'plan-waits');

    // Approval accepts the plan's additions to the project's memory as well, and the line does not show them.
    await editor.actOn(plan, /^Approve/);
    const review = editor.webView.getByRole('region', { name: 'What you have to see' });
    await review.getByRole('heading', { name: /^What the run adds to the project’s memory/ }).waitFor();
    await editor.notification('Nothing was decided yet.').waitFor();
    await stage.picture(editor.page, 'review');
    assert.equal((await server.client.getRun(id)).gate?.kind, 'plan');
    await editor.webView.getByRole('button', { name: 'Approve' }).click();
    await editor.line(/^Create login flow with OAuth, .*Waiting for an answer/).waitFor();
    // The notice disappears once its gate is decided.
    await notice.filter({ hasText: 'Review the plan' }).waitFor({ state: 'detached' });
    await editor.webView.getByRole('radio', { name: 'Google and GitHub' }).check();
    await stage.picture(editor.page, 'question');
    await editor.webView.getByRole('button', { name: 'Answer' }).click();

    await editor.line(/^Create login flow with OAuth, .*Completed/).waitFor({ timeout: 90_000 });
    await stage.picture(editor.page, 'merged');
    const run = await server.client.getRun(id);
    assert.equal(run.status, 'completed');
    assert.deepEqual(
      run.gates.map(({ decision }) => decision),
      ['approve', 'answer'],
    );
  },
};
