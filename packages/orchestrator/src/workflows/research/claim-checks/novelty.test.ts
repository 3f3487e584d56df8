/** New, known and undecided findings. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinctSources, MOST_WORDS, newSources, noveltiesOf, noveltyOf, prepared } from './novelty.ts';

const page = (address: string, hash: string | null = null) => ({ address: `https://${address}`, hash });
const finding = (id: string, claim: string, sources = [page('a.example/1')]) => ({ id, claim, sources });

const KNOWN = [
  finding('F1', 'The B-tree engine keeps pages of fixed size and splits a page when it is full'),
  finding('F2', 'Compaction in LSM trees runs in the background and amplifies writes by a factor of 10'),
  finding('F3', 'Alpha was released by Google in May 2019'),
  finding('F4', 'Snapshot isolation does not prevent write skew between concurrent transactions'),
].map(prepared);

describe('noveltyOf', () => {
  it.each([
    'Bloom filters save most reads of absent keys in memory',
    'Vacuum removes dead tuples that no transaction can see',
    'Pages are cached',
  ])('calls %j new', (claim) => {
    expect(noveltyOf(finding('N', claim), KNOWN)).toMatchObject({ kind: 'new' });
  });

  it('calls every finding new when nothing is known', () => {
    expect(noveltyOf(finding('N', 'Anything'), [])).toEqual({ kind: 'new', similarity: 0 });
  });

  it.each([
    ['the same words', 'The B-tree engine keeps pages of fixed size and splits a page when it is full', 'F1'],
    [
      'other typography',
      '  the B‑Tree engine keeps pages of **fixed** size, and splits a page when it is full. ',
      'F1',
    ],
    ['other function words', 'A B-tree engine keeps the pages of a fixed size, and splits the page when full', 'F1'],
    [
      'another way to write a number',
      'Compaction in LSM trees runs in the background and amplifies writes by a factor of ten',
      'F2',
    ],
    ['a contraction', "Snapshot isolation doesn't prevent write skew between concurrent transactions", 'F4'],
  ])('calls a claim with %s known', (_, claim, id) => {
    expect(noveltyOf(finding('N', claim), KNOWN)).toMatchObject({ kind: 'known', id });
  });

  it.each([
    ['another number', 'Compaction in LSM trees runs in the background and amplifies writes by a factor of 30', 'F2'],
    ['another name', 'Alpha was released by Oracle in May 2019', 'F3'],
    ['another date', 'Alpha was released by Google in May 2020', 'F3'],
    ['the opposite meaning', 'Snapshot isolation does prevent write skew between concurrent transactions', 'F4'],
    ['most of the words in other places', 'When a page is full, its fixed size makes the B-tree split it', 'F1'],
    ['a part of the words', 'Snapshot isolation permits write skew between some transactions', 'F4'],
    [
      'a longer claim around it',
      'In practice, and in every engine that was measured here over several years with many different loads, the B-tree engine keeps pages of fixed size on disk, which a later version then splits whenever some page is full',
      'F1',
    ],
  ])('leaves a claim with %s undecided', (_, claim, id) => {
    expect(noveltyOf(finding('N', claim), KNOWN)).toMatchObject({ kind: 'undecided', id });
  });

  it('names the nearest of several', () => {
    const known = [...KNOWN, prepared(finding('F5', 'Snapshot isolation permits write skew'))];
    expect(noveltyOf(finding('N', 'Snapshot isolation permits write skew today'), known)).toMatchObject({ id: 'F5' });
    expect(noveltyOf(finding('N', 'Snapshot isolation permits write skew today'), known.toReversed())).toMatchObject({
      id: 'F5',
    });
  });

  it('prefers a known finding to a more similar one with other details', () => {
    const claim = 'Alpha stores 10 values in a page of the tree and reads them back in order';
    const known = [finding('F1', claim.replace('10', '11')), finding('F2', `${claim} soon`)].map(prepared);
    expect(noveltyOf(finding('N', claim), known)).toMatchObject({ kind: 'known', id: 'F2' });
  });

  it('gives the known finding its further sources', () => {
    const again = (...sources: readonly ReturnType<typeof page>[]) =>
      noveltyOf({ id: 'N', claim: KNOWN[2]!.claim, sources }, KNOWN);
    expect(again(page('www.a.example/1/?utm_source=x#y'))).toMatchObject({ kind: 'known', id: 'F3', newSources: [] });
    expect(again(page('a.example/1'), page('b.example/2'))).toMatchObject({ newSources: [page('b.example/2')] });
    const undecided = noveltyOf(finding('N', 'Alpha was released by Oracle in May 2019', [page('c.example')]), KNOWN);
    expect(undecided).toMatchObject({ kind: 'undecided', id: 'F3', newSources: [page('c.example')] });
  });

  it('reads the same in both directions and knows each claim again, whatever it contains', () => {
    const claim = fc.array(
      fc.oneof(fc.lorem({ maxCount: 8 }), fc.string(), fc.constantFrom('not', '3 million', 'Google')),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(claim, claim, (one, other) => {
        const [a, b] = [finding('A', one.join(' ')), finding('B', other.join(' '))];
        const [ab, ba] = [noveltyOf(a, [prepared(b)]), noveltyOf(b, [prepared(a)])];
        expect(ab.kind).toBe(ba.kind);
        expect(ab.similarity).toBe(ba.similarity);
        expect(noveltyOf({ ...a, id: 'C' }, [prepared(b), prepared(a)])).toMatchObject({
          kind: 'known',
          similarity: 1,
        });
      }),
    );
  });

  it(`compares with 2,000 known findings of more than ${MOST_WORDS} words within seconds`, () => {
    const words = (seed: number) =>
      Array.from({ length: 400 }, (_, index) => `w${(index * (seed + 7)) % 5_003}`).join(' ');
    const known = Array.from({ length: 2_000 }, (_, index) => prepared(finding(`F${index}`, words(index))));
    for (let index = 0; index < 25; index += 1)
      expect(noveltyOf(finding('N', words(3_000 + index)), known).kind).toBeTypeOf('string');
  });
});

describe('noveltiesOf', () => {
  it('compares the findings of a round with each other as well', () => {
    const round = [
      finding('R1', 'Bloom filters save most reads of absent keys'),
      finding('R2', 'Bloom filters save most reads of absent keys', [page('b.example')]),
      finding('R3', 'Bloom filters save few reads of absent keys'),
      finding('R4', 'Vacuum removes dead tuples'),
      finding('R5', 'Bloom filters save few reads of absent keys'),
      finding('R6', KNOWN[0]!.claim),
    ];
    expect(
      noveltiesOf(round, KNOWN).map(({ id, novelty }) => [id, novelty.kind, 'id' in novelty ? novelty.id : null]),
    ).toEqual([
      ['R1', 'new', null],
      ['R2', 'known', 'R1'],
      ['R3', 'undecided', 'R1'],
      ['R4', 'new', null],
      ['R5', 'known', 'R3'],
      ['R6', 'known', 'F1'],
    ]);
  });
});

describe('sources', () => {
  it('are one where the address or the content is the same', () => {
    const first = page('a.example/x', 'h1');
    expect(
      distinctSources([
        first,
        page('www.a.example/x/', 'h2'),
        page('mirror.example/x', 'h1'),
        page('b.example/y', 'h3'),
      ]),
    ).toEqual([first, page('b.example/y', 'h3')]);
  });

  it('are not one because their content is unknown', () => {
    expect(distinctSources([page('a.example'), page('b.example')])).toHaveLength(2);
  });

  it('are independent of known ones by address and content', () => {
    const known = [page('a.example/x', 'h1')];
    expect(newSources([page('a.example/x', 'h9')], known)).toEqual([]);
    expect(newSources([page('z.example', 'h1')], known)).toEqual([]);
    expect(newSources([page('z.example', 'h2')], known)).toEqual([page('z.example', 'h2')]);
  });
});
