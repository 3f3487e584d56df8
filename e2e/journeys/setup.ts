/** The dashboard of a server that has no key: each wrong key is named, the right one makes a run possible at once. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { parseScript } from '../../packages/orchestrator/src/models/script.ts';
import { startKeyedProvider } from '../../packages/orchestrator/test/models/keyed-provider.fixture.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import { ROOT } from '../harness/install.ts';
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

const KEY = `journey-key-${'w4'.repeat(16)}`;
const DEMO_SCRIPT = path.join(ROOT, 'packages', 'orchestrator', 'demo', 'login.script.yaml');
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

export const journey: Journey = {
  name: 'setup',
  async play(stage) {
    const script = parseScript(await readFile(DEMO_SCRIPT, 'utf8'), DEMO_SCRIPT);
    const provider = await startKeyedProvider(script, KEY);
    stage.atEnd(() => provider.stop());
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: '' } });
    await installAgent(path.join(server.place.folder, 'home', '.local', 'bin'));
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.setViewportSize(DESK);
    await page.goto(await server.client.createSignInLink());
    // In place of a list of no runs.
    await page.getByText('Runs need a model.').waitFor();
    await page.getByText('npm run demo').waitFor();
    await checkAccessibility(page, 'Setup without a key');
    await stage.picture(page, 'nothing-yet');

    await page.getByRole('link', { name: 'Setup' }).click();
    await page.waitForURL('**/setup');
    const key = page.getByLabel('Key', { exact: true });
    await key.fill(`sk-proj-${'a1'.repeat(20)}`);
    await give(page);
    await page.getByText('This looks like an OpenAI key, not like a key of Anthropic.').waitFor();
    await key.fill('"quoted"');
    await give(page);
    await page.getByText('The key has quotation marks around it.').waitFor();
    await checkAccessibility(page, 'Setup with a refused key');
    await stage.picture(page, 'wrong-key');

    await page.getByLabel('Provider').selectOption('openai-compatible');
    await page.getByLabel('Address').fill(provider.baseUrl);
    const own = page.getByLabel('Key (may stay empty)');
    await own.fill('not-the-key-of-it');
    await give(page);
    await page.getByText('refuses the key: it is wrong or was deleted.').waitFor();
    await own.fill(KEY);
    await give(page);
    await page.getByText('Ready. Runs use openai-compatible:test.').waitFor();
    assert.ok(!(await page.content()).includes(KEY));
    assert.equal((await stat(path.join(server.place.data, 'keys.json'))).mode & 0o777, 0o600);
    await checkAccessibility(page, 'Setup with a key');
    await stage.picture(page, 'ready');
    await page.emulateMedia({ colorScheme: 'dark' });
    await stage.picture(page, 'in-the-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(PHONE);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `the page is ${width} px wide on a phone of ${PHONE.width}`);
    await stage.picture(page, 'on-a-phone');
    await page.setViewportSize(DESK);

    await page.locator('.standing').getByRole('link', { name: 'New run' }).click();
    await page.getByLabel('What is to be done?').fill(DEMO_REQUEST);
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL('**/runs/*');
    const id = new URL(page.url()).pathname.split('/')[2] ?? '';
    await server.heard(id, 'APPROVAL_REQUESTED');
    assert.equal((await server.client.getRun(id)).scriptedModels.length, 0);
    await server.client.cancelRun(id);
    assert.ok(!server.log().includes(KEY));

    // Given after a restart as well, and taken away again.
    await server.kill();
    await server.restart();
    await page.goto(await server.client.createSignInLink());
    await page.goto(`${server.url}/setup`);
    await page.getByText('Ready. Runs use openai-compatible:test.').waitFor();
    await page.getByRole('button', { name: 'Remove key' }).click();
    await page.getByText('Runs need a model.').waitFor();
    await page.goto(`${server.url}/launch`);
    await page.getByText('No model can be used yet').waitFor();
    await stage.picture(page, 'no-model-to-launch-with');
  },
};

async function give(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Test and use' }).click();
}

/** The command line of Codex, without the program by which others use it. */
async function installAgent(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'codex'), '#!/bin/sh\necho "codex-cli 0.161.0"\n');
  await chmod(path.join(folder, 'codex'), 0o755);
}
