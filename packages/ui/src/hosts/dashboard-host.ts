/** The dashboard page: speaks with the server that served it, by the browser's session. */
import {
  ApiError,
  createClient,
  createRunStore,
  createWorkflowCatalog,
  emptyRunStoreState,
  syncRecentRuns,
  syncWorkflowCatalog,
} from '@autonomous/shared/client';
import { feedNews } from '../connection-news.ts';
import { pathOf, type Screen, screenOf } from '../bridge.ts';
import { createPlaceStore, type Host } from './host.ts';
import { messageOf } from './messages.ts';

export function createDashboardHost(page: Window): Host {
  const client = createClient({ baseUrl: page.location.origin });
  const runs = createRunStore();
  const workflows = createWorkflowCatalog();
  const catalog = syncWorkflowCatalog({ catalog: workflows, runs, client: () => client });
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
  let following = new AbortController();
  const connect = async (isSignedIn: boolean): Promise<void> => {
    if (!isSignedIn) await client.me();
    place.trigger.signedIn({ signedIn: true });
    // Beside the runs, which do not wait for it.
    void catalog.refresh();
    following = new AbortController();
    const { signal } = following;
    await syncRecentRuns({ client, store: runs, signal, onFault: fail, defer: beforeNextFrame });
  };
  // The server knew whom it gave the page to; a session that ended since is refused with the first thing asked for.
  // Whom a link of another site leads here, the browser shows no cookie for: only the page itself can ask.
  connect(page.document.documentElement.dataset['session'] === 'open').catch(fail);

  // The link that signs this browser in is often opened in another tab: this one goes on where it was when it is looked at again.
  let isLooking = false;
  const lookAgain = (): void => {
    const isSignedOut = place.getSnapshot().context.signedIn === false;
    if (isLooking || !isSignedOut || page.document.visibilityState !== 'visible') return;
    isLooking = true;
    connect(false)
      .catch(fail)
      .finally(() => (isLooking = false));
  };
  page.addEventListener('focus', lookAgain);
  page.document.addEventListener('visibilitychange', lookAgain);

  return {
    kind: 'dashboard',
    client,
    setup: client,
    runs,
    workflows,
    listWorkflows: () => void catalog.refresh(),
    place,
    hrefOf: pathOf,
    go(screen: Screen) {
      const path = pathOf(screen);
      if (path !== page.location.pathname) page.history.pushState(null, '', path);
      place.trigger.went({ screen });
    },
    signOut() {
      client.signOut().then(() => {
        following.abort();
        // Nothing that was read stays in sight of who comes next.
        runs.trigger.replaced({ state: emptyRunStoreState });
        workflows.trigger.forgotten();
        place.trigger.told({ news: null });
        place.trigger.signedIn({ signedIn: false });
      }, fail);
    },
    copyLink: (screen) => copy(page, page.location.origin + pathOf(screen)),
  };
}

/** A page that was not loaded over TLS or from this machine has no clipboard of its own. */
async function copy(page: Window, text: string): Promise<void> {
  if (page.isSecureContext) return page.navigator.clipboard.writeText(text);
  const field = page.document.createElement('textarea');
  field.value = text;
  page.document.body.append(field);
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- the only way there is without a secure context
  const isCopied = page.document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error(`This browser does not let the page copy. The link is ${text}`);
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
