/** Quotes in the texts of pages. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalised, readable } from './normalised-text.ts';
import { findQuote, LONGEST_GAP, LONGEST_QUOTE, MOST_PARTS, standsIn } from './passages.ts';

describe('normalised', () => {
  it.each([
    ['ﬁne oﬃce ﬂow', 'fine office flow'],
    ['Ｆｕｌｌ', 'Full'],
    ['e\u0301tude', 'étude'],
    ['ex\u00adam\u200bple\ufeff \u202eword', 'example word'],
    ['exam\u00ad\nple exam\u00ad ple', 'example example'],
    ['exam-\nple exam-\r\n   ple exam- ple', 'example example example'],
    ['well-known well-\nknown well\u2011known', 'wellknown wellknown wellknown'],
    ['COVID-\n19 and 2019-\n2020', 'COVID-19 and 2019-2020'],
    ['a\u00a0b\u2009c\td\n\n e\u3000f\u0000g', 'a b c d e f g'],
    ['“a” „b“ «c» ‘d’ it’s', '"a" "b" "c" \'d\' it\'s'],
    ['a—b — c – d -- e', 'a b c d e'],
    ['5–10, 5 – 10, 5—10, 5- 10', '5-10, 5-10, 5-10, 5-10'],
    ['it is −5 and -5', 'it is -5 and -5'],
    ['and so on…', 'and so on...'],
    ['3½ ½', '3 1/2 1/2'],
    ['10⁶, 10⁻⁶, 5 km², x²', '10^6, 10^-6, 5 km^2, x^2'],
    ['studies¹² show.³ In 2019¹ too', 'studies show. In 2019 too'],
    ['CO₂ Word™ by Firm®', 'CO2 Word by Firm'],
    ['中文 的\n句子，很 长', '中文的句子,很长'],
  ])('unifies the characters of %j', (text, expected) => {
    expect(normalised(text).normalised).toBe(expected);
  });

  it.each([
    ['a [link](https://x.org/a_(b)?q=1 "title") here', 'a link here'],
    ['![Picture](p.png) of [the [inner] one](u)', 'Picture of the inner one'],
    ['a [link][ref] or [other][] here', 'a link or other here'],
    ['**bold** *it* __bold__ _it_ ~~old~~ `code`', 'bold it bold it old code'],
    ['**W**orld snake_case __init__ 2*3 **2**', 'World snake_case init 2*3 2'],
    ['# Title\n\ntext\n## Part ##\nmore', 'Title text Part more'],
    ['Title\n=====\ntext\n---\nmore\n***', 'Title text more'],
    ['> quoted\n> > twice\n>thrice', 'quoted twice thrice'],
    ['- one\n* two\n+ three\n  • four\n- [x] five', 'one two three four five'],
    ['1. one\n2. two\n   wrapped\n3) three', 'one two wrapped three'],
    ['it ended in\n12. May', 'it ended in 12. May'],
    ['| a | b |\n|---|:-:|\n| 1 | 2 |', 'a b 1 2'],
    ['said[12] so [3] and[4, 5], too[^n].[a] x [note 2] y[citation needed]', 'said so and, too. x y'],
    ['said[[12]](#cite-12) so[12](#fn), in [2019](u) and [42](https://x.org)', 'said so, in 2019 and 42'],
    ['said[\\[12\\]](u) \\*so\\* 1\\.', 'said so 1.'],
    [
      'said<sup>1,2</sup> H<sub>2</sub>O<br/>10<sup>6</sup> a < b <b class="x">c</b> <unknown>',
      'said H2O 10^6 a < b c <unknown>',
    ],
    ['R&amp;D&nbsp;is &quot;on&quot; &unknown;', 'R&D is "on" &unknown;'],
    ['```ts\ncode\n```', 'code'],
    ['a , b .', 'a, b.'],
  ])('drops the marks of %j', (text, expected) => {
    expect(normalised(text).normalised).toBe(expected);
  });

  it('keeps hyphens within a line where they are to be read', () => {
    expect(readable('well-known exam-\nple COVID-19')).toBe('well-known example COVID-19');
  });

  it('keeps case', () => {
    expect(normalised('The WHO said').normalised).toBe('The WHO said');
  });
});

const PAGE = `# Storage engines

The **B-tree** keeps pages of [fixed size](https://db.example/pages), which is possible to re-
cover after a crash.[12] It was described in 1970 by Rudolf Bayer — “the ubiquitous B‑tree”.

| engine | writes per second |
|--------|------------------:|
| Alpha  | 1.5 million       |

- Compaction runs in the background
- Reads stay below 5 ms`;

describe('findQuote', () => {
  it.each([
    'The B-tree keeps pages of fixed size, which is possible to recover after a crash.',
    'which is possible to recover after a crash. It was described in 1970',
    'described in 1970 by Rudolf Bayer - "the ubiquitous B-tree".',
    '"It was described in 1970 by Rudolf Bayer."',
    'keeps pages of [fixed size](https://db.example/pages), which is possible',
    'pages of fixed size, which is possible to re- cover after a crash.[12] It',
    'engine writes per second Alpha 1.5 million',
    '| Alpha | 1.5 million | - Compaction runs in the background',
    '… Compaction runs in the background Reads stay below 5 ms …',
  ])('finds %j', (quote) => {
    expect(findQuote(quote, PAGE)).toMatchObject({ stands: true });
    expect(standsIn(quote, normalised(PAGE))).toBe(true);
  });

  it.each([
    ['another word', 'The B-tree keeps pages of variable size, which is possible'],
    ['another case', 'the b-tree keeps pages of fixed size, which is possible'],
    ['a word left out', 'The B-tree keeps pages of size, which is possible to recover'],
    ['another number', 'It was described in 1971 by Rudolf Bayer'],
    ['another order', 'by Rudolf Bayer described in 1970 It was'],
    ['an inserted word', 'It was not described in 1970 by Rudolf Bayer'],
  ])('does not find a quote with %s', (_, quote) => {
    expect(findQuote(quote, PAGE)).toMatchObject({ stands: false, why: 'absent' });
  });

  it('tells where the quote stands in the normalised page', () => {
    const page = normalised(PAGE);
    const found = findQuote('possible to recover after … It was described … “the ubiquitous B-tree”', page);
    const spans = found.stands ? found.spans.map(({ start, end }) => page.normalised.slice(start, end)) : [];
    expect(spans).toEqual(['possible to recover after', 'It was described', 'the ubiquitous Btree']);
  });

  it.each([
    ['possible to treat the illness today', 'It is impossible to treat the illness today.'],
    ['it is in the common form', 'it is in the common formula'],
    ['5 million people were asked', 'In all, 1.5 million people were asked.'],
    ['000 people were asked there', 'In all, 5,000 people were asked there.'],
    ['5 percent of the people here', 'a fall of -5 percent of the people here'],
    ['the people here were about 10', 'the people here were about 10.5 in number'],
    ['the people here were about 10', 'the people here were about 10^6 in number'],
    ['the people here were about 10', 'the people here were about 100 in number'],
  ])('takes words and numbers whole: %j is not in %j', (quote, page) => {
    expect(standsIn(quote, page)).toBe(false);
  });

  it('finds the second place where the first is within a word, also where the two overlap', () => {
    expect(standsIn('one two three one two', 'bone two three one two three one two')).toBe(true);
    expect(standsIn('possible to treat it here', 'impossible to treat it here, or possible to treat it here')).toBe(
      true,
    );
  });

  it.each([
    '',
    '...',
    '[…]',
    'It was described',
    'a b c d e f',
    'It was … described',
    '"B-tree"',
    '**It** [was](x) described[1][2]',
  ])('refuses %j as too short, also where it stands in the page', (quote) => {
    expect(findQuote(quote, `${PAGE} a b c d e f`)).toMatchObject({ stands: false, why: 'too_short' });
  });

  it('takes a quote of exactly 4 words and 20 characters', () => {
    expect(standsIn('four words are enough', 'So four words are enough here.')).toBe(true);
    expect(standsIn('aaaa bbbb cccc ddddd', 'aaaa bbbb cccc ddddd')).toBe(true);
    expect(findQuote('aaaa bbbb cccc dddd', 'aaaa bbbb cccc dddd')).toMatchObject({ why: 'too_short' });
    expect(findQuote('extraordinarily comprehensive documentation', 'x')).toMatchObject({ why: 'too_short' });
  });

  it('counts characters of scripts without spaces as words', () => {
    const page = '研究表明，这种方法在大多数情况下是有效的，但也有例外。';
    expect(standsIn('这种方法在大多数情况下是有效的', page)).toBe(true);
    expect(standsIn('方法在大多数情况下是有', page)).toBe(true);
    expect(standsIn('这种方法在大多数情况下是无效的', page)).toBe(false);
    expect(findQuote('这种方法', page)).toMatchObject({ why: 'too_short' });
  });
});

describe('an ellipsis in a quote', () => {
  const gap = (length: number) =>
    `one two three${' word'
      .repeat(200)
      .slice(0, length - 1)
      .replace(/ $/, 'd')} four five six`;

  it.each(['…', '...', '[…]', '[...]', '(…)', '. . .', '....', ' [ … ] '])(
    'written as %j separates parts',
    (ellipsis) => {
      expect(standsIn(`keeps pages of fixed size ${ellipsis} after a crash`, PAGE)).toBe(true);
      expect(standsIn(`keeps pages of fixed size${ellipsis}before a crash`, PAGE)).toBe(false);
    },
  );

  it('is compared as it is written first', () => {
    expect(standsIn('Well... I do not know it now', 'He said: Well... I do not know it now.')).toBe(true);
    expect(findQuote('Well... I do not know it now', 'Well, I do not know it now.')).toMatchObject({
      why: 'too_short',
      part: 'Well',
    });
  });

  it('needs the parts in their order', () => {
    expect(standsIn('after a crash … keeps pages of', PAGE)).toBe(false);
    expect(standsIn('keeps pages of … keeps pages of', PAGE)).toBe(false);
  });

  it('joins no beginning of a sentence to the end of another', () => {
    const page =
      'The oldest bell hangs in the tower of the town. The second bell was cast in 1655 by Dr. B. Huber of Ulm, then sold.';
    expect(standsIn('The oldest bell … was cast in 1655', page)).toBe(false);
    expect(standsIn('The oldest bell … The second bell was cast', page)).toBe(true);
    expect(standsIn('The second bell … by Dr. B. Huber … then sold', page)).toBe(false);
    expect(standsIn('The second bell was cast … of Ulm, then sold', page)).toBe(true);
    expect(standsIn('What is it made of … and iron it is', 'What is it made of? Of bronze and iron it is.')).toBe(
      false,
    );
  });

  it('needs three words in each part', () => {
    expect(findQuote('keeps pages of fixed size … a crash', PAGE)).toEqual({
      stands: false,
      why: 'too_short',
      part: 'a crash',
    });
  });

  it('names the part that is absent', () => {
    expect(findQuote('keeps pages of … is never seen', PAGE)).toEqual({
      stands: false,
      why: 'absent',
      part: 'is never seen',
    });
  });

  it(`spans ${LONGEST_GAP} characters at most`, () => {
    expect(gap(LONGEST_GAP).indexOf('four') - 'one two three'.length).toBe(LONGEST_GAP);
    expect(standsIn('one two three … four five six', gap(LONGEST_GAP))).toBe(true);
    expect(standsIn('one two three … four five six', gap(LONGEST_GAP + 1))).toBe(false);
  });

  it('tries each place of a part', () => {
    const far = ' word'.repeat(200);
    const page = `one two three${far} one two three, four five six${far} seven eight nine, four five six, seven eight nine`;
    expect(standsIn('one two three … four five six', page)).toBe(true);
    expect(standsIn('four five six … seven eight nine', page)).toBe(true);
    expect(standsIn('one two three … four five six … seven eight nine', page)).toBe(false);
  });

  it(`stands in no page with more than ${LONGEST_QUOTE} characters`, () => {
    const long = 'word '.repeat(LONGEST_QUOTE / 5);
    expect(standsIn(long, long)).toBe(true);
    expect(standsIn(`${long} `, long)).toBe(false);
  });

  it(`separates ${MOST_PARTS} parts at most`, () => {
    const parts = Array.from({ length: MOST_PARTS + 1 }, (_, index) => `part ${index} stands here`);
    const page = parts.join(' and so ');
    expect(standsIn(parts.slice(1).join(' … '), page)).toBe(true);
    expect(standsIn(parts.join(' … '), page)).toBe(false);
  });
});

describe('for any page', () => {
  const word = fc.stringMatching(/^[a-z]{2,9}$/);
  const words = fc.array(word, { minLength: 13, maxLength: 60 });
  const joint = fc.constantFrom(
    ' ',
    '\n',
    '\u00a0',
    ' \n> ',
    '[3] ',
    ' **',
    '* ',
    '\u00ad ',
    '\u200b ',
    ' | ',
    '\n\n- ',
    ' — ',
    ' [',
    '](http://x.org/y) ',
  );

  it('finds each run of its words behind any typography, and no run with another word', () => {
    fc.assert(
      fc.property(words, fc.infiniteStream(joint), fc.nat(5), (list, joints, from) => {
        const page = list.map((each) => `${each}${joints.next().value ?? ' '}`).join('');
        const quote = list.slice(from, from + 8);
        fc.pre(!page.includes('\u00ad'));
        fc.pre(quote.join(' ').length >= 20);
        expect(standsIn(quote.join(' '), page)).toBe(true);
        expect(standsIn(quote.with(3, 'UNSAID').join(' '), page)).toBe(false);
        expect(standsIn(`${quote.slice(0, 4).join(' ')} [...] ${quote.slice(5).join('\n')}`, page)).toBe(true);
      }),
    );
  });

  it('finds each piece of whole lines of any text in that text, if it is long enough', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.lorem({ maxCount: 12 }),
      fc.constantFrom('# T', '> x', '- y', '', '|a|b|', '***'),
    );
    fc.assert(
      fc.property(fc.array(line), fc.nat(6), fc.nat(6), (lines, from, count) => {
        const quote = lines.slice(from, from + count).join('\n');
        const found = findQuote(quote, quote);
        expect(found.stands || found.why === 'too_short').toBe(true);
      }),
    );
  });
});

describe('hostile texts', () => {
  const size = 400_000;
  it.each([
    '](',
    '](a',
    '](a(b)',
    '[',
    '[1](',
    '[1',
    '[[1]',
    '*',
    '_',
    'a_',
    '`',
    '>',
    '> ',
    '- ',
    '-',
    ' - ',
    ' -',
    '1. ',
    '<b ',
    '<sup>1',
    '&amp',
    '\\',
    '|',
    '\u00ad',
    '\u00ad\n',
    ' ',
    '\n',
    '\t',
    '.',
    ' .',
    '…',
    '⁰',
    '½',
    '#',
    ' #',
    'a-\n',
    'a- ',
    '"',
    '(',
    '中 ',
    'a',
    'ab ',
    '\u0301',
  ])('of %j take time in proportion to their length', (part) => {
    const page = part.repeat(Math.ceil(size / part.length));
    const prepared = normalised(page);
    findQuote(`a b c ${'a'.repeat(2_000)}`, prepared);
    findQuote(`${'ab '.repeat(1_000)}x`, prepared);
    findQuote(page.slice(0, 4_000), prepared);
    expect(findQuote(page.slice(0, LONGEST_QUOTE), 'x').stands).toBe(false);
  });

  it('of several parts that stand everywhere are searched in time in proportion to the page', () => {
    const page = normalised('漢'.repeat(200_000));
    const started = performance.now();
    expect(findQuote(`${'漢'.repeat(500)} … `.repeat(8), page).stands).toBe(false);
    expect(findQuote('漢漢漢漢漢漢漢漢漢漢', page).stands).toBe(true);
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it('of nearly matching words are searched in time in proportion to their length', () => {
    const page = normalised('ab '.repeat(size / 3));
    for (let round = 0; round < 5; round += 1) findQuote(`${'ab '.repeat(1_600)}x`, page);
    expect(() => findQuote(Array(MOST_PARTS).fill('ab ab ab').join(' … '), page)).not.toThrow();
  });
});
