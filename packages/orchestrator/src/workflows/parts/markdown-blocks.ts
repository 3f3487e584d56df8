/** Blocks of a Markdown file whose lines mean nothing to its reader: code between fences, and comments. */

/** A fenced block or a comment in HTML. */
export interface Block {
  /** Backticks or tildes that open a fence; `null` for a comment. */
  readonly bar: string | null;
  /** Columns of the list item that a fence stands in; 0 outside of lists. */
  readonly indent: number;
  readonly line: number;
}

/** List items within each other that are looked into for a fence. */
const DEEPEST_ITEM = 10;

/** The block that a line opens; `null`: none. @param line its number in the file */
export function blockAt(text: string, line: number): Block | null {
  if (/^ {0,3}<!--/.test(text)) return { bar: null, indent: 0, line };
  let indent = 0;
  for (let depth = 0; depth <= DEEPEST_ITEM; depth += 1) {
    const rest = text.slice(indent);
    const [all = '', bar] = /^ {0,3}(`{3,}|~{3,})/.exec(rest) ?? [];
    // A line such as ```code``` is code within the line.
    if (bar !== undefined)
      return bar.startsWith('`') && rest.slice(all.length).includes('`') ? null : { bar, indent, line };
    const marker = /^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}/.exec(rest)?.[0];
    if (marker === undefined) return null;
    indent += marker.length;
  }
  return null;
}

/** A line that is indented less than a list item ends the item, and with it a fence in it. */
export function isAfterItem(text: string, { indent }: Block): boolean {
  const start = text.slice(0, indent).search(/[^ \t]/);
  return indent > 0 && start >= 0 && !text.slice(0, start).includes('\t');
}

/** Whether a line is the last of a block. */
export function closes(text: string, { bar, indent }: Block): boolean {
  if (bar === null) return text.includes('-->');
  const trimmed = text.trim();
  return /^(?:`+|~+)$/.test(trimmed) && trimmed.startsWith(bar) && text.indexOf(trimmed) < indent + 4;
}
