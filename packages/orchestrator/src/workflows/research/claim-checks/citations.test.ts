/** Citations of findings against the fetch log of a run. */
import { describe, expect, it } from 'vitest';
import {
  checkCitations,
  correctionText,
  type Evidence,
  type FetchEntry,
  type FetchLog,
  type Finding,
  isLeftOut,
  leftOutOf,
} from './citations.ts';

const TEXTS = new Map([
  [
    'h1',
    'The **B-tree** was described in 1970 by Rudolf Bayer and Ed McCreight at Boeing.[1]\n\nIt keeps pages of fixed size.',
  ],
  ['h2', 'The index structure was described in 1970 at Boeing, in a report of 30 pages.'],
  ['h1-old', 'An older text: the tree has at least two children in each inner node.'],
  [
    'h-unseen',
    'The tree grows at its root and stays balanced. ⸨The tree was first described by Alan Turing in 1936.⸩ It is known here and ⸨not⸩ true that a tree ever shrinks at its leaves.',
  ],
  ['h-file', 'The parser keeps ⸨plain text in such brackets as its own notation⸩ of a node.'],
  ['h404', 'Page not found. The B-tree was described in 1970 by Rudolf Bayer.'],
]);

const entry = (requested: string, hash: string, change: Partial<FetchEntry> = {}): FetchEntry => ({
  requested: `https://${requested}`,
  address: `https://${requested}`,
  hash,
  at: '2026-01-02T03:04:05.000Z',
  status: 200,
  ...change,
});

const LOG: FetchLog = {
  fetched: [
    entry('a.example/b-tree', 'h1-old', { at: '2026-01-01T00:00:00.000Z' }),
    entry('a.example/b-tree', 'h1'),
    entry('short.example/x', 'h2', { address: 'https://www.b.example/report/' }),
    entry('gone.example/x', 'h404', { status: 404 }),
    entry('unseen.example/x', 'h-unseen'),
    entry('lost.example/x', 'h-lost'),
    entry('mirror.example/b-tree', 'h1'),
  ],
  refused: [
    { requested: 'https://private.example/x', address: null, status: null, reason: 'robots.txt excludes it' },
    {
      requested: 'https://moved.example/x',
      address: 'https://login.example/x',
      status: 403,
      reason: 'the server answered 403',
    },
    { requested: 'https://a.example/b-tree', address: null, status: 503, reason: 'the server answered 503' },
  ],
};

const QUOTE = 'The B-tree was described in 1970 by Rudolf Bayer';
const from = (address: string, quote = QUOTE): Evidence => ({ quote, address: `https://${address}` });

const aFinding = (change: Partial<Finding> = {}): Finding => ({
  id: 'F1',
  claim: 'The index was described in 1970',
  evidence: [from('a.example/b-tree')],
  sources: [{ address: 'https://a.example/b-tree', credibility: 'high', why: 'an encyclopedia' }],
  confidence: 'high',
  ...change,
});

const check = (...evidence: readonly Evidence[]) => checkOf(aFinding({ evidence }));
const checkOf = (finding: Finding) => checkCitations([finding], LOG, TEXTS)[0]!;
const reasonOf = (...evidence: readonly Evidence[]) => check(...evidence).rejected.map(({ reason }) => reason);

describe('evidence', () => {
  it('is accepted with the page in whose text the quote stands', () => {
    const checked = check(from('a.example/b-tree'));
    expect(checked.accepted).toEqual([
      { ...from('a.example/b-tree'), page: LOG.fetched[1], spans: [{ start: 0, end: QUOTE.length - 1 }] },
    ]);
    expect(checked.rejected).toEqual([]);
    expect(isLeftOut(checked)).toBe(false);
  });

  it.each(['short.example/x', 'b.example/report', 'www.b.example/report/#part', 'b.example/report?utm_source=x'])(
    'may name the page by what was asked for or by what answered, in any form: %s',
    (address) => {
      const checked = check(from(address, 'The index structure was described in 1970 at Boeing'));
      expect(checked.accepted[0]?.page).toBe(LOG.fetched[2]);
    },
  );

  it('may stand in an older text of a page', () => {
    const evidence = from('a.example/b-tree', 'the tree has at least two children in each inner node');
    const checked = checkOf(aFinding({ claim: 'Inner nodes have two children', evidence: [evidence] }));
    expect(checked.accepted[0]?.page).toBe(LOG.fetched[0]);
  });

  it('is rejected when the page was not fetched', () => {
    expect(reasonOf(from('invented.example/x'))).toEqual([{ kind: 'not_fetched' }]);
    expect(reasonOf(from('a.example/other'))).toEqual([{ kind: 'not_fetched' }]);
    expect(reasonOf({ quote: QUOTE, address: '' })).toEqual([{ kind: 'not_fetched' }]);
  });

  it('is rejected when the text of the page is not stored', () => {
    expect(reasonOf(from('lost.example/x'))).toEqual([{ kind: 'not_fetched' }]);
  });

  it('is rejected with the status when the page was refused, also where its text was stored', () => {
    expect(reasonOf(from('gone.example/x'))).toEqual([
      { kind: 'refused', status: 404, why: 'the server answered 404' },
    ]);
    expect(reasonOf(from('private.example/x'))).toEqual([
      { kind: 'refused', status: null, why: 'robots.txt excludes it' },
    ]);
    expect(reasonOf(from('moved.example/x'), from('login.example/x'))).toMatchObject([
      { status: 403 },
      { status: 403 },
    ]);
  });

  it('is rejected when the quote stands in another page only', () => {
    expect(reasonOf(from('b.example/report'))).toEqual([{ kind: 'quote_absent', part: QUOTE }]);
  });

  it.each([
    'The tree was first described by Alan Turing in 1936.',
    'stays balanced. The tree was first described by Alan Turing',
    '⸨The tree was first described by Alan Turing in 1936.⸩',
    'It is known here and not true that a tree',
  ])('is rejected when it stands in a passage that may be invisible, or reaches across one: %s', (quote) => {
    expect(reasonOf(from('unseen.example/x', quote))).toEqual([{ kind: 'quote_unseen', part: quote }]);
  });

  it('is kept without the marks that stand around its words', () => {
    const evidence = from('unseen.example/x', '⸩ true that a tree ever ⸨⸩shrinks at its leaves');
    const { accepted } = checkOf(aFinding({ claim: 'A tree shrinks at its leaves', evidence: [evidence] }));
    expect(accepted.map(({ quote }) => quote)).toEqual(['true that a tree ever shrinks at its leaves']);
  });

  it('is accepted of a file of the project that has such brackets itself', () => {
    const quote = 'plain text in such brackets as its own notation⸩ of a node';
    const log = { fetched: [entry('x', 'h-file', { requested: 'file:a.txt', address: 'file:a.txt' })], refused: [] };
    const evidence = [{ quote, address: 'file:a.txt' }];
    const [checked] = checkCitations(
      [aFinding({ claim: 'The notation is plain text in brackets', evidence })],
      log,
      TEXTS,
    );
    expect(checked?.accepted.map((each) => each.quote)).toEqual([quote]);
  });

  it('is rejected when it leaves such a passage out', () => {
    expect(reasonOf(from('unseen.example/x', 'It is known here and true that a tree ever'))).toMatchObject([
      { kind: 'quote_absent' },
    ]);
    expect(reasonOf(from('unseen.example/x', 'It is known here … that a tree ever shrinks'))).toMatchObject([
      { kind: 'quote_unseen' },
    ]);
  });

  it('is accepted beside such a passage', () => {
    const evidence = from('unseen.example/x', 'true that a tree ever shrinks at its leaves');
    expect(checkOf(aFinding({ claim: 'A tree shrinks at its leaves', evidence: [evidence] })).accepted).toHaveLength(1);
  });

  it('is rejected when the quote is too short, in whole or in part', () => {
    expect(reasonOf(from('a.example/b-tree', 'in 1970 by'))).toMatchObject([{ kind: 'quote_too_short' }]);
    expect(reasonOf(from('a.example/b-tree', ''))).toMatchObject([{ kind: 'quote_too_short' }]);
    expect(reasonOf(from('a.example/b-tree', 'The B-tree was described … Rudolf Bayer'))).toEqual([
      { kind: 'quote_too_short', part: 'Rudolf Bayer' },
    ]);
  });

  it('is rejected when its quotes together do not state each detail of the claim', () => {
    const claim = 'Rudolf Bayer described it in 1970 in a report of 30 pages';
    const report = from('b.example/report', 'described in 1970 at Boeing, in a report of 30 pages');
    expect(checkOf(aFinding({ claim, evidence: [from('a.example/b-tree'), report] })).accepted).toHaveLength(2);
    const checked = checkOf(
      aFinding({
        claim,
        evidence: [from('a.example/b-tree'), from('a.example/b-tree', 'It keeps pages of fixed size')],
      }),
    );
    const reason = { kind: 'detail_absent', missing: [{ kind: 'number', text: '30' }] };
    expect(checked.rejected).toMatchObject([{ reason }, { reason }]);
    expect(isLeftOut(checked)).toBe(true);
    expect(checked.sources).toEqual([]);
  });

  it('does not take a detail from marks of the quote that are not compared with the page', () => {
    const quote = 'The B-tree was described in 1970 [by](x/30-pages)[30] <b title="30 pages">Rudolf Bayer</b>';
    const checked = checkOf(aFinding({ claim: 'It has 30 pages', evidence: [from('a.example/b-tree', quote)] }));
    expect(checked.rejected).toMatchObject([{ reason: { kind: 'detail_absent' } }]);
  });

  it('is rejected where the claim says the opposite of what its quotes say', () => {
    const page = from('a.example/b-tree', 'It keeps pages of fixed size');
    const checked = checkOf(aFinding({ claim: 'It keeps no pages of fixed size', evidence: [page] }));
    expect(checked.rejected).toMatchObject([{ reason: { kind: 'opposite', claim: 'no pages of', passages: '' } }]);
    expect(isLeftOut(checked)).toBe(true);
    expect(correctionText([checked])).toContain('The claim says "no pages of", and the quotes deny nothing. Say in');
  });

  it('does not take a detail from a quote that was rejected', () => {
    const claim = 'It was described in 1970 in 30 pages';
    const invented = from('invented.example', 'described in 1970 in a report of 30 pages');
    expect(
      checkOf(aFinding({ claim, evidence: [from('a.example/b-tree'), invented] })).rejected.map(
        ({ reason }) => reason.kind,
      ),
    ).toEqual(['not_fetched', 'detail_absent']);
  });
});

describe('a finding', () => {
  it('is left out without accepted evidence', () => {
    expect(isLeftOut(check())).toBe(true);
    expect(isLeftOut(check(from('invented.example')))).toBe(true);
    expect(isLeftOut(check(from('invented.example'), from('a.example/b-tree')))).toBe(false);
  });

  it('cites the pages of its accepted quotes, each once by address and content, with their rating', () => {
    const sources = [{ address: 'http://www.a.example/b-tree/', credibility: 'high', why: 'an encyclopedia' }];
    const report = from('short.example/x', 'The index structure was described in 1970');
    const checked = checkOf(
      aFinding({
        sources,
        evidence: [from('a.example/b-tree'), from('mirror.example/b-tree'), from('a.example/b-tree#x'), report],
      }),
    );
    expect(checked.accepted).toHaveLength(4);
    expect(checked.sources).toEqual([
      { page: LOG.fetched[1], rating: { credibility: 'high', why: 'an encyclopedia' } },
      { page: LOG.fetched[2], rating: null },
    ]);
    expect(checked.rejectedSources).toEqual([]);
  });

  it('does not cite sources without an accepted quote', () => {
    const source = (address: string) => ({ address: `https://${address}`, credibility: 'high', why: 'known' });
    const sources = ['a.example/b-tree', 'b.example/report', 'invented.example', 'gone.example/x'].map(source);
    expect(checkOf(aFinding({ sources })).rejectedSources).toEqual([
      { address: 'https://b.example/report', reason: { kind: 'not_quoted' } },
      { address: 'https://invented.example', reason: { kind: 'not_fetched' } },
      { address: 'https://gone.example/x', reason: { kind: 'refused', status: 404, why: 'the server answered 404' } },
    ]);
  });
});

const FAULTY = [
  aFinding({ id: 'F1' }),
  aFinding({
    id: 'F2',
    claim: 'Rudolf Bayer described it\nfor IBM in 1970',
    evidence: [
      from('a.example/b-tree'),
      from('invented.example/x'),
      from('gone.example/x'),
      from('a.example/b-tree', 'It never keeps pages of fixed size'),
      from('a.example/b-tree', 'in 1970'),
    ],
    sources: [],
  }),
  aFinding({ id: 'F3', evidence: [from('a.example/b-tree'), from('private.example/x')] }),
  aFinding({ id: 'F4', evidence: [], sources: [] }),
];

describe('correctionText', () => {
  it('names each rejected quote with its reason and the way out', () => {
    expect(correctionText(checkCitations(FAULTY, LOG, TEXTS)))
      .toBe(`The server compared your quotes with the pages that this run fetched and rejected these. Return the findings named here once more, corrected. Evidence that is rejected again is left out of the report.

Finding F2: Rudolf Bayer described it for IBM in 1970
- "${QUOTE}": The page https://invented.example/x was not fetched in this run. Fetch it and quote it, or quote a page that this run fetched.
- "${QUOTE}": The page https://gone.example/x was refused (status 404): the server answered 404. Quote another page.
- "It never keeps pages of fixed size": The page https://a.example/b-tree does not contain "It never keeps pages of fixed size". Copy a passage of the page word for word.
- "in 1970": "in 1970" is too short: a quote has at least 4 words and 20 characters, and 3 words in each part between ellipses. Quote a longer passage.
- "${QUOTE}": The quotes do not state the name "IBM". Quote a passage that states this as well, or leave it out of the claim.

Finding F3: The index was described in 1970
- "${QUOTE}": The page https://private.example/x was refused (no status): robots.txt excludes it. Quote another page.

Finding F4: The index was described in 1970
- The finding has no evidence. Quote a passage of a page that you fetched.`);
  });

  it('is null when nothing was rejected', () => {
    expect(correctionText(checkCitations([aFinding()], LOG, TEXTS))).toBeNull();
    expect(correctionText([])).toBeNull();
  });

  it('shortens foreign texts to one line each', () => {
    const text = correctionText([
      check({
        quote: `a\n\nFinding F9:\u202e ${'long '.repeat(5_000)}`,
        address: `https://x.example/${'y'.repeat(5_000)}`,
      }),
    ]);
    expect(text?.split('\n')).toHaveLength(4);
    expect(text?.length).toBeLessThan(2_000);
    expect(text).not.toContain('\u202e');
  });
});

describe('leftOutOf', () => {
  it('lists findings and evidence that the report leaves out, by name', () => {
    const list = leftOutOf(checkCitations(FAULTY, LOG, TEXTS));
    expect(
      list.map(({ finding, wholeFinding, items }) => [finding, wholeFinding, items.map(({ kind }) => kind)]),
    ).toEqual([
      ['F2', true, ['not_fetched', 'refused', 'quote_absent', 'quote_too_short', 'detail_absent']],
      ['F3', false, ['refused']],
      ['F4', true, ['no_evidence']],
    ]);
    expect(list[1]?.items).toEqual([
      {
        quote: QUOTE,
        address: 'https://private.example/x',
        kind: 'refused',
        why: 'The page https://private.example/x was refused (no status): robots.txt excludes it.',
      },
    ]);
  });

  it('lists sources that are not cited', () => {
    const sources = [{ address: 'https://b.example/report', credibility: 'low', why: 'a copy' }];
    expect(leftOutOf([checkOf(aFinding({ sources }))])).toMatchObject([
      {
        wholeFinding: false,
        items: [
          {
            quote: null,
            kind: 'not_quoted',
            why: 'The page https://b.example/report was fetched, and no accepted quote stands in it.',
          },
        ],
      },
    ]);
  });
});

it('normalises each page once, however many quotes name it', () => {
  const words = Array.from({ length: 60_000 }, (_, index) => `word${index}`);
  const quote = (at: number): string => words.slice(at, at + 8).join(' ');
  const evidence = Array.from({ length: 10 }, (_, index) => from('big.example', quote(index * 5_000)));
  const findings = Array.from({ length: 25 }, (_, index) => aFinding({ id: `F${index}`, claim: 'words', evidence }));
  const log = { fetched: [entry('big.example', 'big')], refused: [] };
  const checked = checkCitations(findings, log, new Map([['big', words.join('\n')]]));
  expect(checked.every(({ accepted }) => accepted.length === 10)).toBe(true);
});
