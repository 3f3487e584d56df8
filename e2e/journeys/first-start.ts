/** The first window after the extension was installed: no server is there, and the views say what to do. */
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'first-start',
  async play(stage) {
    const editor = await stage.openEditor();
    await editor.openViews();
    await editor.button('Connect').waitFor();
    await stage.picture(editor.page, 'welcome');
  },
};
