/** The window is loaded anew, as soon as a panel was opened and later: the panel comes back, as it was left, and once. */
import assert from 'node:assert/strict';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'reload',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.line(/Waiting for approval/).click();
    const panel = editor.webView;
    const part = panel.getByRole('link', { name: 'Statechart' });
    await part.click();
    await panel.locator('svg').first().waitFor();
    // The editor itself has noted nothing of it down yet, or an older state: it does so every few seconds.
    const tabs = editor.page.getByRole('tab', { name: /^Create login flow/ });
    for (const time of ['first', 'second']) {
      await editor.reload();
      await panel.getByRole('heading', { name: DEMO_REQUEST, level: 1 }).waitFor({ timeout: 60_000 });
      await panel.locator('a[aria-current]', { hasText: 'Statechart' }).waitFor();
      assert.equal(await tabs.count(), 1, 'The panel is there once.');
      await stage.picture(editor.page, `${time}-time`);
    }
    // It is alive: what happens elsewhere is heard of.
    await server.approve(id);
    await panel.getByText(/^Decided elsewhere: Plan approved by /).waitFor();
  },
};
