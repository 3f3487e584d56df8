/**
 * A plan is questioned, sent back, compared with what it was, and approved; what it requires is followed from the diagram to the
 * list and back by keys alone, until the run's evidence says how each stands. In light and dark, high contrast and on a phone.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import { checkDiagram } from '../harness/diagram.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const TWO_PLANS = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };

export const journey: Journey = {
  name: 'plan-review',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: TWO_PLANS } });
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    const { id } = await server.launch('A login');
    await page.goto(`${server.url}/runs/${id}/plan`);
    await page.locator('.diagram svg').first().waitFor();

    // The field that a button opens has the focus, also where another one was open.
    await page.getByRole('button', { name: 'Send back…' }).press('Enter');
    await focusIn(page, 'What should be different?');
    await page.getByRole('button', { name: 'Ask…' }).press('Enter');
    await focusIn(page, 'Your question');
    await page.keyboard.type('Where is the state kept?');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByText('In memory, since one process serves the application.').waitFor();
    await stage.picture(page, 'answered');

    await page.getByRole('button', { name: 'Send back…' }).click();
    await page.getByRole('textbox', { name: 'What should be different?' }).fill('With a logout.');
    // The gate of the next plan may be there before its text.
    const { promise: mayCome, resolve: comes } = Promise.withResolvers<void>();
    await page.route('**/artifacts/*', async (route) => {
      await mayCome;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Send back', exact: true }).click();
    await page.getByRole('heading', { name: "Review the plan 'Login flow with a logout'" }).waitFor();
    await page.getByRole('alert').getByText('This is older than what you decide about.').waitFor();
    comes();
    await page.getByRole('heading', { name: 'Login flow with a logout', level: 1, exact: true }).waitFor();
    assert.equal(await page.getByText('This is older than what you decide about.').count(), 0);
    await checkDiagram(page.locator('.diagram svg').first());
    await followADemand(page);
    await zoom(page);
    await stage.picture(page, 'second-plan');

    await compare(page);
    await checkAccessibility(page, 'What changed between two plans');
    await inEveryLook(stage, page, 'changes');
    await page.getByRole('combobox', { name: 'Compare with' }).click();
    await page.getByRole('option', { name: 'nothing' }).click();

    await page.getByRole('button', { name: 'Approve' }).click();
    await server.heard(id, 'RUN_MERGED');
    const constraints = page.getByRole('complementary', { name: 'What the plan requires' });
    await constraints.getByText('Not decided').first().waitFor();
    await constraints
      .getByText(/mentioned at src\/login\.js/)
      .first()
      .waitFor();
    const login = page.getByRole('button', { name: '/login: requires /login: Not decided' });
    await login.waitFor();
    await checkAccessibility(page, 'How constraints stand');
    await inEveryLook(stage, page, 'constraints');
  },
};

/** From a node to its line in the list and back, by keys. */
async function followADemand(page: Page): Promise<void> {
  const node = page.getByRole('button', { name: '/logout: requires /logout: Not binding yet' });
  await node.focus();
  await page.keyboard.press('Enter');
  const item = page.locator('li:focus');
  await item.getByText('/logout', { exact: true }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => {
    const paper = document.activeElement;
    return paper?.shadowRoot?.activeElement?.getAttribute('aria-label')?.startsWith('/logout: requires') ?? false;
  });
}

async function zoom(page: Page): Promise<void> {
  const diagram = page.getByRole('group', { name: /^Plan, diagram/ }).first();
  const widthOf = (): Promise<number> =>
    page
      .locator('.diagram svg')
      .first()
      .evaluate((svg) => svg.getBoundingClientRect().width);
  const before = await widthOf();
  await diagram.focus();
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  assert.ok((await widthOf()) > before * 1.4, 'keys zoom');
  await page.keyboard.press('0');
  assert.ok(Math.abs((await widthOf()) - before) < 2, 'a key zooms back');
}

async function compare(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: 'Compare with' }).click();
  await page.getByRole('option', { name: 'Version 1' }).click();
  const changes = page.getByRole('list', { name: 'What changed' }).first();
  await changes.waitFor();
  assert.deepEqual(
    (await changes.getByRole('listitem').allTextContents()).map((text) => text.replace(/^\W\s*/, '')),
    [
      'Node “State is ours?” was “State is known?”.',
      'Node “/logout” is new.',
      'Node “/audit” was removed.',
      'Edge “State is ours?” → “/login” (“never seen”) was labelled “no”.',
      'Edge “/dashboard” → “/logout” is new.',
      'Edge “/login/start” → “/audit” was removed.',
    ],
  );
  // On the drawings, each by a sign and a line of its own.
  const [before, after] = [page.locator('.plan-changes .paper').nth(0), page.locator('.plan-changes .paper').nth(1)];
  await before.locator('.node.marked-removed', { hasText: '/audit' }).getByText('−').waitFor();
  await before.locator('path.marked-removed').waitFor();
  await after.locator('.node.marked-added', { hasText: '/logout' }).getByText('+').waitFor();
  await after.locator('.node.marked-changed', { hasText: 'State is ours?' }).waitFor();
  await after.locator('path.marked-changed').waitFor();
  await page.getByRole('list', { name: 'Signs on the diagrams' }).waitFor();
  await page
    .getByRole('region', { name: 'Source of both versions' })
    .getByText('1. The routes, and the way out.')
    .waitFor();
}

/** @throws when it is wider than a phone */
async function inEveryLook(stage: Stage, page: Page, name: string): Promise<void> {
  const drawn = page.locator('.diagram:not([aria-busy="true"]) svg').first();
  const see = async (look: string): Promise<void> => {
    await drawn.waitFor();
    await page.locator('.diagram').first().scrollIntoViewIfNeeded();
    await stage.picture(page, `${name}-${look}`);
  };
  await see('light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await see('dark');
  await page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active', contrast: 'more' });
  await see('high-contrast');
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', contrast: 'no-preference' });
  await page.setViewportSize(PHONE);
  await see('phone');
  const scrollWidth = await page.evaluate(() =>
    Math.max(document.documentElement.scrollWidth, document.querySelector('main')?.scrollWidth ?? 0),
  );
  assert.ok(scrollWidth <= PHONE.width, `the page is ${scrollWidth} px wide on a phone of ${PHONE.width}`);
  await page.setViewportSize(DESK);
}

async function focusIn(page: Page, label: string): Promise<void> {
  await page.waitForFunction((name) => {
    const field = document.activeElement?.shadowRoot?.activeElement;
    return field?.tagName === 'TEXTAREA' && field.getAttribute('aria-label') === name;
  }, label);
}
