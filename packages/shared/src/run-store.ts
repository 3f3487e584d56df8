/**
 * A client's copy of the runs: views folded from the feed, and the state of the connection. It is never the source of
 * truth. A client that lost everything gets the same state again from position 0.
 */
import { createStore } from '@xstate/store';
import type { Client } from './api/client.ts';
import type { Page, RunFilter } from './api/orchestrator.ts';
import type { FeedStatus } from './api/feed-options.ts';
import type { WorkflowEvent } from './events.ts';
import type { Progress } from './feed.ts';
import type { ForeseenConflict, ForeseenConflictsChange } from './review/foreseen-conflicts.ts';
import { foldRun } from './fold.ts';
import { type Pulses, withoutPulse, withPulse } from './pulse.ts';
import { FINAL_STATUSES, type Gate, type RunStatus, type RunView } from './run.ts';

/** As many as one page may have. */
const LISTED = 200;

/** Filters of the runs that {@link syncRecentRuns} lists first: all open runs, and the 50 newest, more than a screen shows. */
export const RECENT_RUNS = [{ open: true, limit: LISTED }, { limit: 50 }] as const satisfies readonly RunFilter[];

export interface RunStoreState {
  readonly runs: Readonly<Record<string, RunView>>;
  /** Cursor for runs older than these; `null`: there are none, absent: not known. */
  readonly older?: string | null;
  /** Newest lines of what running activities report, oldest first, by run; none once the run is final. */
  readonly progress: Readonly<Record<string, readonly Progress[]>>;
  /** Progress of the activities under way, by run; empty while a run is not running. */
  readonly pulses: Readonly<Record<string, Pulses>>;
  /** Foreseen conflicts of live runs, by run; only of runs that have any. */
  readonly conflicts: Readonly<Record<string, readonly ForeseenConflict[]>>;
  /** Feed that `position` belongs to; `null` before the first connection. */
  readonly feedId: string | null;
  /** Position of the last event folded in. */
  readonly position: number;
  readonly connection: FeedStatus | { readonly state: 'idle' };
  /** The server's process that was followed last; `null` where it does not say. */
  readonly process: string | null;
  /** Runs that were at work when the connection was lost, and of which the restarted server has sent nothing yet. */
  readonly resuming: readonly string[];
}

/** At most this many lines of progress are kept for a run; the transcript has all. */
export const MAX_PROGRESS_LINES = 200;

export const emptyRunStoreState: RunStoreState = {
  runs: {},
  progress: {},
  pulses: {},
  conflicts: {},
  feedId: null,
  position: 0,
  connection: { state: 'idle' },
  process: null,
  resuming: [],
};

export type RunStore = ReturnType<typeof createRunStore>;

/** @param initial state of an earlier session, to go on from its position */
export function createRunStore(initial: RunStoreState = emptyRunStoreState) {
  return createStore({
    context: initial,
    on: {
      received: (state, { events }: { events: readonly WorkflowEvent[] }) => withEvents(state, events),
      progressed: (state, { progress }: { progress: Progress }) => withProgress(state, progress),
      conflicted: (state, { change }: { change: ForeseenConflictsChange }) => withConflicts(state, change),
      /** Replaces the state by that of another store of the same feed. */
      replaced: (_state, { state }: { state: RunStoreState }) => state,
      listed: (state, { runs, older }: { runs: readonly RunView[]; older?: string | null }) =>
        state.older === undefined && older !== undefined ? { ...withRuns(state, runs), older } : withRuns(state, runs),
      /** The page of the list that begins at `from`. One that was asked for twice, or of another feed, leads nowhere. */
      olderListed: (state, { from, page }: { from: string; page: Page<RunView> }) =>
        state.older === from ? { ...withRuns(state, page.items), older: page.nextCursor } : state,
      /** Replaces all runs by these; the position in the feed stays. */
      listedAnew: (
        { feedId, position, connection, process, conflicts },
        { runs, older }: { runs: readonly RunView[]; older: string | null },
      ) => ({ ...withRuns({ ...emptyRunStoreState, feedId, position, connection, process, conflicts }, runs), older }),
      statusChanged: (state, { status }: { status: FeedStatus }) => withStatus(state, status),
      /** Ends the resuming of runs that reported nothing: they work and wait for something. */
      settled: (state) => (state.resuming.length === 0 ? state : { ...state, resuming: [] }),
    },
  });
}

/** Events in the order of the feed; those at or before the state's position change nothing. */
export function withEvents(state: RunStoreState, events: readonly WorkflowEvent[]): RunStoreState {
  const runs: Record<string, RunView> = { ...state.runs };
  const progress: Record<string, readonly Progress[]> = { ...state.progress };
  let { position, pulses } = state;
  for (const event of events) {
    if (event.position <= position) continue;
    position = event.position;
    const view = foldRun(runs[event.workflowRunId] ?? null, event);
    if (view === null) continue;
    runs[event.workflowRunId] = view;
    if (FINAL_STATUSES.has(view.status)) delete progress[event.workflowRunId];
    pulses = withoutEnded(pulses, view, event);
  }
  if (position === state.position) return state;
  return {
    ...state,
    runs,
    progress,
    pulses,
    position,
    resuming: without(state.resuming, events, (event) => event.workflowRunId),
  };
}

/** Runs as a list had them, beside what the feed has said of them since: the newer view of each counts. */
export function withRuns(state: RunStoreState, listed: readonly RunView[]): RunStoreState {
  const newer = listed.filter(({ id, lastSequence }) => lastSequence > (state.runs[id]?.lastSequence ?? -1));
  if (newer.length === 0) return state;
  const runs = { ...state.runs, ...Object.fromEntries(newer.map((run) => [run.id, run])) };
  return { ...state, runs, resuming: without(state.resuming, newer, ({ id }) => id) };
}

export function withProgress(state: RunStoreState, line: Progress): RunStoreState {
  if (line.kind === 'pulse') {
    // One that is late says nothing of a run that waits or has ended.
    if ((state.runs[line.runId]?.status ?? 'running') !== 'running') return state;
    const pulses = { ...state.pulses, [line.runId]: withPulse(state.pulses[line.runId], line) };
    return { ...state, pulses, resuming: without(state.resuming, [line], ({ runId }) => runId) };
  }
  const lines = [...(state.progress[line.runId] ?? []), line].slice(-MAX_PROGRESS_LINES);
  const progress = { ...state.progress, [line.runId]: lines };
  return { ...state, progress, resuming: without(state.resuming, [line], ({ runId }) => runId) };
}

export function withConflicts(state: RunStoreState, { runId, conflicts }: ForeseenConflictsChange): RunStoreState {
  if (runId === undefined)
    return { ...state, conflicts: Object.fromEntries(Map.groupBy(conflicts, (each) => each.runId)) };
  const { [runId]: before, ...others } = state.conflicts;
  if (conflicts.length === 0) return before === undefined ? state : { ...state, conflicts: others };
  return { ...state, conflicts: { ...others, [runId]: conflicts } };
}

/** Without the activity that the event ends, or without all of a run that is not running. */
function withoutEnded(
  pulses: RunStoreState['pulses'],
  { id, status }: RunView,
  { type, payload }: WorkflowEvent,
): RunStoreState['pulses'] {
  const ofRun = pulses[id];
  if (ofRun === undefined) return pulses;
  const hasEnded = type === 'ACTIVITY_COMPLETED' || type === 'ACTIVITY_FAILED';
  if (status === 'running' && !hasEnded) return pulses;
  const { [id]: _before, ...others } = pulses;
  const left = status === 'running' ? withoutPulse(ofRun, String(payload['activity'])) : undefined;
  return left === undefined ? others : { ...others, [id]: left };
}

/** Another feed than before makes all that was folded void; another process of the server begins its work again. */
export function withStatus(state: RunStoreState, status: FeedStatus): RunStoreState {
  if (status.state === 'offline') {
    const atWork = Object.values(state.runs).filter((run) => run.status === 'running');
    return { ...state, connection: status, pulses: {}, resuming: atWork.map(({ id }) => id) };
  }
  if (status.state !== 'replaying') return { ...state, connection: status };
  const { process = null } = status;
  const afresh = status.reset ? { ...emptyRunStoreState } : state;
  const goesOn = process === null || process === state.process;
  return {
    ...afresh,
    // Those that there are come after this.
    conflicts: {},
    feedId: status.feedId,
    connection: status,
    process,
    resuming: goesOn ? [] : afresh.resuming,
  };
}

/** Whether a restarted server is recovering the run. */
export function isResuming({ connection, resuming, runs }: RunStoreState, runId: string): boolean {
  return connection.state === 'live' && resuming.includes(runId) && runs[runId]?.status === 'running';
}

/** Returns the ids without those received; the same list when it is empty. */
function without<Received>(
  ids: readonly string[],
  received: readonly Received[],
  idOf: (each: Received) => string,
): readonly string[] {
  if (ids.length === 0) return ids;
  const gone = new Set(received.map(idOf));
  return ids.filter((id) => !gone.has(id));
}

/**
 * Sorts runs for lists: first those that wait for a person, the longest wait first; then those at work; then those that
 * ended, newest first.
 */
export function selectRuns({ runs }: RunStoreState): readonly RunView[] {
  return Object.values(runs).toSorted((one, other) => {
    const rank = RANKS[one.status] - RANKS[other.status];
    if (rank !== 0) return rank;
    const order =
      RANKS[one.status] === 0 ? compare(waitsSince(one), waitsSince(other)) : compare(since(other), since(one));
    return order || compare(one.id, other.id);
  });
}

/** Open gates of all runs, who waits longest first. */
export function selectOpenGates(state: RunStoreState): readonly Gate[] {
  return selectRuns(state).flatMap(({ gate }) => (gate === null ? [] : [gate]));
}

export function selectRun({ runs }: RunStoreState, id: string): RunView | null {
  return runs[id] ?? null;
}

/** Feeds the store until `signal` aborts, from the state's own position on. Throws as `followFeed` does. */
export async function syncRunStore(options: {
  readonly client: Pick<Client, 'followFeed'>;
  readonly store: RunStore;
  readonly signal: AbortSignal;
  readonly runIds?: readonly string[];
}): Promise<void> {
  const { client, store, signal } = options;
  const { feedId, position } = store.getSnapshot().context;
  // A replay of thousands of events is folded in batches: each change of the store copies the list of runs.
  let batch: WorkflowEvent[] = [];
  let isLive = false;
  const flush = () => {
    if (batch.length > 0) store.trigger.received({ events: batch });
    batch = [];
  };
  const settling = settlesLater(store);
  const feed = client.followFeed({
    after: position,
    feedId: feedId ?? undefined,
    runIds: options.runIds,
    signal,
    onEvent: (event) => {
      batch.push(event);
      if (isLive || batch.length >= BATCH) flush();
    },
    onProgress: (progress) => store.trigger.progressed({ progress }),
    onConflicts: (change) => store.trigger.conflicted({ change }),
    onStatus: (status) => {
      flush();
      isLive = status.state === 'live' || status.state === 'polling';
      store.trigger.statusChanged({ status });
      settling.heard(status);
    },
  });
  await feed.finally(() => settling.stop());
}

const BATCH = 500;

/**
 * Keeps the store fed as {@link syncRunStore} does, without the past: open runs and the newest others are listed, and the feed is
 * followed from its end. A run that is heard of and was not listed is asked for. What is older is the caller's to list.
 * @throws as `followFeed` does
 */
export async function syncRecentRuns(options: {
  readonly client: Pick<Client, 'followFeed' | 'listRuns' | 'getRun'>;
  readonly store: RunStore;
  readonly signal: AbortSignal;
  /** Called when a list or a run cannot be loaded: the store lacks it until the next connection. */
  readonly onFault: (error: unknown) => void;
  /** Postpones an update until it is needed, such as at the next frame of a screen. Absent: updates are immediate. */
  readonly defer?: (act: () => void) => void;
}): Promise<void> {
  const { client, store, signal, onFault, defer } = options;
  const asking = new Set<string>();
  const askAgain = new Set<string>();
  let isListed = false;
  // The events since an earlier connection are not requested again: they have gaps, and concern runs that ended long ago.
  let hasEarlier = store.getSnapshot().context.feedId !== null;
  const list = async (): Promise<void> => {
    const [open, newest] = await Promise.all(RECENT_RUNS.map((filter) => client.listRuns(filter)));
    if (open === undefined || newest === undefined) return;
    // A run that goes on meanwhile may be in both of them.
    const runs = [...open.items, ...newest.items].toSorted((one, other) => one.lastSequence - other.lastSequence);
    if (signal.aborted) return;
    if (hasEarlier) store.trigger.listedAnew({ runs, older: newest.nextCursor });
    else store.trigger.listed({ runs, older: newest.nextCursor });
    hasEarlier = false;
    for (let cursor = open.nextCursor; cursor !== null && !signal.aborted;) {
      const page = await client.listRuns({ ...RECENT_RUNS[0], cursor });
      if (!signal.aborted) store.trigger.listed({ runs: page.items });
      cursor = page.nextCursor;
    }
  };
  const ask = async (id: string): Promise<void> => {
    askAgain.add(id);
    if (asking.has(id)) return;
    asking.add(id);
    try {
      // An event that arrives meanwhile may be newer than the answer.
      while (askAgain.delete(id)) {
        const run = await client.getRun(id);
        if (!signal.aborted) store.trigger.listed({ runs: [run] });
      }
    } finally {
      asking.delete(id);
    }
  };

  /** Heard and not told yet, with how far each run has come by them. */
  let batch: WorkflowEvent[] = [];
  const heard = new Map<string, number>();
  const flush = (): void => {
    if (batch.length === 0 || signal.aborted) return;
    const events = batch;
    batch = [];
    heard.clear();
    store.trigger.received({ events });
  };
  const tell = (event: WorkflowEvent): void => {
    batch.push(event);
    heard.set(event.workflowRunId, event.sequence);
    if (defer === undefined) flush();
    else if (batch.length === 1) defer(flush);
  };

  // For the eye, which need not wait for the feed. Nothing is missed: what counts is listed once the feed is live.
  list().catch(() => undefined);
  const settling = settlesLater(store);
  const feed = client.followFeed({
    after: 'end',
    signal,
    onEvent: (event) => {
      const id = event.workflowRunId;
      const known = Math.max(store.getSnapshot().context.runs[id]?.lastSequence ?? 0, heard.get(id) ?? 0);
      if (event.sequence > known + 1) ask(id).catch(onFault);
      else tell(event);
    },
    onProgress: (progress) => store.trigger.progressed({ progress }),
    onConflicts: (change) => store.trigger.conflicted({ change }),
    onStatus: (status) => {
      flush();
      store.trigger.statusChanged({ status });
      settling.heard(status);
      if (status.state === 'replaying' && status.reset) isListed = false;
      if ((status.state !== 'live' && status.state !== 'polling') || isListed) return;
      isListed = true;
      list().catch((error: unknown) => {
        isListed = false;
        onFault(error);
      });
    },
  });
  await feed.finally(() => settling.stop());
}

/** Time within which recovered work sends an event or progress. */
const RESUMED_WITHIN_MS = 20_000;

function settlesLater(store: RunStore) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => clearTimeout(timer);
  return {
    heard({ state }: FeedStatus): void {
      stop();
      if (state === 'live') timer = setTimeout(() => store.trigger.settled(), RESUMED_WITHIN_MS);
    },
    stop,
  };
}

/**
 * Lists the runs that are older than those that the store was told of, one page more.
 * @returns at once where there are none
 */
export async function listOlderRuns({ client, store }: { client: Pick<Client, 'listRuns'>; store: RunStore }) {
  const { older } = store.getSnapshot().context;
  if (typeof older !== 'string') return;
  const page = await client.listRuns({ limit: LISTED, cursor: older });
  store.trigger.olderListed({ from: older, page });
}

/** 0: waits for a person; 1: works or will; 2: ended. */
const RANKS: Readonly<Record<RunStatus, 0 | 1 | 2>> = {
  awaiting_approval: 0,
  awaiting_clarification: 0,
  paused: 0,
  running: 1,
  awaiting_children: 1,
  queued: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
};

const waitsSince = (run: RunView): string => run.gate?.openedAt ?? run.updatedAt;
/** Running ones keep their place while they work; ended ones are ordered by their end. */
const since = (run: RunView): string =>
  FINAL_STATUSES.has(run.status) ? (run.completedAt ?? run.updatedAt) : run.createdAt;
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
