/** Hints for the person who decides on a change of a file, beside its lines. */
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { FileChange } from '@autonomous/shared';
import { hiddenWarning, hunkLines, lookAlikeFault, type RawFile, TextWarnings } from '@autonomous/shared/presentation';
import { isKnownBinary } from './text-files.ts';

export interface ShownChange extends Pick<FileChange, 'path' | 'status'> {
  readonly isBinary: boolean;
  /** Git takes it for binary, and it is shown as text. */
  readonly isForcedText: boolean;
  /** Its patch as far as it was read; absent where nothing was. */
  readonly file: RawFile | undefined;
}

/** Characters that are looked through at one go. */
const AT_ONCE = 64 * 1024;
/** Without any of these a text has neither hidden characters nor words of other alphabets. */
const NOT_PLAIN = /[^\x20-\x7E\t\n]/;

/** Clauses without a full stop. Only additions count: what was there before is not the change's doing. */
export async function changeWarnings({
  path,
  status,
  isBinary,
  isForcedText,
  file,
}: ShownChange): Promise<readonly string[]> {
  if (status === 'deleted') return [];
  return [
    ...(status === 'added' ? nameWarnings(path) : []),
    ...(isForcedText ? ['it contains NUL bytes, so that git treats it as binary; it is shown as text'] : []),
    ...(isBinary && !isKnownBinary(path) ? ['it is of no known kind of binary file'] : []),
    ...(await addedWarnings(file)),
  ];
}

async function addedWarnings(file: RawFile | undefined): Promise<readonly string[]> {
  const warnings = new TextWarnings();
  let [lines, characters] = [[] as string[], 0];
  const read = (): void => {
    warnings.add(lines.join('\n'));
    [lines, characters] = [[], 0];
  };
  for (const hunk of file?.hunks ?? []) {
    if (!NOT_PLAIN.test(hunk.text)) continue;
    for (const line of hunkLines(hunk)) {
      if (!line.startsWith('+')) continue;
      lines.push(line.slice(1));
      characters += line.length;
      if (characters < AT_ONCE) continue;
      read();
      await othersFirst();
    }
  }
  read();
  return warnings.of('in added lines');
}

function nameWarnings(path: string): readonly string[] {
  const fault = lookAlikeFault(path);
  return [...(fault === null ? [] : [fault]), ...hiddenWarning(path, 'in its name')];
}
