import { expect, it } from 'vitest';
import { lookAlikeFault, lookAlikeWords } from './look-alikes.ts';

it.each([
  ['раypal.js', 'its name mixes letters of several alphabets (р⟨U+0440⟩а⟨U+0430⟩ypal)'],
  ['src/аpp.sh', 'its name mixes letters of several alphabets (а⟨U+0430⟩pp)'],
  ['αdmin.ts', 'its name mixes letters of several alphabets (α⟨U+03B1⟩dmin)'],
  ['𝐞val.py', 'its name mixes letters of several alphabets (𝐞⟨U+1D41E⟩val)'],
  ['ехес.sh', "its name looks like 'exec' and is not (е⟨U+0435⟩х⟨U+0445⟩е⟨U+0435⟩с⟨U+0441⟩)"],
  ['a\u00a0b.txt', 'its name holds a space or mark that only looks like a plain one'],
  ['src\u2215index.ts', 'its name holds a space or mark that only looks like a plain one'],
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
])('%s is a name like any other', (name) => {
  expect(lookAlikeFault(name)).toBeNull();
});

it('finds words of code, each once, and no words of another language', () => {
  expect(lookAlikeWords('const раypal = раypal; // это комментарий с русскими словами\nｅval()')).toEqual([
    'раypal',
    'ｅval',
  ]);
});

it('takes the sign in front of what a runner of tests says for no letter', () => {
  expect(lookAlikeWords('✔ greets\nℹ tests 3\n  ℹ pass 3\nℹ️ See also')).toEqual([]);
  expect(lookAlikeWords('ℹ = 1\nℹmport\nfor ℹ in x')).toEqual(['ℹ', 'ℹmport']);
});
