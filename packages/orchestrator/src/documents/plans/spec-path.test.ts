import { describe, expect, it } from 'vitest';
import { hashOf } from '../content-hash.ts';
import { slugOf } from '../slug.ts';
import { nextSpecNumber, renumberedSpecPath, specPath } from './spec-path.ts';

it('gives a plan another number only where its own is taken', () => {
  const path = '.autonomous/specs/002-login.md';
  expect(renumberedSpecPath(path, ['.autonomous/specs/001-start.md', 'src/002-login.md'])).toBe(path);
  expect(renumberedSpecPath(path, ['.autonomous/specs/002-logout.md', '.autonomous/specs/007-menu.md'])).toBe(
    '.autonomous/specs/008-login.md',
  );
  expect(renumberedSpecPath(path, [path])).toBe('.autonomous/specs/003-login.md');
});

it('numbers plans after the highest that is taken', () => {
  expect(nextSpecNumber([])).toBe(1);
  expect(
    nextSpecNumber(['.autonomous/specs/001-a.md', '.autonomous/specs/012-b.md', '.autonomous/specs/007-c.md']),
  ).toBe(13);
  expect(nextSpecNumber(['.autonomous/specs/1000-a.md'])).toBe(1001);
  expect(
    nextSpecNumber([
      'specs/009-a.md',
      '.autonomous/specs/old/008-a.md',
      '.autonomous/specs/notes.md',
      '.autonomous/specs/004-x.txt',
    ]),
  ).toBe(1);
  expect(specPath(3, 'Dashboard v2')).toBe('.autonomous/specs/003-dashboard-v2.md');
});

describe('a slug', () => {
  it.each([
    ['Create login flow with OAuth', 'create-login-flow-with-oauth'],
    ['Über straße, naïve café & Łódź', 'uber-strasse-naive-cafe-lodz'],
    ["Don't repeat the user's work", 'dont-repeat-the-users-work'],
    ['../../etc/passwd', 'etc-passwd'],
    ['--force', 'force'],
    ['ログイン画面', 'untitled'],
    ['', 'untitled'],
    ['!!!', 'untitled'],
    ['one two three four five six seven eight nine ten', 'one-two-three-four-five-six-seven-eight'],
    ['a'.repeat(100), 'a'.repeat(40)],
    [`${'a'.repeat(40)} b`, 'a'.repeat(40)],
  ])('of %j is %s', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });

  it('is a valid part of a file and branch name for any title', () => {
    for (let code = 0; code < 0x3000; code += 7) {
      const slug = slugOf(`${String.fromCodePoint(code).repeat(3)} x.lock ${String.fromCodePoint(code)}`);
      expect(slug).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      expect(slug.length).toBeLessThanOrEqual(40);
    }
  });
});

it('hashes the UTF-8 text', () => {
  expect(hashOf('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(hashOf('é')).not.toBe(hashOf('e\u0301'));
});
