/** Foreign text in Markdown documents, quoted so that it cannot pass for the words of the document. Pure. */

/** A Markdown table; cells are given as Markdown. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Foreign text on one line, with what Markdown and HTML would act on made plain. */
export function inline(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_[\]#|~]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;');
}

/** Foreign text as inline code; longer runs of backticks around it than it holds itself. */
export function code(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = line === '' || line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** Foreign text as a fenced block; the fence is longer than any run of backticks inside. */
export function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}text\n${text.trimEnd()}\n${fence}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
