import { describe, expect, it, vi } from 'vitest';
import { aRun } from './a-run.fixture.ts';
import type { FeedOptions, FeedStatus } from './api/feed-options.ts';
import type { Page, RunFilter } from './api/orchestrator.ts';
import type { RunConfig } from './config.ts';
import type { WorkflowEvent } from './events.ts';
import type { Progress } from './feed.ts';
import type { ForeseenConflict } from './review/foreseen-conflicts.ts';
import type { JsonObject } from './json.ts';
import type { RunView } from './run.ts';
import {
  createRunStore,
  emptyRunStoreState,
  isResuming,
  MAX_PROGRESS_LINES,
  type RunStoreState,
  selectOpenGates,
  selectRun,
  selectRuns,
  listOlderRuns,
  RECENT_RUNS,
  syncRecentRuns,
  withConflicts,
  withEvents,
  withProgress,
  withRuns,
  withStatus,
} from './run-store.ts';

/** Gives events their positions and sequences, as a log does. */
function aLog() {
  const sequences = new Map<string, number>();
  let position = 0;
  return (runId: string, type: string, payload: JsonObject = {}): WorkflowEvent => {
    position += 1;
    const sequence = (sequences.get(runId) ?? 0) + 1;
    sequences.set(runId, sequence);
    const timestamp = new Date(Date.UTC(2026, 2, 1) + position * 1_000).toISOString();
    return { id: `e-${position}`, position, workflowRunId: runId, sequence, type, origin: 'input', payload, timestamp };
  };
}

const start = {
  projectId: 'p-1',
  userId: 'ada',
  workflow: { name: 'build', version: 1, fingerprint: 'f' },
  request: 'Add a login page',
  config: {} as RunConfig,
  requestedConfig: {},
  branch: 'b',
} as unknown as JsonObject;
const opening = { gate: 'plan', stage: 'planning', decisions: ['approve'], summary: 'Approve?', details: {} };
const awaiting = { status: 'awaiting_approval', stage: 'planning', state: 'gate', gate: 'plan' };

const after = (...events: WorkflowEvent[]): RunStoreState => withEvents(emptyRunStoreState, events);
const line = (runId: string, text: string): Progress => ({ runId, activity: 'plan', kind: 'text', text, at: '' });

describe('received events', () => {
  it('make runs, and remember how far they went', () => {
    const event = aLog();
    const state = after(
      event('a', 'RUN_STARTED', start),
      event('b', 'RUN_STARTED', start),
      event('a', 'NOTICE', { message: 'hm' }),
    );
    expect(Object.keys(state.runs)).toEqual(['a', 'b']);
    expect(selectRun(state, 'a')).toMatchObject({ status: 'running', notices: ['hm'], lastSequence: 2 });
    expect(selectRun(state, 'c')).toBeNull();
    expect(state.position).toBe(3);
  });

  it('change nothing when they come a second time', () => {
    const event = aLog();
    const events = [event('a', 'RUN_STARTED', start), event('a', 'NOTICE', { message: 'hm' })];
    const state = after(...events);
    expect(withEvents(state, events)).toBe(state);
    expect(withEvents(state, events.slice(1))).toBe(state);
  });

  it('give the same in one batch as one by one', () => {
    const event = aLog();
    const events = [event('a', 'RUN_STARTED', start), event('b', 'RUN_STARTED', start), event('a', 'RUN_COMPLETED')];
    const oneByOne = events.reduce((state, one) => withEvents(state, [one]), emptyRunStoreState);
    expect(oneByOne).toEqual(after(...events));
  });

  it('of a run whose beginning was not seen move only the position', () => {
    const event = aLog();
    event('a', 'RUN_STARTED', start);
    expect(after(event('a', 'NOTICE', { message: 'hm' }))).toEqual({ ...emptyRunStoreState, position: 2 });
  });

  it('leave the state before them as it was', () => {
    const event = aLog();
    const before = after(event('a', 'RUN_STARTED', start));
    const copy = structuredClone(before);
    withEvents(before, [event('a', 'RUN_COMPLETED')]);
    expect(before).toEqual(copy);
  });
});

describe('lists', () => {
  it('show first who waits, longest first, then who works, then who ended, newest first', () => {
    const event = aLog();
    const state = after(
      ...['ended-1', 'ended-2', 'works-1', 'waits-1', 'waits-2', 'works-2'].map((id) =>
        event(id, 'RUN_STARTED', start),
      ),
      event('waits-2', 'STATE_CHANGED', awaiting),
      event('waits-2', 'APPROVAL_REQUESTED', opening),
      event('waits-1', 'STATE_CHANGED', awaiting),
      event('waits-1', 'APPROVAL_REQUESTED', opening),
      event('ended-1', 'RUN_COMPLETED'),
      event('ended-2', 'RUN_FAILED', { message: 'no' }),
    );
    expect(selectRuns(state).map(({ id }) => id)).toEqual([
      'waits-2',
      'waits-1',
      'works-2',
      'works-1',
      'ended-2',
      'ended-1',
    ]);
    expect(selectOpenGates(state).map(({ runId, kind }) => [runId, kind])).toEqual([
      ['waits-2', 'plan'],
      ['waits-1', 'plan'],
    ]);
  });
});

describe('progress', () => {
  it('is kept by run, the newest lines only, until the run ends', () => {
    const event = aLog();
    let state = after(event('a', 'RUN_STARTED', start), event('b', 'RUN_STARTED', start));
    for (let index = 0; index <= MAX_PROGRESS_LINES; index += 1)
      state = withProgress(state, line('a', `line ${index}`));
    state = withProgress(state, line('b', 'other'));
    expect(state.progress['a']).toHaveLength(MAX_PROGRESS_LINES);
    expect(state.progress['a']?.[0]?.text).toBe('line 1');
    state = withEvents(state, [event('a', 'RUN_COMPLETED')]);
    expect(Object.keys(state.progress)).toEqual(['b']);
  });
});

describe('the pulse of a run', () => {
  const pulse = (activity: string, elapsedMs: number) => ({
    ...line('a', 'npm test'),
    activity,
    kind: 'pulse' as const,
    what: 'npm test',
    elapsedMs,
  });

  it('is the newest of each activity, until that has ended or the run does not run', () => {
    const event = aLog();
    let state = after(event('a', 'RUN_STARTED', start));
    for (const each of [pulse('check', 2_000), pulse('baseline', 4_000), pulse('check', 4_000)])
      state = withProgress(state, each);
    expect(Object.values(state.pulses['a'] ?? {}).map((each) => [each.activity, each.elapsedMs])).toEqual([
      ['check', 4_000],
      ['baseline', 4_000],
    ]);
    expect(state.progress['a']).toBeUndefined();
    state = withEvents(state, [event('a', 'ACTIVITY_COMPLETED', { key: 'k', activity: 'check', output: null })]);
    expect(Object.keys(state.pulses['a'] ?? {})).toEqual(['baseline']);
    state = withEvents(state, [event('a', 'RUN_COMPLETED')]);
    expect(state.pulses).toEqual({});
    expect(withProgress(state, pulse('baseline', 6_000)).pulses).toEqual({});
  });
});

describe('foreseen conflicts', () => {
  const conflict = (runId: string, files = ['a.ts']): ForeseenConflict => ({
    projectId: 'p-1',
    runId,
    with: { kind: 'base', branch: 'main' },
    files,
    fileCount: files.length,
  });

  it('are kept by run until others come, and are void when the connection begins anew', () => {
    const all = withConflicts(emptyRunStoreState, { conflicts: [conflict('a'), conflict('b')] });
    expect(all.conflicts).toEqual({ a: [conflict('a')], b: [conflict('b')] });
    const changed = withConflicts(all, { runId: 'a', conflicts: [conflict('a', ['b.ts'])] });
    expect(changed.conflicts).toEqual({ a: [conflict('a', ['b.ts'])], b: [conflict('b')] });
    expect(withConflicts(changed, { runId: 'a', conflicts: [] }).conflicts).toEqual({ b: [conflict('b')] });
    expect(withConflicts(changed, { runId: 'c', conflicts: [] })).toBe(changed);
    const offline = withStatus(changed, { state: 'offline', reason: 'closed', retryInMs: 200 });
    expect(offline.conflicts).toEqual(changed.conflicts);
    expect(withStatus(offline, { state: 'replaying', feedId: 'f', reset: false }).conflicts).toEqual({});
  });
});

describe('the connection', () => {
  const event = aLog();
  const full = { ...withProgress(after(event('a', 'RUN_STARTED', start)), line('a', 'x')), feedId: 'one' };

  it('keeps all runs while it is lost', () => {
    const offline: FeedStatus = { state: 'offline', reason: 'closed', retryInMs: 200 };
    expect(withStatus(full, offline)).toEqual({ ...full, connection: offline, resuming: ['a'] });
  });

  it('keeps all runs when it comes back to the same feed', () => {
    const replaying: FeedStatus = { state: 'replaying', feedId: 'one', reset: false };
    expect(withStatus(full, replaying)).toEqual({ ...full, connection: replaying });
  });

  it('drops all runs when it comes back to another feed', () => {
    const replaying: FeedStatus = { state: 'replaying', feedId: 'two', reset: true };
    expect(withStatus(full, replaying)).toEqual({ ...emptyRunStoreState, feedId: 'two', connection: replaying });
  });
});

describe('runs at work when the connection is lost', () => {
  const offline: FeedStatus = { state: 'offline', reason: 'gone', retryInMs: 1_000 };
  const live: FeedStatus = { state: 'live', feedId: 'f', position: 1 };
  const back = (process: string): FeedStatus => ({ state: 'replaying', feedId: 'f', reset: false, process });
  const event = aLog();
  const known = [back('one'), live].reduce(
    withStatus,
    after(event('a', 'RUN_STARTED', start), event('b', 'RUN_STARTED', start)),
  );
  const resumed = (state: RunStoreState) => ['a', 'b'].filter((id) => isResuming(state, id));

  it('are resuming where another process of the server answers, until something is heard of them', () => {
    const state = [offline, back('two'), live].reduce(withStatus, known);
    expect(resumed(state)).toEqual(['a', 'b']);
    expect(resumed(withProgress(state, line('a', 'again')))).toEqual(['b']);
    expect(resumed(withEvents(state, [event('b', 'NOTICE', { message: 'hm' })]))).toEqual(['a']);
    expect(resumed(withRuns(state, [{ ...state.runs['a']!, lastSequence: 9 }]))).toEqual(['b']);
  });

  it('are at work all the same where the server went on, and while nobody answers nothing is said of them', () => {
    expect(resumed([offline, back('one'), live].reduce(withStatus, known))).toEqual([]);
    expect(resumed(withStatus(known, offline))).toEqual([]);
  });

  it('are at work all the same once they have said nothing for a while', () => {
    const store = createRunStore([offline, back('two'), live].reduce(withStatus, known));
    store.trigger.settled();
    expect(resumed(store.getSnapshot().context)).toEqual([]);
  });
});

describe('the store', () => {
  it('tells its subscribers what the pure functions give', () => {
    const event = aLog();
    const events = [event('a', 'RUN_STARTED', start)];
    const store = createRunStore();
    const seen: RunStoreState[] = [];
    store.subscribe(({ context }) => seen.push(context));
    store.trigger.received({ events });
    store.trigger.progressed({ progress: line('a', 'x') });
    store.trigger.statusChanged({ status: { state: 'connecting' } });
    expect(seen).toEqual([
      after(...events),
      withProgress(after(...events), line('a', 'x')),
      { ...withProgress(after(...events), line('a', 'x')), connection: { state: 'connecting' } },
    ]);
  });
});

describe('listed runs', () => {
  const event = aLog();
  const older = after(event('a', 'RUN_STARTED', start)).runs['a'];
  const newer = after(event('a', 'RUN_STARTED', start)).runs['a'];
  if (older === undefined || newer === undefined) throw new Error('no runs');

  it('count where they are newer than what the feed said, and not where they are older', () => {
    expect(selectRun(withRuns(emptyRunStoreState, [older]), 'a')).toBe(older);
    expect(selectRun(withRuns(withRuns(emptyRunStoreState, [newer]), [older]), 'a')).toBe(newer);
    const state = withRuns(emptyRunStoreState, [newer]);
    expect(withRuns(state, [older])).toBe(state);
  });
});

describe('older runs', () => {
  const page = (id: string, nextCursor: string | null): Page<RunView> => ({ items: [aRun({ id })], nextCursor });

  it('go on where the first list ended, whatever is listed anew', () => {
    const store = createRunStore();
    store.trigger.listed({ runs: [aRun({ id: 'a' })], older: 'c-1' });
    store.trigger.olderListed({ from: 'c-1', page: page('b', 'c-2') });
    store.trigger.listed({ runs: [aRun({ id: 'a' })], older: 'c-1' });
    expect(store.getSnapshot().context.older).toBe('c-2');
    store.trigger.olderListed({ from: 'c-2', page: page('c', null) });
    expect(store.getSnapshot().context).toMatchObject({ older: null, runs: { a: {}, b: {}, c: {} } });
  });

  it('that were asked for twice, or of a server before this one, change nothing', () => {
    const store = createRunStore();
    store.trigger.listed({ runs: [], older: 'c-1' });
    store.trigger.olderListed({ from: 'c-1', page: page('b', 'c-2') });
    const before = store.getSnapshot().context;
    store.trigger.olderListed({ from: 'c-1', page: page('b', 'c-2') });
    expect(store.getSnapshot().context).toBe(before);
    store.trigger.statusChanged({ status: { state: 'replaying', feedId: 'other', reset: true } });
    store.trigger.olderListed({ from: 'c-2', page: page('c', null) });
    expect(store.getSnapshot().context).toMatchObject({ runs: {}, feedId: 'other' });
    expect(store.getSnapshot().context.older).toBeUndefined();
  });
});

describe('syncRecentRuns', () => {
  /** A server with a log, whose lists and answers are made when they are asked for. */
  async function aSync(before: (append: Append) => void, defer?: (act: () => void) => void) {
    const log: WorkflowEvent[] = [];
    const make = aLog();
    const store = createRunStore();
    const asked: string[] = [];
    const faults: unknown[] = [];
    const views = () => withEvents(emptyRunStoreState, log).runs;
    const append: Append = (...args) => {
      const event = make(...args);
      log.push(event);
      return event;
    };
    before(append);
    const { promise: following, resolve } = Promise.withResolvers<FeedOptions>();
    const sync = syncRecentRuns({
      client: {
        followFeed: async (feed) => resolve(feed),
        listRuns: async () => ({ items: Object.values(views()), nextCursor: null }),
        getRun: async (id) => {
          asked.push(id);
          const view = views()[id];
          if (view === undefined) throw new Error(`no run ${id}`);
          await Promise.resolve();
          return view;
        },
      },
      store,
      signal: new AbortController().signal,
      onFault: (error) => faults.push(error),
      ...(defer === undefined ? {} : { defer }),
    });
    const feed = await following;
    await sync;
    return { feed, append, store, asked, faults, views, shown: () => store.getSnapshot().context.runs };
  }
  type Append = (runId: string, type: string, payload?: JsonObject) => WorkflowEvent;
  const live = { state: 'live', feedId: 'f', position: 9 } as const;

  it('asks for nothing of the past but lists, and follows the feed from its end', async () => {
    const { feed, append, shown, asked, views } = await aSync((append) => append('a', 'RUN_STARTED', start));
    expect(feed.after).toBe('end');
    feed.onStatus?.(live);
    await vi.waitFor(() => expect(Object.keys(shown())).toEqual(['a']));
    feed.onEvent(append('a', 'NOTICE', { message: 'hm' }));
    feed.onEvent(append('b', 'RUN_STARTED', start));
    expect(shown()).toEqual(views());
    expect(asked).toEqual([]);
  });

  it('shows what is listed before the feed is live', async () => {
    const { feed, append, shown } = await aSync((append) => append('a', 'RUN_STARTED', start));
    await vi.waitFor(() => expect(Object.keys(shown())).toEqual(['a']));
    // Happened after the list was made and before the feed told of anything.
    append('a', 'NOTICE', { message: 'meanwhile' });
    feed.onStatus?.(live);
    await vi.waitFor(() => expect(shown()['a']?.notices).toEqual(['meanwhile']));
  });

  it('tells the store once of all that came until news were wanted, in order and without a gap', async () => {
    const due: (() => void)[] = [];
    const { feed, append, shown, asked, views, store } = await aSync(
      (append) => append('a', 'RUN_STARTED', start),
      (act) => void due.push(act),
    );
    await vi.waitFor(() => expect(Object.keys(shown())).toEqual(['a']));
    const told: string[] = [];
    store.inspect(({ event }) => void (event.type === 'received' && told.push(event.type)));
    feed.onEvent(append('a', 'NOTICE', { message: 'one' }));
    feed.onEvent(append('b', 'RUN_STARTED', start));
    feed.onEvent(append('a', 'NOTICE', { message: 'two' }));
    expect({ told, due: due.length, notices: shown()['a']?.notices }).toEqual({ told: [], due: 1, notices: [] });
    due.shift()?.();
    expect(told).toEqual(['received']);
    expect(shown()).toEqual(views());
    feed.onEvent(append('a', 'NOTICE', { message: 'three' }));
    // A word on the connection overtakes no event.
    feed.onStatus?.({ state: 'offline', reason: 'gone', retryInMs: 1 });
    expect(shown()).toEqual(views());
    due.shift()?.();
    expect({ told, asked }).toEqual({ told: ['received', 'received'], asked: [] });
  });

  it('asks for a run that was not listed, again when more came meanwhile, and never folds over a gap', async () => {
    const { feed, append, shown, asked, views } = await aSync((append) => append('a', 'RUN_STARTED', start));
    append('a', 'NOTICE', { message: 'before anybody listened' });
    feed.onEvent(append('a', 'NOTICE', { message: 'one' }));
    feed.onEvent(append('a', 'NOTICE', { message: 'two' }));
    await vi.waitFor(() => expect(shown()['a']?.notices).toEqual(['before anybody listened', 'one', 'two']));
    expect(shown()).toEqual(views());
    expect(asked.length).toBeLessThanOrEqual(2);
    feed.onEvent(append('a', 'NOTICE', { message: 'three' }));
    expect(shown()).toEqual(views());
  });

  it('lists anew when the log is another one, and once while it is the same', async () => {
    const { feed, append, shown } = await aSync((append) => append('a', 'RUN_STARTED', start));
    feed.onStatus?.(live);
    await vi.waitFor(() => expect(Object.keys(shown())).toEqual(['a']));
    append('b', 'RUN_STARTED', start);
    feed.onStatus?.({ state: 'offline', reason: 'gone', retryInMs: 1 });
    feed.onStatus?.(live);
    await Promise.resolve();
    expect(Object.keys(shown())).toEqual(['a']);
    feed.onStatus?.({ state: 'replaying', feedId: 'other', reset: true });
    expect(shown()).toEqual({});
    feed.onStatus?.(live);
    await vi.waitFor(() => expect(Object.keys(shown())).toEqual(['a', 'b']));
  });

  it('lists every open run, however many pages they are, and says where the others go on', async () => {
    const { promise: following, resolve } = Promise.withResolvers<FeedOptions>();
    const store = createRunStore();
    const asked: RunFilter[] = [];
    const pages: Readonly<Record<string, Page<RunView>>> = {
      open: { items: [aRun({ id: 'o-1' })], nextCursor: 'more' },
      'open more': { items: [aRun({ id: 'o-2' })], nextCursor: null },
      all: { items: [aRun({ id: 'o-1' }), aRun({ id: 'n-1' })], nextCursor: 'old' },
      'all old': { items: [aRun({ id: 'n-2' })], nextCursor: null },
    };
    const client = {
      followFeed: async (feed: FeedOptions) => resolve(feed),
      listRuns: async (filter: RunFilter = {}) => {
        asked.push(filter);
        const name = [filter.open === true ? 'open' : 'all', filter.cursor ?? ''].join(' ').trim();
        return pages[name] ?? { items: [], nextCursor: null };
      },
      getRun: async () => aRun({}),
    };
    await syncRecentRuns({ client, store, signal: new AbortController().signal, onFault: () => undefined });
    await following;
    const shown = () => Object.keys(store.getSnapshot().context.runs);
    await vi.waitFor(() => expect(shown()).toEqual(['o-1', 'n-1', 'o-2']), 120_000);
    expect(asked.slice(0, 2)).toEqual(RECENT_RUNS);
    expect(store.getSnapshot().context.older).toBe('old');

    await listOlderRuns({ client, store });
    expect(shown()).toEqual(['o-1', 'n-1', 'o-2', 'n-2']);
    expect(store.getSnapshot().context.older).toBeNull();
    await listOlderRuns({ client, store });
    expect(asked).toHaveLength(4);
  });

  it('begins anew with a store of an earlier connection: what happened since then was told to nobody', async () => {
    const store = createRunStore();
    store.trigger.statusChanged({ status: { state: 'replaying', feedId: 'f', reset: false } });
    store.trigger.listed({ runs: [aRun({ id: 'ghost', status: 'running' })], older: 'c-1' });
    const client = {
      followFeed: async () => undefined,
      listRuns: async ({ open }: RunFilter = {}) =>
        open === true
          ? { items: [], nextCursor: null }
          : { items: [aRun({ id: 'new', status: 'completed' })], nextCursor: 'c-9' },
      getRun: async () => aRun({}),
    };
    await syncRecentRuns({ client, store, signal: new AbortController().signal, onFault: () => undefined });
    await vi.waitFor(() => expect(store.getSnapshot().context.older).toBe('c-9'), 120_000);
    expect(Object.keys(store.getSnapshot().context.runs)).toEqual(['new']);
    expect(store.getSnapshot().context.feedId).toBe('f');
  });

  it('puts nothing into a store that it has left', async () => {
    const store = createRunStore();
    const own = new AbortController();
    const answer = Promise.withResolvers<RunView>();
    const following = Promise.withResolvers<FeedOptions>();
    const client = {
      followFeed: async (feed: FeedOptions) => following.resolve(feed),
      listRuns: async () => ({ items: [], nextCursor: null }),
      getRun: () => answer.promise,
    };
    await syncRecentRuns({ client, store, signal: own.signal, onFault: () => undefined });
    const feed = await following.promise;
    const make = aLog();
    make('r-x', 'RUN_STARTED', start);
    feed.onEvent(make('r-x', 'NOTICE', { message: 'hm' }));
    own.abort();
    answer.resolve(aRun({ id: 'r-x' }));
    await answer.promise;
    await Promise.resolve();
    expect(store.getSnapshot().context.runs).toEqual({});
  });

  it('tells of a run that cannot be had', async () => {
    const { feed, append, faults } = await aSync(() => {});
    const lost = append('c', 'NOTICE', { message: 'hm' });
    feed.onEvent({ ...lost, sequence: 3 });
    await vi.waitFor(() => expect(faults).toHaveLength(1));
  });
});
