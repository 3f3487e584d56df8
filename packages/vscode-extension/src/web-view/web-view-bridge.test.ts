import type { WorkflowEvent } from '@autonomous/shared';
import { ApiError, type Client, createRunStore, emptyRunStoreState } from '@autonomous/shared/client';
import { CALLS, type HostActions, type Screen, type ToWebView } from '@autonomous/ui';
import { describe, expect, it, vi } from 'vitest';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { createWebViewBridge } from './web-view-bridge.ts';

function aBridge(client: Partial<Client> | null = {}) {
  const store = createRunStore();
  const posted: ToWebView[] = [];
  const actions = {
    openDiff: vi.fn<HostActions['openDiff']>(),
    openScreen: vi.fn<HostActions['openScreen']>(),
    copyLink: vi.fn<(screen: Screen) => void>(),
    openExternal: vi.fn<HostActions['openExternal']>(),
    checkout: vi.fn<HostActions['checkout']>(),
    resolveConflict: vi.fn<HostActions['resolveConflict']>(),
  };
  const onShows = vi.fn<(screen: Screen, title: string) => void>();
  const onLaunched = vi.fn<(launched: unknown) => void>();
  const onRefused = vi.fn<(message: unknown) => void>();
  const bridge = createWebViewBridge({
    store,
    client: () =>
      client === null
        ? Promise.reject(new Error('No Autonomous server is connected.'))
        : Promise.resolve(client as Client),
    news: () => 'Resuming…',
    post: (message) => posted.push(message),
    actions,
    screen: { name: 'run', runId: 'r-1' },
    onShows,
    onLaunched,
    onRefused,
  });
  return {
    store,
    posted,
    actions,
    onShows,
    onLaunched,
    onRefused,
    bridge,
    kinds: () => posted.map(({ kind }) => kind),
  };
}

const anEvent = (position: number): WorkflowEvent => ({
  id: `e-${position}`,
  position,
  workflowRunId: 'r-1',
  sequence: position,
  type: 'NOTICE',
  origin: 'emitted',
  payload: { message: 'hm' },
  timestamp: '2030-01-01T00:00:00.000Z',
});

describe('News of the store', () => {
  it('wait until the web view is ready, which then gets everything at once', async () => {
    const { store, posted, bridge } = aBridge();
    store.trigger.listed({ runs: [aRun()] });
    expect(posted).toEqual([]);
    await bridge.receive({ kind: 'ready' });
    expect(posted).toMatchObject([
      { kind: 'state', screen: { name: 'run', runId: 'r-1' }, state: { runs: { 'r-1': { id: 'r-1' } } } },
      { kind: 'news', news: 'Resuming…' },
    ]);
    bridge.tellNews();
    expect(posted.at(-1)).toEqual({ kind: 'news', news: 'Resuming…' });
  });

  it('are handed on one by one, and the whole state again when it begins anew', async () => {
    const { store, kinds, bridge } = aBridge();
    await bridge.receive({ kind: 'ready' });
    store.trigger.received({ events: [anEvent(1)] });
    store.trigger.progressed({ progress: { runId: 'r-1', activity: 'a', kind: 'text', text: 'hm', at: '' } });
    store.trigger.conflicted({ change: { runId: 'r-1', conflicts: [] } });
    store.trigger.statusChanged({ status: { state: 'connecting' } });
    store.trigger.statusChanged({ status: { state: 'replaying', feedId: 'f', reset: true } });
    store.trigger.replaced({ state: emptyRunStoreState });
    expect(kinds()).toEqual([
      'state',
      'news',
      'events',
      'progress',
      'conflicts',
      'connection',
      'state',
      'connection',
      'state',
    ]);
  });

  it('are put together where lists come one after the other, and end with the panel', async () => {
    const { store, kinds, bridge } = aBridge();
    await bridge.receive({ kind: 'ready' });
    store.trigger.listed({ runs: [aRun()] });
    store.trigger.listed({ runs: [aRun({ id: 'r-2' })] });
    await expect.poll(kinds).toEqual(['state', 'news', 'state']);
    store.trigger.listed({ runs: [aRun()] });
    store.trigger.statusChanged({ status: { state: 'connecting' } });
    expect(kinds()).toEqual(['state', 'news', 'state', 'connection']);
    bridge.dispose();
    store.trigger.statusChanged({ status: { state: 'connecting' } });
    bridge.tellNews();
    expect(kinds()).toHaveLength(4);
  });
});

describe('Calls', () => {
  it('are made with what was given and answered under their number', async () => {
    const getArtifact = vi.fn<Client['getArtifact']>(() => Promise.resolve({ content: 'plan' } as never));
    const { posted, bridge } = aBridge({ getArtifact });
    await bridge.receive({ kind: 'call', id: 7, method: 'getArtifact', args: ['r-1', 'r-1.3'] });
    expect(getArtifact).toHaveBeenCalledWith('r-1', 'r-1.3');
    expect(posted).toEqual([{ kind: 'result', id: 7, value: { content: 'plan' } }]);
  });

  it('leave out what was left out, which comes as null', async () => {
    const getRun = vi.fn<Client['getRun']>(() => Promise.resolve(aRun()));
    const { bridge } = aBridge({ getRun });
    await bridge.receive({ kind: 'call', id: 1, method: 'getRun', args: ['r-1', null] });
    expect(getRun).toHaveBeenCalledWith('r-1');
  });

  it('hand on the bytes of a file', async () => {
    const upload = vi.fn<Client['upload']>(() => Promise.resolve({ id: 'u', name: 'a', bytes: 2 }));
    const { bridge } = aBridge({ upload });
    await bridge.receive({ kind: 'call', id: 1, method: 'upload', args: ['a', new Uint8Array([1, 2]).buffer] });
    expect(upload).toHaveBeenCalledWith('a', new Uint8Array([1, 2]));
  });

  it("say the server's own words when it refuses, and something where there is no server", async () => {
    const problem = {
      type: 't',
      title: 'Conflict',
      status: 409,
      detail: 'already decided',
      code: 'conflict',
      winner: { by: 'ada' },
    } as const;
    const refusing = aBridge({ decideGate: () => Promise.reject(new ApiError(problem)) });
    await refusing.bridge.receive({ kind: 'call', id: 1, method: 'decideGate', args: ['g', { decision: 'approve' }] });
    expect(refusing.posted).toEqual([{ kind: 'refusal', id: 1, problem }]);
    const without = aBridge(null);
    await without.bridge.receive({ kind: 'call', id: 2, method: 'me', args: [] });
    expect(without.posted).toMatchObject([
      { kind: 'refusal', id: 2, problem: { detail: 'No Autonomous server is connected.' } },
    ]);
  });
});

it('tells of runs that the server has taken, and of none that it has refused', async () => {
  const launchRun = vi.fn<Client['launchRun']>(() => Promise.resolve(aRun()));
  const explore = vi.fn<Client['explore']>(() => Promise.reject(new Error('no such project')));
  const { bridge, onLaunched } = aBridge({ launchRun, explore });
  const wanted = { projectId: 'p-1', request: 'A login' };
  await bridge.receive({ kind: 'call', id: 1, method: 'launchRun', args: [wanted] });
  await bridge.receive({ kind: 'call', id: 2, method: 'explore', args: [{ projectId: 'p-2', variants: [] }] });
  expect(onLaunched.mock.calls).toEqual([[wanted]]);
});

describe('What a web view may not say', () => {
  it.each([
    null,
    'ready',
    { kind: 'nonsense' },
    { kind: 'call', id: 1, method: 'createSignInLink', args: [] },
    { kind: 'call', id: 1, method: 'followFeed', args: [] },
    { kind: 'call', id: 1, method: 'constructor', args: [] },
    { kind: 'call', id: 1, method: '__proto__', args: [] },
    { kind: 'call', id: '1', method: 'me', args: [] },
    { kind: 'call', id: 1, method: 'getRun', args: [{ toString: 'r-1' }] },
    { kind: 'call', id: 1, method: 'getRun', args: [] },
    { kind: 'call', id: 1, method: 'me', args: ['more'] },
    { kind: 'call', id: 1, method: 'decideGate', args: ['g', ['approve']] },
    { kind: 'action', action: 'openExternal', args: ['command:workbench.action.terminal.new'] },
    { kind: 'action', action: 'openExternal', args: ['file:///etc/passwd'] },
    { kind: 'action', action: 'openExternal', args: ['vscode://other.extension/do'] },
    { kind: 'action', action: 'openScreen', args: [{ name: 'run' }] },
    { kind: 'action', action: 'copyLink', args: ['https://example.org'] },
    { kind: 'action', action: 'checkout', args: [['r-1']] },
    { kind: 'action', action: 'dispose', args: [] },
    { kind: 'shows', screen: { name: 'nowhere' }, title: 'x' },
  ])('is refused: %j', async (message) => {
    const everything = Object.fromEntries(CALLS.map((name) => [name, vi.fn<() => Promise<unknown>>()]));
    const { bridge, posted, actions, onRefused, onShows } = aBridge(everything);
    await bridge.receive(message);
    expect(onRefused).toHaveBeenCalledWith(message);
    expect(posted).toEqual([]);
    for (const spy of [...Object.values(everything), ...Object.values(actions), onShows])
      expect(spy).not.toHaveBeenCalled();
  });
});

it('does what only the editor can', async () => {
  const { bridge, actions, onShows } = aBridge();
  await bridge.receive({ kind: 'action', action: 'openDiff', args: ['r-1', 'src/a.ts'] });
  await bridge.receive({ kind: 'action', action: 'openExternal', args: ['https://example.org/x'] });
  await bridge.receive({
    kind: 'action',
    action: 'openScreen',
    args: [{ name: 'run', runId: 'r-2', tab: 'plan', more: 1 }],
  });
  await bridge.receive({
    kind: 'action',
    action: 'copyLink',
    args: [{ name: 'run', runId: 'r-2', gate: 'r-2.4', event: -1 }],
  });
  await bridge.receive({ kind: 'shows', screen: { name: 'launch' }, title: 'New run' });
  await bridge.receive({ kind: 'shows', screen: { name: 'metrics', days: 90, projectId: 'p-1', more: 1 }, title: '' });
  await bridge.receive({ kind: 'shows', screen: { name: 'metrics', days: 31, projectId: '' }, title: '' });
  await bridge.receive({ kind: 'shows', screen: { name: 'metrics', workflow: 'own-flow' }, title: '' });
  await bridge.receive({
    kind: 'shows',
    screen: { name: 'roadmap', projectId: 'p-1', item: 'a.1', more: 1 },
    title: '',
  });
  await bridge.receive({ kind: 'shows', screen: { name: 'roadmap', projectId: 7, item: 'a' }, title: '' });
  expect(actions.openDiff).toHaveBeenCalledWith('r-1', 'src/a.ts');
  expect(actions.openExternal).toHaveBeenCalledWith('https://example.org/x');
  expect(actions.openScreen).toHaveBeenCalledWith({ name: 'run', runId: 'r-2', tab: 'plan' });
  expect(actions.copyLink).toHaveBeenCalledWith({ name: 'run', runId: 'r-2', gate: 'r-2.4' });
  expect(onShows.mock.calls).toEqual([
    [{ name: 'launch' }, 'New run'],
    [{ name: 'metrics', days: 90, projectId: 'p-1' }, ''],
    [{ name: 'metrics' }, ''],
    [{ name: 'metrics', workflow: 'own-flow' }, ''],
    [{ name: 'roadmap', projectId: 'p-1', item: 'a.1' }, ''],
    [{ name: 'roadmap' }, ''],
  ]);
});
