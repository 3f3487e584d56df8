/** The text of a PDF by unpdf, page by page. Runs in the worker of `page-reader.ts` alone: a small file may unpack to gigabytes. */
import type { getDocumentProxy } from 'unpdf';
import { paintedCharacters, type PaintedCharacters } from './pdf-visibility.ts';
import type { PageReading } from './read-page.ts';
import { joinUnseen, markUnseen, withoutOwnMarks } from './unseen-marks.ts';

/** Characters after which the rest of a document is not read. */
const ENOUGH_CHARACTERS = 500_000;
/** Following the painting of all pages; it decodes their pictures. */
const MAX_PAINTING_MS = 3_000;

/** pdf.js as far as it is used beside unpdf, which gives it without types. */
interface PdfLibrary {
  readonly OPS: Readonly<Record<string, number>>;
  normalizeUnicode(text: string): string;
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>;

export async function readPdf(bytes: Uint8Array): Promise<PageReading> {
  const unpdf = await import('unpdf');
  let document: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    document = await unpdf.getDocumentProxy(bytes, { disableFontFace: true, verbosity: 0 });
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    return { ok: false, why: isLocked ? 'is encrypted and asks for a password' : 'is not a PDF that can be read' };
  }
  const pages: string[] = [];
  let characters = 0;
  let number = 1;
  const pdfjs: PdfLibrary = await unpdf.getResolvedPDFJS();
  const layers = await document.getOptionalContentConfig().catch(() => null);
  const deadline = performance.now() + MAX_PAINTING_MS;

  /** Characters of a page as it is painted; `null` where that takes too long or fails, and all of its text counts as seen. */
  async function paintedOn(page: Page): Promise<readonly PaintedCharacters[] | null> {
    if (performance.now() > deadline) return null;
    try {
      const { fnArray, argsArray } = await page.getOperatorList({ annotationMode: 0 });
      const painted = paintedCharacters({
        fnArray,
        argsArray,
        operators: pdfjs.OPS,
        view: page.view,
        isPlainFont: (name) =>
          page.commonObjs.has(name) && !(page.commonObjs.get(name) as { isType3Font?: boolean }).isType3Font,
        checkTime: () => {
          if (performance.now() > deadline) throw new Error('Following the painting has taken too long.');
        },
        isLayerShown: (layer) => layers === null || layers.isVisible(layer) === true,
      });
      return painted.map((each) => ({ ...each, characters: comparable(pdfjs.normalizeUnicode(each.characters)) }));
    } catch {
      return null;
    }
  }

  for (; number <= document.numPages && characters < ENOUGH_CHARACTERS; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const mark = marker((await paintedOn(page)) ?? []);
    const text = items
      .map((item) => ('str' in item ? `${mark(withoutOwnMarks(item.str))}${item.hasEOL ? '\n' : ''}` : ''))
      .join('');
    page.cleanup();
    characters += text.length;
    pages.push(joinUnseen(text).trim());
  }
  const text = pages.filter((page) => page !== '').join('\n\n');
  if (text === '') return { ok: false, why: 'has no text: its pages may be pictures' };
  const { title, author } = await describe(document);
  return { ok: true, page: { title, author, published: '', text, isCut: number <= document.numPages } };
}

function comparable(text: string): string {
  return withoutOwnMarks(text).replace(/\s/g, '');
}

/** Characters of the painting among which an item of the text is looked for. */
const AHEAD = 300;

/**
 * Marks the characters of an item of the text that nobody sees. Items come in the order of the painting; one that is not found there, as
 * of a script that runs from right to left, stays as it is unless all that was painted in its place is unseen.
 */
function marker(painted: readonly PaintedCharacters[]): (item: string) => string {
  if (painted.every(({ isSeen }) => isSeen)) return (item) => item;
  const stream = painted.map(({ characters }) => characters).join('');
  const seen = painted.flatMap(({ characters, isSeen }) => Array.from({ length: characters.length }, () => isSeen));
  let from = 0;
  return (item) => {
    const wanted = comparable(item);
    if (wanted === '') return item;
    const sorted = (text: string): string => Array.from(text).toSorted().join('');
    const isTurned = sorted(stream.slice(from, from + wanted.length)) === sorted(wanted);
    const at = stream.slice(from, from + wanted.length + AHEAD).indexOf(wanted);
    if (at < 0 && !isTurned) return item;
    const start = from + Math.max(0, at);
    from = start + wanted.length;
    if (at < 0) return seen.slice(start, from).includes(true) ? item : markUnseen(item);
    return withMarks(item, seen.slice(start, from));
  };
}

/** @param seen for each character that is no space */
function withMarks(item: string, seen: readonly boolean[]): string {
  let next = 0;
  let marked = '';
  for (const word of item.match(/\s+|\S/g) ?? []) {
    const isUnseen = word.trim() !== '' && seen[next] === false;
    if (word.trim() !== '') next += 1;
    marked += isUnseen ? markUnseen(word) : word;
  }
  return joinUnseen(marked);
}

/** The day on which the file was made is not the day on which its text was published. */
async function describe(document: { getMetadata(): Promise<{ readonly info: unknown }> }) {
  const { info } = await document.getMetadata().catch(() => ({ info: {} }));
  const { Title, Author } = (info ?? {}) as { readonly Title?: unknown; readonly Author?: unknown };
  return { title: typeof Title === 'string' ? Title : '', author: typeof Author === 'string' ? Author : '' };
}
