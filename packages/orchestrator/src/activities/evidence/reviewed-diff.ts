/** Makes the diff that the validator judges, and lists the changes that it does not contain. */
import { type Concern, type FileChange, type RunDiff, showHidden } from '@autonomous/shared';
import { changeNotes } from '@autonomous/shared/presentation';
import { digestOf } from '../../documents/concern-digests.ts';
import { namesDependencies } from '../../project-analysis/installation/dependencies.ts';
import type { RemoteProject, Repository, TreeChange } from '../../repository/repository.ts';

/** Less than the validator's prompt has room for, so that it is cut file by file. */
const REVIEWED = { leaveOut: ['.autonomous'], maxBytes: 100_000 };
/** A person reads the list; the digest covers all of it. */
const LISTED = 200;

/** Diff without `.autonomous`: the plan is shown separately, and nothing else there is from the implementer. */
export function reviewedDiff(
  repository: Repository,
  project: RemoteProject,
  baseCommit: string,
  head: string,
): Promise<RunDiff> {
  return repository.diff(project, baseCommit, head, REVIEWED);
}

/** A diff as the validator reads it: hidden characters as escapes, and first what its lines do not show. */
export function reviewText({ files, patch }: RunDiff): string {
  const unseen = files.filter((file) => unseenOf(file) !== null).length;
  const preface =
    unseen === 0
      ? []
      : [
          `You are not shown all of this change: parts of ${unseen === 1 ? 'one file are' : `${unseen} files are`} left out, as the notes below say. Read what is left out with your tools, or say in the summary that your verdict does not cover it.\n`,
        ];
  const notes = files.flatMap((file) => changeNotes(file).map((note) => `${file.path}: ${note}\n`));
  return showHidden([...preface, ...notes, patch].join(''));
}

/** Concerns for changes that the reviewer was not shown. Lockfiles are left out: the server itself reads them. */
export function notReviewed({ files }: Pick<RunDiff, 'files'>, changes: readonly TreeChange[]): readonly Concern[] {
  const contents = new Map(changes.map(({ path, after }) => [path, after?.oid ?? null]));
  const found = files.flatMap((file) => {
    const reason = namesDependencies(file.path) ? null : unseenOf(file);
    const content = contents.get(file.path);
    return reason === null || content === undefined ? [] : [{ path: file.path, reason, content }];
  });
  if (found.length === 0) return [];
  const items = found.map(({ path, reason, content }) => ({
    path,
    reason,
    hash: digestOf(['not_reviewed', path, content]),
  }));
  const beyond = items.length - LISTED;
  const more = beyond > 0 ? [{ reason: `… and ${beyond} more: see the changes` }] : [];
  return [
    {
      kind: 'not_reviewed',
      title: `The reviewer was not shown all of ${found.length === 1 ? 'a changed file' : `${found.length} changed files`}`,
      items: [...items.slice(0, LISTED), ...more],
      hash: digestOf(['not_reviewed', items.map(({ hash }) => hash).sort()]),
    },
  ];
}

/** Of a file that is removed, its name says all. */
function unseenOf({ status, additions, deletions, leftOut, binary }: FileChange): string | null {
  if (status === 'deleted') return null;
  if (binary?.isOfUnknownKind === true) return 'a file of no known kind, of which nothing is shown';
  if (leftOut === undefined) return null;
  const [left, all] = [leftOut.additions + leftOut.deletions, additions + deletions];
  return `${left} of ${all} changed ${all === 1 ? 'line' : 'lines'} left out: the change is too large`;
}
