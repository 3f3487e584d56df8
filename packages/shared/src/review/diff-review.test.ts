import { expect, it } from 'vitest';
import { changeNotes, reviewDiff } from './diff-review.ts';

const patch = (path: string, ...lines: readonly string[]): string =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1,${lines.length} @@\n-old\n${lines.map((line) => `+${line}\n`).join('')}`;
const listed = (path: string, additions: number, deletions: number) =>
  ({ path, status: 'modified', additions, deletions }) as const;

it('puts each file of the list beside its own part of the patch', () => {
  const { files, faults } = reviewDiff({
    files: [listed('a', 1, 1), listed('b', 2, 1)],
    patch: patch('a', 'x') + patch('b', 'y', 'z'),
  });
  expect(faults).toEqual([]);
  expect(files.map(({ path, patch: shown }) => [path, shown?.hunks[0]?.lines.length])).toEqual([
    ['a', 2],
    ['b', 3],
  ]);
});

it('says where the patch has less, more or other files than git lists', () => {
  const { faults } = reviewDiff({
    files: [listed('a', 2, 1), listed('b', 1, 1), listed('c\u202e', 3, 0)],
    patch: patch('a', 'x') + patch('b', 'y') + patch('d', 'z'),
  });
  expect(faults).toEqual([
    "Git counts +2 −1 lines in 'a', the patch has +1 −1.",
    "Git counts +3 −0 lines in 'c⟨U+202E⟩', the patch has +0 −0.",
    "The patch shows 'd', which git does not list as changed.",
  ]);
});

it('takes what the server says that it left out for what it is', () => {
  const file = { ...listed('a', 500, 1), leftOut: { additions: 499, deletions: 0 } };
  expect(reviewDiff({ files: [file], patch: patch('a', 'x') }).faults).toEqual([]);
  expect(changeNotes({ ...file, warnings: ['look'] })).toEqual([
    'look',
    "499 added lines are not shown: the change is too large. See them on the run's branch.",
  ]);
  expect(changeNotes({ ...listed('p', 0, 0), binary: { before: 900, after: 1_500 } })).toEqual([
    'Binary file, 900 bytes → 1.5 KB',
  ]);
});
