/** Five hundred runs: the trees stay a list that can be opened, scrolled to its end and acted upon. */
import assert from 'node:assert/strict';
import type { Journey } from '../harness/stage.ts';

const RUNS = 500;
const CANCELLED_EVERY = 10;
const WAITING = RUNS - RUNS / CANCELLED_EVERY;

export const journey: Journey = {
  name: 'many-runs',
  async play(stage) {
    const server = await stage.startServer();
    await server.launchMany(RUNS, CANCELLED_EVERY);
    const editor = await stage.openEditor(server.reachedBy());
    await editor.button(new RegExp(`^Autonomous: ${WAITING} waiting for you, 0 active`)).waitFor({ timeout: 60_000 });
    const startedAt = performance.now();
    await editor.openViews();
    const lines = editor.line(/Waiting for an answer/);
    await lines.first().waitFor();
    const shownMs = Math.round(performance.now() - startedAt);
    await stage.picture(editor.page, 'trees');
    const drawn = await lines.count();
    assert.ok(drawn < RUNS / 2, `${drawn} lines are drawn at once`);

    await editor.command('Focus on Waiting for You View');
    await editor.press('End', editor.page.locator(`[role=treeitem][aria-posinset="${WAITING}"]`).first());
    await stage.picture(editor.page, 'end-of-list');

    // What comes now finds its place in them.
    await server.launchMany(1, RUNS);
    await editor.button(new RegExp(`^Autonomous: ${WAITING + 1} waiting for you`)).waitFor();
    return `trees of ${RUNS} runs shown after ${shownMs} ms`;
  },
};
