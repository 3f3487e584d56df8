/** Reads the logs of a compilation by pdflatex with `-file-line-error` and by BibTeX. Pure, in linear time. */

export interface LatexError {
  /** File that was compiled. */
  readonly file: string;
  /** From 1; `null` where the log names none. */
  readonly line: number | null;
  readonly message: string;
}

export interface LatexLog {
  /** Each once. Citations and references that lead nowhere are errors. */
  readonly errors: readonly LatexError[];
  /** 0 where the log names none. */
  readonly pages: number;
}

/** Beginning of the message of a TeX of which a part is not there. */
export const MISSING_FORMAT = "I can't find the format file";

const AT_LINE = /^(?:\.\/)?([^\s:]{1,200}\.[A-Za-z]{1,8}):(\d{1,9}): (.+)$/;
const BARE = /^! (.+)$/;
const PAGES = /^Output written on .{1,300}? \((\d{1,9}) pages?/;
const UNDEFINED =
  /^(?:LaTeX|Package natbib) Warning: (Citation|Reference) [`'](.{1,300}?)' on page \d+ undefined on input line (\d{1,9})\.?$/;
const BIB_ERROR = /^(.{1,500}?)---line (\d{1,9}) of file (.{1,200})$/;
const BIB_MISSING = /^Warning--I didn't find a database entry for "(.{1,300})"$/;
const MOST_ERRORS = 50;
const LONGEST_LINE = 2_000;

/**
 * @param main name of the compiled file, for errors of which the log does not name the file
 * @param log of the last run of pdflatex
 * @param bibLog of BibTeX; empty where it did not run
 */
export function readLatexLog(main: string, log: string, bibLog: string): LatexLog {
  const lines = log.split('\n').map((line) => line.slice(0, LONGEST_LINE).trimEnd());
  const errors = [...texErrors(main, lines), ...undefinedIn(main, lines), ...bibErrors(main, bibLog)];
  const unique = new Map(errors.map((error) => [JSON.stringify(error), error]));
  const pages = lines.findLast((line) => PAGES.test(line));
  return {
    errors: [...unique.values()].slice(0, MOST_ERRORS),
    pages: Number(PAGES.exec(pages ?? '')?.[1] ?? 0),
  };
}

function texErrors(main: string, lines: readonly string[]): readonly LatexError[] {
  return lines.flatMap((line, index): readonly LatexError[] => {
    const [, file, number, message] = AT_LINE.exec(line) ?? [];
    if (file !== undefined && message !== undefined) {
      if (isEnd(message)) return [];
      return [{ file, line: Number(number), message: withContext(message, lines, index) }];
    }
    const bare = BARE.exec(line)?.[1];
    return bare === undefined || isEnd(bare)
      ? []
      : [{ file: main, line: null, message: withContext(bare, lines, index) }];
  });
}

/** Says only that TeX stopped at the error before. */
function isEnd(message: string): boolean {
  return message.trimStart().startsWith('==>') || message === 'Emergency stop.';
}

/** The line of the source up to where TeX stopped, which for an unknown command ends with its name. */
function withContext(message: string, lines: readonly string[], index: number): string {
  const context = lines.slice(index + 1, index + 8).find((line) => /^l\.\d/.test(line));
  const shown = context?.replace(/^l\.\d{1,9} ?/, '').trim() ?? '';
  return shown === '' ? message : `${message} At: ${shown.slice(-200)}`;
}

function undefinedIn(main: string, lines: readonly string[]): readonly LatexError[] {
  return lines.flatMap((line) => {
    const [, kind, name, number] = UNDEFINED.exec(line) ?? [];
    if (name === undefined) return [];
    const message =
      kind === 'Citation'
        ? `Citation '${name}' has no entry in the bibliography.`
        : `Reference '${name}' has no label.`;
    return [{ file: main, line: Number(number), message }];
  });
}

function bibErrors(main: string, bibLog: string): readonly LatexError[] {
  return bibLog.split('\n').flatMap((text): readonly LatexError[] => {
    const line = text.slice(0, LONGEST_LINE).trimEnd();
    const missing = BIB_MISSING.exec(line)?.[1];
    if (missing !== undefined)
      return [{ file: main, line: null, message: `Citation '${missing}' has no entry in the bibliography.` }];
    const [, message, number, file] = BIB_ERROR.exec(line) ?? [];
    return file === undefined || message === undefined || message.startsWith('Warning--')
      ? []
      : [{ file, line: Number(number), message }];
  });
}
