/** The first window after the extension was installed: no server is there, the views say what to do, and one is started. */
import path from 'node:path';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'first-start',
  async play(stage) {
    const program = path.join(ROOT, 'packages', 'orchestrator', 'src', 'main.ts');
    const editor = await stage.openEditor({
      settings: { 'autonomous.server.command': [process.execPath, program, 'serve', '--port', '0'] },
    });
    await editor.openViews();
    const start = editor.button('Start Local Server').first();
    await start.waitFor();
    await editor.button(/^Autonomous: No server is connected/).waitFor();
    await stage.picture(editor.page, 'welcome');

    await start.click();
    // A whole server is started meanwhile.
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor({ timeout: 60_000 });
    await stage.picture(editor.page, 'started');
  },
};
