/** Differences between trees; the latest ones are cached, since people who look at a result request the same diff again and again. */
import type { GitPlace } from './git.ts';
import { readDiff } from './git-diff.ts';
import { RecentAnswers } from '../recent-answers.ts';
import type { DiffOptions } from '../repository.ts';
import { Turns } from '../turns.ts';

/** Characters of diffs that are cached. */
const DIFFS_KEPT = 24 * 1024 * 1024;
/** Characters that one file in the list of a diff counts for. */
const LISTED_FILE = 300;

type TreeDiff = Awaited<ReturnType<typeof readDiff>>;

export class KnownDiffs {
  readonly #turns = new Turns();
  readonly #diffs = new RecentAnswers<TreeDiff>(
    DIFFS_KEPT,
    ({ files, patch }) => 1 + patch.length + LISTED_FILE * files.length,
  );

  /** The difference between two trees. A second request for the same one waits for the first and takes its cached result. */
  read(place: GitPlace, before: string, after: string, options: DiffOptions): Promise<TreeDiff> {
    const { leaveOut = [], engineWritten = [], maxBytes = null } = options;
    const key = JSON.stringify([place.gitDir, before, after, leaveOut, engineWritten, maxBytes]);
    return this.#turns.take(key, async () => {
      const known = this.#diffs.get(key);
      if (known !== undefined) return known;
      const read = await readDiff(place, before, after, options);
      this.#diffs.keep(key, read);
      return read;
    });
  }
}
