import { describe, expect, it } from 'vitest';
import { aDrawing, aForm, anImage, aPdf, type PdfStream } from './pdf.fixture.ts';
import { readPdf } from './pdf-text.ts';

async function textOf(content: string, xObjects?: Readonly<Record<string, PdfStream>>): Promise<string> {
  const reading = await readPdf(new Uint8Array(aPdf([aDrawing(content, xObjects)])));
  if (!reading.ok) throw new Error(reading.why);
  return reading.page.text;
}

const line = (text: string, state = '', y = 700): string => `BT /F1 12 Tf ${state} 72 ${y} Td (${text}) Tj ET\n`;
const SECRET = 'The secret sentence stands here.';
const SEEN = 'The plain sentence stands here.';

describe('text that nobody sees', () => {
  it.each([
    ['invisible', line(SECRET, '3 Tr')],
    ['a clip of nothing', line(SECRET, '7 Tr')],
    ['a clip of a box', `q ${line(SECRET, '7 Tr')} 1 0 0 rg 0 0 612 792 re f Q`],
    ['a clip of corners', `q 0 0 m 1 0 l 0 1 l h 612 792 m 611 792 l 612 791 l h W n ${line(SECRET)} Q`],
    ['an even-odd clip', `q 0 0 612 792 re 0 0 612 792 re W* n ${line(SECRET)} Q`],
    [
      'a clip that turns both ways',
      `q 0 0 m 612 0 l 612 792 l 0 792 l h 0 0 m 0 792 l 612 792 l 612 0 l h W n ${line(SECRET)} Q`,
    ],
    ['a sliver of a clip', `q 0 702.95 612 0.1 re W n ${line(SECRET)} Q`],
    [
      'covered by strips',
      `${line(SECRET)} 1 g ${Array.from({ length: 120 }, (_, at) => `${70 + at * 2} 690 2.05 25 re f`).join(' ')}`,
    ],
    ['covered by a thick line', `${line(SECRET)} 1 G 40 w 60 705 m 400 705 l S`],
    ['covered by a polygon', `${line(SECRET)} 1 g 0 650 m 612 650 l 612 790 l 0 790 l 0 700 l h f`],
    ['covered by a curve', `${line(SECRET)} 1 g 0 650 m 612 650 l 612 790 l 0 790 l 0 760 0 740 0 650 c h f`],
    ['covered by a turned box', `${line(SECRET)} q 1 g .9998 .0175 -.0175 .9998 0 0 cm 60 680 400 40 re f Q`],
    ['within white lines', line(SECRET, '2 Tr 1 G 12 w')],
    ['light grey', line(SECRET, '.93 g')],
    ['of one point', line(SECRET).replace('12 Tf', '1.05 Tf')],
    ['white on the paper', line(SECRET, '1 g')],
    ['almost white on the paper', line(SECRET, '0.01 0 0.01 0 k')],
    ['white lines on the paper', line(SECRET, '1 Tr 1 1 1 RG')],
    ['black on a black box', `0 g 60 690 400 40 re f ${line(SECRET)}`],
    [
      'black on a black box, in a next line',
      `60 682 400 14 re f BT /F1 12 Tf 14 TL 72 700 Td (First) Tj T* (${SECRET}) Tj ET`,
    ],
    [
      'black on a black box, after a move',
      `60 682 400 14 re f BT /F1 12 Tf 72 700 TD (First) Tj 0 -14 TD (${SECRET}) Tj ET`,
    ],
    ['of 0.01 points', `${line(SECRET, '0.01 0 0 0.01 0 0 Tm').replace('72 700', '7200 70000')}`],
    ['small by its font', line(SECRET).replace('12 Tf', '0.5 Tf')],
    ['small by a matrix', `q 0.05 0 0 0.05 0 0 cm ${line(SECRET).replace('72 700', '1440 14000')} Q`],
    ['stretched to nothing', `q ${line(SECRET, '1 Tz')} Q`],
    ['covered by a later box', `${line(SECRET)} 1 g 60 690 400 40 re f`],
    ['covered by a later black box', `${line(SECRET)} 0 g 60 690 400 40 re f`],
    ['beside a clip', `q 10 10 20 20 re W n ${line(SECRET)} Q`],
    ['in a form', 'q 1 g /Fm Do Q', { Fm: aForm(line(SECRET, '', 300), '/Matrix [1 0 0 1 0 100]') }],
    ['invisible over a small picture', `q 90 0 0 40 60 690 cm /Im Do Q ${line(SECRET, '3 Tr')}`, { Im: anImage() }],
    [
      'in further lines',
      `BT /F1 12 Tf 14 TL 72 700 Td (First) Tj 3 Tr (${SECRET}) ' T* (And) Tj 0 -20 TD [(${SECRET})] TJ ET`,
    ],
  ] as const)('is marked: %s', async (_, content, xObjects?: Readonly<Record<string, PdfStream>>) => {
    const text = await textOf(`${content}\n${line(SEEN, '0 g 0 Tr', 100)}`, xObjects);
    expect(text).toMatch(/⸨The ?secret ?sentence ?stands ?here\.⸩/);
    expect(text.replace(/⸨[^⸩]*⸩/g, '')).toContain(SEEN);
    expect(text.replace(/⸨[^⸩]*⸩/g, '')).not.toContain('secret');
  });

  it.each(['3 Tr', '/Faint gs', '/Screen gs', '/Masked gs', '1 g'])(
    'is marked though it is blended: %s',
    async (state) => {
      const content = `/Multiply gs ${line(SECRET, state)} ${line(SEEN, '0 g 0 Tr /Full gs', 100)}`;
      const entries =
        '/Multiply << /BM /Multiply >> /Faint << /ca 0 >> /Full << /ca 1 /BM /Normal /SMask /None >> /Screen << /BM /Screen >> /Masked << /SMask << /S /Luminosity /G 6 0 R >> >>';
      const mask = aForm('0 g 0 0 612 792 re f', '/Group << /S /Transparency /CS /DeviceGray >>');
      const pdf = aPdf([aDrawing(content, { Fm: mask })])
        .toString('latin1')
        .replace('/XObject <<', `/ExtGState << ${entries} >> /XObject <<`);
      const reading = await readPdf(new Uint8Array(Buffer.from(pdf, 'latin1')));
      expect(reading).toMatchObject({ page: { text: `⸨${SECRET}⸩\n${SEEN}` } });
    },
  );

  it('is marked where broad lines of other letters cover it', async () => {
    const text = await textOf(`${line(SECRET)} ${line(SECRET, '2 Tr 1 g 1 G 14 w')} ${line(SEEN, '0 g 0 Tr', 100)}`);
    expect(text.replace(/⸨[^⸩]*⸩/g, '').trim()).toBe(SEEN);
  });

  it('is marked within a sentence that is seen', async () => {
    const text = await textOf('BT /F1 12 Tf 72 700 Td (It is ) Tj 1 g (not ) Tj 0 g (true of bells.) Tj ET');
    expect(text).toBe('It is ⸨not⸩ true of bells.');
  });

  it('beside the page is none of its text', async () => {
    expect(await textOf(`${line(SECRET, '', 2_000)} ${line(SEEN)}`)).toBe(SEEN);
  });
});

describe('text that is seen', () => {
  it.each([
    ['in usual colours', line(SEEN, '0.2 0.3 0.4 rg')],
    ['white on a coloured box', `0 0 1 rg 60 690 400 40 re f ${line(SEEN, '1 g')}`],
    ['white on a picture', `q 500 0 0 40 60 690 cm /Im Do Q ${line(SEEN, '1 g')}`, { Im: anImage() }],
    ['white on another figure', `0 0 1 rg 0 600 m 600 600 l 300 900 l 0 900 l f ${line(SEEN, '1 g')}`],
    [
      'a scan with its text before the picture',
      `${line(SEEN, '3 Tr')} q 612 0 0 792 0 0 cm /Im Do Q`,
      { Im: anImage() },
    ],
    [
      'a scan with its text behind the picture',
      `q 612 0 0 792 0 0 cm /Im Do Q ${line(SEEN, '3 Tr')}`,
      { Im: anImage() },
    ],
    [
      'a scan in black and white',
      `q 612 0 0 792 0 0 cm /Im Do Q ${line(SEEN, '3 Tr')}`,
      {
        Im: {
          ...anImage(),
          entries: '/Type /XObject /Subtype /Image /ImageMask true /Width 16 /Height 2 /BitsPerComponent 1',
        },
      },
    ],
    ['a scan with printed text below its picture', `${line(SEEN)} q 612 0 0 792 0 0 cm /Im Do Q`, { Im: anImage() }],
    ['in lines', line(SEEN, '1 Tr 0 0 1 RG 1 g')],
    ['filled and in lines', line(SEEN, '2 Tr 0 0 0 RG 1 g')],
    ['in broad lines of its own colour', line(SEEN, '2 Tr 1.5 w')],
    [
      'in a clip of round corners',
      `q 60 690 m 500 690 l 510 690 510 700 510 700 c 510 730 l 60 730 l h W n ${line(SEEN)} Q`,
    ],
    [
      'on a box of round corners',
      `0 0 1 rg 60 690 m 500 690 l 510 690 510 700 510 700 c 510 730 l 60 730 l h f ${line(SEEN, '1 g')}`,
    ],
    [
      'in a shaded row of a table',
      `.9 g 60 690 400 20 re f 60 650 400 20 re f 0 G 60 690 400 20 re S ${line(SEEN, '0 g')}`,
    ],
    ['underlined afterwards', `${line(SEEN)} 72 697 200 1 re f`],
    ['beside the curve of a chart', `${line(SEEN)} 1 0 0 RG 3 w 60 100 m 200 300 300 300 500 680 c S`],
    ['in a frame of two boxes', `${line(SEEN)} 0 0 612 792 re 50 50 512 692 re f*`],
    ['a white box beneath', `1 g 60 690 400 40 re f ${line(SEEN, '0 g')}`],
    ['a box beside it', `${line(SEEN)} 1 g 60 500 400 40 re f`],
    ['in a box that frames it', `${line(SEEN)} 60 690 400 40 re S`],
    ['white on a thick line', `0 0 1 RG 40 w 60 705 m 400 705 l S ${line(SEEN, '1 g')}`],
    ['after a white one', `q 1 g Q ${line(SEEN)}`],
    [
      'in a form',
      '/Fm Do',
      { Fm: aForm(`1 g 0 0 9 9 re f 0 g ${line(SEEN, '', 300)}`, '/Matrix [0.9 0 0 0.9 10 100]') },
    ],
    ['after a form in white', `/Fm Do ${line(SEEN)}`, { Fm: aForm('1 g 3 Tr 0 0 9 9 re f') }],
    ['in large units', `q 0.1 0 0 0.1 0 0 cm ${line(SEEN).replace('12 Tf', '120 Tf').replace('72 700', '720 7000')} Q`],
    ['turned', `BT /F1 12 Tf 0 1 -1 0 300 100 Tm (${SEEN}) Tj ET`],
  ] as const)('is not marked: %s', async (_, content, xObjects?: Readonly<Record<string, PdfStream>>) => {
    expect(await textOf(content, xObjects)).toBe(SEEN);
  });

  it('keeps its spaces', async () => {
    const text = await textOf(
      `BT /F1 12 Tf 72 700 Td [(The) -400 (plain) -400 (words)] TJ 3 Tr ( and ) Tj (more) Tj 0 Tr ( stand) Tj ET`,
    );
    expect(text).toBe('The plain words ⸨and more⸩ stand');
  });
});
