import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bibliographyOf } from './bibliography.ts';
import { citationFaults, citationsOf, entryKeys } from './citation-faults.ts';
import { aSource } from './report.fixture.ts';

describe('a bibliography', () => {
  it('has an entry with author, title, year, address and the day of access', () => {
    const { bib, keys } = bibliographyOf([aSource({ title: '100% of {A} & B_c # $x 🎉' })]);
    expect([...keys.values()]).toEqual(['doe-2024-c3e190cd05']);
    expect(bib).toBe(`@misc{doe-2024-c3e190cd05,
  author = {{Doe}, {Jane}},
  title = {{100\\% of \\textbraceleft{}A\\textbraceright{} \\& B\\_c \\# \\$x {[}U+1F389{]}}},
  year = {2024},
  url = {https://example.com/durable-execution},
  note = {Accessed 2026-01-02},
}
`);
  });

  it('names the host where no author is known, and keeps names that are no persons whole', () => {
    const { bib, keys } = bibliographyOf([
      aSource({ address: 'https://www.e.com/1', authors: [' '], published: null, title: '' }),
      aSource({ address: 'https://e.com/2', authors: ['ACME and Sons, Inc', 'A', 'B', 'C', 'D', 'E'] }),
      aSource({ address: 'src/a_b.ts', authors: [], published: 'about 2020' }),
    ]);
    expect([...keys.values()].map((key) => key.replace(/[^-]+$/, ''))).toEqual([
      'e-com-nd-',
      'acme-and-sons-2024-',
      'src-a-b-ts-nd-',
    ]);
    expect(bib).toContain('author = {{e.com}}');
    expect(bib).toContain('author = {{ACME and Sons, Inc} and {A} and {B} and {C} and {D} and others}');
    expect(bib).toContain('title = {{Untitled}},\n  year = {n.d.}');
    expect(bib).toContain('howpublished = {\\texttt{src/a\\_b.\\allowbreak{}ts}}');
  });

  const sources = fc.uniqueArray(
    fc.record({
      address: fc.oneof(
        fc.webUrl({ withQueryParameters: true, withFragments: true }),
        fc.string({ unit: 'binary', minLength: 1 }),
      ),
      title: fc.string({ unit: 'binary' }),
      authors: fc.array(fc.string({ unit: 'binary' }), { maxLength: 7 }),
      published: fc.option(fc.oneof(fc.constant('2024-05'), fc.string())),
    }),
    { selector: ({ address }) => address, maxLength: 8 },
  );

  it('has keys of [a-z0-9-], one a source, that neither order nor later sources change, and balanced braces', () => {
    fc.assert(
      fc.property(sources, sources, (some, others) => {
        const known = new Set(some.map(({ address }) => address));
        const first = some.map((source) => aSource(source));
        const more = [
          ...others.filter(({ address }) => !known.has(address)).map((source) => aSource(source)),
          ...first.toReversed(),
        ];
        const { bib, keys } = bibliographyOf(first);
        const later = bibliographyOf(more);
        for (const key of keys.values()) expect(key).toMatch(/^[a-z0-9-]+$/);
        expect(new Set(later.keys.values()).size).toBe(more.length);
        for (const [address, key] of keys) expect(later.keys.get(address)).toBe(key);
        expect(bibliographyOf(first.toReversed()).bib).toBe(bib);
        expect(entryKeys(bib)).toEqual([...keys.values()].toSorted());
        expect([...bib.matchAll(/\{/g)].length).toBe([...bib.matchAll(/\}/g)].length);
        expect(bib).not.toMatch(/[^\P{Cc}\n]/u);
      }),
      { numRuns: 300 },
    );
  });

  it('tells more works of an author and year apart than there are letters', () => {
    const pages = Array.from({ length: 50 }, (_, index) => aSource({ address: `https://e.com/${index}`, authors: [] }));
    const { bib } = bibliographyOf(pages);
    expect(bib.match(/author = \{\{e\.com\}\}/g)).toHaveLength(20);
    expect(bib.match(/author = \{\{e\.com \(3\)\}\}/g)).toHaveLength(10);
  });
});

describe('citations', () => {
  const bib = '@misc{a-1,\n title = {@b}\n}\n  @article{ b-2 , x = {}}\n';

  it('without an entry are named with their lines', () => {
    const tex =
      'See \\citep[p.~{[1]}][]{a-1, c-3}.\n% \\cite{comment}\n\\% \\citet*{b-2}\n\\nocite{*}\\Citeauthor\n{d-4}\\\\cite{no}\\cite{}\n\\citestyle{x}';
    expect(citationFaults(tex, bib)).toEqual([
      { key: 'c-3', line: 1 },
      { key: 'd-4', line: 4 },
    ]);
  });

  it('are found in time that grows with the document', () => {
    for (const piece of ['\\cite[', '\\cite{', '\\cite', '\\', '%', '\\cite[{'])
      expect(citationsOf(piece.repeat(100_000))).toBeDefined();
  });
});
