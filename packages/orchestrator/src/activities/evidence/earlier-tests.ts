/**
 * Tests of one child run that a later one changes. The checks of the whole result compare with its base commit, which has no
 * such test: a child that breaks what an earlier one made can rewrite its tests. Pure.
 */
import type { Concern, ConcernItem } from '@autonomous/shared';
import { digestOf } from '../../documents/concern-digests.ts';
import { isTestPath } from '../../project-analysis/project-commands.ts';
import type { TreeChange } from '../../repository/repository.ts';

/** The change of a child run whose result is merged. */
export interface ChangedByChild {
  /** Name for a person. */
  readonly name: string;
  readonly changes: readonly TreeChange[];
}

/** A person reads the list; the digest covers all of it. */
const LISTED = 200;

/** @param children in the order of their merges */
export function earlierTestsChanged(children: readonly ChangedByChild[]): readonly Concern[] {
  const items = children.flatMap((child, index) => testsOfOthers(child, children.slice(0, index)));
  if (items.length === 0) return [];
  const paths = [...new Set(items.map(({ path }) => path))];
  const beyond = items.length - LISTED;
  const more = beyond > 0 ? [{ reason: `… and ${beyond} more: see the changes` }] : [];
  return [
    {
      kind: 'tests_unknown',
      title: `Tests that an earlier part of the work added were changed by a later one: ${paths.slice(0, 3).join(', ')}${paths.length > 3 ? ` and ${paths.length - 3} more` : ''}`,
      items: [...items.slice(0, LISTED), ...more],
      hash: digestOf(['earlier_tests', items.map(({ hash }) => hash).sort()]),
    },
  ];
}

function testsOfOthers(
  { name, changes }: ChangedByChild,
  earlier: readonly ChangedByChild[],
): readonly (ConcernItem & { readonly path: string; readonly hash: string })[] {
  return changes.flatMap(({ path, before, after }) => {
    if (before === null || !isTestPath(path)) return [];
    const writers = earlier.flatMap((each) =>
      each.changes.flatMap((change) => (change.path === path ? [{ name: each.name, change }] : [])),
    );
    const [first] = writers;
    // A child that started beside the writer has the test as it was before both of them.
    if (first === undefined || first.change.before?.oid === before.oid) return [];
    const author = writers.find(({ change }) => change.after?.oid === before.oid) ?? first;
    return [
      {
        path,
        reason: `${name} ${after === null ? 'deletes' : 'changes'} a test as '${author.name}' left it: whether the code of '${author.name}' still does what it did is not known`,
        hash: digestOf(['earlier_tests', path, before.oid, after?.oid ?? null]),
      },
    ];
  });
}
