import { expect, it } from 'vitest';
import { lookAlikeFault, lookAlikeMarks, lookAlikeWords } from './look-alikes.ts';

it.each([
  ['раypal.js', 'its name mixes letters of several alphabets (р⟨U+0440⟩а⟨U+0430⟩ypal)'],
  ['src/аpp.sh', 'its name mixes letters of several alphabets (а⟨U+0430⟩pp)'],
  ['αdmin.ts', 'its name mixes letters of several alphabets (α⟨U+03B1⟩dmin)'],
  ['𝐞val.py', 'its name mixes letters of several alphabets (𝐞⟨U+1D41E⟩val)'],
  ['ехес.sh', "its name looks like 'exec' and is not (е⟨U+0435⟩х⟨U+0445⟩е⟨U+0435⟩с⟨U+0441⟩)"],
  ['a\u00a0b.txt', 'its name holds a space or mark that only looks like a plain one'],
  ['src\u2215index.ts', 'its name holds a space or mark that only looks like a plain one'],
  ['environment\u01c3.js', 'its name holds a space or mark that only looks like a plain one'],
  ['a\u0338b.js', 'its name holds a space or mark that only looks like a plain one'],
  ['ſcript.sh', 'its name mixes letters of several alphabets (ſ⟨U+017F⟩cript)'],
  ['ᵉval.py', 'its name mixes letters of several alphabets (ᵉ⟨U+1D49⟩val)'],
])('%s is named as one that may be taken for another', (name, fault) => {
  expect(lookAlikeFault(name)).toBe(fault);
});

it.each([
  'README.md',
  'größe.ts',
  'Tシャツ.md',
  'Δt.ts',
  'μm.py',
  'документ.md',
  'мой файл.txt',
  '日本語.txt',
  'שלום.md',
  '1ª.md',
  'Hawaiʻi.md',
  'XXᵉ siècle.txt',
  'Band Ⅳ.txt',
])('%s is a name like any other', (name) => {
  expect(lookAlikeFault(name)).toBeNull();
});

it('finds words of code, each once, and no words of another language', () => {
  expect(lookAlikeWords('const раypal = раypal; // это комментарий с русскими словами\nｅval()')).toEqual([
    'раypal',
    'ｅval',
  ]);
});

it.each(['ᵉval', 'ſystem', 'eⅼse', 'exeⅽ', 'ⓔval', 'ₑval', 'ﬁle', 'sʸstem'])(
  'finds %s, which a compiler may read as a plain word',
  (word) => {
    expect(lookAlikeWords(`if (${word}("x"))`)).toEqual([word]);
  },
);

it.each([
  ['if (environment\u01c3=ENV_PROD)', 'environment\u01c3=ENV_PROD'],
  ['a = 1\u037e b()', '1\u037e'],
  ['a ? b\u2236c : d', 'b\u2236c'],
  ['x\u02d0 y', 'x\u02d0'],
  ['fn\ua789x', 'fn\ua789x'],
  ['if (a\u0338=b)', 'a\u0338=b'],
  ['admin\u0332', 'admin\u0332'],
  ['`whoami\u1fef', '`whoami\u1fef'],
  ['rm\u00a0-rf', 'rm\u00a0-rf'],
  ['rm\u3000x', 'rm\u3000x'],
  ['x\u2000y', 'x\u2000y'],
])('finds the mark or blank in %j that only looks like a plain one', (text, found) => {
  expect(lookAlikeMarks(text)).toEqual([found]);
});

it.each([
  'Bonjour\u00a0! 10\u00a0km, 5\u202f% «\u00a0oui\u00a0»',
  'これは\u3000テスト',
  'Hawaiʻi, п’ять, м\u02bcята',
  'Բարև\u0589',
  '− – — ‘a’ “b” … × ÷ ≤',
])('takes %j for what it is', (text) => {
  expect(lookAlikeMarks(text)).toEqual([]);
  expect(lookAlikeWords(text)).toEqual([]);
});

it('takes the sign in front of what a runner of tests says for no letter', () => {
  expect(lookAlikeWords('✔ greets\nℹ tests 3\n  ℹ pass 3\nℹ️ See also')).toEqual([]);
  // The same in a string of JSON.
  expect(lookAlikeWords(JSON.stringify('✔ greets\nℹ tests 3\n  ℹ pass 3'))).toEqual([]);
  expect(lookAlikeWords('ℹ = 1\nℹmport\nfor ℹ in x')).toEqual(['ℹ', 'ℹmport']);
});
