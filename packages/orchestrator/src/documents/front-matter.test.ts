/** Front matter as strangers may have written it. */
import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import { parseFrontMatter } from './front-matter.ts';

describe('front matter', () => {
  it('ends at the first line of three dashes', () => {
    expect(parseFrontMatter('---\na: 1\n--- \nbody\n---\nmore')).toEqual({
      ok: true,
      fields: { a: 1 },
      body: 'body\n---\nmore',
    });
  });

  it.each([
    ['keys within keys', `${'? '.repeat(4_000)}a`],
    ['lists within lists', `a:\n ${'- '.repeat(4_000)}`],
    ['brackets', `a: ${'['.repeat(8_000)}`],
    ['braces', `a: ${'{a: '.repeat(3_000)}`],
  ])('is refused before it is parsed when it is nested beyond any use: %s', (_, yaml) => {
    expect(parseFrontMatter(`---\n${yaml}\n---\nbody`)).toEqual({
      ok: false,
      message: 'has front matter that is nested deeper than 40 levels',
    });
  });

  it('is refused before it is parsed when it is longer than any use', () => {
    expect(parseFrontMatter(`---\n${'a: b\n'.repeat(10_000)}---\n`)).toEqual({
      ok: false,
      message: 'has front matter that has more than 16000 characters',
    });
  });

  it('is looked for in time proportional to the size of the file', async () => {
    const make = (size: number): string => `---\n${'--\n'.repeat(size)}`;
    expect(await growthOf(20_000, make, parseFrontMatter)).toBeLessThan(LINEAR);
  });
});
