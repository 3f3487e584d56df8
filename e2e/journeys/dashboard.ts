/** The dashboard in a browser: signed in by a link, a run followed from its plan to its merge, on a phone, and without its server. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import { checkDiagram } from '../harness/diagram.ts';
import { DEMO_REQUEST } from '../harness/server.ts';
import { type Journey, Skipped } from '../harness/stage.ts';

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };

export const journey: Journey = {
  name: 'dashboard',
  async play(stage) {
    const server = await stage.startServer();
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    const answer = await page.goto(server.url);
    if (answer?.status() === 404) throw new Skipped('this server serves no dashboard');
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    await checkAccessibility(page, 'The page of a stranger');
    await stage.picture(page, 'not-signed-in');

    await page.goto(await server.client.createSignInLink());
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByText('No runs yet').waitFor();
    await stage.picture(page, 'no-runs');

    const { id } = await server.launch();
    const row = page.getByRole('link', { name: DEMO_REQUEST });
    await page.getByRole('heading', { name: /Waiting for you/ }).waitFor();
    await checkAccessibility(page, 'The list of runs');
    await stage.picture(page, 'runs');
    await row.click();
    await page.getByRole('heading', { name: DEMO_REQUEST, level: 1 }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/runs/${id}`);
    // The plan's diagrams are drawn here.
    await checkDiagram(page.locator('.diagram svg').first());
    await checkAccessibility(page, 'A plan');
    await stage.picture(page, 'plan');
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await stage.readmePicture(page, `dashboard-${colorScheme}`);
    }
    await onPhone(page, () => stage.picture(page, 'plan-on-a-phone'));

    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Which OAuth providers shall people sign in with?' }).waitFor();
    await checkAccessibility(page, 'A question');
    await stage.picture(page, 'question');
    await page.getByRole('radio', { name: 'Google and GitHub' }).click();
    await page.getByRole('button', { name: /^(?:Answer|Send)/ }).click();
    await page.getByText(/^Merged into main/).waitFor({ timeout: 90_000 });
    await stage.picture(page, 'merged');

    for (const tab of ['Plan', 'Changes', 'Evidence', 'Transcript', 'Statechart']) {
      await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: tab }).click();
      await page.waitForURL(`**/runs/${id}/${tab.toLowerCase()}`);
      await page.waitForLoadState('networkidle');
      await checkAccessibility(page, tab);
      await stage.picture(page, tab.toLowerCase());
    }

    // A deep link, in a window that has never seen the run.
    await page.goto(`${server.url}/runs/${id}/evidence`);
    await page.getByRole('heading', { name: DEMO_REQUEST, level: 1 }).waitFor();
    await page.goto(server.url);
    await page.getByRole('heading', { name: /Finished/ }).waitFor();
    await onPhone(page, () => stage.picture(page, 'runs-on-a-phone'));

    // Without the server it says so and keeps what it knows. The next process knows this browser still.
    await server.kill();
    const offline = page.getByRole('status').filter({ hasText: 'Offline: trying again…' });
    await offline.waitFor();
    assert.ok(await row.isVisible(), 'What was known stays on the page.');
    await stage.picture(page, 'server-killed');
    await server.restart();
    await offline.waitFor({ state: 'hidden', timeout: 60_000 });
    await page.reload();
    await row.waitFor();

    // Signed out from elsewhere: what is open notices by itself, and a link lets it in again.
    await server.client.signOut({ everywhere: true });
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    await page.goto(await server.client.createSignInLink());
    await row.waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    assert.equal(await row.count(), 0);
    await page.reload();
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
  },
};

/** @throws when what is shown is wider than a phone */
async function onPhone(page: Page, look: () => Promise<void>): Promise<void> {
  await page.setViewportSize(PHONE);
  await look();
  const { scrollWidth } = await page.evaluate(() => ({ scrollWidth: document.documentElement.scrollWidth }));
  await page.setViewportSize(DESK);
  assert.ok(scrollWidth <= PHONE.width, `the page is ${scrollWidth} px wide on a phone of ${PHONE.width}`);
}
