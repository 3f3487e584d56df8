/** A run that is trusted with everything stops before the merge: the gate says what a person has to see, and the diff shows it. */
import assert from 'node:assert/strict';
import path from 'node:path';
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
    await page.getByText('One file needs a closer look:').waitFor();
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
    const { scrollWidth } = await page.evaluate(() => ({ scrollWidth: document.documentElement.scrollWidth }));
    assert.ok(scrollWidth <= PHONE.width, `the page is ${scrollWidth} px wide on a phone`);

    await page.getByRole('button', { name: 'Approve' }).click();
    const { acceptedConcerns = [] } = await server.heard(id, 'RUN_COMPLETED');
    assert.deepEqual(
      acceptedConcerns.map(({ kind, by }) => `${kind} by ${by}`),
      ['runs_code by local', 'memory by local'],
    );
  },
};
