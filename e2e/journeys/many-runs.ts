/** Five hundred runs: the trees stay a list that can be opened, scrolled to its end and acted upon. */
import assert from 'node:assert/strict';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const RUNS = 500;
const CANCELLED_EVERY = 10;
const WAITING = RUNS - RUNS / CANCELLED_EVERY;
/** Of all rows, the one that comes at the end included, and of two headings. */
const HEIGHT_PX = (RUNS + 1) * 64 + 2 * 36;

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

    await inBrowser(stage, server);
    return `trees of ${RUNS} runs shown after ${shownMs} ms`;
  },
};

/** The list has what is open and the newest of what is over; the rest comes when its end is near, and all for a search. */
async function inBrowser(stage: Stage, server: Server): Promise<void> {
  const { page } = await stage.openWindow();
  page.setDefaultTimeout(30_000);
  await page.goto(await server.client.createSignInLink());
  const rows = page.locator('.rows');
  await page.getByRole('heading', { name: `Waiting for you ${WAITING + 1}` }).waitFor();
  // What is out of sight is not in the page: the wheel brings it there.
  await rows.hover();
  // Each page of older runs moves the end away.
  const height = () => rows.evaluate(({ scrollHeight }) => scrollHeight);
  for (let tries = 100; tries > 0 && (await height()) !== HEIGHT_PX; tries -= 1) {
    await page.mouse.wheel(0, 100_000);
    await page.waitForTimeout(200);
  }
  assert.equal(await height(), HEIGHT_PX);
  await page.mouse.wheel(0, 100_000);
  await page.getByText('cancelled').first().waitFor();
  await stage.picture(page, 'finished');

  await page.reload();
  await page.getByLabel('Search runs').fill('cancelled');
  await page.getByRole('heading', { name: `Finished ${RUNS / CANCELLED_EVERY}`, exact: true }).waitFor();
  assert.equal(await page.getByText('Looking through older runs').count(), 0);
}
