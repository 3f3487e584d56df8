/** The trees and a run's page in dark, light and both kinds of high contrast. */
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

/** Names of themes, and the class by which a web view knows their kind. */
const THEMES = [
  ['Default Dark Modern', 'vscode-dark'],
  ['Default Light Modern', 'vscode-light'],
  ['Default High Contrast', 'vscode-high-contrast'],
  ['Default High Contrast Light', 'vscode-high-contrast-light'],
] as const;

export const journey: Journey = {
  name: 'themes',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    await server.launchMany(6, 3);
    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.line(/Waiting for approval/).click();
    for (const [theme, kind] of THEMES) {
      await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': theme });
      await editor.webView.locator(`body.${kind}`).waitFor();
      await editor.webView.getByRole('heading', { name: DEMO_REQUEST, level: 1 }).waitFor();
      await editor.webView.locator('.diagram svg').first().waitFor();
      await stage.picture(editor.page, kind.replace('vscode-', ''));
      if (!kind.includes('contrast')) await stage.readmePicture(editor.page, kind.replace('vscode-', 'editor-'));
    }
  },
};
