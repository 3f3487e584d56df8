/** A unified diff, as git prints it, cut into files and lines. Every client shows changes by it. */

export interface PatchFile {
  /** The path after the change; before it, where the file is gone. */
  readonly path: string;
  /** Where it was renamed. */
  readonly from?: string;
  readonly status: 'added' | 'modified' | 'deleted';
  readonly isBinary: boolean;
  readonly hunks: readonly PatchHunk[];
}

export interface PatchHunk {
  /** What git knows of the surroundings: a function's first line, or nothing. */
  readonly heading: string;
  readonly lines: readonly PatchLine[];
}

export interface PatchLine {
  readonly kind: 'same' | 'added' | 'removed' | 'note';
  readonly text: string;
  /** Line numbers, from 1; absent where the line is not on that side. */
  readonly before?: number;
  readonly after?: number;
}

/** One side of a file as a text of its own. */
export interface PatchSide {
  /** The lines that the diff shows, with one line for each part that it leaves out. */
  readonly text: string;
  /** The file's own number of each line of `text`, from 1; 0 for a line that stands for what is left out. */
  readonly lineNumbers: readonly number[];
}

/** One file of a patch, line by line as git printed it. */
export interface RawFile {
  /** From `diff --git` to the first hunk. A file that replaces a symlink has the lines of both parts. */
  readonly header: readonly string[];
  readonly hunks: readonly RawHunk[];
}

export interface RawHunk {
  /** First line on each side, from 1. */
  readonly before: number;
  readonly after: number;
  readonly heading: string;
  /** With their marks; a line `\ …` belongs to the one above it. */
  readonly lines: readonly string[];
}

const FILE = 'diff --git ';
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Files of the patch, in its order. Lines that belong to no diff are left out. */
export function parsePatch(patch: string): readonly PatchFile[] {
  return [...readPatch(patch)].map(([path, file]) => parseFile(path, file));
}

/**
 * Files of a patch by path, in its order. Only a newline ends a line, and a line begins another file only where no hunk is
 * owed a line: nothing that stands in a file reads as a file of its own. A path that comes again, as where a file replaces a
 * symlink, adds to the first and never replaces it.
 */
export function readPatch(patch: string): ReadonlyMap<string, RawFile> {
  const files = new Map<string, { header: string[]; hunks: RawHunk[] }>();
  let header: string[] = [];
  let hunks: RawHunk[] = [];
  let lines: string[] = [];
  // How many lines of each side are still to come in the hunk.
  let [left, right] = [0, 0];
  const endFile = (): void => {
    if (header.length === 0) return;
    const path = pathOf(header);
    const first = files.get(path);
    if (first === undefined) files.set(path, { header, hunks });
    else {
      first.header.push(...header);
      first.hunks.push(...hunks);
    }
  };
  for (const line of linesOf(patch)) {
    const mark = line.charAt(0);
    if (left > 0 || right > 0 || mark === '\\') {
      const [isBefore, isAfter] = [mark === '-' || mark === ' ', mark === '+' || mark === ' '];
      if (mark !== '\\' && ((!isBefore && !isAfter) || (isBefore && left === 0) || (isAfter && right === 0))) continue;
      if (isBefore) left -= 1;
      if (isAfter) right -= 1;
      lines.push(line);
      continue;
    }
    const hunk = header.length > 0 ? HUNK.exec(line) : null;
    if (line.startsWith(FILE)) {
      endFile();
      [header, hunks] = [[line], []];
    } else if (hunk !== null) {
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      lines = [];
      hunks.push({ before: Number(hunk[1]), after: Number(hunk[3]), heading: line.slice(hunk[0].length + 1), lines });
    } else if (header.length > 0 && hunks.length === 0) header.push(line);
  }
  endFile();
  return files;
}

/** JavaScript's own notion of lines knows other ends too, such as U+2028. */
function* linesOf(text: string): Generator<string> {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.slice(start, end);
    start = end + 1;
  }
  if (start < text.length) yield text.slice(start);
}

/** The patch of a file again, as git prints it; each hunk announces as many lines as it has. */
export function printPatch({ header, hunks }: RawFile): string {
  const lines = hunks.flatMap((hunk) => {
    const count = (mark: string): number => hunk.lines.filter((line) => line.startsWith(mark)).length;
    const same = count(' ');
    const side = (first: number, lineCount: number): string => (lineCount === 1 ? `${first}` : `${first},${lineCount}`);
    const sides = `-${side(hunk.before, same + count('-'))} +${side(hunk.after, same + count('+'))}`;
    return [`@@ ${sides} @@${hunk.heading === '' ? '' : ` ${hunk.heading}`}`, ...hunk.lines];
  });
  return [...header, ...lines].map((line) => `${line}\n`).join('');
}

function parseFile(path: string, { header, hunks }: RawFile): PatchFile {
  const from = header.find((line) => line.startsWith('rename from '))?.slice('rename from '.length);
  const isNew = header.some((line) => line.startsWith('new file mode'));
  const isGone = header.some((line) => line.startsWith('deleted file mode'));
  return {
    path,
    ...(from === undefined ? {} : { from: unquoted(from) }),
    status: isNew === isGone ? 'modified' : isNew ? 'added' : 'deleted',
    isBinary: header.some((line) => line.startsWith('Binary files ') || line === 'GIT binary patch'),
    hunks: hunks.map(parseHunk),
  };
}

function pathOf(header: readonly string[]): string {
  const to = header.find((line) => line.startsWith('rename to '))?.slice('rename to '.length);
  return (to && unquoted(to)) ?? pathIn(header, '+++ ') ?? pathIn(header, '--- ') ?? pathOfHeader(header[0] ?? '');
}

/** `/dev/null` is no path. Names with odd characters are quoted. */
function pathIn(header: readonly string[], mark: string): string | undefined {
  const line = header.find((each) => each.startsWith(mark));
  const name = line?.slice(mark.length) ?? '/dev/null';
  const path = unquoted(name.endsWith('\t') ? name.slice(0, -1) : name);
  return path === '/dev/null' ? undefined : path.replace(/^[ab]\//, '');
}

/** Of a file without hunks: `a/NAME b/NAME`, so that the name is known by its length. */
function pathOfHeader(line: string): string {
  const names = line.slice(FILE.length);
  const second = names.slice((names.length + 1) / 2);
  return unquoted(second).replace(/^b\//, '');
}

/** Git writes names with quotes, backslashes or control characters as a C string of UTF-8 bytes. */
function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const escapes: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, '"': 34, '\\': 92, a: 7, b: 8, f: 12, v: 11 };
  const bytes: number[] = [];
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(escapes[letter] ?? letter.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function parseHunk({ heading, lines, ...first }: RawHunk): PatchHunk {
  let { before, after } = first;
  return {
    heading,
    lines: lines.map((line): PatchLine => {
      const text = line.slice(1);
      if (line.startsWith('+')) return { kind: 'added', text, after: after++ };
      if (line.startsWith('-')) return { kind: 'removed', text, before: before++ };
      if (line.startsWith(' ')) return { kind: 'same', text, before: before++, after: after++ };
      return { kind: 'note', text: line.slice(2) };
    }),
  };
}

/** Both sides of a file as texts of their own, such as an editor compares; empty where nothing of it is known. */
export function sidesOf(file: PatchFile | null): { readonly before: PatchSide; readonly after: PatchSide } {
  const lines = (file?.hunks ?? []).flatMap((hunk) => hunk.lines);
  return { before: sideOf(lines, 'before'), after: sideOf(lines, 'after') };
}

function sideOf(lines: readonly PatchLine[], side: 'before' | 'after'): PatchSide {
  const texts: string[] = [];
  const lineNumbers: number[] = [];
  let next = 1;
  for (const { text, [side]: number } of lines) {
    if (number === undefined) continue;
    const left = number - next;
    if (left > 0) {
      texts.push(`⋯ ${left} unchanged ${left === 1 ? 'line' : 'lines'}`);
      lineNumbers.push(0);
    }
    texts.push(text);
    lineNumbers.push(number);
    next = number + 1;
  }
  return { text: texts.length === 0 ? '' : `${texts.join('\n')}\n`, lineNumbers };
}
