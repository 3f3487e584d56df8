/**
 * Characters that pdflatex sets with the encodings T1 and TS1 and Latin Modern, and replacements for some others. Pure.
 * A test compiles all of them with the real TeX and reads them back from the PDF.
 */

/** Characters that have a meaning in LaTeX source, or would join with their neighbours to another character. */
export const SPECIAL: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  // Not `\{`: BibTeX counts braces without regard to the backslash before them.
  '{': '\\textbraceleft{}',
  '}': '\\textbraceright{}',
  $: '\\$',
  '&': '\\&',
  '#': '\\#',
  '%': '\\%',
  _: '\\_',
  '^': '\\textasciicircum{}',
  '~': '\\textasciitilde{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '"': '\\textquotedbl{}',
  '`': '\\textasciigrave{}',
  // Behind some commands these would begin an option or name a variant.
  '[': '{[}',
  ']': '{]}',
  '*': '{*}',
};

/** Ranges of letters and marks outside ASCII that stand in the source as they are. */
const AS_THEY_ARE =
  /[\u00A1-\u00AC\u00AE-\u00B1\u00B4-\u00B8\u00BA-\u0125\u0128-\u0137\u0139-\u013E\u0141-\u0148\u014A-\u0165\u0168-\u017E\u0192\u0218-\u021B\u1E9E\u2010\u2011\u2013\u2014\u2018-\u201A\u201C-\u201E\u2020-\u2022\u2026\u2030\u2039\u203A\u2044\u20AC\u2116\u2120\u2122\u2190-\u2193]/;

export function isSetAsItIs(character: string): boolean {
  return AS_THEY_ARE.test(character);
}

const MATHEMATICS: Readonly<Record<string, string>> = {
  '‐': '-',
  '−': '-',
  '∗': '*',
  '∙': '\\bullet',
  '⋅': '\\cdot',
  '√': '\\surd',
  '∞': '\\infty',
  '≈': '\\approx',
  '≃': '\\simeq',
  '≅': '\\cong',
  '∼': '\\sim',
  '≠': '\\neq',
  '≡': '\\equiv',
  '≤': '\\leq',
  '≥': '\\geq',
  '≪': '\\ll',
  '≫': '\\gg',
  '∝': '\\propto',
  '∑': '\\sum',
  '∏': '\\prod',
  '∫': '\\int',
  '∂': '\\partial',
  '∇': '\\nabla',
  '∀': '\\forall',
  '∃': '\\exists',
  '∅': '\\emptyset',
  '∈': '\\in',
  '∉': '\\notin',
  '∋': '\\ni',
  '⊂': '\\subset',
  '⊃': '\\supset',
  '⊆': '\\subseteq',
  '⊇': '\\supseteq',
  '∩': '\\cap',
  '∪': '\\cup',
  '∧': '\\wedge',
  '∨': '\\vee',
  '⊕': '\\oplus',
  '⊗': '\\otimes',
  '⊥': '\\perp',
  '∥': '\\parallel',
  '∘': '\\circ',
  '⇐': '\\Leftarrow',
  '⇒': '\\Rightarrow',
  '⇔': '\\Leftrightarrow',
  '↔': '\\leftrightarrow',
  '↦': '\\mapsto',
  '⟨': '\\langle',
  '⟩': '\\rangle',
  '⌈': '\\lceil',
  '⌉': '\\rceil',
  '⌊': '\\lfloor',
  '⌋': '\\rfloor',
  '′': "'",
  '″': "''",
  ℓ: '\\ell',
  ℜ: '\\Re',
  ℑ: '\\Im',
  ℵ: '\\aleph',
  Ω: '\\Omega',
};

/** Greek letters in the order of Unicode from U+0391 and U+03B1; an empty name is a letter that looks like a Latin one. */
const CAPITALS =
  'A B \\Gamma \\Delta E Z H \\Theta I K \\Lambda M N \\Xi O \\Pi P - \\Sigma T \\Upsilon \\Phi X \\Psi \\Omega';
const SMALL =
  '\\alpha \\beta \\gamma \\delta \\varepsilon \\zeta \\eta \\theta \\iota \\kappa \\lambda \\mu \\nu \\xi o \\pi \\rho \\varsigma \\sigma \\tau \\upsilon \\varphi \\chi \\psi \\omega';

const GREEK = new Map<string, string>([...lettersFrom(0x391, CAPITALS), ...lettersFrom(0x3b1, SMALL)]);

function lettersFrom(first: number, names: string): readonly (readonly [string, string])[] {
  return names
    .split(' ')
    .map((name, index) => [String.fromCodePoint(first + index), name] as const)
    .filter(([, name]) => name !== '-');
}

const GREEK_VARIANTS: Readonly<Record<string, string>> = {
  ϑ: '\\vartheta',
  ϕ: '\\phi',
  ϖ: '\\varpi',
  ϱ: '\\varrho',
  ϵ: '\\epsilon',
};

/** Name of a character in mathematics, without `$`; `null` where it has none. */
export function mathematicsOf(character: string): string | null {
  return MATHEMATICS[character] ?? GREEK.get(character) ?? GREEK_VARIANTS[character] ?? null;
}

/** Accents of text by their combining characters. */
export const ACCENTS: Readonly<Record<string, string>> = {
  '\u0300': '\\`',
  '\u0301': "\\'",
  '\u0302': '\\^',
  '\u0303': '\\~',
  '\u0304': '\\=',
  '\u0306': '\\u',
  '\u0307': '\\.',
  '\u0308': '\\"',
  '\u030A': '\\r',
  '\u030B': '\\H',
  '\u030C': '\\v',
  '\u0323': '\\d',
  '\u0327': '\\c',
  '\u0328': '\\k',
  '\u0331': '\\b',
};

/** Accents of mathematics, for Greek letters. */
export const MATHEMATICAL_ACCENTS: Readonly<Record<string, string>> = {
  '\u0300': '\\grave',
  '\u0301': '\\acute',
  '\u0304': '\\bar',
  '\u0306': '\\breve',
  '\u0308': '\\ddot',
  '\u0342': '\\tilde',
};

/** Raised and lowered digits and signs with the character that they are. */
export const RAISED = numbered('⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ', '0123456789+-=()n');
export const LOWERED = numbered('₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎', '0123456789+-=()');

function numbered(from: string, to: string): ReadonlyMap<string, string> {
  return new Map(Array.from(from, (character, index) => [character, to[index] ?? '']));
}

/** Cyrillic letters as ISO 9:1995 writes them with Latin ones; capitals follow from the small letters. */
const ISO_9: readonly (readonly [string, string])[] = [
  ...Array.from(
    'абвгдезийклмнопрстуфхцчшщыэюя',
    (letter, index) => [letter, 'abvgdezijklmnoprstufhcčšŝyèûâ'[index] ?? ''] as const,
  ),
  ['ж', 'ž'],
  ['ё', 'ë'],
  ['ъ', "''"],
  ['ь', "'"],
  ['ѐ', 'e\u0300'],
  ['ђ', 'đ'],
  ['ѓ', 'g\u0301'],
  ['є', 'ê'],
  ['ѕ', 'ẑ'],
  ['і', 'i\u0300'],
  ['ї', 'ï'],
  ['ј', 'ǰ'],
  ['љ', 'l\u0302'],
  ['њ', 'n\u0302'],
  ['ћ', 'ć'],
  ['ќ', 'ḱ'],
  ['ў', 'ŭ'],
  ['џ', 'd\u0302'],
  ['ґ', 'g\u0300'],
  ['ѣ', 'ě'],
];

const CYRILLIC = new Map(
  ISO_9.flatMap(([letter, latin]) => [
    [letter, latin],
    [letter.toUpperCase(), latin.toUpperCase()],
  ]),
);

/** A Cyrillic letter in Latin ones by ISO 9; `null` for all other characters. */
export function transliterated(character: string): string | null {
  return CYRILLIC.get(character) ?? null;
}
