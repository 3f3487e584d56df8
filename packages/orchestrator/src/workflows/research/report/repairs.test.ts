/** Repairs of a report: the lines that are shown, and replacements that are not taken. */
import { describe, expect, it } from 'vitest';
import { repairFault, replaced, withLines } from './repairs.ts';

const TEX = ['\\section{A}', '% finding F1', 'It is 5\\% & more \\citep{a-2025-1}.', 'End.'].join('\n');
const MENDED = TEX.replace('& more', '\\& more');

it('shows each error with the lines around it', () => {
  expect(withLines('line 3: Misplaced alignment tab\nno line', TEX)).toBe(
    `line 3: Misplaced alignment tab\n1: \\section{A}\n2: % finding F1\n3: It is 5\\% & more \\citep{a-2025-1}.\n4: End.\n\nno line`,
  );
});

it('replaces lines by their numbers, and none that is not there', () => {
  expect(replaced(TEX, [{ line: 4, text: 'The end.' }])).toBe(TEX.replace('End.', 'The end.'));
  expect(replaced(TEX, [{ line: 40, text: 'x' }])).toBe(TEX);
});

describe('a repair', () => {
  it('is taken where it changes no word, citation or finding', () => {
    expect(repairFault(TEX, MENDED)).toBeNull();
    expect(repairFault(TEX, MENDED.replace('End.', '\\mbox{End.}\\par'))).toBeNull();
  });

  it.each([
    ['nothing', TEX, 'It changes nothing.'],
    ['a citation', TEX.replace('a-2025-1', 'b'), 'It changes the citations.'],
    ['a finding', TEX.replace('F1', 'F2'), 'It changes the comments that name the findings.'],
    ['a word', TEX.replace('more', 'less'), 'It changes the text.'],
    ['a number', TEX.replace('5', '6'), 'It changes the text.'],
    ['a file that it reads', MENDED.replace('End.', '\\input{/etc/passwd}End.'), 'It uses \\input.'],
    ['a program that it runs', MENDED.replace('End.', '\\immediate\\write18{id}End.'), 'It uses \\immediate, \\write.'],
    ['a line into a comment', MENDED.replace('End.', '% End.'), 'It changes the text.'],
    [
      'a line into a condition',
      MENDED.replace('End.', '\\iffalse End.\\fi'),
      'It uses \\iffalse, \\fi, which the report does not have.',
    ],
    ['a command by its number', MENDED.replace('End.', '^^5ciffalse End.'), 'It uses ^^.'],
  ])('is not taken where it changes %s', (_, after, fault) => {
    expect(repairFault(TEX, after)).toBe(fault);
  });
});
