/** A folder that the person does not trust: runs are shown and decided, and no setting of the folder counts. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'restricted-mode',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-e2e-hostile-'));
    try {
      await mkdir(path.join(folder, '.vscode'));
      // A repository that wants the person's decisions, or a program started.
      const hostile = {
        'autonomous.serverUrl': 'http://127.0.0.1:9',
        'autonomous.server.command': ['touch', path.join(folder, 'started')],
        'autonomous.server.autoStart': true,
      };
      await writeFile(path.join(folder, '.vscode', 'settings.json'), JSON.stringify(hostile));
      const reached = server.reachedBy();
      const editor = await stage.openEditor({
        ...reached,
        settings: { ...reached.settings, 'security.workspace.trust.startupPrompt': 'never' },
        folder,
        restricted: true,
      });
      await editor
        .button(/Restricted Mode/)
        .first()
        .waitFor();
      await editor.openViews();
      const plan = editor.line(/Waiting for approval/);
      await plan.waitFor();
      await stage.picture(editor.page, 'restricted');
      await editor.actOn(plan, /^Approve/);
      await editor.webView.getByRole('button', { name: 'Approve' }).click();
      await editor.line(/Waiting for an answer/).waitFor();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
