import type { RunStatus } from '@autonomous/shared';

/** Columns of a run, times in milliseconds. */
export interface RunRow {
  readonly number: number;
  readonly id: string;
  readonly projectId: string;
  readonly userId: string;
  readonly workflow: string;
  readonly explorationId: string | null;
  readonly createdAt: number;
  readonly status: RunStatus;
  readonly stage: string | null;
  readonly updatedAt: number;
  readonly lastSequence: number;
  readonly tip: Buffer;
  /** `null` while the run is open. */
  readonly completedAt: number | null;
  readonly archivedSequence: number | null;
  /** JSON. */
  readonly gate: string | null;
}
