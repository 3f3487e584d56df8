/** The progress log in the record of a backlog's run: derived from the run's events, never read back. */
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { type BacklogFact, factOf } from './events.ts';
import { type ProgressEntry, withProgress } from './progress-log.ts';

/**
 * Makes the log of a run: its attempts in the order of their beginnings, each with its end.
 * @returns files of the record by name; none before an attempt was begun
 */
export function progressFiles(
  { createdAt }: Pick<RunView, 'createdAt'>,
  events: readonly WorkflowEvent[],
): Readonly<Record<string, string>> {
  const changes = events.flatMap(({ type, payload, timestamp }) =>
    factOf(type, payload).flatMap((fact) => (fact.type === 'ITEM_CHANGED' ? [{ fact, at: timestamp }] : [])),
  );
  // Several items at the same time: other attempts begin between the beginning and the end of one.
  const attempts = Map.groupBy(changes, ({ fact }, index) => fact.iteration ?? `none ${index}`);
  const entries = [...attempts.values()].flat().flatMap(({ fact, at }) => entryOf(fact, at));
  if (entries.length === 0) return {};
  const all: readonly ProgressEntry[] = [{ kind: 'run_started', at: createdAt }, ...entries, ...endOf(events)];
  return { 'autopilot-progress.md': all.reduce((text: string | null, entry) => withProgress(text, entry), null) ?? '' };
}

type ItemChanged = Extract<BacklogFact, { type: 'ITEM_CHANGED' }>;

function entryOf({ item: id, status, iteration, reason }: ItemChanged, at: string): readonly ProgressEntry[] {
  if (status === 'queued') return [];
  if (iteration === undefined) return status === 'blocked' ? [{ kind: 'blocked', id }] : [];
  if (status === 'in_progress' && reason === '') return [{ kind: 'iteration_started', iteration, id, at }];
  return [{ kind: 'iteration_ended', id, exitCode: status === 'done' ? 0 : 1, status, at }];
}

function endOf(events: readonly WorkflowEvent[]): readonly ProgressEntry[] {
  const facts = events.flatMap(({ type, payload }) => factOf(type, payload));
  const stopped = facts.findLast(({ type }) => type === 'BACKLOG_STOPPED');
  if (stopped?.type !== 'BACKLOG_STOPPED') return [];
  if (stopped.kind === 'iterations') return [{ kind: 'max_iterations' }];
  return stopped.kind === 'done' ? [{ kind: 'all_complete' }] : [];
}
