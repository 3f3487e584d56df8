/** World that outlives the servers of a point: the remote, the forge, the models, and the decisions of people so far. */
import type { LocalSite } from '../src/web-pages/local-web.fixture.ts';
import type { Asked } from '../test/fixtures/scripted-provider.fixture.ts';
import type { PointForge } from './forge.ts';
import type { Place } from './place.ts';

/** A request that a model was asked, whether it got its answer or not. */
export type ModelRequest = Pick<Asked, 'role' | 'call' | 'turn'> & { readonly model: string };

export interface World {
  readonly place: Place;
  readonly models: { readonly baseUrl: string; readonly apiKey: string };
  /** `null` where the scenario has none. */
  readonly forge: PointForge | null;
  /** `null` where the scenario has none. */
  readonly web: LocalSite | null;
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
