/**
 * A server that this window did not start gets a key only after the person agreed, and keeps it in a file of its own. An agent
 * that is found there is refused without a sign-in, and chosen with the key.
 */
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseScript } from '../../packages/orchestrator/src/models/script.ts';
import { startScriptedProvider } from '../../packages/orchestrator/test/fixtures/scripted-provider.fixture.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
const KEY = `sk-ant-api03-${'k'.repeat(80)}-right`;

export const journey: Journey = {
  name: 'server-keys',
  async play(stage) {
    const provider = await startScriptedProvider({
      script: parseScript(await readFile(SCRIPT, 'utf8'), SCRIPT),
      format: 'messages',
      apiKey: KEY,
      faultFor: () => null,
    });
    stage.atEnd(() => provider.stop());
    const server = await stage.startServer({ env: { ANTHROPIC_BASE_URL: provider.baseUrl, AUTONOMOUS_SCRIPT: '' } });
    await installAgent(path.join(server.place.folder, 'home'));
    const file = path.join(server.place.data, 'keys.json');
    const reached = server.reachedBy();
    const editor = await stage.openEditor({
      ...reached,
      settings: { ...reached.settings, 'workbench.colorTheme': 'Default Dark Modern' },
    });
    const { page } = editor;
    await editor.openViews();
    const dialog = page.getByRole('dialog');
    await editor.button('Choose a Model').first().click();
    await stage.picture(page, 'models');
    await editor.choose(/Claude Code.*not signed in/);
    const unsigned = editor.notification(/Give the server an Anthropic key/);
    await unsigned.hover();
    await stage.picture(page, 'not-signed-in');
    await unsigned.getByRole('button', { name: 'Choose Something Else…' }).click();
    await editor.choose(/Paste a Key/);
    await dialog.getByText(`Give the key to ${server.url}?`).waitFor();
    await stage.picture(page, 'asked');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await assert.rejects(stat(file), /ENOENT/);

    await editor.button('Choose a Model').first().click();
    await editor.choose(/OpenAI(?!-).*no key/);
    await dialog.getByRole('button', { name: 'Give It to This Server' }).click();
    // Its beginning tells whose key it is: nobody is asked about it.
    await editor.type(KEY);
    await page.locator('.quick-input-widget', { hasText: /looks like .*Anthropic/ }).waitFor();
    await stage.picture(page, 'of-another-provider');
    await page.keyboard.press('Escape');

    await editor.button('Choose a Model').first().click();
    await editor.choose(/Anthropic.*no key/);
    await dialog.getByRole('button', { name: 'Give It to This Server' }).click();
    await editor.type(KEY);
    await editor.notification(/Anthropic is ready.*is kept by the server/).waitFor();
    await stage.picture(page, 'kept');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.ok((await readFile(file, 'utf8')).includes(KEY));

    // The agent works with the key, and is asked to open a session before it is chosen.
    await editor.command('Autonomous: Choose a Model…');
    await editor.choose(/Claude Code.*ready/);
    await page.locator('.quick-input-title', { hasText: 'Which roles does Claude Code perform' }).waitFor();
    await stage.picture(page, 'roles');
    await page.keyboard.press('Enter');
    await editor.notification(/New runs use Claude Code for/).waitFor();
    const { defaultModels } = await server.client.getSetup();
    assert.deepEqual(new Set(Object.values(defaultModels)), new Set(['acp:claude']));

    await editor.command('Autonomous: Choose a Model…');
    await editor.choose(/Anthropic.*kept by the server/);
    await editor.choose('Forget the Key');
    await editor.notification('The key of Anthropic is forgotten.').waitFor();
    assert.ok(!(await readFile(file, 'utf8').catch(() => '')).includes(KEY));
  },
};

/** A program as npm installs it for one user, which opens a session when it is given a key. */
async function installAgent(home: string): Promise<void> {
  const name = 'claude-agent-acp';
  const folder = path.join(home, '.npm-global', 'lib', 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name, version: '1.2.3', type: 'module' }));
  await writeFile(path.join(folder, 'main.js'), AGENT);
  await chmod(path.join(folder, 'main.js'), 0o755);
  await mkdir(path.join(home, '.npm-global', 'bin'));
  await symlink(path.join('..', 'lib', 'node_modules', name, 'main.js'), path.join(home, '.npm-global', 'bin', name));
}

const AGENT = `#!/usr/bin/env node
import { createInterface } from 'node:readline';
const answer = (id, part) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...part }));
const isSignedIn = Boolean(process.env.ANTHROPIC_API_KEY);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'initialize')
    answer(id, { result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [{ id: 'login', name: 'Log in' }] } });
  if (method === 'session/new')
    answer(id, isSignedIn ? { result: { sessionId: 's' } } : { error: { code: -32000, message: 'Authentication required' } });
});
`;
