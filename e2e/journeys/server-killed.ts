/** The server dies without a word while the window is open, and comes back: nothing that is shown pretends to be new, or moves. */
import assert from 'node:assert/strict';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'server-killed',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    // Another one is under way and says nothing for as long as this journey takes.
    const bill = await server.client.launchRun({
      workflow: 'invoice',
      input: { customer: 'Ada', cents: 100, address: 'London' },
    });
    await server.heard(bill.id, 'APPROVAL_REQUESTED');
    await server.approve(bill.id);
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    const plan = editor.line(/Waiting for approval/);
    await plan.waitFor();
    await editor.line(/^invoice .*, Running/).waitFor();

    await server.kill();
    await editor.button(/^Autonomous: http.*: /).waitFor();
    await editor.views.getByText('Offline: trying again…').waitFor();
    assert.ok(await plan.isVisible(), 'The runs that were known stay in the tree.');
    await stage.picture(editor.page, 'offline');

    // The pointer rests on the line while the server comes back: what it is about to press stays under it.
    await plan.hover();
    const before = await plan.boundingBox();
    await server.restart();
    await editor.button(/^Autonomous: 1 waiting for you/).waitFor({ timeout: 60_000 });
    await editor.views.getByText('Offline: trying again…').waitFor({ state: 'hidden' });
    assert.deepEqual(await plan.boundingBox(), before, 'The line is where it was.');
    await editor.line(/^invoice .*, Resuming…/).waitFor();
    await stage.picture(editor.page, 'resuming');
    await plan.getByRole('button', { name: /^Approve/ }).click();
    await editor.webView.getByRole('button', { name: 'Approve' }).click();
    await editor.line(/Waiting for an answer/).waitFor({ timeout: 60_000 });
    await stage.picture(editor.page, 'back');
  },
};
