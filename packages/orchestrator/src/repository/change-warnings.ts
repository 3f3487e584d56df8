/** What a person should know of a file's change before they decide, beside its lines. */
import { type FileChange, hiddenWarning, lookAlikeFault, type RawFile, textWarnings } from '@autonomous/shared';
import { isKnownBinary } from './text-files.ts';

export interface ShownChange extends Pick<FileChange, 'path' | 'status'> {
  readonly isBinary: boolean;
  /** Git takes it for binary, and it is shown as text. */
  readonly isForcedText: boolean;
  /** Its whole patch; absent where none was read. */
  readonly file: RawFile | undefined;
}

/** Clauses without a full stop. Only what the change adds counts: what was there before is not its doing. */
export function changeWarnings({ path, status, isBinary, isForcedText, file }: ShownChange): readonly string[] {
  if (status === 'deleted') return [];
  const added = (file?.hunks ?? []).flatMap(({ lines }) =>
    lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1)),
  );
  return [
    ...(status === 'added' ? nameWarnings(path) : []),
    ...(isForcedText ? ['it holds NUL bytes, for which git takes it for binary; it is shown as text'] : []),
    ...(isBinary && !isKnownBinary(path) ? ['it is of no known kind of binary file'] : []),
    ...textWarnings(added.join('\n'), 'in added lines'),
  ];
}

function nameWarnings(path: string): readonly string[] {
  const fault = lookAlikeFault(path);
  return [...(fault === null ? [] : [fault]), ...hiddenWarning(path, 'in its name')];
}
