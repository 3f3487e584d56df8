/** Makes small PDFs for tests: a content stream for each page. */
import { deflateSync } from 'node:zlib';

export interface PdfStream {
  readonly bytes: Uint8Array;
  /** Entries of the stream's dictionary, such as its filter. */
  readonly entries: string;
  /** Images and forms by the names by which the page paints them. A font is there as `3 0 R`. */
  readonly xObjects?: Readonly<Record<string, PdfStream>>;
}

/** A page that paints so, as it is written; its font is `/F1`. */
export function aDrawing(content: string, xObjects: Readonly<Record<string, PdfStream>> = {}): PdfStream {
  return { bytes: Buffer.from(content, 'latin1'), entries: '', xObjects };
}

/** A form, which paints as a page does, with further entries such as its `/Matrix`. */
export function aForm(content: string, entries: string = ''): PdfStream {
  const font = '/Resources << /Font << /F1 3 0 R >> >>';
  return {
    bytes: Buffer.from(content, 'latin1'),
    entries: `/Type /XObject /Subtype /Form /BBox [0 0 612 792] ${font} ${entries}`,
  };
}

/** A grey image of two pixels by two. */
export function anImage(entries: string = ''): PdfStream {
  const kind = '/Type /XObject /Subtype /Image /Width 2 /Height 2 /BitsPerComponent 8 /ColorSpace /DeviceGray';
  return { bytes: Buffer.alloc(4, 0xcc), entries: `${kind} ${entries}` };
}

/** A page with one line of text, without parentheses and backslashes. */
export function aLine(text: string): PdfStream {
  return { bytes: deflateSync(`BT /F1 12 Tf 72 700 Td (${text}) Tj ET`), entries: '/Filter /FlateDecode' };
}

/** A page that unpacks to so many blanks. */
export function aBomb(bytes: number): PdfStream {
  return {
    bytes: deflateSync(deflateSync(Buffer.alloc(bytes, ' '), { level: 1 })),
    entries: '/Filter [/FlateDecode /FlateDecode]',
  };
}

/** @param trailer further entries of the trailer, such as `/Encrypt` */
export function aPdf(pages: readonly PdfStream[], trailer: string = ''): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects: (string | Buffer)[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  const streams: Buffer[] = [];
  for (const [index, page] of pages.entries()) {
    const painted = Object.entries(page.xObjects ?? {}).map(([name, stream]) => {
      streams.push(streamOf(stream));
      return `/${name} ${3 + 2 * pages.length + streams.length} 0 R`;
    });
    const resources = `/Resources << /Font << /F1 3 0 R >> /XObject << ${painted.join(' ')} >> >>`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] ${resources} /Contents ${5 + 2 * index} 0 R >>`,
      streamOf(page),
    );
  }
  objects.push(...streams);
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const places = objects.map((object, index) => {
    const place = parts.reduce((sum, part) => sum + part.length, 0);
    parts.push(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]));
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const end = parts.reduce((sum, part) => sum + part.length, 0);
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  const last = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${end}\n%%EOF`;
  return Buffer.concat([...parts, Buffer.from(table + last)]);
}

function streamOf({ bytes, entries }: PdfStream): Buffer {
  const head = `<< /Length ${bytes.length} ${entries} >>\nstream\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from('\nendstream')]);
}
