import type { DiffReview, ReviewedFile, RunDiff, RunView } from '@autonomous/shared';

/** Changes of one run against its base commit, as far as they were fetched. */
export interface RunChanges {
  readonly run: RunView;
  readonly diff: RunDiff;
  readonly review: DiffReview;
  readonly byPath: ReadonlyMap<string, ReviewedFile>;
}
