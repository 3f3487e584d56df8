/** World that outlives the servers of a point: the remote, the forge, the models, and the decisions of people so far. */
import type { Script } from '../src/models/script.ts';
import { type Asked, startScriptedProvider } from '../test/scripted-provider.fixture.ts';
import { openForge, type PointForge } from './forge.ts';
import { commitAsColleague, makePlace, type Place } from './place.ts';
import type { Scenario } from './scenario.ts';

/** A request that a model was asked, whether it got its answer or not. */
export type ModelRequest = Pick<Asked, 'role' | 'call' | 'turn'> & { readonly model: string };

export interface World {
  readonly place: Place;
  readonly models: { readonly baseUrl: string; readonly apiKey: string };
  /** `null` where the scenario has none. */
  readonly forge: PointForge | null;
  /** What the model server was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** Settles when a request is held. */
  readonly held: Promise<void>;
  /** Models answer everything from now on. May be called again. */
  release(): void;
  /** A colleague's commit on the remote's `main`, once by its message. */
  commit(message: string, files: Readonly<Record<string, string>>): Promise<void>;
  remove(): Promise<void>;
}

const API_KEY = 'the-key-of-the-sweep';

export async function makeWorld(scenario: Scenario, template: string): Promise<World> {
  const place = await makePlace(template);
  const forge = scenario.forge === true ? await openForge(place.folder) : null;
  const requests: ModelRequest[] = [];
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isReleased = false;
  const script: Script = { name: 'sweep', roles: scenario.roles };
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
    requests,
    held: held.promise,
    release,
    commit: (message, files) => commitAsColleague(place.remote, message, files),
    async remove() {
      release();
      await provider.stop();
      await forge?.close();
      await place.remove();
    },
  };
}
