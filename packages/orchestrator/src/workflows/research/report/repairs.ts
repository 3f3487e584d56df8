/** Repairs of a report in LaTeX: which lines an agent is shown, and whether its replacements leave the report what it is. Pure. */
import { citationsOf } from '../../../documents/latex/citation-faults.ts';

/** Lines around an error that are shown. */
const AROUND = 3;

/** The errors, each with the lines around it. */
export function withLines(errors: string, tex: string): string {
  const lines = tex.split('\n');
  return errors
    .split('\n')
    .map((error) => {
      const at = Number(/^line (\d{1,6}):/.exec(error)?.[1] ?? Number.NaN);
      if (Number.isNaN(at)) return error;
      const first = Math.max(1, at - AROUND);
      const shown = lines
        .slice(first - 1, at + AROUND)
        .map((line, index) => `${first + index}: ${line.slice(0, 1_000).toWellFormed()}`);
      return [error, ...shown].join('\n');
    })
    .join('\n\n');
}

export function replaced(
  tex: string,
  replacements: readonly { readonly line: number; readonly text: string }[],
): string {
  const lines = tex.split('\n');
  for (const { line, text } of replacements) if (line <= lines.length) lines[line - 1] = text;
  return lines.join('\n');
}

/** Commands that read, write, run or redefine something. */
const FORBIDDEN =
  /\\(?:write|immediate|input|include|openin|openout|read|catcode|def|edef|gdef|xdef|let|csname|newcommand|renewcommand|special|directlua|usepackage|RequirePackage|includegraphics|lstinputlisting|verbatiminput)(?![A-Za-z])/g;

/** Why a repaired report is not taken; `null` where it may be compiled. */
export function repairFault(before: string, after: string): string | null {
  if (before === after) return 'It changes nothing.';
  if (keysOf(before) !== keysOf(after)) return 'It changes the citations.';
  if (findingsIn(before) !== findingsIn(after)) return 'It changes the comments that name the findings.';
  const more = [...new Set(commandsIn(after))].filter(
    (command) =>
      commandsIn(after).filter((each) => each === command).length >
      commandsIn(before).filter((each) => each === command).length,
  );
  if (more.length > 0) return `It uses ${more.join(', ')}.`;
  const known = new Set(allCommandsIn(before));
  const strange = [...new Set(allCommandsIn(after))].filter((command) => !known.has(command) && !HARMLESS.has(command));
  if (strange.length > 0) return `It uses ${strange.slice(0, 5).join(', ')}, which the report does not have.`;
  if (/\^\^/.test(after) && !/\^\^/.test(before)) return 'It uses ^^.';
  return wordsOf(before) === wordsOf(after) ? null : 'It changes the text.';
}

const keysOf = (tex: string): string =>
  citationsOf(tex)
    .map(({ key }) => key)
    .join(' ');
const findingsIn = (tex: string): string =>
  tex
    .split('\n')
    .filter((line) => line.trimStart().startsWith('% finding F'))
    .join('\n');
/** Commands that a repair may add: they set characters and breaks, and hide nothing. */
const HARMLESS: ReadonlySet<string> = new Set(
  'allowbreak ensuremath hspace linebreak mbox newline par protect relax sloppy textasciicircum textasciigrave textasciitilde textbackslash textbar textbraceleft textbraceright textgreater textless textnormal textquotedbl textquotesingle textsubscript textsuperscript'
    .split(' ')
    .map((name) => `\\${name}`),
);
const allCommandsIn = (tex: string): readonly string[] => tex.match(/\\[A-Za-z@]{1,60}/g) ?? [];
const commandsIn = (tex: string): readonly string[] => tex.match(FORBIDDEN) ?? [];

function withoutComment(line: string): string {
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '\\') at += 1;
    else if (line[at] === '%') return line.slice(0, at);
  }
  return line;
}

/** Letters and digits of the text, without commands and comments: what stands in one is not set. */
function wordsOf(tex: string): string {
  return tex
    .split('\n')
    .map(withoutComment)
    .join('\n')
    .replaceAll(/\\[A-Za-z]{1,40}\*?/g, ' ')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
