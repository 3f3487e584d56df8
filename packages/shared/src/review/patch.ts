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
  /** Context that git prints in the hunk's header, such as a function's first line. Empty: none. */
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
  /** Its lines with their marks, each with a newline at its end; a line `\ …` belongs to the one above it. */
  readonly text: string;
  /** How many lines of `text` have each mark. */
  readonly counts: LineCounts;
}

export interface LineCounts {
  readonly same: number;
  readonly added: number;
  readonly removed: number;
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
  const endFile = (): void => {
    if (header.length === 0) return;
    const path = pathOf(header);
    const first = files.get(path);
    if (first === undefined) {
      files.set(path, { header, hunks });
      return;
    }
    for (const line of header) first.header.push(line);
    for (const hunk of hunks) first.hunks.push(hunk);
  };
  for (let start = 0, end = 0; start < patch.length; start = end) {
    end = endOfLine(patch, start);
    const line = patch.slice(start, patch[end - 1] === '\n' ? end - 1 : end);
    if (line.startsWith(FILE)) {
      endFile();
      [header, hunks] = [[line], []];
      continue;
    }
    const opening = header.length > 0 ? HUNK.exec(line) : null;
    if (opening !== null) {
      const read = readHunk(patch, end, opening);
      hunks.push({ ...read.hunk, heading: line.slice(opening[0].length + 1) });
      ({ end } = read);
    } else if (header.length > 0 && hunks.length === 0) header.push(line);
  }
  endFile();
  return files;
}

/** JavaScript's own notion of lines knows other ends than a newline too, such as U+2028. */
function endOfLine(text: string, start: number): number {
  const newline = text.indexOf('\n', start);
  return newline === -1 ? text.length : newline + 1;
}

const [PLUS, MINUS, SPACE, BACKSLASH] = [43, 45, 32, 92];

/**
 * The lines that a hunk is owed, taken from the patch in one piece where nothing else stands between them: a patch may have
 * millions of lines.
 */
function readHunk(
  patch: string,
  start: number,
  opening: RegExpExecArray,
): { readonly hunk: Omit<RawHunk, 'heading'>; readonly end: number } {
  const [, before, oldLines = 1, after, newLines = 1] = opening;
  let [left, right] = [Number(oldLines), Number(newLines)];
  let [same, added, removed] = [0, 0, 0];
  let [text, from] = ['', start];
  let at = start;
  for (let end = at; at < patch.length; at = end) {
    const mark = patch.charCodeAt(at);
    if (left <= 0 && right <= 0 && mark !== BACKSLASH) break;
    end = endOfLine(patch, at);
    if (mark === SPACE && left > 0 && right > 0) same += 1;
    else if (mark === PLUS && right > 0) added += 1;
    else if (mark === MINUS && left > 0) removed += 1;
    else if (mark !== BACKSLASH) {
      text += patch.slice(from, at);
      from = end;
      continue;
    }
    if (mark === SPACE || mark === MINUS) left -= 1;
    if (mark === SPACE || mark === PLUS) right -= 1;
  }
  text += patch.slice(from, at);
  if (text !== '' && !text.endsWith('\n')) text += '\n';
  const hunk = { before: Number(before), after: Number(after), text, counts: { same, added, removed } };
  return { hunk, end: at };
}

/** Lines of a hunk's text, without the newlines at their ends. */
export function* hunkLines({ text }: Pick<RawHunk, 'text'>): Generator<string> {
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    yield text.slice(start, end);
  }
}

/** The patch of a file again, as git prints it; each hunk announces as many lines as it has. */
export function printPatch({ header, hunks }: RawFile): string {
  const head = header.map((line) => `${line}\n`).join('');
  return head + hunks.map((hunk) => announcementOf(hunk) + hunk.text).join('');
}

/** The line `@@ … @@` of a hunk, with its newline. */
export function announcementOf({ before, after, heading, counts }: Omit<RawHunk, 'text'>): string {
  const side = (first: number, lines: number): string => (lines === 1 ? `${first}` : `${first},${lines}`);
  const sides = `-${side(before, counts.same + counts.removed)} +${side(after, counts.same + counts.added)}`;
  return `@@ ${sides} @@${heading === '' ? '' : ` ${heading}`}\n`;
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

function parseHunk({ heading, text: lines, ...first }: RawHunk): PatchHunk {
  let { before, after } = first;
  return {
    heading,
    lines: Array.from(hunkLines({ text: lines }), (line): PatchLine => {
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
