/** Reads what runs spent and where they waited from what was summarised of them, and the events that came since. */
import type { RunStatus } from '@autonomous/shared';
import { sha256 } from '../../hash-chain.ts';
import { NO_SUMMARY, type RunSummary, SUMMARY_VERSION, summarize } from '../../run-summary.ts';
import type { Connection } from '../sqlite-connection.ts';
import { readWhatCanBeRead, type StoredRuns } from './stored-runs.ts';

/** Times in milliseconds. */
export interface SummaryRange {
  readonly projectId: string | null;
  readonly workflow: string | null;
  readonly endedSince: number;
  readonly madeBefore: number;
}

/** A run as its row and its summary have it; times in milliseconds. */
export interface SummaryRow {
  readonly number: number;
  readonly id: string;
  readonly workflow: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  /** `null` while it is open. */
  readonly completedAt: number | null;
  readonly isSuperseded: 0 | 1;
  readonly parentId: string | null;
  readonly isBelow: 0 | 1;
  readonly lastSequence: number;
  /** `null` where none is stored, or one of another version. */
  readonly sequence: number | null;
  readonly summary: string | null;
  readonly hash: Buffer | null;
}

export interface FoldedSummary {
  readonly summary: RunSummary;
  /** The last event that is in it. */
  readonly sequence: number;
}

export class StoredSummaries {
  readonly #runs: StoredRuns;
  readonly #page: ReturnType<typeof preparePage>;

  constructor(connection: Connection, runs: StoredRuns) {
    this.#runs = runs;
    this.#page = preparePage(connection);
  }

  /** Runs by number, at most `limit` of them after one. */
  page(range: SummaryRange, after: number, limit: number): readonly SummaryRow[] {
    return this.#page.all({ ...range, after, limit, version: SUMMARY_VERSION });
  }

  /** Returns the stored summary of a run. Empty when it is missing or damaged: it is then folded from the events. */
  kept({ sequence, summary, hash, lastSequence }: SummaryRow): FoldedSummary {
    if (sequence === null || summary === null || sequence > lastSequence) return NOTHING;
    if (hash === null || sha256(summary) !== hash.toString('hex')) return NOTHING;
    return { summary: JSON.parse(summary) as RunSummary, sequence }; // The text of a summary, as its hash shows.
  }

  /**
   * Takes in events that came since, at most `limit`.
   * @returns the same object at the end
   * @throws {DamagedRun}
   */
  update({ number }: SummaryRow, folded: FoldedSummary, limit: number): FoldedSummary {
    const run = this.#runs.findNumber(number);
    const events = run === undefined ? [] : this.#runs.events(run, folded.sequence, limit, readWhatCanBeRead);
    const last = events.at(-1);
    return last === undefined ? folded : { summary: summarize(folded.summary, events), sequence: last.sequence };
  }
}

const NOTHING: FoldedSummary = { summary: NO_SUMMARY, sequence: 0 };

/** Whether the range has a row of `workflow_runs`. */
const isInRange = (run: string): string =>
  `((@projectId IS NULL OR ${run}.project_id = @projectId)
       AND (@workflow IS NULL OR ${run}.workflow = @workflow)
       AND (${run}.completed_at IS NULL OR (${run}.completed_at >= @endedSince AND ${run}.created_at < @madeBefore)))`;

const OF_RANGE =
  'parent.id, parent.parent_id, parent.project_id, parent.workflow, parent.completed_at, parent.created_at';

function preparePage(connection: Connection) {
  return connection.prepare<
    [SummaryRange & { readonly after: number; readonly limit: number; readonly version: number }],
    SummaryRow
  >(
    `SELECT run.number, run.id, run.workflow, run.status, run.created_at AS createdAt, run.completed_at AS completedAt,
       run.parent_id AS parentId, NOT ${isInRange('run')} AS isBelow,
       run.last_sequence AS lastSequence, kept.sequence, kept.summary, kept.hash,
       run.status = 'cancelled' AND run.exploration_id IS NOT NULL AND EXISTS (
         SELECT 1 FROM workflow_runs AS other
         WHERE other.exploration_id = run.exploration_id AND other.status <> 'cancelled') AS isSuperseded
     FROM workflow_runs AS run
     LEFT JOIN run_summaries AS kept ON kept.run = run.number AND kept.version = @version
     WHERE run.number > @after AND (${isInRange('run')} OR run.parent_id IS NOT NULL AND EXISTS (
       WITH RECURSIVE above AS (
         SELECT ${OF_RANGE} FROM workflow_runs AS parent WHERE id = run.parent_id
         UNION SELECT ${OF_RANGE} FROM workflow_runs AS parent JOIN above ON parent.id = above.parent_id)
       SELECT 1 FROM above WHERE above.parent_id IS NULL AND ${isInRange('above')}))
     ORDER BY run.number LIMIT @limit`,
  );
}
