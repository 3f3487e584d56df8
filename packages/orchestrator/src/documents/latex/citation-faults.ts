/** Citations of a LaTeX document that its bibliography lacks. Pure, in linear time. */

export interface CitationFault {
  readonly key: string;
  /** Line of the document, from 1. */
  readonly line: number;
}

const COMMAND = /\\(?:nocite|[Cc]ite(?!style)[A-Za-z]*)\*?/y;
const ENTRY = /^[ \t]*@[A-Za-z]{1,40}[ \t]*[{(][ \t]*([^\s,{}()]+)[ \t]*,/;

/**
 * Keys of `\cite` and its relatives without an entry, in the order of the document. Comments do not count. A document that
 * defines commands of its own may hide a citation from this; the log of its compilation names it then.
 */
export function citationFaults(tex: string, bib: string): readonly CitationFault[] {
  const known = new Set(entryKeys(bib));
  return citationsOf(tex).filter(({ key }) => key !== '*' && !known.has(key));
}

/** Keys of a BibTeX file in its order. */
export function entryKeys(bib: string): readonly string[] {
  return bib.split('\n').flatMap((line) => ENTRY.exec(line)?.[1] ?? []);
}

/** Every key that the document cites, as often as it does. */
export function citationsOf(tex: string): readonly CitationFault[] {
  const text = withoutComments(tex);
  const found: CitationFault[] = [];
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    COMMAND.lastIndex = at;
    if (!COMMAND.test(text)) {
      // Also past an escaped backslash.
      at += 2;
      continue;
    }
    const keys = keysAt(text, COMMAND.lastIndex);
    line += countLines(text, counted, at);
    counted = at;
    for (const key of keys.keys) found.push({ key, line });
    at = keys.end;
  }
  return found;
}

/** Blanks comments; line ends stay. */
function withoutComments(tex: string): string {
  return tex
    .split('\n')
    .map((line) => {
      for (let at = 0; at < line.length; at += 1) {
        if (line[at] === '\\') at += 1;
        else if (line[at] === '%') return line.slice(0, at);
      }
      return line;
    })
    .join('\n');
}

/** Keys in the braces behind a command and its optional arguments. */
function keysAt(text: string, from: number): { readonly keys: readonly string[]; readonly end: number } {
  let at = pastSpace(text, from);
  for (let count = 0; count < 2 && text[at] === '['; count += 1) {
    const end = endOfOption(text, at);
    if (end === null) return { keys: [], end: from };
    at = pastSpace(text, end);
  }
  const end = text[at] === '{' ? text.indexOf('}', at) : -1;
  if (end < 0) return { keys: [], end: from };
  const keys = text.slice(at + 1, end).split(',');
  return { keys: keys.map((key) => key.trim()).filter((key) => key !== ''), end };
}

const LONGEST_OPTION = 500;

/** Behind the bracket that closes an optional argument; brackets inside of braces do not. */
function endOfOption(text: string, begin: number): number | null {
  let depth = 0;
  const last = Math.min(text.length, begin + LONGEST_OPTION);
  for (let at = begin + 1; at < last; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}') depth -= 1;
    else if (text[at] === ']' && depth <= 0) return at + 1;
  }
  return null;
}

function pastSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at] ?? '')) at += 1;
  return at;
}

function countLines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
