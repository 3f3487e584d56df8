/** A web view of the editor: everything goes through the extension, which alone holds the token. */
import { FINAL_STATUSES, type ProblemDetails } from '@autonomous/shared';
import {
  ApiError,
  createRunStore,
  createWorkflowCatalog,
  type RunStoreState,
  syncWorkflowCatalog,
  withRuns,
} from '@autonomous/shared/client';
import {
  type Call,
  CALLS,
  type FromWebView,
  type HostAction,
  pathOf,
  type Screen,
  type ScreenClient,
  type ToWebView,
} from '../bridge.ts';
import { createPlaceStore, type Host } from './host.ts';

/** The part of VS Code's own interface that is used here. */
export interface WebViewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

/** The extension's state, and the runs that the list here went on with beyond it: those that are over, and stay as they are. */
function withOlder(state: RunStoreState, here: RunStoreState): RunStoreState {
  if (here.feedId !== state.feedId || here.older === undefined) return state;
  const over = Object.values(here.runs).filter(({ status }) => FINAL_STATUSES.has(status));
  return { ...withRuns(state, over), older: here.older };
}

/** Calls of the client that wait for the extension's answer. */
function createCalls(send: (message: FromWebView) => void) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  return {
    call: (method: Call, args: readonly unknown[]): Promise<unknown> => {
      lastId += 1;
      const answer = Promise.withResolvers<unknown>();
      waiting.set(lastId, answer);
      send({ kind: 'call', id: lastId, method, args });
      return answer.promise;
    },
    /** The call's promise, which waits no longer; `undefined` for one that does not wait. */
    settle: (id: number): PromiseWithResolvers<unknown> | undefined => {
      const answer = waiting.get(id);
      waiting.delete(id);
      return answer;
    },
  };
}

export function createWebViewHost(page: Window, api: WebViewApi): Host {
  const runs = createRunStore();
  const place = createPlaceStore({ name: 'runs' });
  let listedTo: RunStoreState['older'];

  const send = (message: FromWebView): void => api.postMessage(message);
  const { call, settle } = createCalls(send);
  // Each method of the client by its name: the types of both are the same.
  const client = Object.fromEntries(
    CALLS.map((method) => [method, (...args: unknown[]) => call(method, args)]),
  ) as unknown as ScreenClient;
  const workflows = createWorkflowCatalog();
  const catalog = syncWorkflowCatalog({ catalog: workflows, runs, client: () => client });
  const act = (action: HostAction, ...args: unknown[]): void => send({ kind: 'action', action, args });
  const show = (screen: Screen): void => {
    place.trigger.went({ screen });
    api.setState(screen);
  };

  const take = (message: ToWebView): void => {
    switch (message.kind) {
      case 'state':
        // Where the extension's own list ends elsewhere than before, it was made anew.
        runs.trigger.replaced({
          state:
            message.state.older === listedTo ? withOlder(message.state, runs.getSnapshot().context) : message.state,
        });
        listedTo = message.state.older;
        if (!workflows.getSnapshot().context.isLoaded) void catalog.refresh();
        place.trigger.signedIn({ signedIn: true });
        show(message.screen);
        return;
      case 'events':
        runs.trigger.received({ events: message.events });
        return;
      case 'progress':
        runs.trigger.progressed({ progress: message.progress });
        return;
      case 'conflicts':
        runs.trigger.conflicted({ change: message.change });
        return;
      case 'connection':
        runs.trigger.statusChanged({ status: message.status });
        return;
      case 'news':
        place.trigger.told({ news: message.news });
        return;
      case 'show':
        show(message.screen);
        return;
      case 'result':
        settle(message.id)?.resolve(message.value);
        return;
      case 'refusal':
        settle(message.id)?.reject(new ApiError(message.problem satisfies ProblemDetails));
        return;
      default:
        message satisfies never;
    }
  };
  // Only the extension speaks to a web view of its own.
  page.addEventListener('message', (event: MessageEvent) => take(event.data as ToWebView));
  send({ kind: 'ready' });

  return {
    kind: 'web-view',
    client,
    runs,
    workflows,
    listWorkflows: () => void catalog.refresh(),
    place,
    hrefOf: (screen) => `#${pathOf(screen)}`,
    go(screen) {
      const shown = place.getSnapshot().context.screen;
      const isSame =
        (screen.name === shown.name && (screen.name === 'metrics' || screen.name === 'roadmap')) ||
        pathOf(screen).split('/')[2] === pathOf(shown).split('/')[2];
      // Another run has a panel of its own.
      if (!isSame) return act('openScreen', screen);
      show(screen);
      send({ kind: 'shows', screen, title: '' });
    },
    copyLink: (screen) => {
      act('copyLink', screen);
      return Promise.resolve();
    },
    editor: {
      openDiff: (runId, path) => act('openDiff', runId, path),
      checkout: (runId) => act('checkout', runId),
      resolveConflict: (runId) => act('resolveConflict', runId),
    },
  };
}
