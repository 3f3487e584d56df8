/**
 * A notification of a gate that somebody else decides meanwhile: it goes with its gate, and offers no approval of what it does
 * not show. What is pressed too late decides nothing.
 */
import assert from 'node:assert/strict';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

const MANUAL = { trustMode: { planning: 'manual', implementation: 'manual' } } as const;

export const journey: Journey = {
  name: 'old-notification',
  async play(stage) {
    const server = await stage.startServer();
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();

    const { id } = await server.launch(DEMO_REQUEST, MANUAL);
    const ofPlan = editor.notification('Review the plan');
    await ofPlan.getByRole('link', { name: 'Review' }).waitFor();
    await stage.picture(editor.page, 'plan');
    // The plan adds to the project's memory, which a notification does not show: it is approved in the review alone.
    assert.equal(
      await ofPlan.getByRole('link', { name: 'Approve' }).count(),
      0,
      'a notification approves what it hides',
    );
    await server.approve(id);
    await ofPlan.waitFor({ state: 'detached' });

    const ofQuestion = editor.notification('Which OAuth providers');
    await ofQuestion.getByRole('link', { name: 'Answer' }).click();
    await editor.choose('Google and GitHub');
    await ofQuestion.waitFor({ state: 'detached' });

    // The result of it waits, and nothing of the plan's notification is left to be pressed.
    const ofResult = editor.notification('Review the result');
    await ofResult.waitFor({ timeout: 90_000 });
    assert.equal(await ofPlan.count(), 0, 'the notification of the plan is still there');
    await editor.command('Notifications: Show Notifications');
    await editor.page.locator('.notifications-center').waitFor();
    await stage.picture(editor.page, 'result');
    assert.equal(
      await editor.page
        .locator('.notifications-center .notification-list-item', { hasText: 'Review the plan' })
        .count(),
      0,
      'the notification of the plan is still in the list',
    );
    await editor.command('Notifications: Hide Notifications');

    const { gate } = await server.client.getRun(id);
    assert.equal(gate?.kind, 'implementation');
    await editor.actOn(editor.line(/^Create login flow with OAuth, .*Waiting for approval/), /^Approve/);
    // The implementer's decisions go into the memory, too.
    await editor.webView.getByRole('button', { name: 'Approve' }).click();
    await editor.line(/^Create login flow with OAuth, .*Completed/).waitFor({ timeout: 90_000 });
    await ofResult.waitFor({ state: 'detached' });
    const run = await server.client.getRun(id);
    assert.deepEqual(
      run.gates.map(({ decision }) => decision),
      ['approve', 'answer', 'approve'],
    );
  },
};
