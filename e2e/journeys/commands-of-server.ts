/** What the palette does with servers: a local one is started and ended, another one named, signed in to and looked at. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const PROGRAM = path.join(ROOT, 'packages', 'orchestrator', 'src', 'main.ts');

export const journey: Journey = {
  name: 'commands-of-server',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const data = await mkdtemp(path.join(tmpdir(), 'autonomous-e2e-data-'));
    stage.atEnd(() => rm(data, { recursive: true, force: true }));
    const local = [process.execPath, PROGRAM, 'serve', '--port', '0', '--data', data];
    const editor = await stage.openEditor({ settings: { 'autonomous.server.command': local } });
    const { page } = editor;
    const waiting = editor.button(/^Autonomous: 1 waiting for you/);
    await editor.openViews();
    await editor.command('Autonomous: Start Local Server');
    // A whole server is started meanwhile.
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 60_000 });
    await editor.command('Autonomous: Stop Local Server');
    await editor.button(/^Autonomous: No server is connected/).waitFor();
    await editor.command('Autonomous: Connect to Server…');
    await editor.type(server.url);
    // Another one than the local one: it has a token of its own.
    await page.locator('.quick-input-widget', { hasText: 'Token for' }).waitFor();
    await editor.type(server.token);
    await waiting.waitFor();
    await editor.command('Autonomous: Set Token…');
    await editor.type(server.token);
    await waiting.waitFor();

    await editor.command('Autonomous: Connect Again');
    await waiting.waitFor();
    await editor.command('Autonomous: Show Menu');
    await editor.choose('Show log');
    await showsLog(page);
    await editor.command('View: Hide Panel');
    await page.locator('.part.panel').waitFor({ state: 'hidden' });
    await editor.command('Autonomous: Show Log');
    await showsLog(page);
    await stage.picture(page, 'log');
    await editor.command('View: Hide Panel');
    const [dashboard] = await Promise.all([
      page.waitForEvent('popup'),
      editor.command('Autonomous: Open Dashboard in Browser'),
    ]);
    // This editor reaches ports of its machine below a path of its own, which the link keeps.
    const { port } = new URL(server.url);
    await dashboard.waitForURL(({ pathname, searchParams }) => {
      return pathname === `/proxy/${port}/auth` && searchParams.get('code') !== null;
    });
    await dashboard.close();

    // Nothing takes the place of the one that is set unasked.
    await editor.command('Autonomous: Start Local Server');
    const dialog = page.locator('.monaco-dialog-box', { hasText: 'is set as the server' });
    await stage.picture(page, 'another-server');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await waiting.waitFor();
  },
};

/** The output of the extension is chosen among all. */
async function showsLog(page: Page): Promise<void> {
  await page.locator('.part.panel').waitFor();
  await page.waitForFunction(() => {
    const boxes = document.querySelectorAll<HTMLSelectElement>('.part.panel select');
    return [...boxes].some(({ selectedOptions }) => selectedOptions[0]?.textContent === 'Autonomous');
  });
}
