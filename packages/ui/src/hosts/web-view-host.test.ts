import type { Page, RunView } from '@autonomous/shared';
import { emptyRunStoreState, listOlderRuns, type RunStoreState } from '@autonomous/shared/client';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { FromWebView, ToWebView } from '../bridge.ts';
import { createWebViewHost } from './web-view-host.ts';

const live = { state: 'live', feedId: 'f', position: 9 } as const;
const stateOf = (runs: readonly RunView[], older: string | null): RunStoreState => ({
  ...emptyRunStoreState,
  feedId: 'f',
  connection: live,
  runs: Object.fromEntries(runs.map((run) => [run.id, run])),
  older,
});

/** A web view whose extension answers lists from these pages. */
function aWebView(pages: Readonly<Record<string, Page<RunView>>>) {
  let take: (event: { readonly data: ToWebView }) => void = () => undefined;
  const tell = (message: ToWebView): void => take({ data: message });
  const page = { addEventListener: (_type: string, listener: typeof take) => (take = listener) };
  const host = createWebViewHost(page as unknown as Window, {
    getState: () => undefined,
    setState: () => undefined,
    postMessage(message) {
      const call = message as FromWebView;
      if (call.kind !== 'call') return;
      const [{ cursor = '' } = {}] = call.args as readonly { readonly cursor?: string }[];
      queueMicrotask(() => tell({ kind: 'result', id: call.id, value: pages[cursor] }));
    },
  });
  const tellState = (state: RunStoreState): void => tell({ kind: 'state', state, screen: { name: 'runs' } });
  const shown = () => Object.values(host.runs.getSnapshot().context.runs).map(({ id, status }) => `${id} ${status}`);
  return { host, tellState, shown, older: () => host.runs.getSnapshot().context.older };
}

const newest = aRun({ id: 'r-3', status: 'running', lastSequence: 1 });
const ghost = aRun({ id: 'r-1', status: 'running', lastSequence: 1 });
const old = aRun({ id: 'r-2', status: 'completed', lastSequence: 5 });

it('keeps the older runs that were listed here when the extension tells its state again', async () => {
  const view = aWebView({ 'c-1': { items: [old], nextCursor: null } });
  view.tellState(stateOf([newest], 'c-1'));
  await listOlderRuns({ client: view.host.client, store: view.host.runs });
  expect(view.shown()).toEqual(['r-3 running', 'r-2 completed']);

  view.tellState(stateOf([{ ...newest, status: 'completed', lastSequence: 2 }], 'c-1'));
  expect(view.shown()).toEqual(['r-3 completed', 'r-2 completed']);
  expect(view.older()).toBeNull();
});

it('begins anew where the extension has listed anew, and keeps no run that may have gone on unseen', async () => {
  const view = aWebView({ 'c-1': { items: [old], nextCursor: null } });
  view.tellState(stateOf([newest, ghost], 'c-1'));
  await listOlderRuns({ client: view.host.client, store: view.host.runs });
  view.tellState(stateOf([newest], 'c-1'));
  expect(view.shown()).toEqual(['r-3 running', 'r-2 completed']);
  view.tellState(stateOf([newest], 'c-9'));
  expect(view.shown()).toEqual(['r-3 running']);
  expect(view.older()).toBe('c-9');
});
