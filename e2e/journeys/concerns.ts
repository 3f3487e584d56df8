/** A run that is trusted with everything stops before the merge: the gate says what a person has to see, and the diff shows it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'asks-a-person.script.yaml');
const TRUSTED = { trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' } } as const;
const PHONE = { width: 390, height: 844 };

export const journey: Journey = {
  name: 'concerns',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const { id } = await server.launch('A greeting', TRUSTED);
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    await page.goto(`${server.url}/runs/${id}`);

    const seen = page.getByRole('region', { name: 'What you have to see' });
    await seen.waitFor({ timeout: 90_000 });
    await seen.getByRole('heading', { name: '2 changed files can run code by themselves' }).waitFor();
    await seen.getByRole('listitem').filter({ hasText: 'AGENTS.md' }).waitFor();
    await seen.getByRole('listitem').filter({ hasText: '.husky/pre-commit' }).waitFor();
    // It goes into the project's memory since a person sees it here.
    await seen.getByRole('listitem').filter({ hasText: 'title: A greeting' }).waitFor();
    await page.getByText('2 files need a closer look:').waitFor();
    await checkAccessibility(page, 'What a person has to see');
    await stage.picture(page, 'gate');

    await page.goto(`${server.url}/runs/${id}/changes`);
    const changed = page.getByRole('region', { name: 'Changes of src/greeting.js' });
    await changed.getByText('U+202E').first().waitFor();
    await changed.scrollIntoViewIfNeeded();
    await checkAccessibility(page, 'Hidden characters in a diff');
    await stage.picture(page, 'hidden-characters');
    await page.setViewportSize(PHONE);
    await stage.picture(page, 'on-a-phone');
    await checkPage(page);
    await checkRow(page, server.url);
    await stage.picture(page, 'list-on-a-phone');
    await page.goto(`${server.url}/runs/${id}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    const { acceptedConcerns = [] } = await server.heard(id, 'RUN_COMPLETED');
    assert.deepEqual(
      acceptedConcerns.map(({ kind, by }) => `${kind} by ${by}`),
      ['runs_code by local', 'memory by local'],
    );

    // Whatever part of the run is in sight, the gate of a plan says what is hidden in it, and how the base commit stands.
    const { id: planned } = await server.launch('A greeting', { trustMode: { planning: 'manual' } });
    await page.goto(`${server.url}/runs/${planned}/evidence`);
    await page.getByText('1 hidden character in the plan (U+200B).').waitFor({ timeout: 90_000 });
    await page.getByRole('article', { name: 'The base commit' }).getByText('The base commit: passed').waitFor();
    await checkAccessibility(page, 'A baseline');
    await stage.picture(page, 'plan-gate');
  },
};

/** It is as large as the window: what is longer scrolls within it. */
async function checkPage(page: Page): Promise<void> {
  const { width, height } = await page.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
  }));
  assert.ok(width <= PHONE.width, `the page is ${width} px wide on a phone`);
  assert.ok(height <= PHONE.height, `the page is ${height} px high on a phone`);
}

/** The title of a run that waits is in its row, above its facts. */
async function checkRow(page: Page, url: string): Promise<void> {
  await page.goto(url);
  const row = page.getByRole('link', { name: 'A greeting' });
  await row.waitFor();
  const {
    row: outer,
    title,
    facts,
  } = await row.evaluate((element) => {
    const box = (selector: string) => element.querySelector(selector)?.getBoundingClientRect().toJSON() as DOMRect;
    return { row: element.getBoundingClientRect().toJSON() as DOMRect, title: box('.request'), facts: box('.facts') };
  });
  const isWithin = outer.top <= title.top && title.bottom <= facts.top + 1 && facts.bottom <= outer.bottom;
  assert.ok(isWithin, `the row ends at ${outer.bottom}, its title at ${title.bottom}, its facts begin at ${facts.top}`);
}
