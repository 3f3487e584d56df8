/** Follows a run and its child runs until the run ends or all of them wait for a person. */
import {
  FINAL_STATUSES,
  foldRun,
  type Gate,
  type RunView,
  type WorkflowEvent,
  type WorkflowSummary,
} from '@autonomous/shared';
import { type Client, workflowOf } from '@autonomous/shared/client';
import { firstLineOf } from '@autonomous/shared/presentation';
import { type CliIo, sayEntry, sayJson } from '../io.ts';
import { describeEvent } from './timeline.ts';

export interface FamilyOptions {
  readonly client: Client;
  readonly io: CliIo;
  readonly runId: string;
  /** Events as JSON lines instead of the timeline. */
  readonly json: boolean;
  /** Events up to this position of the feed are not printed. Default: all are printed. */
  readonly toldUpTo?: number;
  /** Called with each event of the run and its children, in their order; once more with all that was before where they are followed again. */
  readonly onEvent?: ((event: WorkflowEvent) => void) | undefined;
}

export interface FollowedFamily {
  readonly run: RunView;
  /** Gates of the run and its children that wait for a person. */
  readonly gates: readonly Gate[];
  /** Ended by Ctrl+C; the runs go on. */
  readonly interrupted: boolean;
}

/** @throws {ApiError} when there is no such run, or the server refuses */
export async function followFamily(options: FamilyOptions): Promise<FollowedFamily> {
  const { client, io, runId, json, toldUpTo = 0, onEvent } = options;
  const [first] = await client.listEvents(runId, 0, 1);
  if (first === undefined) throw new Error(`run ${runId} has no events`);
  const workflows = json ? [] : await client.listWorkflows();
  const views = new Map<string, RunView>();
  const stop = new AbortController();
  let isLive = false;
  let interrupted = false;
  const onInterrupt = (): void => {
    interrupted = true;
    stop.abort();
  };
  const look = (): void => {
    if (isLive && isAtRest(runId, views)) stop.abort();
  };
  const take = (event: WorkflowEvent): void => {
    const before = views.get(event.workflowRunId) ?? null;
    if (before === null && event.workflowRunId !== runId && !isChildOf(event, views)) return;
    if (before !== null && event.sequence <= before.lastSequence) return;
    const view = foldRun(before, event);
    if (view === null) return;
    views.set(event.workflowRunId, view);
    onEvent?.(event);
    if (event.position > toldUpTo) tell(io, json, { event, before, view, since: first.timestamp, workflows });
    look();
  };
  process.once('SIGINT', onInterrupt);
  try {
    await client.followFeed({
      after: first.position - 1,
      signal: stop.signal,
      onEvent: take,
      onProgress: () => {},
      onStatus: ({ state }) => {
        isLive = state === 'live' || state === 'polling';
        look();
      },
    });
  } finally {
    process.removeListener('SIGINT', onInterrupt);
  }
  const run = await client.getRun(runId);
  const children = await openChildren(client, runId);
  const gates = [run, ...children].flatMap(({ gate }) => (gate === null ? [] : [gate]));
  return { run, gates, interrupted };
}

/** The children of a run that have not ended. */
export async function openChildren(client: Client, runId: string): Promise<readonly RunView[]> {
  const { items } = await client.listRuns({ parentId: runId, limit: 200 });
  return items.filter(({ status }) => !FINAL_STATUSES.has(status));
}

/** A child run names its parent in the event that creates it. */
function isChildOf({ type, payload }: WorkflowEvent, views: ReadonlyMap<string, RunView>): boolean {
  if (type !== 'RUN_STARTED' && type !== 'RUN_QUEUED') return false;
  const { start, ...own } = payload as Created & { readonly start?: Created };
  const parent = (start ?? own).parent;
  return parent !== undefined && views.has(parent.runId);
}

interface Created {
  readonly parent?: { readonly runId: string };
}

/** The run has ended, or a person is waited for and nothing else is under way. */
function isAtRest(runId: string, views: ReadonlyMap<string, RunView>): boolean {
  const run = views.get(runId);
  if (run === undefined) return false;
  if (FINAL_STATUSES.has(run.status)) return true;
  const open = [...views.values()].filter(({ status }) => !FINAL_STATUSES.has(status));
  const waits = ({ status, gate }: RunView): boolean => gate !== null || status === 'awaiting_children';
  return open.every(waits) && open.some(({ gate }) => gate !== null);
}

interface Told {
  readonly event: WorkflowEvent;
  readonly before: RunView | null;
  readonly view: RunView;
  readonly since: string;
  readonly workflows: readonly WorkflowSummary[];
}

function tell(io: CliIo, json: boolean, { event, before, view, since, workflows }: Told): void {
  if (json) return sayJson(io, event);
  const entry = describeEvent(event, before, workflowOf({ workflows }, view.workflow.name));
  if (entry === null) return;
  const atMs = Date.parse(event.timestamp) - Date.parse(since);
  const text = view.parent === undefined ? entry.text : `${shortened(view.originalRequest)} │ ${entry.text}`;
  sayEntry(io, { ...entry, text, atMs });
}

function shortened(name: string): string {
  const line = firstLineOf(name);
  return line.length > 30 ? `${line.slice(0, 29)}…` : line;
}
