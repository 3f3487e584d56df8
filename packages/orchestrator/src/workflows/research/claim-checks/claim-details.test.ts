/** Numbers, dates and names of claims in quoted passages. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detailKeys, missingDetails } from './claim-details.ts';

/** The texts that are missing, with their kind. */
const missing = (claim: string, ...passages: readonly string[]) =>
  missingDetails(claim, passages).map(({ kind, text }) => `${kind} ${text}`);

describe('numbers of a claim', () => {
  it.each([
    ['about 3 million users', 'it has 3,000,000 users'],
    ['about 3,000,000 users', 'it has 3 million users'],
    ['about 3M users', 'it has three million users'],
    ['about 2.5 billion users', 'it has 2,500,000,000 users'],
    ['about 2,5 billion users', 'it has 2.5bn users'],
    ['about 1,500 users', 'it has 1500 users'],
    ['about 1500 users', 'it has 1,500 users'],
    ['about 1.500 users', 'it has 1,500 users'],
    ['about 1 500 users', 'it has 1\u202f500 users'],
    ["about 1'234'567 users", 'it has 1,234,567 users'],
    ['about 1.234,56 units', 'it has 1,234.56 units'],
    ['about 12,34,567 users', 'it has 1,234,567 users'],
    ['about 1.50 units', 'it has 1.5 units'],
    ['about 0.125 units', 'it has 0,125 units'],
    ['about 007 units', 'it has 7 units'],
    ['about three engines', 'it has 3 engines'],
    ['about 12 engines', 'it has twelve engines'],
    ['about twenty-five engines', 'it has 25 engines'],
    ['about two hundred and ten thousand users', 'it has 210,000 users'],
    ['about 100 users', 'it has a hundred users'],
    ['about 24 users', 'it has two dozen users'],
    ['it fell by 5%', 'it fell by 5 percent'],
    ['it fell by 5 per cent', 'it fell by 5 %'],
    ['it fell by five percent', 'it fell by 5%'],
    ['it fell by 5 percentage points', 'it fell by 5 percent points'],
    ['from 3% to 5%', 'from 3 to 5 percent'],
    ['from 3 to 5 percent', 'from 3% to 5%'],
    ['from 3 to 5 percent', 'from 3 last year to 5 percent'],
    ['from 2 to 3 million', 'from 2 million to 3 million'],
    ['between 2-3 million', 'between 2 million and 3,000,000'],
    ['of 5 km', 'of 5 kilometres'],
    ['of 5km', 'of 5 km'],
    ['of 5 km', 'of 5 on the map'],
    ['a five-year plan', 'a plan of 5 years'],
    ['a 5-year-old plan', 'a plan of five years'],
    ['a cost of $5 million', 'a cost of 5 million US dollars'],
    ['a cost of USD 5m', 'a cost of $5,000,000'],
    ['a cost of 5 €', 'a cost of EUR 5'],
    ['at -5 °C', 'at −5°C'],
    ['at minus 5 degrees', 'at -5 degrees'],
    ['a ratio of 3:1 at 10:30, of 1/2', 'at 10:30, a ratio of 3:1 or 1/2'],
    ['the 21st century', 'the 21st century'],
    ['one of the first engines, and no one else', 'some engines'],
    ['GPT 4 is used', 'they use GPT-4'],
    ['10^6 cells', '10⁶ cells'],
    ['1998 and 3.5 km', 'في عام ١٩٩٨ ويبلغ طوله ٣٫٥ كيلومتر'],
    ['about 3,911 metres', '全長3,911メートルの吊橋である'],
    ['about 5,000,000,000 yen', '建設費は50億円であった'],
    ['about 26 million bricks', 'aus über 26 Millionen Ziegeln'],
    ['about 12 percent', 'rund zwölf Prozent der Befragten'],
    ['the new one of 5 units', 'a new unit and 5 others'],
  ])('of %j stand in %j', (claim, passage) => {
    expect(missing(claim, passage)).toEqual([]);
  });

  it.each([
    ['about 4 million users', 'it has 3 million users', '4 million'],
    ['about 3 users', 'it has 3 million users', '3'],
    ['about 3 million users', 'it has 3 users', '3 million'],
    ['about 1,500 users', 'it has 1.5 users', '1,500'],
    ['about 1.234.567 users', 'it has 1,234.567 users', '1.234.567'],
    ['about 15 users', 'it has 1.5 users, 150 of them, and 115', '15'],
    ['about three engines', 'it has two engines', 'three'],
    ['about thirty engines', 'it has thirteen engines', 'thirty'],
    ['one engine', 'two engines', 'one'],
    ['it fell by 5%', 'it fell by 5', '5%'],
    ['it fell by 5 percent', 'it fell by 5 units', '5 percent'],
    ['it fell by 5 units', 'it fell by 5%', '5'],
    ['it fell by 5 percentage points', 'it fell by 5%', '5 percentage points'],
    ['it fell by 5 percent', 'it fell by 5 percentage points', '5 percent'],
    ['of 5 mg', 'of 5 µg', '5 mg'],
    ['of 5 hectares', 'of 5 acres', '5 hectares'],
    ['of 5 decades', 'of 5 years', '5 decades'],
    ['a cost of 5 euros', 'a cost of 5 kronor', '5 euros'],
    ['about 50 yen', '建設費は50億円であった', '50'],
    ['about 5 million', 'rund 5 Milliarden', '5 million'],
    ['of 5 km', 'of 5 miles', '5 km'],
    ['a cost of $5', 'a cost of €5', '5'],
    ['at -5 °C', 'at 5 °C', '5'],
    ['at 5 °C', 'at 5 °F', '5 C'],
    ['a ratio of 3:1', 'a ratio of 1:3', '3:1'],
    ['10^6 cells', '106 cells', '10^6'],
    ['about 4 engines', 'about the F-4 and the GPT-4', '4'],
    ['about 12 users', 'as said elsewhere [12]', '12'],
  ])('of %j do not stand in %j', (claim, passage, text) => {
    expect(missing(claim, passage)[0]).toMatch(new RegExp(`^number ${text.replace(/[.^$]/g, '\\$&')}`));
    expect(missing(claim, passage)).toHaveLength(1);
  });

  it('stand in any of the passages', () => {
    expect(missing('from 3 to 5 engines', 'it had 3 engines', 'it has 5 engines')).toEqual([]);
    expect(missing('from 3 to 5 engines', 'it had 3 engines')).toEqual(['number 5']);
    expect(missing('3 engines')).toEqual(['number 3']);
  });

  it('are equal in every way of writing them', () => {
    const ways = (value: number): readonly string[] => [
      String(value),
      value.toLocaleString('en-US'),
      value.toLocaleString('de-DE'),
      value.toLocaleString('de-CH').replaceAll('’', "'"),
      value.toLocaleString('fr-FR'),
      `${value / 1e3} thousand`,
      `${value / 1e6} million`,
    ];
    fc.assert(
      fc.property(fc.integer({ min: 10_000, max: 99_999_999 }), fc.nat(6), fc.nat(6), (value, one, other) => {
        const [claim, passage] = [ways(value)[one] ?? '', ways(value)[other] ?? ''];
        fc.pre(!/^\d{1,3}[.,]\d{3} \w/.test(claim) && !/^\d{1,3}[.,]\d{3} \w/.test(passage));
        expect(missing(`about ${claim} users`, `it has ${passage} users`)).toEqual([]);
        expect(missing(`about ${claim} users`, `it has ${ways(value + 1)[other] ?? ''} users`)).toHaveLength(1);
      }),
    );
  });
});

describe('dates of a claim', () => {
  it.each([
    ['on 2024-05-01', 'on May 1, 2024'],
    ['on May 1, 2024', 'on 1 May 2024'],
    ['on May 1st, 2024', 'on the 1st of May 2024'],
    ['on 1 May 2024', 'on 2024-05-01T10:00:00Z'],
    ['on 1 May 2024', 'on 1.5.2024'],
    ['on 15 July 1851', 'am 15. Juli 1851'],
    ['on 5 March 2019', 'le 5 mars 2019'],
    ['on 5 March 2019', 'el 5 de marzo de 2019'],
    ['on 5 April 1998', '1998年4月5日に開通した'],
    ['on 1 May 2024', 'on 5/1/2024'],
    ['on 1 Sept. 2024', 'on September 1, 2024'],
    ['in May 2024', 'on May 1, 2024'],
    ['on May 1', 'on 1 May 2024'],
    ['on May 1, 2024', 'In 2024 it began on May 1'],
    ['in 2024', 'on May 1, 2024'],
    ['in 2024', 'at CVPR-2024'],
    ['from 2019 to 2023', '2019-2023'],
    ['from 2019 to 2023', '2019–23'],
    ['in 2019-2023', 'from 2019 until 2023'],
    ['in the 1990s', "in the 1990's"],
    ['2000 people', '2,000 people'],
    ['2000 km', '2,000 kilometres'],
    ['a length of 1,280 m', 'a length of 1280 metres'],
    ['a length of 1280 metres', 'a length of 1,280 m'],
    ['from 1500 to 2000 km', 'from 1,500 to 2,000 km'],
  ])('of %j stand in %j', (claim, passage) => {
    expect(missing(claim, passage)).toEqual([]);
  });

  it.each([
    ['on 2024-05-01', 'on May 2, 2024', 'date 2024-05-01'],
    ['on May 1, 2024', 'on May 1, 2023', 'date May 1, 2024'],
    ['on May 1, 2024', 'on June 1, 2024', 'date May 1, 2024'],
    ['on May 1, 2024', 'in May 2024', 'date May 1, 2024'],
    ['in May 2024', 'in 2024', 'date May 2024'],
    ['in 2024', 'in 2023', 'date 2024'],
    ['in 2024', 'it has 2,024 users', 'date 2024'],
    ['in 2019-2023', 'in 2019', 'date 2019-2023'],
    ['in 2019-23', 'in 2023', 'date 2019-23'],
    ['in the 1990s', 'in the 1980s and in 1990', 'date 1990s'],
    ['1700 people', '1,800 people', 'number 1700'],
    ['on May 1, 2024', 'on May 1, 2023 and in 2024', 'date May 1, 2024'],
    ['in 2000 and 5%', 'by 2,000 and 5%', 'date 2000'],
    ['a length of 1280 metres', 'a length of 1280 miles', 'number 1280 metres'],
    ['2000 km', '2,000 miles', 'number 2000 km'],
  ])('of %j do not stand in %j', (claim, passage, expected) => {
    expect(missing(claim, passage)).toEqual([expected]);
  });

  it('may be written in any of the known ways', () => {
    const months = 'January,February,March,April,May,June,July,August,September,October,November,December'.split(',');
    const ways = (year: number, month: number, day: number): readonly string[] => {
      const [name = '', two] = [months[month - 1], (value: number) => String(value).padStart(2, '0')];
      return [
        `${year}-${two(month)}-${two(day)}`,
        `${name} ${day}, ${year}`,
        `${day} ${name} ${year}`,
        `${name.slice(0, 3)}. ${day}, ${year}`,
        `the ${day}th of ${name}, ${year}`,
      ];
    };
    const part = fc.record({
      year: fc.integer({ min: 1900, max: 2099 }),
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 28 }),
    });
    fc.assert(
      fc.property(part, part, fc.nat(4), fc.nat(4), (one, other, first, second) => {
        const claim = `It began on ${ways(one.year, one.month, one.day)[first] ?? ''} here`;
        const passage = `It began on ${ways(other.year, other.month, other.day)[second] ?? ''} here`;
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(missing(claim, passage)).toHaveLength(same ? 0 : 1);
        expect(missing(claim, `It began on ${ways(one.year, one.month, one.day)[second] ?? ''} here`)).toEqual([]);
      }),
    );
  });
});

describe('names of a claim', () => {
  it.each([
    ['approved by the FDA', 'approved by the Food and Drug Administration'],
    ['as Ørsted and Łukasz say', 'as Orsted and Lukasz say'],
    ['Die Brücke besteht aus Ziegeln.', 'Für die Brücke wurde Ziegel um Ziegel gebrannt.'],
    ['東京の吊橋は1993年に開通した', '1993年8月26日に開通しました'],
  ])('of %j stand in %j', (claim, passage) => {
    expect(missing(claim, passage)).toEqual([]);
  });

  it.each([
    ['it was made by Google', "it is Google's"],
    ["it is Google's engine", 'it was made by Google'],
    ['The engine of the WHO', 'the WHO has it'],
    ['many GPUs', 'a GPU'],
    ['the U.S. market', 'the US market'],
    ['a US-based firm', 'a firm in the US'],
    ['a GPT-4-based engine', 'an engine with GPT-4'],
    ['the Coca-Cola firm', 'the Coca‑Cola firm'],
    ['made by Jean-Luc', 'Jean Luc made it'],
    ['in São Paulo', 'in Sao Paulo'],
    ['run on GitHub', 'run on Github'],
    ['run on the Internet', 'run on the internet'],
    ['an iPhone with H2O', 'H2O in an iPhone'],
    ['written in C++ and C#', 'C# or C++'],
    ['since v2.3', 'since version 2.3'],
    ['since version 2.3', 'since v2.3'],
    ['since v3.11', 'since Python 3.11'],
    ['since 2.3.1', 'since v2.3.1'],
    ['by Dr. Smith', 'Smith wrote it'],
    ['a NASA mission', 'a Nasa mission'],
    ['so I know The Hague', 'in The Hague'],
    ['He knows. They know: Nobody knows! "Other" people', 'so other people'],
    ['run with TCP/IP', 'IP and TCP'],
  ])('of %j stand in %j', (claim, passage) => {
    expect(missing(claim, passage)).toEqual([]);
  });

  it.each([
    ['it was made by Google', 'it was made by Microsoft', ['name Google']],
    ['It was made by Rudolf Bayer', 'it was made by Bayer', ['name Rudolf']],
    ['NASA made it', 'they made it', ['name NASA']],
    ['GitHub made it', 'they made it', ['name GitHub']],
    ['H2O is used', 'water is used', ['name H2O']],
    ['by Dr. Smith', 'Dr. Jones wrote it', ['name Smith']],
    ['by J. Smith', 'J. Jones wrote it', ['name Smith']],
    ['in the U.S. Congress', 'in the U.S.', ['name Congress']],
    ['the WHO said', 'people who said', ['name WHO']],
    ['the US said', 'they told us', ['name US']],
    ['GPT-4 is used', 'GPT-3 is used', ['name GPT-4']],
    ['GPT-4 is used', 'GPT is used by 4 people', ['name GPT-4']],
    ['since v2.3', 'since v2.4', ['name v2.3']],
    ['since version 2.3', 'of 23 and 2.3 percent', ['name 2.3']],
    ['since 2.3.1', 'since 2.3', ['name 2.3.1']],
    ['a European-made part', 'a part', ['name European']],
    ['Google and Google again, and Google', 'nothing', ['name Google']],
    ['Alphas of Beta-Gamma', 'of Beta', ['name Beta-Gamma']],
  ])('of %j do not stand in %j', (claim, passage, expected) => {
    expect(missing(claim, passage)).toEqual(expected);
  });

  it('are not asked of the first word of a sentence', () => {
    expect(missing('Researchers agree. Engines vary: Some are slow?', 'x')).toEqual([]);
    expect(missing('Researchers found it. Recently built towers lean. It was old. Casting began.', 'x')).toEqual([]);
  });

  it.each([
    ['Meier cast the bell.', 'Huber cast the bell.', ['name Meier']],
    ['It rang. Meier was the founder.', 'Huber was the founder.', ['name Meier']],
    ["Meier's bell rang.", "Huber's bell rang.", ['name Meier']],
    ['Kilo-Works melted it.', 'Huber melted it.', ['name Kilo-Works']],
    ['Demand rose.', 'The demand rose.', []],
    ['Meier cast the bell.', 'The bell was cast by Meier.', []],
  ])('are asked of the first word of a sentence whose verb follows at once: %j by %j', (claim, passage, expected) => {
    expect(missing(claim, passage)).toEqual(expected);
  });
});

it('names what is missing in the order of the claim', () => {
  expect(missing('In 2024 Google sold 3 million phones to NASA on May 1.', 'in 2024 it sold phones')).toEqual([
    'name Google',
    'number 3 million',
    'name NASA',
    'date May 1',
  ]);
});

it('misses nothing of a claim that is quoted as a whole', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'In 2024',
      'Google',
      'GPT-4',
      '3 million',
      '5%',
      'on May 1, 2024',
      'v2.3',
      '1,500',
      'three',
      '10:30',
      '$5',
      'U.S.',
      'Dr. Smith',
      '-5 °C',
      'one',
      'a dozen',
      '3-5 km',
      '2019-23',
      '1990s',
      '3 to 5 percent',
      'constructor',
    ),
    fc.lorem({ maxCount: 3 }),
    fc.string(),
    fc.constantFrom('.', ',', ':', ' and ', '-', '/'),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const claim = parts.join(' ');
      expect(missing(claim, claim)).toEqual([]);
      expect(missing(claim, 'Nothing.', claim)).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

describe('detailKeys', () => {
  it('are equal for the same details in other words', () => {
    expect(detailKeys('Google sold 3 million phones in May 2024 to IBM')).toEqual(
      detailKeys('to IBM were sold 3,000,000 phones by Google in May 2024'),
    );
    expect(detailKeys('sold 3 million')).not.toEqual(detailKeys('sold 4 million'));
    expect(detailKeys('sold to IBM')).not.toEqual(detailKeys('sold to NASA'));
  });
});

it('reads hostile texts in time in proportion to their length', () => {
  for (const part of [
    '1,',
    '1.',
    '1-',
    '1 ',
    '111 ',
    'A-',
    'A.',
    "A'",
    'one ',
    'hundred and ',
    'million ',
    'May ',
    '1 May ',
    '2024-',
    '$',
    '%',
    'a ',
    '9',
    'Aa',
    '- ',
    '1e',
    'x/',
  ]) {
    const text = part.repeat(Math.ceil(40_000 / part.length));
    missingDetails(text, [text]);
    expect(() => missingDetails(text, ['x'])).not.toThrow();
  }
});
