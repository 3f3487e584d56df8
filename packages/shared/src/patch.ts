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

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** Files of the patch, in its order. What is no diff is left out. */
export function parsePatch(patch: string): readonly PatchFile[] {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith('diff --git '))
    .map(parseFile);
}

function parseFile(part: string): PatchFile {
  const lines = part.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const header = lines.slice(0, firstHunk(lines));
  const removed = pathIn(header, '--- ');
  const added = pathIn(header, '+++ ');
  const from = header.find((line) => line.startsWith('rename from '))?.slice('rename from '.length);
  const to = header.find((line) => line.startsWith('rename to '))?.slice('rename to '.length);
  return {
    path: to ?? added ?? removed ?? pathOfHeader(lines[0] ?? ''),
    ...(from === undefined ? {} : { from }),
    status: header.some((line) => line.startsWith('new file mode'))
      ? 'added'
      : header.some((line) => line.startsWith('deleted file mode'))
        ? 'deleted'
        : 'modified',
    isBinary: header.some((line) => line.startsWith('Binary files ') || line === 'GIT binary patch'),
    hunks: hunksOf(lines.slice(header.length)),
  };
}

function firstHunk(lines: readonly string[]): number {
  const index = lines.findIndex((line) => HUNK.test(line));
  return index === -1 ? lines.length : index;
}

/** `/dev/null` is no path. Names with odd characters are quoted. */
function pathIn(header: readonly string[], mark: string): string | undefined {
  const line = header.find((each) => each.startsWith(mark));
  const path = unquoted(line?.slice(mark.length).replace(/\t$/, '') ?? '/dev/null');
  return path === '/dev/null' ? undefined : path.replace(/^[ab]\//, '');
}

function pathOfHeader(line: string): string {
  const quoted = / "b\/((?:[^"\\]|\\.)*)"$/.exec(line)?.[1];
  return quoted === undefined ? (/ b\/(.*)$/.exec(line)?.[1] ?? line) : unquoted(`"${quoted}"`);
}

/** Git writes names with quotes, backslashes, control or other than ASCII characters as a C string of UTF-8 bytes. */
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

function hunksOf(lines: readonly string[]): readonly PatchHunk[] {
  const hunks: { heading: string; lines: PatchLine[] }[] = [];
  let [before, after] = [0, 0];
  // How many lines of each side are still to come: what stands behind them is no line of the file.
  let [left, right] = [0, 0];
  for (const line of lines) {
    const hunk = left + right === 0 ? HUNK.exec(line) : null;
    if (hunk !== null) {
      [before, left] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
      [after, right] = [Number(hunk[3]), Number(hunk[4] ?? 1)];
      hunks.push({ heading: hunk[5] ?? '', lines: [] });
      continue;
    }
    const text = line.slice(1);
    const into = hunks.at(-1)?.lines;
    if (line.startsWith('\\')) into?.push({ kind: 'note', text: line.slice(2) });
    else if (line.startsWith('+') && right-- > 0) into?.push({ kind: 'added', text, after: after++ });
    else if (line.startsWith('-') && left-- > 0) into?.push({ kind: 'removed', text, before: before++ });
    else if (line.startsWith(' ') && left-- > 0 && right-- > 0)
      into?.push({ kind: 'same', text, before: before++, after: after++ });
  }
  return hunks;
}

/** Both sides of a file as texts of their own, such as an editor compares. */
export function sidesOf({ hunks }: PatchFile): { readonly before: PatchSide; readonly after: PatchSide } {
  const lines = hunks.flatMap((hunk) => hunk.lines);
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
