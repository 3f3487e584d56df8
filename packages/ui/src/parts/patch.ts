/** A unified diff, as git prints it, cut into files and lines. */

export interface PatchFile {
  /** The path after the change; before it, where the file is gone. */
  readonly path: string;
  /** Where it was renamed. */
  readonly from?: string;
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

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

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

function unquoted(path: string): string {
  if (!path.startsWith('"') || !path.endsWith('"')) return path;
  const bytes = path
    .slice(1, -1)
    .replaceAll(/\\([0-7]{3})/g, (_, octal: string) => `%${Number.parseInt(octal, 8).toString(16).padStart(2, '0')}`)
    .replaceAll(/\\(.)/g, (_, escaped: string) => ({ n: '\n', t: '\t' })[escaped] ?? escaped);
  try {
    return decodeURIComponent(bytes);
  } catch {
    return bytes;
  }
}

function hunksOf(lines: readonly string[]): readonly PatchHunk[] {
  const hunks: { heading: string; lines: PatchLine[] }[] = [];
  let before = 0;
  let after = 0;
  for (const line of lines) {
    const heading = HUNK.exec(line);
    if (heading !== null) {
      [before, after] = [Number(heading[1]), Number(heading[2])];
      hunks.push({ heading: heading[3] ?? '', lines: [] });
      continue;
    }
    const text = line.slice(1);
    const into = hunks.at(-1)?.lines;
    if (line.startsWith('+')) into?.push({ kind: 'added', text, after: after++ });
    else if (line.startsWith('-')) into?.push({ kind: 'removed', text, before: before++ });
    else if (line.startsWith('\\')) into?.push({ kind: 'note', text: line.slice(2) });
    else into?.push({ kind: 'same', text, before: before++, after: after++ });
  }
  return hunks;
}
