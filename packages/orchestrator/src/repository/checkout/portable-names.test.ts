import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../../test/fixtures/growth.fixture.ts';
import { collidingPaths, nameFault } from './portable-names.ts';

describe('B11: a new name', () => {
  it.each([
    ['CON', 'Windows opens a device'],
    ['NUL.js', 'Windows opens a device'],
    ['aux.txt', 'Windows opens a device'],
    ['com1 .log', 'Windows opens a device'],
    ['LPT¹', 'Windows opens a device'],
    ['a.', 'ends in a dot'],
    ['b ', 'ends in a space'],
    ['.gitignore ', 'ends in a space'],
    ['.autonomous.', 'ends in a dot'],
    ['.autonom\u200cous', 'hidden character: .autonom⟨U+200C⟩ous'],
    ['\u202egnp.exe', 'hidden character: ⟨U+202E⟩gnp.exe'],
    ['a\ufeffb', 'hidden character'],
    ['a\u{E0041}', 'hidden character'],
    ['.аutonomous', 'looks like .autonomous'],
    ['.gіt', 'looks like .git'],
  ])('%j is refused', (name, why) => {
    expect(nameFault(name)).toContain(why);
  });

  it.each([
    'console',
    'nul',
    'auxiliary.c',
    'a.b',
    '.env',
    'größe',
    '日本語',
    '👩‍💻.md',
    '[id].tsx',
    'com10',
    '.github',
    'com',
  ])('%j is taken unless it is a device', (name) => {
    expect(nameFault(name) === null).toBe(name !== 'nul');
  });
});

describe('B11: names that some file system takes for one', () => {
  const colliding = async (before: readonly string[], added: readonly string[]): Promise<readonly string[]> => {
    const isKnown = (path: string): boolean => before.some((known) => known === path || known.startsWith(`${path}/`));
    return [...(await collidingPaths([...before, ...added], added, isKnown)).keys()];
  };

  it.each([
    [['README.md'], ['readme.md', 'README.MD'], ['readme.md', 'README.MD']],
    [[], ['a.txt', 'A.txt'], ['a.txt', 'A.txt']],
    [['caf\u00e9.txt'], ['cafe\u0301.txt'], ['cafe\u0301.txt']],
    [['src/a.js'], ['SRC/b.js', 'src/c.js'], ['SRC/b.js']],
    [['straße.md'], ['STRASSE.md'], ['STRASSE.md']],
    [['long.md'], ['lon\u0261.md', 'other.md'], []],
    [['A/x', 'a/y'], ['a/z'], []],
  ])('of %j and %j are %j', async (before, added, named) => {
    expect(await colliding(before, added)).toEqual(named);
  });

  it('cost no more than there are, in however many folders they lie and however they are written', async () => {
    const collide = (paths: readonly string[]) => collidingPaths(paths, paths, () => false);
    const deep = (size: number) => {
      const folder = 'a/'.repeat(size / 4);
      return Array.from({ length: size }, (_, index) => `${folder}f${index}`);
    };
    // Their paths are 64 times as long together: eight times as many, in folders eight times as deep.
    expect(await growthOf(400, deep, collide)).toBeLessThan(8 * LINEAR);
    const spelled = (size: number) =>
      Array.from({ length: size }, (_, index) =>
        Array.from('abcdefghijklmnop')
          .map((letter, bit) => (Math.floor(index / 2 ** bit) % 2 === 1 ? letter.toUpperCase() : letter))
          .join(''),
      );
    expect(await growthOf(4_000, spelled, collide)).toBeLessThan(LINEAR);
  });
});
