/** The changes of a run as every surface shows them: git's list of files, each with its own part of the patch. */
import type { FileChange, RunDiff } from '../api/orchestrator.ts';
import { showHidden } from '../text/hidden-characters.ts';
import { parsePatch, type PatchFile } from './patch.ts';

export interface ReviewedFile extends FileChange {
  /** `null` where the server sent nothing of it. */
  readonly patch: PatchFile | null;
}

export interface DiffReview {
  /** In the order of git's list. */
  readonly files: readonly ReviewedFile[];
  /** Where patch and list say different things: what is shown may not be what is decided. One sentence each. */
  readonly faults: readonly string[];
}

/** Puts list and patch together and compares them: the list alone says which files there are and how much of each changed. */
export function reviewDiff({ files, patch }: Pick<RunDiff, 'files' | 'patch'>): DiffReview {
  const patches = new Map(parsePatch(patch).map((file) => [file.path, file]));
  const listed = new Set(files.map(({ path }) => path));
  return {
    files: files.map((file) => ({ ...file, patch: patches.get(file.path) ?? null })),
    faults: [
      ...files.flatMap((file) => faultOf(file, patches.get(file.path)) ?? []),
      ...[...patches.keys()]
        .filter((path) => !listed.has(path))
        .map((path) => `The patch shows '${showHidden(path)}', which git does not list as changed.`),
    ],
  };
}

function faultOf(file: FileChange, patch: PatchFile | undefined): string | null {
  const lines = patch?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  const count = (kind: 'added' | 'removed'): number => lines.filter((line) => line.kind === kind).length;
  const [added, removed] = [
    count('added') + (file.leftOut?.additions ?? 0),
    count('removed') + (file.leftOut?.deletions ?? 0),
  ];
  if (added === file.additions && removed === file.deletions) return null;
  return `Git counts +${file.additions} −${file.deletions} lines in '${showHidden(file.path)}', the patch has +${added} −${removed}.`;
}

/** Facts that the lines of a file's change do not show, as clauses and sentences: warnings, sizes, omissions. */
export function changeNotes(file: FileChange): readonly string[] {
  return [...(file.warnings ?? []), binaryText(file), leftOutText(file)].filter((note) => note !== null);
}

/** How much of a file's change is not shown; `null` where all of it is. */
export function leftOutText({ leftOut }: Pick<FileChange, 'leftOut'>): string | null {
  if (leftOut === undefined) return null;
  const parts = [
    ...(leftOut.additions === 0 ? [] : [`${leftOut.additions} added`]),
    ...(leftOut.deletions === 0 ? [] : [`${leftOut.deletions} removed`]),
  ];
  const isOne = leftOut.additions + leftOut.deletions === 1;
  return `${parts.join(' and ')} ${isOne ? 'line is' : 'lines are'} not shown: the change is too large. See them on the run's branch.`;
}

/** Text in place of the lines of a binary file; `null` for a file with lines. */
export function binaryText({ binary }: Pick<FileChange, 'binary'>): string | null {
  if (binary === undefined) return null;
  const { before, after } = binary;
  const sizes = [before, after].flatMap((size) => (size === null ? [] : [bytesText(size)]));
  return `Binary file, ${sizes.join(' → ')}`;
}

function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
