/**
 * From the packaged extension alone, without a checkout: the server is installed from a registry, the demo is approved, a key is
 * entered, refused and entered again, and the first run of one's own is merged.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { makePlace, removePlace } from '../../packages/orchestrator/demo/place.ts';
import { parseScript } from '../../packages/orchestrator/src/models/script.ts';
import { startScriptedProvider } from '../../packages/orchestrator/test/fixtures/scripted-provider.fixture.ts';
import { ROOT } from '../harness/install.ts';
import { startPackageRegistry } from '../../release/package-registry.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
/** Nothing of this repository. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';
const KEY = `sk-ant-api03-${'k'.repeat(80)}-right`;
const OTHER_KEY = `sk-ant-api03-${'k'.repeat(80)}-wrong`;
const INSTALLED_WITHIN_MS = 120_000;

export const journey: Journey = {
  name: 'first-run',
  async play(stage) {
    const { tarball, version } = await stage.serverPackage();
    const registry = await startPackageRegistry([tarball]);
    stage.atEnd(() => registry.close());
    const provider = await startScriptedProvider({
      script: parseScript(await readFile(SCRIPT, 'utf8'), SCRIPT),
      format: 'messages',
      apiKey: KEY,
      faultFor: () => null,
    });
    stage.atEnd(() => provider.stop());
    const place = await makePlace(null, null);
    stage.atEnd(() => removePlace(place, false));
    const editor = await stage.openEditor({
      env: {
        PATH: SYSTEM_PATH,
        npm_config_registry: registry.url,
        ANTHROPIC_BASE_URL: provider.baseUrl,
        DEFAULT_AUTO_MERGE: 'true',
        ORCHESTRATOR_PORT: '0',
        LOG_LEVEL: 'warn',
      },
    });
    const { page } = editor;
    const panel = editor.webView;
    await editor.openViews();
    await editor.button('Start Local Server').first().waitFor();
    await stage.picture(page, 'welcome');

    // A registry that has another file under the name.
    const content = await readFile(tarball);
    const damaged = Buffer.from(content);
    damaged[damaged.length - 9] = (damaged.at(-9) ?? 0) ^ 1;
    registry.tamper(path.basename(tarball), damaged);
    await editor.button('Start Local Server').first().click();
    const refused = editor.notification(/was not installed.*is not the package that this extension was built with/);
    await refused.waitFor({ timeout: INSTALLED_WITHIN_MS });
    await stage.picture(page, 'another-package');
    registry.tamper(path.basename(tarball), content);
    await refused.hover();
    await refused.getByRole('button', { name: 'Try Again' }).click();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: INSTALLED_WITHIN_MS });
    const storage = path.join(editor.host.home, 'profile', 'User', 'globalStorage', 'autonomous.autonomous', 'server');
    assert.deepEqual(await readdir(storage), [version]);
    await editor.button('Choose a Model').first().waitFor();
    await stage.picture(page, 'installed');

    await editor.button('Try the Demo').first().waitFor();
    await editor.command('Autonomous: Try the Demo');
    await page.getByRole('dialog').getByRole('button', { name: 'Stop It and Try the Demo' }).click();
    await panel.getByRole('heading', { name: /^Review the plan/ }).waitFor({ timeout: 60_000 });
    await stage.picture(page, 'demo');
    await panel.getByRole('button', { name: 'Approve' }).click();
    await panel.getByRole('radio').first().check();
    await panel.getByRole('button', { name: 'Answer' }).click();
    await editor
      .line(/Completed/)
      .first()
      .waitFor({ timeout: 90_000 });
    await stage.picture(page, 'demo-merged');

    await editor.command('Autonomous: Choose a Model…');
    await page.getByRole('dialog').getByRole('button', { name: 'End the Demo' }).click();
    await page.locator('.quick-input-title', { hasText: 'Which models do the work?' }).waitFor({ timeout: 60_000 });
    await stage.picture(page, 'models');
    await editor.choose(/Paste a Key/);
    const input = page.locator('.quick-input-widget input').first();
    await editor.type(OTHER_KEY);
    await page.locator('.quick-input-message', { hasText: /Anthropic/ }).waitFor();
    await page.locator('.quick-input-widget', { hasText: /refuse/ }).waitFor();
    assert.equal(await input.getAttribute('type'), 'password');
    await stage.picture(page, 'refused-key');
    await editor.type(`"${KEY}"\n`);
    const ready = editor.notification(/Anthropic is ready/);
    await ready.hover();
    await stage.picture(page, 'ready');
    await ready.getByRole('button', { name: 'Launch a Run…' }).click();

    await editor.accept('Which workflow?');
    await editor.type(place.remote);
    await editor.accept('Its name');
    // The project is added meanwhile.
    await page.locator('.quick-input-widget', { hasText: 'What should be done?' }).waitFor();
    await editor.type('A login');
    await editor.accept('What do you want to approve yourself?');
    await editor.accept('Enter takes the options that are named');
    await panel.getByRole('heading', { name: "Review the plan 'Login flow'" }).waitFor();
    await panel.getByRole('button', { name: 'Approve' }).click();
    await editor.line(/^A login, .*Completed/).waitFor({ timeout: 120_000 });
    await stage.picture(page, 'merged');
    const merged = execFileSync('git', ['-C', place.remote, 'show', 'main:src/login.js'], { encoding: 'utf8' });
    assert.match(merged, /login/);
    assert.ok(provider.served().length > 2);

    // A server that is started again has the key, and nothing on the disk names it.
    await editor.command('Autonomous: Stop Local Server');
    await editor.button(/^Autonomous: .*No Autonomous server answers/).waitFor();
    await editor.command('Autonomous: Start Local Server');
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 60_000 });
    await editor.command('Autonomous: Choose a Model…');
    await page
      .getByRole('option', { name: /Anthropic.*kept by this editor/ })
      .first()
      .waitFor();
    await stage.picture(page, 'key-again');
    const grep = execFileSync('sh', ['-c', `grep -rlF -- "${KEY}" "${editor.host.home}" || true`], {
      encoding: 'utf8',
    });
    assert.equal(grep, '');
  },
};
