/** The views of a window whose server takes no token of its, and of one whose server is nowhere; and the token that mends it. */
import { DEMO_REQUEST } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';

export const journey: Journey = {
  name: 'signed-out',
  async play(stage) {
    const server = await stage.startServer();
    const { id } = await server.launch();
    await server.heard(id, 'APPROVAL_REQUESTED');
    const editor = await stage.openEditor({ settings: { 'autonomous.serverUrl': NOWHERE } });
    await editor.openViews();
    await editor.button('Try Now').waitFor();
    await editor.views.getByText('The server does not answer').waitFor();
    await stage.picture(editor.page, 'nowhere');

    await editor.set({ 'autonomous.serverUrl': server.url });
    const setToken = editor.button('Set Token').first();
    await setToken.waitFor();
    await stage.picture(editor.page, 'signed-out');
    await setToken.click();
    await editor.type(server.token);
    await editor.line(new RegExp(`^${DEMO_REQUEST}`)).waitFor();
    await stage.picture(editor.page, 'signed-in');
  },
};
