import { describe, expect, it } from 'vitest';
import { addressesIn, findingsCitedIn, parseProse } from './prose.ts';
import { citationOf, proseTex } from './tex-prose.ts';

const citations = {
  keysOf: (id: string) => (id === 'F9' ? null : [`key-${id.toLowerCase()}`, 'shared']),
  isSource: (address: string) => address === 'https://e.com/a_b',
};
const source = (text: string): string => proseTex(text, citations).source;

describe('prose of agents', () => {
  it('has paragraphs, headings, lists and code', () => {
    expect(parseProse('One\nline.\n\n## Head\n- a\n  more\n- b\n\n1. c\n2) d\n```sh\nx  <y>\n```\nEnd')).toEqual([
      { kind: 'paragraph', content: [{ kind: 'text', text: 'One\nline.' }] },
      { kind: 'heading', content: [{ kind: 'text', text: 'Head' }] },
      {
        kind: 'list',
        ordered: false,
        items: [[{ kind: 'text', text: 'a\nmore' }], [{ kind: 'text', text: 'b' }]],
      },
      { kind: 'list', ordered: true, items: [[{ kind: 'text', text: 'c' }], [{ kind: 'text', text: 'd' }]] },
      { kind: 'code', lines: ['x  <y>'] },
      { kind: 'paragraph', content: [{ kind: 'text', text: 'End' }] },
    ]);
  });

  it.each([
    ['**b** and *i* and _j_ and __k__', '\\textbf{b} and \\emph{i} and \\emph{j} and \\textbf{k}'],
    ['**b *i* b**', '\\textbf{b \\emph{i} b}'],
    ['2*3*4 and snake_case_name', '2{*}3{*}4 and snake\\_case\\_name'],
    ['**open and *open', '{*}{*}open and {*}open'],
    ['`a*b*` ``c`d``', '\\texttt{a{*}b{*}} \\texttt{c\\textasciigrave{}d}'],
    ['\\*no\\* C:\\path', '{*}no{*} C:\\textbackslash{}path'],
    ['[x](javascript:a)', '{[}x{]}(javascript:a)'],
    ['https://e.com/a_b.', '\\url{https://e.com/a\\_b}.'],
    ['(https://other.com/x)', '(\\texttt{https://\\allowbreak{}other.com/\\allowbreak{}x})'],
    ['[text](https://e.com/a_b)', 'text (\\url{https://e.com/a\\_b})'],
  ])('%j becomes LaTeX', (given, expected) => expect(source(given)).toBe(expected));

  it('cites the sources of findings once, with a comment for each finding before the paragraph', () => {
    expect(source('A [F1], B [F2; F3] [F1].\n\n- c [F4]')).toBe(
      '% finding F1\n% finding F2\n% finding F3\nA \\citep{key-f1,shared}, B \\citep{key-f2,shared,key-f3,key-f1}.\n\n\\begin{itemize}\n% finding F4\n\\item c \\citep{key-f4,shared}\n\\end{itemize}',
    );
    expect(citationOf(['F9'], citations).source).toBe('');
  });

  it('names the findings and addresses that it refers to, also those in emphasis and lists', () => {
    const text = 'A **b [F1]** [F2]\n\n- *c [F3]* https://e.com/x, [y](https://e.com/y)\n\n`[F7]`';
    expect(findingsCitedIn(text)).toEqual(['F1', 'F2', 'F3']);
    expect(addressesIn(text)).toEqual(['https://e.com/x', 'https://e.com/y']);
  });

  it('has no commands of its own', () => {
    expect(source('\\input{/etc/passwd} % x\n\n$a$ \\\\ & #')).toBe(
      '\\textbackslash{}input\\textbraceleft{}/etc/passwd\\textbraceright{} \\% x\n\n\\$a\\$ \\textbackslash{} \\& \\#',
    );
    expect(source('```\n\\end{quote}\n```')).toContain('\\texttt{\\textbackslash{}');
  });

  it.each([
    '*a ',
    '**a ',
    '_',
    '`',
    '``',
    '[F1',
    '[a](https://',
    '[[[',
    'https://x(',
    '- a\n',
    '```\n',
    '\\',
    '*_**__',
  ])('is read in time that grows with its length: %j', (piece) => {
    expect(() => proseTex(piece.repeat(50_000), citations)).not.toThrow();
  });
});
