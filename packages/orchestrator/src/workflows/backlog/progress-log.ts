/** The progress log of a backlog's loop, in Markdown: one entry for each step. Pure. */
import type { ItemStatus } from './backlog-table.ts';
import { lineEnd } from './markdown-lines.ts';
import { PROGRESS_HEADING } from './progress-place.ts';

/** A step of the loop. Times are ISO 8601 with any offset; the log has them in UTC. */
export type ProgressEntry =
  | { readonly kind: 'run_started'; readonly at: string }
  /** @param iteration number of the attempt in its run, from 1 */
  | { readonly kind: 'iteration_started'; readonly iteration: number; readonly id: string; readonly at: string }
  /** The attempt ended, and this is the item's status after it. A blocked or unfinished item is named. */
  | {
      readonly kind: 'iteration_ended';
      readonly id: string;
      readonly exitCode: number;
      readonly status: ItemStatus;
      readonly at: string;
    }
  | { readonly kind: 'all_complete' }
  /** An item was blocked otherwise than by the end of an attempt. */
  | { readonly kind: 'blocked'; readonly id: string }
  | { readonly kind: 'max_iterations' };

/**
 * Adds an entry to the end of a log and keeps every other byte.
 * @param text `null` or empty: there is no log yet, and the entry gets its heading
 * @throws {RangeError} for a time that is no ISO 8601
 */
export function withProgress(text: string | null, entry: ProgressEntry): string {
  const before = text ?? '';
  const eol = lineEnd(before);
  if (before.trim() === '')
    return joined(PROGRESS_HEADING, entry.kind === 'run_started' ? linesOf(entry) : ['', ...linesOf(entry)], eol);
  const gap = entry.kind === 'run_started' ? ['', PROGRESS_HEADING] : beginsPart(entry) ? [''] : [];
  return joined(before.replace(/(?:\r\n|\n|\r)$/, ''), [...gap, ...linesOf(entry)], eol);
}

function joined(before: string, lines: readonly string[], eol: string): string {
  return `${[before, ...lines].join(eol)}${eol}`;
}

function beginsPart({ kind }: ProgressEntry): boolean {
  return kind === 'iteration_started' || kind === 'all_complete' || kind === 'max_iterations';
}

function linesOf(entry: ProgressEntry): readonly string[] {
  switch (entry.kind) {
    case 'run_started':
      return [`Started: ${utc(entry.at)}`];
    case 'iteration_started':
      return [`## Iteration ${entry.iteration}: ${entry.id}`, `Started: ${utc(entry.at)}`];
    case 'iteration_ended':
      return [
        `Exit code: ${entry.exitCode}`,
        `Status: ${entry.status}`,
        ...statusLines(entry.id, entry.status),
        `Completed: ${utc(entry.at)}`,
      ];
    case 'all_complete':
      return ['=== ALL SPECS COMPLETE ==='];
    case 'blocked':
      return statusLines(entry.id, 'blocked');
    case 'max_iterations':
      return ['=== MAX ITERATIONS REACHED ==='];
  }
  return entry satisfies never;
}

function statusLines(id: string, status: ItemStatus): readonly string[] {
  if (status === 'blocked') return [`=== BLOCKED: ${id} ===`, 'Human intervention required.'];
  return status === 'in_progress' ? [`=== WARNING: ${id} still in_progress ===`, 'May need manual review.'] : [];
}

function utc(at: string): string {
  return new Date(at).toISOString();
}
