/** Links to a run, a gate and an event: through signing in, to what is decided meanwhile, and to what there is not. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'links',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    const run = await server.heard(id, 'APPROVAL_REQUESTED');
    const gateId = run.gate?.id ?? '';
    const number = gateId.slice(id.length + 1);

    // A stranger's link is kept while they sign in.
    const { page, context } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${server.url}/runs/${id}/gates/${number}`);
    await page.getByText(`You come back to /runs/${id}/gates/${number}`).waitFor();
    await checkAccessibility(page, 'Signing in');
    await stage.picture(page, 'sign-in-keeps-the-link');
    await page.getByRole('textbox', { name: 'The link that signs in' }).fill(await server.client.createSignInLink());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`**/runs/${id}/gates/${number}`);
    await page.locator('.gate.marked').waitFor();
    assert.equal(await focused(page), 'gate marked');
    await page.locator('.diagram svg').first().waitFor();
    await checkAccessibility(page, 'A gate that a link leads to');
    await stage.picture(page, 'gate');

    await page.getByRole('button', { name: 'Copy the link to this gate' }).click();
    await page.getByText('Copied').waitFor({ state: 'attached' });
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${server.url}/runs/${id}/gates/${number}`);

    // Signed in by another tab: this one goes on where it wanted to go.
    const stranger = await stage.openWindow();
    await stranger.page.goto(`${server.url}/runs/${id}/events/3`);
    await stranger.page.getByText('You come back to').waitFor();
    const other = await stranger.context.newPage();
    await other.goto(await server.client.createSignInLink());
    await other.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    // No window of this browser has the focus: what it would tell the page is told by hand.
    await stranger.page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await stranger.page.locator('.events li.marked').waitFor();
    assert.equal(await focused(stranger.page), 'marked');
    assert.match((await stranger.page.locator('.events li.marked').textContent()) ?? '', /^3 /);
    await checkAccessibility(stranger.page, 'An event that a link leads to');
    await stage.picture(stranger.page, 'event');

    // Decided while it is looked at, and looked at when it is decided.
    await server.approve(id);
    await page.getByText(/This gate is decided: Plan approved by local/).waitFor();
    await stage.picture(page, 'gate-decided-meanwhile');
    await page.goto(`${server.url}/runs/${id}/gates/${gateId}`);
    await page.getByText(/This gate is decided: Plan approved by local/).waitFor();
    assert.equal(await focused(page), 'gate closed marked');

    for (const [path, says] of [
      [`/runs/${id}/gates/9999`, `Run ${id} has no gate ${id}.9999.`],
      [`/runs/${id}/gates/2`, `Run ${id} has no gate ${id}.2.`],
      [`/runs/${id}/events/9999`, `Run ${id} has no event 9999`],
      ['/runs/nobody-knows', 'There is no run nobody-knows here'],
      ['/explorations/x-nothing', 'There is no exploration x-nothing.'],
    ] as const) {
      await page.goto(server.url + path);
      await page.getByText(says).waitFor();
    }
    await stage.picture(page, 'unknown');
    await page.goto(`${server.url}/runs/nobody-knows`);
    await page.getByRole('link', { name: 'All runs' }).click();
    await page.getByRole('link', { name: DEMO_REQUEST }).waitFor();
    // No link is taken for another page of ours.
    const away = await fetch(`${await server.client.createSignInLink()}&to=${encodeURIComponent('//example.com/')}`, {
      redirect: 'manual',
    });
    assert.equal(away.headers.get('location'), '/');
  },
};

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.className ?? '');
}
