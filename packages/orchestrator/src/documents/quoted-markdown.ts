/**
 * Foreign text in Markdown documents, quoted so that it cannot pass for the words of the document. Colours of terminals are left
 * out, and other characters that are not seen become escapes, so that a document of the server holds none. Pure.
 */
import { sanitizeText } from '@autonomous/shared/presentation';

/** A Markdown table; cells are given as Markdown. A `|` behind a backslash is escaped already. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replace(/(?<!\\)\|/g, '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Foreign text on one line, with what Markdown and HTML would act on made plain. */
export function inline(text: string): string {
  return oneLine(text)
    .replace(/[\\`*_[\]#|~]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;');
}

/**
 * Foreign text as inline code; longer runs of backticks around it than it holds itself. A `|` behind a backslash stands between
 * two pieces of code, since no code in a cell of a table can hold it.
 */
export function code(text: string): string {
  const [first = '', ...more] = oneLine(text).split(/(?<=\\)\|/);
  return [codeSpan(first), ...more.map((piece) => (piece === '' ? '' : codeSpan(piece)))].join('&#124;');
}

function codeSpan(line: string): string {
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** Foreign text as a fenced block; the fence is longer than any run of backticks inside. */
export function fenced(text: string): string {
  const shown = sanitizeText(text).trimEnd();
  const fence = '`'.repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}text\n${shown}\n${fence}`;
}

function oneLine(text: string): string {
  return sanitizeText(text).replace(/\s+/g, ' ').trim();
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
