import { describe, expect, it } from 'vitest';
import { readLatexLog } from './latex-log.ts';

describe('the log of a compilation', () => {
  it('names errors with file and line, and what stood there', () => {
    const log = [
      './report.tex:12: Undefined control sequence.',
      'l.12 Text \\foo',
      '               bar',
      './report.tex:12:  ==> Fatal error occurred, no output PDF file produced!',
      "! LaTeX Error: File `missing.sty' not found.",
      'report.tex:3: Emergency stop.',
    ].join('\n');
    expect(readLatexLog('report.tex', log, '').errors).toEqual([
      { file: 'report.tex', line: 12, message: 'Undefined control sequence. At: Text \\foo' },
      { file: 'report.tex', line: null, message: "LaTeX Error: File `missing.sty' not found." },
    ]);
  });

  it('takes citations and references that lead nowhere for errors, and reads those of BibTeX', () => {
    const log = [
      "Package natbib Warning: Citation `a-1' on page 1 undefined on input line 7.",
      "LaTeX Warning: Reference `b' on page 2 undefined on input line 9.",
      'LaTeX Warning: Label(s) may have changed. Rerun to get cross-references right.',
      'Output written on report.pdf (12 pages, 2345 bytes).',
    ].join('\n');
    const bibLog = [
      'This is BibTeX, Version 0.99d',
      `Warning--I didn't find a database entry for "a-1"`,
      "I was expecting a `,' or a `}'---line 4 of file sources.bib",
      'Repeated entry---line 9 of file sources.bib',
      'Warning--empty year in c---line 1 of file x.bib',
    ].join('\n');
    expect(readLatexLog('report.tex', log, bibLog)).toEqual({
      errors: [
        { file: 'report.tex', line: 7, message: "Citation 'a-1' has no entry in the bibliography." },
        { file: 'report.tex', line: 9, message: "Reference 'b' has no label." },
        { file: 'report.tex', line: null, message: "Citation 'a-1' has no entry in the bibliography." },
        { file: 'sources.bib', line: 4, message: "I was expecting a `,' or a `}'" },
        { file: 'sources.bib', line: 9, message: 'Repeated entry' },
      ],
      pages: 12,
    });
  });

  it('has no errors and no pages where it is empty', () => {
    expect(readLatexLog('x.tex', '', '')).toEqual({ errors: [], pages: 0 });
  });
});
