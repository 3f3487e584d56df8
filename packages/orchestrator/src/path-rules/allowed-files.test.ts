/** Files that a run may change. */
import { describe, expect, it } from 'vitest';
import { allowedPathFault, allowedPaths } from './allowed-files.ts';
import { ownedPaths } from '../documents/owned-files.ts';

describe('allowed paths', () => {
  const allowed = allowedPaths([
    { changes: ['src/cart.ts', 'package.json', 'app/**/page-*.tsx'], newFiles: ['src/parts/*.ts', '*.md'] },
  ]);

  it.each([
    'src/cart.ts',
    'SRC/Cart.ts',
    'src/cart.ts/inside',
    'src/parts/new.ts',
    'package.json',
    'app/page-1.tsx',
    'app/[id]/a/page-.tsx',
    'README.md',
  ])('include %s, in whichever list it is', (path) => {
    expect(allowed.has(path)).toBe(true);
  });

  it.each(['src', 'src/cart.tsx', 'src/parts', 'src/parts/a/b.ts', 'docs/a.md', 'a/package.json', 'app/page.tsx'])(
    'do not include %s',
    (path) => {
      expect(allowed.has(path)).toBe(false);
    },
  );

  it('are those that each list allows', () => {
    const both = allowedPaths([
      { changes: ['src/**'], newFiles: [] },
      { changes: ['src/a.ts', 'docs/a.md'], newFiles: ['src/new/*.ts'] },
    ]);
    expect(['src/a.ts', 'src/new/b.ts', 'src/b.ts', 'docs/a.md'].filter((path) => both.has(path))).toEqual([
      'src/a.ts',
      'src/new/b.ts',
    ]);
  });

  it('are all without a list, and none with an empty one', () => {
    expect(allowedPaths().has('src/a.ts')).toBe(true);
    expect(allowedPaths([]).has('src/a.ts')).toBe(true);
    expect(allowedPaths([{ changes: [], newFiles: [] }]).has('src/a.ts')).toBe(false);
  });

  it('match as owned paths do, in any order of patterns and lists, with the files of one folder for `src/*`', () => {
    const next = seeded(7);
    const name = (): string => ['a', 'B', 'a.ts', '*', 'a*', '*.ts', 'ab.ts'][next(7)] ?? '';
    for (let round = 0; round < 500; round++) {
      const patterns = Array.from({ length: 4 }, () => {
        const names = Array.from({ length: 1 + next(3) }, name);
        return (next(3) === 0 ? names.toSpliced(next(names.length + 1), 0, '**') : names).join('/');
      });
      const path = Array.from({ length: 1 + next(4) }, () => name().replaceAll('*', 'b')).join('/');
      const cut = next(5);
      const list = { changes: patterns.slice(0, cut), newFiles: patterns.slice(cut) };
      const other = { changes: patterns.slice(0, 2).toReversed(), newFiles: [] };
      const depth = path.split('/').length;
      const isIn = (all: readonly string[]): boolean =>
        all.some((pattern) => {
          const names = pattern.split('/');
          const isOneFolder = names.at(-1)?.includes('*') === true && !names.includes('**');
          return ownedPaths([pattern]).has(path) && !(isOneFolder && depth > names.length);
        });
      const isOwned = isIn(patterns);
      expect(allowedPaths([list]).has(path), `${patterns.join(' ')}: ${path}`).toBe(isOwned);
      const isBoth = isOwned && isIn(patterns.slice(0, 2));
      expect(allowedPaths([list, other]).has(path)).toBe(isBoth);
      expect(allowedPaths([other, list]).has(path)).toBe(isBoth);
    }
  });
});

it('take no forbidden path, also where another list allows it', () => {
  const limited = { changes: ['src/**'], newFiles: [], forbidden: ['src/core', 'src/*.lock'] };
  const all = { changes: ['**'], newFiles: [] };
  const paths = ['src/a.ts', 'src/core/a.ts', 'src/a.lock', 'docs/a.md'];
  expect(paths.filter((path) => allowedPaths([limited, all]).has(path))).toEqual(['src/a.ts']);
});

describe('faults of allowed paths', () => {
  it.each([
    ['', '1 to 500 characters'],
    ['a'.repeat(501), '1 to 500 characters'],
    ['/etc/passwd', 'relative to the root'],
    ['C:/cart.ts', 'relative to the root'],
    [String.raw`src\cart.ts`, "separated by '/'"],
    ['src//cart.ts', 'empty name'],
    ['src/', 'empty name'],
    ['../cart.ts', 'must not lead out'],
    ['./src/cart.ts', 'must not lead out'],
    ['src/a**', 'is a name of its own'],
    ['src/**/a/**', 'may stand in it once'],
  ])('name %j', (pattern, why) => {
    expect(allowedPathFault(pattern)).toContain(why);
  });

  it.each(['package.json', '.github/workflows/ci.yml', '**', '**/*.test.ts', 'app/[id]/$slug (1).tsx', '.gitignore'])(
    'are none for %j',
    (pattern) => {
      expect(allowedPathFault(pattern)).toBeNull();
    },
  );
});

/** Numbers from 0 up to a bound, the same in every run of the test. */
function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * bound);
  };
}
