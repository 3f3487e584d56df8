/** The dashboard page: speaks with the server that served it, by the browser's session. */
import { ApiError, createClient, createRunStore, syncRecentRuns } from '@autonomous/shared';
import { feedNews } from '../connection-news.ts';
import { pathOf, type Screen, screenOf } from '../bridge.ts';
import { createPlaceStore, type Host } from './host.ts';
import { messageOf } from './messages.ts';

export function createDashboardHost(page: Window): Host {
  const client = createClient({ baseUrl: page.location.origin });
  const runs = createRunStore();
  const place = createPlaceStore(screenOf(page.location.pathname));
  runs.subscribe(({ context }) => {
    place.trigger.told({ news: feedNews(place.getSnapshot().context.news, context.connection) });
  });
  page.addEventListener('popstate', () => place.trigger.went({ screen: screenOf(page.location.pathname) }));

  const fail = (error: unknown): void => {
    if (error instanceof ApiError && error.status === 401) {
      // The server is there, and nothing is tried any more.
      place.trigger.told({ news: null });
      place.trigger.signedIn({ signedIn: false });
    } else place.trigger.failed({ message: messageOf(error) });
  };
  const connect = async (): Promise<void> => {
    await client.me();
    place.trigger.signedIn({ signedIn: true });
    await syncRecentRuns({ client, store: runs, signal: new AbortController().signal, onFault: fail });
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
