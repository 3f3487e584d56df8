/**
 * The extension's end of the talk with one web view: hands on what the store learns, makes the calls that the web view
 * asks for, and does what only the editor can. The token stays on this side.
 */
import type { NewExploration, NewRun } from '@autonomous/shared';
import { problemOf, type RunStore, type RunStoreState } from '@autonomous/shared/client';
import type { FromWebView, HostActions, Screen, ScreenClient, ToWebView } from '@autonomous/ui';
import { readMessage } from './from-web-view.ts';

export interface WebViewBridgeOptions {
  readonly store: RunStore;
  /** Rejects, in words for a person, while no server is named. */
  readonly client: () => Promise<ScreenClient>;
  readonly post: (message: ToWebView) => void;
  readonly actions: HostActions;
  /** Returns the present news of the connection for the person; `null` while it works. */
  readonly news: () => string | null;
  /** First screen of the web view. */
  readonly screen: Screen;
  /** The web view went to another screen. */
  readonly onShows: (screen: Screen, title: string) => void;
  /** The server has taken a new run, or several, that the web view asked for. */
  readonly onLaunched: (launched: NewRun | NewExploration) => void;
  /** Something came that no web view of ours says. */
  readonly onRefused: (message: unknown) => void;
}

export interface WebViewBridge {
  /** A message as it came from the web view. */
  receive(message: unknown): Promise<void>;
  /** Another screen in the same web view. */
  show(screen: Screen): void;
  /** The connection is another than before. */
  tellNews(): void;
  dispose(): void;
}

/** The pages of a list come one after the other; the whole state is large. */
const LISTS_WITHIN_MS = 20;

export function createWebViewBridge(options: WebViewBridgeOptions): WebViewBridge {
  const { store, post } = options;
  let { screen } = options;
  let isReady = false;
  let posted: RunStoreState | null = null;

  let listing: ReturnType<typeof setTimeout> | undefined;
  const postState = (): void => {
    clearTimeout(listing);
    listing = undefined;
    posted = store.getSnapshot().context;
    post({ kind: 'state', state: posted, screen });
  };

  const tellNews = (): void => {
    if (isReady) post({ kind: 'news', news: options.news() });
  };

  const subscription = store.inspect(({ event }) => {
    if (!isReady) return;
    // The store's own events; the library types none of them.
    const news = event as unknown as StoreEvent;
    switch (news.type) {
      case 'received':
        return post({ kind: 'events', events: news.events });
      case 'progressed':
        return post({ kind: 'progress', progress: news.progress });
      case 'conflicted':
        return post({ kind: 'conflicts', change: news.change });
      case 'statusChanged':
        if (news.status.state === 'replaying' && news.status.reset) postState();
        return post({ kind: 'connection', status: news.status });
      case 'replaced':
      case 'listedAnew':
        return postState();
      case 'settled':
        if (store.getSnapshot().context.resuming !== posted?.resuming) postState();
        return;
      case 'listed':
        if (store.getSnapshot().context.runs !== posted?.runs) listing ??= setTimeout(postState, LISTS_WITHIN_MS);
        return;
      default:
        return;
    }
  });

  const call = async ({ id, method, args }: Extract<FromWebView, { kind: 'call' }>): Promise<void> => {
    try {
      const client = await options.client();
      // Each argument was checked against what the method takes.
      const perform = client[method] as (...args: readonly unknown[]) => Promise<unknown>;
      const value = await perform(...(method === 'upload' ? [args[0], bytesOf(args[1])] : args));
      // It is one: the server has checked it.
      if (method === 'launchRun' || method === 'explore') options.onLaunched(args[0] as NewRun | NewExploration);
      post({ kind: 'result', id, value });
    } catch (error) {
      post({ kind: 'refusal', id, problem: problemOf(error) });
    }
  };

  return {
    async receive(given) {
      const message = readMessage(given);
      if (message === null) return options.onRefused(given);
      switch (message.kind) {
        case 'ready':
          isReady = true;
          postState();
          return tellNews();
        case 'call':
          return call(message);
        case 'action': {
          // Each argument was checked against what the action takes.
          const act = options.actions[message.action] as (...args: readonly unknown[]) => void;
          return act(...message.args);
        }
        case 'shows':
          screen = message.screen;
          return options.onShows(screen, message.title);
        default:
          return message satisfies never;
      }
    },
    show(next) {
      screen = next;
      if (isReady) post({ kind: 'show', screen });
    },
    tellNews,
    dispose() {
      isReady = false;
      clearTimeout(listing);
      subscription.unsubscribe();
    },
  };
}

/** Events of the store that a web view needs. */
type StoreEvent =
  | { readonly type: 'received'; readonly events: Extract<ToWebView, { kind: 'events' }>['events'] }
  | { readonly type: 'progressed'; readonly progress: Extract<ToWebView, { kind: 'progress' }>['progress'] }
  | { readonly type: 'conflicted'; readonly change: Extract<ToWebView, { kind: 'conflicts' }>['change'] }
  | { readonly type: 'statusChanged'; readonly status: Exclude<RunStoreState['connection'], { state: 'idle' }> }
  | { readonly type: 'replaced' | 'settled' | 'listed' | 'listedAnew' };

function bytesOf(value: unknown): unknown {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}
