/** Reads a unified diff: what a file's two sides are, as far as the diff shows them. */

export interface PatchedFile {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  readonly before: PatchSide;
  readonly after: PatchSide;
  readonly isBinary: boolean;
}

export interface PatchSide {
  /** The lines that the diff shows, with one line for each part that it leaves out. */
  readonly text: string;
  /** The file's own number of each line of `text`, from 1; 0 for a line that stands for what is left out. */
  readonly lineNumbers: readonly number[];
}

interface Side {
  readonly lines: string[];
  readonly numbers: number[];
  next: number;
}

/** All files of a unified diff as `git diff` writes it. */
export function parsePatch(patch: string): readonly PatchedFile[] {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith('diff --git '))
    .flatMap((part) => parseFile(part) ?? []);
}

function parseFile(part: string): PatchedFile | null {
  const lines = part.split('\n');
  const firstHunk = lines.findIndex((line) => line.startsWith('@@ '));
  const header = firstHunk < 0 ? lines : lines.slice(0, firstHunk);
  const path = pathOf(header);
  if (path === null) return null;
  const before = emptySide();
  const after = emptySide();
  if (firstHunk >= 0) readHunks(lines.slice(firstHunk), before, after);
  const status = header.some((line) => line.startsWith('new file mode'))
    ? 'added'
    : header.some((line) => line.startsWith('deleted file mode'))
      ? 'deleted'
      : 'modified';
  const isBinary = header.some((line) => line.startsWith('Binary files ') || line.startsWith('GIT binary patch'));
  return { path, status, isBinary, before: sideOf(before), after: sideOf(after) };
}

function readHunks(lines: readonly string[], before: Side, after: Side): void {
  // The end of the diff's text is no empty line of the file.
  let [left, right] = [0, 0];
  for (const line of lines) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      const [, fromBefore, countBefore = '1', fromAfter, countAfter = '1'] = hunk;
      skipTo(before, Number(fromBefore) + (countBefore === '0' ? 1 : 0));
      skipTo(after, Number(fromAfter) + (countAfter === '0' ? 1 : 0));
      [left, right] = [Number(countBefore), Number(countAfter)];
    } else if (line.startsWith('-') && left > 0) {
      push(before, line);
      left -= 1;
    } else if (line.startsWith('+') && right > 0) {
      push(after, line);
      right -= 1;
    } else if (line.startsWith(' ') && left > 0 && right > 0) {
      push(before, line);
      push(after, line);
      left -= 1;
      right -= 1;
    }
  }
}

/** One line for everything between the last line shown and this one. */
function skipTo(side: Side, line: number): void {
  const left = line - side.next;
  if (left > 0) {
    side.lines.push(`⋯ ${left} unchanged ${left === 1 ? 'line' : 'lines'}`);
    side.numbers.push(0);
  }
  side.next = Math.max(side.next, line);
}

function push(side: Side, line: string): void {
  side.lines.push(line.slice(1));
  side.numbers.push(side.next);
  side.next += 1;
}

const emptySide = (): Side => ({ lines: [], numbers: [], next: 1 });
const sideOf = ({ lines, numbers }: Side): PatchSide => ({
  text: lines.length === 0 ? '' : `${lines.join('\n')}\n`,
  lineNumbers: numbers,
});

/** The name after the change, or before it where the file is gone. */
function pathOf(header: readonly string[]): string | null {
  for (const [mark, prefix] of [
    ['+++ ', 'b/'],
    ['--- ', 'a/'],
  ] as const) {
    const name = header.find((line) => line.startsWith(mark))?.slice(mark.length);
    const path = name === undefined ? null : unquoted(name.replace(/\t$/, ''));
    if (path?.startsWith(prefix)) return path.slice(prefix.length);
  }
  // Without hunks (empty, binary, mode): both names in the first line are the same.
  const first = header[0]?.slice('diff --git '.length) ?? '';
  if (first.startsWith('"')) return unquoted(first.slice(first.length / 2 + 1)).slice(2) || null;
  return /^a\/(.+) b\/\1$/.exec(first)?.[1] ?? null;
}

/** Git writes names with quotes, backslashes, control or other than ASCII characters as a C string of UTF-8 bytes. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const escapes: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, '"': 34, '\\': 92, a: 7, b: 8, f: 12, v: 11 };
  const bytes: number[] = [];
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0));
    else bytes.push(...Buffer.from(plain ?? '', 'utf8'));
  }
  return Buffer.from(bytes).toString('utf8');
}
