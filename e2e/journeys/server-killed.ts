/** The server dies without a word while the window is open, and comes back: nothing that is shown pretends to be new. */
import assert from 'node:assert/strict';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'server-killed',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    const plan = editor.line(/Waiting for approval/);
    await plan.waitFor();

    await server.kill();
    await editor.button(/^Autonomous: .*\boffline\b|^Autonomous: http.*: /).waitFor();
    await editor.views.getByText(/^Not connected: what is shown may be old/).waitFor();
    assert.ok(await plan.isVisible(), 'The runs that were known stay in the tree.');
    await stage.picture(editor.page, 'offline');

    await server.restart();
    await editor.button(/^Autonomous: 1 waiting for you/).waitFor({ timeout: 60_000 });
    await editor.actOn(plan, /^Approve/);
    await editor.line(/Waiting for an answer/).waitFor({ timeout: 60_000 });
    await stage.picture(editor.page, 'back');
  },
};
