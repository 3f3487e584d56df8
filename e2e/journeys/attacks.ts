/**
 * Hostile texts in the dashboard and in the editor: what agents, models, people and repositories write is shown as words. The
 * cases bear the ids under which the security review knows them. All are looked at side by side, since much of it is waiting.
 */
import path from 'node:path';
import { drawInDashboard, readInDashboard } from '../harness/attacks-in-dashboard.ts';
import { lookInEditor } from '../harness/attacks-in-editor.ts';
import { makeHistoryHostile } from '../harness/hostile-history.ts';
import { startHostileProvider } from '../harness/hostile-provider.ts';
import { IN_EDITOR, launchHostile, type Stopped } from '../harness/hostile-runs.ts';
import { TITLE } from '../harness/hostile-words.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const HOSTILE = path.join(ROOT, 'e2e', 'scripts', 'hostile.script.yaml');
const CALLER = path.join(ROOT, 'e2e', 'harness', 'hostile-caller.ts');

export const journey: Journey = {
  name: 'attacks',
  async play(stage) {
    const provider = await startHostileProvider();
    stage.atEnd(() => provider.stop());
    const server = await stage.startServer({
      env: {
        AUTONOMOUS_SCRIPT: HOSTILE,
        OPENAI_COMPATIBLE_BASE_URL: provider.url,
        // Where there is another provider, a script is played by name alone.
        DEFAULT_PLANNER_MODEL: 'scripted:hostile',
        DEFAULT_IMPLEMENTER_MODEL: 'scripted:hostile',
        DEFAULT_VALIDATOR_MODEL: 'scripted:hostile',
      },
      imports: [CALLER],
    });
    // It takes longest of all.
    const opened = stage.openEditor({ ...server.reachedBy() });
    // The editor tells of them first; where it fails, nobody waits for the rest.
    const stopped = Promise.withResolvers<Stopped>();
    stopped.promise.catch(() => undefined);
    opened.catch(stopped.reject);
    try {
      await makeHistoryHostile(server.place);
      const titles = [IN_EDITOR, TITLE, TITLE];
      const [one = '', two = '', three = ''] = await Promise.all(titles.map((title) => launchHostile(server, title)));
      const looked = opened.then((editor) => lookInEditor(stage, server, editor, one, stopped.resolve));
      looked.catch(stopped.reject);
      await Promise.all([
        looked,
        drawInDashboard(stage, server, two),
        readInDashboard(stage, server, three, stopped.promise),
      ]);
    } finally {
      // What is being opened can only be taken down when it is there.
      await opened.catch(() => undefined);
    }
  },
};
