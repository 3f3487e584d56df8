/** The dashboard page: speaks with the server that served it, by the browser's session. */
import { ApiError, createClient, createRunStore, syncRecentRuns } from '@autonomous/shared';
import { pathOf, type Screen, screenOf } from '../bridge.ts';
import { createPlaceStore, type Host } from './host.ts';
import { messageOf } from './messages.ts';

export function createDashboardHost(page: Window): Host {
  const client = createClient({ baseUrl: page.location.origin });
  const runs = createRunStore();
  const place = createPlaceStore(screenOf(page.location.pathname));
  page.addEventListener('popstate', () => place.trigger.went({ screen: screenOf(page.location.pathname) }));

  const fail = (error: unknown): void => {
    if (error instanceof ApiError && error.status === 401) place.trigger.signedIn({ signedIn: false });
    else place.trigger.failed({ message: messageOf(error) });
  };
  const connect = async (): Promise<void> => {
    await client.me();
    place.trigger.signedIn({ signedIn: true });
    const { signal } = new AbortController();
    await syncRecentRuns({ client, store: runs, signal, onFault: fail, defer: beforeNextFrame });
  };
  connect().catch(fail);

  return {
    kind: 'dashboard',
    client,
    runs,
    place,
    hrefOf: pathOf,
    go(screen: Screen) {
      const path = pathOf(screen);
      if (path !== page.location.pathname) page.history.pushState(null, '', path);
      place.trigger.went({ screen });
    },
  };
}

/** A page that nobody sees has no frames: there it is done now and then. */
const HIDDEN_MS = 250;

/** Acts once before the next frame is painted, so that all that came since the last one is drawn at once. */
function beforeNextFrame(act: () => void): void {
  const once = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    act();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_MS);
}
