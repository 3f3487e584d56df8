/** Tests in files of the product: those of the base beside the result's code. */
import { describe, expect, it } from 'vitest';
import { examplesOf, restoreInSourceTests } from './in-source-tests.ts';

const RUST = (body: string, tests: string) =>
  `#[cfg(test)]\nuse std::fmt;\n\npub fn add(a: i32, b: i32) -> i32 {\n    ${body}\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n${tests}}\n`;
const ADDS = '    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n';
const VITEST = (body: string, expected: number) =>
  `export const add = (a, b) => ${body};\n\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n  it('adds', () => expect(add(1, 2)).toBe(${expected}));\n}\n`;

describe('tests in a file of the product', () => {
  it('are the base’s beside the code of the result', () => {
    expect(
      restoreInSourceTests('src/lib.rs', RUST('a + b', ADDS), RUST('a - b', ADDS.replace('3', '-1'))),
    ).toStrictEqual({ kind: 'restored', text: RUST('a - b', ADDS) });
    expect(restoreInSourceTests('src/sums.ts', VITEST('a + b', 3), VITEST('a - b', -1))).toStrictEqual({
      kind: 'restored',
      text: VITEST('a - b', 3),
    });
  });

  it('come back where the result has none any more', () => {
    const without = RUST('a - b', '').slice(0, RUST('a - b', '').indexOf('\n#[cfg(test)]\nmod'));
    expect(restoreInSourceTests('src/lib.rs', RUST('a + b', ADDS), without)).toStrictEqual({
      kind: 'restored',
      text: RUST('a - b', ADDS).replace('}\n\n#[cfg(test)]\nmod', '}\n#[cfg(test)]\nmod'),
    });
  });

  it('come back on a line of their own', () => {
    const base = VITEST('a + b', 3);
    expect(restoreInSourceTests('src/sums.ts', base, 'export const add = 0; // No more.')).toStrictEqual({
      kind: 'restored',
      text: `export const add = 0; // No more.\n${base.slice(base.indexOf('if ('))}`,
    });
  });

  it('are left as they are where code beside them changed', () => {
    const text = (body: string) =>
      `const TESTS: bool = cfg!(test);\n\nimpl Sum {\n    #[cfg(test)]\n    fn check() {\n        1;\n    }\n\n    fn get() -> i32 {\n        ${body}\n    }\n}\n`;
    expect(restoreInSourceTests('src/lib.rs', text('1'), text('2'))).toStrictEqual({
      kind: 'restored',
      text: text('2'),
    });
  });

  it('are none of a file’s business that had none', () => {
    expect(restoreInSourceTests('src/lib.rs', 'pub fn a() {}\n', RUST('a - b', ADDS))).toBeNull();
    expect(restoreInSourceTests('src/sums.py', 'x = 1\n', 'x = 2\n')).toBeNull();
  });

  it.each([
    ['code stands behind them', RUST('a + b', ADDS), `${RUST('a - b', ADDS)}\nfn more() {\n}\n`],
    ['tests stand elsewhere, too', RUST('a + b', ADDS), `#[test]\nfn one() {}\n${RUST('a - b', ADDS)}`],
    ['the product is another one in a test', RUST('a + b', ADDS), RUST('if cfg!(test) { a + b } else { a - b }', ADDS)],
    [
      'the file has a macro of an assertion’s name',
      RUST('a + b', ADDS),
      `macro_rules! assert_eq {\n    ($($x:tt)*) => {};\n}\n${RUST('a - b', ADDS)}`,
    ],
    [
      'tests in the midst of the product change',
      'export const a = () => {\n  if (import.meta.vitest) {\n    x();\n    y();\n    check(1, 1);\n  }\n};\n',
      'export const a = () => {\n  if (import.meta.vitest) {\n    x();\n    y();\n    check(1, 2);\n  }\n};\n',
    ],
  ])('are in doubt where %s', (_, base, result) => {
    const path = base.startsWith('export') ? 'src/a.ts' : 'src/lib.rs';
    expect(restoreInSourceTests(path, base, result)).toStrictEqual({ kind: 'doubtful' });
  });
});

it('finds examples in documentation, with what they expect', () => {
  expect(
    examplesOf(
      'sums.py',
      'def add(a, b):\n    """Add.\n\n    >>> add(1,\n    ...     2)\n    3\n\n    More.\n    """\n',
    ),
  ).toEqual(['>>> add(1,', '...     2)', '3']);
  expect(
    examplesOf(
      'lib.rs',
      '/// Adds.\n/// ```\n/// assert_eq!(1, 1);\n/// ```\n/// ```text\n/// a\n/// ```\nfn x() {}\n',
    ),
  ).toEqual(['assert_eq!(1, 1);']);
});

it('reads a megabyte of attributes as one item, once', () => {
  const attributes = '#[cfg(test)]\n'.repeat(80_000);
  expect(restoreInSourceTests('src/lib.rs', attributes, attributes)).toEqual({ kind: 'restored', text: attributes });
});
