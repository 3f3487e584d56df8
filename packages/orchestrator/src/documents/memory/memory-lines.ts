/** Lines, headings and entries of `.autonomous/memory.md`. Pure. */
import { sanitizeText } from '@autonomous/shared/presentation';

export interface MemoryLine {
  /** Without its end. */
  readonly line: string;
  readonly isHeading: boolean;
}

/** The body's lines, and whether each is a heading; what looks like one inside a code fence is none. */
export function headings(body: string): readonly MemoryLine[] {
  let fence: string | null = null;
  return body.split('\n').map((raw) => {
    const line = raw.replace(/\r$/, '');
    const marker = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marker !== undefined && fence === null) fence = marker;
    else if (marker !== undefined && fence !== null && marker.startsWith(fence)) fence = null;
    return { line, isHeading: fence === null && marker === undefined && /^#{1,6}\s/.test(line) };
  });
}

/** Reads the heading of what a run added: `### 2026-01-31: A title (run: r-12)`; `null` for any other line. */
export function entryOf(
  line: string,
): { readonly date: string; readonly title: string; readonly runId: string } | null {
  const [, date = '', rest = ''] = /^###\s+(\d{4}-\d{2}-\d{2}):(.*)$/.exec(line.trimEnd()) ?? [];
  const open = rest.lastIndexOf('(');
  const inside = rest.slice(open + 1, -1);
  if (open === -1 || !rest.endsWith(')') || !inside.startsWith('run:') || inside.includes(')')) return null;
  const runId = inside.slice('run:'.length).trim();
  return runId === '' ? null : { date, title: rest.slice(0, open).trim(), runId };
}

/** Puts lines behind a text, after an empty one. */
export function join(before: string, lines: readonly string[], eol: string): string {
  const kept = before.trimEnd();
  return `${kept === '' ? '' : `${kept}${eol}${eol}`}${lines.join(eol)}${eol}`;
}

/** A text as one line, in which characters that are not seen are escapes. */
export function flat(text: string): string {
  return sanitizeText(text).replace(/\s+/g, ' ').trim();
}
