import type { RunDiff, RunView } from '@autonomous/shared';
import type { DiffReview, ReviewedFile } from '@autonomous/shared/presentation';

/** Changes of one run against its base commit, as far as they were fetched. */
export interface RunChanges {
  readonly run: RunView;
  readonly diff: RunDiff;
  readonly review: DiffReview;
  readonly byPath: ReadonlyMap<string, ReviewedFile>;
}
