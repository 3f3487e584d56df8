/** Makes the world of a scenario: its remote, its forge, its web and its models. */
import type { Script } from '../src/models/script.ts';
import { anArticle, type LocalSite, respond, startLocalSite } from '../src/web-pages/local-web.fixture.ts';
import { startScriptedProvider } from '../test/fixtures/scripted-provider.fixture.ts';
import { openForge } from './forge.ts';
import { commitAsColleague, type Place } from './place.ts';
import { type Scenario, WEB } from './scenario.ts';
import type { ModelRequest, World } from './world.ts';

const API_KEY = 'the-key-of-the-sweep';

export async function makeWorld(scenario: Scenario, place: Place): Promise<World> {
  const forge = scenario.forge === true ? await openForge(place.folder) : null;
  const requests: ModelRequest[] = [];
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isReleased = false;
  const web = scenario.web === undefined ? null : await startLocalSite(pagesOf(scenario.web));
  const script: Script = { name: 'sweep', roles: rolesOf(scenario, web) };
  const provider = await startScriptedProvider({
    script,
    format: 'chat/completions',
    apiKey: API_KEY,
    faultFor: (asked) => (isReleased ? null : (scenario.faultFor?.(asked) ?? null)),
    async onAsked(asked) {
      const { role, call, turn, model } = asked;
      requests.push({ role, call, turn, model });
      if (isReleased || scenario.holds?.(asked) !== true) return;
      held.resolve();
      await released.promise;
    },
  });
  const release = (): void => {
    isReleased = true;
    released.resolve();
  };

  return {
    place,
    models: { baseUrl: provider.baseUrl, apiKey: API_KEY },
    forge,
    web,
    requests,
    held: held.promise,
    release,
    commit: (message, files) => commitAsColleague(place.remote, message, files),
    async remove() {
      release();
      await provider.stop();
      await forge?.close();
      await web?.close();
      await place.remove();
    },
  };
}

function pagesOf(web: NonNullable<Scenario['web']>): LocalSite['pages'] {
  return Object.fromEntries(
    Object.entries(web).map(([path, paragraphs]) => [path, respond('text/html', anArticle(path.slice(1), paragraphs))]),
  );
}

/** The roles with the web's own addresses. */
function rolesOf({ roles }: Scenario, web: LocalSite | null): Script['roles'] {
  if (web === null) return roles;
  return JSON.parse(JSON.stringify(roles).replaceAll(WEB, web.origin)) as Script['roles']; // as it was before
}
