import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellWord } from './shell-word.ts';

it.each(['', "it's", '$(id) `id` ; rm', 'two words', 'a#b', '~', '"', 'ä\nb'])(
  'a shell reads %j as one word',
  (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' })).toBe(text);
  },
);

it('a word that needs no quotes has none', () => {
  expect(shellWord('origin/rel-1.0,x=+@y')).toBe('origin/rel-1.0,x=+@y');
});
