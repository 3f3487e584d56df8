import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tex, texAddress, texCode, texText, texUrl, webAddress } from './escape.ts';

const text = (value: string): string => texText(value).source;

describe('text for LaTeX', () => {
  it.each([
    ['50% of $10 & #1_a', '50\\% of \\$10 \\& \\#1\\_a'],
    ['\\input{/etc/passwd}', '\\textbackslash{}input\\textbraceleft{}/etc/passwd\\textbraceright{}'],
    [
      'x^2 ~ <y> | "z" `a`',
      'x\\textasciicircum{}2 \\textasciitilde{} \\textless{}y\\textgreater{} \\textbar{} \\textquotedbl{}z\\textquotedbl{} \\textasciigrave{}a\\textasciigrave{}',
    ],
    ['--no-shell-escape ---', '-{}-no-shell-escape -{}-{}-'],
    ["''a'' ,,b", "'{}'a'{}' ,{},b"],
    ['naïve – “café”…', 'naïve – “café”…'],
    ['α ≤ β', '\\ensuremath{\\alpha} \\ensuremath{\\leq} \\ensuremath{\\beta}'],
    ['H₂O 10⁻³', 'H\\textsubscript{2}O 10\\textsuperscript{-}\\textsuperscript{3}'],
    ['Việt ạ', 'Vi\\^{\\d{e}}t \\d{a}'],
    ['ά', '\\ensuremath{\\acute{\\alpha}}'],
    ['Жуков Чехов, Ялта, объект', "Žukov Čehov, Âlta, ob'{}'ekt"],
    ['ﬁn Ａ', 'f{}in A'],
    ['[a] *b*', '{[}a{]} {*}b{*}'],
    ['12\u00A0%', '12~\\%'],
  ])('sets %j', (given, source) => expect(text(given)).toBe(source));

  it.each([
    ['日本語 x', '{[}U+65E5 U+672C U+8A9E{]} x'],
    ['مرحبا', '{[}U+0645 U+0631 U+062D U+0628 U+0627{]}'],
    ['🎉!', '{[}U+1F389{]}!'],
    ['a\uD83D', 'a{[}U+FFFD{]}'],
    ['x\u0336\u0337', 'x{[}U+0336 U+0337{]}'],
  ])('shows %j by the numbers of its characters', (given, source) => expect(text(given)).toBe(source));

  it('leaves out what is not seen: controls, bidirectional marks, joiners, tags, selectors', () => {
    expect(text('a\u0000b\u202Ec\u2066d\u200Be\u{E0041}f\uFE0Fg\uFEFFh\u00ADi\u001B')).toBe('abcdefghi');
  });

  it('counts line ends and runs of spaces as one space', () => {
    expect(text(' a\n\n b\t\tc\u2028d\u3000e ')).toBe('a b c d e');
  });

  it('lets a line end within a long word', () => {
    expect(text('a'.repeat(100))).toContain('\\allowbreak{}');
    expect(texCode('a/'.repeat(10)).source).toContain('\\allowbreak{}');
    expect(text('Donaudampfschifffahrtsgesellschaft')).not.toContain('\\allowbreak');
  });

  it('holds no command of its text, no comment and no open brace, whatever the text is', () => {
    const hostile = fc.string({ unit: 'binary', maxLength: 60 });
    const marks = fc.string({
      unit: fc.constantFrom(...Array.from('\\{}[]*$&#%_^~<>|"`\'-,\n \u0301é日')),
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.oneof(hostile, marks), (given) => {
        for (const source of [text(given), texCode(given).source]) {
          const commands = source.match(/\\(?:[A-Za-z]+|.)/gs) ?? [];
          expect(commands.filter((command) => !KNOWN.has(command))).toEqual([]);
          expect(source.replace(/\\./gs, '')).not.toMatch(/[$&#%_^\n]/);
          expect(depthOf(source)).toBe(0);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes time in proportion to the text', () => {
    expect(text('日'.repeat(200_000)).length).toBeGreaterThan(1_000_000);
    expect(text(`x${'\u0301'.repeat(100_000)}`).length).toBeGreaterThan(100_000);
  });
});

/** Braces that BibTeX would count: it knows no escapes. */
function depthOf(source: string): number {
  let depth = 0;
  for (const character of source) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (depth < 0) return depth;
  }
  return depth;
}

const KNOWN = new Set(
  [
    ...'textbackslash textbraceleft textbraceright textasciicircum textasciitilde textless textgreater textbar textquotedbl'.split(
      ' ',
    ),
    ...'textasciigrave textquotesingle texttt textnormal allowbreak ensuremath textsuperscript textsubscript acute grave bar breve'.split(
      ' ',
    ),
    ...'ddot tilde u r H v d c k b'.split(' '),
    ...'$ & # % _ ` \' ^ ~ = . "'.split(' '),
    ...'bullet cdot surd infty approx simeq cong sim neq equiv leq geq ll gg propto sum prod int partial nabla forall'.split(
      ' ',
    ),
    ...'exists emptyset in notin ni subset supset subseteq supseteq cap cup wedge vee oplus otimes perp parallel circ'.split(
      ' ',
    ),
    ...'Leftarrow Rightarrow Leftrightarrow leftrightarrow mapsto langle rangle lceil rceil lfloor rfloor ell Re Im aleph'.split(
      ' ',
    ),
    ...'Omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi alpha beta gamma delta varepsilon zeta eta theta iota'.split(
      ' ',
    ),
    ...'kappa lambda mu nu xi pi rho varsigma sigma tau upsilon varphi chi psi omega vartheta phi varpi varrho epsilon'.split(
      ' ',
    ),
  ].map((name) => `\\${name}`),
);

describe('an address for LaTeX', () => {
  it.each([
    ['https://e.com/a_b?x=1&y=50%#z', '\\url{https://e.com/a\\_b?x=1\\&y=50\\%25\\#z}'],
    [
      'https://e.com/a b{c}\\d^e|f"g<h>~i$j',
      '\\url{https://e.com/a\\%20b\\%7Bc\\%7D/d\\%5Ee\\%7Cf\\%22g\\%3Ch\\%3E\\%7Ei\\%24j}',
    ],
    ['https://пример.рф/日本', '\\url{https://xn--e1afmkfd.xn--p1ai/\\%E6\\%97\\%A5\\%E6\\%9C\\%AC}'],
    ['https://user:secret@e.com/', '\\url{https://e.com/}'],
    ['http://e.com/#a#b', '\\url{http://e.com/\\#a\\%23b}'],
  ])('sets %s', (given, source) => expect(texUrl(given).source).toBe(source));

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'src/main.ts', ''])(
    'is no link where it is not of the web: %j',
    (given) => {
      expect(webAddress(given)).toBeNull();
      expect(texUrl(given).source).toMatch(/^\\texttt\{/);
      expect(texAddress(given).source).toMatch(/^\\texttt\{/);
    },
  );
});

describe('the tag for LaTeX', () => {
  it('escapes each value that is no LaTeX itself', () => {
    expect(tex`\emph{${'a_b'}} ${1} ${texCode('x')}`.source).toBe('\\emph{a\\_b} 1 \\texttt{x}');
  });
});
